/* A message from its publish to its outcome; publish_stuck.c keeps the messages in line. */
#ifndef MG_IO_AMQP_OUTGOING_H
#define MG_IO_AMQP_OUTGOING_H

#include <sys/queue.h>

#include "io/amqp/broker.h"

/* One message of this size fills the window of unconfirmed bytes. */
#define MG_OUTGOING_BODY_MAX (4 * 1024 * 1024)

enum mg_outgoing_state { MG_OUTGOING_WAITING, MG_OUTGOING_SENDING, MG_OUTGOING_SENT };

struct mg_outgoing {
    TAILQ_ENTRY(mg_outgoing) entry; /* in its line */
    mg_published_fn *done;          /* NULL: no callback */
    void *arg;
    uint64_t tag; /* 0: not sent */
    enum mg_outgoing_state state;
    bool is_returned, is_again;
    bool is_done; /* timed out, and half of it is on the wire; `done` has been called */
    size_t sent_bytes;
    int64_t published_boot_ms, sent_boot_ms;
    struct mg_slice exchange, routing_key, type, message_id, correlation_id, reply_to, traceparent, app_id,
        reason, origin, body;
    char text[];
};

/* Checks whether the message can be published at all. Error: MG_BAD_INPUT. */
enum mg_class mg_outgoing_check(const struct mg_message *message, struct mg_err *err) MG_MUSTCHECK;
/* A copy in one block of memory; the caller frees it. NULL: no memory. */
struct mg_outgoing *mg_outgoing_create(const struct mg_message *message);

/* In order of publishing: first the sent ones, then the waiting ones. */
struct mg_outgoing_line {
    TAILQ_HEAD(, mg_outgoing) all;
    struct mg_outgoing *unsent; /* the first that is not wholly sent; NULL: none */
    int count;
    size_t bytes; /* of their bodies */
};

void mg_outgoing_init(struct mg_outgoing_line *line);
void mg_outgoing_append(struct mg_outgoing_line *line, struct mg_outgoing *message);
void mg_outgoing_remove(struct mg_outgoing_line *line, struct mg_outgoing *message);
void mg_outgoing_free_all(struct mg_outgoing_line *line);
/* The first for this queue with no byte sent; NULL: none. */
struct mg_outgoing *mg_outgoing_find_waiting(const struct mg_outgoing_line *line, const char *queue);

#endif
