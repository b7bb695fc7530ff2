/*
 * Polls of accepted work: of a do, or on the way back of an undo. They go out as verifies, at an interval,
 * until the work is done, refused or absent, or its time is over.
 */
#include "core/poll.h"

#include "core/backoff.h"
#include "core/policy.h"
#include "core/quiet.h"

int64_t mg_poll_interval_ms(const struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    return mg_step_asks_undone(&decider->order.steps[index]) ? plan->undo_poll_ms : plan->poll_ms;
}

/* The clock was set back, and the end of the work is a moment of the clock before. It stays as it is: cut by
 * the present clock, it would lie in the past once the clock is set right. The proofs of an undo are compared
 * with moments of the present clock. */
static bool is_of_high_clock(const struct mg_decider *decider, const struct mg_step *step, int64_t within_ms)
{
    const struct mg_context *context = decider->context;
    return !mg_step_is_backward(step) && step->finish_by_ms > context->now_ms + within_ms &&
           step->finish_by_ms <= context->high_now_ms + within_ms;
}

bool mg_poll_is_over(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    int64_t within_ms =
        mg_later(mg_later(plan->finish_within_ms, plan->complete_within_ms), plan->undo_finish_within_ms);
    if (is_of_high_clock(decider, step, within_ms)) {
        return step->finish_by_ms <= decider->context->high_now_ms;
    }
    step->finish_by_ms = mg_moment_cut_ms(decider->context, step->finish_by_ms, within_ms);
    return mg_has_passed(decider->context, step->finish_by_ms);
}

bool mg_poll_was_over(struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    return step->finish_by_ms == 0 ||
           (mg_poll_is_over(decider, index) && step->finish_by_ms <= mg_quiet_begun_ms(decider, index));
}

static enum mg_verdict wait(struct mg_decider *decider, int index, enum mg_reason reason, int64_t due_at_ms)
{
    const struct mg_step *step = &decider->order.steps[index];
    enum mg_step_event event = mg_step_is_backward(step) ? MG_STEP_EVENT_UNDO_RETRY
                               : step->is_accepted       ? MG_STEP_EVENT_ACCEPT
                                                         : MG_STEP_EVENT_DOUBT;
    return mg_decider_step(decider, index, event, reason, due_at_ms);
}

enum mg_verdict mg_poll_again(struct mg_decider *decider, int index, enum mg_reason reason, int64_t due_at_ms)
{
    struct mg_wait asked = mg_policy_wait(decider, index, reason, due_at_ms);
    return wait(decider, index, asked.reason, asked.due_at_ms);
}

int64_t mg_poll_next_ms(const struct mg_decider *decider, int index, int64_t wait_ms)
{
    int64_t now_ms = decider->context->now_ms, at_ms = now_ms + wait_ms;
    int64_t finish_by_ms = decider->order.steps[index].finish_by_ms;
    return finish_by_ms > now_ms ? mg_earlier(at_ms, finish_by_ms) : at_ms;
}

static enum mg_verdict expire(struct mg_decider *decider, int index)
{
    bool is_undo = mg_step_is_backward(&decider->order.steps[index]);
    decider->order.failure_count++;
    if (is_undo) {
        mg_policy_undo_given_up(decider, index);
    }
    return mg_decider_step(decider, index, is_undo ? MG_STEP_EVENT_UNDO_FAIL : MG_STEP_EVENT_FAIL,
                           MG_REASON_FINISH_EXPIRED, 0);
}

enum mg_verdict mg_poll_answered(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    if (mg_poll_is_over(decider, index)) {
        return expire(decider, index);
    }
    step->is_accepted = true;
    step->poll_failure_count = 0;
    return mg_poll_again(decider, index, MG_REASON_REMOTE_WORKING,
                         mg_poll_next_ms(decider, index, mg_poll_interval_ms(decider, index)));
}

enum mg_verdict mg_poll_found_nothing(struct mg_decider *decider, int index)
{
    decider->order.steps[index].poll_failure_count = 0;
    return mg_poll_again(decider, index, MG_REASON_REMOTE_WORKING,
                         mg_poll_next_ms(decider, index, mg_poll_interval_ms(decider, index)));
}

enum mg_verdict mg_poll_failed(struct mg_decider *decider, int index, enum mg_reason reason)
{
    struct mg_step *step = &decider->order.steps[index];
    int64_t poll_ms = mg_poll_interval_ms(decider, index);
    if (mg_poll_is_over(decider, index)) {
        return expire(decider, index);
    }
    step->poll_failure_count++;
    int64_t most_ms = mg_later(poll_ms, mg_policy_retry(decider, index)->max_backoff_ms);
    int64_t wait_ms =
        mg_backoff_ms(poll_ms, most_ms, step->poll_failure_count, mg_policy_retry_after_ms(decider, index),
                      mg_decider_random(decider, index));
    return mg_poll_again(decider, index, reason, mg_poll_next_ms(decider, index, mg_later(poll_ms, wait_ms)));
}
