/*
 * The simulated RabbitMQ. broker_queue.c is the server's memory: queues, their messages and their consumers.
 * broker_link.c is a connection of a node, both its ends, and the faults on it. broker_line.c holds a node's
 * publishes. broker_api.c implements io/amqp/broker.h on top of them. broker_minority.c: queues that accept
 * nothing.
 *
 * A queue delivers each message at least once. A connection is first in, first out in both directions and
 * takes time. When it is cut, frames on their way are lost, and messages without an ack are redelivered,
 * marked so.
 */
#ifndef SIM_BROKER_H
#define SIM_BROKER_H

#include "io/amqp/broker.h"
#include "io/amqp/unanswered.h"
#include "sim.h"

struct sim_message {
    struct sim_message *previous, *next; /* in its queue */
    int owners;                          /* the queue or the unacked list, and each delivery of it */
    uint32_t delivery_count;
    bool is_redelivered, is_again;
    int64_t published_us; /* when its publisher sent it */
    struct mg_slice exchange, routing_key, type, message_id, correlation_id, reply_to, traceparent, reason,
        app_id, body; /* absent: not set; each ends with a NUL beyond its length */
};

struct sim_link;

/* ---- broker_queue.c ---- */

struct sim_queue {
    char name[128];
    bool exists;
    struct sim_message *first, *last;
    int ready, unacked, coming; /* coming: accepted by the broker, not yet ready for delivery */
    struct sim_subscription *subscriptions;
    int next_subscription;
    int outages;            /* number of times that it lost its majority */
    int64_t outage_ends_us; /* 0: it has its majority */
    /* Set on a queue that the world itself reads: each message is passed here at once. */
    void (*read)(const struct sim_queue *queue, const struct sim_message *message);
};

struct sim_subscription {
    struct sim_subscription *next;
    struct sim_link *link;
    int consumer, prefetch, unacked;
    int64_t rank; /* the highest rank with room gets all messages */
};

struct sim_queue *sim_queue_find(struct mg_slice name); /* NULL: it never existed */
struct sim_queue *sim_queue_declare(const char *name);
int sim_queue_count(void);
struct sim_queue *sim_queue_at(int index);

/* The broker's answer to a publish; it takes over `message`. */
enum sim_taken { SIM_TAKEN, SIM_NACKED, SIM_RETURNED };
enum sim_taken sim_broker_take(struct sim_message *message);
struct sim_message *sim_message_create(const struct mg_message *from, struct mg_slice app_id);
void sim_message_hold(struct sim_message *message);
void sim_message_release(struct sim_message *message); /* may free it */

void sim_queue_subscribe(struct sim_queue *queue, struct sim_link *link, int consumer, int prefetch,
                         int64_t rank);
void sim_queue_unsubscribe(struct sim_queue *queue, const struct sim_link *link, int consumer);
/* The broker's end of a delivery. */
void sim_queue_acked(struct sim_queue *queue, const struct sim_link *link, int consumer,
                     struct sim_message *message);
void sim_queue_rejected(struct sim_queue *queue, const struct sim_link *link, int consumer,
                        struct sim_message *message);
void sim_queue_requeued(struct sim_queue *queue, const struct sim_link *link, int consumer,
                        struct sim_message *message);
int sim_queue_consumers(const struct sim_queue *queue);
/* The number of messages ready or on their way in queues that must be empty at the end. */
int sim_broker_backlog(const char **ret_queue);

void sim_queue_purge(struct sim_queue *queue);
void sim_queue_push(struct sim_queue *queue); /* to consumers with room */
/* Draws whether queues support ranks in this run. Without ranks several schedulers work on every order. With
 * ranks they do so only when the first has no room. */
void sim_queues_start(void);

/* ---- broker_link.c ---- */

/* A delivery on its way to a service, or held by it. */
struct sim_unacked {
    struct sim_unacked *previous, *next; /* of its link, the oldest first */
    struct mg_delivery delivery;         /* held by the service */
    struct sim_link *link;
    struct sim_queue *queue;
    struct sim_message *message;
    bool is_settled; /* the broker has taken it back, or has received its end */
};

/* One publish, until its outcome is reported to its service. */
struct sim_outgoing {
    struct sim_outgoing *previous, *next;
    struct sim_line *line;
    struct sim_message *message;
    mg_published_fn *done;
    void *arg;
    int64_t since_boot_ms, sent_boot_ms;
    bool is_sent, is_over;
};

/* Opens a connection for a node's broker object. */
struct sim_link *sim_link_open(struct mg_broker *broker, struct sim_node *node);
/* Actions of the service's end; each takes time. */
void sim_link_publish(struct sim_link *link, struct sim_outgoing *outgoing, bool is_apart);
void sim_link_replace_channel(struct sim_link *link, bool is_apart);
enum sim_end { SIM_END_ACK, SIM_END_REJECT, SIM_END_REQUEUE };
void sim_link_end(struct sim_link *link, struct sim_unacked *unacked, enum sim_end end);
void sim_link_consume(struct sim_link *link, struct sim_queue *queue, int consumer, int prefetch,
                      int64_t rank); /* 0: cancel */
/* No delivery to it is on its way, and none will follow. */
bool sim_link_is_stopped(const struct sim_link *link, int consumer);
/* From now on casts of `exchange` reach this listener of the node; `exchange` outlives the link. */
void sim_link_listen(struct sim_link *link, int listener, const char *exchange);
void sim_link_cast(struct sim_link *link, struct sim_message *message); /* takes it over */
void sim_link_close(struct sim_link *link); /* in good order: frames sent before arrive first */
/* Actions of the broker's end. */
void sim_link_deliver(struct sim_link *link, int consumer, struct sim_queue *queue,
                      struct sim_message *message);
void sim_link_cut(struct sim_link *link);
void sim_link_tell_blocked(struct sim_link *link, bool is_blocked);
void sim_links_go_on(void); /* a queue has its majority again */
/* Whether the broker still has another message with this one's id: ready, coming, or delivered without an
 * ack. */
bool sim_broker_has_copy(const struct sim_queue *queue, const struct sim_message *message);
bool sim_link_has_copy(const struct sim_message *message); /* only messages delivered without an ack */
int sim_link_count(void);
struct sim_link *sim_link_at(int index);
struct sim_node *sim_link_node(const struct sim_link *link);

/* ---- broker_api.c: a link's events for its service ---- */

void sim_broker_opened(struct mg_broker *broker, struct sim_link *link);
void sim_broker_lost(struct mg_broker *broker, struct sim_link *link);
void sim_broker_set_blocked(struct mg_broker *broker, struct sim_link *link, bool is_blocked);
void sim_broker_delivered(struct mg_broker *broker, struct sim_unacked *unacked);
/* A cast has come for this listener; `message` is borrowed. */
void sim_broker_receive_cast(struct mg_broker *broker, struct sim_link *link, int listener,
                             const struct sim_message *message);
void sim_broker_say_state(struct mg_broker *broker, const char *reason);
struct sim_link *sim_broker_link(const struct mg_broker *broker); /* NULL: nothing can be sent now */
bool sim_broker_is_destroyed(const struct mg_broker *broker);

/* ---- broker_line.c ---- */

/* Publishes in their order, until the broker answers, the channel is lost, or their time is up. */
struct sim_line {
    struct mg_broker *broker;
    struct sim_node *node;
    struct sim_outgoing *first, *last;
    size_t count;
    int64_t timeout_ms, received_boot_ms;
    int64_t look_at_us; /* 0: no check is planned */
    struct mg_unanswered *unanswered;
    struct sim_line *apart; /* NULL: this one is the line apart */
    bool is_replaced;
};

void sim_line_init(struct sim_line *line, struct mg_broker *broker, struct sim_node *node, int64_t timeout_ms,
                   struct mg_unanswered *unanswered, struct sim_line *apart);
enum mg_class sim_line_publish(struct sim_line *line, const struct mg_message *message, mg_published_fn *done,
                               void *arg, struct mg_err *err);
size_t sim_line_room(const struct sim_line *line);
void sim_line_flush(struct sim_line *line);
void sim_line_reopen(struct sim_line *line);
void sim_line_lost(struct sim_line *line);
void sim_line_confirmed(struct sim_outgoing *outgoing, enum mg_publish_outcome outcome);

/* ---- broker_fault.c ---- */

bool sim_broker_is_down(void);
int64_t sim_broker_blocked_until_us(void);

/* ---- broker_minority.c ---- */

void sim_minority_start(void);
void sim_minority_heal(void);
void sim_minority_begin(struct sim_queue *queue, int64_t for_us); /* ignored if down or out already */
bool sim_queue_takes_nothing(const struct sim_queue *queue);
bool sim_is_taken_nowhere(struct mg_slice routing_key); /* such a queue exists and accepts nothing */
/* A message from a stopped channel, for `queue` without its majority. It may be in the queue once the
 * majority returns. Takes it over. */
void sim_minority_keep(const struct sim_queue *queue, struct sim_message *message);
/* A message with this id may still appear in its queue. */
bool sim_minority_keeps(const char *message_id);
/* A node's channel is stopped by `queue`. */
void sim_minority_stops(const struct sim_node *node, const struct sim_queue *queue, bool is_apart);
/* A node has identified the queue that stopped it. */
void sim_minority_found(const struct sim_node *node, struct mg_slice queue);

/* ---- newer.c ---- */

void sim_newer_start(void);
/* So many deliveries of one consumer wait to be returned, because only a newer version could read them. */
void sim_newer_check(const char *where, int held, int prefetch);
bool sim_newer_may_die(const struct sim_message *message); /* its permitted rounds are over */

/* ---- the simulated world ---- */

void sim_broker_start(void);
void sim_broker_heal(void);
void sim_broker_node_died(struct sim_node *node);
void sim_broker_node_paused(struct sim_node *node);

/* Events that the broker reports to the checker. */
void sim_check_published(const struct sim_message *message); /* a queue has it now */
void sim_check_left(const struct sim_message *message);      /* its sender has sent it */
void sim_check_lost(const struct sim_message *message);   /* a queue had it, and it will never be delivered */
void sim_check_copied(const struct sim_message *message); /* it will be delivered once more */
void sim_check_acked(const struct sim_message *message,
                     const struct sim_queue *queue); /* the running node's service acks it now */
void sim_check_dead(const struct sim_queue *from, const struct sim_message *message, const char *why);

#endif
