/*
 * Needs of a payload: the values without which the first requests of an order cannot be made. A submission
 * that lacks one is refused at intake.
 */
#include <string.h>

#include "workflow/definition_check.h"
#include "workflow/expressions.h"

const char *mg_call_name(int call)
{
    return call == MG_CALL_UNDO_VERIFY ? "undo/verify" : mg_kind_name((enum mg_kind)call);
}

void mg_action_parts(const struct mg_action *action, struct mg_action_part ret_parts[MG_ACTION_PARTS])
{
    static const char *const MEMBERS[MG_ACTION_PARTS] = {"path", "query", "headers", "body"};
    const struct mg_slice texts[MG_ACTION_PARTS] = {action->path, action->query, action->headers,
                                                    action->body};
    for (int i = 0; i < MG_ACTION_PARTS; i++) {
        ret_parts[i] = (struct mg_action_part){MEMBERS[i], texts[i], &action->templates[i]};
    }
}

uint64_t mg_workflow_needs_of(const struct mg_workflow *workflow, int step)
{
    uint64_t all = UINT64_C(1) << step, last;
    do { /* bits are only added */
        last = all;
        for (int i = 0; i < workflow->plan.step_count; i++) {
            all |= (all >> i & 1) != 0 ? workflow->plan.steps[i].needs : 0;
        }
    } while (all != last);
    return all;
}

bool mg_workflow_is_tried(const struct mg_workflow *workflow, int step, enum mg_kind kind)
{
    return kind == MG_KIND_UNDO || (kind == MG_KIND_DO && workflow->plan.steps[step].after == 0);
}

struct need_search {
    struct mg_workflow *workflow;
    struct mg_arena *arena;
    int step;
    uint64_t values; /* that the step's expressions need */
    bool has_failed; /* no memory */
};

/* `pointer` leads into the payload. */
static void add_need(struct need_search *search, const char *pointer)
{
    struct mg_payload_need **at = &search->workflow->needs;

    while (*at != NULL && strcmp((*at)->pointer, pointer) != 0) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        struct mg_payload_need *need = mg_arena_alloc(search->arena, sizeof(*need));
        char *text = mg_arena_text(search->arena, mg_slice_of(pointer));
        search->has_failed = search->has_failed || need == NULL || text == NULL;
        if (!search->has_failed) {
            *need = (struct mg_payload_need){.pointer = text, .step = search->step};
            *at = need;
        }
    }
}

/* A path that is too long for a message is left out: then the expression fails once it is rendered. */
static void add_certain(void *arg, const struct mg_expr_reference *reference)
{
    struct need_search *search = arg;
    char memory[MG_JSON_POINTER_SIZE];
    struct mg_buf pointer;

    if (!reference->is_certain) {
        return;
    }
    if (reference->root == MG_ROOT_VALUES) {
        search->values |= UINT64_C(1) << reference->member;
    } else if (reference->root == MG_ROOT_PAYLOAD && reference->path.len > 0) {
        mg_buf_init_fixed(&pointer, memory, sizeof(memory));
        mg_expr_reference_pointer(reference, &pointer);
        if (!pointer.failed) {
            add_need(search, pointer.data);
        }
    }
}

static bool add_reference(void *arg, const struct mg_template_piece *reference)
{
    struct need_search *search = arg;

    if (reference->expr != NULL) {
        mg_expr_references(reference->expr, add_certain, search);
    } else if (reference->place == MG_PLACE_PAYLOAD && reference->rest[0] != '\0') {
        add_need(search, reference->rest);
    }
    return !search->has_failed;
}

/* Follows the values that the step needs, each once. They form no circle, but two may need a third. */
static void add_values(struct need_search *search)
{
    const struct mg_workflow_exprs *exprs = search->workflow->exprs;
    uint64_t followed = 0;

    for (int i = 0; i < MG_VALUES_MAX; i++) {
        uint64_t bit = UINT64_C(1) << i;
        if ((search->values & ~followed & bit) != 0) {
            followed |= bit;
            mg_expr_references(exprs->values[i], add_certain, search);
            i = -1; /* it may need one before it */
        }
    }
}

void mg_workflow_find_needs(struct mg_workflow *workflow, struct mg_arena *arena,
                            struct mg_json_faults *faults)
{
    struct need_search search = {.workflow = workflow, .arena = arena};
    struct mg_action_part parts[MG_ACTION_PARTS];
    uint64_t skippable = mg_workflow_skippable(workflow);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (workflow->plan.steps[i].has_guard || (skippable >> i & 1) != 0) {
            continue; /* its requests may never be made */
        }
        search.step = i;
        search.values = 0;
        for (int kind = 0; kind < MG_KIND_COUNT; kind++) {
            if (!mg_workflow_is_tried(workflow, i, (enum mg_kind)kind)) {
                continue;
            }
            mg_action_parts(&workflow->steps[i].actions[kind], parts);
            for (int k = 0; k < MG_ACTION_PARTS; k++) {
                mg_template_each(parts[k].template, add_reference, &search);
            }
        }
        add_values(&search);
    }
    if (search.has_failed) {
        mg_json_fault(faults, MG_TRANSIENT, "", "could not be kept: no memory");
    }
}
