/*
 * The one place where an order changes its state. Pure: the same order, plan, context and cause give the same
 * decision; no I/O, no clock, no allocation, no globals.
 */
#ifndef MG_CORE_DECIDE_H
#define MG_CORE_DECIDE_H

#include <stddef.h>

#include "core/model.h"

/* Makes `order` as it is before its first cause: every step pending, version 0. Then decide SUBMITTED on it.
 */
void mg_order_init(const struct mg_plan *plan, const struct mg_context *context, int64_t complete_within_ms,
                   struct mg_order *ret_order);

/*
 * Applies one cause. With MG_GO `order` is the new state (version one higher, wake_at_ms set) and
 * `ret_decision` holds the effects in the order in which they are to be published. With any other verdict
 * `order` is unchanged and there are no effects.
 *
 * A request's effect names a step whose attempt, kind, complete_by_ms and generation stand in `order`. If it
 * then cannot be built, decide UNRENDERABLE or REQUEST_CHANGED on the result, in the same fold.
 */
void mg_order_decide(const struct mg_plan *plan, const struct mg_context *context,
                     const struct mg_cause *cause, struct mg_order *order, struct mg_decision *ret_decision);

/* Bytes of an order as far as it has steps: what is to be copied of it. */
size_t mg_order_size(const struct mg_order *order);

/* The steps that may have happened and are not undone, as bits: what a person must know when an order is in
 * error. */
uint64_t mg_order_not_undone(const struct mg_plan *plan, const struct mg_order *order);

/* The step waits for the gate of its service, and not only for a moment: it is asked about by service. */
bool mg_step_is_parked(const struct mg_step *step);

/* The earliest moment at which the supervisor must look at the order; 0 if it is terminal. */
int64_t mg_order_wake_at_ms(const struct mg_order *order);

/* True if the open order has a step running, waiting for a moment, or doubted by an alert, or if its
 * complete-by has passed `now_ms` and will be told. If not, the alert
 * invariant_violation opens. */
bool mg_order_is_moving(const struct mg_order *order, int64_t now_ms);

#endif
