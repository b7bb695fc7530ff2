/*
 * One connection with its one channel, on the loop. It connects on another thread, reads frames without
 * blocking and sends only as much as the socket's buffer takes at once. It keeps heartbeats, and reconnects
 * with backoff.
 *
 * The link's owner (consume, publish, watch) interprets the frames; it gets them through `mg_link_events`.
 */
#ifndef MG_IO_AMQP_LINK_H
#define MG_IO_AMQP_LINK_H

#include "io/amqp/broker_base.h"

#define MG_LINK_REASON_SIZE MG_ERR_TEXT_MAX
#define MG_LINK_BODY_FRAME_MAX                                                                               \
    32768 /* a body goes out in pieces that a third of the send buffer always takes */
#define MG_LINK_QUEUES_MAX                                                                                   \
    128 /* queues looked at when connecting: all consumers' and all that options name */

struct mg_link;

enum mg_trouble {
    MG_TROUBLE_NONE,        /* open, or connecting for the first time */
    MG_TROUBLE_UNREACHABLE, /* passes by itself */
    MG_TROUBLE_SETUP,       /* reached and refused: an operator must act */
};

struct mg_link_events {
    void (*opened)(struct mg_link *link);
    /* The connection is gone; sends fail until `opened`. */
    void (*lost)(struct mg_link *link);
    /* A method on the channel that carries no content. The library owns its memory, valid until the call
     * returns. */
    void (*method)(struct mg_link *link, const amqp_method_t *method);
    /* Content: once `header`, then `body` for each piece, then `complete`. NULL: content is a protocol error.
     */
    void (*header)(struct mg_link *link, const amqp_method_t *method,
                   const amqp_basic_properties_t *properties, uint64_t body_size);
    void (*body)(struct mg_link *link, amqp_bytes_t piece);
    void (*complete)(struct mg_link *link);
    /* There is room again after mg_link_has_room returned false, or an alarm of the broker changed. */
    void (*writable)(struct mg_link *link);
    /* The broker closed the channel. True: the owner continues with the new channel, after `opened`. */
    bool (*channel_closed)(struct mg_link *link, const amqp_channel_close_t *close);
};

struct mg_link_job;

struct mg_link {
    struct mg_broker_base *base;
    void *owner; /* the part that the frames are for */
    const struct mg_link_events *events;
    const char *role; /* "consume", "publish", "watch": for reasons and the connection's name */
    const char *queues[MG_LINK_QUEUES_MAX]; /* checked when connecting; borrowed from the broker */
    int queue_count;
    bool is_confirming; /* confirm.select when connecting */

    bool is_started, is_open, is_blocked, wants_room, is_reopening;
    bool is_absent; /* with MG_TROUBLE_UNREACHABLE: nothing accepts connections there */
    enum mg_trouble trouble;
    char reason[MG_LINK_REASON_SIZE]; /* of the trouble */
    uint64_t generation;              /* rises with each connection */
    uint32_t attempts;                /* connections in a row that did not last LASTING_MS */
    int64_t opened_boot_ms;
    int64_t received_boot_ms;  /* time of the last frame other than a heartbeat */
    int64_t answer_by_boot_ms; /* 0: no request is waiting for an answer */
    size_t send_budget;        /* bytes that the socket is sure to take */
    bool is_plain;             /* no TLS: the outbox goes out in one write */
    bool is_corked;
    struct mg_buf outbox; /* frames held back, of a plain connection */

    amqp_connection_state_t connection;
    struct mg_link_job *job; /* a connecting thread at work */
    struct mg_watch *watch;
    struct mg_timer *service, *retry;
    struct mg_idle *again;

    enum { MG_CONTENT_NONE, MG_CONTENT_HEADER, MG_CONTENT_BODY } content;
    amqp_method_t content_method; /* points into the library's pool until the header has come */
    uint64_t content_left;
};

enum mg_class mg_link_init(struct mg_link *link, struct mg_broker_base *base, const char *role,
                           const struct mg_link_events *events, void *owner, struct mg_err *err) MG_MUSTCHECK;
void mg_link_start(struct mg_link *link);  /* begins to connect; no effect on a started link */
void mg_link_finish(struct mg_link *link); /* sends connection.close if there is room, and closes */

/* Reads all frames that have come. Call it before sending: the read does not block, and detects a dead
 * connection. */
void mg_link_drain(struct mg_link *link);

/* True: `size` bytes may be sent now without blocking. False: `writable` will be called, or the link has just
 * been lost. */
bool mg_link_has_room(struct mg_link *link, size_t size);
/* Sends; the caller has reserved room by mg_link_has_room. False: the link has just been lost. */
bool mg_link_send(struct mg_link *link, amqp_method_number_t method, void *decoded);
bool mg_link_send_frame(struct mg_link *link, const amqp_frame_t *frame);
/* Between true and false, frames are held back, so that they leave together. */
void mg_link_cork(struct mg_link *link, bool is_corked);

/* Starts the time limit of a request; unless mg_link_answered comes in time, the link is lost. */
void mg_link_asked(struct mg_link *link);
void mg_link_answered(struct mg_link *link);

/* Ends the connection; it is made again after the backoff. */
void mg_link_fail(struct mg_link *link, enum mg_trouble trouble, const char *format, ...) MG_PRINTF(3, 4);

#endif
