/* The broker object and its parts: each part has its files, and its state here. */
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
