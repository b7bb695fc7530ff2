/*
 * An order as it begins, and questions about it that change nothing.
 */
#ifndef MG_CORE_ORDER_H
#define MG_CORE_ORDER_H

#include <stddef.h>

#include "core/model.h"

/* Makes `order` as it is before its first cause: every step pending, version 0. Then decide SUBMITTED on it.
 */
void mg_order_init(const struct mg_plan *plan, const struct mg_context *context, int64_t complete_within_ms,
                   struct mg_order *ret_order);

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
 * complete-by has passed `now_ms` and will be told. If not, the alert invariant_violation opens. */
bool mg_order_is_moving(const struct mg_order *order, int64_t now_ms);

#endif
