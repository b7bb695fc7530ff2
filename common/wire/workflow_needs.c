/*
 * Needs of a payload: the values without which the first requests of an order cannot be made. A submission
 * that lacks one is refused at intake.
 */
#include <string.h>

#include "wire/workflow_check.h"

void mg_action_parts(const struct mg_action *action, struct mg_action_part ret_parts[MG_ACTION_PARTS])
{
    ret_parts[0] = (struct mg_action_part){"path", action->path};
    ret_parts[1] = (struct mg_action_part){"query", action->query};
    ret_parts[2] = (struct mg_action_part){"headers", action->headers};
    ret_parts[3] = (struct mg_action_part){"body", action->body};
}

struct need_search {
    struct mg_workflow *workflow;
    struct mg_arena *arena;
    int step;
    bool has_failed; /* no memory */
};

static bool add_need(void *arg, const char *pointer)
{
    static const char ROOT[] = "/payload/";
    struct need_search *search = arg;
    struct mg_payload_need **at = &search->workflow->needs;

    if (strncmp(pointer, ROOT, strlen(ROOT)) != 0) {
        return true;
    }
    pointer += strlen(ROOT) - 1;
    while (*at != NULL && strcmp((*at)->pointer, pointer) != 0) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        struct mg_payload_need *need = mg_arena_alloc(search->arena, sizeof(*need));
        char *text = mg_arena_text(search->arena, mg_slice_of(pointer));
        search->has_failed = need == NULL || text == NULL;
        if (!search->has_failed) {
            *need = (struct mg_payload_need){.pointer = text, .step = search->step};
            *at = need;
        }
    }
    return !search->has_failed;
}

void mg_workflow_find_needs(struct mg_workflow *workflow, struct mg_arena *arena,
                            struct mg_json_faults *faults)
{
    struct need_search search = {.workflow = workflow, .arena = arena};
    struct mg_action_part parts[MG_ACTION_PARTS];
    struct mg_err err;
    enum mg_class class = MG_OK; /* the templates have passed the check: a fault is a lack of memory */

    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (workflow->plan.steps[i].has_guard) {
            continue; /* its request may never be made */
        }
        search.step = i;
        mg_action_parts(&workflow->steps[i].actions[MG_KIND_DO], parts);
        for (int k = 0; k < MG_ACTION_PARTS && workflow->plan.steps[i].after == 0 && class == MG_OK; k++) {
            class =
                parts[k].text.data != NULL ? mg_template_scan(parts[k].text, add_need, &search, &err) : MG_OK;
        }
    }
    if (class != MG_OK || search.has_failed) {
        mg_json_fault(faults, MG_TRANSIENT, "", "could not be kept: no memory");
    }
}
