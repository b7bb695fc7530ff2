/* Alerts outside the transitions of orders. */
#ifndef MG_SCHEDULER_ALERT_RAISE_H
#define MG_SCHEDULER_ALERT_RAISE_H

#include "base/buf.h"
#include "base/once.h"
#include "core/model.h"

struct mg_scheduler;

struct mg_alerts {
    struct mg_buf scratch;
    struct mg_once failure_logged; /* the last store call failed */
};

/* Stores the alert, and publishes it if its row has changed. */
void mg_alert_raise(struct mg_scheduler *scheduler, enum mg_alert alert, const char *subject,
                    const char *text, bool is_closed);

/* Publishes an alert that is stored already. */
void mg_alert_tell(struct mg_scheduler *scheduler, enum mg_alert alert, const char *subject,
                   const char *text);

#endif
