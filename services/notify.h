/*
 * What a service manager is told (sd_notify(3)): that the service runs, how it is, that it reads its
 * configuration again, that it ends, and that its loop still turns. Nothing happens where nobody listens
 * (no NOTIFY_SOCKET in the environment).
 *
 * READY=1 means that the loop runs and HTTP listens. It does not wait for broker and database: a service
 * waits for them by itself, for as long as it takes, and STATUS= says so.
 */
#ifndef MG_NOTIFY_H
#define MG_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct mg_notify;

/* `is_ready` is asked now and then for STATUS=. NULL: no memory. */
struct mg_notify *mg_notify_create(struct mg_loop *loop,
                                   bool (*is_ready)(void *arg, char *ret_reason, size_t size), void *arg);
void mg_notify_destroy(struct mg_notify *notify); /* accepts NULL */

/* Of the process: READY=1 at its start is said by the loop's first turn. */
void mg_notify_reloading(void);
void mg_notify_reloaded(void);
void mg_notify_stopping(int64_t at_most_ms); /* it may take so long */

#endif
