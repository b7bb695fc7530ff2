/* See alert_publish.h. */
#include "alert_publish.h"

#include "io/amqp/topology.h"

#define ALERT_MAX_BYTES 4096

bool mg_alert_publish(struct mg_broker *broker, const char *exchange, const struct mg_alert_message *alert,
                      mg_published_fn *done, void *arg)
{
    struct mg_buf body;
    struct mg_err err;
    mg_buf_init(&body, ALERT_MAX_BYTES);
    mg_alert_write(alert, &body);
    const struct mg_message message = {
        .exchange = exchange, .routing_key = MG_QUEUE_ALERTS, .type = "alert", .body = mg_buf_slice(&body)};
    bool is_out = !body.failed && mg_broker_publish(broker, &message, done, arg, &err) == MG_OK;
    mg_buf_finish(&body);
    return is_out;
}
