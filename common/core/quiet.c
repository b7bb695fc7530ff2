/*
 * Law 11, quiesce: an attempt that is over for its order may still act at the service before the step's
 * moment of quiet. No verify and no undo is sent before. The moment is by the clock that was in force for its
 * request.
 */
#include "core/quiet.h"

int64_t mg_quiet_at(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    int64_t within_ms = mg_later(plan->complete_within_ms, plan->undo_complete_within_ms);
    int64_t cut_ms =
        mg_moment_cut_ms(decider->context, step->quiet_at_ms, within_ms + decider->context->quiesce_ms);
    if (step->quiet_at_ms > cut_ms) {
        step->quiet_at_ms = cut_ms;
        decider->is_changed = true; /* stored: a moment cut anew by each cause would never be reached */
    }
    return step->quiet_at_ms;
}

void mg_quiet_extend(struct mg_decider *decider, int index, int64_t complete_by_ms)
{
    struct mg_step *step = &decider->order.steps[index];
    step->quiet_at_ms = mg_later(step->quiet_at_ms, complete_by_ms + decider->context->quiesce_ms);
    step->quiet_at_ms = mg_quiet_at(decider, index);
}

bool mg_quiet_is_reached(struct mg_decider *decider, int index)
{
    int64_t quiet_at_ms = mg_quiet_at(decider, index);
    return quiet_at_ms == 0 || mg_has_passed(decider->context, quiet_at_ms);
}

int64_t mg_quiet_begun_ms(const struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    const struct mg_step *step = &decider->order.steps[index];
    return step->complete_by_ms -
           (step->kind == MG_KIND_UNDO ? plan->undo_complete_within_ms : plan->complete_within_ms);
}

bool mg_quiet_was_reached(struct mg_decider *decider, int index)
{
    return mg_quiet_is_reached(decider, index) &&
           decider->order.steps[index].quiet_at_ms <= mg_quiet_begun_ms(decider, index);
}

int64_t mg_quiet_due_at(struct mg_decider *decider, int index)
{
    bool is_quiet = mg_quiet_is_reached(decider, index);
    return is_quiet ? decider->context->now_ms : decider->order.steps[index].quiet_at_ms;
}
