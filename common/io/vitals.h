/*
 * Whether database and broker answer while a process is idle. Both are probed every MG_VITALS_PERIOD_MS. So
 * /readyz reports within 5 s a silent server, a full disk of the database, or an alarm of the broker. A probe
 * costs the process some microseconds and PostgreSQL about one millisecond.
 */
#ifndef MG_IO_VITALS_H
#define MG_IO_VITALS_H

#include "io/amqp/broker.h"
#include "io/store/store.h"

#define MG_VITALS_PERIOD_MS 1500

struct mg_vitals;
struct mg_vitals_of {
    struct mg_store *store;     /* NULL: none */
    struct mg_broker *broker;   /* NULL: none */
    const char *probe_exchange; /* one that the process may publish to */
};

struct mg_vitals *mg_vitals_create(struct mg_loop *loop, const struct mg_vitals_of *of); /* NULL: no memory */
/* call it before destroying store and broker; accepts NULL */
void mg_vitals_destroy(struct mg_vitals *vitals);
/* False: `ret_reason` holds the reason for /readyz. */
bool mg_vitals_are_good(const struct mg_vitals *vitals, char *ret_reason, size_t size);

#endif
