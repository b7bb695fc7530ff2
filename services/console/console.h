/*
 * The operator's web page: what the tool shows and does, for a browser. Pages are static assets within the
 * executable; data comes as JSON under /api/v1, from the same reports that the tool prints, by one session
 * whose statements are bounded; what is live comes as server-sent events, from one poller however many look
 * on.
 *
 * It changes nothing by GET. Orders change by commands to the schedulers, as with the tool. It drives
 * batches, whoever has started them (operator/batch_runner.h).
 */
#ifndef MG_CONSOLE_H
#define MG_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "base/loop.h"
#include "io/amqp/address.h"

/* A proxy at which people log in, and which names them in headers of each request. */
struct mg_console_proxy {
    const char *user_header;               /* who asks; "": no proxy names anybody */
    const char *groups_header;             /* their groups, between commas or bars; "": none are told */
    const struct mg_list *operator_groups; /* who is in one of these may act, anybody else may read */
};

struct mg_console_options {
    const char *listen; /* "127.0.0.1:9180" */
    const char *cert_file,
        *key_file; /* PEM; "" for none: then `listen` is loopback, or plaintext is allowed */
    /* Who may do what, a line each: role (reader, operator; proxy: may name others), name, SHA-256 of the
     * token in hexadecimal. "": all who reach the address may read, nobody may act; then `listen` is
     * loopback, and there is no proxy. */
    const char *tokens_file;
    struct mg_console_proxy proxy;
    const struct mg_list *hosts; /* by which browsers may call it, beside those of loopback */
    struct mg_broker_address broker;
    const char *pg_dsn;
    struct mg_config *config; /* where the secrets of both servers are read again; NULL: nowhere */
};

struct mg_console;

/* Reads and judges all that the options name, and connects nothing: for --check-config. MG_BAD_INPUT. */
enum mg_class mg_console_check(const struct mg_console_options *options, struct mg_err *err) MG_MUSTCHECK;
/* Serves from now on; database and broker may come later. The options are borrowed. */
enum mg_class mg_console_create(struct mg_loop *loop, const struct mg_console_options *options,
                                struct mg_console **ret_console, struct mg_err *err) MG_MUSTCHECK;
void mg_console_destroy(struct mg_console *console); /* accepts NULL */
/* Of a struct mg_console: whether pages can show anything, and what is missing. */
bool mg_console_is_ready(void *console, char *ret_reason, size_t size);
int mg_console_port(const struct mg_console *console);
/* Reads secrets, tokens and certificate again, and logs what became of it; what is wrong stays as it was.
 * What connects later uses what is new. Sessions of tokens that are no longer there end. */
void mg_console_reload(struct mg_console *console);

#endif
