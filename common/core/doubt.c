/* See doubt.h. */
#include "core/doubt.h"

#include "core/quiet.h"

enum mg_way mg_doubt_way(const struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    const struct mg_step *step = &decider->order.steps[index];
    if (!step->is_maybe) {
        return MG_WAY_DO;
    }
    if (step->is_accepted || (plan->on_unknown == MG_ON_UNKNOWN_VERIFY && plan->has_verify)) {
        return MG_WAY_ASK;
    }
    bool is_repeatable = plan->on_unknown == MG_ON_UNKNOWN_RETRY && !plan->is_at_most_once;
    return is_repeatable ? MG_WAY_DO : MG_WAY_PERSON;
}

bool mg_doubt_is_repeated(const struct mg_decider *decider, int index)
{
    const struct mg_cause *cause = decider->cause;
    return cause->kind == MG_CAUSE_RESUME && cause->resume.is_repeat && cause->step == index;
}

void mg_doubt_give_time(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    if (step->finish_by_ms <= decider->context->now_ms) {
        step->finish_by_ms = decider->context->now_ms +
                             (plan->finish_within_ms > 0 ? plan->finish_within_ms : plan->complete_within_ms);
    }
}

void mg_doubt_begin(struct mg_decider *decider, int index)
{
    bool is_accepted = decider->order.steps[index].is_accepted;
    if (mg_doubt_way(decider, index) == MG_WAY_PERSON) {
        (void)mg_decider_step(decider, index, MG_STEP_EVENT_DOUBT, MG_REASON_OUTCOME_UNKNOWN, 0);
        return;
    }
    if (is_accepted) {
        mg_doubt_give_time(decider, index);
    }
    bool is_quiet = mg_quiet_is_reached(decider, index);
    enum mg_reason reason = is_quiet ? MG_REASON_OPERATOR : MG_REASON_QUIESCING;
    (void)mg_decider_step(decider, index, is_accepted ? MG_STEP_EVENT_ACCEPT : MG_STEP_EVENT_DOUBT, reason,
                          mg_quiet_due_at(decider, index));
}
