/*
 * The operator's web page: the functions of the tool in a browser. Pages are static assets inside the
 * executable. Data comes as JSON under /api/v1, from the reports that the tool prints, through one session
 * with bounded statements. Live data comes as server-sent events, from one poller for all viewers.
 *
 * GET changes nothing. Orders change by commands to the schedulers, as with the tool. The console also drives
 * bulk actions, including those that the tool has started (operator/bulk_runner.h).
 */
#ifndef MG_CONSOLE_H
#define MG_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "base/loop.h"
#include "io/amqp/address.h"

/* A proxy at which operators log in. It names the user in headers of each request. */
struct mg_console_proxy {
    const char *user_header;               /* names the user; "": there is no proxy */
    const char *groups_header;             /* the user's groups, separated by comma or bar; "": none */
    const struct mg_list *operator_groups; /* members may act, other users only read */
};

/* Shares of the memory budget: one part in so many for each. */
#define MG_CONSOLE_MEMORY_BODIES 8
#define MG_CONSOLE_MEMORY_UNSENT 2 /* answers, and events that browsers have not read yet */

struct mg_console_options {
    const char *listen;               /* "127.0.0.1:9180" */
    const char *cert_file, *key_file; /* PEM; "": needs a loopback `listen` or plaintext allowed */
    int64_t keep_alive_ms;            /* of idle connections; 0: MG_HTTP_IDLE_MS */
    /* One line for each token: role (reader, operator; proxy: may name users), name, SHA-256 of the token
     * in hexadecimal. "": every client that reaches the address may read, none may act; then `listen` must
     * be loopback, without a proxy. */
    const char *tokens_file;
    struct mg_console_proxy proxy;
    int64_t memory_budget;       /* bytes, see MG_CONSOLE_MEMORY_…; 0: by the limit of the process */
    const struct mg_list *hosts; /* accepted Host names, beside those of loopback */
    struct mg_broker_address broker;
    const char *pg_dsn;
    struct mg_config *config; /* for mg_console_reload; NULL: secrets stay */
};

struct mg_console;

/* Checks all options, files included, without connecting; for --check-config. MG_BAD_INPUT. */
enum mg_class mg_console_check(const struct mg_console_options *options, struct mg_err *err) MG_MUSTCHECK;
/* Serves at once; database and broker may come up later. The options are borrowed. */
enum mg_class mg_console_create(struct mg_loop *loop, const struct mg_console_options *options,
                                struct mg_console **ret_console, struct mg_err *err) MG_MUSTCHECK;
void mg_console_destroy(struct mg_console *console); /* accepts NULL */
/* For a struct mg_console: whether pages can show data; `ret_reason` names the missing part. */
bool mg_console_is_ready(void *console, char *ret_reason, size_t size);
/* Answers the requests in hand, ends live pages, and takes no further connection. `drained` is called once,
 * when each request has its answer. */
void mg_console_drain(struct mg_console *console, void (*drained)(void *arg), void *arg);
int mg_console_port(const struct mg_console *console);
/* Reads secrets, tokens and certificate again and logs the result; an invalid one stays as it was. Later
 * connections use the new values. Sessions of removed tokens end. */
void mg_console_reload(struct mg_console *console);

#endif
