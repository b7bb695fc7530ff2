/*
 * Answers /healthz, /readyz and /metrics of one process (libmicrohttpd, driven by our loop). GET and HEAD
 * only; anything else is 405, an unknown path 404. Bounded: connections, their time, request sizes. With a
 * certificate it speaks TLS 1.2 and 1.3 and nothing else.
 */
#ifndef MG_IO_HTTP_SERVER_H
#define MG_IO_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/metrics.h"

struct mg_http_server;

struct mg_http_server_options {
    const char *address; /* "127.0.0.1:9100", "[::1]:0"; port 0 takes a free one */
    /* PEM; both or none, NULL and "" are none. A certificate that expired is served, with a warning in the
     * log: a probe that does not verify still works, and the log says what to renew. */
    const char *cert_file, *key_file;
    bool is_plaintext_allowed;        /* on addresses that are not loopback; for private networks */
    const struct mg_metrics *metrics; /* borrowed for the server's life */
    /* Asked at each /readyz: true is 200; false is 503 with the reason that it wrote into `ret_reason`. */
    bool (*is_ready)(void *arg, char *ret_reason, size_t size);
    void *arg;
};

/* What --check-config can know: MG_BAD_INPUT if the address cannot be read or would need a certificate, or a
 * file cannot be used. Listens on nothing. */
enum mg_class mg_http_server_check(const struct mg_http_server_options *options,
                                   struct mg_err *err) MG_MUSTCHECK;

/* MG_BAD_INPUT: as of the check. MG_PERMANENT: the address cannot be listened on. */
enum mg_class mg_http_server_create(struct mg_loop *loop, const struct mg_http_server_options *options,
                                    struct mg_http_server **ret_server, struct mg_err *err) MG_MUSTCHECK;
void mg_http_server_destroy(struct mg_http_server *server); /* accepts NULL */
/* Reads certificate and key again; connections from now on get the new one, those that are open may go on for
 * 10 s. On error (as of create) all stays as it was. Without a certificate it does nothing. */
enum mg_class mg_http_server_reload(struct mg_http_server *server, struct mg_err *err) MG_MUSTCHECK;
int mg_http_server_port(const struct mg_http_server *server);

#endif
