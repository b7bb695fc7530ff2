/*
 * Claims: expressions that no end of an order may fulfil. Names are `end`, which is "processed",
 * "compensated", "error", or "waiting" for an open order that needs an operator; `state.STEP`; and
 * `stands.STEP`, true if the effect of the step stands or may stand.
 *
 *   end == 'compensated' && stands.charge
 */
#ifndef MG_REHEARSE_CLAIM_H
#define MG_REHEARSE_CLAIM_H

#include "expr/expr.h"
#include "workflow/workflow.h"

/* MG_BAD_INPUT: the text has the column, the mistake and a valid form. The expression lives in `arena`. */
enum mg_class mg_claim_compile(const struct mg_workflow *workflow, struct mg_slice text,
                               struct mg_arena *arena, const struct mg_expr **ret_expr,
                               struct mg_err *err) MG_MUSTCHECK;
/* MG_PERMANENT: it has no value for this order. */
enum mg_class mg_claim_decide(const struct mg_workflow *workflow, const struct mg_expr *claim,
                              const struct mg_order *order, bool *ret_is_true,
                              struct mg_err *err) MG_MUSTCHECK;

#endif
