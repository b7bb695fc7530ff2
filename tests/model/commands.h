/*
 * The operator of order.pml, and the conditions of the row that lead to a command. Included by schedulers.h
 * into the verifier that Spin writes.
 *
 * A command goes out as long as the order needs a person: it is in error, or one of its steps is in doubt. A
 * command that the core would refuse changes nothing and is left out. A scheduler that takes a command also
 * triggers it, as with the asks of a supervisor. It is redelivered after a death, when the order may have
 * changed.
 */
#ifndef MODEL_COMMANDS_H
#define MODEL_COMMANDS_H

#include "core.h"

static bool is_running(const struct Row *row, int step)
{
    return row->state[step] == MG_STEP_RUNNING || row->state[step] == MG_STEP_UNDO_RUNNING;
}

static bool is_open(void)
{
    return now.row.is_stored && !mg_order_state_is_terminal((enum mg_order_state)now.row.order);
}

/* The step waits for a person to find out about it. */
static bool needs_person(int step)
{
    return now.row.state[step] == MG_STEP_UNKNOWN && now.row.due[step] == DUE_NEVER;
}

/* The command that an operator may send now, by ASK_…; 0: none. */
static int command_of(int ask)
{
    bool is_needed = now.row.order == MG_ORDER_ERROR || needs_person(0) || needs_person(1);
    bool is_careless = FORGETS && ask >= ASK_REPEAT && now.effects[ask - ASK_REPEAT] != 0;
    if (COMMANDS_LEFT == 0 || !is_needed || is_careless) {
        return 0;
    }
    int m = ask == ASK_RESUME ? message(RESUME, 0, 0, RESUME_ORDER)
                              : message(RESUME, ask - ASK_REPEAT, 0, RESUME_REPEAT);
    struct mg_cause cause = cause_of(&now.row, m);
    cause.version = 0;
    return decide(&now.row, &cause, false, true) == MG_GO ? m : 0;
}

#if COMMANDS
static void command_sent(void)
{
    now.commands--;
    BASIS_SET(1);
}

/* A repeat lets dos out until one of them may have happened. */
static void repeat_use(const struct mg_cause *cause)
{
    bool is_proof = reply_of(cause).executed == MG_EXECUTED_NO && cause->kind != MG_CAUSE_OVERDUE;
    if (cause->step >= 0 && cause->kind != MG_CAUSE_DUE && !is_proof) {
        now.repeats &= ~(1 << cause->step);
    }
}

/* A command has changed the order. */
static void command_count(const struct mg_cause *cause)
{
    repeat_use(cause);
    if (cause->kind != MG_CAUSE_RESUME) {
        return;
    }
    if (now.resumed++ >= COMMANDS - now.commands) {
        now.broken |= BROKEN_COMMAND;
    }
    if (cause->resume.is_repeat) {
        now.repeats |= 1 << cause->step;
    }
}

/* The do of a step in doubt may go out once more. */
static bool may_repeat(int step)
{
    return (now.repeats >> step & 1) || ON_UNKNOWN == MG_ON_UNKNOWN_RETRY;
}
#else
static void command_sent(void)
{
}

static void command_count(const struct mg_cause *cause)
{
    (void)cause;
}

static bool may_repeat(int step)
{
    (void)step;
    return ON_UNKNOWN == MG_ON_UNKNOWN_RETRY;
}
#endif

#endif
