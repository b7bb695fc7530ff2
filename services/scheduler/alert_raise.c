/*
 * An alert outside the transitions of orders is in no batch, so it has a store call of its own. An alert that
 * cannot be stored is not published either.
 */
#include "alert_raise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "scheduler.h"
#include "wire/alert.h"

struct mg_alert_call {
    struct mg_scheduler *scheduler;
    struct mg_alert_message message;
    struct mg_alert_write write;
};

static void alert_publish(struct mg_scheduler *scheduler, const struct mg_alert_message *message)
{
    mg_buf_clear(&scheduler->alerts.scratch);
    mg_alert_write(message, &scheduler->alerts.scratch);
    struct mg_send_spec spec = {.kind = MG_SEND_ALERT,
                                .exchange = MG_EXCHANGE_ALERTS,
                                .routing_key = MG_QUEUE_ALERTS,
                                .type = "alert",
                                .body = mg_buf_slice(&scheduler->alerts.scratch)};
    struct mg_send *send = scheduler->alerts.scratch.failed ? NULL : mg_send_create(scheduler, &spec);
    if (send != NULL) {
        mg_outbox_add(scheduler, send);
        mg_outbox_pump(scheduler);
    }
}

static void on_alert_written(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    struct mg_alert_call *call = arg;
    struct mg_scheduler *scheduler = call->scheduler;
    if (err != NULL) {
        mg_log(mg_once_set(&scheduler->alerts.failure_logged) ? MG_LOG_WARN : MG_LOG_DEBUG,
               "could not store an alert", MG_LOG_TEXT("subject", call->message.subject),
               MG_LOG_TEXT("why", err->text));
    } else {
        mg_once_reset(&scheduler->alerts.failure_logged);
        if (count == 1 && is_changed[0]) {
            alert_publish(scheduler, &call->message);
        }
    }
    free(call);
}

static void message_fill(struct mg_scheduler *scheduler, enum mg_alert alert, const char *subject,
                         const char *text, struct mg_alert_message *ret_message)
{
    ret_message->alert = alert;
    ret_message->at_ms = mg_scheduler_db_now_ms(&scheduler->shared);
    snprintf(ret_message->subject, sizeof(ret_message->subject), "%s", subject);
    snprintf(ret_message->text, sizeof(ret_message->text), "%s", text);
}

void mg_alert_tell(struct mg_scheduler *scheduler, enum mg_alert alert, const char *subject, const char *text)
{
    struct mg_alert_message message;
    memset(&message, 0, sizeof(message));
    message_fill(scheduler, alert, subject, text, &message);
    snprintf(message.order_id, sizeof(message.order_id), "%s", subject);
    alert_publish(scheduler, &message);
}

void mg_alert_raise(struct mg_scheduler *scheduler, enum mg_alert alert, const char *subject,
                    const char *text, bool is_closed)
{
    struct mg_alert_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        mg_log(MG_LOG_ERROR, "could not raise an alert: no memory", MG_LOG_TEXT("subject", subject));
        return;
    }
    call->scheduler = scheduler;
    message_fill(scheduler, alert, subject, text, &call->message);
    call->message.is_closed = is_closed;
    call->write = (struct mg_alert_write){.alert = alert,
                                          .is_closed = is_closed,
                                          .subject = call->message.subject,
                                          .order_id = "",
                                          .text = mg_slice_of(call->message.text)};
    mg_store_write_alerts(scheduler->shared.store, &call->write, 1, on_alert_written, call);
}
