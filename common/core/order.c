/* See order.h. */
#include "core/order.h"

#include <assert.h>
#include <string.h>

size_t mg_order_size(const struct mg_order *order)
{
    return offsetof(struct mg_order, steps) + (size_t)order->step_count * sizeof(order->steps[0]);
}

int64_t mg_order_within_ms(const struct mg_plan *plan, const struct mg_order *order)
{
    return order->complete_within_ms > 0 ? order->complete_within_ms : plan->complete_within_ms;
}

int64_t mg_order_complete_by_ms(const struct mg_plan *plan, const struct mg_context *context,
                                const struct mg_order *order)
{
    int64_t within_ms = mg_order_within_ms(plan, order);
    return within_ms > 0 ? context->now_ms + within_ms : 0;
}

void mg_order_init(const struct mg_plan *plan, const struct mg_context *context, int64_t complete_within_ms,
                   struct mg_order *ret_order)
{
    assert(plan->step_count > 0 && plan->step_count <= MG_STEPS_MAX);
    memset(ret_order, 0, sizeof(*ret_order));
    ret_order->complete_within_ms = complete_within_ms;
    ret_order->complete_by_ms = mg_order_complete_by_ms(plan, context, ret_order);
    ret_order->step_count = plan->step_count;
}

static void earliest(int64_t *at_ms, int64_t candidate_ms)
{
    if (candidate_ms != 0 && (*at_ms == 0 || candidate_ms < *at_ms)) {
        *at_ms = candidate_ms;
    }
}

bool mg_step_is_parked(const struct mg_step *step)
{
    bool is_waiting = step->state == MG_STEP_WAITING || step->state == MG_STEP_UNDO_WAITING ||
                      step->state == MG_STEP_UNKNOWN;
    bool is_for_gate = step->reason == MG_REASON_NO_CONSUMER || step->reason == MG_REASON_BREAKER_OPEN ||
                       step->reason == MG_REASON_SERVICE_PAUSED || step->reason == MG_REASON_WINDOW_FULL;
    return is_waiting && is_for_gate && step->due_at_ms != 0;
}

/* In `error` running attempts are still judged, so that the operator sees their outcome, and accepted work is
 * polled; no other moment counts. */
int64_t mg_order_wake_at_ms(const struct mg_order *order)
{
    bool is_open = !mg_order_state_is_terminal(order->state);
    int64_t at_ms = 0;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (mg_step_is_running(step)) {
            earliest(&at_ms, step->complete_by_ms);
        } else if (is_open || (order->state == MG_ORDER_ERROR && mg_step_is_polled(step))) {
            earliest(&at_ms, step->due_at_ms);
        }
    }
    if (is_open && order->goal == MG_GOAL_PROCESSED) {
        earliest(&at_ms, order->complete_by_ms);
    }
    return at_ms;
}

bool mg_order_is_moving(const struct mg_order *order, int64_t now_ms)
{
    bool is_expiring =
        order->goal == MG_GOAL_PROCESSED && order->complete_by_ms != 0 && order->complete_by_ms <= now_ms;
    if (mg_order_state_is_terminal(order->state) || is_expiring || mg_order_is_in_line(order)) {
        return true;
    }
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (mg_step_is_running(step) || step->due_at_ms != 0 || step->state == MG_STEP_UNKNOWN) {
            return true;
        }
    }
    return false;
}

uint64_t mg_order_not_undone(const struct mg_plan *plan, const struct mg_order *order)
{
    uint64_t steps = 0;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        bool may_stand = step->state == MG_STEP_DONE || step->state == MG_STEP_RUNNING || step->is_maybe ||
                         mg_step_is_to_undo(step) || step->state == MG_STEP_UNDO_FAILED;
        if (may_stand && plan->steps[i].has_undo) {
            steps |= UINT64_C(1) << i;
        }
    }
    return steps;
}

bool mg_order_lacks_output(const struct mg_order *order)
{
    bool is_finished = true;
    for (int i = 0; i < order->step_count; i++) {
        is_finished = is_finished &&
                      (order->steps[i].state == MG_STEP_DONE || order->steps[i].state == MG_STEP_SKIPPED);
    }
    return is_finished && order->state == MG_ORDER_ERROR && order->reason == MG_REASON_UNRENDERABLE;
}
