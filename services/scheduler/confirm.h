/*
 * Consequences of publish outcomes. A request that the broker does not take becomes a cause of its own, and
 * its service gets an alert. A status is marked as owed.
 */
#ifndef MG_SCHEDULER_CONFIRM_H
#define MG_SCHEDULER_CONFIRM_H

#include "inbox.h"
#include "owed_statuses.h"

struct mg_confirm {
    struct mg_shared *shared;
    struct mg_inbox *inbox;
    struct mg_owing *owing;
    int64_t refused_raised_at_boot_ms; /* last report that refused messages are not kept; 0: none */
};

/* From then on the outbox reports to it. */
void mg_confirm_init(struct mg_confirm *confirm, struct mg_inbox *inbox, struct mg_owing *owing);

#endif
