/*
 * The outbox: messages that follow from committed decisions, on their way to their confirms. The ack of a
 * cause waits for each of them (law 2). A request that the broker does not take becomes a cause of its own; a
 * status is written down as owed. An unknown outcome is no verdict yet: the message goes out once more,
 * marked `again`, except where that might make a service act twice. A request does so by way of a cause of
 * its own, since its step must be maybe before a second copy of it can be anywhere (law 10).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "scheduler.h"
#include "wire/alert.h"

/* How often an unanswered message is published before it counts as not taken; each waits the confirm
 * time-out. */
#define MG_SEND_TRIES 2
/* The broker had no room although nothing of ours was outstanding: look again soon. */
#define MG_OUTBOX_RETRY_MS 20
/* The log line and the alert of a full queue, at most so often: its messages come in floods. */
#define MG_REFUSED_TELL_MS 60000
#define MG_SEND_TEXTS      10 /* texts behind a send, a NUL each */

static void list_remove(struct mg_send_list *list, struct mg_send *send)
{
    if (send->prev != NULL) {
        send->prev->next = send->next;
    } else {
        list->first = send->next;
    }
    if (send->next != NULL) {
        send->next->prev = send->prev;
    } else {
        list->last = send->prev;
    }
    send->prev = send->next = NULL;
}

void mg_send_list_add(struct mg_send_list *list, struct mg_send *send)
{
    send->next = NULL;
    send->prev = list->last;
    if (list->last != NULL) {
        list->last->next = send;
    } else {
        list->first = send;
    }
    list->last = send;
}

void mg_send_list_drop(struct mg_send_list *list)
{
    while (list->first != NULL) {
        struct mg_send *send = list->first;
        list_remove(list, send);
        free(send);
    }
}

static struct mg_slice text_put(char **at, struct mg_slice text)
{
    if (text.data == NULL) {
        return text;
    }
    struct mg_slice copy = {*at, text.len};
    memcpy(*at, text.data, text.len);
    (*at)[text.len] = '\0';
    *at += text.len + 1;
    return copy;
}

struct mg_send *mg_send_create(struct mg_scheduler *scheduler, const struct mg_send_spec *spec)
{
    struct mg_slice key = mg_slice_of(spec->routing_key);
    struct mg_slice rendered = spec->request != NULL ? spec->request->request : (struct mg_slice){NULL, 0};
    size_t request_size = spec->request != NULL ? sizeof(*spec->request) : 0;
    size_t size = sizeof(struct mg_send) + request_size + key.len + spec->message_id.len +
                  spec->correlation_id.len + spec->reply_to.len + spec->traceparent.len + spec->app_id.len +
                  spec->reason.len + spec->origin.len + spec->body.len + rendered.len + MG_SEND_TEXTS;
    struct mg_send *send = calloc(1, size);
    if (send == NULL) {
        return NULL;
    }
    scheduler->made_bytes += size;
    char *at = (char *)(send + 1);
    send->scheduler = scheduler;
    send->work = spec->work;
    send->kind = spec->kind;
    send->exchange = spec->exchange;
    send->type = spec->type;
    if (spec->request != NULL) { /* first, where the memory is aligned */
        send->request = (struct mg_request *)(void *)at;
        *send->request = *spec->request;
        at += request_size;
        send->request->request = text_put(&at, rendered);
    }
    send->routing_key = text_put(&at, key).data;
    send->message_id = text_put(&at, spec->message_id).data;
    send->correlation_id = text_put(&at, spec->correlation_id).data;
    send->reply_to = text_put(&at, spec->reply_to).data;
    send->traceparent = text_put(&at, spec->traceparent).data;
    send->app_id = text_put(&at, spec->app_id).data;
    send->reason = text_put(&at, spec->reason).data;
    send->origin = text_put(&at, spec->origin).data;
    send->body = text_put(&at, spec->body);
    return send;
}

void mg_outbox_add(struct mg_scheduler *scheduler, struct mg_send_list *list)
{
    while (list->first != NULL) {
        struct mg_send *send = list->first;
        list_remove(list, send);
        if (send->work != NULL) {
            mg_work_hold(send->work);
        }
        mg_send_list_add(&scheduler->unsent, send);
    }
}

/* What became of a request is a cause, and the one that made the request waits for it. NULL: no memory. */
static struct mg_work *request_note(const struct mg_send *send)
{
    struct mg_work *work = mg_work_create_internal(send->scheduler, send->work);
    if (work == NULL) {
        mg_log(MG_LOG_ERROR, "could not note an unpublished request: no memory; its cause will come again",
               MG_LOG_TEXT("order_id", send->order_id));
        mg_work_give_up(send->work);
        return NULL;
    }
    memcpy(work->order_id, send->request->order_id, sizeof(work->order_id));
    memcpy(work->step, send->request->step, sizeof(work->step));
    work->attempt = send->request->attempt;
    work->kind = send->request->kind;
    return work;
}

/* The broker did not take a request: its step must know (law 2). */
static void request_failed(struct mg_send *send, bool is_unknown)
{
    mg_gate_published(send->gate, false);
    struct mg_work *work = request_note(send);
    if (work != NULL) {
        work->executed = is_unknown ? MG_EXECUTED_MAYBE : MG_EXECUTED_NO;
    }
}

static void request_again(struct mg_send *send)
{
    struct mg_work *work = request_note(send);
    if (work != NULL) {
        work->is_republished = true;
        work->tries = send->tries;
    }
}

/* Every queue has an end (law 14). A refused submission has been answered; if it went to dead.letters
 * instead, that would be full next, and then the intake, to all clients. */
static void refused_is_lost(struct mg_scheduler *scheduler, const struct mg_send *send)
{
    mg_log(MG_LOG_DEBUG, "a refused message is not kept", MG_LOG_TEXT("queue", send->routing_key));
    if (scheduler->refused_told_at_boot_ms == 0 ||
        mg_clock_boot_ms() - scheduler->refused_told_at_boot_ms >= MG_REFUSED_TELL_MS) {
        char text[256];
        scheduler->refused_told_at_boot_ms = mg_clock_boot_ms();
        (void)snprintf(text, sizeof(text),
                       "queue %s is full: what is refused is answered and no longer kept; see makegood dead "
                       "list --queue %s, then drop",
                       send->routing_key, send->routing_key);
        mg_log(MG_LOG_ERROR, "refused messages are not kept: the queue is full",
               MG_LOG_TEXT("queue", send->routing_key));
        mg_alert_raise(scheduler, MG_ALERT_POISONED, send->routing_key, text, false);
    }
}

static void send_failed(struct mg_send *send, const char *why, enum mg_publish_outcome outcome)
{
    struct mg_scheduler *scheduler = send->scheduler;
    mg_metric_add(scheduler->counters.failures[send->kind], 1);
    mg_log(MG_LOG_DEBUG, "a message was not taken", MG_LOG_TEXT("type", send->type),
           MG_LOG_TEXT("queue", send->routing_key), MG_LOG_TEXT("why", why));
    switch (send->kind) {
    case MG_SEND_REQUEST:
        request_failed(send, outcome == MG_PUBLISH_UNKNOWN || send->is_again);
        break;
    case MG_SEND_STATUS:
        if (send->debt != NULL) {
            mg_debt_settle(scheduler, send, false);
        } else if (send->version != 0) {
            const struct mg_owed word = {.order_id = send->order_id,
                                         .version = send->version,
                                         .is_owed = true,
                                         .reply_to = send->routing_key};
            mg_owed_mark(scheduler, send->work, &word);
        }
        break;
    case MG_SEND_REJECTED:
        if (outcome == MG_PUBLISH_REFUSED) {
            refused_is_lost(scheduler, send);
        } else if (send->work != NULL) { /* there is no such queue: dead.letters must take it */
            send->work->end = MG_END_REJECT;
        }
        break;
    case MG_SEND_ALERT:
    case MG_SEND_RESULT:
    case MG_SEND_KIND_COUNT:
        break;
    }
}

static void send_end(struct mg_send *send)
{
    struct mg_scheduler *scheduler = send->scheduler;
    struct mg_work *work = send->work;
    free(send);
    if (work != NULL) {
        mg_work_release(scheduler, work);
    }
}

/* Sending it twice can only harm where the definition says that one send is all there may be. A message that
 * went down with its connection has not used up a try: it waits for the next one, however long the broker is
 * away. */
static bool may_send_again(struct mg_send *send)
{
    bool is_once = send->request != NULL && send->request->is_at_most_once;
    if (!is_once && !mg_broker_is_up(send->scheduler->broker, NULL, 0)) {
        send->tries = 0;
        return true;
    }
    return !is_once && send->tries < MG_SEND_TRIES;
}

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_send *send = arg;
    struct mg_scheduler *scheduler = send->scheduler;
    list_remove(&scheduler->sent, send);
    scheduler->sent_count--;
    if (outcome == MG_PUBLISH_CONFIRMED) {
        MG_FAILPOINT(SCHEDULER_CONFIRMED);
        if (send->kind == MG_SEND_REQUEST) {
            mg_gate_published(send->gate, true);
            mg_gate_arrived(send->gate, send->routing_key);
        } else if (send->is_status) {
            mg_metric_add(scheduler->counters.statuses[send->status], 1);
        }
        if (send->debt != NULL) {
            mg_debt_settle(scheduler, send, true);
        }
        send_end(send);
    } else if (outcome == MG_PUBLISH_UNKNOWN && may_send_again(send) && send->kind != MG_SEND_REQUEST) {
        mg_send_list_add(&scheduler->unsent, send);
    } else if (outcome == MG_PUBLISH_UNKNOWN && may_send_again(send)) {
        request_again(send);
        send_end(send);
    } else {
        send_failed(send, mg_publish_outcome_name(outcome), outcome);
        send_end(send);
    }
    mg_outbox_pump(scheduler);
    mg_scheduler_wake(scheduler);
}

/* MG_TRANSIENT: no room or no memory, it stays. Anything else but MG_OK: it can never be sent. */
static enum mg_class send_publish(struct mg_send *send, struct mg_err *err)
{
    struct mg_scheduler *scheduler = send->scheduler;
    struct mg_message message = {.exchange = send->exchange,
                                 .routing_key = send->routing_key,
                                 .type = send->type,
                                 .message_id = send->message_id,
                                 .correlation_id = send->correlation_id,
                                 .reply_to = send->reply_to,
                                 .traceparent = send->traceparent,
                                 .app_id = send->app_id,
                                 .reason = send->reason,
                                 .origin = send->origin,
                                 .is_again = send->is_again,
                                 .body = send->body};
    if (send->request != NULL) {
        send->request->sent_at_ms = mg_scheduler_db_now_ms(scheduler);
        mg_buf_clear(&scheduler->scratch);
        mg_request_write(send->request, &scheduler->scratch);
        if (scheduler->scratch.failed) {
            return mg_err_set(err, mg_buf_class(&scheduler->scratch),
                              "could not write a request: larger than %zu bytes or no memory",
                              scheduler->scratch.max);
        }
        message.body = mg_buf_slice(&scheduler->scratch);
    }
    return mg_broker_publish(scheduler->broker, &message, on_published, send, err);
}

void mg_outbox_pump(struct mg_scheduler *scheduler)
{
    while (scheduler->unsent.first != NULL && mg_broker_is_up(scheduler->broker, NULL, 0)) {
        struct mg_send *send = scheduler->unsent.first;
        struct mg_err err;
        enum mg_class class = send_publish(send, &err);
        if (class == MG_TRANSIENT) {
            if (scheduler->sent_count == 0 && !mg_timer_is_active(scheduler->outbox_timer)) {
                mg_timer_start(scheduler->outbox_timer, MG_OUTBOX_RETRY_MS, 0);
            }
            return;
        }
        list_remove(&scheduler->unsent, send);
        if (class == MG_OK) {
            MG_FAILPOINT(SCHEDULER_PUBLISHED);
            send->tries++;
            scheduler->sent_count++;
            mg_send_list_add(&scheduler->sent, send);
        } else {
            mg_log(MG_LOG_ERROR, "cannot publish a message", MG_LOG_TEXT("why", err.text),
                   MG_LOG_TEXT("queue", send->routing_key));
            send_failed(send, err.text, MG_PUBLISH_RETURNED);
            send_end(send);
        }
    }
}

void mg_outbox_finish(struct mg_scheduler *scheduler)
{
    mg_send_list_drop(&scheduler->unsent);
    mg_send_list_drop(&scheduler->sent);
    scheduler->sent_count = 0;
}

/* ---- alerts that belong to no order's transition ---- */

struct mg_alert_call {
    struct mg_scheduler *scheduler;
    struct mg_alert_message message;
    struct mg_alert_write write;
};

static void alert_publish(struct mg_scheduler *scheduler, const struct mg_alert_message *message)
{
    mg_buf_clear(&scheduler->scratch);
    mg_alert_write(message, &scheduler->scratch);
    struct mg_send_spec spec = {.kind = MG_SEND_ALERT,
                                .exchange = MG_EXCHANGE_ALERTS,
                                .routing_key = MG_QUEUE_ALERTS,
                                .type = "alert",
                                .body = mg_buf_slice(&scheduler->scratch)};
    struct mg_send *send = scheduler->scratch.failed ? NULL : mg_send_create(scheduler, &spec);
    if (send != NULL) {
        struct mg_send_list list = {send, send};
        mg_outbox_add(scheduler, &list);
        mg_outbox_pump(scheduler);
    }
}

static void on_alert_written(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    struct mg_alert_call *call = arg;
    struct mg_scheduler *scheduler = call->scheduler;
    if (err != NULL) {
        mg_log(scheduler->is_alert_unwritten ? MG_LOG_DEBUG : MG_LOG_WARN, /* one line for many in a row */
               "could not store an alert", MG_LOG_TEXT("subject", call->message.subject),
               MG_LOG_TEXT("why", err->text));
    } else if (count == 1 && is_changed[0]) {
        alert_publish(scheduler, &call->message);
    }
    scheduler->is_alert_unwritten = err != NULL;
    free(call);
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
    call->message.alert = alert;
    call->message.is_closed = is_closed;
    call->message.at_ms = mg_scheduler_db_now_ms(scheduler);
    snprintf(call->message.subject, sizeof(call->message.subject), "%s", subject);
    snprintf(call->message.text, sizeof(call->message.text), "%s", text);
    call->write = (struct mg_alert_write){.alert = alert,
                                          .is_closed = is_closed,
                                          .subject = call->message.subject,
                                          .order_id = "",
                                          .text = mg_slice_of(call->message.text)};
    mg_store_write_alerts(scheduler->store, &call->write, 1, on_alert_written, call);
}
