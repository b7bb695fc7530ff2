/*
 * RabbitMQ (librabbitmq on our loop). A broker object keeps up to five connections with one channel each. One
 * consumes, one publishes with confirms, one publishes apart, one watches queues, one casts and listens. So
 * an alarm that blocks publishers leaves acks and heartbeats alone, and a declare of a missing queue closes
 * no important channel. Another thread makes the connections; a lost one is made again with backoff. After a
 * reconnect all consumers start anew and old deliveries are forgotten: the broker redelivers them, marked
 * redelivered.
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

/* One incoming message. The receiver owns it from on_delivery until it passes it to mg_broker_ack, _reject or
 * _requeue, exactly once. Absent properties are absent slices; all end with a NUL beyond `len`. */
struct mg_delivery {
    int consumer; /* index into options.consumers */
    /* Set by the broker, or by the header x-makegood-again where that is trusted
     * (mg_topology_is_again_believed). */
    bool is_redelivered;
    uint32_t delivery_count; /* x-delivery-count; 0: first delivery */
    /* How often it was delivered before, with any outcome (x-acquired-count). From RabbitMQ 4.3 on
     * delivery_count counts only failed deliveries: a requeue raises given_count and leaves
     * delivery_count. */
    uint32_t given_count;
    bool has_died; /* has the header x-death; the broker writes it, but any sender can forge it */
    /* The body was above the limit; it was read and dropped. A message with x-death from an exchange that
     * proves its sender has a higher limit, the one of `dead requeue`. It must not die with its header, so it
     * has to be copied. */
    bool is_oversized;
    struct mg_slice body;
    struct mg_slice message_id, correlation_id, reply_to, type, app_id, user_id, traceparent;
    /* The exchange that proves the sender, as the broker names it. For the default exchange it comes from the
     * header x-makegood-exchange, in which `dead requeue` keeps the first exchange. */
    struct mg_slice exchange;
    struct mg_slice routing_key;
    int64_t arrived_boot_ms;
    void *user; /* free for the receiver */
};

/* Room for 4096 calls at once and as many on their way. RabbitMQ takes any number; for 0 it takes 2000. */
#define MG_PREFETCH_MAX 8192

/*
 * `bytes_max` bounds the deliveries in hand of one consumer, from the first byte of a body until its ack,
 * reject or requeue has been sent. One message of any size is always taken. The broker counts messages, so
 * the prefetch is kept small: half of `bytes_max` holds that many messages of the largest size lately seen.
 * It begins as if each message were as large as the limit. It doubles each time it is used up and no message
 * was too large. Larger messages than seen before may find no room: they are read and dropped, the consumer
 * is stopped, and they are requeued. It starts again when half of the bytes are free.
 */
struct mg_consumer {
    const char *queue;
    uint16_t prefetch;
    size_t bytes_max;      /* 0: no bound */
    size_t body_max_bytes; /* 0: as in the options */
};

#define MG_CONSUMERS_MAX 32 /* two queues for each of up to 16 services in one agent process */

struct mg_broker_options {
    struct mg_broker_address address;
    const char *name; /* connection name, shown to operators */
    struct mg_consumer consumers[MG_CONSUMERS_MAX];
    int consumer_count;
    int64_t rank;       /* rank of all its consumers, see mg_broker_set_rank */
    bool only_consumes; /* it publishes nothing, so it makes no connection for that */
    /* Passively declared at each connect, ends with NULL. The state's reason names missing ones, and the
     * connection is retried. */
    const char *check_queues[2 * MG_CONSUMERS_MAX];
    size_t body_max_bytes;      /* 0: MG_BROKER_BODY_MAX_DEFAULT */
    int64_t confirm_timeout_ms; /* limit for the answer to a publish: then UNKNOWN, or UNSENT; 0: 10 s */
    struct mg_metrics *metrics;
    void (*on_delivery)(void *arg, struct mg_delivery *delivery);
    /* Called once per change. Up: all consumers are consuming and publishing is possible. Down: the reason,
     * for /readyz. */
    void (*on_state)(void *arg, bool is_up, const char *reason);
    void *arg;
};

enum mg_class mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                               struct mg_broker **ret_broker,
                               struct mg_err *err) MG_MUSTCHECK; /* MG_BAD_INPUT: address */
/* Closes at once, after sending the acks given so far. Deliveries still held are freed, and the broker
 * redelivers them to another consumer. Outstanding publishes end without a callback. May be called from
 * within any callback. */
void mg_broker_destroy(struct mg_broker *broker);
/* Later connections use this URL (after a change of password, for instance); open connections stay. On error
 * (MG_BAD_INPUT) the old URL stays. */
enum mg_class mg_broker_set_url(struct mg_broker *broker, const char *url, struct mg_err *err) MG_MUSTCHECK;
bool mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size);
/* True if a publish leaves at once, whatever the state of the consumers. */
bool mg_broker_can_publish(const struct mg_broker *broker);
/* True if the broker takes no publish although it is there: it blocks publishers, or an exchange is missing
 * or forbidden. A lost connection does not end it. mg_broker_is_up has the reason. */
bool mg_broker_is_barred(const struct mg_broker *broker);
/* True under a memory or disk alarm. RabbitMQ reports it only to a connection that has published. */
bool mg_broker_is_blocked(const struct mg_broker *broker);
/* Result of the latest attempts to connect. A required queue that is missing counts as refused. */
enum mg_reach mg_broker_reach(const struct mg_broker *broker);
/* Publishes a message that no queue gets; call it every second or two. Without it an idle connection would
 * detect neither a silent broker nor an alarm, which RabbitMQ reports only to publishers. `exchange` is one
 * that the user may write to. Sends nothing while an answer is awaited, or while the broker is not up. */
void mg_broker_probe(struct mg_broker *broker, const char *exchange);
/* True if no answer to a publish has come for 3 s. */
bool mg_broker_is_silent(const struct mg_broker *broker);

/* Ends a delivery. Acks are sent together; `multiple` reaches only to the highest tag below which all are
 * settled. An ack above a delivery still held may wait for it, for 20 ms or until half of a prefetch waits.
 * For a delivery of an earlier connection nothing is sent. */
void mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery);
/* The number of acks that wait so; they still take up the consumer's prefetch. */
int mg_broker_unsent_acks(const struct mg_broker *broker, int consumer);
/* The consumer's current prefetch: as requested, or lower by bytes_max or until the current one is used up.
 * It is 0 while it is stopped, or is being stopped or started. */
int mg_broker_prefetch(const struct mg_broker *broker, int consumer);
/* True if it was paused and none of its deliveries is still on its way here. */
bool mg_broker_is_stopped(const struct mg_broker *broker, int consumer);
size_t mg_broker_held_bytes(const struct mg_broker *broker, int consumer);
void mg_broker_reject(struct mg_broker *broker,
                      struct mg_delivery *delivery); /* to the dead-letter exchange */
/* Counts as a delivery: do not requeue in a tight loop. */
void mg_broker_requeue(struct mg_broker *broker, struct mg_delivery *delivery);

/* Stops or resumes one consumer (basic.cancel, basic.consume); survives reconnects. Deliveries already here
 * stay; those on their way count as one more delivery. Resuming an active consumer with another prefetch
 * applies the new one. A smaller prefetch applies at once. A larger one applies when the current one is used
 * up, so that nothing is on its way. */
void mg_broker_pause(struct mg_broker *broker, int consumer);
void mg_broker_resume(struct mg_broker *broker, int consumer, uint16_t prefetch);
/* Consumer priority: among the processes that consume from a queue, the broker prefers the highest rank. It
 * gives messages to the next rank when that prefetch is full. Equal ranks take turns. A consumer without a
 * rank has 0. A change of rank restarts the consumers; deliveries already here stay. */
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
    MG_PUBLISH_CONFIRMED, /* routed, and stored in the queue as far as the broker promises */
    MG_PUBLISH_REFUSED,   /* nacked: queue full, internal error */
    MG_PUBLISH_RETURNED,  /* no such queue (mandatory) */
    MG_PUBLISH_UNKNOWN,   /* connection lost, or no answer in time: the queue may or may not have it */
    MG_PUBLISH_UNSENT,    /* timed out before it could be sent: no queue has it */
    MG_PUBLISH_OUTCOME_COUNT
};
const char *mg_publish_outcome_name(enum mg_publish_outcome outcome);

typedef void mg_published_fn(void *arg, enum mg_publish_outcome outcome);

/* Publishes persistent and mandatory, with content type application/json. `done` is called exactly once,
 * never from within this function. While the connection is down or blocked, messages wait in memory, up to
 * the publish window and for at most the confirm timeout. MG_TRANSIENT: the window is full; the message was
 * not taken.
 *
 * A quorum queue without its majority stops the connection that gives it a message. After half the confirm
 * timeout another connection takes over. Messages for a queue with an unanswered message then go apart until
 * it answers, one queue at a time. A message that stays unanswered there for a quarter of the timeout is
 * MG_PUBLISH_UNKNOWN while the broker is up: its own queue takes nothing. */
enum mg_class mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                mg_published_fn *done, void *arg, struct mg_err *err) MG_MUSTCHECK;
size_t mg_broker_publish_room(const struct mg_broker *broker); /* messages that the window still takes */

/* Reads a queue's depth every `period_ms` (passive declare). consumers -1: the queue does not exist. Watching
 * it twice changes nothing. Queues that this process consumes are watched in any case. If a broker fails
 * while a queue is deleted or moved, it may drop the consumers without a notice. */
typedef void mg_queue_seen_fn(void *arg, const char *queue, int64_t ready_messages, int64_t consumers);
enum mg_class mg_broker_watch_queue(struct mg_broker *broker, const char *queue, int64_t period_ms,
                                    mg_queue_seen_fn *seen, void *arg, struct mg_err *err) MG_MUSTCHECK;
/* Ends the watch and, once this returns, its callbacks. A queue that this process consumes is still read. */
void mg_broker_unwatch_queue(struct mg_broker *broker, const char *queue);
/* Looks likewise whether an exchange exists; consumers -1: it does not, 0: it does. A publish to a missing
 * exchange ends the channel of all publishes. */
enum mg_class mg_broker_watch_exchange(struct mg_broker *broker, const char *exchange, int64_t period_ms,
                                       mg_queue_seen_fn *seen, void *arg, struct mg_err *err) MG_MUSTCHECK;
void mg_broker_unwatch_exchange(struct mg_broker *broker, const char *exchange);
/* Reads a watched queue's depth now; its period goes on as before. */
void mg_broker_look(struct mg_broker *broker, const char *queue);

/* ---- casts: sent to all current listeners, stored nowhere ---- */

#define MG_CAST_BYTES_MAX 32768 /* sent in one piece */
#define MG_LISTENERS_MAX  16    /* one for each service in one agent process */

/* Sends the body transient and unconfirmed, and drops it if it cannot go out now. Not for messages that must
 * arrive. */
void mg_broker_cast(struct mg_broker *broker, const char *exchange, const char *routing_key, const char *type,
                    struct mg_slice body);

/* Subscribes to all messages of a fanout exchange from now on. The queue is its own and ends with the
 * connection; its name begins with `queue_prefix`. A missing exchange or right is logged once and retried;
 * the broker is up without it. `body` lives until the callback returns. */
typedef void mg_received_fn(void *arg, struct mg_slice body);
enum mg_class mg_broker_listen(struct mg_broker *broker, const char *exchange, const char *queue_prefix,
                               mg_received_fn *received, void *arg, struct mg_err *err) MG_MUSTCHECK;

/* ---- for the operator's tool and for clients: a private queue, read message by message ---- */

/* Adds a consumer on an exclusive, auto-deleted queue with a name from the broker. `named` gets the name each
 * time the connection comes up; it differs after a reconnect. Call it only before the broker first comes
 * up. */
void mg_broker_consume_private(struct mg_broker *broker, uint16_t prefetch,
                               void (*named)(void *arg, int consumer, const char *queue), void *arg);

#endif
