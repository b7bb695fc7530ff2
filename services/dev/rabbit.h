/* The private RabbitMQ of servers.h. */
#ifndef MG_DEV_RABBIT_H
#define MG_DEV_RABBIT_H

#include "servers.h"

/* Starts epmd, and prepares the node. Fills `amqp_url`. */
enum mg_class mg_rabbit_prepare(struct mg_servers *servers, const struct mg_state *state,
                                struct mg_parts *parts, struct mg_err *err) MG_MUSTCHECK;
/* Starts the node, once epmd listens. Otherwise it would start an epmd of its own, which outlives it. */
enum mg_class mg_rabbit_start(struct mg_servers *servers, struct mg_err *err) MG_MUSTCHECK;

#endif
