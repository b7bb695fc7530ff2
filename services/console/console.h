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

#include <stddef.h>

#include "process.h"

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
    const struct mg_process_options *process; /* set by the check */
    int64_t keep_alive_ms;                    /* of idle connections; 0: MG_HTTP_IDLE_MS */
    /* One line for each token: role (reader, operator; proxy: may name users), name, SHA-256 of the token
     * in hexadecimal. "": every client that reaches the address may read, none may act; then it must be
     * loopback, without a proxy. */
    const char *tokens_file;
    struct mg_console_proxy proxy;
    int64_t memory_budget;       /* bytes, see MG_CONSOLE_MEMORY_…; 0: by the limit of the process */
    size_t memory_bytes;         /* the result; set by the check */
    const struct mg_list *hosts; /* accepted Host names, in addition to those of loopback */
};

/* The console as a process; its `own` options are those above. It serves at once; database and broker
 * may come up later. SIGHUP also reads the tokens again; sessions of removed tokens end. */
extern const struct mg_process_service MG_CONSOLE;

#endif
