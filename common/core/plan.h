/*
 * The consequences of a cause for the whole order.
 */
#ifndef MG_CORE_PLAN_H
#define MG_CORE_PLAN_H

#include "core/decider.h"

void mg_plan_order(struct mg_decider *decider);
bool mg_plan_is_pivot_done(const struct mg_plan *plan, const struct mg_order *order);
/* True while a pivot other than `except` runs, or is in a doubt that only an operator can resolve. Such a
 * pivot may turn the order forward again, whichever goal it has. */
bool mg_plan_is_pivot_open(const struct mg_plan *plan, const struct mg_order *order, int except);
bool mg_plan_has_failed_undo(const struct mg_order *order);

#endif
