/* The branches of a workflow: the ways of its steps, and the outcomes of its conditions. */
#include <stdio.h>

#include "rehearsal.h"
#include "workflow/answer_conditions.h"

/* ---- names ---- */

const char *mg_branch_word(int branch, char ret[MG_BRANCH_NAME_SIZE])
{
    static const char *const WORDS[MG_BRANCH_REQUIRE] = {
        [MG_BRANCH_DONE] = "done",
        [MG_BRANCH_REFUSED] = "failed",
        [MG_BRANCH_UNKNOWN] = "unknown",
        [MG_BRANCH_UNDONE] = "undone",
        [MG_BRANCH_SKIPPED] = "skipped",
        [MG_BRANCH_TIMED_OUT] = "timed_out",
        [MG_BRANCH_WHEN_TRUE] = "when.true",
        [MG_BRANCH_WHEN_FALSE] = "when.false",
        [MG_BRANCH_ANSWER_DONE] = "answer.done",
        [MG_BRANCH_ANSWER_REFUSED] = "answer.refused",
        [MG_BRANCH_ANSWER_OPEN] = "answer.open",
    };
    if (branch < MG_BRANCH_REQUIRE) {
        return WORDS[branch];
    }
    int number = branch - MG_BRANCH_REQUIRE;
    (void)snprintf(ret, MG_BRANCH_NAME_SIZE, "require.%d.%s", number / 2,
                   number % 2 == 0 ? "met" : "refused");
    return ret;
}

void mg_branch_name(const struct mg_workflow *workflow, int step, int branch, char ret[MG_BRANCH_NAME_SIZE])
{
    char word[MG_BRANCH_NAME_SIZE];
    bool is_order = step == MG_COVERED_ORDER;
    (void)snprintf(ret, MG_BRANCH_NAME_SIZE, "%s%s%.31s", is_order ? "" : workflow->steps[step].name,
                   is_order ? "" : ".", mg_branch_word(branch, word));
}

/* ---- existence ---- */

/* The steps that are certainly done or skipped before this one: its `after`, and theirs. */
static uint64_t before_of(const struct mg_plan *plan, int step)
{
    uint64_t all = plan->steps[step].after, last;
    do {
        last = all;
        for (int i = 0; i < plan->step_count; i++) {
            all |= (all >> i & 1) != 0 ? plan->steps[i].after : 0;
        }
    } while (all != last);
    return all;
}

/* After a pivot the order only goes forward: nothing after it is undone. An order that stops for an operator
 * never turns back by itself. */
static bool can_be_undone(const struct mg_workflow *workflow, int step)
{
    const struct mg_plan *plan = &workflow->plan;
    bool only_stops = plan->on_failure == MG_ON_FAILURE_ERROR && plan->on_expiry == MG_ON_FAILURE_ERROR;
    uint64_t before = before_of(plan, step);
    bool is_past_pivot = false;
    for (int i = 0; i < plan->step_count; i++) {
        is_past_pivot = is_past_pivot || ((before >> i & 1) != 0 && plan->steps[i].is_pivot);
    }
    return plan->steps[step].has_undo && !is_past_pivot && !only_stops;
}

static bool has_condition(const struct mg_workflow *workflow, int step, int branch)
{
    struct mg_slice expr, text;
    int number = branch < MG_BRANCH_REQUIRE ? MG_CONDITION_WHEN : (branch - MG_BRANCH_REQUIRE) / 2;
    return mg_workflow_condition(workflow, step, number, &expr, &text);
}

bool mg_branch_exists(const struct mg_workflow *workflow, int step, int branch)
{
    if (step == MG_COVERED_ORDER) {
        return branch >= MG_BRANCH_REQUIRE && has_condition(workflow, MG_STEP_OF_ORDER, branch);
    }
    const struct mg_workflow_step *of = &workflow->steps[step];
    switch (branch) {
    case MG_BRANCH_DONE:
        return true;
    case MG_BRANCH_REFUSED:
    case MG_BRANCH_UNKNOWN: /* a wait has no answer */
        return !workflow->plan.steps[step].is_wait;
    case MG_BRANCH_UNDONE:
        return can_be_undone(workflow, step);
    case MG_BRANCH_SKIPPED:
        return (mg_workflow_skippable(workflow) >> step & 1) != 0;
    case MG_BRANCH_TIMED_OUT:
        return of->signal != NULL;
    case MG_BRANCH_ANSWER_DONE:
        return mg_workflow_is_judged(&of->conditions);
    case MG_BRANCH_ANSWER_REFUSED:
        return of->conditions.refused_when != NULL;
    case MG_BRANCH_ANSWER_OPEN:
        return of->conditions.done_when != NULL;
    default:
        return has_condition(workflow, step, branch);
    }
}
