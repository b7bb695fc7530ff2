/*
 * Between the model and the decision core: the row in Promela becomes a mg_order, the core decides, and the
 * result becomes a row again. The model's clock has no numbers, only "passed" and "not yet"; here each
 * becomes a time on the right side of NOW_MS. Included by order.pml into the verifier that Spin writes, where
 * `now` is the state of the model.
 *
 * A removed guard (WITHOUT_...) is removed here, in parts.h or in order.pml, and nowhere in the core.
 */
#ifndef MODEL_CORE_H
#define MODEL_CORE_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "core/decide.h"
#include "core/order.h"
#include "messages.h"

_Static_assert(FACT_GO == MG_FACT_GO && FACT_SKIP == MG_FACT_SKIP && FACT_REFUSE == MG_FACT_REFUSE, "facts");

enum { NOW_MS = 100000, SOON_MS = 100, LATER_MS = 2000, QUIESCE_MS = 3000, LONG_MS = 10000 };

enum { ATTEMPTS_MAX = 15 /* of a step, by the room in a message */ };

/* The end of a wait, in row.due. */
enum { DUE_NEVER, DUE_SOME_TIME, DUE_WHEN_QUIET };

/* Statuses, one bit each. After an operator's command that changed the order, a turn and an end are new
 * ones: the bit is 4 times as high. */
enum { TOLD_ACCEPTED = 1, TOLD_TURNED = 2, TOLD_END = 4 };

/* Flags of a step. */
enum {
    IS_MAYBE = 1,
    IS_UNDO_DISPATCHED = 2,
    IS_ACCEPTED = 4,
    IS_KNOWN = 8 /* its result */,
    IS_REFUSED = 16
};

/* Without conditions the model has no state for them. */
#if GUARDS
#define FACT     now.fact
#define JUDGED   now.judged
#define JUDGE(n) (now.judged += (n))
#else
#define FACT     FACT_GO
#define JUDGED   0
#define JUDGE(n) ((void)(n))
#endif

/* Without commands the model has no state for them. */
#if COMMANDS
#define COMMANDS_LEFT            now.commands
#define RESUMED                  now.resumed
#define REPEATS                  now.repeats
#define VERSION_OF_BASIS         (now.is_basis ? 1 : 2)
#define BASIS_SET(value)         (now.is_basis = (value))
#define RENEWED_AT(row, step)    ((row)->renewed_at[step])
#define RENEW(row, step, number) ((row)->renewed_at[step] = (unsigned char)(number))
#else
#define COMMANDS_LEFT            0
#define RESUMED                  0
#define VERSION_OF_BASIS         0
#define BASIS_SET(value)         ((void)(value))
#define RENEWED_AT(row, step)    0
#define RENEW(row, step, number) ((void)(number))
#endif

/* ---- the plan ---- */

static struct mg_plan plan;

/* By the definition. */
static bool is_guarded(int step)
{
    return GUARDS != 0 && step == 2 - GUARDS;
}

/* As the core sees it. */
static bool has_guard(int step)
{
#ifdef WITHOUT_GUARD
    (void)step;
    return false;
#else
    return is_guarded(step);
#endif
}

static bool has_need(int step)
{
#ifdef WITHOUT_NEEDS
    (void)step;
    return false;
#else
    return GUARDS == 2 && step == 1;
#endif
}

/* By the definition. */
static bool is_pivot(int step)
{
    return PIVOT && step == 1;
}

/* As the core sees it. */
static bool has_pivot(int step)
{
#ifdef WITHOUT_PIVOT
    (void)step;
    return false;
#else
    return is_pivot(step);
#endif
}

/* The step waits for a signal. */
static bool is_wait(int step)
{
    return WAIT != 0 && step == 2 - WAIT;
}

static void plan_init(void)
{
    is_telling = getenv("MODEL_TELL") != NULL;
    const struct mg_retry_plan retry = {.attempts = ATTEMPTS, .backoff_ms = 10, .max_backoff_ms = 10};
    plan.step_count = 2;
    plan.complete_within_ms = LONG_MS;
    plan.on_failure = (enum mg_on_failure)ON_FAILURE;
    plan.on_expiry = MG_ON_FAILURE_COMPENSATE;
    for (int i = 0; i < 2; i++) {
        plan.steps[i] = (struct mg_step_plan){.after = i == 1 && !IN_PARALLEL ? 1 : 0,
                                              .needs = has_need(i) ? 1 : 0,
                                              .has_guard = has_guard(i) || is_wait(i),
                                              .is_wait = is_wait(i),
                                              .is_signal = is_wait(i),
                                              .is_skipped_when_over = is_wait(i) && WAIT_SKIPS,
                                              .wait_ms = LONG_MS,
                                              .complete_within_ms = LONG_MS,
                                              .undo_complete_within_ms = LONG_MS,
                                              .retry = retry,
                                              .undo_retry = retry,
                                              .on_unknown = ON_UNKNOWN,
                                              .has_verify = ON_UNKNOWN == MG_ON_UNKNOWN_VERIFY,
                                              .has_undo = !is_pivot(i) && !is_wait(i),
                                              .is_pivot = has_pivot(i),
                                              .learn = (enum mg_learn)LEARN,
                                              .needs_result = LEARN != 0,
                                              .is_at_most_once = AT_MOST_ONCE,
                                              .is_absent_final = true};
    }
}

/* ---- deciding ---- */

static struct mg_order order;
static struct mg_decision decision; /* of a whole fold: a cause, and the conditions of the steps made ready */
static int facts;                   /* conditions judged in that fold */

static bool is_deadline_passed(int step, int attempt)
{
    return attempt <= now.late[step];
}

static bool is_quiet(int step, int attempt)
{
#ifdef WITHOUT_QUIESCE
    return is_deadline_passed(step, attempt);
#else
    return attempt <= now.quiet[step];
#endif
}

/* When an attempt's complete-by was or will be; a later attempt's is later. */
static int64_t complete_by_ms(int step, int attempt)
{
    int64_t last_ms = is_quiet(step, attempt)             ? NOW_MS - QUIESCE_MS - LATER_MS
                      : is_deadline_passed(step, attempt) ? NOW_MS - 1
                                                          : NOW_MS + LONG_MS;
    return last_ms - ATTEMPTS_MAX + attempt;
}

static int64_t quiet_at_ms(const struct Row *row, int step)
{
    int attempt = row->quiet_of[step];
    return attempt == 0 ? 0 : complete_by_ms(step, attempt) + QUIESCE_MS;
}

static int64_t due_at_ms(const struct Row *row, int step, bool is_soon_over)
{
    switch (row->due[step]) {
    case DUE_SOME_TIME:
        return is_soon_over ? NOW_MS : NOW_MS + SOON_MS;
    case DUE_WHEN_QUIET:
        return is_quiet(step, row->quiet_of[step]) ? NOW_MS : quiet_at_ms(row, step);
    default:
        return 0;
    }
}

static void order_read(const struct Row *row, int passed_step, bool is_soon_over)
{
    memset(&order, 0, sizeof(order));
    order.step_count = 2;
    order.version = row->is_stored;
    order.state = (enum mg_order_state)row->order;
    order.goal = (enum mg_goal)row->goal;
    order.complete_by_ms = !MAY_EXPIRE || now.order_time == ORDER_UNBOUNDED ? 0
                           : now.order_time == ORDER_LATE                   ? NOW_MS - 1
                                                                            : NOW_MS + LONG_MS;
    for (int i = 0; i < 2; i++) {
        struct mg_step *step = &order.steps[i];
        step->state = (enum mg_step_state)row->state[i];
        step->kind = (enum mg_kind)row->kind[i];
        step->attempt = row->attempt[i];
        step->failure_count = row->failures[i];
        step->is_maybe = row->flags[i] & IS_MAYBE;
        step->is_undo_dispatched = row->flags[i] & IS_UNDO_DISPATCHED;
        step->is_accepted = row->flags[i] & IS_ACCEPTED;
        step->is_refused = row->flags[i] & IS_REFUSED;
        step->generation = RENEWED_AT(row, i) != 0;
        step->quiet_at_ms = quiet_at_ms(row, i);
        step->due_at_ms = due_at_ms(row, i, is_soon_over || i == passed_step);
        bool is_open = is_wait(i) && row->state[i] == MG_STEP_WAITING;
        step->reason = is_open ? MG_REASON_AWAITING_SIGNAL : MG_REASON_NONE;
        step->complete_by_ms = mg_step_is_running(step) ? complete_by_ms(i, row->attempt[i]) : 0;
    }
}

/* The facts of a reply, and of a request that the broker refused. Any other cause: done, and executed. */
static struct mg_cause_reply reply_of(const struct mg_cause *cause)
{
    struct mg_cause_reply reply = {.outcome = MG_OUTCOME_DONE, .executed = MG_EXECUTED_YES};
    if (cause->kind == MG_CAUSE_REPLY) {
        reply = cause->reply;
    } else if (cause->kind == MG_CAUSE_UNPUBLISHABLE) {
        reply.executed = cause->unpublishable.executed;
    }
    return reply;
}

/* The cause brings the step's result. */
static bool has_result(const struct mg_cause *cause, const struct Row *row, int step)
{
    return LEARN && cause->kind == MG_CAUSE_REPLY && cause->step == step &&
           cause->attempt == row->attempt[step] && cause->reply.kind == row->kind[step] &&
           cause->reply.kind != MG_KIND_UNDO && cause->reply.outcome == MG_OUTCOME_DONE;
}

static uint64_t known_results(const struct mg_cause *cause, const struct Row *row)
{
    uint64_t known = 0;
    for (int i = 0; i < 2; i++) {
        known |= (row->flags[i] & IS_KNOWN) || has_result(cause, row, i) ? UINT64_C(1) << i : 0;
    }
    return known;
}

/* As the core sees it. */
static uint64_t told_results(const struct mg_cause *cause, const struct Row *row)
{
#ifdef WITHOUT_LEARNING
    (void)cause, (void)row;
    return UINT64_MAX;
#else
    return known_results(cause, row);
#endif
}

static void order_write(const struct mg_cause *cause, struct Row *row)
{
    uint64_t known = known_results(cause, row);
    row->is_stored = 1;
    BASIS_SET(0);
    if (MAY_EXPIRE) { /* new time by a command; none after a done pivot */
        now.order_time = order.complete_by_ms == 0        ? ORDER_UNBOUNDED
                         : order.complete_by_ms <= NOW_MS ? ORDER_LATE
                                                          : ORDER_IN_TIME;
    }
    row->order = (unsigned char)order.state;
    row->goal = (unsigned char)order.goal;
    for (int i = 0; i < 2; i++) {
        const struct mg_step *step = &order.steps[i];
        bool is_noted = cause->step == i;
#ifdef WITHOUT_OTHER_COPIES
        is_noted =
            is_noted &&
            (cause->kind != MG_CAUSE_UNPUBLISHABLE || cause->unpublishable.executed != MG_EXECUTED_NO) &&
            cause->kind != MG_CAUSE_REPUBLISHED;
#endif
#ifdef WITHOUT_SECOND_COPIES
        is_noted = is_noted && cause->kind != MG_CAUSE_REPUBLISHED;
#endif
        if (is_noted && step->quiet_at_ms != quiet_at_ms(row, i)) {
            row->quiet_of[i] = (unsigned char)cause->attempt;
        }
        row->state[i] = (unsigned char)step->state;
        row->kind[i] =
            mg_step_is_running(step) ? (unsigned char)step->kind : 0; /* only then is it compared */
        assert(step->generation <= 1 && step->attempt <= ATTEMPTS_MAX);
        if (step->generation != (RENEWED_AT(row, i) != 0)) {
            RENEW(row, i, row->attempt[i] + 1);
        }
        row->attempt[i] = (unsigned char)step->attempt;
        row->failures[i] = (unsigned char)step->failure_count;
        row->flags[i] = (step->is_maybe ? IS_MAYBE : 0) |
                        (step->is_undo_dispatched ? IS_UNDO_DISPATCHED : 0) |
                        (step->is_accepted ? IS_ACCEPTED : 0) | (known >> i & 1 ? IS_KNOWN : 0) |
                        (COMMANDS_LEFT > 0 && step->is_refused ? IS_REFUSED : 0);
        bool is_at_quiet = step->due_at_ms > NOW_MS && step->due_at_ms == step->quiet_at_ms;
        row->due[i] = step->due_at_ms == 0 ? DUE_NEVER : is_at_quiet ? DUE_WHEN_QUIET : DUE_SOME_TIME;
#ifdef WITHOUT_SKIP
        row->state[i] = step->state == MG_STEP_SKIPPED ? MG_STEP_PENDING : row->state[i];
#endif
#ifdef WITHOUT_MAYBE
        row->flags[i] &= ~IS_MAYBE;
#endif
    }
}

/* ---- signals ---- */

/* The effect of a signal on its step (signal_apply.c). */
static enum mg_signal_fact fact_of(const struct Row *row, int step, int word)
{
    enum mg_signal_fact end = word == SIGNAL_YES ? MG_SIGNAL_FACT_DONE : MG_SIGNAL_FACT_REFUSED;
#ifdef WITHOUT_LATENESS
    return row->state[step] != MG_STEP_PENDING ? end : MG_SIGNAL_FACT_KEPT;
#else
    return row->state[step] == MG_STEP_WAITING ? end : MG_SIGNAL_FACT_KEPT;
#endif
}

#if WAIT
/* Of the signals that came before the step began (kept_signals.c): the first of them decides. */
static enum mg_signal_fact kept_fact(const struct Row *row)
{
#ifdef WITHOUT_KEPT_FACTS
    (void)row;
    return MG_SIGNAL_FACT_NONE;
#else
    return row->kept[0] == 0                ? MG_SIGNAL_FACT_NONE
           : row->kept[0] == 1 + SIGNAL_YES ? MG_SIGNAL_FACT_DONE
                                            : MG_SIGNAL_FACT_REFUSED;
#endif
}

static bool is_signal_known(const struct Row *row, int m)
{
#ifdef WITHOUT_SIGNAL_IDENTITY
    (void)row, (void)m;
    return false;
#else
    return TYPE(m) == SIGNAL && (row->known >> WORD(m) & 1);
#endif
}
#else
static enum mg_signal_fact kept_fact(const struct Row *row)
{
    (void)row;
    return MG_SIGNAL_FACT_NONE;
}

static bool is_signal_known(const struct Row *row, int m)
{
    (void)row, (void)m;
    return false;
}
#endif

static struct mg_cause cause_of(const struct Row *row, int m)
{
    static const enum mg_cause_kind KINDS[] = {[SUBMISSION] = MG_CAUSE_SUBMITTED,
                                               [REPLY] = MG_CAUSE_REPLY,
                                               [OVERDUE] = MG_CAUSE_OVERDUE,
                                               [DUE] = MG_CAUSE_DUE,
                                               [EXPIRED] = MG_CAUSE_EXPIRED,
                                               [OWED] = MG_CAUSE_OWED,
                                               [UNPUBLISHABLE] = MG_CAUSE_UNPUBLISHABLE,
                                               [RESUME] = MG_CAUSE_RESUME,
                                               [SIGNAL] = MG_CAUSE_SIGNAL,
                                               [CANCEL] = MG_CAUSE_CANCEL};
    struct mg_cause cause = {
        .kind = KINDS[TYPE(m)], .step = names_step(m) ? STEP(m) : -1, .attempt = (uint32_t)ATTEMPT(m)};
    if (TYPE(m) == REPLY) {
        cause.reply = (struct mg_cause_reply){.kind = REPLIES[WORD(m)].kind,
                                              .outcome = REPLIES[WORD(m)].outcome,
                                              .executed = REPLIES[WORD(m)].executed,
                                              .is_service_down = REPLIES[WORD(m)].is_service_down,
                                              .retry_after_ms = -1};
#ifndef WITHOUT_OPEN_REPLIES
        cause.reply.may_still_act = REPLIES[WORD(m)].may_still_act;
#endif
#ifdef WITHOUT_ATTEMPT_FENCE
        cause.attempt = row->attempt[cause.step];
#endif
#ifdef WITHOUT_KIND_FENCE
        cause.reply.kind = (enum mg_kind)row->kind[cause.step];
#endif
    } else if (TYPE(m) == UNPUBLISHABLE) {
        cause.unpublishable.executed = WORD(m) ? MG_EXECUTED_MAYBE : MG_EXECUTED_NO;
    } else if (TYPE(m) == SIGNAL) {
        cause.signal.fact = fact_of(row, cause.step, WORD(m));
    } else if (TYPE(m) == RESUME) {
        cause.resume.is_repeat = WORD(m) == RESUME_REPEAT;
#ifndef WITHOUT_BASIS
        cause.version = VERSION_OF_BASIS;
#endif
    }
    (void)row;
    return cause;
}

/* The step with a condition that is to be judged; -1: none. */
static int asked_step(const struct mg_decision *from)
{
    for (int i = 0; i < from->effect_count; i++) {
        if (from->effects[i].kind == MG_EFFECT_ASK) {
            return from->effects[i].step;
        }
    }
    return -1;
}

static void decision_append(const struct mg_decision *more)
{
    for (int i = 0; i < more->effect_count; i++) {
        assert(decision.effect_count < MG_EFFECTS_MAX);
        decision.effects[decision.effect_count++] = more->effects[i];
    }
    for (int i = 0; i < more->transition_count; i++) {
        assert(decision.transition_count < MG_TRANSITIONS_MAX);
        decision.transitions[decision.transition_count++] = more->transitions[i];
    }
}

/* The verdict that follows in the same fold, as mg_fold_cause has it: at most one step has a condition. */
static void facts_decide(const struct Row *row, const struct mg_context *context)
{
    static struct mg_decision more;
    int step = asked_step(&decision);
    facts = 0;
    if (step < 0) {
        return;
    }
    const struct mg_cause cause = {.kind = MG_CAUSE_FACTS,
                                   .step = step,
                                   .facts = {.fact = (enum mg_fact)FACT, .signal = kept_fact(row)}};
    if (mg_order_decide(&plan, context, &cause, &order, &more) == MG_GO) {
        facts++;
        assert(asked_step(&more) < 0);
        decision_append(&more);
    }
}

/* Removed guards of a resume. */
static void resume_unguard(const struct mg_cause *cause)
{
    for (int i = 0; i < 2 && cause->kind == MG_CAUSE_RESUME; i++) {
        struct mg_step *step = &order.steps[i];
        bool is_revived = step->state == MG_STEP_FAILED || step->state == MG_STEP_UNKNOWN;
#ifdef WITHOUT_QUIET_REPEAT
        step->quiet_at_ms = cause->resume.is_repeat ? 0 : step->quiet_at_ms;
#endif
#ifdef WITHOUT_RESUMED_DOUBT
        step->is_maybe = step->is_maybe && !is_revived;
#endif
#ifdef WITHOUT_PROOF_FOR_KEYS
        step->generation = is_revived ? 1 : step->generation;
#endif
        (void)step, (void)is_revived;
    }
}

/* A late signal is taken for one in time. */
static void signal_unguard(const struct mg_cause *cause)
{
#ifdef WITHOUT_LATENESS
    struct mg_step *step = &order.steps[2 - WAIT];
    if (cause->kind == MG_CAUSE_SIGNAL && step->state != MG_STEP_PENDING) {
        step->state = MG_STEP_WAITING;
        step->reason = MG_REASON_AWAITING_SIGNAL;
    }
#else
    (void)cause;
#endif
}

static enum mg_verdict decide(const struct Row *row, const struct mg_cause *cause, bool is_gate_closed,
                              bool is_soon_over)
{
    struct mg_context context = {.now_ms = NOW_MS,
                                 .park_ms = SOON_MS,
                                 .quiesce_ms = QUIESCE_MS,
                                 .known_results = told_results(cause, row)};
    context.gate[0] = context.gate[1] = is_gate_closed ? MG_REASON_BREAKER_OPEN : MG_REASON_NONE;
    order_read(row, cause->kind == MG_CAUSE_DUE ? cause->step : -1, is_soon_over);
    resume_unguard(cause);
    signal_unguard(cause);
#ifdef WITHOUT_PIVOT_POLICY
    plan.steps[1].on_unknown = order.goal == MG_GOAL_PROCESSED ? ON_UNKNOWN : MG_ON_UNKNOWN_OPERATOR;
#endif
    enum mg_verdict verdict = mg_order_decide(&plan, &context, cause, &order, &decision);
    if (verdict == MG_GO) {
        facts_decide(row, &context);
    }
    return verdict;
}

static bool has_request(void)
{
    for (int i = 0; i < decision.effect_count; i++) {
        if (decision.effects[i].kind == MG_EFFECT_REQUEST) {
            return true;
        }
    }
    return false;
}

#endif
