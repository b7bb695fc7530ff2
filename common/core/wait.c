/* See wait.h. */
#include "core/wait.h"

static int64_t end_at_ms(const struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    assert(!plan->is_until || decider->cause->kind == MG_CAUSE_FACTS);
    return plan->is_until ? decider->cause->facts.until_ms : decider->context->now_ms + plan->wait_ms;
}

void mg_wait_open(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    if (step->attempt >= MG_ATTEMPT_MAX) {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_ATTEMPTS_EXHAUSTED, index);
        return;
    }
    step->attempt++;
    step->kind = MG_KIND_DO;
    (void)mg_decider_step(decider, index, MG_STEP_EVENT_OPEN, MG_REASON_SLEEPING, end_at_ms(decider, index));
    if (decider->order.state == MG_ORDER_PENDING) {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_BEGIN, MG_REASON_NONE, -1);
    }
}

/* A wait of a given length that only a clock which was set forward has passed. */
static bool is_spared(const struct mg_decider *decider, int index, int64_t *ret_rest_ms)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    const struct mg_spared *spared = &decider->context->spared;
    int64_t due_at_ms = decider->order.steps[index].due_at_ms, begun_ms = due_at_ms - plan->wait_ms;
    int64_t after_ms = mg_spared_after_ms(spared, begun_ms); /* the clock that set it, as it would be now */
    *ret_rest_ms = due_at_ms - after_ms;
    return !plan->is_until && mg_spared_has_step(spared, due_at_ms, begun_ms);
}

void mg_wait_end(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    int64_t rest_ms;
    if (is_spared(decider, index, &rest_ms)) {
        step->due_at_ms = decider->context->now_ms + rest_ms;
        decider->is_changed = true;
        return;
    }
    decider->has_passed_by = true;
    (void)mg_decider_step(decider, index, MG_STEP_EVENT_ARRIVE, MG_REASON_NONE, 0);
}

bool mg_wait_is_too_long(const struct mg_decider *decider, int index, int64_t *ret_due_at_ms)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    *ret_due_at_ms = decider->context->now_ms + plan->wait_ms;
    return !plan->is_until && decider->order.steps[index].due_at_ms > *ret_due_at_ms;
}
