/* The conditions of a definition: each refers only to steps before it, and needs no result that a step may
 * lack because it was skipped. */
#include <stdio.h>

#include "workflow/certainty.h"
#include "workflow/step_guard.h"

struct guard_check {
    const struct mg_workflow *workflow;
    struct mg_json_faults *faults;
    const struct mg_certainty *certainty;
    uint64_t before;
    int step;       /* -1: the order */
    uint64_t steps; /* to which the expression in hand refers */
    int columns[MG_STEPS_MAX];
};

static void note_guard_steps(void *arg, const struct mg_expr_reference *reference)
{
    struct guard_check *check = arg;
    uint64_t steps = 0;
    if (mg_root_step(reference) >= 0) {
        steps = UINT64_C(1) << mg_root_step(reference);
    } else if (reference->root == MG_ROOT_VALUES) {
        steps = check->workflow->exprs->value_steps[reference->member];
    }
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((steps & ~check->steps) & (UINT64_C(1) << i)) {
            check->columns[i] = reference->column;
        }
    }
    check->steps |= steps;
}

static void refuse_later_steps(const struct guard_check *check, const char *pointer, struct mg_slice quoted)
{
    for (int i = 0; i < check->workflow->plan.step_count; i++) {
        if (((check->steps & ~check->before) >> i & 1) != 0) {
            mg_json_fault_at(
                check->faults, MG_BAD_INPUT, pointer, mg_workflow_expr_at(quoted, check->columns[i]),
                check->step < 0 ? "step \"%s\" has no result yet when an order comes in; move this "
                                  "to \"require\" of a step after it"
                                : "step \"%s\" is not before this one; add it to \"after\", here "
                                  "or in a step before",
                check->workflow->steps[i].name);
        }
    }
}

/* A `when` is evaluated before it holds; a requirement only once it does. */
static void refuse_uncertain_steps(const struct guard_check *check, const struct mg_expr *expr,
                                   const char *pointer, struct mg_slice quoted)
{
    int columns[MG_STEPS_MAX] = {0};
    bool is_when = expr == check->workflow->steps[check->step].guard->when;
    uint64_t certain = is_when ? check->certainty->asked[check->step] : check->certainty->begun[check->step];
    uint64_t lacks = mg_certainty_lacks(check->certainty, expr, certain, columns) & check->before;
    for (int i = 0; i < check->workflow->plan.step_count; i++) {
        if ((lacks & (UINT64_C(1) << i)) != 0) {
            mg_certainty_refuse(check->certainty, i, pointer, mg_workflow_expr_at(quoted, columns[i]),
                                check->faults);
        }
    }
}

static void check_condition(void *arg, const struct mg_expr *expr, const char *pointer)
{
    struct guard_check *check = arg;
    struct mg_slice quoted = mg_json_find(check->workflow->text, pointer);
    if (quoted.data == NULL) {
        return; /* a requirement before it has faults, and its index is another one */
    }
    const struct mg_guard *guard = check->step >= 0 ? check->workflow->steps[check->step].guard : NULL;
    if (guard == NULL || (expr != guard->until && expr != guard->key)) { /* these may be the same for all */
        mg_workflow_constants_check(expr, pointer, quoted,
                                    guard == NULL         ? "no order could be accepted"
                                    : expr == guard->when ? "this step could never run"
                                                          : "this step would always fail",
                                    check->faults);
    }
    check->steps = 0;
    mg_expr_references(expr, note_guard_steps, check);
    refuse_later_steps(check, pointer, quoted);
    if (check->step >= 0) {
        refuse_uncertain_steps(check, expr, pointer, quoted);
    }
}

void mg_workflow_guards_check(const struct mg_certainty *certainty, const uint64_t before[MG_STEPS_MAX],
                              struct mg_json_faults *faults)
{
    const struct mg_workflow *workflow = certainty->workflow;
    char pointer[MG_JSON_POINTER_SIZE];
    struct guard_check check = {.workflow = workflow, .faults = faults, .certainty = certainty, .step = -1};

    mg_workflow_guard_each(workflow->guard, "", check_condition, &check);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d", i);
        check.step = i;
        check.before = before[i];
        mg_workflow_guard_each(workflow->steps[i].guard, pointer, check_condition, &check);
    }
}
