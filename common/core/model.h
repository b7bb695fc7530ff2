/*
 * What the decision core decides on: an order with its steps, the plan it follows (the part of the workflow
 * definition that matters for deciding), a cause, and the decision with its effects. Plain values: no
 * pointers to free, no clock, no payload. Times are milliseconds since 1970 by the database's clock; 0 means
 * "none".
 */
#ifndef MG_CORE_MODEL_H
#define MG_CORE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/words.h"

/* Bits of one 64-bit word name the steps of an order. Far above what a person can oversee in one definition.
 */
#define MG_STEPS_MAX 64
/* Names of workflows, steps and services: [a-z][a-z0-9_-]*; they appear in queue names (AMQP short strings:
 * 255). */
#define MG_NAME_MAX 63
/* [A-Za-z0-9._:-]+; with step, attempt and kind it makes a correlation id, an AMQP short string. */
#define MG_ORDER_ID_MAX 64
/* Of a step, in all its generations: no order comes near it. A higher number in a message is refused, and a
 * step that has reached it sends no more: the fence must never begin anew (law 5, attempt fence). */
#define MG_ATTEMPT_MAX UINT32_C(0x80000000)
/* So many polls of accepted work that fail in a row are told: with the usual 5 s between them that is half a
 * minute, longer than a service needs to start again. */
#define MG_POLL_FAILURES_ALERT 5
/* After its complete-by an order sends nothing forward, for the supervisor's word that it expired is on its
 * way. Without that word for so long, the supervisor leaves the order more time, by a step of the clock that
 * the scheduler has not seen: the order goes on. */
#define MG_EXPIRY_WORD_MS 30000

struct mg_retry_plan {
    uint32_t attempts;   /* failures that are answered by another attempt, the first included */
    uint32_t cool_downs; /* how often a cool-down starts the attempts anew */
    int64_t backoff_ms, max_backoff_ms, cool_down_ms;
};

enum mg_on_unknown { MG_ON_UNKNOWN_RETRY, MG_ON_UNKNOWN_VERIFY, MG_ON_UNKNOWN_OPERATOR };
enum mg_on_failure { MG_ON_FAILURE_COMPENSATE, MG_ON_FAILURE_ERROR };

struct mg_step_plan {
    uint64_t after; /* bit i: step i must be done or skipped first */
    int64_t complete_within_ms, undo_complete_within_ms;
    int64_t finish_within_ms; /* 0: a 202 is as good as a 200 */
    int64_t poll_ms;          /* between verifies of accepted work */
    struct mg_retry_plan retry, undo_retry;
    enum mg_on_unknown on_unknown;
    bool has_verify, has_undo;
    bool is_pivot, is_at_most_once, is_absent_final;
};

struct mg_plan {
    int step_count;
    int64_t complete_within_ms; /* 0: no limit */
    enum mg_on_failure on_failure, on_expiry;
    struct mg_step_plan steps[MG_STEPS_MAX];
};

struct mg_step {
    enum mg_step_state state;
    enum mg_kind kind;           /* of the attempt that runs, or ran last */
    enum mg_reason reason;       /* why it is where it is */
    bool is_maybe;               /* law 10, sticky maybe: only a proof or a finished undo clears it */
    bool is_undo_dispatched;     /* since the last rise of the generation */
    bool is_refused;             /* the last do provably did not execute: a resume may take a new key */
    bool is_accepted;            /* the remote works on it (202) until finish_by_ms */
    uint32_t attempt;            /* law 5, attempt fence: the fencing token; never reset */
    uint32_t failure_count;      /* failures that count, in this direction, since the last cool-down */
    uint32_t cool_down_count;    /* cool-downs taken in this direction */
    uint32_t generation;         /* of the idempotency key */
    uint64_t poll_failure_count; /* while the remote works: of its polls, since the last that was answered */
    int64_t complete_by_ms;      /* of the running attempt */
    int64_t due_at_ms;    /* when the supervisor should ask about it; 0: it waits for nothing but a message */
    int64_t quiet_at_ms;  /* law 11, quiesce: before this, an earlier attempt may still act */
    int64_t finish_by_ms; /* until when accepted work may take */
};

struct mg_order {
    enum mg_order_state state;
    enum mg_goal goal;
    enum mg_reason reason;
    uint64_t version;       /* law 4, version guard: rises with every transition; 0: not yet stored */
    uint64_t seq;           /* of the last status */
    uint32_t generation;    /* rises with restart */
    uint32_t failure_count; /* all that counted, over the order's life */
    int64_t complete_by_ms; /* bounds forward work; 0: none */
    int64_t wake_at_ms;     /* no later than anything that must be asked; 0 when terminal */
    int step_count;
    struct mg_step steps[MG_STEPS_MAX];
};

struct mg_cause {
    enum mg_cause_kind kind;
    int step;                  /* index; -1: the order as a whole */
    uint32_t attempt;          /* reply, overdue, due, unpublishable: of the step */
    uint64_t version;          /* operator's commands and nudge: what they were decided on; 0: none named */
    enum mg_kind reply_kind;   /* reply */
    enum mg_outcome outcome;   /* reply; settle: DONE or ABSENT */
    enum mg_executed executed; /* reply */
    /* reply: the agent made no call, since its breaker is open or, if paused, an operator wants none; counts
     * nothing if nothing was executed */
    bool is_service_down, is_service_paused;
    /* reply: a call of this attempt that was given up, or another copy of its request, may still be at work
     * at the service, or reach it yet; of accepted work that goes without saying */
    bool may_still_act;
    int64_t retry_after_ms;  /* reply: what the service asked for; -1: nothing */
    bool is_request_changed; /* resume: the payload was repaired */
};

/* What the core must know of the world at the moment of deciding. */
struct mg_context {
    int64_t now_ms; /* database clock */
    /* That clock was set forward: deadlines behind `spared_after_ms` and up to `spared_before_ms` have time
     * left although it has passed them. Both 0: there are none. */
    int64_t spared_after_ms, spared_before_ms;
    uint64_t random; /* one drawn number a decision; jitter is derived from it */
    int64_t quiesce_ms;
    int64_t park_ms; /* how long a parked step waits before it is asked for again */
    /* Per step: NONE lets a request out; else why not (NO_CONSUMER, BREAKER_OPEN, SERVICE_PAUSED,
     * WINDOW_FULL). */
    enum mg_reason gate[MG_STEPS_MAX];
    bool wants_step_status; /* the client asked for step_completed */
};

enum mg_verdict {
    MG_GO,          /* the order changed: write it */
    MG_DUPLICATE,   /* already so; nothing to write */
    MG_STALE_CAUSE, /* an older attempt or version; nothing to write */
    MG_REFUSED,     /* an operator's wish that this state does not allow; nothing to write */
    MG_IMPOSSIBLE,  /* a pair of state and event that no correct run brings together */
};

enum mg_effect_kind {
    MG_EFFECT_REQUEST,     /* publish the running attempt of `step` */
    MG_EFFECT_STATUS,      /* tell the client `status`, with `seq` */
    MG_EFFECT_ALERT,       /* open an alert about `step` (-1: the order) */
    MG_EFFECT_CLOSE_ALERT, /* its cause is gone */
};

struct mg_effect {
    enum mg_effect_kind kind;
    int step;
    enum mg_status status;
    uint64_t seq;
    enum mg_reason reason;
    enum mg_alert alert;
};

/* One change of state, for the event row that tells the order's story. */
struct mg_transition {
    int step;     /* -1: the order itself */
    int from, to; /* of enum mg_step_state or mg_order_state */
    uint32_t attempt;
    enum mg_kind kind;
    enum mg_reason reason;
    int64_t due_at_ms;
};

/* A cause can end, plan and dispatch at most every step once each, and add a few for the order. */
#define MG_EFFECTS_MAX     (2 * MG_STEPS_MAX + 16)
#define MG_TRANSITIONS_MAX (4 * MG_STEPS_MAX + 8)

struct mg_decision {
    enum mg_verdict verdict;
    const char *why; /* the table's reason, a constant text */
    int effect_count, transition_count;
    struct mg_effect effects[MG_EFFECTS_MAX];
    struct mg_transition transitions[MG_TRANSITIONS_MAX];
};

/* ---- steps ---- */

static inline bool mg_step_is_running(const struct mg_step *step)
{
    return step->state == MG_STEP_RUNNING || step->state == MG_STEP_UNDO_RUNNING;
}

/* Law 5, attempt fence: only for the attempt that runs a reply or a deadline counts. */
static inline bool mg_step_runs(const struct mg_step *step, uint32_t attempt)
{
    return mg_step_is_running(step) && step->attempt == attempt;
}

static inline bool mg_step_awaits(const struct mg_step *step, uint32_t attempt, enum mg_kind kind)
{
    return mg_step_runs(step, attempt) && step->kind == kind;
}

/* Its undo is under way or planned. */
static inline bool mg_step_is_to_undo(const struct mg_step *step)
{
    return step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING ||
           step->state == MG_STEP_UNDO_RUNNING;
}

#endif
