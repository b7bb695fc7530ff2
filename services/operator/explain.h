/*
 * Why an order is where it is, in one line for people: what it waits for, until when, and who could move it.
 * From rows that were read before; what only the broker knows is asked for by name.
 */
#ifndef MG_OPERATOR_EXPLAIN_H
#define MG_OPERATOR_EXPLAIN_H

#include "io/amqp/topology.h"
#include "operator/table.h"

struct explain_queue {
    int64_t ready, consumers; /* as mg_queue_seen_fn has them */
};

/* Reports, each of one order or of all services. */
struct explain_facts {
    const struct table *order, *steps, *services;
    const struct table *controlled;    /* may be empty unless explain_asks_controlled */
    const struct explain_queue *queue; /* that of explain_asks_queue; NULL: nobody knows */
    const struct table *owed;          /* MG_REPORT_ORDER_OWED; NULL: not asked for */
};

/* Whether a service is paused, by somebody who is to be named. */
bool explain_asks_controlled(const struct table *steps);

/* Whether a request is out, which may lie in a queue that nobody reads, or waits for one: its name. */
bool explain_asks_queue(const struct table *order, const struct table *steps,
                        char ret_queue[MG_QUEUE_NAME_SIZE]);
void explain_write(struct mg_buf *out, const struct explain_facts *facts); /* without a line end */

#endif
