/*
 * The consumers of a broker object: their connection (consume.c), the bytes that each may have in hand
 * (room.c), and the deliveries in hand with their acks (delivery.c).
 */
#ifndef MG_IO_AMQP_CONSUMING_H
#define MG_IO_AMQP_CONSUMING_H

#include <sys/queue.h>

#include "io/amqp/broker.h"
#include "io/amqp/link.h"

#define MG_CONSUMER_SLOTS (MG_CONSUMERS_MAX + 1) /* one more for the private queue */

/* Memory of a delivery besides its body: the holder, its texts, the allocator's overhead. */
#define MG_DELIVERY_OVERHEAD_BYTES 1024

enum mg_consumer_state {
    MG_CONSUMER_OFF,
    MG_CONSUMER_NAMING,
    MG_CONSUMER_STARTING,
    MG_CONSUMER_ON,
    MG_CONSUMER_STOPPING
};

struct mg_consumer_slot {
    char *queue; /* private queue: NULL until the broker has named it */
    uint16_t prefetch;
    uint16_t prefetch_sent; /* of the running consumer, as is rank_sent */
    int64_t rank_sent;
    uint32_t round; /* number of starts */
    int given; /* deliveries of this round that the broker counts: in hand, or settled and not yet acked */
    int unsent_acks;
    size_t bytes_max, body_max_bytes;
    size_t held_bytes;    /* in hand, including earlier connections */
    size_t largest[2];    /* of the current span of deliveries, and of the one before */
    int sized;            /* deliveries of the current span */
    int64_t span_boot_ms; /* earliest end of the span */
    bool is_full;         /* a delivery found no room: stopped until there is room */
    bool is_private, is_wanted;
    bool is_awaited; /* not up until it consumes: after a connect, or a cancel by the broker */
    enum mg_consumer_state state;
    int64_t not_before_boot_ms; /* after a cancel by the broker */
    int64_t lost_since_boot_ms; /* since when its queue has shown no consumer; 0: it shows one */
};

struct mg_held; /* a delivery with its place among the unsettled (amqp/delivery.c) */

TAILQ_HEAD(mg_held_list, mg_held);

struct mg_ack_part {
    /* in order of their tags: with the receiver, or acked and the ack not yet sent */
    struct mg_held_list held;
    struct mg_held_list refused; /* rejected or requeued, not yet sent */
    struct mg_held_list strays;  /* with the receiver, from earlier connections */
    struct mg_held *arriving;    /* its body is being read */
    size_t arrived_bytes;
    uint64_t last_tag; /* tags of one connection rise */
    int unsent;        /* acks not yet sent */
    struct mg_idle *flush;
    struct mg_timer *overdue;
};

struct mg_consuming {
    struct mg_broker_base *base;
    struct mg_link link;
    struct mg_consumer_slot consumers[MG_CONSUMER_SLOTS];
    int consumer_count;
    size_t body_max_bytes;
    int64_t rank;
    void (*named)(void *arg, int consumer, const char *queue);
    void *named_arg;
    struct mg_timer *reconsume;
    struct mg_ack_part acks;
    void (*on_delivery)(void *arg, struct mg_delivery *delivery);
    void *arg;
    struct mg_metric *deliveries, *redeliveries, *passed;
};

enum mg_class mg_consume_init(struct mg_consuming *consuming, struct mg_metrics *metrics,
                              struct mg_err *err) MG_MUSTCHECK;
void mg_consume_finish(struct mg_consuming *consuming);
/* A queue was looked at: detects consumers that the broker dropped without a notice. */
void mg_consume_seen(void *consuming, const char *queue, int64_t consumers);

/* The number of deliveries that fit into the consumer's bytes, by the sizes lately seen; at least one, at
 * most the requested prefetch. */
uint16_t mg_room_prefetch(const struct mg_consumer_slot *slot);
bool mg_room_takes(const struct mg_consumer_slot *slot, size_t body_size); /* one more of this size */
void mg_room_note_size(struct mg_consuming *consuming, struct mg_consumer_slot *slot, uint64_t body_size);
void mg_room_guess(struct mg_consumer_slot *slot);
/* True if the consumer has to start anew with a larger prefetch. */
bool mg_room_is_outgrown(const struct mg_consumer_slot *slot);
/* A delivery of the consumer has been freed. */
void mg_room_freed(struct mg_consuming *consuming, int consumer);
/* a consumer is about to be stopped for a larger prefetch */
bool mg_room_is_growing(const struct mg_consuming *consuming);

enum mg_disposition { MG_HELD, MG_ACKED, MG_REJECTED, MG_REQUEUED };

enum mg_class mg_acks_init(struct mg_consuming *consuming, struct mg_err *err) MG_MUSTCHECK;
void mg_acks_finish(struct mg_consuming *consuming);
void mg_acks_flush(struct mg_consuming *consuming);
void mg_acks_forget(struct mg_consuming *consuming); /* the connection is gone: no ack can be sent any more */
/* The largest body of an arriving message that is kept, for a consumer that keeps `body_max_bytes`. */
size_t mg_acks_body_max(size_t body_max_bytes, const amqp_basic_deliver_t *method,
                        const amqp_basic_properties_t *properties);
/* A delivery of `body_bytes` (0: the body is not kept) begins; NULL: no memory. */
struct mg_delivery *mg_acks_begin(struct mg_consuming *consuming, int consumer,
                                  const amqp_basic_deliver_t *method,
                                  const amqp_basic_properties_t *properties, size_t body_bytes);
void mg_acks_append(struct mg_consuming *consuming, amqp_bytes_t piece);
/* NULL: it found no room, and is requeued when its consumer has been stopped. */
struct mg_delivery *mg_acks_complete(struct mg_consuming *consuming);
void mg_acks_pass(struct mg_consuming *consuming); /* the arriving delivery found no room */
void mg_acks_give_back_passed(struct mg_consuming *consuming, int consumer);
void mg_acks_settle(struct mg_consuming *consuming, struct mg_delivery *delivery,
                    enum mg_disposition disposition);

#endif
