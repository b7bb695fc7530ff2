/*
 * RabbitMQ (librabbitmq on our loop). A broker object keeps up to five connections with one channel each: one
 * consumes, one publishes with confirms, one does so apart, one watches queues, one casts and hears; so that
 * an alarm that blocks publishers leaves acks and heartbeats alone, and a question about a missing queue
 * closes no channel that matters. Connections are made on another thread and come back by themselves with
 * backoff; after a reconnect everything is consumed again and old deliveries are forgotten (the broker gives
 * them again, marked redelivered).
 *
 * Bodies are bytes here. Nothing in this interface blocks. The simulator links its own implementation.
 */
#ifndef MG_IO_AMQP_BROKER_H
#define MG_IO_AMQP_BROKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "io/amqp/address.h"
#include "io/reach.h"

struct mg_broker;

#define MG_BROKER_BODY_MAX_DEFAULT                                                                           \
    (1024 * 1024) /* above any message of ours: a reply has at most 64 KiB of result */

/* One message that came. Owned by the receiver from on_delivery until it gives it to mg_broker_ack, _reject
 * or _requeue, exactly once. Absent properties are absent slices; all end with a NUL beyond `len`. */
struct mg_delivery {
    int consumer; /* which of options.consumers */
    /* By the broker, or by the header x-makegood-again where it is believed (mg_topology_is_again_believed)
     */
    bool is_redelivered;
    uint32_t delivery_count; /* x-delivery-count; 0: never given before */
    /* How often it was given out before, whatever came of it. From RabbitMQ 4.3 on the count above is of
     * those deliveries alone that failed: giving back raises this one (x-acquired-count) and not that. */
    uint32_t given_count;
    bool has_died; /* the header x-death came with it: the broker's to write, and any sender's to forge */
    /* The body was above the limit and has been read past, not kept. For what comes with x-death through an
     * exchange that proves its sender the limit is as large as `dead requeue` takes: that must not die with
     * its header, and so is to be copied. */
    bool is_oversized;
    struct mg_slice body;
    struct mg_slice message_id, correlation_id, reply_to, type, app_id, user_id, traceparent;
    /* The exchange that proves the sender: as the broker names it; for what came through the default
     * exchange, as the header x-makegood-exchange names it, by which `dead requeue` keeps the exchange of
     * before. */
    struct mg_slice exchange;
    struct mg_slice routing_key;
    int64_t arrived_boot_ms;
    void *user; /* free for the receiver */
};

/* Room for 4096 calls at once and as many on their way; RabbitMQ itself takes any number, and 2000 for 0. */
#define MG_PREFETCH_MAX 8192

/*
 * `bytes_max` bounds what is in hand of one consumer, from the first byte of a body until its end has been
 * told; one message of any size is always taken. The broker counts messages, so the prefetch is kept so small
 * that as many of the largest size lately seen fit into half of it. It begins as if all were as large as
 * their limit, and doubles each time that it is used up without a larger one than fits. If larger ones come
 * than were seen before, those that find no room are read past and not kept; the consumer is stopped, they
 * are given back, and it begins again when half of the bytes are free.
 */
struct mg_consumer {
    const char *queue;
    uint16_t prefetch;
    size_t bytes_max;      /* 0: no bound */
    size_t body_max_bytes; /* 0: that of the options */
};

#define MG_CONSUMERS_MAX 32 /* two queues for each of up to 16 services in one agent process */

struct mg_broker_options {
    struct mg_broker_address address;
    const char *name; /* connection name that operators see */
    struct mg_consumer consumers[MG_CONSUMERS_MAX];
    int consumer_count;
    int64_t rank; /* of all its consumers, see mg_broker_set_rank */
    const char
        *check_queues[2 * MG_CONSUMERS_MAX]; /* passively declared at each connect, ends with NULL; what is */
    /* missing is named in the state's reason, and the connection is tried again */
    size_t body_max_bytes;      /* 0: MG_BROKER_BODY_MAX_DEFAULT */
    int64_t confirm_timeout_ms; /* of a publish without an answer: then UNKNOWN, or UNSENT; 0: 10 s */
    struct mg_metrics *metrics;
    void (*on_delivery)(void *arg, struct mg_delivery *delivery);
    /* Up: all consumers are consuming and publishing is possible. Down: why, for /readyz; said once each. */
    void (*on_state)(void *arg, bool is_up, const char *reason);
    void *arg;
};

enum mg_class mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                               struct mg_broker **ret_broker,
                               struct mg_err *err) MG_MUSTCHECK; /* MG_BAD_INPUT: address */
/* Closes at once; what has been acked is told to the broker first. Deliveries still held end with it (the
 * broker gives them to somebody else), outstanding publishes end without a callback. May be called from
 * within any callback. */
void mg_broker_destroy(struct mg_broker *broker);
/* Later connections use this URL (a changed password, say); those that are open go on. On error
 * (MG_BAD_INPUT) the old one stays. */
enum mg_class mg_broker_set_url(struct mg_broker *broker, const char *url, struct mg_err *err) MG_MUSTCHECK;
bool mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size);
/* Of the last attempts to connect; a queue that must be there and is not counts as refused. */
enum mg_reach mg_broker_reach(const struct mg_broker *broker);
/* Publishes a message that no queue gets, to be called every second or two: an idle connection would hear
 * neither of a broker that is silent, nor of an alarm, which is told only to who publishes. `exchange` is one
 * that the user may write to. Nothing is sent while an answer is awaited, or the broker is not up. */
void mg_broker_probe(struct mg_broker *broker, const char *exchange);
/* Whether for 3 s nothing has come in answer to what was published. */
bool mg_broker_is_silent(const struct mg_broker *broker);

/* Ends a delivery. Acks are sent together, `multiple` only up to the highest tag below which all are settled;
 * one above a delivery that is still held may wait for that one, some 20 ms or until half of a prefetch
 * waits. For a delivery of an earlier connection nothing is sent. */
void mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery);
/* Acks that wait so: they still take up room in the consumer's prefetch. */
int mg_broker_untold_acks(const struct mg_broker *broker, int consumer);
/* As many messages as the consumer may have in hand now: what was asked for, or fewer by their bytes or
 * until these are used up; 0 while it is stopped, or is being stopped or started. */
int mg_broker_prefetch(const struct mg_broker *broker, int consumer);
/* It was paused, and nothing of it is on its way here any more. */
bool mg_broker_is_stopped(const struct mg_broker *broker, int consumer);
size_t mg_broker_held_bytes(const struct mg_broker *broker, int consumer);
void mg_broker_reject(struct mg_broker *broker,
                      struct mg_delivery *delivery); /* to the dead-letter exchange */
void mg_broker_requeue(struct mg_broker *broker,
                       struct mg_delivery *delivery); /* counts as a delivery: never in a tight loop */

/* Stops or resumes one consumer (basic.cancel, basic.consume); survives reconnects. Deliveries already here
 * stay; what is on its way counts as delivered once more. Resuming one that consumes, with another prefetch,
 * gives it that prefetch: a smaller one at once, a larger one when it has used up what it has, so that
 * nothing is on its way. */
void mg_broker_pause(struct mg_broker *broker, int consumer);
void mg_broker_resume(struct mg_broker *broker, int consumer, uint16_t prefetch);
/* Of several processes that consume from a queue, the broker gives all to the one of the highest rank until
 * its prefetch is full, then to the next (consumer priority); those of equal rank take turns. 0 is what who
 * says nothing has. Another rank starts the consumers anew; deliveries already here stay. */
void mg_broker_set_rank(struct mg_broker *broker, int64_t rank);

struct mg_message {
    const char *exchange; /* "" : the default exchange */
    const char *routing_key;
    const char *type; /* "request", "reply", "status", … */
    const char *message_id, *correlation_id, *reply_to, *traceparent, *app_id; /* NULL: absent */
    const char *reason;   /* header x-makegood-reason; NULL: absent */
    const char *origin;   /* header x-makegood-exchange; NULL: absent */
    bool is_again;        /* header x-makegood-again: the receiver treats it as redelivered */
    struct mg_slice body; /* copied */
};

enum mg_publish_outcome {
    MG_PUBLISH_CONFIRMED, /* routed, and safe in the queue as far as the broker promises */
    MG_PUBLISH_REFUSED,   /* nacked: queue full, internal error */
    MG_PUBLISH_RETURNED,  /* no such queue (mandatory) */
    MG_PUBLISH_UNKNOWN,   /* connection lost, or no answer in time: it may or may not be there */
    MG_PUBLISH_UNSENT,    /* its time was up before it could leave: it is not there */
    MG_PUBLISH_OUTCOME_COUNT
};
const char *mg_publish_outcome_name(enum mg_publish_outcome outcome);

typedef void mg_published_fn(void *arg, enum mg_publish_outcome outcome);

/* Publishes persistent and mandatory, content type application/json; `done` is called exactly once, never
 * from within this function. While the connection is down or blocked, messages wait in memory up to the
 * publish window and for at most the confirm timeout. MG_TRANSIENT: the window is full; nothing was taken.
 * A quorum queue without its majority stops the connection over which it is given a message. After
 * half the confirm timeout another connection takes its place, and what goes to a queue that left a message
 * unanswered goes apart until it is answered, one queue at a time. One that is not answered there after a
 * quarter of the timeout is MG_PUBLISH_UNKNOWN while the broker is up: its own queue takes nothing. */
enum mg_class mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                mg_published_fn *done, void *arg, struct mg_err *err) MG_MUSTCHECK;
size_t mg_broker_publish_room(const struct mg_broker *broker); /* messages that would be taken now */

/* Asks every `period_ms` how full a queue is (passive declare). consumers -1: there is no such queue.
 * Watching it twice changes nothing. What is consumed is looked at in any case: a broker that fails while a
 * queue is deleted or moved may forget its consumers and tell nobody. */
typedef void mg_queue_seen_fn(void *arg, const char *queue, int64_t ready_messages, int64_t consumers);
enum mg_class mg_broker_watch_queue(struct mg_broker *broker, const char *queue, int64_t period_ms,
                                    mg_queue_seen_fn *seen, void *arg, struct mg_err *err) MG_MUSTCHECK;
/* It is not asked about any more, except for the sake of who consumes it; nor told of, once this returns. */
void mg_broker_unwatch_queue(struct mg_broker *broker, const char *queue);
/* Asks about a watched queue now, for who cannot wait for its period; that goes on as before. */
void mg_broker_look(struct mg_broker *broker, const char *queue);

/* ---- what is said to all who listen now, and kept by nobody ---- */

#define MG_CAST_BYTES_MAX 32768 /* goes out in one piece */
#define MG_EARS_MAX       16    /* a service each in one agent process */

/* Says it, transient and unconfirmed; where it cannot go out now it is dropped. Not for what must arrive. */
void mg_broker_cast(struct mg_broker *broker, const char *exchange, const char *routing_key, const char *type,
                    struct mg_slice body);

/* Hears all that comes through a fanout exchange from now on, by a queue of its own that the broker ends with
 * the connection; its name begins with `queue_prefix`. Where exchange or right is missing that is logged once
 * and tried again; the broker is up without it. `body` lives until the callback returns. */
typedef void mg_heard_fn(void *arg, struct mg_slice body);
enum mg_class mg_broker_hear(struct mg_broker *broker, const char *exchange, const char *queue_prefix,
                             mg_heard_fn *heard, void *arg, struct mg_err *err) MG_MUSTCHECK;

/* ---- for the operator's tool and for clients: a private queue, and reading a queue message by message ----
 */

/* Adds a consumer on an exclusive, auto-deleted queue that the broker names; the name is given to `named`
 * each time the connection comes up (it differs after a reconnect). Only before the broker first comes up. */
void mg_broker_consume_private(struct mg_broker *broker, uint16_t prefetch,
                               void (*named)(void *arg, int consumer, const char *queue), void *arg);

#endif
