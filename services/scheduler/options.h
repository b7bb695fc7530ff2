/* The options with which a scheduler starts. */
#ifndef MG_SCHEDULER_OPTIONS_H
#define MG_SCHEDULER_OPTIONS_H

#include "base/trace.h"
#include "io/amqp/broker.h"
#include "wire/json.h"

/*
 * What of the memory for messages each may take, as a part of so many. Beside these there are what libpq
 * holds of a batch (three times the bodies), what the broker's interface holds until it is confirmed (8 MiB),
 * and what a process has without any message: together they stay below the whole.
 */
#define MG_MEMORY_HELD  4  /* deliveries in hand, of all queues */
#define MG_MEMORY_BODY  16 /* bodies of one batch */
#define MG_MEMORY_MADE  8  /* made of one batch: what is read of the store, and messages */
#define MG_MEMORY_ARENA 4  /* the same at most, where it could not be foreseen */
#define MG_MEMORY_CACHE 8  /* orders as they were written last */

struct mg_scheduler_options {
    struct mg_broker_address broker;
    const char *pg_dsn, *instance;
    const char *workflows_dir; /* "": none are loaded at start */
    int64_t batch, prefetch, window;
    size_t memory_bytes; /* for messages, and for what is made of them: see MG_MEMORY_… */
    int64_t quiesce_ms, park_ms, owed_for_ms, drain_timeout_ms;
    bool is_unsafe_durability_allowed;
    struct mg_json_limits limits;             /* of submissions and payloads */
    const struct mg_span_sink *spans;         /* NULL: none are made */
    void (*on_end)(void *arg, int exit_code); /* it has drained, or cannot go on; the loop may be stopped */
    void *arg;
};

#endif
