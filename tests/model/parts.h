/*
 * Actions of the agents, supervisors and services of order.pml, and the properties that must hold after each.
 * Included by order.pml into the verifier that Spin writes.
 */
#ifndef MODEL_PARTS_H
#define MODEL_PARTS_H

#include "schedulers.h"

/* ---- agents ---- */

static void job_lost(int m)
{
    tell("its agent dies over the", m);
    request_put(m | MARKED);
}

static bool is_late(int m)
{
    return is_deadline_passed(STEP(m), ATTEMPT(m));
}

static bool is_over(int m)
{
    return ATTEMPT(m) <= now.quiet[STEP(m)];
}

static void call_put(int m)
{
    int call = m & ~MARKED;
    bool has_room = FORGETS ? bag_put(now.calls, CALLS, call) : set_put(now.calls, CALLS, call);
    if (!has_room) {
        now.broken |= BROKEN_BOUND;
    }
}

/* A do that may be sent only once, and that another agent may have sent. */
static bool is_held_back(int m)
{
#ifdef WITHOUT_HOLDING_BACK
    (void)m;
    return false;
#else
    return AT_MOST_ONCE && WORD(m) == MG_KIND_DO && (m & MARKED);
#endif
}

/* The service itself has answered, and this is the only delivery: no call of the attempt acts any more. */
static bool is_settled(int word)
{
    return word == DO_REFUSED_NO || word == DO_FAILED_NO || word == DO_AWAY_NO || word == DO_FAILED_MAYBE;
}

/* Another delivery of the same request may have acted or may yet act. So the answer neither proves absence
 * nor ends the attempt. */
static int word_beside_others(int word)
{
    return word == DO_DONE || word == DO_REFUSED_NO || word == DO_FAILED_NO || word == DO_AWAY_NO ? word + 1
           : word == DO_FAILED_MAYBE ? DO_FAILED_OPEN
                                     : word;
}

static void reply_put(int m, int word)
{
    word = m & MARKED ? word_beside_others(word) : word;
    tell("an agent replies with the", message(REPLY, STEP(m), ATTEMPT(m), word));
    inbox_put(message(REPLY, STEP(m), ATTEMPT(m), word));
}

/* An assumption (README.md): a request that the service has answered with another word than done is not
 * delivered again. */
static bool may_come_again(int m, int word)
{
    return ANSWERED_MAY_ACT || (m & MARKED) || !is_settled(word);
}

/* ---- supervisors ---- */

/* No new step begins any more, and the message that the order has expired is on its way. */
static bool is_expiring(void)
{
    return now.order_time == ORDER_LATE && now.row.goal == MG_GOAL_PROCESSED;
}

/* The due ask of a sweep for a step or, with ASK_…, for the order; 0: none is due, or it is already sent. */
static int ask_of(int step)
{
    const struct Row *row = &now.row;
    int m = 0;
    if (step == ASK_ORDER) {
        bool is_forward = row->goal == MG_GOAL_PROCESSED && is_open();
        bool is_due = is_forward && now.order_time == ORDER_LATE;
        m = is_due ? message(EXPIRED, 0, RESUMED, 0) : 0; /* each complete-by has its own */
    } else if (step >= ASK_RESUME) {
        m = command_of(step);
    } else if (step == ASK_OWED) {
        m = now.owed != 0 ? message(OWED, 0, 0, 0) : 0;
    } else if (is_running(row, step)) {
        m = is_deadline_passed(step, row->attempt[step]) ? message(OVERDUE, step, row->attempt[step], 0) : 0;
    } else if (is_open() && row->due[step] != DUE_NEVER && !is_expiring()) {
        bool is_due = row->due[step] == DUE_SOME_TIME || is_quiet(step, row->quiet_of[step]);
        m = is_due ? message(DUE, step, row->attempt[step], 0) : 0;
    }
    return m != 0 && now.inbox[INBOX - 1] == 0 && !may_return(m) ? m : 0;
}

static bool has_ask(int step)
{
    return ask_of(step) != 0;
}

static bool has_work(void)
{
    bool is_asked = has_ask(0) || has_ask(1) || has_ask(ASK_ORDER) || has_ask(ASK_OWED);
    bool is_commanded = has_ask(ASK_RESUME) || has_ask(ASK_REPEAT) || has_ask(ASK_REPEAT + 1);
    return now.inbox[0] != 0 || (is_asked && !ASKS_LIE) || is_commanded;
}

/* Sends the ask to a scheduler, or to their queue. */
static void ask(int scheduler, int step)
{
    int m = ask_of(step);
    tell(step >= ASK_RESUME ? "an operator commands:" : "a supervisor asks:", m);
    if (step >= ASK_RESUME) {
        command_sent();
    }
    if (scheduler >= 0) {
        now.hand[scheduler] = (short)m;
    } else {
        inbox_put(m);
    }
}

/* ---- the sender of signals ---- */

#if WAIT
enum { SENT_CANCEL = 4 };

/* Each signal is sent once. */
static bool may_signal(int word)
{
    return now.row.is_stored && !(now.sent >> word & 1) && now.inbox[INBOX - 1] == 0;
}

static bool may_cancel(void)
{
    return is_open() && !(now.sent & SENT_CANCEL) && now.inbox[INBOX - 1] == 0;
}

static void cancel_send(void)
{
    int m = message(CANCEL, 0, 0, 0);
    tell("an operator sends a", m);
    now.sent |= SENT_CANCEL;
    inbox_put(m);
}

static void signal_send(int word)
{
    int m = message(SIGNAL, 2 - WAIT, 0, word);
    tell("a client sends a", m);
    now.sent |= 1 << word;
    inbox_put(m);
}
#endif

/* ---- the remote service ---- */

/* The keys of a step's dos, one bit each: each generation has its own. */
static int key_bit(int call)
{
#ifdef WITHOUT_DERIVED_KEYS
    return 1 << ATTEMPT(call);
#else
    int renewed_at = RENEWED_AT(&now.row, STEP(call));
    return 1 << (renewed_at != 0 && ATTEMPT(call) >= renewed_at);
#endif
}

/* A service that recognises keys does no do twice. An undo does not affect a do that arrives later. */
static void serve(int call)
{
    tell("the service acts on the", call);
    int step = STEP(call);
    if (WORD(call) == MG_KIND_DO) {
        if (FORGETS || !(now.done_keys[step] & key_bit(call))) {
            now.done_keys[step] |= key_bit(call);
            if (now.effects[step]++ > 0) {
                now.broken |= BROKEN_ONCE;
            }
            if (now.is_undone[step]) {
                now.broken |= BROKEN_OVERTAKEN;
            }
        }
    } else if (WORD(call) == MG_KIND_UNDO) {
        now.is_undone[step] = 1;
        now.effects[step] = 0;
    }
}

/* A service that replays answers a key on which it has acted as it did first. */
static bool may_refuse(int call)
{
    return !LEARN || now.done_keys[STEP(call)] == 0;
}

static bool stands(int call)
{
    return now.effects[STEP(call)] != 0;
}

static bool is_kind(int call, enum mg_kind kind)
{
    return WORD(call) == kind;
}

/* A message that can change nothing any more and has no awaited effects. Taking it now or later makes no
 * difference. */
static bool is_spent(int m)
{
    struct mg_cause cause = cause_of(&now.row, m);
    int id = identity(m);
    bool has_effect = statuses_of(id) != 0;
    for (int i = 0; i < 2; i++) {
        has_effect = has_effect || (is_running(&now.row, i) && now.row.cause[i] == id);
    }
    if (has_effect || TYPE(m) == SUBMISSION || TYPE(m) == OWED) {
        return false;
    }
    if (TYPE(m) == DUE) { /* the sweep asks again */
        return now.row.attempt[STEP(m)] != ATTEMPT(m) || now.row.due[STEP(m)] == DUE_NEVER;
    }
    return is_signal_known(&now.row, m) || decide(&now.row, &cause, false, true) != MG_GO;
}

/* A call that changes nothing: its key is known. */
static bool is_idle(int call)
{
#ifdef WITHOUT_DERIVED_KEYS
    (void)call;
    return false;
#else
    return WORD(call) == MG_KIND_DO ? !FORGETS && (now.done_keys[STEP(call)] & key_bit(call)) != 0
                                    : now.is_undone[STEP(call)] && now.effects[STEP(call)] == 0;
#endif
}

/* A request that cannot matter: its call would change nothing and its reply is not awaited, or no agent calls
 * for it. A late request is dangerous only as a do: the model allows a slow clock for dos only. */
static bool is_moot(int m)
{
    int step = STEP(m);
    bool is_awaited =
        (is_running(&now.row, step) || needs_person(step)) && now.row.attempt[step] == ATTEMPT(m);
    bool is_do = WORD(m) == MG_KIND_DO;
    return is_over(m) || (!is_do && is_late(m)) || (!is_awaited && (is_idle(m) || WORD(m) == MG_KIND_VERIFY));
}

/* Removes state that can make no difference any more, so that otherwise equal states are one. */
static void forget(void)
{
    for (int i = INBOX - 1; i >= 0; i--) {
        if (now.inbox[i] != 0 && is_spent(now.inbox[i])) {
            bag_take(now.inbox, INBOX, i);
        }
    }
    for (int i = CALLS - 1; i >= 0; i--) {
        if (now.calls[i] != 0 && is_idle(now.calls[i])) {
            bag_take(now.calls, CALLS, i);
        }
    }
    for (int i = REQUESTS - 1; i >= 0; i--) {
        if (now.requests[i] != 0 && is_moot(now.requests[i])) {
            bag_take(now.requests, REQUESTS, i);
        }
    }
    for (int i = 0; i < 2; i++) {
        while (now.quiet[i] < now.row.attempt[i]) {
            int attempt = now.quiet[i] + 1;
            bool is_awaited = now.row.quiet_of[i] == attempt && (is_open() || COMMANDS_LEFT > 0);
            if (is_awaited || is_named(i, attempt)) {
                break;
            }
            now.quiet[i] = (unsigned char)attempt;
            now.late[i] = now.late[i] < attempt ? (unsigned char)attempt : now.late[i];
        }
        if (!is_running(&now.row, i)) {
            now.row.cause[i] = 0;
        }
    }
    for (int i = 0; i < STATUSES; i++) {
        if (now.told_by[i] != 0 && !may_return(now.told_by[i])) {
            now.told_by[i] = 0;
        }
    }
}

/* ---- properties ---- */

/* By the condition the step has to run, if its order goes on. */
static bool is_to_run(int step)
{
    bool depends = is_guarded(step) || (GUARDS == 2 && step == 1);
    return !depends || FACT == FACT_GO;
}

static void guard_check(void)
{
    const struct Row *row = &now.row;
    for (int i = 0; i < 2; i++) {
        bool is_skipped = row->state[i] == MG_STEP_SKIPPED && !is_wait(i);
        bool is_wrong = !is_to_run(i) && now.done_keys[i] != 0;
        bool is_wrongly_skipped = is_skipped && (is_to_run(i) || FACT != FACT_SKIP);
        bool is_left = row->order == MG_ORDER_PROCESSED && is_skipped != !is_to_run(i);
        if (is_wrong || is_wrongly_skipped || is_left) {
            now.broken |= BROKEN_GUARD;
        }
    }
    bool is_refused = FACT == FACT_REFUSE && row->order == MG_ORDER_PROCESSED;
    now.broken |= JUDGED > 1 || is_refused ? BROKEN_GUARD : 0;
}

static bool has_failed(void)
{
    return now.row.state[0] == MG_STEP_FAILED || now.row.state[1] == MG_STEP_FAILED;
}

/* A failed step does not turn the order back: by its definition, or because the pivot is done. */
static bool is_error_by_failure(const struct Row *row)
{
    bool is_pivot_done = PIVOT && row->state[1] == MG_STEP_DONE;
    return row->goal == MG_GOAL_PROCESSED && (ON_FAILURE || is_pivot_done);
}

/* The pivot may have happened, and its policy has brought that to no end. */
static bool is_pivot_spent(const struct Row *row)
{
    bool is_over = row->state[1] == MG_STEP_FAILED || ON_UNKNOWN == MG_ON_UNKNOWN_OPERATOR;
    return PIVOT && is_over && !is_running(row, 1) && (row->flags[1] & IS_MAYBE);
}

/* Nothing is undone alongside a pivot in effect. */
static void pivot_check(const struct Row *row)
{
    if (PIVOT && now.effects[1] != 0 && row->state[0] >= MG_STEP_UNDO_PENDING) {
        now.broken |= BROKEN_PIVOT;
    }
}

static void check(void)
{
    forget();
    guard_check();
    pivot_check(&now.row);
    signal_check();
    const struct Row *row = &now.row;
    for (int i = 0; i < 2; i++) {
        if (is_wait(i)) {
            continue; /* it calls nothing */
        }
        bool is_done = row->state[i] == MG_STEP_DONE;
        if (is_done && now.done_keys[i] == 0) {
            now.broken |= BROKEN_TRUTH;
        }
        bool is_nothing = LEARN && now.done_keys[i] == 0; /* its service refused, and will not act */
        if (row->state[i] == MG_STEP_UNDONE && !now.is_undone[i] && !is_nothing) {
            now.broken |= BROKEN_TRUTH;
        }
#ifndef MAY_LOSE_TAIL
        if (row->order == MG_ORDER_PROCESSED && is_to_run(i) && (now.effects[i] != 1 || now.is_undone[i])) {
            now.broken |= BROKEN_PROCESSED;
        }
        if ((row->order == MG_ORDER_COMPENSATED || row->order == MG_ORDER_CANCELLED) && now.effects[i] != 0) {
            now.broken |= BROKEN_COMPENSATED;
        }
#endif
    }
#ifndef MAY_LOSE_TAIL
    bool has_reason = row->state[0] == MG_STEP_UNDO_FAILED || row->state[1] == MG_STEP_UNDO_FAILED ||
                      (has_failed() && is_error_by_failure(row)) || is_pivot_spent(row);
    if (row->order == MG_ORDER_ERROR && !has_reason) {
        now.broken |= BROKEN_ERROR;
    }
#else
    now.broken &=
        ~(BROKEN_OVERTAKEN | BROKEN_MONOTONE | BROKEN_WAITING); /* counted before the tail was lost */
#endif
    if (is_telling && now.broken != 0) {
        printf("# broken %d\n", now.broken);
    }
}

/* In a terminal state, or in an alert about a step in doubt. */
static bool is_ended(void)
{
    return now.row.is_stored && (!is_open() || needs_person(0) || needs_person(1));
}

#endif
