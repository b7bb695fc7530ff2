/*
 * Queues that left a message unanswered: messages for them go apart, until the queue answers. A queue is
 * stored as the hash of its name; two with an equal hash go apart together. The name is the routing key: each
 * exchange of the topology binds a queue by its own name, and several exchanges may lead to one queue. The
 * routing key of a control message, which goes to all agents of a service, is the service.
 */
#ifndef MG_IO_AMQP_UNANSWERED_H
#define MG_IO_AMQP_UNANSWERED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The largest number of queues with messages on one connection; beyond it the oldest entry is dropped. */
#define MG_UNANSWERED_MAX 2048

struct mg_unanswered {
    uint64_t queues[MG_UNANSWERED_MAX];
    int count, oldest;
};

void mg_unanswered_add(struct mg_unanswered *unanswered, struct mg_slice queue);
bool mg_unanswered_has(const struct mg_unanswered *unanswered, struct mg_slice queue);
void mg_unanswered_remove(struct mg_unanswered *unanswered, struct mg_slice queue);

#endif
