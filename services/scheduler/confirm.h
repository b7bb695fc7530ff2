/*
 * Consequences of publish outcomes. A request that the broker does not take becomes a cause of its own, and
 * its service gets an alert. A status is marked as owed.
 */
#ifndef MG_SCHEDULER_CONFIRM_H
#define MG_SCHEDULER_CONFIRM_H

#include "outbox.h"

struct mg_confirm {
    int64_t refused_raised_at_boot_ms; /* last report that refused messages are not kept; 0: none */
};

/* The outbox's callbacks. */
void mg_confirm_arrived(void *scheduler, struct mg_send *send);
void mg_confirm_failed(void *scheduler, struct mg_send *send, enum mg_publish_outcome outcome,
                       const char *why, bool is_repeated);

#endif
