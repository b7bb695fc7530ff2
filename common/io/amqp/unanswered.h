/*
 * Queues that left a message unanswered: what is published to them goes apart, until one of them answers.
 * A queue is kept as the hash of its name; two that share one go apart together. The routing key is the name:
 * each exchange of the topology binds a queue by its own name, and several exchanges may lead to one queue.
 * (Control messages, which go to all agents of a service, carry its name.)
 */
#ifndef MG_IO_AMQP_UNANSWERED_H
#define MG_IO_AMQP_UNANSWERED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* As many as one connection can be given messages for; beyond that the oldest is forgotten. */
#define MG_UNANSWERED_MAX 2048

struct mg_unanswered {
    uint64_t queues[MG_UNANSWERED_MAX];
    int count, oldest;
};

void mg_unanswered_add(struct mg_unanswered *unanswered, struct mg_slice queue);
bool mg_unanswered_has(const struct mg_unanswered *unanswered, struct mg_slice queue);
void mg_unanswered_remove(struct mg_unanswered *unanswered, struct mg_slice queue);

#endif
