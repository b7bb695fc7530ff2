/*
 * The witness's own account of an order: which steps may have happened, and which of these may be done again.
 * From the causes alone.
 */
#ifndef MG_TEST_CORE_ACCOUNT_H
#define MG_TEST_CORE_ACCOUNT_H

#include "core_world.h"

struct witness {
    struct world world;
    struct mg_plan plan;
    struct mg_context context;
    struct mg_order order, before;
    struct mg_decision decision;
    uint64_t followers[WORLD_STEPS];
    bool is_maybe[WORLD_STEPS];
    bool is_undo_maybe[WORLD_STEPS];       /* an undo may have happened, and none was proved absent */
    bool may_undo_again[WORLD_STEPS];      /* under another key, by the operator's word since the last undo */
    uint32_t undo_generation[WORLD_STEPS]; /* of the last undo that went out */
    int64_t work_until_ms[WORLD_STEPS];    /* of accepted work that no answer has ended; 0: none */
    uint32_t poll_failures[WORLD_STEPS];   /* in a row, of accepted work */
    uint32_t revived_at[WORLD_STEPS];      /* attempts up to here precede a resending command */
    bool may_do_again[WORLD_STEPS];        /* although it may have happened: absent, or a word */
    int64_t wait_until_ms[WORLD_STEPS];    /* the moment of a wait, since it was last opened */
    bool has_early_signal[WORLD_STEPS];    /* one came before the step began to wait */
    bool is_let_go[WORLD_STEPS];           /* by its guard, since the step was last pending */
    bool has_place;                        /* in the line of its key */
    bool has_begun;                        /* its turn has come, in its present generation */
    bool open_alerts[WORLD_STEPS + 1][MG_ALERT_COUNT]; /* [0]: the order's */
    char failure[256];                                 /* the first broken law */
};

#define WITNESS(witness, condition, ...)                                                                     \
    do {                                                                                                     \
        if (!(condition) && (witness)->failure[0] == '\0') {                                                 \
            (void)snprintf((witness)->failure, sizeof((witness)->failure), __VA_ARGS__);                     \
        }                                                                                                    \
    } while (0)

static inline bool is_running(const struct mg_step *step)
{
    return step->state == MG_STEP_RUNNING || step->state == MG_STEP_UNDO_RUNNING;
}

static inline bool is_turned_back(const struct witness *witness)
{
    return witness->order.goal != MG_GOAL_PROCESSED || witness->before.goal != MG_GOAL_PROCESSED;
}

static inline bool is_undo_open(const struct mg_step *step)
{
    return step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING ||
           step->state == MG_STEP_UNDO_RUNNING;
}

static inline bool is_away(enum mg_reason gate)
{
    return gate == MG_REASON_NO_CONSUMER || gate == MG_REASON_BREAKER_OPEN ||
           gate == MG_REASON_SERVICE_PAUSED;
}

static inline bool has_effect(const struct mg_decision *decision, enum mg_effect_kind kind, int step)
{
    for (int i = 0; i < decision->effect_count; i++) {
        if (decision->effects[i].kind == kind && (step < 0 || decision->effects[i].step == step)) {
            return true;
        }
    }
    return false;
}

/* The results that are known if the cause is taken. One answer in ten lacks the needed member. One 202 in
 * three has it, and so has one answer in three that is not clear by its body. */
static inline uint64_t witness_known_results(struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_cause_reply reply = reply_of(cause);
    const struct mg_step *step = &witness->order.steps[cause->step >= 0 ? cause->step : 0];
    bool is_of_attempt = cause->kind == MG_CAUSE_REPLY && is_running(step) && step->kind != MG_KIND_UNDO &&
                         cause->attempt == step->attempt && reply.kind == step->kind;
    bool has_result = cause->kind == MG_CAUSE_SETTLE && cause->settle.has_result;
    if (is_of_attempt && reply.outcome == MG_OUTCOME_DONE) {
        has_result = world_chance(&witness->world, 90);
    } else if (is_of_attempt &&
               (reply.outcome == MG_OUTCOME_ACCEPTED || reply.outcome == MG_OUTCOME_UNKNOWN)) {
        has_result = world_chance(&witness->world, 33);
    }
    return witness->context.known_results | (has_result ? UINT64_C(1) << cause->step : 0);
}

static inline void witness_forget_results(struct witness *witness)
{
    for (int i = 0; i < witness->order.step_count; i++) {
        if (witness->order.steps[i].state != MG_STEP_DONE) {
            witness->context.known_results &= ~(UINT64_C(1) << i);
        }
    }
}

/* The service replays, and refuses the do that was repeated on the way back. When that do went out, no
 * earlier one could act any more, and it has no second copy: so none has acted or will. */
static inline int64_t witness_begun_ms(const struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_step_plan *plan = &witness->plan.steps[cause->step];
    const struct remote_attempt *at = &witness->world.attempts[cause->step][cause->attempt];
    return at->complete_by_ms -
           (at->kind == MG_KIND_UNDO ? plan->undo_complete_within_ms : plan->complete_within_ms);
}

/* No do before this attempt could act any more when it went out. */
static inline bool were_dos_over(const struct witness *witness, const struct mg_cause *cause)
{
    const struct remote_attempt *attempts = witness->world.attempts[cause->step];
    int64_t begun_ms = witness_begun_ms(witness, cause);
    for (uint32_t a = 1; a < cause->attempt && a < WORLD_ATTEMPTS; a++) {
        bool is_over = attempts[a].complete_by_ms + witness->context.quiesce_ms <= begun_ms;
        bool is_ended = attempts[a].is_answered && !attempts[a].is_open && !attempts[a].is_accepted;
        if (attempts[a].kind == MG_KIND_DO && attempts[a].is_out && !is_over && !is_ended) {
            return false;
        }
    }
    return true;
}

static inline bool is_refusal_a_proof(const struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_cause_reply reply = reply_of(cause);
    const struct remote_attempt *attempts = witness->world.attempts[cause->step];
    return were_dos_over(witness, cause) &&
           witness->before.steps[cause->step].state == MG_STEP_UNDO_RUNNING &&
           cause->kind == MG_CAUSE_REPLY && reply.executed == MG_EXECUTED_NO && !reply.may_still_act &&
           !attempts[cause->attempt].is_open &&
           (reply.outcome == MG_OUTCOME_PERMANENT || reply.outcome == MG_OUTCOME_ABSENT);
}

static inline bool has_request(const struct mg_decision *decision, int step)
{
    return has_effect(decision, MG_EFFECT_REQUEST, step);
}

/* A guard is evaluated in the same fold, before anything is written. */
static inline bool is_asking_facts(const struct mg_decision *decision)
{
    return has_effect(decision, MG_EFFECT_ASK, -1);
}

/* Likewise for the undo: one that has gone out and was not proved to have had no effect may have happened. */
static inline void witness_undo_maybe(struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_cause_reply reply = reply_of(cause);
    int i = cause->step;
    const struct mg_step *before = &witness->before.steps[i];
    bool is_newest_undo = before->kind == MG_KIND_UNDO && before->is_undo_dispatched,
         is_reply = cause->kind == MG_CAUSE_REPLY && cause->attempt == before->attempt,
         was_certain = reply.executed == MG_EXECUTED_NO && !reply.may_still_act;
    bool is_answered = is_newest_undo && is_reply && reply.kind == MG_KIND_UNDO &&
                       mg_step_is_backward(before) && before->state != MG_STEP_UNDONE;
    if (cause->kind == MG_CAUSE_SETTLE && cause->settle.outcome != MG_OUTCOME_DONE) {
        witness->is_undo_maybe[i] = false;
    }
    if (cause->kind == MG_CAUSE_RESUME &&
        cause->resume.is_repeat) { /* the operator's word that there was none */
        witness->is_undo_maybe[i] = false;
        witness->may_undo_again[i] = before->state == MG_STEP_UNDO_FAILED;
    }
    if (before->state == MG_STEP_UNDO_RUNNING && before->kind == MG_KIND_UNDO &&
        (cause->kind == MG_CAUSE_OVERDUE || (cause->kind == MG_CAUSE_UNPUBLISHABLE && !was_certain))) {
        witness->is_undo_maybe[i] = true;
    }
    if (is_answered && reply.outcome != MG_OUTCOME_ABSENT) { /* a further one finds nothing again */
        witness->is_undo_maybe[i] = witness->is_undo_maybe[i] || !was_certain;
    }
    if (before->state == MG_STEP_UNDO_RUNNING && before->kind == MG_KIND_VERIFY && is_reply &&
        mg_step_asks_undone(before) &&
        ((reply.outcome == MG_OUTCOME_ABSENT && before->finish_by_ms <= witness_begun_ms(witness, cause)) ||
         reply.is_work_refused)) {
        witness->is_undo_maybe[i] = false;
    }
    /* The next undo is of another do. */
    bool is_undone = witness->order.steps[i].state == MG_STEP_UNDONE;
    witness->is_undo_maybe[i] = witness->is_undo_maybe[i] && !is_undone;
}

/* The witness's own account of maybe (law 10, sticky maybe), from the cause alone. */
static inline void witness_maybe(struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_cause_reply reply = reply_of(cause);
    int i = cause->step;
    if (cause->kind == MG_CAUSE_RESUME && cause->resume.is_repeat) {
        witness->may_do_again[i] = witness->is_let_go[i] = true;
        return;
    }
    if (cause->kind == MG_CAUSE_SETTLE) {
        witness->is_maybe[i] = witness->is_maybe[i] && cause->settle.outcome == MG_OUTCOME_DONE;
        return;
    }
    if (cause->kind == MG_CAUSE_SIGNAL) {
        witness->is_maybe[i] = witness->is_maybe[i] && cause->signal.fact != MG_SIGNAL_FACT_REFUSED;
        return;
    }
    if (cause->kind != MG_CAUSE_REPLY && cause->kind != MG_CAUSE_OVERDUE &&
        cause->kind != MG_CAUSE_UNPUBLISHABLE && cause->kind != MG_CAUSE_REPUBLISHED) {
        return;
    }
    const struct mg_step_plan *plan = &witness->plan.steps[i];
    if (mg_step_asks_undone(&witness->before.steps[i]) && witness->before.steps[i].kind == MG_KIND_VERIFY) {
        bool is_undone = cause->kind == MG_CAUSE_REPLY && reply.outcome == MG_OUTCOME_DONE;
        witness->is_maybe[i] = witness->is_maybe[i] && !is_undone;
        return;
    }
    enum mg_kind kind = witness->before.steps[i].kind;
    bool is_good = reply.outcome == MG_OUTCOME_DONE || reply.outcome == MG_OUTCOME_ACCEPTED;
    bool was_certain = reply.executed == MG_EXECUTED_NO && !reply.may_still_act &&
                       cause->kind != MG_CAUSE_OVERDUE && cause->kind != MG_CAUSE_REPUBLISHED;
    bool is_work_over = witness->work_until_ms[i] <= witness_begun_ms(witness, cause);
    if (kind == MG_KIND_VERIFY && cause->kind == MG_CAUSE_REPLY && reply.outcome == MG_OUTCOME_ABSENT) {
        witness->may_do_again[i] = is_work_over;
    } else if (kind == MG_KIND_DO && !was_certain) {
        witness->may_do_again[i] = false;
    }
    if (kind == MG_KIND_DO && (cause->kind == MG_CAUSE_OVERDUE || cause->kind == MG_CAUSE_REPUBLISHED)) {
        witness->is_maybe[i] = true;
    } else if (kind == MG_KIND_DO && cause->kind == MG_CAUSE_UNPUBLISHABLE) {
        witness->is_maybe[i] = witness->is_maybe[i] || reply.executed != MG_EXECUTED_NO;
    } else if (kind == MG_KIND_DO && !witness->order.steps[i].is_maybe &&
               is_refusal_a_proof(witness, cause)) {
        witness->is_maybe[i] = false; /* the core may wait for more, since it does not see the broker */
    } else if (kind == MG_KIND_DO) {
        bool is_working = reply.outcome == MG_OUTCOME_ACCEPTED && plan->finish_within_ms > 0;
        bool is_doubt = !is_good && (reply.executed != MG_EXECUTED_NO || reply.may_still_act);
        witness->is_maybe[i] = witness->is_maybe[i] || is_working || is_doubt;
    } else if (kind == MG_KIND_VERIFY && cause->kind == MG_CAUSE_REPLY &&
               (reply.is_work_refused || (reply.outcome == MG_OUTCOME_ABSENT && plan->is_absent_final &&
                                          is_work_over && were_dos_over(witness, cause)))) {
        bool is_waiting = witness->before.steps[i].finish_by_ms > witness_begun_ms(witness, cause);
        witness->is_maybe[i] = /* the answer that did not come may have been a 202 */
            witness->is_maybe[i] && !reply.is_work_refused && is_waiting && witness->order.steps[i].is_maybe;
    } else if (kind == MG_KIND_UNDO && cause->kind == MG_CAUSE_REPLY &&
               (is_good || reply.outcome == MG_OUTCOME_ABSENT)) {
        bool is_polled = reply.outcome == MG_OUTCOME_ACCEPTED && plan->undo_finish_within_ms > 0;
        bool is_early = reply.outcome == MG_OUTCOME_ABSENT &&
                        (witness->work_until_ms[i] > witness_begun_ms(witness, cause) ||
                         witness->order.steps[i].is_maybe); /* after a resume the core waits longer */
        witness->is_maybe[i] = witness->is_maybe[i] && (is_polled || is_early);
    }
}

/* An undo that finds no effect of accepted work proves nothing before that work's time is over. */
static inline void witness_work(struct witness *witness, const struct mg_cause *cause)
{
    const struct mg_cause_reply reply = reply_of(cause);
    int i = cause->step;
    const struct mg_step *step = &witness->order.steps[i], *before = &witness->before.steps[i];
    bool is_found_done = cause->kind == MG_CAUSE_REPLY && reply.outcome == MG_OUTCOME_DONE &&
                         !mg_step_is_backward(before) && witness->order.version > witness->before.version;
    if (step->state == MG_STEP_DONE || is_found_done || step->state == MG_STEP_UNDONE ||
        (!mg_step_is_backward(step) && !step->is_accepted)) {
        witness->work_until_ms[i] = 0;
        return;
    }
    bool is_open = cause->kind == MG_CAUSE_REPLY && reply.outcome == MG_OUTCOME_ACCEPTED;
    bool is_learning =
        mg_step_is_backward(before) && before->kind == MG_KIND_VERIFY && !mg_step_asks_undone(before);
    bool is_found =
        !mg_step_is_backward(before) && before->kind == MG_KIND_VERIFY && witness->work_until_ms[i] == 0;
    if (is_open && (before->kind == MG_KIND_DO || is_learning || is_found)) {
        const struct mg_step_plan *plan = &witness->plan.steps[i];
        bool is_timed = !is_found || plan->finish_within_ms > 0;
        int64_t within_ms = is_timed ? plan->finish_within_ms : plan->complete_within_ms;
        witness->work_until_ms[i] = within_ms > 0 ? witness->context.now_ms + within_ms : 0;
    }
}

/* A further do of a step that may have happened: the service de-duplicates, or has reported it absent, or an
 * operator has given the word. */
static inline bool is_permitted(const struct witness *witness, int i)
{
    const struct mg_step_plan *plan = &witness->plan.steps[i];
    bool is_removing_duplicates = plan->on_unknown == MG_ON_UNKNOWN_RETRY && !plan->is_at_most_once;
    return is_removing_duplicates || witness->may_do_again[i];
}

#endif
