/* Casts: sent to all current listeners, stored nowhere. */
#ifndef MG_IO_AMQP_CAST_H
#define MG_IO_AMQP_CAST_H

#include "base/once.h"
#include "io/amqp/broker.h"
#include "io/amqp/link.h"

enum mg_listener_stage {
    MG_LISTENER_OFF,
    MG_LISTENER_FOUND,
    MG_LISTENER_MADE,
    MG_LISTENER_BOUND,
    MG_LISTENER_ON
};

struct mg_listener {
    char *exchange, *prefix;
    char queue[MG_AMQP_SHORT_MAX + 1]; /* of this connection; "": none yet */
    /* the broker's own name was refused: the name is made from the prefix */
    bool is_named_here;
    enum mg_listener_stage stage; /* the last step that the broker has confirmed */
    struct mg_once refusal_logged;
    int64_t not_before_boot_ms; /* after a refusal */
    mg_received_fn *received;
    void *arg;
};

struct mg_cast_part {
    struct mg_link link;
    struct mg_listener listeners[MG_LISTENERS_MAX];
    int listener_count;
    int asked;     /* index of the listener with the open request; -1: none */
    int receiving; /* index of the listener that reads a cast; -1: none */
    struct mg_buf body;
    struct mg_timer *retry;
    struct mg_once refusal_logged; /* of outgoing casts */
    int64_t not_before_boot_ms;
};

enum mg_class mg_casts_init(struct mg_cast_part *part, struct mg_broker_base *base,
                            struct mg_err *err) MG_MUSTCHECK;
void mg_casts_finish(struct mg_cast_part *part);

#endif
