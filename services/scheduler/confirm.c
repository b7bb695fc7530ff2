/*
 * Outcomes of publications, by the kind of the message.
 */
#include "confirm.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "scheduler.h"

/* Minimum interval of the log line and the alert of a full queue: its messages come in floods. */
#define MG_REFUSED_RAISE_MS 60000

void mg_confirm_arrived(void *arg, struct mg_send *send)
{
    struct mg_scheduler *scheduler = arg;
    if (send->kind == MG_SEND_REQUEST) {
        mg_gate_published(send->gate, true);
        mg_gate_arrived(send->gate, send->routing_key);
    } else if (send->is_status) {
        mg_metric_add(scheduler->shared.series.statuses[send->status], 1);
    }
    if (send->debt != NULL) {
        mg_debt_settle(scheduler, send, true);
    }
}

/* The outcome of a request is a cause, and the cause that sent the request waits for it. NULL: no memory. */
static struct mg_work *request_note(const struct mg_send *send)
{
    struct mg_work *work = mg_inbox_add_internal(send->scheduler, send->work);
    if (work == NULL) {
        mg_log(MG_LOG_ERROR,
               "could not record an unpublished request: no memory; its cause will be redelivered",
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

/* False for a request that was never sent, or was lost with its connection. */
static bool is_of_its_queue(const struct mg_send *send, enum mg_publish_outcome outcome)
{
    return outcome != MG_PUBLISH_UNSENT &&
           (outcome != MG_PUBLISH_UNKNOWN || mg_broker_is_up(send->scheduler->shared.broker, NULL, 0));
}

/* The broker did not take a request: its step needs a cause (law 2, ack after effects). */
static void request_failed(struct mg_send *send, enum mg_publish_outcome outcome)
{
    bool is_unknown = outcome == MG_PUBLISH_UNKNOWN || send->is_again;
    if (is_of_its_queue(send, outcome)) {
        mg_gate_refused(send->gate, send->routing_key, outcome);
    }
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
    }
}

/* Every queue has a limit (law 14, everything bounded). A refused submission has been answered already. If
 * it went to dead.letters instead, that queue would fill next, and then the intake, for all clients. */
static void refused_is_lost(struct mg_scheduler *scheduler, const struct mg_send *send)
{
    mg_log(MG_LOG_DEBUG, "a refused message is not stored", MG_LOG_TEXT("queue", send->routing_key));
    if (scheduler->confirm.refused_raised_at_boot_ms == 0 ||
        mg_clock_boot_ms() - scheduler->confirm.refused_raised_at_boot_ms >= MG_REFUSED_RAISE_MS) {
        char text[256];
        scheduler->confirm.refused_raised_at_boot_ms = mg_clock_boot_ms();
        (void)snprintf(
            text, sizeof(text),
            "queue %s is full: refused submissions are answered, but no longer stored; check makegood dead "
            "list --queue %s, then drop messages",
            send->routing_key, send->routing_key);
        mg_log(MG_LOG_ERROR, "refused messages are not stored: the queue is full",
               MG_LOG_TEXT("queue", send->routing_key));
        mg_alert_raise(scheduler, MG_ALERT_POISONED, send->routing_key, text, false);
    }
}

void mg_confirm_failed(void *arg, struct mg_send *send, enum mg_publish_outcome outcome, const char *why,
                       bool is_repeated)
{
    struct mg_scheduler *scheduler = arg;
    if (is_repeated) {
        request_again(send);
        return;
    }
    mg_metric_add(scheduler->shared.series.failures[send->kind], 1);
    mg_log(MG_LOG_DEBUG, "the broker did not accept a message", MG_LOG_TEXT("type", send->type),
           MG_LOG_TEXT("queue", send->routing_key), MG_LOG_TEXT("why", why));
    switch (send->kind) {
    case MG_SEND_REQUEST:
        request_failed(send, outcome);
        break;
    case MG_SEND_STATUS:
        if (send->debt != NULL) {
            mg_debt_settle(scheduler, send, false);
        } else if (send->version != 0) {
            const struct mg_owed owed = {.order_id = send->order_id,
                                         .version = send->version,
                                         .is_owed = true,
                                         .reply_to = send->routing_key};
            mg_owed_mark(scheduler, send->work, &owed);
        }
        break;
    case MG_SEND_REJECTED:
        if (outcome == MG_PUBLISH_REFUSED) {
            refused_is_lost(scheduler, send);
        } else if (send->work != NULL) { /* no such queue: to dead.letters, or later */
            send->work->end = mg_work_is_forged(send->work) ? MG_END_LEAVE : MG_END_REJECT;
        }
        break;
    case MG_SEND_ALERT:
    case MG_SEND_RESULT:
    case MG_SEND_KIND_COUNT:
        break;
    }
}
