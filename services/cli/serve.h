/* The life of a server of the tool (`makegood console`, `makegood gateway`) as a process: its start, its
 * signals, its notifications to the service manager, its end. */
#ifndef MG_CLI_SERVE_H
#define MG_CLI_SERVE_H

#include "cli.h"

struct mg_server {
    const char *name; /* in logs */
    /* `options` are those of mg_serve, and are borrowed for the server's life. */
    enum mg_class (*create)(struct mg_loop *loop, const void *options, void **ret_server, struct mg_err *err);
    bool (*is_ready)(void *server, char *ret_reason, size_t size);
    int (*port)(const void *server);
    void (*reload)(void *server); /* at SIGHUP */
    /* Has the requests in hand answered within the time, and calls `drained` once. */
    void (*drain)(void *server, int64_t timeout_ms, void (*drained)(void *arg), void *arg);
    void (*destroy)(void *server);
};

/* Serves until SIGTERM or SIGINT; then it drains, for --drain-timeout at most, or until the second signal. */
enum mg_exit_code mg_serve(struct mg_cli *cli, const struct mg_server *server, const void *options);

#endif
