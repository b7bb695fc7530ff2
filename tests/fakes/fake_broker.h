/*
 * A broker that does nothing by itself. Kept: each delivery is held until its ack, reject or requeue; each
 * publish, cast and watch; a publish ends once, after its call; consumers are paused and resumed; the window.
 * Not kept: queues and their orders, connections, the limits in bytes, prefetch as a bound, redelivery. The
 * test decides when and how each publish ends.
 */
#ifndef MG_TESTS_FAKE_BROKER_H
#define MG_TESTS_FAKE_BROKER_H

#include "io/amqp/broker.h"

#define FAKE_PUBLISHED_MAX 512
#define FAKE_WATCHED_MAX   400

struct fake_published {
    char type[32], queue[256], correlation[256], message_id[256], reason[512], traceparent[64], origin[64],
        app_id[64];
    char *body;
    bool is_again, is_open;
    mg_published_fn *done;
    void *arg;
};

struct fake_broker {
    struct mg_broker_options options;
    struct fake_published published[FAKE_PUBLISHED_MAX];
    int count;
    bool is_down;           /* the state that mg_broker_is_up returns */
    bool is_barred;         /* it takes no publish although it is up */
    bool is_held;           /* confirms wait for fake_broker_confirm */
    const char *fails_type; /* messages of this type end as `failure` */
    enum mg_publish_outcome failure;
    const char *refused_type; /* mg_broker_publish accepts no message of this type */
    size_t room;
    int acked, rejected, requeued, paused, resumed;
    uint16_t prefetch[MG_CONSUMERS_MAX];  /* as last requested, while paused, too */
    bool is_off[MG_CONSUMERS_MAX];        /* paused */
    bool is_on_its_way[MG_CONSUMERS_MAX]; /* a delivery arrives although the consumer is paused */
    int unsent_acks[MG_CONSUMERS_MAX];
    int64_t queue_ready, queue_consumers; /* the figures of a watched queue; consumers -2: it is not seen */
    int looks;                            /* looks out of turn, alongside the watch's period */
    int watched;                          /* queues that are watched now */
    bool is_unwatchable;                  /* no queue is watched any more */
    char listened_names[256];             /* exchange and queue of the last listener */
    mg_received_fn *received;             /* its callback */
    void *received_arg;
    /* Called for each action, before a delivery is freed: a ack, x reject, q requeue, p pause, u resume;
     * these two without a delivery. NULL: none. */
    void (*on_action)(char action, const struct mg_delivery *delivery);
    void (*on_publish)(const struct mg_message *message); /* of each that is accepted; NULL: none */
    void (*on_cast)(const char *exchange, const char *routing_key, const char *type, struct mg_slice body);
};
extern struct fake_broker fake_broker;

void fake_broker_reset(void);
void fake_broker_forget(void);        /* the records of all publishes, so that there is room for others */
void fake_broker_connect(bool is_up); /* the connection comes or goes */
bool fake_broker_confirm(void);       /* the oldest open publish; false: none is open */
/* Ends the newest open publish of this type. */
void fake_broker_end(const char *type, enum mg_publish_outcome outcome);
void fake_broker_seen(void); /* reports the figures of the watched queues */
/* Reports these of one watched queue. */
void fake_broker_queue_seen(const char *queue, int64_t ready, int64_t consumers);
void fake_broker_say(const char *body); /* to the last listener */

struct fake_delivery {
    int consumer;
    const char *type, *body, *message_id, *reply_to, *correlation_id, *app_id, *exchange, *traceparent;
    bool is_redelivered, is_oversized, has_died;
    uint32_t delivery_count;
};
void fake_broker_deliver(const struct fake_delivery *delivery);
int fake_broker_count(const char *type);                               /* published so far */
const struct fake_published *fake_broker_nth(const char *type, int n); /* NULL: there are not so many */
const struct fake_published *fake_broker_last(const char *type);

#endif
