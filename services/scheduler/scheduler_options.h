/* The options with which a scheduler starts. */
#ifndef MG_SCHEDULER_SCHEDULER_OPTIONS_H
#define MG_SCHEDULER_SCHEDULER_OPTIONS_H

#include "base/trace.h"
#include "io/amqp/broker.h"
#include "io/store/store.h"
#include "json/json.h"
#include "wire/callback_token.h"

/*
 * Shares of the memory budget for messages: one part in so many for each. In addition, libpq holds three
 * times the bodies of a batch, and the broker interface up to 8 MiB of unconfirmed data. All of it and the
 * idle process stay below the budget.
 */
#define MG_MEMORY_HELD  4  /* deliveries in hand, of all queues */
#define MG_MEMORY_BODY  16 /* bodies of one batch */
#define MG_MEMORY_MADE  8  /* allocated for one batch: rows read from the store, and messages */
#define MG_MEMORY_ARENA 4  /* hard limit of the same, since it is only estimated */
#define MG_MEMORY_CACHE 8  /* orders as last written */
#define MG_MEMORY_ASIDE 16 /* bodies of causes of orders that the database refuses */

struct mg_scheduler_options {
    struct mg_broker_address broker;
    const char *pg_dsn, *instance;
    const char *statement_timeout; /* see mg_store_options */
    struct mg_store *beats;        /* the session of heartbeats; borrowed; NULL: none */
    const char *workflows_dir;     /* "": none are loaded at start */
    int64_t batch, prefetch, window;
    size_t memory_bytes; /* for messages and all that is allocated for them: see MG_MEMORY_… */
    int64_t quiesce_ms, park_ms, owed_for_ms, drain_timeout_ms;
    bool is_unsafe_durability_allowed;
    struct mg_json_limits limits; /* of submissions and payloads */
    const char
        *callback_url; /* before the token of a callback; "": there is none; NULL: any text stands for it */
    struct mg_callback_secrets *callback_secrets; /* borrowed; SIGHUP renews them */
    const struct mg_span_sink *spans;             /* NULL: no spans */
    void (*on_end)(void *arg, int exit_code);     /* drained, or a fatal error; the loop may be stopped */
    void *arg;
};

#endif
