/*
 * The broker object and its parts: each part has its files, and its state here.
 *
 *   broker_parts.c   its life, and whether it is up, blocked or away
 *   broker_base.c    what all parts share
 *   link.c           a connection on the loop, its heartbeats, and RabbitMQ's alarms
 *   connection.c amqp_tls.c   connecting, with a bound on every wait
 *   frame.c outgoing.c unanswered.c   frames as bytes, those to be sent, and requests without an answer
 *   consume.c room.c delivery.c   consumers, the bytes that they may have in hand, and acks
 *   publish.c publish_stuck.c   messages, their confirms, and channels that stall
 *   depths.c         lengths of queues
 *   cast.c           messages to all listeners, without a queue for absent ones
 *   topology.c topology_names.c topology_bindings.c   queues, exchanges, names and rights
 *   topology_advice.c   the commands that a message names
 *   topology_walk.c  dead letters, one by one
 */
#ifndef MG_IO_AMQP_BROKER_PARTS_H
#define MG_IO_AMQP_BROKER_PARTS_H

#include "io/amqp/cast.h"
#include "io/amqp/consuming.h"
#include "io/amqp/depths.h"
#include "io/amqp/publishing.h"

struct mg_broker {
    struct mg_broker_base base;
    char *check_queues[2 * MG_CONSUMERS_MAX];
    int check_count;
    struct mg_consuming consuming;
    struct mg_publishing publishing;
    struct mg_watch_part watches;
    struct mg_cast_part casts;

    void (*on_state)(void *arg, bool is_up, const char *reason);
    void *arg;
    enum { MG_REPORTED_NOTHING, MG_REPORTED_UP, MG_REPORTED_DOWN } reported;
    int reported_trouble;
    struct mg_metrics *own_metrics; /* if the owner gives none */
    struct mg_metric *up;
};

#endif
