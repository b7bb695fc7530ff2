/*
 * A step that waits: `wait` with `for`, a length of time, or with `until`, an expression for a moment. It
 * calls nothing, so it has none of the members of a call.
 */
#include <stdio.h>

#include "base/clock.h"
#include "expr/expr.h"
#include "workflow/definition_check.h"

#define DURATION_SIZE 32

static const char *const WAIT_NAMES[] = {"for", "until", NULL};
static const char *const OF_CALLS[] = {
    "service",      "complete_within", "finish_within", "poll",  "retry", "pivot",
    "at_most_once", "absent_is_final", "on_unknown",    "learn", "do",    "verify",
    "undo",         "done_when",       "refused_when",  "result"};

static void refuse_calls(const struct mg_json_object *step)
{
    for (size_t i = 0; i < sizeof(OF_CALLS) / sizeof(OF_CALLS[0]); i++) {
        if (mg_json_get(step, OF_CALLS[i], MG_OPTIONAL).data != NULL) {
            mg_json_member_fault(
                step, MG_BAD_INPUT, OF_CALLS[i],
                "a step with \"wait\" calls nothing, and has nothing to undo; leave this out");
        }
    }
}

void mg_workflow_wait_read(const struct mg_json_object *step, struct mg_slice value,
                           struct mg_step_plan *plan, struct mg_step_source *source)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_json_object wait;

    plan->is_wait = true;
    refuse_calls(step);
    mg_json_pointer_join(step->pointer, mg_slice_of("wait"), pointer);
    if (!mg_json_object_open(&wait, step->faults, value, pointer, WAIT_NAMES, MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    bool has_length = mg_json_get(&wait, "for", MG_OPTIONAL).data != NULL;
    plan->wait_ms = mg_json_get_duration(&wait, "for", MG_WAIT_MAX_MS, 0);
    source->guard.until = mg_json_get_typed(&wait, "until", MG_OPTIONAL, MG_JSON_STRING);
    plan->is_until = mg_json_get(&wait, "until", MG_OPTIONAL).data != NULL;
    if (has_length == plan->is_until) {
        mg_json_fault(
            step->faults, MG_BAD_INPUT, pointer,
            "a wait has either a length, \"for\": \"3d\", or a moment, \"until\": \"payload.ship_at\"");
    }
}

bool mg_workflow_wait(const struct mg_workflow *workflow, int step, const char **ret_word,
                      struct mg_slice *ret_text)
{
    const struct mg_step_plan *plan = &workflow->plan.steps[step];
    char pointer[MG_JSON_POINTER_SIZE];

    if (!plan->is_wait) {
        return false;
    }
    *ret_word = plan->is_until ? "until" : "for";
    if (plan->is_until) {
        *ret_text = mg_expr_text(workflow->steps[step].guard->until);
        return true;
    }
    (void)snprintf(pointer, sizeof(pointer), "/steps/%d/wait/for", step);
    struct mg_slice quoted = mg_json_find(workflow->text, pointer);
    *ret_text = (struct mg_slice){quoted.data + 1, quoted.len - 2};
    return true;
}

/* The longest row of waits that no condition skips, to the end of each step. Steps stand in any order. */
static int64_t longest_wait_ms(const struct mg_workflow *workflow, int *ret_last)
{
    const struct mg_plan *plan = &workflow->plan;
    uint64_t skippable = mg_workflow_skippable(workflow);
    int64_t until_ms[MG_STEPS_MAX] = {0}, longest_ms = 0;

    for (int round = 0; round < plan->step_count; round++) {
        for (int i = 0; i < plan->step_count; i++) {
            int64_t before_ms = 0;
            for (int j = 0; j < plan->step_count; j++) {
                bool is_before = (plan->steps[i].after >> j & 1) != 0;
                before_ms = is_before && until_ms[j] > before_ms ? until_ms[j] : before_ms;
            }
            until_ms[i] = before_ms + ((skippable >> i & 1) != 0 ? 0 : plan->steps[i].wait_ms);
            if (until_ms[i] > longest_ms) {
                longest_ms = until_ms[i];
                *ret_last = i;
            }
        }
    }
    return longest_ms;
}

void mg_workflow_waits_check(const struct mg_workflow *workflow, struct mg_json_faults *faults)
{
    char within[DURATION_SIZE], waits[DURATION_SIZE];
    int64_t within_ms = workflow->plan.complete_within_ms;
    int last = 0;
    int64_t longest_ms = within_ms > 0 ? longest_wait_ms(workflow, &last) : 0;

    if (within_ms > 0 && longest_ms >= within_ms) {
        mg_duration_format(within_ms, within, sizeof(within));
        mg_duration_format(longest_ms, waits, sizeof(waits));
        mg_json_fault(
            faults, MG_BAD_INPUT, "/complete_within",
            "\"%s\" is not longer than the waits up to step \"%s\", which are %s; no order could end in "
            "time",
            within, workflow->steps[last].name, waits);
    }
}
