/*
 * The inputs and outputs of the decision core: an order with its steps, its plan (the part of the workflow
 * definition that matters for decisions), a cause, and the decision with its effects. Plain values: no
 * pointers to free, no clock, no payload. Times are milliseconds since 1970 by the database's clock; 0 means
 * "none".
 */
#ifndef MG_CORE_MODEL_H
#define MG_CORE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spared.h"
#include "core/words.h"

/* One bit of a 64-bit word for each step. Far above the number that a person can oversee in a definition. */
#define MG_STEPS_MAX 64
/* Names of workflows, steps and services: [a-z][a-z0-9_-]*; they appear in queue names (AMQP short strings:
 * 255). */
#define MG_NAME_MAX 63
/* [A-Za-z0-9._:-]+; with step, attempt and kind it makes a correlation id, an AMQP short string. */
#define MG_ORDER_ID_MAX 64
/* Maximum over all generations of a step; no order comes near it. A higher number in a message is refused. A
 * step that has reached it sends no more, because the fence must never begin anew (law 5, attempt fence). */
#define MG_ATTEMPT_MAX UINT32_C(0x80000000)
/* This many failed polls of accepted work in a row open an alert. With the usual interval of 5 s that is half
 * a minute, longer than a service needs for a restart. */
#define MG_POLL_FAILURES_ALERT 5
/* After its complete-by an order sends nothing forward, because the supervisor's command EXPIRED is due. If
 * no such command comes for this long, the supervisor has given the order more time, by a step of the clock
 * that the scheduler has not detected. Then the order goes on. */
#define MG_EXPIRY_COMMAND_MS 30000

struct mg_retry_plan {
    uint32_t attempts;   /* attempts before a cool-down or the end, the first included */
    uint32_t cool_downs; /* maximum of cool-downs, each of which begins the attempts anew */
    int64_t backoff_ms, max_backoff_ms, cool_down_ms;
};

enum mg_on_unknown { MG_ON_UNKNOWN_RETRY, MG_ON_UNKNOWN_VERIFY, MG_ON_UNKNOWN_OPERATOR };
enum mg_on_failure { MG_ON_FAILURE_COMPENSATE, MG_ON_FAILURE_ERROR };
/* The way to a result that an undo needs, if no answer has carried it: the do once more under its key, for a
 * service that then replays its first answer, or the verify. */
enum mg_learn { MG_LEARN_NONE, MG_LEARN_REPEAT, MG_LEARN_VERIFY };

/* The line of orders with one key (line.h): none, or what an order in error does to it. */
enum mg_sequence { MG_SEQUENCE_NONE, MG_SEQUENCE_HOLD, MG_SEQUENCE_RELEASE };

/* The result of a step's guard, `when` and `require`. The core sees no payload: it asks, and the handler
 * evaluates. */
enum mg_fact {
    MG_FACT_GO,     /* the step may go out */
    MG_FACT_SKIP,   /* `when` is false */
    MG_FACT_REFUSE, /* `require` is false */
    MG_FACT_ERROR,  /* an expression has no value */
};

/* The effect of a signal on its step. The core sees no payload: the handler judges it by the step's
 * conditions. */
enum mg_signal_fact {
    MG_SIGNAL_FACT_NONE, /* there is none; of the facts of a step that begins to wait */
    MG_SIGNAL_FACT_KEPT, /* it is stored with the step: the step has not begun, or it needs more than this one
                          */
    MG_SIGNAL_FACT_DONE, /* the step is done */
    MG_SIGNAL_FACT_REFUSED, /* the step is refused */
};

struct mg_step_plan {
    uint64_t after; /* bit i: step i must be done or skipped first */
    uint64_t needs; /* part of `after`: if one of them is skipped, so is this step */
    bool has_guard; /* a ready step does not begin before its guard is evaluated, or its moment is found */
    bool is_wait;   /* it calls nothing: it is open until a moment or a signal (wait.h) */
    bool is_until;  /* that moment comes with the facts of its guard */
    bool is_signal; /* a signal ends it; one that came before it began comes with the facts of its guard */
    bool is_skipped_when_over; /* without a signal in time it is skipped; else it fails */
    int64_t wait_ms;           /* how long a wait is open at most, if its moment is no fact */
    int64_t complete_within_ms, undo_complete_within_ms;
    int64_t finish_within_ms;                    /* 0: a 202 counts as a 200 */
    int64_t poll_ms;                             /* interval of the verifies of accepted work */
    int64_t undo_finish_within_ms, undo_poll_ms; /* the same of an undo */
    struct mg_retry_plan retry, undo_retry;
    enum mg_on_unknown on_unknown;
    enum mg_learn learn;
    bool has_verify, has_undo;
    bool has_undo_verify; /* the undo's own query, which asks whether the undo happened */
    bool needs_result;    /* the undo refers to the result of its own do */
    bool is_pivot, is_at_most_once, is_absent_final;
};

struct mg_plan {
    int step_count;
    int64_t complete_within_ms; /* 0: no limit */
    enum mg_on_failure on_failure, on_expiry;
    enum mg_sequence sequence;
    struct mg_step_plan steps[MG_STEPS_MAX];
};

struct mg_step {
    enum mg_step_state state;
    enum mg_kind kind;       /* of the running attempt, or of the last one */
    enum mg_reason reason;   /* of the present state */
    bool is_maybe;           /* law 10, sticky maybe: only a proof or a finished undo clears it */
    bool is_undo_dispatched; /* since the last rise of the generation */
    bool is_refused;         /* the last do provably did not execute: a resume may use a new key */
    /* The service works on it (202), until finish_by_ms. On the way back, without finish_by_ms: the service
     * has answered it as done; see mg_step_was_answered. After a dispatched undo: it works on the undo, or,
     * without finish_by_ms, may have done it; see mg_step_asks_undone. */
    bool is_accepted;
    uint32_t attempt;            /* law 5, attempt fence: the fencing token; never reset */
    uint32_t failure_count;      /* counted failures in this direction since the last cool-down */
    uint32_t cool_down_count;    /* cool-downs taken in this direction */
    uint32_t generation;         /* of the idempotency key */
    uint32_t undo_generation;    /* is added to it for the key of the undo */
    uint32_t poll_failure_count; /* failed polls of accepted work since the last answered one */
    int64_t complete_by_ms;      /* of the running attempt */
    int64_t due_at_ms;           /* when the supervisor sends due; 0: the step waits only for a message */
    int64_t quiet_at_ms;         /* law 11, quiesce: before this, an earlier attempt may still act */
    int64_t finish_by_ms;        /* end of the time for accepted work */
};

struct mg_order {
    enum mg_order_state state;
    enum mg_goal goal;
    enum mg_reason reason;
    uint64_t version;           /* law 4, version guard: rises with every transition; 0: not yet stored */
    uint64_t seq;               /* of the last status */
    uint32_t generation;        /* rises with restart */
    uint32_t failure_count;     /* all counted failures over the order's life */
    int64_t complete_by_ms;     /* bounds forward work; 0: none */
    int64_t complete_within_ms; /* the order's own, from its submission; 0: the plan's */
    int64_t wake_at_ms;         /* no later than any pending deadline or wait; 0 when terminal */
    int step_count;
    struct mg_step steps[MG_STEPS_MAX];
};

struct mg_cause_reply {
    enum mg_kind kind;
    enum mg_outcome outcome;
    enum mg_executed executed;
    /* The agent made no call, because its breaker is open or, if paused, by an operator's pause. If nothing
     * was executed, nothing is counted. */
    bool is_service_down, is_service_paused;
    /* A call of this attempt that was given up, or another copy of its request, may still be at work at the
     * service, or may reach it later. Implied for accepted work. */
    bool may_still_act;
    /* In a verify: by the definition the work has failed for good, and nothing of it stands. The word of the
     * service about this key, where a refused verify is only one that was not answered. */
    bool is_work_refused;
    int64_t retry_after_ms; /* the service's Retry-After; -1: none */
};

struct mg_cause_unpublishable {
    enum mg_executed executed; /* NO: no copy of the request has gone out */
};

struct mg_cause_facts {
    enum mg_fact fact;
    int64_t until_ms;           /* the moment of a wait that asks for it */
    enum mg_signal_fact signal; /* of the signals that came before the wait */
};

/* A signal to a step that waits, or the callback of a service that works on accepted work. */
struct mg_cause_signal {
    enum mg_signal_fact fact;
    bool is_of_earlier; /* a callback about a request under an earlier key: it counts for nothing */
};

struct mg_cause_turn {
    uint32_t generation; /* of the order, when it took the place */
};

struct mg_cause_resume {
    bool is_request_changed; /* the payload was repaired */
    bool is_repeat;          /* the do of `step`, or its failed undo, goes out once more by this word */
    bool is_output_waived;   /* the order ends without the output that cannot be built */
};

struct mg_cause_settle {
    enum mg_outcome outcome; /* DONE or ABSENT */
    bool has_result;         /* the operator gives the step's result, too */
    bool is_result_missing;  /* no answer has carried the result, or the part that the undo needs */
};

/* `kind` selects the member of the union; a kind that is not named there has none. */
struct mg_cause {
    enum mg_cause_kind kind;
    int step;         /* index; -1: the order as a whole */
    uint32_t attempt; /* of the step; 0 where the kind names none */
    uint64_t version; /* operator's commands and nudge: the version of their basis; 0: none named */
    union {
        struct mg_cause_reply reply;
        struct mg_cause_unpublishable unpublishable;
        struct mg_cause_facts facts;
        struct mg_cause_signal signal;
        struct mg_cause_turn turn;
        struct mg_cause_resume resume;
        struct mg_cause_settle settle;
    };
};

/* The environment of a decision, as known to the scheduler. */
struct mg_context {
    int64_t now_ms;          /* database clock */
    struct mg_spared spared; /* the clock was set forward: deadlines that have time left nevertheless */
    /* The clock was set back: its present value, if it had not been; 0: it was not, or has passed that value.
     */
    int64_t high_now_ms;
    uint64_t random; /* one random number for each decision; jitter is derived from it */
    int64_t quiesce_ms;
    int64_t park_ms; /* wait of a parked step until its next check */
    /* For each step: NONE lets a request out; otherwise the reason against it (NO_CONSUMER, BREAKER_OPEN,
     * SERVICE_PAUSED, WINDOW_FULL). */
    enum mg_reason gate[MG_STEPS_MAX];
    /* Bit i: the known result of step i has all that its undo refers to. A reply's own result, or an
     * operator's, is known already. The core sees no result. */
    uint64_t known_results;
    bool wants_step_status; /* the client requested step_completed and waiting */
    /* The order's output cannot be built from its payload and results. It must not end as processed then,
     * because its client would get that status without the output. */
    bool is_output_unrenderable;
    /* The handler has still to find out. Before the order ends as processed, the decision asks for it. */
    bool is_output_open;
};

enum mg_verdict {
    MG_GO,          /* the order has changed: write it */
    MG_DUPLICATE,   /* already applied; nothing to write */
    MG_STALE_CAUSE, /* an older attempt or version; nothing to write */
    MG_REFUSED,     /* an operator's command that this state does not allow; nothing to write */
    MG_IMPOSSIBLE,  /* a pair of state and event that no correct run produces */
};

enum mg_effect_kind {
    MG_EFFECT_REQUEST,     /* publish the running attempt of `step` */
    MG_EFFECT_STATUS,      /* send the client `status`, with `seq` */
    MG_EFFECT_ALERT,       /* open an alert about `step` (-1: the order) */
    MG_EFFECT_CLOSE_ALERT, /* the cause is gone */
    MG_EFFECT_ASK,         /* find the facts of `step`, and decide FACTS on the same fold */
    MG_EFFECT_LINE_JOIN,   /* take the last place in the line; an earlier one is given up */
    MG_EFFECT_LINE_BEGIN,  /* its turn is taken: no further message need tell it */
    MG_EFFECT_LINE_LEAVE,  /* give the place up; the next order's turn has come */
};

struct mg_effect {
    enum mg_effect_kind kind;
    int step;
    enum mg_status status;
    uint64_t seq;
    enum mg_reason reason;
    enum mg_alert alert;
};

/* One change of state, for the event row. */
struct mg_transition {
    int step;     /* -1: the order itself */
    int from, to; /* of enum mg_step_state or mg_order_state */
    uint32_t attempt;
    enum mg_kind kind;
    enum mg_reason reason;
    int64_t due_at_ms;
};

/* A cause can end, plan and dispatch (or ask about) every step at most once each, and add a few for the
 * order. */
#define MG_EFFECTS_MAX     (2 * MG_STEPS_MAX + 16)
#define MG_TRANSITIONS_MAX (4 * MG_STEPS_MAX + 8)

struct mg_decision {
    const char *why;  /* of the verdict on the cause, a constant text */
    bool asks_output; /* every step is done or skipped: mg_order_finish() ends the decision */
    int effect_count, transition_count;
    struct mg_effect effects[MG_EFFECTS_MAX];
    struct mg_transition transitions[MG_TRANSITIONS_MAX];
};

/* It waits for its turn in the line of its key. */
static inline bool mg_order_is_in_line(const struct mg_order *order)
{
    return order->state == MG_ORDER_PENDING && order->reason == MG_REASON_IN_LINE;
}

/* ---- steps ---- */

static inline bool mg_step_is_running(const struct mg_step *step)
{
    return step->state == MG_STEP_RUNNING || step->state == MG_STEP_UNDO_RUNNING;
}

/* Law 5, attempt fence: a reply or a deadline counts only for the running attempt. */
static inline bool mg_step_runs(const struct mg_step *step, uint32_t attempt)
{
    return mg_step_is_running(step) && step->attempt == attempt;
}

static inline bool mg_step_awaits(const struct mg_step *step, uint32_t attempt, enum mg_kind kind)
{
    return mg_step_runs(step, attempt) && step->kind == kind;
}

/* The step is being undone, or is undone, or its undo has failed. */
static inline bool mg_step_is_backward(const struct mg_step *step)
{
    return step->state >= MG_STEP_UNDO_PENDING;
}

/* The service has accepted the work; the step waits for the next poll. */
static inline bool mg_step_is_polled(const struct mg_step *step)
{
    return step->state == MG_STEP_WAITING && step->is_accepted;
}

/* It waits for a moment or for a signal, as its definition has it. */
static inline bool mg_step_is_open(const struct mg_step *step)
{
    return step->state == MG_STEP_WAITING &&
           (step->reason == MG_REASON_SLEEPING || step->reason == MG_REASON_AWAITING_SIGNAL);
}

/* The undo is under way or planned. */
static inline bool mg_step_is_to_undo(const struct mg_step *step)
{
    return step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING ||
           step->state == MG_STEP_UNDO_RUNNING;
}

/* The undo may have happened, and the next request, or the running one, is its verify. */
static inline bool mg_step_asks_undone(const struct mg_step *step)
{
    return mg_step_is_to_undo(step) && step->is_undo_dispatched && step->is_accepted;
}

/* It was answered as done, and no undo has gone out. No later answer proves that it did nothing. */
static inline bool mg_step_was_answered(const struct mg_step *step)
{
    return mg_step_is_backward(step) && !step->is_undo_dispatched && step->is_accepted &&
           step->finish_by_ms == 0;
}

#endif
