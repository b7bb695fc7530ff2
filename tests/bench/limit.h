/*
 * The limit program's three parts: messages (limit.c), rows (limit_rows.c) and calls (limit_calls.c). An
 * order is its number; `stage` holds its progress: 0 submitted, 1 to 3 replied to.
 */
#ifndef LIMIT_H
#define LIMIT_H

#include "bench.h"

#define LIMIT_STEPS 3

struct limit_event {
    uint64_t order;
    int stage;
    uint64_t cause; /* the delivery to be acked */
};

struct limit_options {
    const char *url, *dsn;
    int port; /* of the remote service */
    long orders, in_flight, timeout_s;
    double rate;
    long batch, sessions, connections, prefetch;
    long submission_bytes, request_bytes, reply_bytes, status_bytes, call_bytes, payload_bytes;
};
extern struct limit_options limit_options;

const char *limit_order_id(uint64_t order);

/* Rows: a transition's writes, in batches of all that has arrived, over some pipelined sessions. */
void limit_rows_open(void (*committed)(const struct limit_event *event));
void limit_rows_add(const struct limit_event *event);
void limit_rows_pump(void); /* at the end of each turn */
void limit_rows_counts(uint64_t *ret_commits, uint64_t *ret_events);

/* Calls: POSTs over kept connections, as many at once as there are connections. */
void limit_calls_open(void (*answered)(const struct limit_event *event));
void limit_calls_add(const struct limit_event *event);
void limit_calls_pump(void);
uint64_t limit_calls_count(void);

#endif
