/* See bare_order.h. */
#include "bare_order.h"

/* A step can be asked about once for each round of planning; the scheduler's fold has the same bound. */
#define FOLLOW_MAX (4 * MG_STEPS_MAX)

/* The steps that wait for their facts. */
struct follow {
    int steps[FOLLOW_MAX];
    int count;
    uint64_t asked;
};

static bool is_of_line(enum mg_effect_kind kind)
{
    return kind == MG_EFFECT_LINE_JOIN || kind == MG_EFFECT_LINE_BEGIN || kind == MG_EFFECT_LINE_LEAVE;
}

static void effects_take(const struct mg_bare_order *bare, struct follow *follow)
{
    const struct mg_decision *decision = bare->decision;
    for (int i = 0; i < decision->transition_count; i++) {
        bare->events->change(bare->events->arg, &decision->transitions[i]);
    }
    for (int i = 0; i < decision->effect_count; i++) {
        const struct mg_effect *effect = &decision->effects[i];
        if (effect->kind == MG_EFFECT_REQUEST) {
            bare->events->request(bare->events->arg, effect->step);
        } else if (effect->kind == MG_EFFECT_ASK && (follow->asked >> effect->step & 1) == 0 &&
                   follow->count < FOLLOW_MAX) {
            follow->asked |= UINT64_C(1) << effect->step;
            follow->steps[follow->count++] = effect->step;
        } else if (is_of_line(effect->kind) && bare->events->line != NULL) {
            bare->events->line(bare->events->arg, effect->kind);
        }
    }
}

enum mg_verdict mg_bare_decide(const struct mg_bare_order *bare, const struct mg_cause *cause)
{
    struct follow follow;
    follow.count = 0;
    follow.asked = 0;
    enum mg_verdict verdict = mg_order_decide(bare->plan, bare->context, cause, bare->order, bare->decision);
    if (verdict != MG_GO) {
        return verdict;
    }
    effects_take(bare, &follow);
    for (int i = 0; i < follow.count; i++) {
        int step = follow.steps[i];
        struct mg_cause facts = {
            .kind = MG_CAUSE_FACTS, .step = step, .attempt = bare->order->steps[step].attempt};
        follow.asked &= ~(UINT64_C(1) << step);
        bare->events->facts(bare->events->arg, step, &facts.facts);
        if (mg_order_decide(bare->plan, bare->context, &facts, bare->order, bare->decision) == MG_GO) {
            effects_take(bare, &follow);
        }
    }
    return verdict;
}

/* ---- due moments ---- */

static void command_decide(const struct mg_bare_order *bare, enum mg_cause_kind kind, int step)
{
    const struct mg_cause cause = {
        .kind = kind, .step = step, .attempt = step >= 0 ? bare->order->steps[step].attempt : 0};
    (void)mg_bare_decide(bare, &cause); /* a stale one changes nothing */
}

static bool is_expired(const struct mg_order *order, int64_t now_ms)
{
    return !mg_order_state_is_terminal(order->state) && order->goal == MG_GOAL_PROCESSED &&
           order->complete_by_ms != 0 && order->complete_by_ms <= now_ms;
}

void mg_bare_ask(const struct mg_bare_order *bare, uint64_t asks_parked)
{
    const struct mg_order *order = bare->order;
    int64_t now_ms = bare->context->now_ms;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        bool is_held = mg_step_is_parked(step) && (asks_parked >> i & 1) == 0;
        if (mg_step_is_running(step) && step->complete_by_ms <= now_ms) {
            command_decide(bare, MG_CAUSE_OVERDUE, i);
        } else if (!mg_step_is_running(step) && !is_held && step->due_at_ms != 0 &&
                   step->due_at_ms <= now_ms && !mg_order_state_is_terminal(order->state)) {
            command_decide(bare, MG_CAUSE_DUE, i);
        }
    }
    if (is_expired(order, now_ms)) {
        command_decide(bare, MG_CAUSE_EXPIRED, -1);
    }
}

static int64_t earlier(int64_t at_ms, int64_t candidate_ms)
{
    return candidate_ms != 0 && (at_ms == 0 || candidate_ms < at_ms) ? candidate_ms : at_ms;
}

int64_t mg_bare_due_ms(const struct mg_order *order)
{
    int64_t at_ms = 0;
    if (mg_order_state_is_terminal(order->state)) {
        return 0;
    }
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (mg_step_is_running(step)) {
            at_ms = earlier(at_ms, step->complete_by_ms);
        } else if (!mg_step_is_parked(step)) {
            at_ms = earlier(at_ms, step->due_at_ms);
        }
    }
    return order->goal == MG_GOAL_PROCESSED ? earlier(at_ms, order->complete_by_ms) : at_ms;
}

bool mg_bare_stands(const struct mg_plan *plan, const struct mg_order *order, int step)
{
    const struct mg_step *at = &order->steps[step];
    return !plan->steps[step].is_wait &&
           (at->state == MG_STEP_DONE || at->state == MG_STEP_RUNNING || at->is_maybe ||
            mg_step_is_to_undo(at) || at->state == MG_STEP_UNDO_FAILED);
}
