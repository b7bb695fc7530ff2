/* Alerts outside the transitions of orders. */
#ifndef MG_SCHEDULER_ALERT_RAISE_H
#define MG_SCHEDULER_ALERT_RAISE_H

#include "outbox.h"

#include "base/once.h"

struct mg_alerts {
    struct mg_shared *shared;
    struct mg_outbox *outbox;
    struct mg_buf scratch;
    struct mg_once failure_logged; /* the last store call failed */
};

/* From then on the gates report to it. */
void mg_alerts_init(struct mg_alerts *alerts, struct mg_outbox *outbox, struct mg_gates *gates);
void mg_alerts_finish(struct mg_alerts *alerts);
/* Stores the alert, and publishes it if its row has changed. */
void mg_alert_raise(struct mg_alerts *alerts, enum mg_alert alert, const char *subject, const char *text,
                    bool is_closed);

/* Publishes an alert that is stored already. */
void mg_alert_tell(struct mg_alerts *alerts, enum mg_alert alert, const char *subject, const char *text);

#endif
