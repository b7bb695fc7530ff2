/* See verbs.h. */
#include "core/verbs.h"

#include <string.h>

#include "core/decide.h"
#include "core/order.h"

struct trial {
    const struct mg_plan *plan;
    const struct mg_context *context;
    const struct mg_order *order;
};

/* A verb about the whole order that leaves it in error has changed nothing. */
static bool is_taken(const struct trial *trial, struct mg_cause cause)
{
    struct mg_order order;
    struct mg_decision decision;
    memcpy(&order, trial->order, mg_order_size(trial->order));
    enum mg_verdict verdict = mg_order_decide(trial->plan, trial->context, &cause, &order, &decision);
    bool is_of_step = cause.step >= 0;
    return verdict == MG_GO && (is_of_step || order.state != MG_ORDER_ERROR);
}

static bool is_settled_by(const struct trial *trial, int step, enum mg_outcome outcome)
{
    return is_taken(
        trial, (struct mg_cause){.kind = MG_CAUSE_SETTLE,
                                 .step = step,
                                 .settle = {.outcome = outcome, .has_result = outcome == MG_OUTCOME_DONE}});
}

void mg_verbs_find(const struct mg_plan *plan, const struct mg_context *context, const struct mg_order *order,
                   struct mg_verbs *ret_verbs)
{
    const struct trial trial = {plan, context, order};
    *ret_verbs = (struct mg_verbs){
        .can_resume = is_taken(&trial, (struct mg_cause){.kind = MG_CAUSE_RESUME, .step = -1}),
        .can_restart = is_taken(&trial, (struct mg_cause){.kind = MG_CAUSE_RESTART, .step = -1}),
        .can_compensate = is_taken(&trial, (struct mg_cause){.kind = MG_CAUSE_COMPENSATE, .step = -1}),
        .can_cancel = is_taken(&trial, (struct mg_cause){.kind = MG_CAUSE_CANCEL, .step = -1}),
    };
    ret_verbs->can_finish =
        context->is_output_unrenderable &&
        is_taken(&trial, (struct mg_cause){
                             .kind = MG_CAUSE_RESUME, .step = -1, .resume = {.is_output_waived = true}});
    for (int i = 0; i < order->step_count; i++) {
        uint64_t bit = UINT64_C(1) << i;
        bool is_settled =
            is_settled_by(&trial, i, MG_OUTCOME_DONE) || is_settled_by(&trial, i, MG_OUTCOME_ABSENT);
        ret_verbs->can_settle |= is_settled ? bit : 0;
        ret_verbs->can_skip |=
            is_taken(&trial, (struct mg_cause){.kind = MG_CAUSE_SKIP, .step = i}) ? bit : 0;
        ret_verbs->can_repeat |=
            is_taken(&trial,
                     (struct mg_cause){.kind = MG_CAUSE_RESUME, .step = i, .resume = {.is_repeat = true}})
                ? bit
                : 0;
    }
}
