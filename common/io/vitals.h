/*
 * Whether database and broker answer while a process is idle. Both are probed every MG_VITALS_PERIOD_MS. So
 * /readyz reports within 5 s a silent server, a full disk of the database, or an alarm of the broker. A probe
 * costs the process some microseconds and PostgreSQL about one millisecond.
 *
 * A process with an account of itself writes it to the database as its heartbeat. The heartbeat is also the
 * proof that the database commits: a server that answers, and refuses or holds up every write, is not good.
 * In a session of its own it does not wait behind a slow statement of the work.
 */
#ifndef MG_IO_VITALS_H
#define MG_IO_VITALS_H

#include "io/amqp/broker.h"
#include "io/store/store.h"

#define MG_VITALS_PERIOD_MS 1500
#define MG_BEAT_PERIODS     3 /* of each heartbeat: two that are missing are told within 15 s */
/* A heartbeat without an answer, or heartbeats that are refused, for so long: above a lock time-out of 2 s
 * and a restart of the server, which has words of its own. */
#define MG_BEAT_ANSWER_MAX_MS 8000

struct mg_vitals;
struct mg_vitals_of {
    struct mg_store *store;     /* NULL: none */
    struct mg_store *beats;     /* of heartbeats, as long as it is up; NULL: none */
    struct mg_broker *broker;   /* NULL: none */
    const char *probe_exchange; /* one that the process may publish to */
    /* The heartbeat; `kind` NULL: none. `account` fills in hand, stands, oldest order and reason. */
    const char *kind, *instance; /* borrowed */
    void (*account)(void *arg, struct mg_beat *ret_beat);
    void *arg;
    bool is_reader; /* it needs no write: a database that takes none is good enough */
};

struct mg_vitals *mg_vitals_create(struct mg_loop *loop, const struct mg_vitals_of *of); /* NULL: no memory */
/* The process ends as asked: no heartbeat follows, and nobody waits for one. Accepts NULL. */
void mg_vitals_end(struct mg_vitals *vitals);
/* call it before destroying store and broker; accepts NULL */
void mg_vitals_destroy(struct mg_vitals *vitals);
/* False: `ret_reason` holds the reason for /readyz. */
bool mg_vitals_are_good(const struct mg_vitals *vitals, char *ret_reason, size_t size);

#endif
