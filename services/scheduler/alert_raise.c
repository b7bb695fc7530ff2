/*
 * An alert outside the transitions of orders is in no batch, so it has a store call of its own. An alert that
 * cannot be stored is not published either.
 */
#include "alert_raise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "wire/alert.h"

struct mg_alert_call {
    struct mg_alerts *alerts;
    struct mg_alert_message message;
    struct mg_alert_write write;
};

static void alert_publish(struct mg_alerts *alerts, const struct mg_alert_message *message)
{
    mg_buf_clear(&alerts->scratch);
    mg_alert_write(message, &alerts->scratch);
    struct mg_send_spec spec = {.kind = MG_SEND_ALERT,
                                .exchange = MG_EXCHANGE_ALERTS,
                                .routing_key = MG_QUEUE_ALERTS,
                                .type = "alert",
                                .body = mg_buf_slice(&alerts->scratch)};
    struct mg_send *send = alerts->scratch.failed ? NULL : mg_send_create(alerts->outbox, &spec);
    if (send != NULL) {
        mg_outbox_add(alerts->outbox, send);
        mg_outbox_pump(alerts->outbox);
    }
}

static void on_alert_written(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    struct mg_alert_call *call = arg;
    struct mg_alerts *alerts = call->alerts;
    if (err != NULL) {
        mg_log(mg_once_set(&alerts->failure_logged) ? MG_LOG_WARN : MG_LOG_DEBUG, "could not store an alert",
               MG_LOG_TEXT("subject", call->message.subject), MG_LOG_TEXT("why", err->text));
    } else {
        mg_once_reset(&alerts->failure_logged);
        if (count == 1 && is_changed[0]) {
            alert_publish(alerts, &call->message);
        }
    }
    free(call);
}

static void message_fill(const struct mg_alerts *alerts, enum mg_alert alert, const char *subject,
                         const char *text, struct mg_alert_message *ret_message)
{
    ret_message->alert = alert;
    ret_message->at_ms = mg_scheduler_db_now_ms(alerts->shared);
    snprintf(ret_message->subject, sizeof(ret_message->subject), "%s", subject);
    snprintf(ret_message->text, sizeof(ret_message->text), "%s", text);
}

void mg_alert_tell(struct mg_alerts *alerts, enum mg_alert alert, const char *subject, const char *text)
{
    struct mg_alert_message message;
    memset(&message, 0, sizeof(message));
    message_fill(alerts, alert, subject, text, &message);
    snprintf(message.order_id, sizeof(message.order_id), "%s", subject);
    alert_publish(alerts, &message);
}

void mg_alert_raise(struct mg_alerts *alerts, enum mg_alert alert, const char *subject, const char *text,
                    bool is_closed)
{
    struct mg_alert_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        mg_log(MG_LOG_ERROR, "could not raise an alert: no memory", MG_LOG_TEXT("subject", subject));
        return;
    }
    call->alerts = alerts;
    message_fill(alerts, alert, subject, text, &call->message);
    call->message.is_closed = is_closed;
    call->write = (struct mg_alert_write){.alert = alert,
                                          .is_closed = is_closed,
                                          .subject = call->message.subject,
                                          .order_id = "",
                                          .text = mg_slice_of(call->message.text)};
    mg_store_write_alerts(alerts->shared->store, &call->write, 1, on_alert_written, call);
}

static void on_gate_alert(void *arg, enum mg_alert alert, const char *subject, const char *text,
                          bool is_closed)
{
    mg_alert_raise(arg, alert, subject, text, is_closed);
}

void mg_alerts_init(struct mg_alerts *alerts, struct mg_outbox *outbox, struct mg_gates *gates)
{
    alerts->shared = outbox->shared;
    alerts->outbox = outbox;
    mg_buf_init(&alerts->scratch, MG_MESSAGE_MAX);
    gates->raise = on_gate_alert;
    gates->arg = alerts;
}

void mg_alerts_finish(struct mg_alerts *alerts)
{
    mg_buf_finish(&alerts->scratch);
}
