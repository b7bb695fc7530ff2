/*
 * The initial state of an order, and queries that change nothing.
 */
#ifndef MG_CORE_ORDER_H
#define MG_CORE_ORDER_H

#include <stddef.h>

#include "core/model.h"

/* Initialises `order` before its first cause: every step pending, version 0. Then decide SUBMITTED on it. */
void mg_order_init(const struct mg_plan *plan, const struct mg_context *context, int64_t complete_within_ms,
                   struct mg_order *ret_order);

/* The time of an order's forward work, from its submission or its plan; 0: no limit. */
int64_t mg_order_within_ms(const struct mg_plan *plan, const struct mg_order *order);
/* The end of that time, if it begins now; 0: no limit. */
int64_t mg_order_complete_by_ms(const struct mg_plan *plan, const struct mg_context *context,
                                const struct mg_order *order);

/* Bytes of an order up to its last step: the size of a copy. */
size_t mg_order_size(const struct mg_order *order);

/* The steps that may have happened and are not undone, as bits, for the operator of an order in error. */
uint64_t mg_order_not_undone(const struct mg_plan *plan, const struct mg_order *order);

/* True if the step waits for the gate of its service. The supervisor releases parked steps by service. */
bool mg_step_is_parked(const struct mg_step *step);
/* True if every step is done or skipped, and only the output cannot be built. */
bool mg_order_lacks_output(const struct mg_order *order);

/* The earliest moment at which the supervisor must look at the order; 0 if it is terminal. */
int64_t mg_order_wake_at_ms(const struct mg_order *order);

/* True if an open order has a step that runs, waits for a moment, or is in doubt with an alert, or if its
 * complete-by has passed at `now_ms`, so that a command EXPIRED follows, or if it waits for its turn. False
 * opens the alert invariant_violation. */
bool mg_order_is_moving(const struct mg_order *order, int64_t now_ms);

#endif
