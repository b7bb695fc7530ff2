/*
 * Bulk actions on failed orders, in the store (core/bulk_plan.h decides when each order is asked for).
 * Operators start, pause, resume and stop them. One runner drives them; it leads on a session for
 * MG_LEAD_BULK, and its epoch fences each of its writes. All progress is in the tables and nowhere else.
 */
#ifndef MG_IO_STORE_BULK_H
#define MG_IO_STORE_BULK_H

#include "core/bulk_plan.h"
#include "io/store/store.h"

/* Maximum of open bulk actions; the runner reads each several times a second. */
#define MG_BULK_OPEN_MAX 16

/* Selects open failures of orders; "": any; MG_FAILURE_NONE as a step or service: those without one. Moments
 * as for MG_REPORT_FAILURES. */
struct mg_failure_filter {
    const char *workflow, *step;
    const char *error;    /* a part of the error's text */
    const char *services; /* one of these, separated by blanks */
    const char *since, *until;
    const char *labels; /* a JSON object of texts; all must match */
};
#define MG_FAILURE_NONE "-" /* no name has it */
/* All parts together. The index of open bulk actions has them as JSON, and holds no key above 2,704 bytes. */
#define MG_FAILURE_FILTER_MAX 2048

/* ---- for operators ---- */

struct mg_bulk_start {
    const char *bulk_id;     /* one id is started once */
    enum mg_cause_kind verb; /* RESUME, COMPENSATE or CANCEL */
    struct mg_failure_filter filter;
    const char *reason, *by;
    int64_t canary, stop_percent;
    const char *rate_per_s; /* digits; above 0 */
    int64_t orders_max;     /* the confirmed number, which is not exceeded; 0: no limit */
};
struct mg_bulk_started {
    /* "": no order can be taken, or more than `orders_max`, or too many bulk actions are open. */
    char bulk_id[MG_UUID_SIZE];
    bool is_new; /* false: the same verb and filter already run, or this id was used */
    enum mg_bulk_state state;
    int64_t orders;    /* without a bulk action: orders that could be taken, if `orders_max` is set */
    int64_t open_bulk; /* number of open bulk actions */
};
typedef void mg_store_bulk_started_fn(void *arg, const struct mg_bulk_started *started,
                                      const struct mg_err *err);
/* One transaction: the bulk action, the list of its orders, and the line of operator_action. It takes orders
 * with such a failure that are in error and in no other open bulk action, oldest failure first. Orders with
 * state_lost are left out: each must first be compared with the services. */
void mg_store_start_bulk(struct mg_store *store, const struct mg_bulk_start *start,
                         mg_store_bulk_started_fn *done, void *arg);

enum mg_bulk_wish { MG_BULK_WISH_PAUSE, MG_BULK_WISH_RESUME, MG_BULK_WISH_STOP };
const char *mg_bulk_wish_name(enum mg_bulk_wish wish);
struct mg_bulk_change {
    const char *bulk_id;
    enum mg_bulk_wish wish;
    uint64_t version; /* the bulk action's version on which the decision was made */
    const char *reason, *by;
};
typedef void mg_store_bulk_changed_fn(void *arg, enum mg_change_result result, uint64_t version,
                                      const struct mg_err *err);
/* One transaction with its line of operator_action. STOP is final and skips all waiting orders; orders
 * already asked for go on. CONFLICT: the bulk action has another version, or its state does not allow the
 * change. */
void mg_store_change_bulk(struct mg_store *store, const struct mg_bulk_change *change,
                          mg_store_bulk_changed_fn *done, void *arg);

/* ---- for the runner ---- */

struct mg_bulk_row {
    char bulk_id[MG_UUID_SIZE];
    enum mg_cause_kind verb;
    char reason[512], by[128];
    uint64_t version;
    struct mg_bulk bulk;
};
#define MG_BULK_OTHERWISE      "failed otherwise: " /* begins the text of such an order's result */
#define MG_BULK_OTHERWISE_SIZE 160
struct mg_bulk_order_row {
    int bulk; /* index of its row */
    int64_t n;
    char order_id[MG_ORDER_ID_MAX + 1];
    struct mg_bulk_order order; /* is_ours, is_refused: false */
    char cause[64];             /* cause of the event after the version in the command; "": none yet */
    /* "step mail, http_400": where and why it failed, if not as before; "": it has not, or not so */
    char otherwise[MG_BULK_OTHERWISE_SIZE];
};
struct mg_bulk_look {
    const struct mg_bulk_row *rows;
    const struct mg_bulk_order_row *orders; /* all orders asked for, by bulk action and n */
    int count, order_count;
};
typedef void mg_store_bulk_looked_fn(void *arg, const struct mg_bulk_look *look, const struct mg_err *err);
/* The open bulk actions, oldest first. */
void mg_store_look_at_bulk(struct mg_store *store, mg_store_bulk_looked_fn *done, void *arg);

struct mg_bulk_ended {
    int64_t n;
    enum mg_bulk_result result; /* DONE, FAILED or SKIPPED */
    const char *text;           /* "": none */
};
struct mg_bulk_write {
    const struct mg_bulk_row *row;
    const struct mg_bulk_ended *ended;
    int ended_count;
    struct mg_bulk_plan plan;
    const char *why; /* the reason for a stop, for people and the alert; otherwise NULL */
};
struct mg_bulk_written {
    bool is_leader;  /* false: another runner leads; nothing was written */
    bool is_written; /* false: an operator has changed the bulk action; nothing was written */
    bool is_alerted; /* an alert was opened; the caller publishes it */
    int64_t asked;   /* number of orders marked as asked for; the next look finds them */
};
typedef void mg_store_bulk_written_fn(void *arg, const struct mg_bulk_written *written,
                                      const struct mg_err *err);
/* One transaction: results of ended orders, the bulk action as planned, the next orders marked. `write` and
 * its data may be freed when the call returns. */
void mg_store_write_bulk(struct mg_store *store, const struct mg_bulk_write *write,
                         mg_store_bulk_written_fn *done, void *arg);
/* Records that the runner is alive; `changed` false: it does not lead. */
void mg_store_keep_bulk(struct mg_store *store, mg_store_changed_fn *done, void *arg);

#endif
