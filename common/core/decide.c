/*
 * One cause, one decision: the fence, the cause's meaning for its step or order, then planning. All work is
 * done on a copy; the order is written back only if something changed, so a stale or refused cause leaves no
 * trace in it.
 */
#include "core/decide.h"

#include <assert.h>
#include <string.h>

#include "core/decider.h"
#include "core/transition.h"

size_t mg_order_size(const struct mg_order *order)
{
    return offsetof(struct mg_order, steps) + (size_t)order->step_count * sizeof(order->steps[0]);
}

void mg_order_init(const struct mg_plan *plan, const struct mg_context *context, int64_t complete_within_ms,
                   struct mg_order *ret_order)
{
    assert(plan->step_count > 0 && plan->step_count <= MG_STEPS_MAX);
    memset(ret_order, 0, sizeof(*ret_order));
    int64_t within_ms = complete_within_ms > 0 ? complete_within_ms : plan->complete_within_ms;
    ret_order->complete_by_ms = within_ms > 0 ? context->now_ms + within_ms : 0;
    ret_order->step_count = plan->step_count;
}

enum mg_verdict mg_decider_end(struct mg_decider *decider, enum mg_verdict verdict, const char *why)
{
    decider->decision->why = why;
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

static void status_add(struct mg_decider *decider, enum mg_status status, enum mg_reason reason, int step)
{
    struct mg_effect *effect = effect_add(decider, MG_EFFECT_STATUS);
    effect->status = status;
    effect->reason = reason;
    effect->step = step;
    effect->seq = ++decider->order.seq;
}

static void alert_add(struct mg_decider *decider, enum mg_effect_kind kind, enum mg_alert alert,
                      enum mg_reason reason, int step)
{
    struct mg_effect *effect = effect_add(decider, kind);
    effect->alert = alert;
    effect->reason = reason;
    effect->step = step;
}

/* What a step's change of state brings with it besides its request. */
static void step_effects(struct mg_decider *decider, int index, enum mg_step_state from, bool was_asking,
                         enum mg_reason reason)
{
    const struct mg_step *step = &decider->order.steps[index];
    if (was_asking) { /* who waits for a person waits for nothing else: any change ends the asking */
        alert_add(decider, MG_EFFECT_CLOSE_ALERT, MG_ALERT_OUTCOME_UNKNOWN, reason, index);
    }
    if (from == MG_STEP_UNDO_FAILED) {
        alert_add(decider, MG_EFFECT_CLOSE_ALERT, MG_ALERT_UNDO_FAILED, reason, index);
    }
    if (step->state == MG_STEP_DONE && decider->context->wants_step_status) {
        status_add(decider, MG_STATUS_STEP_COMPLETED, MG_REASON_NONE, index);
    }
    if (step->state == MG_STEP_UNKNOWN && step->due_at_ms == 0) {
        alert_add(decider, MG_EFFECT_ALERT, MG_ALERT_OUTCOME_UNKNOWN, reason, index);
    }
    if (step->state == MG_STEP_UNDO_FAILED) {
        alert_add(decider, MG_EFFECT_ALERT, MG_ALERT_UNDO_FAILED, reason, index);
    }
    if (mg_step_is_running(step)) {
        effect_add(decider, MG_EFFECT_REQUEST)->step = index;
    }
}

static bool are_polls_failing(const struct mg_step *step)
{
    return step->is_accepted && step->poll_failure_count >= MG_POLL_FAILURES_ALERT &&
           (step->state == MG_STEP_WAITING || step->state == MG_STEP_RUNNING);
}

/* By what the rows say before and after: a good poll closes the alert, and so does whatever else ends the
 * polling.
 */
static void poll_alerts(struct mg_decider *decider, const struct mg_order *before)
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

enum mg_verdict mg_decider_step(struct mg_decider *decider, int index, enum mg_step_event event,
                                enum mg_reason reason, int64_t due_at_ms)
{
    struct mg_step *step = &decider->order.steps[index];
    const struct mg_cell *cell = mg_step_cell(step->state, event);
    if (cell->verdict != MG_GO) {
        return mg_decider_end(decider, cell->verdict, cell->why);
    }
    enum mg_step_state from = step->state;
    bool was_asking = from == MG_STEP_UNKNOWN && step->due_at_ms == 0; /* a person, and not a verify */
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
    decider->decision->why = cell->why;
    step_effects(decider, index, from, was_asking, reason);
    return MG_GO;
}

/* The alert about an order in `error` is about the order, for whoever closes it knows no step. UNDO_FAILED
 * and OUTCOME_UNKNOWN are opened and closed with their steps. */
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

static void order_effects(struct mg_decider *decider, enum mg_order_event event, enum mg_reason reason,
                          int step)
{
    switch (event) {
    case MG_ORDER_EVENT_BEGIN:
    case MG_ORDER_EVENT_FORWARD:
        break;
    case MG_ORDER_EVENT_RESTART:
        status_add(decider, MG_STATUS_ACCEPTED, reason, -1);
        break;
    case MG_ORDER_EVENT_FINISH:
        status_add(decider, MG_STATUS_PROCESSED, MG_REASON_NONE, -1);
        break;
    case MG_ORDER_EVENT_AMEND:
        status_add(decider, MG_STATUS_COMPENSATING, reason, step);
        break;
    case MG_ORDER_EVENT_AMENDED:
        status_add(decider, MG_STATUS_COMPENSATED, reason, -1);
        break;
    case MG_ORDER_EVENT_CALLED_OFF:
        status_add(decider, MG_STATUS_CANCELLED, reason, -1);
        break;
    case MG_ORDER_EVENT_RAISE:
        status_add(decider, MG_STATUS_ERROR, reason, step);
        order_alert(decider, MG_EFFECT_ALERT, reason, reason);
        break;
    case MG_ORDER_EVENT_COUNT:
        assert(false);
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
    if (from == MG_ORDER_ERROR) {
        order_alert(decider, MG_EFFECT_CLOSE_ALERT, order->reason, MG_REASON_OPERATOR);
    }
    order->state = (enum mg_order_state)cell->next;
    order->reason = reason;
    transition_add(decider, (struct mg_transition){
                                .step = -1, .from = (int)from, .to = (int)order->state, .reason = reason});
    decider->decision->why = cell->why;
    order_effects(decider, event, reason, step);
    return MG_GO;
}

/* The order's complete-by has passed: set the goal once, unless the pivot is done and only forward is left.
 */
static enum mg_verdict order_expire(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    bool is_open = order->state == MG_ORDER_PENDING || order->state == MG_ORDER_PROCESSING;
    if (!is_open || order->goal != MG_GOAL_PROCESSED) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the order no longer goes forward");
    }
    if (order->complete_by_ms == 0 || order->complete_by_ms > decider->context->now_ms) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the order's complete-by has not passed");
    }
    if (mg_plan_is_pivot_done(decider->plan, order)) {
        order->complete_by_ms = 0; /* from here on nothing may turn it back, and nobody need ask again */
        decider->is_changed = true;
        return mg_decider_end(decider, MG_GO, "its pivot is done: it goes forward past its complete-by");
    }
    if (decider->plan->on_expiry == MG_ON_FAILURE_ERROR) {
        return mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_ORDER_EXPIRED, -1);
    }
    order->goal = MG_GOAL_COMPENSATED;
    return mg_decider_order(decider, MG_ORDER_EVENT_AMEND, MG_REASON_ORDER_EXPIRED, -1);
}

/* A step's wait is over. Planning sends it if its gate is open; if not, it stays parked and nothing is
 * written. */
static enum mg_verdict step_due(struct mg_decider *decider)
{
    struct mg_step *step = &decider->order.steps[decider->cause->step];
    bool is_waiting = step->state == MG_STEP_WAITING || step->state == MG_STEP_UNKNOWN ||
                      step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING;
    if (!is_waiting || decider->cause->attempt != step->attempt) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the step no longer waits after this attempt");
    }
    int64_t due_at_ms;
    if (step->due_at_ms > decider->context->now_ms &&
        mg_judge_wait_is_too_long(decider, decider->cause->step, &due_at_ms)) {
        step->due_at_ms = due_at_ms;
        decider->is_changed = true;
        return mg_decider_end(decider, MG_GO, "a clock that was ahead had it wait for too long");
    }
    if (step->due_at_ms == 0 || step->due_at_ms > decider->context->now_ms) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the step's wait is not over");
    }
    return mg_decider_end(decider, MG_GO, "the step's wait is over");
}

static enum mg_verdict cause_apply(struct mg_decider *decider)
{
    switch (decider->cause->kind) {
    case MG_CAUSE_SUBMITTED:
        if (decider->order.version != 0) {
            return mg_decider_end(decider, MG_DUPLICATE, "the order is known");
        }
        decider->is_changed = true;
        status_add(decider, MG_STATUS_ACCEPTED, MG_REASON_NONE, -1);
        return mg_decider_end(decider, MG_GO, "a new order");
    case MG_CAUSE_REATTACHED:
        decider->is_changed = true;
        return mg_decider_end(decider, MG_GO, "its client asks again");
    case MG_CAUSE_REPLY:
        return mg_judge_reply(decider);
    case MG_CAUSE_OVERDUE:
        return mg_judge_overdue(decider);
    case MG_CAUSE_DUE:
        return step_due(decider);
    case MG_CAUSE_EXPIRED:
        return order_expire(decider);
    case MG_CAUSE_NUDGE:
        if (decider->cause->version != 0 && decider->cause->version != decider->order.version) {
            return mg_decider_end(decider, MG_STALE_CAUSE, "the order has changed since it was found");
        }
        return mg_decider_end(decider, MG_GO, "the supervisor found nothing moving");
    case MG_CAUSE_OWED:
        return mg_decider_end(decider, MG_DUPLICATE, "owed statuses change no state");
    case MG_CAUSE_UNPUBLISHABLE:
        return mg_judge_unpublishable(decider);
    case MG_CAUSE_REPUBLISHED:
        return mg_judge_republished(decider);
    case MG_CAUSE_UNRENDERABLE:
        return mg_judge_unsendable(decider, MG_REASON_UNRENDERABLE);
    case MG_CAUSE_REQUEST_CHANGED:
        return mg_judge_unsendable(decider, MG_REASON_REQUEST_CHANGED);
    case MG_CAUSE_RESUME:
    case MG_CAUSE_RESTART:
    case MG_CAUSE_SETTLE:
    case MG_CAUSE_SKIP:
    case MG_CAUSE_COMPENSATE:
    case MG_CAUSE_CANCEL:
        return mg_operator_decide(decider);
    case MG_CAUSE_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such cause");
}

static bool cause_names_step(enum mg_cause_kind kind)
{
    return kind == MG_CAUSE_REPLY || kind == MG_CAUSE_OVERDUE || kind == MG_CAUSE_DUE ||
           kind == MG_CAUSE_UNPUBLISHABLE || kind == MG_CAUSE_REPUBLISHED || kind == MG_CAUSE_UNRENDERABLE ||
           kind == MG_CAUSE_REQUEST_CHANGED || kind == MG_CAUSE_SETTLE || kind == MG_CAUSE_SKIP;
}

void mg_order_decide(const struct mg_plan *plan, const struct mg_context *context,
                     const struct mg_cause *cause, struct mg_order *order, struct mg_decision *ret_decision)
{
    struct mg_decider decider = {.plan = plan, .context = context, .cause = cause, .decision = ret_decision};
    assert(order->step_count == plan->step_count);
    memcpy(&decider.order, order, mg_order_size(order));
    ret_decision->why = "";
    ret_decision->effect_count = 0;
    ret_decision->transition_count = 0;

    if (cause_names_step(cause->kind) && (cause->step < 0 || cause->step >= plan->step_count)) {
        ret_decision->verdict = mg_decider_end(&decider, MG_REFUSED, "the workflow has no such step");
        return;
    }
    const char *why = "";
    enum mg_verdict verdict = cause_apply(&decider);
    if (verdict == MG_GO) {
        why = ret_decision->why;
        if (cause->kind != MG_CAUSE_REPUBLISHED) { /* which moves nothing */
            mg_plan_order(&decider);
        }
        if (!decider.is_changed) {
            verdict = mg_decider_end(&decider, MG_DUPLICATE, "nothing can move yet");
            why = ret_decision->why;
        }
        ret_decision->why = why;
    }
    ret_decision->verdict = verdict;
    if (verdict != MG_GO) {
        ret_decision->effect_count = 0;
        ret_decision->transition_count = 0;
        return;
    }
    poll_alerts(&decider, order);
    decider.order.version++;
    decider.order.wake_at_ms = mg_order_wake_at_ms(&decider.order);
    memcpy(order, &decider.order, mg_order_size(&decider.order));
}

static void earliest(int64_t *at_ms, int64_t candidate_ms)
{
    if (candidate_ms != 0 && (*at_ms == 0 || candidate_ms < *at_ms)) {
        *at_ms = candidate_ms;
    }
}

bool mg_step_is_parked(const struct mg_step *step)
{
    bool is_waiting = step->state == MG_STEP_WAITING || step->state == MG_STEP_UNDO_WAITING ||
                      step->state == MG_STEP_UNKNOWN;
    bool is_for_gate = step->reason == MG_REASON_NO_CONSUMER || step->reason == MG_REASON_BREAKER_OPEN ||
                       step->reason == MG_REASON_SERVICE_PAUSED || step->reason == MG_REASON_WINDOW_FULL;
    return is_waiting && is_for_gate && step->due_at_ms != 0;
}

/* In `error` running attempts are still judged, so that the operator sees the truth; nothing else is asked
 * about. */
int64_t mg_order_wake_at_ms(const struct mg_order *order)
{
    bool is_open = !mg_order_state_is_terminal(order->state);
    int64_t at_ms = 0;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (mg_step_is_running(step)) {
            earliest(&at_ms, step->complete_by_ms);
        } else if (is_open) {
            earliest(&at_ms, step->due_at_ms);
        }
    }
    if (is_open && order->goal == MG_GOAL_PROCESSED) {
        earliest(&at_ms, order->complete_by_ms);
    }
    return at_ms;
}

bool mg_order_is_moving(const struct mg_order *order, int64_t now_ms)
{
    bool is_expiring =
        order->goal == MG_GOAL_PROCESSED && order->complete_by_ms != 0 && order->complete_by_ms <= now_ms;
    if (mg_order_state_is_terminal(order->state) || is_expiring) {
        return true;
    }
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (mg_step_is_running(step) || step->due_at_ms != 0 || step->state == MG_STEP_UNKNOWN) {
            return true;
        }
    }
    return false;
}

uint64_t mg_order_not_undone(const struct mg_plan *plan, const struct mg_order *order)
{
    uint64_t steps = 0;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        bool may_stand = step->state == MG_STEP_DONE || step->state == MG_STEP_RUNNING || step->is_maybe ||
                         mg_step_is_to_undo(step) || step->state == MG_STEP_UNDO_FAILED;
        if (may_stand && plan->steps[i].has_undo) {
            steps |= UINT64_C(1) << i;
        }
    }
    return steps;
}
