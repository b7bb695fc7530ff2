/*
 * The only place where an order changes its state. Pure: the same order, plan, context and cause give the
 * same decision; no I/O, no clock, no allocation, no globals.
 */
#ifndef MG_CORE_DECIDE_H
#define MG_CORE_DECIDE_H

#include "core/model.h"

/*
 * Applies one cause. The verdict is returned. With MG_GO `order` is the new state (version one higher,
 * wake_at_ms set) and `ret_decision` holds the effects in the order in which they are to be published. With
 * any other verdict `order` is unchanged and there are no effects.
 *
 * A request's effect names a step; `order` holds its attempt, kind, complete_by_ms and generation. If it
 * then cannot be built, decide UNRENDERABLE or REQUEST_CHANGED on the result, in the same fold.
 */
enum mg_verdict mg_order_decide(const struct mg_plan *plan, const struct mg_context *context,
                                const struct mg_cause *cause, struct mg_order *order,
                                struct mg_decision *ret_decision);
/* The rest of a decision that asks for the output, which the handler has built from `order`, or could not
 * build. The order ends as processed, or in error. */
void mg_order_finish(const struct mg_plan *plan, const struct mg_context *context,
                     const struct mg_cause *cause, struct mg_order *order, struct mg_decision *decision);

#endif
