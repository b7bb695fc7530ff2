/*
 * Actions of the clock and the schedulers of order.pml. Included by parts.h into the verifier that Spin
 * writes.
 */
#ifndef MODEL_SCHEDULERS_H
#define MODEL_SCHEDULERS_H

#include "commands.h"
#include "core.h"

/* The identity of a cause: all replies to one attempt are one cause, whichever word they carry. */
static int identity(int m)
{
    return TYPE(m) == REPLY ? message(REPLY, STEP(m), ATTEMPT(m), 0) : m & ~MARKED;
}

/* A copy of this cause is in a queue or in hand. */
static bool may_return(int cause)
{
    bool is_there = false;
    for (int i = 0; i < INBOX; i++) {
        is_there = is_there || (now.inbox[i] != 0 && identity(now.inbox[i]) == cause);
    }
    for (int i = 0; i < 2; i++) {
        is_there = is_there || (now.hand[i] != 0 && identity(now.hand[i]) == cause);
    }
    return is_there;
}

/* ---- the clock ---- */

/* A deadline matters only for an attempt that a request, a call, a publish or the running step still
 * names. */
static bool is_named(int step, int attempt)
{
    return (now.row.attempt[step] == attempt && is_running(&now.row, step)) ||
           bag_names(now.requests, REQUESTS, step, attempt) || bag_names(now.calls, CALLS, step, attempt) ||
           bag_names(now.sends, 4, step, attempt);
}

static int next_late(int step)
{
    for (int attempt = now.late[step] + 1; attempt <= now.row.attempt[step]; attempt++) {
        if (now.row.quiet_of[step] == attempt || is_named(step, attempt)) {
            return attempt;
        }
    }
    return 0;
}

/* No call outlives this moment: its agent has given up, and its work at the service is gone. */
static int next_quiet(int step)
{
    for (int attempt = now.quiet[step] + 1; attempt <= now.late[step]; attempt++) {
        bool is_awaited = now.row.quiet_of[step] == attempt;
        if (is_awaited || is_named(step, attempt)) {
            return attempt;
        }
    }
    return 0;
}

static bool may_be_late(int step)
{
    return next_late(step) != 0;
}

static bool may_be_quiet(int step)
{
    return next_quiet(step) != 0;
}

static void be_late(int step)
{
    now.late[step] = (unsigned char)next_late(step);
    if (is_telling) {
        printf("# the complete-by of step %d attempt %d has passed\n", step, now.late[step]);
    }
}

static void be_quiet(int step)
{
    int attempt = next_quiet(step);
    if (is_telling) {
        printf("# step %d attempt %d can act no more\n", step, attempt);
    }
    now.quiet[step] = (unsigned char)attempt;
    for (int i = CALLS - 1; i >= 0; i--) {
        if (now.calls[i] != 0 && STEP(now.calls[i]) == step && ATTEMPT(now.calls[i]) <= attempt) {
            bag_take(now.calls, CALLS, i);
        }
    }
}

static void forget(void);

#ifdef MAY_LOSE_TAIL
static void tail_lost(void)
{
    tell("the database comes back without its newest commit", 0);
    now.row = now.before;
    now.is_fresh[0] = now.is_fresh[1] = 0;
}
#endif

/* ---- schedulers ---- */

static int send_of(const struct Row *row, int step, bool is_again)
{
    return message(REQUEST, step, row->attempt[step], row->kind[step]) | (is_again ? MARKED : 0);
}

static void send_add(int me, int send)
{
    int slot = now.sends[2 * me] == 0 ? 0 : 1;
    assert(now.sends[2 * me + slot] == 0);
    now.sends[2 * me + slot] = (short)send;
}

/* The row that this scheduler decides on. Its read equals the stored row until another write, which the guard
 * detects. */
static struct Row *row_of(int me)
{
#ifdef WITHOUT_VERSION_GUARD
    return &now.seen[me];
#else
    (void)me;
    return &now.row;
#endif
}

/* Of TOLD_… */
static int status_of(const struct mg_effect *effect)
{
    int status = effect->status == MG_STATUS_COMPENSATING ? TOLD_TURNED : TOLD_END;
    return effect->status == MG_STATUS_ACCEPTED ? TOLD_ACCEPTED : status << 2 * RESUMED;
}

static int status_index(int status)
{
    return __builtin_ctz((unsigned)status / TOLD_TURNED);
}

static void count_failures(const struct mg_cause *cause, bool is_gate_closed)
{
    int step = cause->step;
    bool is_failure = (cause->kind == MG_CAUSE_OVERDUE && !is_gate_closed) ||
                      (cause->kind == MG_CAUSE_REPLY && !cause->reply.is_service_down &&
                       (cause->reply.outcome == MG_OUTCOME_TRANSIENT ||
                        (LEARN && cause->reply.outcome == MG_OUTCOME_PERMANENT)));
    if (is_failure) {
        now.genuine[step]++;
    }
    for (int i = 0; i < decision.transition_count; i++) {
        const struct mg_transition *transition = &decision.transitions[i];
        if (transition->step < 0) {
            continue;
        }
        if (transition->reason == MG_REASON_ATTEMPTS_EXHAUSTED && now.genuine[transition->step] < ATTEMPTS) {
            now.broken |= BROKEN_WAITING;
        }
        bool is_over = transition->to != MG_STEP_RUNNING && transition->to != MG_STEP_WAITING &&
                       transition->to != MG_STEP_UNKNOWN && transition->to != MG_STEP_UNDO_RUNNING &&
                       transition->to != MG_STEP_UNDO_WAITING;
        if (is_over) {
            now.genuine[transition->step] = 0;
        }
#ifdef WITHOUT_FREE_WAITING
        bool is_parked =
            transition->reason == MG_REASON_BREAKER_OPEN || transition->reason == MG_REASON_UNPUBLISHABLE;
        if (is_parked) {
            order.steps[transition->step].failure_count++;
        }
#endif
    }
}

static void row_tell(int me)
{
    if (is_telling) {
        printf("# scheduler %d writes: %s;", me, mg_order_state_name((enum mg_order_state)now.row.order));
        for (int i = 0; i < 2; i++) {
            printf(" step %d %s%s, attempt %d%s", i, mg_step_state_name((enum mg_step_state)now.row.state[i]),
                   now.row.flags[i] & IS_MAYBE ? " (maybe)" : "", now.row.attempt[i], i == 0 ? ";" : "\n");
        }
    }
}

/* Law 10, sticky maybe: of a step that may have happened, only a proof clears that. Its do goes out again
 * only by its policy of retry, or by an operator's explicit repeat. */
static void doubt_check(const struct mg_cause *cause, const struct Row *row)
{
    for (int i = 0; i < 2; i++) {
        bool is_own = cause->kind == MG_CAUSE_REPLY && cause->step == i;
        bool is_proof =
            is_own && (cause->reply.outcome == MG_OUTCOME_ABSENT || row->state[i] == MG_STEP_UNDONE);
        bool was_maybe = now.row.flags[i] & IS_MAYBE;
        if (was_maybe && !(row->flags[i] & IS_MAYBE) && !is_proof) {
            now.broken |= BROKEN_DOUBT;
        }
        bool is_do = row->state[i] == MG_STEP_RUNNING && row->kind[i] == MG_KIND_DO &&
                     row->attempt[i] != now.row.attempt[i];
        if (was_maybe && is_do && !may_repeat(i)) {
            now.broken |= BROKEN_DOUBT;
        }
    }
}

#if WAIT
/* One end of the step that waits, by the signal that is named or by none. */
static void signal_end_check(const struct Row *row, const struct mg_transition *transition, int m)
{
    int word = TYPE(m) == SIGNAL ? 1 + WORD(m) : row->kept[0];
    bool is_refused = transition->reason == MG_REASON_SIGNAL_REFUSED;
    bool is_by_signal = transition->to == MG_STEP_DONE || is_refused;
    if (is_by_signal && word != 1 + (is_refused ? SIGNAL_NO : SIGNAL_YES)) {
        now.broken |= BROKEN_SIGNAL;
    }
    if (is_by_signal) {
        now.taken |= word == 0 ? 0 : 1 << (word - 1);
    }
    if (now.ends++ > 0) {
        now.broken |= BROKEN_SIGNAL;
    }
}

/* The signal is an event, and is kept if its step has not begun. */
static void signal_write(struct Row *row, const struct mg_cause *cause, int m)
{
    for (int i = 0; i < decision.transition_count; i++) {
        const struct mg_transition *transition = &decision.transitions[i];
        bool is_end = transition->to == MG_STEP_DONE || transition->to == MG_STEP_FAILED ||
                      transition->to == MG_STEP_SKIPPED;
        if (transition->step == 2 - WAIT && is_end) {
            signal_end_check(row, transition, m);
        }
    }
    if (TYPE(m) != SIGNAL) {
        return;
    }
    now.counted[WORD(m)]++;
    row->known |= 1 << WORD(m);
#ifndef WITHOUT_KEEPING
    if (cause->signal.fact == MG_SIGNAL_FACT_KEPT) {
        row->kept[row->kept[0] == 0 ? 0 : 1] = (unsigned char)(1 + WORD(m));
    }
#endif
}

/* A signal counts once, and has ended its step or is kept by it. No step waits that keeps one. */
static void signal_check(void)
{
    const struct Row *row = &now.row;
    for (int word = SIGNAL_YES; word <= SIGNAL_NO; word++) {
        bool is_kept = row->kept[0] == 1 + word || row->kept[1] == 1 + word;
        bool is_lost = (now.counted[word] != 0) && !is_kept && !(now.taken >> word & 1);
        now.broken |= now.counted[word] > 1 || is_lost ? BROKEN_SIGNAL : 0;
    }
    now.broken |= row->state[2 - WAIT] == MG_STEP_WAITING && row->kept[0] != 0 ? BROKEN_SIGNAL : 0;
}

/* A signal is acked once it is stored, or if it is late. */
static void signal_ack_check(int m)
{
    const struct Row *row = &now.row;
    bool is_awaited = is_open() && row->goal == MG_GOAL_PROCESSED &&
                      (row->state[2 - WAIT] == MG_STEP_PENDING || row->state[2 - WAIT] == MG_STEP_WAITING);
    if (TYPE(m) == SIGNAL && is_awaited && now.counted[WORD(m)] == 0) {
        now.broken |= BROKEN_SIGNAL;
    }
}
#else
static void signal_write(struct Row *row, const struct mg_cause *cause, int m)
{
    (void)row, (void)cause, (void)m;
}

static void signal_check(void)
{
}

static void signal_ack_check(int m)
{
    (void)m;
}
#endif

/* Writes the last decision, and records its effects. */
static void row_write(int me, const struct mg_cause *cause, int cause_id, bool is_gate_closed)
{
    struct Row row = *row_of(me);
#ifdef MAY_LOSE_TAIL
    now.before = now.row;
#endif
    count_failures(cause, is_gate_closed);
    JUDGE(facts);
    order_write(cause, &row);
    signal_write(&row, cause, cause_id);
    command_count(cause);
    doubt_check(cause, &row);
    for (int i = 0; i < decision.effect_count; i++) {
        const struct mg_effect *effect = &decision.effects[i];
        if (effect->kind == MG_EFFECT_REQUEST) {
            row.cause[effect->step] = (short)cause_id;
        } else if (effect->kind == MG_EFFECT_STATUS) {
            int status = status_of(effect);
            if (status != TOLD_ACCEPTED) {
                now.told_by[status_index(status)] = (short)cause_id;
            }
#ifndef WITHOUT_OWING
            now.owed |= TYPE(cause_id) == UNPUBLISHABLE ? status : 0; /* this cause is not delivered again */
#endif
            now.stored_statuses |= status;
            now.statuses[me] |= status;
        }
    }
    for (int i = 0; i < 2; i++) {
        if (row.attempt[i] < now.row.attempt[i]) {
            now.broken |= BROKEN_MONOTONE;
        }
    }
    now.row = row;
    row_tell(me);
    for (int i = 0; i < decision.effect_count; i++) {
        const struct mg_effect *effect = &decision.effects[i];
        if (effect->kind == MG_EFFECT_REQUEST && is_running(&row, effect->step)) {
            bool is_blind = row.kind[effect->step] == MG_KIND_UNDO && !(row.flags[effect->step] & IS_KNOWN);
            now.broken |= LEARN && is_blind ? BROKEN_TRUTH : 0;
            send_add(me, send_of(&row, effect->step, false));
        }
    }
    now.is_fresh[0] = now.is_fresh[1] = 0;
    if (is_open() && !mg_order_is_moving(&order, NOW_MS)) {
        now.broken |= BROKEN_MOVING;
    }
}

static int requests_again(int me)
{
    int count = 0;
    for (int i = 0; i < 2; i++) {
        bool is_once = AT_MOST_ONCE && now.row.kind[i] == MG_KIND_DO;
        if (is_running(&now.row, i) && !is_once && now.row.cause[i] == identity(now.hand[me])) {
            send_add(me, send_of(&now.row, i, true));
            count++;
        }
    }
    return count;
}

static int statuses_of(int cause)
{
    int statuses = TYPE(cause) == SUBMISSION && now.row.is_stored ? TOLD_ACCEPTED : 0;
    for (int i = 0; i < STATUSES; i++) {
        statuses |= now.told_by[i] == cause ? TOLD_TURNED << i : 0;
    }
    return statuses;
}

static struct mg_cause republished(int step)
{
    return (struct mg_cause){.kind = MG_CAUSE_REPUBLISHED, .step = step, .attempt = now.row.attempt[step]};
}

/* The request's second copy is not yet recorded in the row. */
static bool is_republish_new(int me)
{
    for (int i = 0; i < 2; i++) {
        struct mg_cause cause = republished(STEP(now.sends[2 * me + i]));
        if (now.sends[2 * me + i] != 0 && decide(&now.row, &cause, false, false) == MG_GO) {
            return true;
        }
    }
    return false;
}

/* The action for the message in hand after the read of the row: one of LOOK_... */
static int look(int me)
{
    int m = now.hand[me];
    tell(me == 0 ? "scheduler 0 reads the order for the" : "scheduler 1 reads the order for the", m);
    if (TYPE(m) == OWED) {
        now.statuses[me] = now.owed;
        return LOOK_RESEND;
    }
    struct mg_cause cause = cause_of(&now.row, m);
#ifdef WITHOUT_VERSION_GUARD
    now.seen[me] = now.row;
#endif
    now.is_fresh[me] = 1;
    bool is_known = COMMANDS && statuses_of(identity(m)) != 0; /* a command may allow it anew */
    is_known = is_known || is_signal_known(&now.row, m);
    if (!is_known && decide(&now.row, &cause, false, true) == MG_GO) {
        return LOOK_WRITE;
    }
#ifndef WITHOUT_RECREATION
    if (m & MARKED) {
        int requests = requests_again(me);
        now.statuses[me] = statuses_of(identity(m));
        if (requests > 0 || now.statuses[me] != 0) {
            return is_republish_new(me) ? LOOK_REPUBLISH : LOOK_RESEND;
        }
    }
#endif
    now.is_fresh[me] = 0;
    return LOOK_ACK;
}

static bool is_gate_asked(int me)
{
    struct mg_cause cause = cause_of(&now.row, now.hand[me]);
    return (decide(row_of(me), &cause, false, true) == MG_GO && has_request()) ||
           cause.kind == MG_CAUSE_OVERDUE;
}

static bool is_soon_asked(int me)
{
    int m = now.hand[me];
    for (int i = 0; i < 2; i++) {
        bool is_own = TYPE(m) == DUE && STEP(m) == i;
        if (row_of(me)->due[i] == DUE_SOME_TIME && !is_own) {
            return true;
        }
    }
    return false;
}

static void commit(int me, bool is_gate_closed, bool is_soon_over)
{
    int m = now.hand[me];
    struct mg_cause cause = cause_of(row_of(me), m);
    if (decide(row_of(me), &cause, is_gate_closed, is_soon_over) == MG_GO) {
        row_write(me, &cause, identity(m), is_gate_closed);
    }
}

/* A second copy of a do goes out: the step is marked maybe first. */
static void republish_write(int me, int step)
{
    struct mg_cause cause = republished(step);
    if (decide(&now.row, &cause, false, false) == MG_GO) {
        order_write(&cause, &now.row);
        row_tell(me);
        now.is_fresh[0] = now.is_fresh[1] = 0;
    }
}

static void republish(int me)
{
    for (int i = 0; i < 2; i++) {
        if (now.sends[2 * me + i] != 0) {
            republish_write(me, STEP(now.sends[2 * me + i]));
        }
    }
}

static void sends_drop(int me)
{
    now.sends[2 * me] = now.sends[2 * me + 1] = 0;
    now.statuses[me] = 0;
}

static void run_again(int me)
{
    tell("nobody knows whether that was stored; run again", 0);
    sends_drop(me);
    now.hand[me] |= MARKED;
}

static void statuses_arrived(int me)
{
    tell("the client is told", 0);
    now.told |= now.statuses[me];
    if (TYPE(now.hand[me]) == OWED) {
        now.owed &= ~now.statuses[me];
    }
}

/* A request that is not sent again is a cause of its own. */
static void send_given_up(int me, int slot, bool may_be_out)
{
    int send = now.sends[2 * me + slot];
    now.sends[2 * me + slot] = 0;
    int m = message(UNPUBLISHABLE, STEP(send), ATTEMPT(send), may_be_out);
#ifdef WITHOUT_VERSION_GUARD
    now.seen[me] = now.row;
#endif
    struct mg_cause cause = cause_of(&now.row, m);
    if (decide(&now.row, &cause, false, false) == MG_GO) {
        row_write(me, &cause, m, false);
    }
}

static void send_failed(int me, int slot)
{
    int send = now.sends[2 * me + slot];
    if (send != 0) { /* else answered meanwhile */
        tell("the broker did not take the", send);
        send_given_up(me, slot, send & MARKED);
    }
}

/* The outcome of the publish is unknown: the step is marked maybe, and the request goes out once more,
 * marked. */
static void send_again(int me, int slot)
{
    int send = now.sends[2 * me + slot];
    if (send == 0) { /* answered meanwhile */
        return;
    }
    int step = STEP(send);
    tell("nobody knows whether the broker took the", send);
    if (AT_MOST_ONCE && WORD(send) == MG_KIND_DO) {
        send_given_up(me, slot, true);
        return;
    }
    now.sends[2 * me + slot] = 0;
    if (is_running(&now.row, step) && now.row.attempt[step] == ATTEMPT(send) &&
        now.row.kind[step] == WORD(send)) {
        republish_write(me, step);
        now.sends[2 * me + slot] = (short)(send | MARKED);
    }
}

static void inbox_put(int m)
{
    if (!set_put(now.inbox, INBOX, m)) {
        now.broken |= BROKEN_BOUND;
    }
}

static void request_put(int m)
{
    tell("published:", m);
    if (!set_put(now.requests, REQUESTS, m)) {
        now.broken |= BROKEN_BOUND;
    }
}

static bool is_first(int me, int slot)
{
    return !(now.sends[2 * me + slot] & MARKED);
}

static bool may_come_twice(int m)
{
    return TYPE(m) == REPLY || TYPE(m) == SUBMISSION || TYPE(m) == SIGNAL;
}

/* A message without an ack goes to another scheduler, marked. */
static void hand_lost(int me)
{
    tell(me == 0 ? "scheduler 0 dies over the" : "scheduler 1 dies over the", now.hand[me]);
#ifndef WITHOUT_ACK_ORDER
    inbox_put(now.hand[me] | MARKED);
#endif
    now.hand[me] = 0;
    sends_drop(me);
    now.is_fresh[me] = 0;
}

static void hand_settled(int me)
{
    signal_ack_check(now.hand[me]);
    now.hand[me] = 0;
    now.is_fresh[me] = 0;
    forget();
}

#endif
