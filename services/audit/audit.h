/*
 * An audit of a service: a fixed row of real calls to it, made by the agent's own code, and the verdict on
 * each promise by which a step relies on it. The row takes three keys: one that is done and undone, one that
 * is undone before it is done, and one that never comes. Breakers, limits and pauses of an agent are left
 * out: they delay a call and give no answer a meaning.
 */
#ifndef MG_AUDIT_AUDIT_H
#define MG_AUDIT_AUDIT_H

#include "base/loop.h"
#include "finding.h"
#include "service/service.h"
#include "wire/reply.h"
#include "workflow/workflow.h"

/* The calls, in their order. After a do that failed only those follow that need no done key. */
enum mg_audit_call {
    MG_AUDIT_VERIFY_UNKNOWN, /* a key that never comes */
    MG_AUDIT_DO,
    MG_AUDIT_DO_AGAIN, /* the same key and the same bytes */
    MG_AUDIT_VERIFY,
    MG_AUDIT_UNDO,
    MG_AUDIT_VERIFY_UNDONE,
    MG_AUDIT_DO_LATE, /* the do of the undone key once more; another undo before it would hide its effect */
    MG_AUDIT_VERIFY_LATE,
    MG_AUDIT_UNDO_AGAIN, /* undoes an effect of the late do, too */
    MG_AUDIT_UNDO_FIRST, /* of another key, before its do */
    MG_AUDIT_DO_BEHIND,
    MG_AUDIT_VERIFY_BEHIND,
    MG_AUDIT_UNDO_BEHIND, /* leaves nothing behind */
    MG_AUDIT_CALL_COUNT
};
const char *mg_audit_call_name(enum mg_audit_call call); /* "do", "do_again", … */

/* One call with all of its tries, and its answer as a scheduler takes it. Texts live in the audit's arena and
 * hold no secret of the service file. */
struct mg_audit_seen {
    bool is_made;
    char why[MG_AUDIT_WHY_SIZE]; /* why it was not made; "" otherwise */
    enum mg_kind kind;
    char key[MG_KEY_SIZE];
    struct mg_slice method, path, body; /* as sent; absent if it could not be rendered */
    int tries;                          /* HTTP calls */
    int polls;                          /* verifies of accepted work after them */
    bool is_accepted;                   /* the service was at work on it (202, or neither condition held) */
    bool is_timed_out;                  /* a try got no answer in its time */
    bool is_unreached;                  /* no byte of the last try was sent */
    int status;                         /* of the last try; 0: no whole answer */
    int64_t took_ms, budget_ms;         /* the longest try, and the time that it had */
    struct mg_reply reply;
    struct mg_slice shown; /* the result, as it may be shown */
};

enum mg_promise {
    MG_PROMISE_DO,           /* the call is done */
    MG_PROMISE_REPLAY,       /* a repeated key gets the first answer and acts no more */
    MG_PROMISE_VERIFY,       /* finds a done key */
    MG_PROMISE_ABSENT,       /* a key that never came is absent */
    MG_PROMISE_UNDO,         /* a done key is undone, and then absent */
    MG_PROMISE_UNDO_AGAIN,   /* a repeated undo is answered as well */
    MG_PROMISE_STAYS_UNDONE, /* a late do of an undone key acts no more */
    MG_PROMISE_UNDO_FIRST,   /* an undo of a key that never came is accepted */
    MG_PROMISE_TOMBSTONE,    /* and a do after it does not act */
    MG_PROMISE_ANSWERS,      /* each answer is whole and has a meaning */
    MG_PROMISE_TIME,         /* each answer comes in its time */
    MG_PROMISE_COUNT
};
const char *mg_promise_name(enum mg_promise promise);

#define MG_AUDIT_NOTES_MAX 6

/* The settings of a step that fit the findings. */
struct mg_advice {
    enum mg_on_unknown on_unknown;
    bool is_at_most_once;
    char on_unknown_why[MG_AUDIT_WHY_SIZE], at_most_once_why[MG_AUDIT_WHY_SIZE];
    char notes[MG_AUDIT_NOTES_MAX][MG_AUDIT_WHY_SIZE];
    int note_count;
};

struct mg_audit_options {
    struct mg_loop *loop; /* runs during the audit */
    const struct mg_service *service;
    const struct mg_workflow *workflow;
    int step; /* of the workflow: its calls are made */
    struct mg_slice payload;
    const struct mg_slice *results; /* of the steps, by index; absent: none */
    int64_t timeout_ms;             /* for a call with its tries, and for accepted work to finish */
    bool is_dry_run;                /* renders the calls and makes none */
};

struct mg_audit {
    struct mg_audit_options options;
    struct mg_arena *arena;
    char order_id[MG_ORDER_ID_MAX + 1]; /* the beginning of the three orders' ids */
    int64_t accepted_at_ms;             /* of all three: a key carries the same bytes whenever it is used */
    struct mg_audit_seen seen[MG_AUDIT_CALL_COUNT];
    struct mg_finding findings[MG_PROMISE_COUNT];
    struct mg_advice advice;
};

/* Makes the calls and judges them. MG_BAD_INPUT: the do cannot be made of this payload and these results.
 * MG_TRANSIENT: the service cannot be reached, or no memory. */
enum mg_class mg_audit_run(const struct mg_audit_options *options, struct mg_audit *ret_audit,
                           struct mg_err *err) MG_MUSTCHECK;
void mg_audit_finish(struct mg_audit *audit);

/* Pure: fills `findings`, then `advice`, by `seen` and the step's definition. */
void mg_audit_judge(struct mg_audit *audit);
void mg_audit_advise(struct mg_audit *audit);

#endif
