/*
 * Outcomes of publications, by the kind of the message.
 */
#include "confirm.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* Minimum interval of the log line and the alert of a full queue: its messages come in floods. */
#define MG_REFUSED_RAISE_MS 60000

static void on_arrived(void *arg, struct mg_send *send)
{
    struct mg_confirm *confirm = arg;
    if (send->kind == MG_SEND_REQUEST) {
        mg_gate_published(send->gate, true);
        mg_gate_arrived(send->gate, send->routing_key);
    } else if (send->is_status) {
        mg_metric_add(confirm->shared->series.statuses[send->status], 1);
    }
    if (send->debt != NULL) {
        mg_debt_settle(confirm->owing, send, true);
    }
}

/* The outcome of a request is a cause, and the cause that sent the request waits for it. NULL: no memory. */
static struct mg_work *request_note(const struct mg_confirm *confirm, const struct mg_send *send)
{
    struct mg_work *work = mg_inbox_add_internal(confirm->inbox, send->work);
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
static bool is_of_its_queue(const struct mg_confirm *confirm, enum mg_publish_outcome outcome)
{
    return outcome != MG_PUBLISH_UNSENT &&
           (outcome != MG_PUBLISH_UNKNOWN || mg_broker_is_up(confirm->shared->broker, NULL, 0));
}

/* The broker did not take a request: its step needs a cause (law 2, ack after effects). */
static void request_failed(const struct mg_confirm *confirm, struct mg_send *send,
                           enum mg_publish_outcome outcome)
{
    bool is_unknown = outcome == MG_PUBLISH_UNKNOWN || send->is_again;
    if (is_of_its_queue(confirm, outcome)) {
        mg_gate_refused(send->gate, send->routing_key, outcome);
    }
    struct mg_work *work = request_note(confirm, send);
    if (work != NULL) {
        work->executed = is_unknown ? MG_EXECUTED_MAYBE : MG_EXECUTED_NO;
    }
}

static void request_again(const struct mg_confirm *confirm, const struct mg_send *send)
{
    struct mg_work *work = request_note(confirm, send);
    if (work != NULL) {
        work->is_republished = true;
    }
}

/* Every queue has a limit (law 14, everything bounded). A refused submission has been answered already. If
 * it went to dead.letters instead, that queue would fill next, and then the intake, for all clients. */
static void refused_is_lost(struct mg_confirm *confirm, const struct mg_send *send)
{
    mg_log(MG_LOG_DEBUG, "a refused message is not stored", MG_LOG_TEXT("queue", send->routing_key));
    if (confirm->refused_raised_at_boot_ms == 0 ||
        mg_clock_boot_ms() - confirm->refused_raised_at_boot_ms >= MG_REFUSED_RAISE_MS) {
        char text[256];
        confirm->refused_raised_at_boot_ms = mg_clock_boot_ms();
        (void)snprintf(
            text, sizeof(text),
            "queue %s is full: refused submissions are answered, but no longer stored; check makegood dead "
            "list --queue %s, then drop messages",
            send->routing_key, send->routing_key);
        mg_log(MG_LOG_ERROR, "refused messages are not stored: the queue is full",
               MG_LOG_TEXT("queue", send->routing_key));
        mg_alert_raise(confirm->owing->alerts, MG_ALERT_POISONED, send->routing_key, text, false);
    }
}

static void on_failed(void *arg, struct mg_send *send, enum mg_publish_outcome outcome, const char *why,
                      bool is_repeated)
{
    struct mg_confirm *confirm = arg;
    if (is_repeated) {
        request_again(confirm, send);
        return;
    }
    mg_metric_add(confirm->shared->series.failures[send->kind], 1);
    mg_log(MG_LOG_DEBUG, "the broker did not accept a message", MG_LOG_TEXT("type", send->type),
           MG_LOG_TEXT("queue", send->routing_key), MG_LOG_TEXT("why", why));
    switch (send->kind) {
    case MG_SEND_REQUEST:
        request_failed(confirm, send, outcome);
        break;
    case MG_SEND_STATUS:
        if (send->debt != NULL) {
            mg_debt_settle(confirm->owing, send, false);
        } else if (send->version != 0) {
            const struct mg_owed owed = {.order_id = send->order_id,
                                         .version = send->version,
                                         .is_owed = true,
                                         .reply_to = send->routing_key};
            mg_owed_mark(confirm->owing, send->work, &owed);
        }
        break;
    case MG_SEND_REJECTED:
        if (outcome == MG_PUBLISH_REFUSED) {
            refused_is_lost(confirm, send);
        } else if (send->work != NULL) { /* no such queue: to dead.letters, or later */
            send->work->end = mg_work_is_forged(send->work) ? MG_END_LEAVE : MG_END_REJECT;
        }
        break;
    case MG_SEND_TURN: /* the supervisor finds it */
    case MG_SEND_ALERT:
    case MG_SEND_RESULT:
    case MG_SEND_KIND_COUNT:
        break;
    }
}

void mg_confirm_init(struct mg_confirm *confirm, struct mg_inbox *inbox, struct mg_owing *owing)
{
    confirm->shared = owing->shared;
    confirm->inbox = inbox;
    confirm->owing = owing;
    owing->outbox->on_arrived = on_arrived;
    owing->outbox->on_failed = on_failed;
    owing->outbox->arg = confirm;
}
