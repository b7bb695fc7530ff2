/*
 * Batches in the store: bulk actions on orders that failed (core/batch_plan.h says when which is asked for).
 * Operators start, pause, resume and stop them; one runner, who leads on a session for MG_LEAD_BATCHES,
 * drives them, and each of its writes is fenced by its epoch. What is under way is in the tables and nowhere
 * else.
 */
#ifndef MG_IO_STORE_BATCH_H
#define MG_IO_STORE_BATCH_H

#include "core/batch_plan.h"
#include "io/store/store.h"

/* Open at a time: each is looked at several times a second. */
#define MG_BATCHES_MAX 16

/* Which open failures of orders: "" asks for nothing. Moments as for MG_REPORT_FAILURES. */
struct mg_failure_filter {
    const char *workflow, *step;
    const char *error;    /* it has this in it */
    const char *services; /* one of these, parted by blanks */
    const char *since, *until;
};
/* Its longest parts together. */
#define MG_FAILURE_FILTER_MAX 1024

/* ---- the operator's ---- */

struct mg_batch_start {
    const char *batch_id;    /* the same one is started once */
    enum mg_cause_kind verb; /* RESUME, COMPENSATE or CANCEL */
    struct mg_failure_filter filter;
    const char *reason, *by;
    int64_t canary, stop_percent;
    const char *rate_per_s; /* digits; above 0 */
    int64_t orders_max;     /* so many were confirmed: it takes no more; 0: as many as there are */
};
struct mg_batch_started {
    char batch_id[MG_UUID_SIZE]; /* "": no order can be taken, or more than `orders_max`, or too many batches
                                    are open */
    bool is_new; /* false: the same verb and filter are under way already, or were under this id */
    enum mg_batch_state state;
    int64_t orders; /* without a batch: that could be taken, if `orders_max` is named */
    int64_t open_batches;
};
typedef void mg_store_batch_started_fn(void *arg, const struct mg_batch_started *started,
                                       const struct mg_err *err);
/* One transaction: the batch, the list of its orders, and the line of operator_action. Of the orders with
 * such a failure those are taken that are in error, have not lost state (each of these must be compared with
 * the services first) and are in no other open batch; the oldest failure first. */
void mg_store_start_batch(struct mg_store *store, const struct mg_batch_start *start,
                          mg_store_batch_started_fn *done, void *arg);

enum mg_batch_wish { MG_BATCH_WISH_PAUSE, MG_BATCH_WISH_RESUME, MG_BATCH_WISH_STOP };
const char *mg_batch_wish_name(enum mg_batch_wish wish);
struct mg_batch_change {
    const char *batch_id;
    enum mg_batch_wish wish;
    uint64_t version; /* of the batch that it was decided on */
    const char *reason, *by;
};
typedef void mg_store_batch_changed_fn(void *arg, enum mg_wish_result result, uint64_t version,
                                       const struct mg_err *err);
/* One transaction with its line of operator_action. STOP is for good, and skips all that wait; what has been
 * asked for goes on. CONFLICT: the batch is at another version, or in a state that does not allow it. */
void mg_store_change_batch(struct mg_store *store, const struct mg_batch_change *change,
                           mg_store_batch_changed_fn *done, void *arg);

/* ---- the runner's ---- */

struct mg_batch_row {
    char batch_id[MG_UUID_SIZE];
    enum mg_cause_kind verb;
    char reason[512], by[128];
    uint64_t version;
    struct mg_batch batch;
};
struct mg_batch_order_row {
    int batch; /* index of its row */
    int64_t n;
    char order_id[MG_ORDER_ID_MAX + 1];
    struct mg_batch_order order; /* is_ours, is_refused: false */
    char cause[64];              /* what followed the version that its command names; "": nothing has */
};
struct mg_batches {
    const struct mg_batch_row *rows;
    const struct mg_batch_order_row *orders; /* all that are asked for, by batch and n */
    int count, order_count;
};
typedef void mg_store_batches_fn(void *arg, const struct mg_batches *batches, const struct mg_err *err);
/* The batches that have not ended, oldest first. */
void mg_store_look_at_batches(struct mg_store *store, mg_store_batches_fn *done, void *arg);

struct mg_batch_ended {
    int64_t n;
    enum mg_batch_result result; /* DONE, FAILED or SKIPPED */
    const char *text;            /* "": nothing to say */
};
struct mg_batch_write {
    const struct mg_batch_row *row;
    const struct mg_batch_ended *ended;
    int ended_count;
    struct mg_batch_plan plan;
    const char *why; /* it stops: for people, and the alert's text; NULL else */
};
struct mg_batch_written {
    bool is_leader;  /* false: somebody else leads; nothing was written */
    bool is_written; /* false: an operator has changed the batch; nothing was written */
    bool is_alerted; /* an alert was opened: publish it */
    int64_t asked;   /* so many were marked as asked for: the next look finds them */
};
typedef void mg_store_batch_written_fn(void *arg, const struct mg_batch_written *written,
                                       const struct mg_err *err);
/* One transaction: results of orders that ended, the batch as planned, the next orders marked. `write` and
 * what it points to may go when the call returns. */
void mg_store_write_batch(struct mg_store *store, const struct mg_batch_write *write,
                          mg_store_batch_written_fn *done, void *arg);
/* The runner was here; `changed` false: it does not lead. */
void mg_store_keep_batches(struct mg_store *store, mg_store_changed_fn *done, void *arg);

#endif
