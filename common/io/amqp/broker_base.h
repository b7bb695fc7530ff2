/* Common to all parts of a broker object: the broker's address, and the end of the object's memory. */
#ifndef MG_IO_AMQP_BROKER_BASE_H
#define MG_IO_AMQP_BROKER_BASE_H

#include "base/loop.h"
#include "base/metrics.h"
#include "io/amqp/connection.h"

struct mg_broker_base {
    struct mg_loop *loop;
    char *url, *name, *ca_file, *cert_file, *key_file;
    struct mg_broker_address address; /* points to these texts */
    char host_port[MG_AMQP_ADDRESS_SIZE];
    struct mg_metric *connects;
    int busy;                   /* running callbacks and threads that use this memory */
    bool is_closing;            /* ended as soon as busy is 0 */
    void (*changed)(void *arg); /* called when the state of a part has changed */
    void (*ended)(void *arg);
    void *arg;
};

/* Every callback from the loop runs between these two, so that it may destroy the broker. */
void mg_broker_enter(struct mg_broker_base *base);
void mg_broker_leave(struct mg_broker_base *base); /* the broker may be gone afterwards */

#endif
