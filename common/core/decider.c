/* See decider.h. */
#include "core/decider.h"

#include <assert.h>
#include <string.h>

#include "core/transition.h"

enum mg_verdict mg_decider_end(struct mg_decider *decider, enum mg_verdict verdict, const char *why)
{
    decider->why = why;
    return verdict;
}

uint64_t mg_decider_random(const struct mg_decider *decider, int step)
{
    /* SplitMix64 (Steele, Lea, Flood 2014): spreads neighbouring inputs over the whole range. */
    uint64_t z = decider->context->random + (uint64_t)(step + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* ---- the contents of a decision ---- */

static void transition_add(struct mg_decider *decider, struct mg_transition transition)
{
    struct mg_decision *decision = decider->decision;
    assert(decision->transition_count < MG_TRANSITIONS_MAX);
    decision->transitions[decision->transition_count++] = transition;
    decider->is_changed = true;
}

static struct mg_effect *effect_add(struct mg_decider *decider, enum mg_effect_kind kind)
{
    struct mg_decision *decision = decider->decision;
    assert(decision->effect_count < MG_EFFECTS_MAX);
    struct mg_effect *effect = &decision->effects[decision->effect_count++];
    memset(effect, 0, sizeof(*effect));
    effect->kind = kind;
    return effect;
}

void mg_decider_status(struct mg_decider *decider, enum mg_status status, enum mg_reason reason, int step)
{
    struct mg_effect *effect = effect_add(decider, MG_EFFECT_STATUS);
    effect->status = status;
    effect->reason = reason;
    effect->step = step;
    effect->seq = ++decider->order.seq;
}

void mg_decider_ask(struct mg_decider *decider, int step)
{
    effect_add(decider, MG_EFFECT_ASK)->step = step;
    decider->is_changed = true;
}

void mg_decider_line(struct mg_decider *decider, enum mg_effect_kind kind)
{
    effect_add(decider, kind)->step = -1;
    decider->is_changed = true;
}

static void alert_add(struct mg_decider *decider, enum mg_effect_kind kind, enum mg_alert alert,
                      enum mg_reason reason, int step)
{
    struct mg_effect *effect = effect_add(decider, kind);
    effect->alert = alert;
    effect->reason = reason;
    effect->step = step;
}

void mg_decider_alert(struct mg_decider *decider, enum mg_alert alert, enum mg_reason reason, int step)
{
    alert_add(decider, MG_EFFECT_ALERT, alert, reason, step);
}

/* ---- a step ---- */

/* A step in doubt waits for a verify, which is due at a moment, or else for a person. */
static bool needs_person(enum mg_step_state state, int64_t due_at_ms)
{
    return state == MG_STEP_UNDO_FAILED || (state == MG_STEP_UNKNOWN && due_at_ms == 0);
}

static enum mg_alert step_alert(enum mg_step_state state)
{
    return state == MG_STEP_UNKNOWN ? MG_ALERT_OUTCOME_UNKNOWN : MG_ALERT_UNDO_FAILED;
}

static void step_effects(struct mg_decider *decider, int index, unsigned effects, enum mg_step_state from,
                         bool needed_person)
{
    const struct mg_step *step = &decider->order.steps[index];
    if ((effects & MG_CELL_CLOSE_ALERT) != 0 && needed_person) {
        alert_add(decider, MG_EFFECT_CLOSE_ALERT, step_alert(from), step->reason, index);
    }
    if ((effects & MG_CELL_STATUS) != 0 && decider->context->wants_step_status) {
        mg_decider_status(decider, MG_STATUS_STEP_COMPLETED, MG_REASON_NONE, index);
    }
    if ((effects & MG_CELL_ALERT) != 0 && needs_person(step->state, step->due_at_ms)) {
        alert_add(decider, MG_EFFECT_ALERT, step_alert(step->state), step->reason, index);
    }
    if ((effects & MG_CELL_REQUEST) != 0) {
        effect_add(decider, MG_EFFECT_REQUEST)->step = index;
    }
}

enum mg_verdict mg_decider_step(struct mg_decider *decider, int index, enum mg_step_event event,
                                enum mg_reason reason, int64_t due_at_ms)
{
    struct mg_step *step = &decider->order.steps[index];
    const struct mg_cell *cell = mg_step_cell(step->state, event);
    if (cell->verdict != MG_GO) {
        return mg_decider_end(decider, cell->verdict, cell->why);
    }
    enum mg_step_state from = step->state;
    bool needed_person = needs_person(from, step->due_at_ms);
    step->state = (enum mg_step_state)cell->next;
    step->reason = reason;
    step->due_at_ms = due_at_ms;
    if (!mg_step_is_running(step)) {
        step->complete_by_ms = 0;
    }
    transition_add(decider, (struct mg_transition){.step = index,
                                                   .from = (int)from,
                                                   .to = (int)step->state,
                                                   .attempt = step->attempt,
                                                   .kind = step->kind,
                                                   .reason = reason,
                                                   .due_at_ms = due_at_ms});
    decider->why = cell->why;
    step_effects(decider, index, cell->effects, from, needed_person);
    return MG_GO;
}

/* ---- the order ---- */

/* The alert of an order in `error` names no step, since the event that closes it has none. UNDO_FAILED and
 * OUTCOME_UNKNOWN are opened and closed with their steps. */
static void order_alert(struct mg_decider *decider, enum mg_effect_kind kind, enum mg_reason cause,
                        enum mg_reason reason)
{
    enum mg_alert alert = cause == MG_REASON_STATE_LOST ? MG_ALERT_STATE_LOST : MG_ALERT_ORDER_ERROR;
    if (cause != MG_REASON_UNDO_FAILED) {
        alert_add(decider, kind, alert, reason, -1);
    }
}

void mg_decider_worsen(struct mg_decider *decider, enum mg_reason reason)
{
    if (decider->order.reason != reason) {
        order_alert(decider, MG_EFFECT_CLOSE_ALERT, decider->order.reason, reason);
        order_alert(decider, MG_EFFECT_ALERT, reason, reason);
        decider->order.reason = reason;
    }
}

enum mg_verdict mg_decider_order(struct mg_decider *decider, enum mg_order_event event, enum mg_reason reason,
                                 int step)
{
    struct mg_order *order = &decider->order;
    const struct mg_cell *cell = mg_order_cell(order->state, event);
    if (cell->verdict != MG_GO) {
        return mg_decider_end(decider, cell->verdict, cell->why);
    }
    enum mg_order_state from = order->state;
    if ((cell->effects & MG_CELL_CLOSE_ALERT) != 0) {
        order_alert(decider, MG_EFFECT_CLOSE_ALERT, order->reason, MG_REASON_OPERATOR);
    }
    order->state = (enum mg_order_state)cell->next;
    order->reason = reason;
    transition_add(decider, (struct mg_transition){
                                .step = -1, .from = (int)from, .to = (int)order->state, .reason = reason});
    decider->why = cell->why;
    if ((cell->effects & MG_CELL_STATUS) != 0) {
        mg_decider_status(decider, mg_order_state_status(order->state), reason, step);
    }
    if ((cell->effects & MG_CELL_ALERT) != 0) {
        order_alert(decider, MG_EFFECT_ALERT, reason, reason);
    }
    return MG_GO;
}

/* ---- polls ---- */

static bool are_polls_failing(const struct mg_step *step)
{
    bool is_polled =
        step->state == MG_STEP_WAITING || step->state == MG_STEP_RUNNING || mg_step_asks_undone(step);
    return is_polled && step->is_accepted && step->poll_failure_count >= MG_POLL_FAILURES_ALERT;
}

void mg_decider_poll_alerts(struct mg_decider *decider, const struct mg_order *before)
{
    for (int i = 0; i < before->step_count; i++) {
        const struct mg_step *step = &decider->order.steps[i];
        bool is_failing = are_polls_failing(step);
        if (is_failing != are_polls_failing(&before->steps[i])) {
            alert_add(decider, is_failing ? MG_EFFECT_ALERT : MG_EFFECT_CLOSE_ALERT, MG_ALERT_POLLS_FAILING,
                      step->reason, i);
        }
    }
}
