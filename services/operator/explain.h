/*
 * Explains in one line why an order is where it is: the wait, its end, and the person or process that can
 * move it. It works on rows that the caller has read. mg_explain_asks_queue names a queue if its counts are
 * needed, which only the broker has.
 */
#ifndef MG_OPERATOR_EXPLAIN_H
#define MG_OPERATOR_EXPLAIN_H

#include "io/amqp/topology.h"
#include "operator/table.h"

struct mg_explain_queue {
    int64_t ready, consumers; /* as mg_queue_seen_fn reports them */
};

/* Reports, each of one order or of all services. */
struct mg_explain_facts {
    /* The steps have the column of mg_steps_complete; without it the line lacks the reasons of guards. */
    const struct mg_table *order, *steps, *services;
    const struct mg_table *controlled;    /* may be empty if mg_explain_asks_controlled is false */
    const struct mg_explain_queue *queue; /* the queue of mg_explain_asks_queue; NULL: unknown */
    struct mg_slice definition;           /* of the order's version; absent: unknown */
    const struct mg_table *owed;          /* MG_REPORT_ORDER_OWED; NULL: not read */
    const struct mg_table *line;          /* MG_REPORT_LINE of the order; NULL: not read */
};

bool mg_explain_has_ended(const struct mg_table *order);

/* Whether the explanation needs MG_REPORT_CONTROLLED, because the step waits for a paused service. */
bool mg_explain_asks_controlled(const struct mg_table *steps);

/* Whether the explanation needs the state of a request queue, and its name. True if a request is out,
 * which may lie there unread, or if the step waits for the queue. */
bool mg_explain_asks_queue(const struct mg_table *order, const struct mg_table *steps,
                           char ret_queue[MG_QUEUE_NAME_SIZE]);
/* The key of the line that the order has a place in; "": none. */
const char *mg_explain_line_key(const struct mg_explain_facts *facts);
void mg_explain_write(struct mg_buf *out, const struct mg_explain_facts *facts); /* adds no line end */

#endif
