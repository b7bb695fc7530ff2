/* Scheduler, supervisor, the runner of bulk actions → operator.alerts (proto/alert.schema.json). One code and
 * subject have at most one open alert. */
#ifndef MG_WIRE_ALERT_H
#define MG_WIRE_ALERT_H

#include "core/model.h"
#include "json/json.h"

#define MG_ALERT_SUBJECT_MAX                                                                                 \
    (MG_ORDER_ID_MAX + 1 + MG_NAME_MAX) /* an order id, order.step, a service, queue or bulk action */
#define MG_ALERT_TEXT_MAX 1023

struct mg_alert_message {
    enum mg_alert alert;
    bool is_closed; /* the cause is gone */
    char subject[MG_ALERT_SUBJECT_MAX + 1];
    char order_id[MG_ORDER_ID_MAX + 1]; /* "" if no order is concerned */
    char text[MG_ALERT_TEXT_MAX + 1];   /* the event, and the operator's remedy */
    int64_t at_ms;
};

void mg_alert_write(const struct mg_alert_message *alert, struct mg_buf *ret_body);
enum mg_class mg_alert_parse(struct mg_slice body, struct mg_alert_message *ret_alert,
                             struct mg_err *err) MG_MUSTCHECK;

#endif
