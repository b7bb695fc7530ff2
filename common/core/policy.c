/* See policy.h. */
#include "core/policy.h"

#include "core/backoff.h"
#include "core/quiet.h"

const struct mg_retry_plan *mg_policy_retry(const struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    return mg_step_is_backward(&decider->order.steps[index]) ? &plan->undo_retry : &plan->retry;
}

/* The end of the time in which the step may wait for its service; 0: it has none. */
static int64_t time_until_ms(const struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    int64_t until_ms = mg_step_is_backward(step) ? 0 : decider->order.complete_by_ms;
    return step->is_accepted && step->finish_by_ms > 0 ? step->finish_by_ms : until_ms;
}

int64_t mg_policy_retry_after_ms(const struct mg_decider *decider, int index)
{
    int64_t now_ms = decider->context->now_ms, until_ms = time_until_ms(decider, index);
    if (decider->cause->kind != MG_CAUSE_REPLY || decider->cause->reply.retry_after_ms < 0) {
        return -1;
    }
    return mg_earlier(decider->cause->reply.retry_after_ms,
                      until_ms > now_ms ? until_ms - now_ms : MG_RETRY_AFTER_UNBOUNDED_MS);
}

struct mg_wait mg_policy_wait(const struct mg_decider *decider, int index, enum mg_reason reason,
                              int64_t due_at_ms)
{
    int64_t after_ms = mg_policy_retry_after_ms(decider, index);
    int64_t asked_at_ms = decider->context->now_ms + mg_earlier(after_ms, MG_RETRY_AFTER_MAX_MS);
    bool is_asked = after_ms > 0 && asked_at_ms >= due_at_ms;
    return is_asked ? (struct mg_wait){asked_at_ms, MG_REASON_ASKED_TO_WAIT}
                    : (struct mg_wait){due_at_ms, reason};
}

int64_t mg_policy_backoff_at_ms(const struct mg_decider *decider, int index)
{
    const struct mg_retry_plan *retry = mg_policy_retry(decider, index);
    uint32_t failures = decider->order.steps[index].failure_count;
    return decider->context->now_ms +
           mg_backoff_ms(retry->backoff_ms, retry->max_backoff_ms, failures > 0 ? failures - 1 : 0,
                         mg_policy_retry_after_ms(decider, index), mg_decider_random(decider, index));
}

int64_t mg_policy_park_until_ms(const struct mg_decider *decider)
{
    return decider->context->now_ms + decider->context->park_ms;
}

enum mg_budget mg_policy_count_failure(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    const struct mg_retry_plan *retry = mg_policy_retry(decider, index);
    step->failure_count++;
    decider->order.failure_count++;
    if (step->failure_count < retry->attempts) {
        return MG_BUDGET_ATTEMPT;
    }
    if (step->cool_down_count >= retry->cool_downs) {
        return MG_BUDGET_SPENT;
    }
    step->cool_down_count++;
    step->failure_count = 0;
    return MG_BUDGET_COOL_DOWN;
}

bool mg_policy_is_service_away(const struct mg_decider *decider, int index)
{
    enum mg_reason gate = decider->context->gate[index];
    return gate == MG_REASON_NO_CONSUMER || gate == MG_REASON_BREAKER_OPEN ||
           gate == MG_REASON_SERVICE_PAUSED;
}

enum mg_reason mg_policy_down_reason(const struct mg_decider *decider)
{
    return mg_decider_reply(decider)->is_service_paused ? MG_REASON_SERVICE_PAUSED : MG_REASON_BREAKER_OPEN;
}

void mg_policy_attempt_stays_open(struct mg_decider *decider, int index)
{
    mg_quiet_extend(decider, index, decider->order.steps[index].complete_by_ms);
}

void mg_policy_undo_given_up(struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    int64_t within_ms = decider->plan->steps[index].undo_complete_within_ms;
    if (step->is_undo_dispatched) {
        mg_quiet_extend(decider, index,
                        step->kind == MG_KIND_UNDO ? step->complete_by_ms
                                                   : decider->context->now_ms + within_ms);
    }
}
