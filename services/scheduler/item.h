/*
 * One batch in the making, as the files that decide know it: items (one a cause) and folds (one an order).
 * All of it lives in the batch's arena and is gone when the batch has been committed; what must go on lives
 * in works and sends.
 */
#ifndef MG_SCHEDULER_ITEM_H
#define MG_SCHEDULER_ITEM_H

#include "batch.h"
#include "cache.h"
#include "counters.h"
#include "status.h"
#include "workflows.h"

#include "core/key.h"
#include "core/model.h"
#include "wire/command.h"
#include "wire/reply.h"
#include "wire/status.h"
#include "wire/submission.h"

/* Requests above this would not fit into a message of the default body limit together with their envelope. */
#define MG_REQUEST_MAX (1000 * 1024)

struct mg_item {
    struct mg_work *work;
    const char *order_id;
    struct mg_slice cause;         /* identity of the cause: the same whenever it comes again */
    struct mg_slice root;          /* of a refused request: the cause that came from outside; else absent */
    bool wants_event;              /* load what this cause made before */
    struct mg_event_record *event; /* and here it is; NULL: nothing */
    bool wants_told;               /* load what the client was told of the order's state */
    struct mg_slice told;          /* and here it is; absent: nothing was read */
    uint64_t told_version;         /* of the event that keeps it */
    bool is_owed;                  /* and there are statuses that have not gone out */
    bool is_recalled;              /* those are to go out once it is stored */
    struct mg_fold *fold;
    int load;                           /* index of its question; -1: the fold's order is guessed */
    struct mg_want *want;               /* the workflow it needs, if it had to be fetched */
    struct mg_workflow_entry *workflow; /* of a submission */

    /* one of these, by lane */
    struct mg_submission *submission;
    struct mg_slice client; /* that posts it, as in mg_order_record; never absent */
    uint8_t digest[MG_SHA256_SIZE];
    struct mg_reply *reply;
    struct mg_command *command;

    enum mg_end end;
    bool is_undecided;      /* it must be read first, whatever becomes of the others of its fold */
    struct mg_buf statuses; /* of this cause, as a JSON array without its brackets; not the arena's */
    int first_event;        /* index in the fold of the event that keeps them; -1: none yet */
    const char *why;        /* of the core, about the cause itself */
    int outcome;            /* what became of it (batch.c) */

    /* for the metrics and the spans, once it is stored (measure.c, trace.c) */
    enum mg_submitted submitted; /* of a submission */
    struct mg_gate *service;     /* whose attempt it ended; NULL: none's */
    int64_t attempt_ms;          /* how long that took */
    enum mg_kind attempt_kind;
};

/* An order with all causes of the batch applied to it. */
struct mg_fold {
    struct mg_fold *next; /* of the same hash */
    const char *order_id;
    struct mg_order_record *record; /* NULL: there is no such order */
    bool is_guessed;                /* not read: it may be otherwise, which only a write finds out */
    struct mg_cached *cached;       /* what it was guessed from; holds the record's texts; owned */
    struct mg_order *before;        /* as far as it has steps */
    struct mg_workflow_entry *workflow;
    uint64_t expected_version;
    uint64_t touched; /* steps whose record changed beside the core's state */
    bool is_payload_changed;
    bool is_recalled;   /* what it owes is being sent again */
    bool has_failed;    /* no memory: nothing of it may be written */
    bool is_unreadable; /* a newer version wrote it */
    struct mg_event_record *events;
    int event_count, event_room;
    struct mg_alert_write *alerts;
    int alert_count, alert_room;
    struct mg_send_list sends;
    int entered[MG_ORDER_STATE_COUNT]; /* how often the order did; counts once it is stored */
    int item_count;
    struct mg_order_write *write; /* NULL: nothing to write */
    int outcome;                  /* what became of it (batch.c) */
};

#define MG_FOLD_HEADS 1024 /* a power of two, no less than MG_BATCH_MAX */

struct mg_batch {
    struct mg_scheduler *scheduler;
    struct mg_arena *arena;
    struct mg_work *works[MG_BATCH_MAX];
    int work_count;
    struct mg_item *items;
    int item_count;
    struct mg_fold *heads[MG_FOLD_HEADS];
    struct mg_fold **folds;
    int fold_count;
    struct mg_load *loads;
    struct mg_want *wants;
    int want_count, waiting;
    bool has_failed;
    struct mg_err failure;
    struct mg_order_write *writes;
    int write_count;
    int64_t now_ms, started_us, commit_us, asked_at_boot_ms;
    size_t made_before;          /* the scheduler's made_bytes, when it began */
    mg_batch_fn *done;           /* of the stage that runs */
    struct mg_decision decision; /* of the cause in hand */
    struct mg_buf scratch;
};

/* What the event row tells beside the transitions. */
struct mg_story {
    struct mg_slice by, reason;
};

/* ---- fold.c, render.c ---- */

/* Decides one cause on the item's fold. MG_GO: the order is changed and its event noted, and mg_fold_effects
 * comes next. In between the caller may change the step's record, of which the next request is made. */
enum mg_verdict mg_fold_decide(struct mg_batch *batch, struct mg_item *item, const struct mg_cause *cause,
                               struct mg_story story);
/* Makes the messages of what was decided last, and decides what follows from requests that cannot be built.
 */
void mg_fold_effects(struct mg_batch *batch, struct mg_item *item, struct mg_story story);
/* Both in one. */
enum mg_verdict mg_fold_cause(struct mg_batch *batch, struct mg_item *item, const struct mg_cause *cause,
                              struct mg_story story);
/* Law 3, re-creation: true if the item's cause has made its event before. If it came again, its effects are
 * made again. */
bool mg_fold_is_known(struct mg_batch *batch, struct mg_item *item);
/* Sends a status and, if the item has made an event, keeps it with that, whatever event kept it before; else
 * it is owed, if need be, with the event that keeps it. */
void mg_fold_status(struct mg_batch *batch, struct mg_item *item, const struct mg_status_text *status);
/* Ties a record to the fold's workflow and remembers how it was; false: no memory, and the fold has failed.
 */
bool mg_fold_bind(struct mg_batch *batch, struct mg_fold *fold, struct mg_order_record *record);
uint64_t mg_fold_changed_steps(const struct mg_fold *fold);
/* Puts the collected statuses into the item's event. */
void mg_fold_close_item(struct mg_batch *batch, struct mg_item *item);

enum mg_render { MG_RENDER_OK, MG_RENDER_UNRENDERABLE, MG_RENDER_CHANGED, MG_RENDER_NO_MEMORY };
/* Builds the request of a step's running attempt and adds it to the fold's sends. `is_again`: the digest is
 * only compared. */
enum mg_render mg_render_request(struct mg_batch *batch, struct mg_item *item, int step, bool is_again);

/* ---- chain.c ---- */

/* The cause from outside with which a step's cause begins; absent: the step has none. */
struct mg_slice mg_chain_root(struct mg_slice step_cause);
/* The cause of a step whose request the item sends. Absent: no memory. */
struct mg_slice mg_chain_cause(struct mg_batch *batch, const struct mg_item *item);
/* Whether `cause` is all of a step's cause, or one of its two parts. */
bool mg_chain_is_sent_by(struct mg_slice step_cause, struct mg_slice cause);

/* ---- measure.c ---- */

/* How long the running attempt of a step has been under way; -1: none is. Before it is decided. */
int64_t mg_attempt_ms(const struct mg_batch *batch, const struct mg_fold *fold, int step);
/* It has been decided that this ended the attempt that took so long. */
void mg_item_note_attempt(struct mg_item *item, int step, enum mg_kind kind, int64_t attempt_ms);
void mg_fold_measure(const struct mg_fold *fold); /* it is stored, and its messages have not gone out */
void mg_item_measure(struct mg_scheduler *scheduler, const struct mg_item *item); /* it is stored */

/* ---- trace.c: only where somebody wants spans ---- */

/* Puts the attempt's span in the place of the client's, so that what the agent does is under it. */
void mg_request_trace(const struct mg_scheduler *scheduler, const struct mg_order_record *record,
                      struct mg_request *request);
/* Tells the spans of what a stored fold or item has ended. */
void mg_fold_trace(const struct mg_batch *batch, const struct mg_fold *fold);
void mg_item_trace(const struct mg_batch *batch, const struct mg_item *item);

/* ---- repair.c ---- */

/* The order's payload as an operator's `resume` sets it, in the batch's arena. Absent, with the reason in
 * `err`: it cannot be so, it would change the undo of what was done, or, as the fold then knows, there is no
 * memory. */
struct mg_slice mg_repair_payload(struct mg_batch *batch, struct mg_fold *fold,
                                  const struct mg_command *command, struct mg_err *err);

/* ---- intake.c, settle.c, command.c ---- */

/* Each `read` turns a delivery into an item; false: the work has been settled, it needs no order. Each
 * `decide` applies it to its fold. */
bool mg_intake_read(struct mg_batch *batch, struct mg_item *item);
void mg_intake_decide(struct mg_batch *batch, struct mg_item *item);
bool mg_settle_read(struct mg_batch *batch, struct mg_item *item);
void mg_settle_decide(struct mg_batch *batch, struct mg_item *item);
bool mg_command_read(struct mg_batch *batch, struct mg_item *item);
void mg_command_decide(struct mg_batch *batch, struct mg_item *item);
bool mg_command_comes_again(const struct mg_item *item); /* the supervisor's: it asks until nothing is due */
bool mg_unpublishable_read(struct mg_batch *batch, struct mg_item *item);
void mg_unpublishable_decide(struct mg_batch *batch, struct mg_item *item);

#endif
