/*
 * Consequences of the outcome of a publication: a request that the broker does not take becomes a cause of
 * its own, a status is written down as owed, a service whose requests are not taken gets its alert.
 */
#ifndef MG_SCHEDULER_CONFIRM_H
#define MG_SCHEDULER_CONFIRM_H

#include "outbox.h"

struct mg_confirm {
    int64_t refused_told_at_boot_ms; /* when it was told that refused messages are not kept */
};

/* The outbox's callbacks. */
void mg_confirm_arrived(void *scheduler, struct mg_send *send);
void mg_confirm_failed(void *scheduler, struct mg_send *send, enum mg_publish_outcome outcome,
                       const char *why, bool is_repeated);

#endif
