/*
 * Answers /healthz, /readyz and /metrics of one process (libmicrohttpd, driven by our loop). GET and HEAD
 * only; anything else is 405, an unknown path 404. Bounded: connections, their time, request sizes.
 */
#ifndef MG_IO_HTTP_SERVER_H
#define MG_IO_HTTP_SERVER_H

#include "base/err.h"
#include "base/loop.h"
#include "base/metrics.h"

struct mg_http_server;

struct mg_http_server_options {
    const char *address;              /* "127.0.0.1:9100", "[::1]:0"; port 0 takes a free one */
    const struct mg_metrics *metrics; /* borrowed for the server's life */
    /* Asked at each /readyz: true is 200; false is 503 with the reason that it wrote into `ret_reason`. */
    bool (*is_ready)(void *arg, char *ret_reason, size_t size);
    void *arg;
};

/* MG_BAD_INPUT: the address cannot be read. MG_PERMANENT: it cannot be listened on. */
enum mg_class mg_http_server_create(struct mg_loop *loop, const struct mg_http_server_options *options,
                                    struct mg_http_server **ret_server, struct mg_err *err) MG_MUSTCHECK;
void mg_http_server_destroy(struct mg_http_server *server); /* accepts NULL */
int mg_http_server_port(const struct mg_http_server *server);

#endif
