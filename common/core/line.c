/* See line.h. */
#include "core/line.h"

#include "core/order.h"

/* True if the order has a place, unless an operator has released it. */
static bool has_place(const struct mg_plan *plan, const struct mg_order *order)
{
    if (order->state == MG_ORDER_ERROR) {
        return plan->sequence == MG_SEQUENCE_HOLD;
    }
    return order->version > 0 && !mg_order_state_is_terminal(order->state);
}

void mg_line_join(struct mg_decider *decider)
{
    if (decider->plan->sequence == MG_SEQUENCE_NONE) {
        return;
    }
    decider->order.reason = MG_REASON_IN_LINE;
    decider->order.complete_by_ms = 0;
    mg_decider_line(decider, MG_EFFECT_LINE_JOIN);
}

enum mg_verdict mg_line_turn(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    if (decider->cause->turn.generation != order->generation) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the place was that of another generation");
    }
    if (!mg_order_is_in_line(order)) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the order is not in line");
    }
    order->reason = MG_REASON_NONE;
    order->complete_by_ms = mg_order_complete_by_ms(decider->plan, decider->context, order);
    mg_decider_line(decider, MG_EFFECT_LINE_BEGIN);
    return mg_decider_end(decider, MG_GO, "its turn in the line of its key has come");
}

enum mg_verdict mg_line_release(struct mg_decider *decider)
{
    if (decider->plan->sequence == MG_SEQUENCE_NONE) {
        return mg_decider_end(decider, MG_REFUSED,
                              "the order's workflow has no \"sequence\": no other waits for it");
    }
    if (decider->order.state != MG_ORDER_ERROR) {
        return mg_decider_end(
            decider, MG_REFUSED,
            "only an order in error is released from its line; the line goes on by itself when "
            "this one ends");
    }
    mg_decider_line(decider, MG_EFFECT_LINE_LEAVE);
    return mg_decider_end(decider, MG_GO, "an operator lets the next order of its line go");
}

void mg_line_leave(struct mg_decider *decider, const struct mg_order *before)
{
    const struct mg_plan *plan = decider->plan;
    const struct mg_order *order = &decider->order;
    if (plan->sequence != MG_SEQUENCE_NONE && has_place(plan, before) && !has_place(plan, order)) {
        mg_decider_line(decider, MG_EFFECT_LINE_LEAVE);
    }
}
