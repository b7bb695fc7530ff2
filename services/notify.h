/*
 * Notifications to the service manager (sd_notify(3)): the service runs, its status, it re-reads its
 * configuration, it ends, and its loop still turns. Without NOTIFY_SOCKET in the environment nothing is sent.
 *
 * READY=1 means that the loop runs and HTTP listens. It does not wait for broker and database: a service
 * waits for them by itself, without a limit, and STATUS= reports the wait.
 */
#ifndef MG_NOTIFY_H
#define MG_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct mg_notify;

/* `is_ready` is called once a second for STATUS=. NULL: no memory. */
struct mg_notify *mg_notify_create(struct mg_loop *loop,
                                   bool (*is_ready)(void *arg, char *ret_reason, size_t size), void *arg);
void mg_notify_destroy(struct mg_notify *notify); /* accepts NULL */

/* Gives the manager the port of this process's HTTP server, which `makegood agents` reads; systemd skips it.
 */
void mg_notify_port(int port);
/* These concern the whole process. READY=1 at the start is sent by the loop's first turn. */
void mg_notify_reloading(void);
void mg_notify_reloaded(void);
void mg_notify_stopping(int64_t at_most_ms); /* the longest time that the end may take */

#endif
