/* Depths of queues. */
#ifndef MG_IO_AMQP_DEPTHS_H
#define MG_IO_AMQP_DEPTHS_H

#include <sys/queue.h>

#include "io/amqp/broker.h"
#include "io/amqp/link.h"

struct mg_watched;

struct mg_watch_part {
    struct mg_link link;
    LIST_HEAD(, mg_watched) all;
    int count;
    TAILQ_HEAD(, mg_watched) due;
    struct mg_watched *asked;
    /* Called at each answer, besides the queue's own callback; NULL: none. */
    void (*looked)(void *arg, const char *queue, int64_t consumers);
    void *arg;
};

enum mg_class mg_watches_init(struct mg_watch_part *part, struct mg_broker_base *base,
                              struct mg_err *err) MG_MUSTCHECK;
void mg_watches_finish(struct mg_watch_part *part);

#endif
