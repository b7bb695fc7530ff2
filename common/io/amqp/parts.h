/*
 * The broker object and the parts it is made of: consume, acknowledge, publish, watch, cast. Each part has
 * its file; this header is what they know of each other.
 */
#ifndef MG_IO_AMQP_PARTS_H
#define MG_IO_AMQP_PARTS_H

#include <sys/queue.h>

#include "io/amqp/broker.h"
#include "io/amqp/link.h"
#include "io/amqp/outgoing.h"
#include "io/amqp/unanswered.h"

#define MG_CONSUMER_SLOTS (MG_CONSUMERS_MAX + 1) /* one more for the private queue */
#define MG_RING_SIZE                                                                                         \
    8192 /* tags between the oldest unconfirmed publish and the newest; four windows, so that one */
         /* late confirm does not hold up the rest */

/* Beside its body, what a delivery takes: its holder, its texts, what the allocator adds. */
#define MG_DELIVERY_OVERHEAD_BYTES 1024

enum mg_consumer_state {
    MG_CONSUMER_OFF,
    MG_CONSUMER_NAMING,
    MG_CONSUMER_STARTING,
    MG_CONSUMER_ON,
    MG_CONSUMER_STOPPING
};

struct mg_consumer_slot {
    char *queue; /* the private one's: NULL until the broker has named it */
    uint16_t prefetch;
    uint16_t prefetch_told; /* of the consumer that is on, as is rank_told */
    int64_t rank_told;
    uint32_t round; /* how often it was started */
    int given; /* deliveries of this round that the broker counts: in hand, or settled and not yet told */
    int untold_acks;
    size_t bytes_max, body_max_bytes;
    size_t held_bytes;    /* in hand, of earlier connections too */
    size_t largest[2];    /* of the present span of deliveries, and of the one before */
    int sized;            /* deliveries of the present span */
    int64_t span_boot_ms; /* no sooner than then it ends */
    bool is_full;         /* something found no room: stopped until there is */
    bool is_private, is_wanted;
    bool is_awaited; /* the broker is not up until it consumes: after a connect, after a cancel by the broker
                      */
    enum mg_consumer_state state;
    int64_t not_before_boot_ms; /* after a cancel by the broker */
    int64_t lost_since_boot_ms; /* its queue has been seen without any consumer; 0: it has not */
};

struct mg_held; /* a delivery with its place among the unsettled (amqp/ack.c) */

TAILQ_HEAD(mg_held_list, mg_held);

struct mg_ack_part {
    struct mg_held_list held;    /* in order of their tags: with the receiver, or acked and not yet told */
    struct mg_held_list refused; /* rejected or requeued, not yet told */
    struct mg_held_list strays;  /* with the receiver, of earlier connections */
    struct mg_held *arriving;    /* its body is being read */
    size_t arrived_bytes;
    uint64_t last_tag; /* of this connection's deliveries; they rise */
    int untold;        /* acks */
    struct mg_idle *flush;
    struct mg_timer *overdue;
};

/* One connection for publishing, and the messages that go over it. */
struct mg_publisher {
    struct mg_link link;
    bool is_apart; /* for queues that left a message unanswered: one at a time; connects when first used */
    struct mg_outgoing_line line;
    struct mg_outgoing *ring[MG_RING_SIZE]; /* sent and unconfirmed, by tag */
    uint64_t next_tag;
    /* The exchange `doubted` refused a publish: nothing is sent until a probe gets through. */
    bool is_doubted, is_probing;
    int64_t awaited_boot_ms; /* since when the broker owes an answer, if it has not been heard since */
    char doubted[MG_AMQP_SHORT_MAX + 1];
    struct mg_idle *flush;
    struct mg_timer *expiry;
};

struct mg_publish_metrics {
    struct mg_metric *outcomes[MG_PUBLISH_OUTCOME_COUNT], *confirm_seconds, *outstanding;
};

struct mg_watched {
    struct mg_broker *broker;
    struct mg_watched *next;     /* in the list of all */
    struct mg_watched *next_due; /* in the line for the next question */
    bool is_due;
    char *queue;
    struct mg_timer *timer;
    mg_queue_seen_fn *seen; /* NULL: nobody wants to know, or no longer */
    void *arg;
    bool is_consumed; /* its consumers are looked at in any case */
};

struct mg_watch_part {
    struct mg_watched *all;
    int count;
    struct mg_watched *due_first, *due_last, *asked;
    /* At each look, beside what the queue is watched for; NULL: nothing. */
    void (*looked)(struct mg_broker *broker, const char *queue, int64_t consumers);
};

enum mg_ear_stage { MG_EAR_OFF, MG_EAR_FOUND, MG_EAR_MADE, MG_EAR_BOUND, MG_EAR_ON };

struct mg_ear {
    char *exchange, *prefix;
    char queue[MG_AMQP_SHORT_MAX + 1]; /* of this connection; "": there is none yet */
    bool is_named_here;                /* the broker's own name was refused: the prefix names the queue */
    enum mg_ear_stage stage;           /* how far the broker has followed */
    bool is_refused;                   /* which has been said */
    int64_t not_before_boot_ms;        /* after a refusal */
    mg_heard_fn *heard;
    void *arg;
};

struct mg_cast_part {
    struct mg_ear ears[MG_EARS_MAX];
    int ear_count;
    int asked;   /* the ear that a question is about; -1: none is open */
    int hearing; /* the ear whose word is being read; -1: none, or nobody's */
    struct mg_buf body;
    struct mg_timer *retry;
    bool is_refused; /* of what is cast */
    int64_t not_before_boot_ms;
};

struct mg_broker {
    struct mg_loop *loop;
    char *url, *name, *ca_file, *cert_file, *key_file;
    struct mg_broker_address address; /* of these texts */
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

    enum { MG_SAID_NOTHING, MG_SAID_UP, MG_SAID_DOWN } said;
    int said_trouble;
    int busy;                       /* callbacks and threads under way in which this memory is used */
    bool is_closing;                /* destroyed as soon as busy is 0 */
    struct mg_metrics *own_metrics; /* when the owner wants none */
    struct mg_metric *up, *connects, *deliveries, *redeliveries, *passed;
};

/* Every callback from the loop runs between these, so that the broker may be destroyed from within. */
void mg_broker_enter(struct mg_broker *broker);
void mg_broker_leave(struct mg_broker *broker); /* the broker may be gone afterwards */
void mg_broker_state_changed(struct mg_broker *broker);
void mg_broker_free(struct mg_broker *broker); /* all but its parts, which have finished or never began */

enum mg_class mg_consume_init(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;
void mg_consume_finish(struct mg_broker *broker);

/* So many deliveries fit into its bytes, by the sizes lately seen; at least one, at most what is asked for.
 */
uint16_t mg_room_prefetch(const struct mg_consumer_slot *slot);
bool mg_room_takes(const struct mg_consumer_slot *slot, size_t body_size); /* one more of this size */
void mg_room_note_size(struct mg_broker *broker, struct mg_consumer_slot *slot, uint64_t body_size);
void mg_room_guess(struct mg_consumer_slot *slot);
bool mg_room_is_outgrown(
    const struct mg_consumer_slot *slot); /* it is to begin anew with a larger prefetch */
/* Something of the consumer is no longer in hand. */
void mg_room_freed(struct mg_broker *broker, int consumer);
bool mg_room_is_growing(const struct mg_broker *broker); /* a consumer is about to be stopped for it */

enum mg_class mg_acks_init(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;
void mg_acks_finish(struct mg_broker *broker);
void mg_acks_flush(struct mg_broker *broker);
void mg_acks_forget(struct mg_broker *broker); /* the connection is gone: nothing will be told any more */
/* The largest body that is kept of what is arriving, where its consumer keeps `body_max_bytes`. */
size_t mg_acks_body_max(size_t body_max_bytes, const amqp_basic_deliver_t *method,
                        const amqp_basic_properties_t *properties);
/* A delivery of `body_bytes` (0 if they are not kept) is beginning; NULL: no memory. */
struct mg_delivery *mg_acks_begin(struct mg_broker *broker, int consumer, const amqp_basic_deliver_t *method,
                                  const amqp_basic_properties_t *properties, size_t body_bytes);
void mg_acks_append(struct mg_broker *broker, amqp_bytes_t piece);
/* NULL: it found no room, and is given back when its consumer has been stopped. */
struct mg_delivery *mg_acks_complete(struct mg_broker *broker);
void mg_acks_pass(struct mg_broker *broker); /* the one that is arriving found no room */
void mg_acks_give_back_passed(struct mg_broker *broker, int consumer);

/* Has every queue that is consumed looked at, lest a consumer be lost in silence. */
enum mg_class mg_consume_watch(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;

enum mg_class mg_publish_init(struct mg_broker *broker, const struct mg_broker_options *options,
                              struct mg_err *err) MG_MUSTCHECK;
void mg_publish_finish(struct mg_broker *broker);

enum mg_class mg_watches_init(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;
void mg_watches_finish(struct mg_broker *broker);

enum mg_class mg_casts_init(struct mg_broker *broker, struct mg_err *err) MG_MUSTCHECK;
void mg_casts_finish(struct mg_broker *broker);

#endif
