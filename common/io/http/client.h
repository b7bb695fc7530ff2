/*
 * HTTP calls to remote services (libcurl's multi interface on our loop). One call is one try: the request is
 * sent at most once. libcurl by itself re-sends a request after its reused connection died. Here a second
 * send within one call is stopped before its first byte and reported as MG_SENT_MAYBE. A kept connection with
 * bytes that no request has asked for is closed, and its call takes a new one.
 *
 * TLS 1.2 or newer, always verified. A server that asks for a certificate only after the request
 * (post-handshake authentication) gets none.
 *
 * No redirects, http and https only. A proxy is used if a request names it; the environment (http_proxy and
 * the like) is not read, for credentials neither. Requests ask for no
 * content coding; an answer in one that libcurl knows is decoded. The decoded answer is bounded in bytes;
 * beyond the bound it is cut off and reported as broken. An answer is whole only if its head is complete,
 * with the empty line, and its body as far as its length is known.
 */
#ifndef MG_IO_HTTP_CLIENT_H
#define MG_IO_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"

struct mg_http_client;
struct mg_http_call; /* one running call */

/* Memory for the answers of all clients that share it. While it is full, answers are not read further. One
 * answer that has begun is still read, so each comes to its end, one after the other. */
struct mg_http_room;
struct mg_http_room *mg_http_room_create(struct mg_loop *loop, size_t max_bytes); /* NULL: no memory */
void mg_http_room_destroy(struct mg_http_room *room); /* after the clients; accepts NULL */
size_t mg_http_room_held(const struct mg_http_room *room);

/* Within a minute. A connection and a look-up each half a minute cost nothing that can be measured. */
#define MG_HTTP_MOVED_WITHIN_MS 56000

struct mg_http_client_options {
    struct mg_http_room *room;  /* NULL: only the bound of each answer applies */
    int max_connections;        /* to all hosts together; further calls wait for a free one */
    int64_t connect_timeout_ms; /* for resolving, TCP and TLS */
    /* A kept connection idle for longer is not reused; set it below the server's keep-alive. In whole
     * seconds; below 2 s none is kept. */
    int64_t idle_connection_ms;
    /* Within it calls go to the new address of a name that has moved; half for a remembered address, half for
     * a kept connection. From 4 s; 0: MG_HTTP_MOVED_WITHIN_MS. */
    int64_t moved_within_ms;
    size_t max_body_bytes; /* of an answer */
    size_t max_header_bytes;
};

struct mg_http_request {
    const char *method;         /* "POST" */
    const char *url;            /* absolute; scheme http or https */
    const char *const *headers; /* "Name: value", ends with NULL; values hold no control characters */
    struct mg_slice body;       /* absent: no body is sent */
    int64_t timeout_ms;         /* for the whole call: the time left until complete-by */
    const char *proxy;          /* "http://host:port"; NULL: none. https goes through a tunnel (CONNECT) */
    const char *ca_file, *client_cert_file, *client_key_file; /* NULL: the system's CAs, none, none */
    bool is_fresh;                                            /* true: never on a reused connection */
    bool is_secret; /* the bodies of request and answer hold secrets, and are wiped */
};

/* Whether the remote may have received the request. */
enum mg_sent {
    /* No byte of the request left (name, connect or TLS failure), or the remote refused our certificate in
     * the handshake. In TLS 1.3 that refusal arrives after the request has left, but the remote never
     * decrypts the request. */
    MG_SENT_NO,
    MG_SENT_MAYBE, /* bytes left, and no whole answer came back */
    MG_SENT_YES,   /* a whole answer came back */
};

struct mg_http_answer {
    enum mg_sent sent;
    int status;                   /* 0: no answer */
    struct mg_slice body;         /* valid during the callback */
    const char *content_type;     /* "" if none; valid during the callback */
    int64_t retry_after_ms;       /* from Retry-After, seconds or date (RFC 9110 §10.2.3); -1: none */
    const char *bearer_challenge; /* the WWW-Authenticate with a Bearer challenge; NULL: none; valid as the
                                     type is */
    bool is_timed_out;
    bool is_ended_by_close; /* a whole answer without a length: its body may lack bytes at the end */
    bool is_body_bad;  /* no whole answer, but its whole head: its body has two lengths or is too large */
    bool is_undecoded; /* a whole answer, but its body cannot be decoded, and is left out */
    char reason[256];  /* cause of the failure and advice, for people; "" after a whole answer that is decoded
                        */
};

typedef void mg_http_done_fn(void *arg, const struct mg_http_answer *answer);

/* MG_PERMANENT: libcurl lacks a required feature (asynchronous name resolution). */
enum mg_class mg_http_client_create(struct mg_loop *loop, const struct mg_http_client_options *options,
                                    struct mg_http_client **ret_client, struct mg_err *err) MG_MUSTCHECK;
void mg_http_client_destroy(struct mg_http_client *client); /* running calls end without a callback */
/* New connections read the certificate files again. Unless `keeps_connections`, later calls take new
 * connections. Running calls go on. */
void mg_http_client_reload(struct mg_http_client *client, bool keeps_connections);

/* Starts a call; the request is copied. `done` is called exactly once, never from within this function,
 * unless the call is cancelled. MG_BAD_INPUT: URL or header cannot be sent. MG_TRANSIENT: no memory or
 * descriptors. */
enum mg_class mg_http_client_call(struct mg_http_client *client, const struct mg_http_request *request,
                                  mg_http_done_fn *done, void *arg, struct mg_http_call **ret_call,
                                  struct mg_err *err) MG_MUSTCHECK;
void mg_http_call_cancel(struct mg_http_call *call);

#endif
