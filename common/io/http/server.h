/*
 * HTTP of one process (libmicrohttpd, driven by our loop). /healthz, /readyz and /metrics are answered here,
 * GET and HEAD only; whatever else is asked goes to a handler, if there is one, and is 404 if not. Bounded:
 * connections, their silence, headers, bodies, and what a stream has not sent. The probes are answered
 * whatever others do: where places or descriptors run out, the oldest connection without a whole request is
 * closed. With a certificate it speaks TLS 1.2 and 1.3 and nothing else.
 */
#ifndef MG_IO_HTTP_SERVER_H
#define MG_IO_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/metrics.h"

struct mg_http_server;
struct mg_http_exchange;

struct mg_http_server_options {
    const char *address; /* "127.0.0.1:9100", "[::1]:0"; port 0 takes a free one */
    /* PEM; both or none, NULL and "" are none. A certificate that expired is served, with a warning in the
     * log: a probe that does not verify still works, and the log says what to renew. */
    const char *cert_file, *key_file;
    bool is_plaintext_allowed;        /* on addresses that are not loopback; for private networks */
    const struct mg_metrics *metrics; /* borrowed for the server's life */
    /* Asked at each /readyz: true is 200; false is 503 with the reason that it wrote into `ret_reason`. What
     * it wrote beside true is told, too: a remark that does not keep it from its work. */
    bool (*is_ready)(void *arg, char *ret_reason, size_t size);
    /* Gets each other request once it is whole, and answers it, at once or later; NULL: there are none. */
    void (*handle)(void *arg, struct mg_http_exchange *request);
    void *arg;
    unsigned int handled_max; /* requests that `handle` has in hand, streams too; others get 503. 0: 32 */
};

/* What --check-config can know: MG_BAD_INPUT if the address cannot be read or would need a certificate, or a
 * file cannot be used. Listens on nothing. */
enum mg_class mg_http_server_check(const struct mg_http_server_options *options,
                                   struct mg_err *err) MG_MUSTCHECK;

/* MG_BAD_INPUT: as of the check. MG_PERMANENT: the address cannot be listened on. */
enum mg_class mg_http_server_create(struct mg_loop *loop, const struct mg_http_server_options *options,
                                    struct mg_http_server **ret_server, struct mg_err *err) MG_MUSTCHECK;
/* Not from within `handle`; accepts NULL. */
void mg_http_server_destroy(struct mg_http_server *server);
/* Reads certificate and key again; connections from now on get the new one, those that are open may go on for
 * 10 s. On error (as of create) all stays as it was. Without a certificate it does nothing. */
enum mg_class mg_http_server_reload(struct mg_http_server *server, struct mg_err *err) MG_MUSTCHECK;
int mg_http_server_port(const struct mg_http_server *server);

/* ---- a request, until it is answered ---- */

#define MG_HTTP_BODY_MAX                                                                                     \
    (64u * 1024) /* what is larger gets 413; without a length, its connection is closed */

const char *mg_http_exchange_method(const struct mg_http_exchange *request);
const char *mg_http_exchange_path(const struct mg_http_exchange *request); /* decoded, without the query */
/* Decoded; NULL: it has none of this name. */
const char *mg_http_exchange_query(const struct mg_http_exchange *request, const char *name);
const char *mg_http_exchange_header(const struct mg_http_exchange *request, const char *name);
/* How often a header of this name came; of several, mg_http_exchange_header tells the first. */
unsigned int mg_http_exchange_header_count(const struct mg_http_exchange *request, const char *name);
/* By its exact name; NULL also if it has several, of which one may be a stranger's. */
const char *mg_http_exchange_cookie(const struct mg_http_exchange *request, const char *name);
struct mg_slice mg_http_exchange_body(const struct mg_http_exchange *request);

struct mg_http_header {
    const char *name, *value;
};
struct mg_http_response {
    unsigned int status;
    const char *type;                     /* Content-Type; NULL: there is no body */
    struct mg_slice body;                 /* copied */
    const struct mg_http_header *headers; /* ends with name NULL; NULL: none. Cache-Control: no-store goes out
                                           * unless it is among them */
};
/* Ends the request. Whether its client still hears it is not told. */
void mg_http_answer(struct mg_http_exchange *request, const struct mg_http_response *answer);
/* For who answers later: `gone` is called if the request ends without an answer, which only the end of the
 * server or of an old certificate brings about; from then on it must not be answered. */
void mg_http_exchange_on_gone(struct mg_http_exchange *request, void (*gone)(void *arg), void *arg);

/* ---- an answer without end ---- */

#define MG_HTTP_STREAM_UNSENT_MAX (256u * 1024) /* a client that takes no more is let go */

struct mg_http_stream;
/* Ends the request as mg_http_answer does, and gives what is written from then on to its client, bit by bit.
 * The answer's body begins it. `closed` is called once, when the stream is over, whoever ended it; it is gone
 * then. NULL: no memory; the request has been answered with 503. */
struct mg_http_stream *mg_http_stream_open(struct mg_http_exchange *request,
                                           const struct mg_http_response *answer, void (*closed)(void *arg),
                                           void *arg);
/* False: it has been ended, or its client has not taken what was written before, and is let go. One that hung
 * up is noticed by a write, later. */
bool mg_http_stream_write(struct mg_http_stream *stream, struct mg_slice bytes);
/* Ends it once all that was written is sent; nothing more is taken. `closed` is called then. */
void mg_http_stream_end(struct mg_http_stream *stream);

#endif
