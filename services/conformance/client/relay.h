/*
 * A TCP relay on loopback between the client and the broker. It passes whole frames, reads those of posts,
 * and treats them by the plan of a case. One connection at a time counts; a client may have several.
 */
#ifndef MG_CONFORMANCE_CLIENT_RELAY_H
#define MG_CONFORMANCE_CLIENT_RELAY_H

#include "base/err.h"
#include "base/loop.h"
#include "frames.h"

/* The treatment of the first post of a run. */
enum mg_relay_plan {
    MG_RELAY_PASS,
    MG_RELAY_HOLD,   /* from the post on, nothing of the broker reaches the client */
    MG_RELAY_REFUSE, /* the broker's ack becomes a nack */
    MG_RELAY_MISS,   /* its routing key is one that no queue has */
};

struct mg_relay_seen {
    int posts;                  /* begun */
    int confirming;             /* of them, on a channel with confirms */
    int consumers;              /* basic.consume, since the last cut */
    bool is_refused;            /* the nack went out */
    struct mg_posted posted[4]; /* the first posts */
};

struct mg_relay;
#define MG_RELAY_URL_SIZE 1024
/* `url`: amqp://…; the relay's own URL has the same user, virtual host and options. Blocks while the name
 * is resolved. MG_BAD_INPUT: it is no such URL. */
enum mg_class mg_relay_create(struct mg_loop *loop, const char *url, struct mg_relay **ret_relay,
                              struct mg_err *err) MG_MUSTCHECK;
void mg_relay_destroy(struct mg_relay *relay); /* accepts NULL */
const char *mg_relay_url(const struct mg_relay *relay);
/* Cuts all connections and begins to count anew. */
void mg_relay_begin(struct mg_relay *relay, enum mg_relay_plan plan);
/* Cuts all connections; the plan is done with. */
void mg_relay_cut(struct mg_relay *relay);
const struct mg_relay_seen *mg_relay_seen(const struct mg_relay *relay);

/* ---- for tests ---- */

/* Puts the relay's host and port in place of the URL's own. False: not amqp://, or too long. */
bool mg_relay_url_make(const char *url, int port, char ret_host[256], char ret_port[8],
                       char ret_url[MG_RELAY_URL_SIZE]);

#endif
