/*
 * One cause, one decision: the fence, the cause's meaning for its step or order, then planning. All work is
 * done on a copy; the order is written back only if something changed, so a stale or refused cause leaves no
 * trace in it.
 */
#include "core/decide.h"

#include <assert.h>
#include <string.h>

#include "core/decider.h"
#include "core/guard.h"
#include "core/judge.h"
#include "core/line.h"
#include "core/operator.h"
#include "core/order.h"
#include "core/plan.h"
#include "core/wait.h"

/* The sweep uses the moment of creation. If an operator restarted the order while the clock was set back, its
 * deadline is older than the clock suggests. If the clock is then set forward, that deadline still counts. */
static bool is_of_low_clock(const struct mg_decider *decider)
{
    const struct mg_high_clock *high = &decider->context->spared.high;
    int64_t within_ms = mg_order_within_ms(decider->plan, &decider->order);
    int64_t given_ms = decider->order.complete_by_ms - within_ms;
    return within_ms > 0 && given_ms >= high->low_from_ms && given_ms <= high->low_until_ms &&
           mg_is_spared(decider->context, decider->order.complete_by_ms);
}

/* The order's complete-by has passed: set the goal once, unless the pivot is done and only forward is left.
 */
static enum mg_verdict order_expire(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    bool is_open = order->state == MG_ORDER_PENDING || order->state == MG_ORDER_PROCESSING;
    if (!is_open || order->goal != MG_GOAL_PROCESSED) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the order no longer goes forward");
    }
    if (order->complete_by_ms == 0 || order->complete_by_ms > decider->context->now_ms) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the order's complete-by has not passed");
    }
    if (is_of_low_clock(decider)) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "only a clock that was set forward has passed it");
    }
    if (mg_plan_is_pivot_done(decider->plan, order)) {
        order->complete_by_ms = 0; /* it can no longer turn back, and needs no further command */
        decider->is_changed = true;
        return mg_decider_end(decider, MG_GO, "its pivot is done: it goes forward past its complete-by");
    }
    if (decider->plan->on_expiry == MG_ON_FAILURE_ERROR) {
        return mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_ORDER_EXPIRED, -1);
    }
    order->goal = MG_GOAL_COMPENSATED;
    return mg_decider_order(decider, MG_ORDER_EVENT_AMEND, MG_REASON_ORDER_EXPIRED, -1);
}

/* A step's wait is over. Planning sends it if its gate is open; if not, it stays parked and nothing is
 * written. */
static enum mg_verdict step_due(struct mg_decider *decider)
{
    struct mg_step *step = &decider->order.steps[decider->cause->step];
    bool is_waiting = step->state == MG_STEP_WAITING || step->state == MG_STEP_UNKNOWN ||
                      step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING;
    if (!is_waiting || decider->cause->attempt != step->attempt) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the step no longer waits after this attempt");
    }
    int64_t due_at_ms;
    if (step->due_at_ms > decider->context->now_ms &&
        mg_judge_wait_is_too_long(decider, decider->cause->step, &due_at_ms)) {
        step->due_at_ms = due_at_ms;
        decider->is_changed = true;
        return mg_decider_end(decider, MG_GO, "a clock that was ahead had it wait for too long");
    }
    if (step->due_at_ms == 0 || step->due_at_ms > decider->context->now_ms) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the step's wait is not over");
    }
    if (decider->plan->steps[decider->cause->step].is_signal) {
        return mg_wait_time_out(decider, decider->cause->step);
    }
    return mg_decider_end(decider, MG_GO, "the step's wait is over");
}

static enum mg_verdict cause_apply(struct mg_decider *decider)
{
    switch (decider->cause->kind) {
    case MG_CAUSE_SUBMITTED:
        if (decider->order.version != 0) {
            return mg_decider_end(decider, MG_DUPLICATE, "the order is known");
        }
        decider->is_changed = true;
        mg_decider_status(decider, MG_STATUS_ACCEPTED, MG_REASON_NONE, -1);
        (void)mg_decider_end(decider, MG_GO, "a new order");
        mg_line_join(decider);
        return MG_GO;
    case MG_CAUSE_REATTACHED:
        decider->is_changed = true;
        return mg_decider_end(decider, MG_GO, "its client submits it again");
    case MG_CAUSE_REPLY:
        return mg_judge_reply(decider);
    case MG_CAUSE_OVERDUE:
        return mg_judge_overdue(decider);
    case MG_CAUSE_DUE:
        return step_due(decider);
    case MG_CAUSE_EXPIRED:
        return order_expire(decider);
    case MG_CAUSE_NUDGE:
        if (decider->cause->version != 0 && decider->cause->version != decider->order.version) {
            return mg_decider_end(decider, MG_STALE_CAUSE, "the order has changed since it was found");
        }
        return mg_decider_end(decider, MG_GO, "the supervisor found nothing moving");
    case MG_CAUSE_OWED:
        return mg_decider_end(decider, MG_DUPLICATE, "owed statuses change no state");
    case MG_CAUSE_FIRE:
        return mg_decider_end(decider, MG_DUPLICATE, "the slot has its order");
    case MG_CAUSE_UNPUBLISHABLE:
        return mg_judge_unpublishable(decider);
    case MG_CAUSE_REPUBLISHED:
        return mg_judge_republished(decider);
    case MG_CAUSE_UNRENDERABLE:
        return mg_judge_unsendable(decider, MG_REASON_UNRENDERABLE);
    case MG_CAUSE_REQUEST_CHANGED:
        return mg_judge_unsendable(decider, MG_REASON_REQUEST_CHANGED);
    case MG_CAUSE_FACTS:
        return mg_guard_facts(decider);
    case MG_CAUSE_SIGNAL:
        return decider->plan->steps[decider->cause->step].is_wait ? mg_wait_signal(decider)
                                                                  : mg_judge_callback(decider);
    case MG_CAUSE_TURN:
        return mg_line_turn(decider);
    case MG_CAUSE_RESUME:
    case MG_CAUSE_RESTART:
    case MG_CAUSE_SETTLE:
    case MG_CAUSE_SKIP:
    case MG_CAUSE_COMPENSATE:
    case MG_CAUSE_CANCEL:
    case MG_CAUSE_RELEASE:
        return mg_operator_decide(decider);
    case MG_CAUSE_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such cause");
}

static bool cause_names_step(enum mg_cause_kind kind)
{
    return kind == MG_CAUSE_REPLY || kind == MG_CAUSE_OVERDUE || kind == MG_CAUSE_DUE ||
           kind == MG_CAUSE_UNPUBLISHABLE || kind == MG_CAUSE_REPUBLISHED || kind == MG_CAUSE_UNRENDERABLE ||
           kind == MG_CAUSE_REQUEST_CHANGED || kind == MG_CAUSE_FACTS || kind == MG_CAUSE_SIGNAL ||
           kind == MG_CAUSE_SETTLE || kind == MG_CAUSE_SKIP;
}

enum mg_verdict mg_order_decide(const struct mg_plan *plan, const struct mg_context *context,
                                const struct mg_cause *cause, struct mg_order *order,
                                struct mg_decision *ret_decision)
{
    struct mg_decider decider = {.plan = plan, .context = context, .cause = cause, .decision = ret_decision};
    assert(order->step_count == plan->step_count);
    memcpy(&decider.order, order, mg_order_size(order));
    ret_decision->asks_output = false;
    ret_decision->effect_count = 0;
    ret_decision->transition_count = 0;

    if (cause_names_step(cause->kind) && (cause->step < 0 || cause->step >= plan->step_count)) {
        ret_decision->why = "the workflow has no such step";
        return MG_REFUSED;
    }
    enum mg_verdict verdict = cause_apply(&decider);
    ret_decision->why = decider.why;                               /* planning gives no other */
    if (verdict == MG_GO && cause->kind != MG_CAUSE_REPUBLISHED) { /* which moves nothing */
        mg_plan_order(&decider);
    }
    if (verdict == MG_GO && !decider.is_changed) {
        verdict = MG_DUPLICATE;
        ret_decision->why = "nothing can move yet";
    }
    if (verdict != MG_GO) {
        ret_decision->effect_count = 0;
        ret_decision->transition_count = 0;
        return verdict;
    }
    mg_decider_poll_alerts(&decider, order);
    mg_line_leave(&decider, order);
    decider.order.version++;
    decider.order.wake_at_ms = mg_order_wake_at_ms(&decider.order);
    memcpy(order, &decider.order, mg_order_size(&decider.order));
    return MG_GO;
}

void mg_order_finish(const struct mg_plan *plan, const struct mg_context *context,
                     const struct mg_cause *cause, struct mg_order *order, struct mg_decision *decision)
{
    struct mg_decider decider = {.plan = plan, .context = context, .cause = cause, .decision = decision};
    assert(decision->asks_output && !context->is_output_open);
    memcpy(&decider.order, order, mg_order_size(order));
    decision->asks_output = false;
    mg_plan_finish(&decider);
    mg_line_leave(&decider, order);
    decider.order.wake_at_ms = mg_order_wake_at_ms(&decider.order);
    memcpy(order, &decider.order, mg_order_size(&decider.order));
}
