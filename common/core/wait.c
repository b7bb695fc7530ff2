/* See wait.h. */
#include "core/wait.h"

#include "core/far_clock.h"

static int64_t end_at_ms(const struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    assert(!plan->is_until || decider->cause->kind == MG_CAUSE_FACTS);
    return plan->is_until ? decider->cause->facts.until_ms : decider->context->now_ms + plan->wait_ms;
}

static enum mg_verdict wait_arrive(struct mg_decider *decider, int index)
{
    decider->has_passed_by = true;
    return mg_decider_step(decider, index, MG_STEP_EVENT_ARRIVE, MG_REASON_NONE, 0);
}

static enum mg_verdict wait_fail(struct mg_decider *decider, int index, enum mg_reason reason)
{
    decider->order.failure_count++;
    decider->order.steps[index].is_refused = true;
    return mg_decider_step(decider, index, MG_STEP_EVENT_LAPSE, reason, 0);
}

/* The effect of a signal on the open wait. */
static enum mg_verdict signal_apply(struct mg_decider *decider, int index, enum mg_signal_fact fact)
{
    switch (fact) {
    case MG_SIGNAL_FACT_DONE:
        return wait_arrive(decider, index);
    case MG_SIGNAL_FACT_REFUSED:
        return wait_fail(decider, index, MG_REASON_SIGNAL_REFUSED);
    case MG_SIGNAL_FACT_NONE:
    case MG_SIGNAL_FACT_KEPT:
        break;
    }
    return MG_GO;
}

void mg_wait_open(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    if (step->attempt >= MG_ATTEMPT_MAX) {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_ATTEMPTS_EXHAUSTED, index);
        return;
    }
    step->attempt++;
    step->kind = MG_KIND_DO;
    (void)mg_decider_step(decider, index, MG_STEP_EVENT_OPEN,
                          plan->is_signal ? MG_REASON_AWAITING_SIGNAL : MG_REASON_SLEEPING,
                          end_at_ms(decider, index));
    if (decider->order.state == MG_ORDER_PENDING) {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_BEGIN, MG_REASON_NONE, -1);
    }
    if (plan->is_signal) {
        assert(decider->cause->kind == MG_CAUSE_FACTS);
        (void)signal_apply(decider, index, decider->cause->facts.signal);
    }
}

/* A wait of a given length that only a clock which was set forward has passed. A clock between the old and
 * the new one may have begun it, if the clock was set several times: up to the value of the new clock at its
 * step it is spared all the same, and begins anew at most. */
static bool is_spared(const struct mg_decider *decider, int index, int64_t *ret_rest_ms)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    const struct mg_spared *spared = &decider->context->spared;
    int64_t due_at_ms = decider->order.steps[index].due_at_ms, begun_ms = due_at_ms - plan->wait_ms;
    int64_t after_ms = mg_spared_after_ms(spared, begun_ms); /* the clock that set it, as it would be now */
    bool is_passed_by_step = due_at_ms <= spared->before_ms - MG_FAR_CLOCK_STALE_MS;
    *ret_rest_ms = due_at_ms - after_ms < plan->wait_ms ? due_at_ms - after_ms : plan->wait_ms;
    return !plan->is_until && (mg_spared_has_step(spared, due_at_ms, begun_ms) ||
                               (is_passed_by_step && mg_spared_has(spared, due_at_ms, begun_ms)));
}

/* True if it was spared: it has the rest of its time. */
static bool rest_give(struct mg_decider *decider, int index)
{
    int64_t rest_ms;
    if (!is_spared(decider, index, &rest_ms)) {
        return false;
    }
    decider->order.steps[index].due_at_ms = decider->context->now_ms + rest_ms;
    decider->is_changed = true;
    return true;
}

void mg_wait_end(struct mg_decider *decider, int index)
{
    if (!decider->plan->steps[index].is_signal && !rest_give(decider, index)) {
        (void)wait_arrive(decider, index);
    }
}

static bool is_forward(const struct mg_order *order)
{
    bool is_open = order->state == MG_ORDER_PENDING || order->state == MG_ORDER_PROCESSING;
    return is_open && order->goal == MG_GOAL_PROCESSED;
}

enum mg_verdict mg_wait_time_out(struct mg_decider *decider, int index)
{
    if (!is_forward(&decider->order)) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the order does not go forward now");
    }
    if (rest_give(decider, index)) {
        return mg_decider_end(decider, MG_GO, "a clock that was set forward has passed its time-out");
    }
    if (decider->plan->steps[index].is_skipped_when_over) {
        return mg_decider_step(decider, index, MG_STEP_EVENT_SKIP, MG_REASON_TIMED_OUT, 0);
    }
    return wait_fail(decider, index, MG_REASON_TIMED_OUT);
}

enum mg_verdict mg_wait_signal(struct mg_decider *decider)
{
    int index = decider->cause->step;
    const struct mg_step *step = &decider->order.steps[index];
    enum mg_signal_fact fact = decider->cause->signal.fact;
    bool is_ended =
        mg_order_state_is_terminal(decider->order.state) && decider->order.state != MG_ORDER_ERROR;
    if (is_ended || decider->order.goal != MG_GOAL_PROCESSED) {
        return mg_decider_end(decider, MG_REFUSED, "late: the order has ended, or turns back");
    }
    bool is_early = step->state == MG_STEP_PENDING && fact == MG_SIGNAL_FACT_KEPT;
    if (!is_early && !mg_step_is_open(step)) {
        return mg_decider_end(decider, MG_REFUSED, "late: the step does not wait for a signal any more");
    }
    if (fact == MG_SIGNAL_FACT_KEPT) {
        decider->is_changed = true;
        return mg_decider_end(decider, MG_GO, "the signal is kept");
    }
    return signal_apply(decider, index, fact);
}

bool mg_wait_is_too_long(const struct mg_decider *decider, int index, int64_t *ret_due_at_ms)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    *ret_due_at_ms = decider->context->now_ms + plan->wait_ms;
    return !plan->is_until && decider->order.steps[index].due_at_ms > *ret_due_at_ms;
}
