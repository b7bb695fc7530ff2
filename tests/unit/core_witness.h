/*
 * Invariants of every decision in any world: the laws, stated a second time in another form. The witness sees
 * order, cause and decision from outside. It keeps its own account of maybe, of undone keys and of open
 * alerts.
 */
#ifndef MG_TEST_CORE_WITNESS_H
#define MG_TEST_CORE_WITNESS_H

#include "core_account.h"

static inline void witness_generation(struct witness *witness, const struct mg_cause *cause, int i)
{
    const struct mg_step *before = &witness->before.steps[i], *after = &witness->order.steps[i];
    bool is_refused = before->state == MG_STEP_FAILED && after->state != MG_STEP_FAILED &&
                      !witness->is_maybe[i] && before->attempt > 0;
    bool was_undone = witness->world.keys[i][before->generation % WORLD_GENERATIONS].was_undo_dispatched;
    WITNESS(witness, after->generation >= before->generation, "step %d: the generation fell", i);
    if (cause->kind == MG_CAUSE_RESUME && is_refused) {
        WITNESS(witness, after->generation > before->generation,
                "step %d: resumed after a refusal under the old key", i);
    }
    if (after->generation > before->generation && !was_undone) {
        bool is_allowed =
            cause->kind == MG_CAUSE_RESTART ||
            (cause->kind == MG_CAUSE_RESUME && (is_refused || cause->resume.is_request_changed));
        WITNESS(witness, is_allowed, "step %d: the generation rose by %s", i, mg_cause_name(cause->kind));
        WITNESS(witness, !witness->is_maybe[i], "step %d: the generation rose after maybe", i);
    }
}

/* Law 11, quiesce: no do of this step, and before an undo no other, may still act, unless the service has
 * answered it. Work that it has
 * accepted can be polled. The world's own record must agree: no service is at work on a call that was given
 * up. */
static inline void witness_quiet(struct witness *witness, int i)
{
    bool is_undo = witness->order.steps[i].kind == MG_KIND_UNDO;
    for (int m = 0; m < WORLD_MESSAGES; m++) {
        const struct message *message = &witness->world.messages[m];
        WITNESS(witness,
                !message->is_used || message->kind != MESSAGE_LATE_DO || message->step != i ||
                    message->is_of_late_copy,
                "step %d: %s overtakes attempt %u", i, mg_kind_name(witness->order.steps[i].kind),
                message->attempt);
    }
    for (uint32_t a = 1; a < witness->order.steps[i].attempt && a < WORLD_ATTEMPTS; a++) {
        const struct remote_attempt *at = &witness->world.attempts[i][a];
        bool is_ended = at->is_answered && !at->is_open && !(at->is_accepted && is_undo);
        bool may_act = at->kind == MG_KIND_DO || (is_undo && at->kind == MG_KIND_UNDO && at->was_given_up);
        bool is_quiet = !may_act || !at->is_out || is_ended ||
                        at->complete_by_ms + witness->context.quiesce_ms <= witness->context.now_ms;
        WITNESS(witness, is_quiet, "step %d: attempt %u may still act, and %s goes out", i, a,
                mg_kind_name(witness->order.steps[i].kind));
    }
}

static inline void witness_do(struct witness *witness, int i, bool is_backward)
{
    const struct mg_order *order = &witness->order;
    const struct mg_step *step = &order->steps[i];
    for (int j = 0; j < order->step_count; j++) {
        bool is_before = (witness->followers[j] >> i & 1) != 0; /* directly or not */
        WITNESS(witness,
                !is_before || is_backward || order->steps[j].state == MG_STEP_DONE ||
                    order->steps[j].state == MG_STEP_SKIPPED,
                "step %d goes out before step %d is done", i, j);
    }
    for (int j = 0; j < order->step_count; j++) {
        WITNESS(witness,
                is_backward || (witness->plan.steps[i].needs >> j & 1) == 0 ||
                    order->steps[j].state == MG_STEP_DONE,
                "step %d goes out, and step %d, which it needs, is %s", i, j,
                mg_step_state_name(order->steps[j].state));
    }
    bool is_pivot_in_doubt = witness->plan.steps[i].is_pivot && !witness->plan.steps[i].has_undo &&
                             witness->plan.steps[i].on_unknown == MG_ON_UNKNOWN_RETRY && witness->is_maybe[i];
    bool is_on_the_way_back = order->goal != MG_GOAL_PROCESSED && is_pivot_in_doubt; /* to its end */
    WITNESS(witness,
            is_backward || is_on_the_way_back || !witness->plan.steps[i].has_guard || witness->is_let_go[i],
            "step %d goes out before its guard lets it go", i);
    WITNESS(witness, order->goal == MG_GOAL_PROCESSED || is_backward || is_pivot_in_doubt,
            "step %d: a do after the order turned back", i);
    WITNESS(witness, is_backward || !witness->is_maybe[i] || is_permitted(witness, i),
            "step %d: a do out of a maybe, without a policy, a proof or a person for it", i);
    WITNESS(witness,
            is_backward || is_on_the_way_back || order->complete_by_ms == 0 ||
                order->complete_by_ms > witness->context.now_ms,
            "step %d: a do past the order's complete-by", i);
    WITNESS(witness, !witness->world.keys[i][step->generation % WORLD_GENERATIONS].was_undo_dispatched,
            "step %d: a do under the key of a dispatched undo, generation %u", i, step->generation);
    for (uint32_t a = witness->revived_at[i] + 1; a < step->attempt && a < WORLD_ATTEMPTS; a++) {
        const struct remote_attempt *at = &witness->world.attempts[i][a];
        WITNESS(witness,
                !witness->plan.steps[i].is_at_most_once || at->kind != MG_KIND_DO || !at->is_out ||
                    (at->is_answered && at->is_no),
                "step %d: at most once, and attempt %u goes out after attempt %u", i, step->attempt, a);
    }
}

static inline void witness_undo(struct witness *witness, int i)
{
    const struct mg_order *order = &witness->order;
    bool did = false;
    for (uint32_t a = 1; a < order->steps[i].attempt && a < WORLD_ATTEMPTS; a++) {
        did =
            did || (witness->world.attempts[i][a].kind == MG_KIND_DO && witness->world.attempts[i][a].is_out);
    }
    WITNESS(witness, did, "step %d: an undo of what never went out", i);
    for (int j = 0; j < order->step_count; j++) {
        const struct mg_step *follower = &order->steps[j];
        bool is_to_undo = witness->plan.steps[j].has_undo && follower->state != MG_STEP_UNDO_FAILED &&
                          (follower->state == MG_STEP_DONE || follower->is_maybe);
        WITNESS(witness,
                (witness->followers[i] >> j & 1) == 0 ||
                    !(is_running(follower) || is_undo_open(follower) || is_to_undo),
                "step %d is undone before step %d, which follows it", i, j);
    }
}

/* On the way back a do or a verify goes out only to learn the result that the undo needs, as the definition
 * allows, and the undo only with it. */
static inline void witness_learn(struct witness *witness, int i)
{
    const struct mg_step_plan *plan = &witness->plan.steps[i];
    const struct mg_step *before = &witness->before.steps[i], *step = &witness->order.steps[i];
    bool is_known = !plan->needs_result || (witness->context.known_results >> i & 1) != 0;
    if (mg_step_asks_undone(step)) {
        WITNESS(witness, step->kind == MG_KIND_VERIFY && plan->has_undo_verify,
                "step %d: %s in place of the undo's verify", i, mg_kind_name(step->kind));
        WITNESS(witness, witness->world.keys[i][step->generation % WORLD_GENERATIONS].was_undo_dispatched,
                "step %d: asks about an undo that has not gone out", i);
        return;
    }
    WITNESS(witness, (step->kind == MG_KIND_UNDO) == is_known, "step %d: %s, and its result is %sknown", i,
            mg_kind_name(step->kind), is_known ? "" : "un");
    WITNESS(witness, step->kind != MG_KIND_DO || plan->learn == MG_LEARN_REPEAT,
            "step %d: a do on the way back that the definition does not allow", i);
    WITNESS(witness, step->kind != MG_KIND_VERIFY || plan->learn == MG_LEARN_VERIFY,
            "step %d: a verify on the way back that the definition does not allow", i);
    WITNESS(witness, step->generation == before->generation, "step %d: learns under another key", i);
}

/* Law 11, quiesce: an agent that loses its ack gets an answered request once more, until its complete-by. */
static inline bool is_undo_in_the_air(const struct witness *witness, int i)
{
    for (uint32_t a = 1; a < witness->order.steps[i].attempt && a < WORLD_ATTEMPTS; a++) {
        const struct remote_attempt *at = &witness->world.attempts[i][a];
        if (at->kind == MG_KIND_UNDO && at->is_out &&
            at->complete_by_ms + witness->context.quiesce_ms > witness->context.now_ms) {
            return true;
        }
    }
    return false;
}

static inline void witness_dispatch(struct witness *witness, const struct mg_effect *effect)
{
    struct world *world = &witness->world;
    int i = effect->step;
    const struct mg_step *step = &witness->order.steps[i];
    WITNESS(witness, is_running(step), "step %d: a request of a step that does not run", i);
    WITNESS(witness,
            !is_running(&witness->before.steps[i]) || step->attempt > witness->before.steps[i].attempt,
            "step %d: two attempts at once", i);
    WITNESS(witness, step->complete_by_ms > witness->context.now_ms, "step %d: no complete-by", i);
    WITNESS(witness, witness->context.gate[i] == MG_REASON_NONE, "step %d: out through a closed gate", i);
    bool is_backward = step->state == MG_STEP_UNDO_RUNNING;
    if (witness->order.goal != MG_GOAL_PROCESSED && !is_backward) {
        witness->is_let_go[i] = true; /* a pivot in doubt, which its policy brings to its end */
    }
    if (step->kind == MG_KIND_DO) {
        witness_do(witness, i, is_backward);
    } else {
        witness_quiet(witness, i);
    }
    if (is_backward) {
        witness_undo(witness, i);
        witness_learn(witness, i);
    }
    if (step->kind == MG_KIND_UNDO) {
        WITNESS(witness, !witness->is_undo_maybe[i] || !witness->plan.steps[i].has_undo_verify,
                "step %d: an undo out of a maybe, and its verify was not asked", i);
        bool has_new_key = step->undo_generation != witness->undo_generation[i];
        WITNESS(witness, !has_new_key || witness->may_undo_again[i],
                "step %d: another key for an undo without an operator's word", i);
        WITNESS(witness, !has_new_key || !is_undo_in_the_air(witness, i),
                "step %d: another key for an undo while a copy of an earlier one may come to its service", i);
        witness->may_undo_again[i] = false;
        witness->undo_generation[i] = step->undo_generation;
        world->keys[i][step->generation % WORLD_GENERATIONS].was_undo_dispatched = true;
    }
    if (step->attempt < WORLD_ATTEMPTS) {
        world->attempts[i][step->attempt] = (struct remote_attempt){.kind = step->kind,
                                                                    .asks_undone = mg_step_asks_undone(step),
                                                                    .generation = step->generation,
                                                                    .complete_by_ms = step->complete_by_ms};
    }
}

/* A guard is asked about only when its step is ready, and once in a decision. */
static inline void witness_ask(struct witness *witness, int i)
{
    const struct mg_order *order = &witness->order;
    int count = 0;
    for (int e = 0; e < witness->decision.effect_count; e++) {
        const struct mg_effect *effect = &witness->decision.effects[e];
        count += effect->kind == MG_EFFECT_ASK && effect->step == i;
    }
    WITNESS(witness, count == 1, "step %d: asked about %d times", i, count);
    WITNESS(witness, witness->plan.steps[i].has_guard && order->steps[i].state == MG_STEP_PENDING,
            "step %d: asked about while %s", i, mg_step_state_name(order->steps[i].state));
    for (int j = 0; j < order->step_count; j++) {
        bool is_before = (witness->followers[j] >> i & 1) != 0; /* directly or not */
        WITNESS(witness,
                !is_before || order->steps[j].state == MG_STEP_DONE ||
                    order->steps[j].state == MG_STEP_SKIPPED,
                "step %d is asked about before step %d is done", i, j);
    }
}

/* A place is taken once in a generation, and given up once. Between them no step of the order is touched
 * before its turn. */
static inline void witness_line(struct witness *witness, const struct mg_cause *cause,
                                enum mg_effect_kind kind)
{
    const struct mg_order *order = &witness->order;
    bool is_held = order->state == MG_ORDER_ERROR && witness->plan.sequence == MG_SEQUENCE_HOLD;
    if (kind == MG_EFFECT_LINE_JOIN) {
        WITNESS(witness, cause->kind == MG_CAUSE_SUBMITTED || cause->kind == MG_CAUSE_RESTART,
                "%s takes a place", mg_cause_name(cause->kind));
        witness->has_place = true;
        witness->has_begun = false;
    } else if (kind == MG_EFFECT_LINE_BEGIN) {
        WITNESS(witness, cause->kind == MG_CAUSE_TURN && witness->has_place && !witness->has_begun,
                "an order without a place, or twice, begins by %s", mg_cause_name(cause->kind));
        witness->has_begun = true;
    } else {
        WITNESS(witness, mg_order_state_is_terminal(order->state) || cause->kind == MG_CAUSE_RELEASE,
                "an order that is %s leaves its line", mg_order_state_name(order->state));
        WITNESS(witness, !is_held || cause->kind == MG_CAUSE_RELEASE,
                "an order in error leaves a line to be held");
        witness->has_place = false;
    }
}

static inline void witness_effects(struct witness *witness, const struct mg_cause *cause)
{
    uint64_t seq = witness->before.seq;
    WITNESS(witness, witness->decision.effect_count <= MG_EFFECTS_MAX, "too many effects");
    WITNESS(witness, witness->decision.transition_count <= MG_TRANSITIONS_MAX, "too many transitions");
    for (int i = 0; i < witness->decision.effect_count; i++) {
        const struct mg_effect *effect = &witness->decision.effects[i];
        switch (effect->kind) {
        case MG_EFFECT_REQUEST:
            witness_dispatch(witness, effect);
            break;
        case MG_EFFECT_STATUS:
            WITNESS(witness, effect->seq == ++seq, "a gap in seq");
            WITNESS(witness,
                    effect->status != MG_STATUS_PROCESSED || !witness->context.is_output_unrenderable,
                    "processed goes out, and its output cannot be built");
            break;
        case MG_EFFECT_ALERT:
            witness->open_alerts[effect->step + 1][effect->alert] = true;
            break;
        case MG_EFFECT_ASK:
            witness_ask(witness, effect->step);
            break;
        case MG_EFFECT_LINE_JOIN:
        case MG_EFFECT_LINE_BEGIN:
        case MG_EFFECT_LINE_LEAVE:
            witness_line(witness, cause, effect->kind);
            break;
        case MG_EFFECT_CLOSE_ALERT:
            WITNESS(witness, witness->open_alerts[effect->step + 1][effect->alert],
                    "closes alert %s of step %d, which is not open", mg_alert_name(effect->alert),
                    effect->step);
            witness->open_alerts[effect->step + 1][effect->alert] = false;
            break;
        }
    }
    WITNESS(witness, witness->order.seq == seq, "seq is not that of the last status");
}

static inline void witness_transitions(struct witness *witness)
{
    int states[WORLD_STEPS + 1] = {(int)witness->before.state};
    for (int i = 0; i < witness->order.step_count; i++) {
        states[i + 1] = (int)witness->before.steps[i].state;
    }
    for (int i = 0; i < witness->decision.transition_count; i++) {
        const struct mg_transition *transition = &witness->decision.transitions[i];
        WITNESS(witness, states[transition->step + 1] == transition->from, "the story has a gap");
        states[transition->step + 1] = transition->to;
    }
    WITNESS(witness, states[0] == (int)witness->order.state, "the story ends in another order state");
    for (int i = 0; i < witness->order.step_count; i++) {
        WITNESS(witness, states[i + 1] == (int)witness->order.steps[i].state,
                "step %d: the story ends in another state", i);
    }
}

static inline bool is_timed_out(const struct witness *witness, const struct mg_cause *cause)
{
    return cause->kind == MG_CAUSE_DUE && witness->plan.steps[cause->step].is_signal;
}

/* Law 7, waiting is not failing: a step that waits for its service uses up no attempt. */
static inline void witness_counts(struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_cause_reply reply = reply_of(cause);
    const struct mg_order *before = &witness->before, *after = &witness->order;
    bool may_count = cause->kind == MG_CAUSE_UNRENDERABLE || cause->kind == MG_CAUSE_REQUEST_CHANGED ||
                     (cause->kind == MG_CAUSE_FACTS &&
                      (cause->facts.fact == MG_FACT_REFUSE || cause->facts.fact == MG_FACT_ERROR ||
                       cause->facts.signal == MG_SIGNAL_FACT_REFUSED)) ||
                     (cause->kind == MG_CAUSE_SIGNAL && cause->signal.fact == MG_SIGNAL_FACT_REFUSED) ||
                     is_timed_out(witness, cause);
    if (cause->kind == MG_CAUSE_REPLY) {
        may_count = !reply.is_service_down || reply.outcome == MG_OUTCOME_PERMANENT ||
                    reply.outcome == MG_OUTCOME_ABSENT;
    } else if (cause->kind == MG_CAUSE_OVERDUE) {
        may_count = !is_away(witness->context.gate[cause->step]);
    }
    if (!may_count) {
        bool is_for_a_person = cause->step >= 0 && cause->step < after->step_count &&
                               after->steps[cause->step].state == MG_STEP_UNKNOWN &&
                               after->steps[cause->step].due_at_ms == 0;
        WITNESS(witness, after->failure_count == before->failure_count || is_for_a_person,
                "waiting counted as failing");
        for (int i = 0; i < after->step_count; i++) {
            WITNESS(witness, after->steps[i].failure_count <= before->steps[i].failure_count,
                    "step %d: waiting counted as failing", i);
        }
    }
}

static inline uint64_t undos_of_followers(const struct witness *witness, int i)
{
    uint64_t open = 0;
    for (int j = 0; j < witness->order.step_count; j++) {
        open |= is_undo_open(&witness->order.steps[j]) ? UINT64_C(1) << j : 0;
    }
    return open & witness->followers[i];
}

/* While the remote works, failed polls have a count of their own, and end nothing before the work's time is
 * over. */
static inline void witness_polls(struct witness *witness, const struct mg_cause *cause, int i)
{
    const struct mg_cause_reply reply = reply_of(cause);
    const struct mg_step *before = &witness->before.steps[i], *after = &witness->order.steps[i];
    bool is_of_undo = mg_step_asks_undone(before) && before->finish_by_ms > 0 &&
                      before->state == MG_STEP_UNDO_RUNNING && before->kind == MG_KIND_VERIFY;
    bool is_of_poll =
        cause->step == i && before->is_accepted && (before->state == MG_STEP_RUNNING || is_of_undo);
    bool is_silent = cause->kind == MG_CAUSE_OVERDUE && !is_away(witness->context.gate[i]);
    bool is_bad = cause->kind == MG_CAUSE_REPLY &&
                  ((reply.outcome == MG_OUTCOME_PERMANENT && !reply.is_work_refused) ||
                   (!reply.is_service_down &&
                    (reply.outcome == MG_OUTCOME_TRANSIENT || reply.outcome == MG_OUTCOME_UNKNOWN)));
    if (is_of_poll && (is_silent || is_bad)) {
        uint64_t of_followers = undos_of_followers(witness, i);
        witness->poll_failures[i]++;
        for (int t = 0; t < witness->decision.transition_count; t++) {
            const struct mg_transition *transition = &witness->decision.transitions[t];
            WITNESS(witness,
                    transition->step != i ||
                        (transition->to != MG_STEP_FAILED && transition->to != MG_STEP_UNDO_FAILED) ||
                        before->finish_by_ms <= witness->context.now_ms,
                    "step %d: a poll that failed ends accepted work", i);
        }
        WITNESS(witness,
                (after->state != MG_STEP_WAITING && after->state != MG_STEP_UNDO_WAITING) ||
                    after->due_at_ms > witness->context.now_ms ||
                    (of_followers != 0 && after->due_at_ms == 0), /* it waits for the end of their undos */
                "step %d: a poll that failed is repeated at once", i);
    }
    bool is_absent = is_of_poll && cause->kind == MG_CAUSE_REPLY && reply.outcome == MG_OUTCOME_ABSENT;
    if (is_absent && witness->order.version > witness->before.version) {
        int64_t begun_ms = witness_begun_ms(witness, cause);
        bool is_early = before->quiet_at_ms > begun_ms || before->finish_by_ms > begun_ms;
        WITNESS(witness, !is_early || mg_step_is_backward(before) || after->is_maybe,
                "step %d: absent before its work is over", i);
        WITNESS(witness,
                is_early || after->state != MG_STEP_WAITING || after->failure_count > before->failure_count ||
                    after->cool_down_count > before->cool_down_count,
                "step %d: work was lost, and is to be done again, and nothing counts it", i);
    }
    bool is_undo_revived = cause->kind == MG_CAUSE_RESUME &&
                           (before->state == MG_STEP_UNDO_FAILED || before->state == MG_STEP_UNDO_WAITING);
    bool is_revived = cause->kind == MG_CAUSE_RESTART || is_undo_revived;
    bool is_resumed = (before->state == MG_STEP_FAILED && after->state != MG_STEP_FAILED) || is_revived;
    if (!after->is_accepted || is_absent || is_resumed ||
        (is_of_poll && cause->kind == MG_CAUSE_REPLY && reply.outcome == MG_OUTCOME_ACCEPTED)) {
        witness->poll_failures[i] = 0;
    }
    bool is_polled =
        mg_step_asks_undone(after) ||
        (after->is_accepted && (after->state == MG_STEP_WAITING || after->state == MG_STEP_RUNNING));
    WITNESS(witness,
            witness->open_alerts[i + 1][MG_ALERT_POLLS_FAILING] ==
                (is_polled && witness->poll_failures[i] >= MG_POLL_FAILURES_ALERT),
            "step %d: alert polls_failing", i);
}

static inline bool has_opened(const struct witness *witness, int i)
{
    for (int t = 0; t < witness->decision.transition_count; t++) {
        const struct mg_transition *transition = &witness->decision.transitions[t];
        if (transition->step == i && transition->from == MG_STEP_PENDING &&
            transition->to == MG_STEP_WAITING && witness->plan.steps[i].is_wait) {
            return true;
        }
    }
    return false;
}

/* The end of a wait for a signal is one of that signal, or of its time-out. */
static inline void witness_signal(struct witness *witness, const struct mg_cause *cause, int i)
{
    const struct mg_step *before = &witness->before.steps[i], *after = &witness->order.steps[i];
    bool is_fact = cause->kind == MG_CAUSE_FACTS && cause->step == i;
    bool is_signal = cause->kind == MG_CAUSE_SIGNAL && cause->step == i;
    enum mg_signal_fact fact = is_fact     ? cause->facts.signal
                               : is_signal ? cause->signal.fact
                                           : MG_SIGNAL_FACT_NONE;
    bool is_over = is_timed_out(witness, cause) && cause->step == i &&
                   witness->wait_until_ms[i] <= witness->context.now_ms;
    bool is_by_operator =
        cause->step == i && (cause->kind == MG_CAUSE_SETTLE || cause->kind == MG_CAUSE_SKIP);
    if (after->state == before->state || is_by_operator) {
        return;
    }
    WITNESS(witness, after->state != MG_STEP_DONE || fact == MG_SIGNAL_FACT_DONE,
            "wait %d: done without a signal", i);
    WITNESS(witness,
            before->state != MG_STEP_WAITING || after->state != MG_STEP_FAILED ||
                fact == MG_SIGNAL_FACT_REFUSED || (is_over && !witness->plan.steps[i].is_skipped_when_over),
            "wait %d: failed without a reason", i);
    WITNESS(witness,
            before->state != MG_STEP_WAITING || after->state != MG_STEP_SKIPPED ||
                (is_over && witness->plan.steps[i].is_skipped_when_over),
            "wait %d: skipped without a reason", i);
}

/* A wait calls nothing and is in no doubt. It is open until its moment, unless an operator ends it or the
 * order turns back; no other cause moves that moment. */
static inline void witness_wait(struct witness *witness, const struct mg_cause *cause, int i)
{
    const struct mg_step *before = &witness->before.steps[i], *after = &witness->order.steps[i];
    const struct mg_step_plan *plan = &witness->plan.steps[i];
    bool is_by_operator =
        cause->step == i && (cause->kind == MG_CAUSE_SETTLE || cause->kind == MG_CAUSE_SKIP);
    if (!plan->is_wait) {
        return;
    }
    WITNESS(witness,
            !is_running(after) && after->state != MG_STEP_UNKNOWN && !mg_step_is_backward(after) &&
                !after->is_maybe && !has_request(&witness->decision, i),
            "wait %d is %s", i, mg_step_state_name(after->state));
    if (has_opened(witness, i)) {
        witness->wait_until_ms[i] =
            plan->is_until ? cause->facts.until_ms : witness->context.now_ms + plan->wait_ms;
        WITNESS(witness, !plan->is_until || (cause->kind == MG_CAUSE_FACTS && cause->step == i),
                "wait %d opens, and its moment was not found", i);
    }
    WITNESS(witness,
            after->state != MG_STEP_DONE || before->state == MG_STEP_DONE || is_by_operator ||
                plan->is_signal || witness->wait_until_ms[i] <= witness->context.now_ms,
            "wait %d ends before its moment", i);
    if (plan->is_signal) {
        witness_signal(witness, cause, i);
    }
    WITNESS(witness,
            after->state != MG_STEP_WAITING ||
                (after->due_at_ms == witness->wait_until_ms[i] && after->due_at_ms != 0 &&
                 after->reason == (plan->is_signal ? MG_REASON_AWAITING_SIGNAL : MG_REASON_SLEEPING)),
            "wait %d: its moment has moved", i);
    WITNESS(witness,
            before->state != MG_STEP_WAITING || after->state != MG_STEP_PENDING || is_turned_back(witness) ||
                cause->kind == MG_CAUSE_RESTART,
            "wait %d begins anew by %s", i, mg_cause_name(cause->kind));
}

static inline void witness_steps(struct witness *witness, const struct mg_cause *cause)
{
    for (int i = 0; i < witness->order.step_count; i++) {
        const struct mg_step *before = &witness->before.steps[i], *after = &witness->order.steps[i];
        bool is_sent = has_request(&witness->decision, i);
        WITNESS(witness, after->attempt == before->attempt + (is_sent || has_opened(witness, i) ? 1 : 0),
                "step %d: the attempt went from %u to %u", i, before->attempt, after->attempt);
        WITNESS(witness, after->is_maybe == witness->is_maybe[i], "step %d: maybe is %d, and should be %d", i,
                after->is_maybe, witness->is_maybe[i]);
        WITNESS(witness, (after->complete_by_ms != 0) == is_running(after), "step %d: complete-by", i);
        witness_wait(witness, cause, i);
        witness_generation(witness, cause, i);
        witness_polls(witness, cause, i);
        bool is_asking = after->state == MG_STEP_UNKNOWN && after->due_at_ms == 0;
        WITNESS(witness, witness->open_alerts[i + 1][MG_ALERT_OUTCOME_UNKNOWN] == is_asking,
                "step %d: alert outcome_unknown", i);
        WITNESS(witness,
                witness->open_alerts[i + 1][MG_ALERT_UNDO_FAILED] == (after->state == MG_STEP_UNDO_FAILED),
                "step %d: alert undo_failed", i);
        bool has_learned_nothing = before->state == MG_STEP_UNDO_RUNNING && before->kind != MG_KIND_UNDO &&
                                   !mg_step_asks_undone(before) && after->state == MG_STEP_UNDO_FAILED;
        WITNESS(witness, !has_learned_nothing || (witness->context.known_results >> i & 1) == 0,
                "step %d: its undo is given up for want of a result that is known", i);
        WITNESS(witness,
                after->state != MG_STEP_SKIPPED || before->state == MG_STEP_SKIPPED ||
                    cause->kind == MG_CAUSE_SKIP || !witness->is_maybe[i],
                "step %d may have happened, and is skipped without an operator", i);
        witness->is_let_go[i] = witness->is_let_go[i] && after->state != MG_STEP_PENDING;
        if (witness->plan.steps[i].is_pivot && before->state == MG_STEP_DONE) {
            WITNESS(witness, after->state == MG_STEP_DONE, "step %d: a pivot that was done is undone", i);
            WITNESS(witness,
                    witness->order.state != MG_ORDER_COMPENSATING ||
                        witness->before.state == witness->order.state,
                    "compensation began after the pivot");
        }
    }
}

/* Every open order has a cause that moves it; every order in error has an alert. */
static inline void witness_order(struct witness *witness)
{
    const struct mg_order *order = &witness->order;
    bool has_alert = false, is_asking = false;
    for (int i = 0; i <= order->step_count; i++) {
        for (int alert = 0; alert < MG_ALERT_COUNT; alert++) {
            has_alert = has_alert || witness->open_alerts[i][alert];
            WITNESS(witness,
                    i == 0 || alert == MG_ALERT_OUTCOME_UNKNOWN || alert == MG_ALERT_UNDO_FAILED ||
                        alert == MG_ALERT_POLLS_FAILING || !witness->open_alerts[i][alert],
                    "alert %s is about step %d and not about the order", mg_alert_name((enum mg_alert)alert),
                    i - 1);
        }
    }
    for (int i = 0; i < order->step_count; i++) {
        is_asking = is_asking || witness->open_alerts[i + 1][MG_ALERT_OUTCOME_UNKNOWN];
        bool stands = witness->plan.steps[i].has_undo && world_standing(&witness->world, i) > 0;
        WITNESS(witness,
                order->state != MG_ORDER_ERROR || !stands ||
                    (mg_order_not_undone(&witness->plan, order) >> i & 1) != 0,
                "step %d stands, and the list of what is not undone lacks it", i);
    }
    bool is_amiss = order->goal != MG_GOAL_PROCESSED || order->state == MG_ORDER_ERROR ||
                    order->state == MG_ORDER_COMPENSATING;
    WITNESS(witness, !is_amiss || order->reason != MG_REASON_NONE, /* lists find it by its reason */
            "%s without a reason", mg_order_state_name(order->state));
    if (order->state == MG_ORDER_ERROR) {
        WITNESS(witness, has_alert, "in error without an open alert");
    } else {
        WITNESS(witness, !witness->open_alerts[0][MG_ALERT_ORDER_ERROR],
                "not in error, and its alert is open");
    }
    if (!mg_order_state_is_terminal(order->state) && !is_asking_facts(&witness->decision)) {
        WITNESS(witness, mg_order_is_moving(order, witness->context.now_ms), "nothing moves it");
        WITNESS(witness,
                order->wake_at_ms != 0 || (is_asking && order->goal == MG_GOAL_PROCESSED) ||
                    mg_order_is_in_line(order),
                "nothing wakes it");
    }
    WITNESS(witness, !mg_order_is_in_line(order) || (witness->has_place && order->wake_at_ms == 0),
            "in line without a place, or to be woken");
    bool has_ended = mg_order_state_is_terminal(order->state) && order->state != MG_ORDER_ERROR;
    WITNESS(witness, !has_ended || !witness->has_place, "%s, and still in its line",
            mg_order_state_name(order->state));
    for (int i = 0; i < order->step_count && witness->plan.sequence != MG_SEQUENCE_NONE; i++) {
        WITNESS(witness, witness->has_begun || !has_request(&witness->decision, i),
                "step %d goes out before the order's turn", i);
    }
}

/* Causes that come too early, or refer to another state, change nothing (law 5, attempt fence, and law 6,
 * database clock). */
static inline void witness_cause(struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_cause_reply reply = reply_of(cause);
    const struct mg_order *before = &witness->before;
    int64_t now_ms = witness->context.now_ms;
    bool is_of_step = cause->kind == MG_CAUSE_REPLY || cause->kind == MG_CAUSE_OVERDUE ||
                      cause->kind == MG_CAUSE_DUE || cause->kind == MG_CAUSE_UNPUBLISHABLE;
    WITNESS(witness, cause->version == 0 || cause->version == before->version,
            "%s was decided on another version", mg_cause_name(cause->kind));
    if (is_of_step) {
        const struct mg_step *step = &before->steps[cause->step];
        WITNESS(witness, cause->attempt == step->attempt, "step %d: a word about attempt %u, not %u",
                cause->step, cause->attempt, step->attempt);
        WITNESS(witness, cause->kind != MG_CAUSE_REPLY || reply.kind == step->kind,
                "step %d: a reply to another kind", cause->step);
        WITNESS(witness, cause->kind != MG_CAUSE_OVERDUE || step->complete_by_ms <= now_ms,
                "step %d: overdue too early", cause->step);
        WITNESS(witness, cause->kind != MG_CAUSE_DUE || (step->due_at_ms != 0 && step->due_at_ms <= now_ms),
                "step %d: due too early", cause->step);
    }
    if (cause->kind == MG_CAUSE_EXPIRED) {
        WITNESS(witness, before->complete_by_ms != 0 && before->complete_by_ms <= now_ms,
                "expired too early");
    }
}

/* The facts of a guard count only for a step that is about to begin. */
static inline void witness_facts(struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_step *before = &witness->before.steps[cause->step],
                         *after = &witness->order.steps[cause->step];
    WITNESS(witness, before->state == MG_STEP_PENDING, "step %d: facts of a step that is %s", cause->step,
            mg_step_state_name(before->state));
    WITNESS(witness, cause->facts.fact == MG_FACT_GO || after->state != MG_STEP_RUNNING,
            "step %d goes out against its guard", cause->step);
    WITNESS(witness, cause->facts.fact == MG_FACT_GO || after->state != MG_STEP_PENDING,
            "step %d: its guard is passed over", cause->step);
    witness->is_let_go[cause->step] = cause->facts.fact == MG_FACT_GO;
}

static inline void witness_go(struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_cause_reply reply = reply_of(cause);
    witness_cause(witness, cause);
    if (cause->kind == MG_CAUSE_FACTS) {
        witness_facts(witness, cause);
    }
    WITNESS(witness, witness->order.version == witness->before.version + 1,
            "the version does not rise by one");
    for (int i = 0; i < witness->order.step_count; i++) {
        bool is_settled = cause->kind == MG_CAUSE_SETTLE && cause->step == i;
        bool is_revived = cause->kind == MG_CAUSE_RESUME || cause->kind == MG_CAUSE_RESTART;
        if (is_settled || (is_revived && !witness->is_maybe[i])) {
            witness->revived_at[i] = witness->before.steps[i].attempt;
        }
    }
    if (cause->kind == MG_CAUSE_REPLY && cause->attempt < WORLD_ATTEMPTS) {
        struct remote_attempt *at = &witness->world.attempts[cause->step][cause->attempt];
        at->is_answered = true;
        at->is_accepted = reply.outcome == MG_OUTCOME_ACCEPTED;
        at->is_open = at->is_open || reply.may_still_act;
        at->was_given_up = at->was_given_up || reply.may_still_act;
    }
    if (cause->step >= 0 && cause->step < witness->order.step_count) {
        witness_undo_maybe(witness, cause);
        witness_maybe(witness, cause);
        witness_work(witness, cause);
    }
    witness_effects(witness, cause);
    witness_transitions(witness);
    witness_counts(witness, cause);
    witness_steps(witness, cause);
    witness_order(witness);
    struct mg_cause nudge = {.kind = MG_CAUSE_NUDGE, .step = -1};
    static struct mg_order again;
    static struct mg_decision second;
    again = witness->order;
    enum mg_verdict verdict = mg_order_decide(&witness->plan, &witness->context, &nudge, &again, &second);
    WITNESS(witness, verdict == MG_DUPLICATE || is_asking_facts(&witness->decision),
            "planning twice is not planning once");
}

#endif
