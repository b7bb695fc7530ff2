/*
 * The HTTP server of a process (libmicrohttpd, driven by our loop). It answers /healthz, /readyz and /metrics
 * itself, GET and HEAD only. All other requests go to a handler; without one they get 404. Bounded:
 * connections, their silence, headers, bodies, and a stream's unsent bytes. Probes are answered under any
 * load: when places or descriptors run out, the oldest connection without a whole request is closed. With a
 * certificate it accepts only TLS 1.2 and 1.3.
 */
#ifndef MG_IO_HTTP_SERVER_H
#define MG_IO_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/metrics.h"

struct mg_http_server;
struct mg_http_exchange;

/* Longer than proxies and balancers keep theirs by default (nginx, AWS, Traefik: 60 s or less), so that they
 * close first: a connection that the server closes may carry a request. */
#define MG_HTTP_IDLE_MS 75000

struct mg_http_server_options {
    const char *address; /* "127.0.0.1:9100", "[::1]:0"; port 0 takes a free one */
    /* PEM; both or none, NULL and "" count as none. An expired certificate is served: a probe that does not
     * verify still works. A warning in the log names the file to renew. */
    const char *cert_file, *key_file;
    bool is_plaintext_allowed;        /* on addresses that are not loopback; for private networks */
    const struct mg_metrics *metrics; /* borrowed for the server's life */
    /* Called at each /readyz. True: 200; text in `ret_reason` is sent too, as a remark. False: 503 with the
     * reason in `ret_reason`. */
    bool (*is_ready)(void *arg, char *ret_reason, size_t size);
    /* Gets each other request once it is whole, and answers it, at once or later; NULL: no handler. */
    void (*handle)(void *arg, struct mg_http_exchange *request);
    /* Whether the body of such a request is taken in pieces. Then `handle` gets it when its head is whole,
     * and answers it or calls mg_http_exchange_on_body. NULL: no body is. */
    bool (*takes_pieces)(void *arg, const char *method, const char *path);
    /* Called when the head of a request is whole that has a body, but for one in pieces. False: it has been
     * answered, and its body is not read. NULL: each body is. */
    bool (*admit)(void *arg, struct mg_http_exchange *request);
    bool handles_metrics; /* /metrics goes to `handle`, too */
    void *arg;
    /* A kept connection is closed when it has been idle for so long, counted from its last answer, which
     * announces it (Keep-Alive: timeout). In whole seconds; 0: MG_HTTP_IDLE_MS. */
    int64_t idle_ms;
    unsigned int handled_max; /* requests in hand of `handle`, streams too; others get 503. 0: 32 */
    size_t body_max;          /* bytes of a request's body; 0: MG_HTTP_BODY_MAX */
    /* Bytes of all bodies, and of all answers and streams until they are sent; 0: no limit. A body without
     * room gets 503. A stream without room is cut off, but for one that has no more than its even part. */
    size_t bodies_max, unsent_max;
    struct mg_metric *held; /* a gauge of both; NULL: none */
    /* The server's own refusals (413, 503) are problem documents (RFC 9457) instead of plain text. The probes
     * stay plain. */
    bool answers_problems;
};

/* The gauge for `held`. */
struct mg_metric *mg_http_held_series(struct mg_metrics *metrics);

/* The check of --check-config, which listens on nothing. MG_BAD_INPUT: the address cannot be read or would
 * need a certificate, or a file cannot be used. */
enum mg_class mg_http_server_check(const struct mg_http_server_options *options,
                                   struct mg_err *err) MG_MUSTCHECK;

/* MG_BAD_INPUT: as of the check. MG_PERMANENT: cannot listen on the address. */
enum mg_class mg_http_server_create(struct mg_loop *loop, const struct mg_http_server_options *options,
                                    struct mg_http_server **ret_server, struct mg_err *err) MG_MUSTCHECK;
/* Not from within `handle`; accepts NULL. */
void mg_http_server_destroy(struct mg_http_server *server);
/* Reads certificate and key again. New connections get the new one; open ones go on with theirs. On error (as
 * of create) the old one stays. Without a certificate it does nothing. */
enum mg_class mg_http_server_reload(struct mg_http_server *server, struct mg_err *err) MG_MUSTCHECK;
int mg_http_server_port(const struct mg_http_server *server);
/*
 * Ends without the loss of a request. /readyz gives 503, no connection is accepted any more, each answer
 * closes its connection, and one without a request is closed after a second: in use, it has one by then. The
 * handler ends its streams. `drained` is called once, by the loop, when no connection is left.
 */
void mg_http_server_drain(struct mg_http_server *server, void (*drained)(void *arg), void *arg);

/* ---- a request until its answer ---- */

#define MG_HTTP_BODY_MAX (64u * 1024)
/* A body with a length above the limit gets 413 at once. One without a length is read to its end and dropped,
 * and then gets 413. More than this above the limit is not read: the connection is closed without an answer,
 * since the library cannot answer within a body. */
#define MG_HTTP_DROPPED_MAX (1024u * 1024)

const char *mg_http_exchange_method(const struct mg_http_exchange *request);
const char *mg_http_exchange_path(const struct mg_http_exchange *request); /* decoded, without the query */
/* Decoded; NULL: none of this name. */
const char *mg_http_exchange_query(const struct mg_http_exchange *request, const char *name);
/* The number of parameters of this name; mg_http_exchange_query returns the first. */
unsigned int mg_http_exchange_query_count(const struct mg_http_exchange *request, const char *name);
/* The first parameter that is not among these names, which blanks separate, or is there twice; NULL: none. */
const char *mg_http_exchange_query_fault(const struct mg_http_exchange *request, const char *names);
/* Without blanks around it. Host is the authority of a target in absolute form. */
const char *mg_http_exchange_header(const struct mg_http_exchange *request, const char *name);
/* In `admit`: a body of more bytes than this gets 413, also one without a length, and no more are kept. */
void mg_http_exchange_body_limit(struct mg_http_exchange *request, size_t max);
/* The number of headers of this name; mg_http_exchange_header returns the first. */
unsigned int mg_http_exchange_header_count(const struct mg_http_exchange *request, const char *name);
/* By its exact name. NULL also for several: another site may have set one of them. */
const char *mg_http_exchange_cookie(const struct mg_http_exchange *request, const char *name);
struct mg_slice mg_http_exchange_body(const struct mg_http_exchange *request);

struct mg_http_header {
    const char *name, *value;
};
struct mg_http_response {
    unsigned int status;
    const char *type;     /* Content-Type; NULL: there is no body */
    struct mg_slice body; /* copied */
    /* ends with name NULL; NULL: none. Cache-Control: no-store is added unless it is among them. */
    const struct mg_http_header *headers;
};
/* Ends the request. The caller does not learn whether the client received the answer. */
void mg_http_answer(struct mg_http_exchange *request, const struct mg_http_response *answer);
/* For later answers: `gone` is called if the request ends without an answer. Only the end of the server or of
 * an old certificate causes that, and, within a body that is taken in pieces, the end of the connection.
 * After `gone` it must not be answered. */
void mg_http_exchange_on_gone(struct mg_http_exchange *request, void (*gone)(void *arg), void *arg);

/* Whether the client has closed the connection, or its half of it. While an answer is still to come nothing
 * else detects that. It may still be answered. */
bool mg_http_exchange_is_hung_up(const struct mg_http_exchange *request);

const char *mg_http_title(unsigned int status); /* for a problem document (RFC 9457): "Not Found" */

/* ---- a body in pieces ---- */

/* What follows a piece: the next one, the next one after mg_http_exchange_resume, or the end of the
 * connection. */
enum mg_http_next { MG_HTTP_NEXT, MG_HTTP_PAUSE, MG_HTTP_CLOSE };
/* `piece` gets each part of the body, of at most MG_HTTP_PIECE_MAX bytes; the server keeps none of it, and
 * knows no limit of the whole. `whole` is called after the last one. The answer must come in it or later,
 * since the library cannot answer within a body. A client that sends nothing for 10 s is closed. */
#define MG_HTTP_PIECE_MAX (16u * 1024)
void mg_http_exchange_on_body(struct mg_http_exchange *request,
                              enum mg_http_next (*piece)(void *arg, struct mg_slice bytes),
                              void (*whole)(void *arg), void *arg);
/* After MG_HTTP_PAUSE. */
void mg_http_exchange_resume(struct mg_http_exchange *request);

/* ---- an endless answer ---- */

#define MG_HTTP_STREAM_UNSENT_MAX (256u * 1024) /* beyond it the client is too slow and is cut off */

struct mg_http_stream;
/* Ends the request like mg_http_answer, and sends later writes to its client piece by piece. The answer's
 * body begins it. `closed` is called once when the stream is over, for any cause; the stream is freed then.
 * For HEAD it is over after the head. NULL: no memory; the request has been answered with 503. */
struct mg_http_stream *mg_http_stream_open(struct mg_http_exchange *request,
                                           const struct mg_http_response *answer, void (*closed)(void *arg),
                                           void *arg);
/* False: it has ended, or its client has not read earlier writes and is cut off. A client that hung up is
 * detected by a later write. */
bool mg_http_stream_write(struct mg_http_stream *stream, struct mg_slice bytes);
/* Bytes of earlier writes that are not on their way yet. */
size_t mg_http_stream_unsent(const struct mg_http_stream *stream);
/* Ends it once all writes are sent; it takes no more. `closed` is called then. */
void mg_http_stream_end(struct mg_http_stream *stream);
/* Ends it at once, however slowly its client reads: the connection is closed. `closed` is called soon. */
void mg_http_stream_cut(struct mg_http_stream *stream);

#endif
