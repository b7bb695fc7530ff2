/*
 * The broker object and its parts: consume, acknowledge, publish, watch, cast. Each part has its file; this
 * header holds the state and functions that they share.
 */
#ifndef MG_IO_AMQP_BROKER_PARTS_H
#define MG_IO_AMQP_BROKER_PARTS_H

#include <sys/queue.h>

#include "base/once.h"
#include "io/amqp/broker.h"
#include "io/amqp/link.h"
#include "io/amqp/outgoing.h"
#include "io/amqp/unanswered.h"

#define MG_CONSUMER_SLOTS (MG_CONSUMERS_MAX + 1) /* one more for the private queue */
#define MG_RING_SIZE                                                                                         \
    8192 /* tags between the oldest unconfirmed publish and the newest; four windows, so that one */
         /* late confirm does not hold up the rest */

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

/* One connection for publishing, and its messages. */
struct mg_publisher {
    struct mg_link link;
    bool is_apart; /* for queues that left a message unanswered, one at a time; connects at first use */
    struct mg_outgoing_line line;
    struct mg_outgoing *ring[MG_RING_SIZE]; /* sent and unconfirmed, by tag */
    uint64_t next_tag;
    /* The exchange `doubted` refused a publish: nothing is sent until a probe passes. */
    bool is_doubted, is_probing;
    int64_t awaited_boot_ms; /* when the broker began to owe an answer; void if a frame came later */
    char doubted[MG_AMQP_SHORT_MAX + 1];
    struct mg_idle *flush;
    struct mg_timer *expiry;
};

struct mg_publish_metrics {
    struct mg_metric *outcomes[MG_PUBLISH_OUTCOME_COUNT], *confirm_seconds, *outstanding;
};

struct mg_watched {
    struct mg_broker *broker;
    LIST_ENTRY(mg_watched) entry;
    TAILQ_ENTRY(mg_watched) due_entry; /* if it is due: in the line for the next request */
    bool is_due;
    char *queue;
    struct mg_timer *timer;
    mg_queue_seen_fn *seen; /* NULL: no callback (any more) */
    void *arg;
    bool is_consumed; /* this process consumes it: its consumers are checked in any case */
};

struct mg_watch_part {
    LIST_HEAD(, mg_watched) all;
    int count;
    TAILQ_HEAD(, mg_watched) due;
    struct mg_watched *asked;
    /* Called at each answer, besides the queue's own callback; NULL: none. */
    void (*looked)(struct mg_broker *broker, const char *queue, int64_t consumers);
};

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
    struct mg_listener listeners[MG_LISTENERS_MAX];
    int listener_count;
    int asked;     /* index of the listener with the open request; -1: none */
    int receiving; /* index of the listener that reads a cast; -1: none */
    struct mg_buf body;
    struct mg_timer *retry;
    struct mg_once refusal_logged; /* of outgoing casts */
    int64_t not_before_boot_ms;
};

struct mg_broker {
    struct mg_loop *loop;
    char *url, *name, *ca_file, *cert_file, *key_file;
    struct mg_broker_address address; /* points to these texts */
    char host_port[MG_AMQP_ADDRESS_SIZE];
    size_t body_max_bytes;
    int64_t confirm_timeout_ms;
    void (*on_delivery)(void *arg, struct mg_delivery *delivery);
    void (*on_state)(void *arg, bool is_up, const char *reason);
    void *arg;
    char *check_queues[2 * MG_CONSUMERS_MAX];
    int check_count;

    struct mg_consumer_slot consumers[MG_CONSUMER_SLOTS];
    int consumer_count;
    int64_t rank;
    void (*named)(void *arg, int consumer, const char *queue);
    void *named_arg;
    struct mg_timer *reconsume;

    struct mg_link consume, watch, cast;
    struct mg_ack_part acks;
    struct mg_publisher publish, publish_apart;
    struct mg_unanswered unanswered;
    struct mg_publish_metrics published;
    struct mg_watch_part watches;
    struct mg_cast_part casts;

    enum { MG_REPORTED_NOTHING, MG_REPORTED_UP, MG_REPORTED_DOWN } reported;
    int reported_trouble;
    int busy;                       /* running callbacks and threads that use this memory */
    bool is_closing;                /* destroyed as soon as busy is 0 */
    struct mg_metrics *own_metrics; /* if the owner gives none */
    struct mg_metric *up, *connects, *deliveries, *redeliveries, *passed;
};

/* Every callback from the loop runs between these two, so that it may destroy the broker. */
void mg_broker_enter(struct mg_broker *broker);
void mg_broker_leave(struct mg_broker *broker); /* the broker may be gone afterwards */
void mg_broker_state_changed(struct mg_broker *broker);
/* frees all but the parts, which have finished or never began */
void mg_broker_free(struct mg_broker *broker);

enum mg_class mg_consume_init(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;
void mg_consume_finish(struct mg_broker *broker);

/* The number of deliveries that fit into the consumer's bytes, by the sizes lately seen; at least one, at
 * most the requested prefetch. */
uint16_t mg_room_prefetch(const struct mg_consumer_slot *slot);
bool mg_room_takes(const struct mg_consumer_slot *slot, size_t body_size); /* one more of this size */
void mg_room_note_size(struct mg_broker *broker, struct mg_consumer_slot *slot, uint64_t body_size);
void mg_room_guess(struct mg_consumer_slot *slot);
/* True if the consumer has to start anew with a larger prefetch. */
bool mg_room_is_outgrown(const struct mg_consumer_slot *slot);
/* A delivery of the consumer has been freed. */
void mg_room_freed(struct mg_broker *broker, int consumer);
/* a consumer is about to be stopped for a larger prefetch */
bool mg_room_is_growing(const struct mg_broker *broker);

enum mg_class mg_acks_init(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;
void mg_acks_finish(struct mg_broker *broker);
void mg_acks_flush(struct mg_broker *broker);
void mg_acks_forget(struct mg_broker *broker); /* the connection is gone: no ack can be sent any more */
/* The largest body of an arriving message that is kept, for a consumer that keeps `body_max_bytes`. */
size_t mg_acks_body_max(size_t body_max_bytes, const amqp_basic_deliver_t *method,
                        const amqp_basic_properties_t *properties);
/* A delivery of `body_bytes` (0: the body is not kept) begins; NULL: no memory. */
struct mg_delivery *mg_acks_begin(struct mg_broker *broker, int consumer, const amqp_basic_deliver_t *method,
                                  const amqp_basic_properties_t *properties, size_t body_bytes);
void mg_acks_append(struct mg_broker *broker, amqp_bytes_t piece);
/* NULL: it found no room, and is requeued when its consumer has been stopped. */
struct mg_delivery *mg_acks_complete(struct mg_broker *broker);
void mg_acks_pass(struct mg_broker *broker); /* the arriving delivery found no room */
void mg_acks_give_back_passed(struct mg_broker *broker, int consumer);

/* Watches every consumed queue, to detect consumers that the broker dropped without a notice. */
enum mg_class mg_consume_watch(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;

enum mg_class mg_publish_init(struct mg_broker *broker, const struct mg_broker_options *options,
                              struct mg_err *err) MG_MUSTCHECK;
void mg_publish_finish(struct mg_broker *broker);
/* Puts the message at the end of the publisher's line, where it is sent in the loop's next turn. */
void mg_publish_append(struct mg_publisher *publisher, struct mg_outgoing *message);
/* Takes the message out of the line, frees it and calls back; its callback may publish. */
void mg_publish_settle(struct mg_publisher *publisher, struct mg_outgoing *message,
                       enum mg_publish_outcome outcome);
/* A publisher's timer, which runs while it has messages: ends those whose time is over, and gives up a
 * channel that stalls. */
void mg_publish_on_expiry(void *arg);

enum mg_class mg_watches_init(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;
void mg_watches_finish(struct mg_broker *broker);

enum mg_class mg_casts_init(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;
void mg_casts_finish(struct mg_broker *broker);

#endif
