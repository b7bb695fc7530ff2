/*
 * One batch while it is decided: items (one for each cause) and folds (one for each order). The batch's arena
 * owns them and is freed after the commit. Only works and sends outlive the batch.
 */
#ifndef MG_SCHEDULER_ITEM_H
#define MG_SCHEDULER_ITEM_H

#include "cache.h"
#include "owed_statuses.h"
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
    struct mg_slice root;          /* the external cause behind one that is never redelivered; else absent */
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
    struct mg_slice line_key;           /* of a submission: of its line, if its length was asked for */
    int64_t line_length;                /* orders that stand there */
    bool is_wait_over, is_matched; /* it ends a wait with a key; a signal that came in time is kept for it */

    /* one of these, by lane */
    struct mg_submission *submission;
    struct mg_slice client; /* of the submission, as in mg_order_record; never absent */
    uint8_t digest[MG_SHA256_SIZE];
    struct mg_reply *reply;
    struct mg_command *command;

    enum mg_end end;
    bool is_key_next, is_key_refused; /* of a kept signal: look for the next; its order refuses it */
    bool is_undecided;                /* decided again on a fresh read, even if its fold is stored */
    struct mg_buf statuses;           /* of this cause, as a JSON array; not in the arena */
    int first_event;                  /* index in the fold of the event that keeps them; -1: none yet */
    const char *why;                  /* the core's text about the cause itself */
    int outcome;                      /* enum fold_outcome (batch.c) */

    /* for metrics and spans, once the item is stored (decision_metrics.c, order_spans.c) */
    enum mg_submitted submitted;   /* of a submission */
    enum mg_signal_outcome signal; /* of a signal that was decided on */
    struct mg_gate *service;       /* of the attempt that the item ended; NULL: it ended none */
    int64_t attempt_ms;            /* duration of that attempt */
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
    struct mg_taken_signal *taken; /* kept signals with a key */
    int taken_count;
    uint64_t opened;          /* bit set of steps that wait for a signal with a key, from this batch on */
    struct mg_line_move line; /* in the line of its key; the key is set before a decision to join */
    struct mg_send_list sends;
    int entered[MG_ORDER_STATE_COUNT]; /* number of entries into each state; counts once stored */
    int item_count;
    struct mg_order_write *write;     /* NULL: nothing to write */
    const struct mg_slot_write *slot; /* of the schedule that makes the order; NULL: none does */
    int outcome;                      /* enum fold_outcome (batch.c) */
};

/* Maximum of causes in one batch. Beyond it a commit gets longer and not cheaper per order. */
#define MG_BATCH_MAX  1024
#define MG_FOLD_HEADS 1024 /* a power of two, no less than MG_BATCH_MAX */

struct mg_batch;
struct mg_fires; /* slot_fire.h */
/* A stage of the batch has ended. With an error the batch is run again later. */
typedef void mg_batch_fn(struct mg_batch *batch, const struct mg_err *err);

struct mg_batch {
    struct mg_batcher *batcher;
    struct mg_shared *shared;
    struct mg_outbox *outbox;
    struct mg_owing *owing;
    struct mg_keyed *keyed;
    struct mg_loader *loader;
    struct mg_fires *fires;
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
    bool is_retry;   /* of orders that wait aside */
    bool is_patient; /* a statement may take its whole time */
    int64_t now_ms, started_us, commit_us, asked_at_boot_ms;
    size_t made_before;          /* outbox.made_bytes when the batch began */
    mg_batch_fn *done;           /* callback of the running stage */
    struct mg_decision decision; /* of the cause in hand */
    struct mg_buf scratch;
};

#endif
