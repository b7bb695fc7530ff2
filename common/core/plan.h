/*
 * The consequences of a cause for the whole order.
 */
#ifndef MG_CORE_PLAN_H
#define MG_CORE_PLAN_H

#include "core/decider.h"

void mg_plan_order(struct mg_decider *decider);
/* The end of an order with all of its steps done or skipped. */
void mg_plan_finish(struct mg_decider *decider);
/* Sends the next request of a step, or parks the step if its gate is closed. A request takes the next attempt
 * (law 5, attempt fence). If no attempt number is left, the order goes to error for an operator. */
void mg_plan_dispatch(struct mg_decider *decider, int step, enum mg_kind kind);
/* Begins a pending step: its do, or first a question if it may have happened (doubt.h). */
void mg_plan_begin(struct mg_decider *decider, int step);
/* Skips a pending step. A step that may have happened fails instead (law 10, sticky maybe): the order must
 * not go on as if nothing stood. */
enum mg_verdict mg_plan_pass_by(struct mg_decider *decider, int step, enum mg_reason reason);
bool mg_plan_is_pivot_done(const struct mg_plan *plan, const struct mg_order *order);
/* True while a pivot other than `except` runs, or is in a doubt that only an operator can resolve. Such a
 * pivot may turn the order forward again, whichever goal it has. */
bool mg_plan_is_pivot_open(const struct mg_plan *plan, const struct mg_order *order, int except);
/* On the way back: true if a pivot without undo may have happened, and only a person can bring that to an
 * end.
 */
bool mg_plan_is_pivot_stuck(const struct mg_decider *decider);
bool mg_plan_has_failed_undo(const struct mg_order *order);

#endif
