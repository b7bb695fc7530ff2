/*
 * Publishing an alert that is no consequence of an order's event. The caller has written it to the table
 * before, so that a lost message loses no alert.
 */
#ifndef MG_ALERT_PUBLISH_H
#define MG_ALERT_PUBLISH_H

#include "io/amqp/broker.h"
#include "wire/alert.h"

/* `exchange`: MG_EXCHANGE_ALERTS, or "" (the default exchange) for a user without the right to write there.
 * `done` may be NULL. False: the message does not go out, and `done` is not called. */
bool mg_alert_publish(struct mg_broker *broker, const char *exchange, const struct mg_alert_message *alert,
                      mg_published_fn *done, void *arg);

#endif
