/*
 * One batch while it is decided: items (one for each cause) and folds (one for each order). The batch's arena
 * owns them and is freed after the commit. Only works and sends outlive the batch.
 */
#ifndef MG_SCHEDULER_ITEM_H
#define MG_SCHEDULER_ITEM_H

#include "batch.h"
#include "cache.h"
#include "scheduler_metrics.h"
#include "status_make.h"
#include "workflows.h"

#include "core/key.h"
#include "core/model.h"
#include "wire/command.h"
#include "wire/reply.h"
#include "wire/status.h"
#include "wire/submission.h"

/* A larger request and its envelope would exceed the default body limit of a message. */
#define MG_REQUEST_MAX (1000 * 1024)

struct mg_item {
    struct mg_work *work;
    const char *order_id;
    struct mg_slice cause;         /* identity of the cause, the same at each delivery */
    struct mg_slice root;          /* for a refused request: the external cause behind it; else absent */
    bool wants_event;              /* load the event that this cause made before */
    struct mg_event_record *event; /* that event; NULL: none */
    bool wants_sent_status;        /* load the status last sent for the order's state */
    struct mg_slice sent_status;   /* that status; absent: none was read */
    uint64_t sent_version;         /* version of the event that keeps it */
    bool is_owed;                  /* the order has statuses that have not gone out */
    bool is_recalled;              /* they go out once the item is stored */
    struct mg_fold *fold;
    int load;                           /* index of its query; -1: the fold's order is guessed */
    struct mg_want *want;               /* the workflow it needs, if it had to be fetched */
    struct mg_workflow_entry *workflow; /* of a submission */

    /* one of these, by lane */
    struct mg_submission *submission;
    struct mg_slice client; /* of the submission, as in mg_order_record; never absent */
    uint8_t digest[MG_SHA256_SIZE];
    struct mg_reply *reply;
    struct mg_command *command;

    enum mg_end end;
    bool is_undecided;      /* decided again on a fresh read, even if its fold is stored */
    struct mg_buf statuses; /* of this cause, as a JSON array; not in the arena */
    int first_event;        /* index in the fold of the event that keeps them; -1: none yet */
    const char *why;        /* the core's text about the cause itself */
    int outcome;            /* enum fold_outcome (batch.c) */

    /* for metrics and spans, once the item is stored (decision_metrics.c, order_spans.c) */
    enum mg_submitted submitted; /* of a submission */
    struct mg_gate *service;     /* of the attempt that the item ended; NULL: it ended none */
    int64_t attempt_ms;          /* duration of that attempt */
    enum mg_kind attempt_kind;
};

/* An order with all causes of the batch applied to it. */
struct mg_fold {
    struct mg_fold *next; /* of the same hash */
    const char *order_id;
    struct mg_order_record *record; /* NULL: there is no such order */
    bool is_guessed;                /* not read; only the write detects a wrong guess */
    struct mg_cached *cached;       /* source of the guess; holds the record's texts; owned */
    struct mg_order *before;        /* copy from before the batch, cut after its last step */
    struct mg_workflow_entry *workflow;
    uint64_t expected_version;
    uint64_t touched; /* bit set of steps with a record changed outside the core */
    bool is_payload_changed;
    bool is_recalled;    /* its owed statuses are being sent again */
    bool has_failed;     /* no memory: nothing of this order may be written */
    bool is_unreadable;  /* a newer version wrote it */
    const char *refused; /* the database cannot read its rows: why; NULL: it can */
    enum mg_refusal refusal;
    char sqlstate[MG_SQLSTATE_SIZE]; /* of `refused`; "": none */
    /* After the last decision, if all steps were done or skipped: the output, or the reason against it. */
    struct mg_slice output, output_fault;
    struct mg_event_record *events;
    int event_count, event_room;
    struct mg_alert_write *alerts;
    int alert_count, alert_room;
    struct mg_send_list sends;
    int entered[MG_ORDER_STATE_COUNT]; /* number of entries into each state; counts once stored */
    int item_count;
    struct mg_order_write *write; /* NULL: nothing to write */
    int outcome;                  /* enum fold_outcome (batch.c) */
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
    bool is_retry; /* of orders that wait aside */
    int64_t now_ms, started_us, commit_us, asked_at_boot_ms;
    size_t made_before;          /* outbox.made_bytes when the batch began */
    mg_batch_fn *done;           /* callback of the running stage */
    struct mg_decision decision; /* of the cause in hand */
    struct mg_buf scratch;
};

/* Fields of the event row besides its transitions. */
struct mg_story {
    struct mg_slice by, reason;
};

/* The changes that a cause brings to the order's rows. They are decided on, and kept with MG_GO alone. */
struct mg_brought {
    const struct mg_step_record *step; /* the record of the cause's step from then on; NULL: as it is */
    struct mg_slice payload;           /* the repaired one; absent: as it is */
};

/* ---- fold.c, render.c ---- */

/* Decides one cause on the item's fold. MG_GO: the order is changed and has the changes that are brought
 * (NULL: none), its event is added, and so are the messages of the decision. A request that cannot be built
 * is a further cause, decided here. */
enum mg_verdict mg_fold_cause(struct mg_batch *batch, struct mg_item *item, const struct mg_cause *cause,
                              const struct mg_brought *brought, struct mg_story story);
/* Law 3, re-creation: true if the item's cause has already made its event. For a redelivered cause its
 * effects are published again. */
bool mg_fold_is_known(struct mg_batch *batch, struct mg_item *item);
/* Sends a status. If the item has made an event, that event keeps the status from now on. Otherwise the
 * event that keeps it already is marked as owed when the send fails. */
void mg_fold_status(struct mg_batch *batch, struct mg_item *item, const struct mg_status_text *status);
/* Ties a record to the fold's workflow and copies the order for later comparison. False: no memory, and
 * the fold has failed. */
bool mg_fold_bind(struct mg_batch *batch, struct mg_fold *fold, struct mg_order_record *record);
uint64_t mg_fold_changed_steps(const struct mg_fold *fold);
/* Puts the collected statuses into the item's event. */
void mg_fold_close_item(struct mg_batch *batch, struct mg_item *item);

/* ---- guard_facts.c ---- */

/* The fact of a step's guard. The reason of any other than GO is set in `after`, a copy of its record. */
enum mg_fact mg_guard_evaluate(struct mg_batch *batch, struct mg_fold *fold, int step,
                               struct mg_step_record *after);
/* Notes, for each step that the decision skipped because of `needs`, which step is missing. */
void mg_guard_note_needs(struct mg_batch *batch, struct mg_fold *fold);

/* ---- failure.c ---- */

/* The step that the effect is about. For an effect about the order: the step that failed; -1: none. */
int mg_failure_step(const struct mg_order *order, const struct mg_effect *effect);
/* Sets a failure that is no answer of the service: it has no words of the service. */
void mg_step_error_set(struct mg_step_record *record, struct mg_slice code, struct mg_slice text);
/* The `cause` of a status, as JSON in the batch's arena; absent for a status without one. The record keeps
 * the first one. */
struct mg_slice mg_failure_cause(struct mg_batch *batch, struct mg_fold *fold,
                                 const struct mg_effect *effect);
/* The `cause` of a rejection. */
struct mg_slice mg_failure_of_refusal(struct mg_batch *batch, const char *code, const char *reason);
/* To be called after a decision: an order that goes forward again has no cause. */
void mg_failure_forget(struct mg_fold *fold, const struct mg_decision *decision);
/* Appends the step's failure to the text of an alert; step -1: nothing. */
void mg_failure_describe(const struct mg_order_record *record, int step, char *text, size_t size);
/* The same for counting: failures with equal members have one cause. NULL: no memory. */
const struct mg_failure *mg_failure_of_alert(struct mg_batch *batch, const struct mg_fold *fold,
                                             const struct mg_effect *effect);

enum mg_render { MG_RENDER_OK, MG_RENDER_UNRENDERABLE, MG_RENDER_CHANGED, MG_RENDER_NO_MEMORY };
/* Builds the request of a step's running attempt and adds it to the fold's sends. With `is_again` the
 * digest is only compared. */
enum mg_render mg_render_request(struct mg_batch *batch, struct mg_item *item, int step, bool is_again);
/* Bit i: the result of step i has what its undo refers to (known_results of the core). `after`: the record
 * that `step` is to have; NULL: as it is. Out of memory sets the fold's has_failed. */
uint64_t mg_render_known_results(struct mg_fold *fold, int step, const struct mg_step_record *after);
/* After a decision: for each undo that it gave up for want of a result, the step's error names what is
 * missing, and the last answer. */
void mg_render_note_missing(struct mg_batch *batch, struct mg_fold *fold);

/* ---- output.c ---- */

/* After a decision to go: ends it, if it asks for the order's output. */
void mg_output_finish(struct mg_batch *batch, struct mg_fold *fold, struct mg_context *context,
                      const struct mg_cause *cause);

/* ---- chain.c ---- */

/* The external cause at the start of a step's cause. Absent: the step has none. */
struct mg_slice mg_chain_root(struct mg_slice step_cause);
/* The cause to store in a step when the item sends its request. Absent: no memory. */
struct mg_slice mg_chain_cause(struct mg_batch *batch, const struct mg_item *item);
/* True if `cause` is the whole cause of a step, or one of its two parts. */
bool mg_chain_is_sent_by(struct mg_slice step_cause, struct mg_slice cause);

/* ---- decision_metrics.c ---- */

/* Milliseconds since the dispatch of a step's running attempt; -1: no attempt runs. To be called before
 * the decision. */
int64_t mg_attempt_ms(const struct mg_batch *batch, const struct mg_fold *fold, int step);
/* Records that the item ended this attempt. */
void mg_item_note_attempt(struct mg_item *item, int step, enum mg_kind kind, int64_t attempt_ms);
void mg_fold_count(const struct mg_fold *fold); /* after the commit, before the messages go out */
void mg_item_count(struct mg_scheduler *scheduler, const struct mg_item *item); /* after the commit */

/* ---- order_spans.c: only with a span sink ---- */

/* Replaces the client's span by the attempt's, as parent of the agent's spans. */
void mg_request_trace(const struct mg_scheduler *scheduler, const struct mg_order_record *record,
                      struct mg_request *request);
/* Emit the spans that a stored fold or item has ended. */
void mg_fold_trace(const struct mg_batch *batch, const struct mg_fold *fold);
void mg_item_trace(const struct mg_batch *batch, const struct mg_item *item);

/* ---- repair.c ---- */

/* The order's payload after an operator's `resume`, in the batch's arena. Absent, with the reason in
 * `err`: the payload would be invalid, or it would change the undo of a step that is done or maybe. Out of
 * memory sets the fold's has_failed, too. */
struct mg_slice mg_repair_payload(struct mg_batch *batch, struct mg_fold *fold,
                                  const struct mg_command *command, struct mg_err *err);
/* Whether the requests of other steps that have gone out stay as they are if this step is done with this
 * result (law 8, derived identities). MG_BAD_INPUT: one would change. MG_TRANSIENT: no memory. */
enum mg_class mg_repair_check_settled(struct mg_fold *fold, int step, struct mg_slice result,
                                      struct mg_err *err) MG_MUSTCHECK;

/* ---- intake.c, settle.c, command_apply.c ---- */

/* Each `read` turns a delivery into an item. False: the work is settled, it needs no order. Each `decide`
 * applies the item to its fold. */
bool mg_intake_read(struct mg_batch *batch, struct mg_item *item);
void mg_intake_decide(struct mg_batch *batch, struct mg_item *item);
bool mg_settle_read(struct mg_batch *batch, struct mg_item *item);
void mg_settle_decide(struct mg_batch *batch, struct mg_item *item);
bool mg_command_read(struct mg_batch *batch, struct mg_item *item);
void mg_command_decide(struct mg_batch *batch, struct mg_item *item);
/* A supervisor's command is sent until nothing is due, so it may be dropped. Not so one that was delivered
 * before: it may be decided, and the statuses of that decision are published again by this delivery alone. */
bool mg_command_comes_again(const struct mg_item *item);
/* Answers a command that is not carried out, and settles its work. `may_pass`: it may be given again. */
void mg_command_refuse(struct mg_batch *batch, struct mg_item *item, bool may_pass, const char *text);
bool mg_unpublishable_read(struct mg_batch *batch, struct mg_item *item);
void mg_unpublishable_decide(struct mg_batch *batch, struct mg_item *item);

#endif
