/* Publishing: the connections and their messages (publish.c), and the ends of messages (publish_stuck.c). */
#ifndef MG_IO_AMQP_PUBLISHING_H
#define MG_IO_AMQP_PUBLISHING_H

#include "io/amqp/link.h"
#include "io/amqp/outgoing.h"
#include "io/amqp/unanswered.h"

#define MG_RING_SIZE                                                                                         \
    8192 /* tags between the oldest unconfirmed publish and the newest; four windows, so that one */
         /* late confirm does not hold up the rest */

/* One connection for publishing, and its messages. */
struct mg_publisher {
    struct mg_publishing *publishing;
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

struct mg_publishing {
    struct mg_publisher main, apart;
    struct mg_unanswered unanswered;
    struct mg_publish_metrics metrics;
    int64_t confirm_timeout_ms;
};

enum mg_class mg_publish_init(struct mg_publishing *publishing, struct mg_broker_base *base,
                              const struct mg_broker_options *options, struct mg_err *err) MG_MUSTCHECK;
void mg_publish_finish(struct mg_publishing *publishing);
/* Puts the message at the end of the publisher's line, where it is sent in the loop's next turn. */
void mg_publish_append(struct mg_publisher *publisher, struct mg_outgoing *message);
/* Takes the message out of the line, frees it and calls back; its callback may publish. */
void mg_publish_settle(struct mg_publisher *publisher, struct mg_outgoing *message,
                       enum mg_publish_outcome outcome);
/* A publisher's timer, which runs while it has messages: ends those whose time is over, and gives up a
 * channel that stalls. */
void mg_publish_on_expiry(void *arg);

#endif
