/* See guard.h. */
#include "core/guard.h"

#include "core/plan.h"

static enum mg_verdict step_refuse(struct mg_decider *decider, int index, enum mg_reason reason)
{
    struct mg_step *step = &decider->order.steps[index];
    decider->order.failure_count++;
    step->is_refused = !step->is_maybe;
    return mg_decider_step(decider, index, MG_STEP_EVENT_LAPSE, reason, 0);
}

enum mg_verdict mg_guard_facts(struct mg_decider *decider)
{
    int index = decider->cause->step;
    const struct mg_order *order = &decider->order;
    bool is_forward = order->state == MG_ORDER_PENDING || order->state == MG_ORDER_PROCESSING;
    if (order->steps[index].state != MG_STEP_PENDING || !is_forward || order->goal != MG_GOAL_PROCESSED) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the step is no longer about to begin");
    }
    switch (decider->cause->facts.fact) {
    case MG_FACT_GO:
        mg_plan_begin(decider, index);
        return mg_decider_end(decider, MG_GO, "its guard lets it go");
    case MG_FACT_SKIP:
        return mg_plan_pass_by(decider, index, MG_REASON_WHEN_FALSE);
    case MG_FACT_REFUSE:
        return step_refuse(decider, index, MG_REASON_REQUIREMENT);
    case MG_FACT_ERROR:
        return step_refuse(decider, index, MG_REASON_EXPRESSION);
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such fact");
}
