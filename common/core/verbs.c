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
static bool is_taken_as(const struct trial *trial, struct mg_cause cause, struct mg_order *ret_after)
{
    struct mg_decision decision;
    memcpy(ret_after, trial->order, mg_order_size(trial->order));
    enum mg_verdict verdict = mg_order_decide(trial->plan, trial->context, &cause, ret_after, &decision);
    bool is_of_step = cause.step >= 0;
    return verdict == MG_GO && (is_of_step || ret_after->state != MG_ORDER_ERROR);
}

static bool is_taken(const struct trial *trial, struct mg_cause cause)
{
    struct mg_order after;
    return is_taken_as(trial, cause, &after);
}

static void settle_try(const struct trial *trial, int step, struct mg_verbs *verbs)
{
    struct mg_cause cause = {
        .kind = MG_CAUSE_SETTLE, .step = step, .settle = {.outcome = MG_OUTCOME_DONE, .has_result = true}};
    uint64_t bit = UINT64_C(1) << step;
    struct mg_order after;
    verbs->can_settle |= is_taken_as(trial, cause, &after) ? bit : 0;
    cause.settle = (struct mg_cause_settle){.outcome = MG_OUTCOME_ABSENT};
    if (is_taken_as(trial, cause, &after)) {
        verbs->can_settle |= bit;
        verbs->can_absent |= bit;
        verbs->absent[step] = after.steps[step].state;
    }
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
        settle_try(&trial, i, ret_verbs);
        ret_verbs->can_skip |=
            is_taken(&trial, (struct mg_cause){.kind = MG_CAUSE_SKIP, .step = i}) ? bit : 0;
        ret_verbs->can_repeat |=
            is_taken(&trial,
                     (struct mg_cause){.kind = MG_CAUSE_RESUME, .step = i, .resume = {.is_repeat = true}})
                ? bit
                : 0;
    }
}
