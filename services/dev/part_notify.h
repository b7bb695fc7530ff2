/* The receiving end of sd_notify(3), for one process. */
#ifndef MG_DEV_PART_NOTIFY_H
#define MG_DEV_PART_NOTIFY_H

#include <stdbool.h>

#include "base/loop.h"

struct mg_part_notify;
/* `fn` is called for each STATUS= of notify.h: "ready", or "not ready: " and the reason. NULL: no memory or
 * descriptors. */
struct mg_part_notify *mg_part_notify_create(struct mg_loop *loop, void (*fn)(void *arg, bool is_ready),
                                             void *arg);
void mg_part_notify_destroy(struct mg_part_notify *notify); /* accepts NULL */
/* "NOTIFY_SOCKET=…", for the environment of the process. */
char *mg_part_notify_env(struct mg_part_notify *notify);
/* The last status; "" before the first. */
const char *mg_part_notify_status(const struct mg_part_notify *notify);

#endif
