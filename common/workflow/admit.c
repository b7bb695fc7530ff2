/*
 * The door: expressions over the payload alone are computed before the order is accepted. A charge that
 * is made although its refund can never be written would need a person; such a submission is refused instead.
 *
 * Tried are the expressions of the first steps' `do` and of every `undo` over the payload, the order and
 * computed values of these. Those of a step count if it will certainly begin: its guard, and those of the
 * steps that it needs, see the same values and let it go.
 */
#include "workflow/definition_check.h"
#include "workflow/expressions.h"

struct mg_trial {
    struct mg_trial *next;
    const struct mg_expr *expr;
    int step;
    enum mg_kind kind;
};

struct trial_search {
    struct mg_workflow *workflow;
    struct mg_arena *arena;
    struct mg_trial **at;
    int step;
    enum mg_kind kind;
    bool has_failed; /* no memory */
};

static void note_result(void *arg, const struct mg_expr_reference *reference)
{
    struct trial_search *search = arg;
    bool is_value = reference->root == MG_ROOT_VALUES;
    bool has_result = is_value ? search->workflow->exprs->value_steps[reference->member] != 0
                               : reference->root != MG_ROOT_PAYLOAD && reference->root != MG_ROOT_ORDER;
    search->has_failed = search->has_failed || has_result;
}

/* True if all that it refers to is known when the order is accepted. */
static bool is_of_payload(struct mg_workflow *workflow, const struct mg_expr *expr)
{
    struct trial_search search = {.workflow = workflow};
    mg_expr_references(expr, note_result, &search);
    return !search.has_failed;
}

static void note_guard(void *arg, const struct mg_expr *expr, const char *pointer)
{
    struct trial_search *search = arg;
    (void)pointer;
    search->has_failed = search->has_failed || !is_of_payload(search->workflow, expr);
}

/* True if its guard, and those of all that it needs, are decided by the payload. */
static bool is_decided(struct mg_workflow *workflow, int step)
{
    struct trial_search search = {.workflow = workflow};
    uint64_t needs = mg_workflow_needs_of(workflow, step);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if ((needs >> i & 1) != 0) {
            mg_workflow_guard_each(workflow->steps[i].guard, "", note_guard, &search);
        }
    }
    return !search.has_failed;
}

static bool add_trial(void *arg, const struct mg_template_piece *reference)
{
    struct trial_search *search = arg;
    const struct mg_expr *expr = reference->expr;
    if (expr == NULL || mg_expr_is_constant(expr) || !is_of_payload(search->workflow, expr)) {
        return true;
    }
    struct mg_trial *trial = mg_arena_alloc(search->arena, sizeof(*trial));
    if (trial == NULL) {
        search->has_failed = true;
        return false;
    }
    *trial = (struct mg_trial){.expr = expr, .step = search->step, .kind = search->kind};
    *search->at = trial;
    search->at = &trial->next;
    return true;
}

void mg_workflow_find_trials(struct mg_workflow *workflow, struct mg_arena *arena,
                             struct mg_json_faults *faults)
{
    struct trial_search search = {.workflow = workflow, .arena = arena, .at = &workflow->trials};
    struct mg_action_part parts[MG_ACTION_PARTS];

    for (int i = 0; i < workflow->plan.step_count && workflow->exprs->template_count > 0; i++) {
        search.step = i;
        for (int kind = 0; kind < MG_KIND_COUNT && is_decided(workflow, i); kind++) {
            if (!mg_workflow_is_tried(workflow, i, (enum mg_kind)kind)) {
                continue;
            }
            search.kind = (enum mg_kind)kind;
            mg_action_parts(&workflow->steps[i].actions[kind], parts);
            for (int k = 0; k < MG_ACTION_PARTS; k++) {
                mg_template_each(parts[k].template, add_trial, &search);
            }
        }
    }
    if (search.has_failed) {
        mg_json_fault(faults, MG_TRANSIENT, "", "could not be kept: no memory");
    }
}

static bool is_to_begin(const struct mg_render_input *input, int step)
{
    uint64_t needs = mg_workflow_needs_of(input->workflow, step);
    bool begins = true;
    for (int i = 0; i < input->workflow->plan.step_count && begins; i++) {
        struct mg_slice text;
        struct mg_buf why;
        if ((needs >> i & 1) != 0 && input->workflow->steps[i].guard != NULL) {
            mg_buf_init(&why, sizeof(((struct mg_err *)0)->text));
            begins = mg_workflow_guard_decide(input, i, &text, &why) == MG_FACT_GO;
            mg_buf_finish(&why);
        }
    }
    return begins;
}

static enum mg_class trials_run(const struct mg_render_input *input, struct mg_err *err)
{
    struct mg_root_values roots;
    struct mg_expr_value value;
    struct mg_expr_room room;
    int step = -1;
    bool begins = false;

    mg_root_values_make(input, &roots);
    const struct mg_expr_scope scope = mg_root_scope(&roots);
    for (const struct mg_trial *trial = input->workflow->trials; trial != NULL; trial = trial->next) {
        if (trial->step != step) { /* they stand in the order of the steps */
            step = trial->step;
            begins = is_to_begin(input, step);
        }
        if (begins && mg_expr_evaluate(trial->expr, &scope, &room, &value, NULL, err) != MG_OK) {
            err->class = MG_BAD_INPUT;
            return mg_err_prefix(err, "expression: \"%s\" of step \"%s\"", mg_kind_name(trial->kind),
                                 input->workflow->steps[step].name);
        }
    }
    return MG_OK;
}

enum mg_class mg_workflow_admit(const struct mg_render_input *input, struct mg_err *err)
{
    enum mg_class class = mg_workflow_require(input, err);
    return class == MG_OK && input->workflow->trials != NULL ? trials_run(input, err) : class;
}
