/* The steps to which a guard refers: each must be done or skipped whenever the guard is evaluated. */
#include <stdio.h>

#include "wire/workflow_check.h"
#include "wire/workflow_exprs.h"

struct guard_check {
    const struct mg_workflow *workflow;
    struct mg_json_faults *faults;
    uint64_t before;
    bool is_of_order;
    uint64_t steps; /* to which the expression in hand refers */
};

static void note_guard_steps(void *arg, const struct mg_expr_reference *reference)
{
    struct guard_check *check = arg;
    if (reference->root == MG_ROOT_RESULTS || reference->root == MG_ROOT_STATE) {
        check->steps |= UINT64_C(1) << reference->member;
    } else if (reference->root == MG_ROOT_VALUES) {
        check->steps |= check->workflow->exprs->value_steps[reference->member];
    }
}

static void check_condition(void *arg, const struct mg_expr *expr, const char *pointer)
{
    struct guard_check *check = arg;
    check->steps = 0;
    mg_expr_references(expr, note_guard_steps, check);
    uint64_t later = check->steps & ~check->before;
    for (int i = 0; i < check->workflow->plan.step_count; i++) {
        if ((later >> i & 1) == 0) {
            continue;
        }
        const char *name = check->workflow->steps[i].name;
        if (check->is_of_order) {
            mg_json_fault(
                check->faults, MG_BAD_INPUT, pointer,
                "step \"%s\" has no result yet when an order comes in; move this to \"require\" of a "
                "step after it",
                name);
        } else {
            mg_json_fault(check->faults, MG_BAD_INPUT, pointer,
                          "step \"%s\" is not before this one; add it to \"after\", here or in a step before",
                          name);
        }
    }
}

void mg_workflow_guards_check(const struct mg_workflow *workflow, const uint64_t before[MG_STEPS_MAX],
                              struct mg_json_faults *faults)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct guard_check check = {.workflow = workflow, .faults = faults, .is_of_order = true};

    mg_workflow_guard_each(workflow->guard, "", check_condition, &check);
    check.is_of_order = false;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d", i);
        check.before = before[i];
        mg_workflow_guard_each(workflow->steps[i].guard, pointer, check_condition, &check);
    }
}
