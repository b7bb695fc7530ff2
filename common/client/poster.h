/*
 * Posts orders to the intake and receives their statuses: the behaviour of every client of ours, on a loop.
 * Signals go the same way, to the client's exchange for them, and receive the schedulers' answer.
 *
 * An order has its id before its first post and keeps it, so it may be posted again: the same bytes under the
 * same id are the same order. It is posted until the broker has confirmed it. After a reconnect each order
 * that has not ended is posted once more, with the client's new queue as reply_to. The engine then sends its
 * statuses there.
 *
 * Callbacks run on the loop's thread, never within a call of this file.
 */
#ifndef MG_CLIENT_POSTER_H
#define MG_CLIENT_POSTER_H

#include <sys/queue.h>

#include "io/amqp/broker.h"

struct mg_post;

/* One order, or one signal. Its owner keeps it in place, with all that it points to, from mg_poster_add until
 * mg_poster_remove or mg_poster_destroy. */
struct mg_posting {
    const char *order_id;    /* also message_id and correlation_id; of a signal the latter alone */
    const char *signal;      /* its name, if it is a signal; NULL: it is an order */
    const char *signal_id;   /* its message_id */
    struct mg_slice body;    /* the submission, with this order_id; the signal's command */
    bool is_high;            /* to the queue of high priority */
    const char *traceparent; /* NULL: none */
    void *owner;             /* free for the owner */

    /* the poster's own */
    bool is_maybe; /* the intake may have it from a post without an answer, so a refusal proves nothing */
    TAILQ_ENTRY(mg_posting) in_hand, due;
    struct mg_posting *next_of_slot;
    struct mg_post *post; /* the publish without an answer; NULL: none */
    bool is_due, is_over;
};

struct mg_poster_options {
    struct mg_broker_address address;
    const char *name; /* of the connections, shown to operators */
    /* Writes to the exchange and reads from the queue that `makegood broker apply --client NAME` made; NULL
     * or
     * "": the common exchange, and a private queue. */
    const char *client;
    bool wants_statuses; /* false: orders are posted without a reply_to */
    /* A post was settled. False: a post that was not confirmed is not repeated, or the order was removed
     * within the callback. True: it is repeated, after a refusal with a pause. */
    bool (*on_posted)(void *arg, struct mg_posting *posting, enum mg_publish_outcome outcome);
    /* A message for an order in hand came, a status by its place, or the answer to a signal. `body` lives
     * until the callback returns. True: the order cannot go on, so a reconnect does not repeat it. */
    bool (*on_status)(void *arg, struct mg_posting *posting, struct mg_slice body);
    void (*on_state)(void *arg, bool is_up, const char *reason); /* as the broker's; NULL: not wanted */
    void *arg;
};

struct mg_poster;

/* Starts to connect. MG_BAD_INPUT: address or client's name; MG_TRANSIENT: no memory or descriptors. */
enum mg_class mg_poster_create(struct mg_loop *loop, const struct mg_poster_options *options,
                               struct mg_poster **ret_poster, struct mg_err *err) MG_MUSTCHECK;
void mg_poster_destroy(struct mg_poster *poster); /* accepts NULL */

/* Takes an order in hand and posts it. Its id must not be in hand. */
void mg_poster_add(struct mg_poster *poster, struct mg_posting *posting);
/* It is posted no more, and its statuses are passed over. */
void mg_poster_remove(struct mg_poster *poster, struct mg_posting *posting);
struct mg_posting *mg_poster_find(const struct mg_poster *poster, struct mg_slice order_id); /* or NULL */

struct mg_broker *mg_poster_broker(const struct mg_poster *poster);

#endif
