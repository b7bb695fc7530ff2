/*
 * Statuses that could not go out (law 2, ack after effects). The event that keeps them is marked as owed. The
 * queue that did not take them has a row of its own; its retries become rarer each time. After a bound they
 * are given up (law 14, everything bounded).
 */
#ifndef MG_IO_STORE_OWED_H
#define MG_IO_STORE_OWED_H

#include "io/store/store.h"

#define MG_REPLY_TO_MAX 255 /* an AMQP short string */

/* A mark on the statuses of one event. */
struct mg_owed {
    const char *order_id;
    uint64_t version;     /* 0: a failed retry that could not read its statuses; it has no queue */
    bool is_owed;         /* false: all have arrived, or the order has no client */
    bool is_retry;        /* they were owed before; a failure makes the queue wait longer */
    const char *reply_to; /* the queue that took or refused them; "": none was tried */
};
struct mg_given_up {
    char queue[MG_REPLY_TO_MAX + 1];
    int64_t count;       /* events given up by this call */
    int64_t alerts_open; /* of any queue, before this one; each earlier queue of the call adds one */
};
/* After a failed retry the queue's statuses older than `owed_for_ms` are given up, some at a time. */
typedef void mg_store_marked_fn(void *arg, const struct mg_given_up *given_up, int count,
                                const struct mg_err *err);
void mg_store_mark_owed(struct mg_store *store, const struct mg_owed *marks, int count, int64_t owed_for_ms,
                        mg_store_marked_fn *done, void *arg);

/* The oldest owed events of an order, for publishing them again. Each event has only version and statuses;
 * the order has only the fields that address them. */
typedef void mg_store_events_fn(void *arg, const struct mg_order_record *record,
                                const struct mg_event_record *events, int count, const struct mg_err *err);
void mg_store_load_owed(struct mg_store *store, const char *order_id, mg_store_events_fn *done, void *arg);

/* ---- for the supervisor ---- */

struct mg_ask_owed {
    uint64_t epoch;
    const char *holder;
    int limit;            /* orders of queues that take statuses again, and of untried queues */
    int64_t ask_again_ms; /* time until the same status is returned again */
};
/* Orders with statuses due for a retry: one of each due queue, many of one that takes them. `is_leader`
 * false: (epoch, holder) leads no more; nothing was changed. */
typedef void mg_store_owed_fn(void *arg, bool is_leader, const struct mg_due *dues, int count,
                              const struct mg_err *err);
void mg_store_ask_owed(struct mg_store *store, const struct mg_ask_owed *options, mg_store_owed_fn *done,
                       void *arg);

#endif
