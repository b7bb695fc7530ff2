/* A message from its publish to its outcome; publish.c keeps it in line. */
#ifndef MG_IO_AMQP_OUTGOING_H
#define MG_IO_AMQP_OUTGOING_H

#include "io/amqp/broker.h"

/* One message of it fills the window of what is on its way. */
#define MG_OUTGOING_BODY_MAX (4 * 1024 * 1024)

enum outgoing_state { OUTGOING_WAITING, OUTGOING_SENDING, OUTGOING_SENT };

struct mg_outgoing {
    struct mg_outgoing *previous, *next;
    mg_published_fn *done; /* NULL: nobody wants to know */
    void *arg;
    uint64_t tag; /* 0: not sent */
    enum outgoing_state state;
    bool is_returned, is_again;
    bool is_told; /* its time was up, but half of it is on the wire */
    size_t sent_bytes;
    int64_t published_boot_ms, sent_boot_ms;
    struct mg_slice exchange, routing_key, type, message_id, correlation_id, reply_to, traceparent, app_id,
        reason, origin, body;
    char text[];
};

/* Whether the message can be published at all. MG_BAD_INPUT. */
enum mg_class mg_outgoing_check(const struct mg_message *message, struct mg_err *err) MG_MUSTCHECK;
/* A copy in one block of memory, to be freed. NULL: there is none. */
struct mg_outgoing *mg_outgoing_create(const struct mg_message *message);

/* In order of publishing: first those sent, then those waiting. */
struct mg_outgoing_line {
    struct mg_outgoing *first, *last;
    struct mg_outgoing *unsent; /* the first that is not wholly sent; NULL: none */
    int count;
    size_t bytes; /* of their bodies */
};

void mg_outgoing_append(struct mg_outgoing_line *line, struct mg_outgoing *message);
void mg_outgoing_remove(struct mg_outgoing_line *line, struct mg_outgoing *message);
void mg_outgoing_free_all(struct mg_outgoing_line *line);
/* The first for this queue of which nothing has been sent; NULL: there is none. */
struct mg_outgoing *mg_outgoing_find_waiting(const struct mg_outgoing_line *line, const char *queue);

#endif
