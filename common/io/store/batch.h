/*
 * Batches in the store: bulk actions on failed orders (core/batch_plan.h decides when each order is asked
 * for). Operators start, pause, resume and stop them. One runner drives them; it leads on a session for
 * MG_LEAD_BATCHES, and its epoch fences each of its writes. All progress is in the tables and nowhere
 * else.
 */
#ifndef MG_IO_STORE_BATCH_H
#define MG_IO_STORE_BATCH_H

#include "core/batch_plan.h"
#include "io/store/store.h"

/* Open batches; the runner reads each several times a second. */
#define MG_BATCHES_MAX 16

/* Selects open failures of orders; "": any. Moments as for MG_REPORT_FAILURES. */
struct mg_failure_filter {
    const char *workflow, *step;
    const char *error;    /* a part of the error's text */
    const char *services; /* one of these, separated by blanks */
    const char *since, *until;
};
/* All parts together. */
#define MG_FAILURE_FILTER_MAX 1024

/* ---- for operators ---- */

struct mg_batch_start {
    const char *batch_id;    /* one id is started once */
    enum mg_cause_kind verb; /* RESUME, COMPENSATE or CANCEL */
    struct mg_failure_filter filter;
    const char *reason, *by;
    int64_t canary, stop_percent;
    const char *rate_per_s; /* digits; above 0 */
    int64_t orders_max;     /* the confirmed number, which is not exceeded; 0: no limit */
};
struct mg_batch_started {
    /* "": no order can be taken, or more than `orders_max`, or too many batches are open. */
    char batch_id[MG_UUID_SIZE];
    bool is_new; /* false: the same verb and filter already run, or this id was used */
    enum mg_batch_state state;
    int64_t orders; /* without a batch: orders that could be taken, if `orders_max` is set */
    int64_t open_batches;
};
typedef void mg_store_batch_started_fn(void *arg, const struct mg_batch_started *started,
                                       const struct mg_err *err);
/* One transaction: the batch, the list of its orders, and the line of operator_action. It takes orders with
 * such a failure that are in error and in no other open batch, oldest failure first. Orders with state_lost
 * are left out: each must first be compared with the services. */
void mg_store_start_batch(struct mg_store *store, const struct mg_batch_start *start,
                          mg_store_batch_started_fn *done, void *arg);

enum mg_batch_wish { MG_BATCH_WISH_PAUSE, MG_BATCH_WISH_RESUME, MG_BATCH_WISH_STOP };
const char *mg_batch_wish_name(enum mg_batch_wish wish);
struct mg_batch_change {
    const char *batch_id;
    enum mg_batch_wish wish;
    uint64_t version; /* the batch's version on which the decision was made */
    const char *reason, *by;
};
typedef void mg_store_batch_changed_fn(void *arg, enum mg_change_result result, uint64_t version,
                                       const struct mg_err *err);
/* One transaction with its line of operator_action. STOP is final and skips all waiting orders; orders
 * already asked for go on. CONFLICT: the batch has another version, or its state does not allow the
 * change. */
void mg_store_change_batch(struct mg_store *store, const struct mg_batch_change *change,
                           mg_store_batch_changed_fn *done, void *arg);

/* ---- for the runner ---- */

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
    char cause[64];              /* cause of the event after the version in the command; "": none yet */
};
struct mg_batches {
    const struct mg_batch_row *rows;
    const struct mg_batch_order_row *orders; /* all orders asked for, by batch and n */
    int count, order_count;
};
typedef void mg_store_batches_fn(void *arg, const struct mg_batches *batches, const struct mg_err *err);
/* The open batches, oldest first. */
void mg_store_look_at_batches(struct mg_store *store, mg_store_batches_fn *done, void *arg);

struct mg_batch_ended {
    int64_t n;
    enum mg_batch_result result; /* DONE, FAILED or SKIPPED */
    const char *text;            /* "": none */
};
struct mg_batch_write {
    const struct mg_batch_row *row;
    const struct mg_batch_ended *ended;
    int ended_count;
    struct mg_batch_plan plan;
    const char *why; /* the reason for a stop, for people and the alert; otherwise NULL */
};
struct mg_batch_written {
    bool is_leader;  /* false: another runner leads; nothing was written */
    bool is_written; /* false: an operator has changed the batch; nothing was written */
    bool is_alerted; /* an alert was opened; the caller publishes it */
    int64_t asked;   /* number of orders marked as asked for; the next look finds them */
};
typedef void mg_store_batch_written_fn(void *arg, const struct mg_batch_written *written,
                                       const struct mg_err *err);
/* One transaction: results of ended orders, the batch as planned, the next orders marked. `write` and its
 * data may be freed when the call returns. */
void mg_store_write_batch(struct mg_store *store, const struct mg_batch_write *write,
                          mg_store_batch_written_fn *done, void *arg);
/* Records that the runner is alive; `changed` false: it does not lead. */
void mg_store_keep_batches(struct mg_store *store, mg_store_changed_fn *done, void *arg);

#endif
