/*
 * Statuses that could not go out (law 2): the event that keeps them is marked as owed, and then the cause is
 * acked. When the supervisor asks, they are published again from the event, and the mark is taken away once
 * all have arrived.
 *
 * Marks go to the store in batches, one call at a time; a mark that the store did not take is tried again,
 * and its cause stays unacked until then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/log.h"
#include "scheduler.h"
#include "wire/status.h"

#define MG_MARKS_AT_ONCE  256 /* as many as a batch has causes by default */
#define MG_STORE_RETRY_MS 200

struct mg_owed_mark {
    struct mg_owed_mark *next;
    struct mg_work *work;
    char order_id[MG_ORDER_ID_MAX + 1];
    uint64_t version;
    bool is_owed;
};

void mg_owed_mark(struct mg_scheduler *scheduler, struct mg_work *work, const char *order_id,
                  uint64_t version, bool is_owed)
{
    MG_FAILPOINT(SCHEDULER_OWED);
    struct mg_owed_mark *mark = calloc(1, sizeof(*mark));
    if (mark == NULL) {
        mg_log(MG_LOG_ERROR, "could not note an owed status: no memory; its cause will come again",
               MG_LOG_TEXT("order_id", order_id));
        mg_work_give_up(work);
        return;
    }
    mark->work = work;
    mark->version = version;
    mark->is_owed = is_owed;
    snprintf(mark->order_id, sizeof(mark->order_id), "%s", order_id);
    if (work != NULL) {
        mg_work_hold(work);
    }
    if (scheduler->marks_last != NULL) {
        scheduler->marks_last->next = mark;
    } else {
        scheduler->marks = mark;
    }
    scheduler->marks_last = mark;
    mg_owed_flush(scheduler);
}

static void marks_put_back(struct mg_scheduler *scheduler)
{
    struct mg_owed_mark *last = scheduler->marks_in_hand;
    while (last->next != NULL) {
        last = last->next;
    }
    last->next = scheduler->marks;
    if (scheduler->marks == NULL) {
        scheduler->marks_last = last;
    }
    scheduler->marks = scheduler->marks_in_hand;
    scheduler->marks_in_hand = NULL;
}

static void on_marked(void *arg, const struct mg_err *err)
{
    struct mg_scheduler *scheduler = arg;
    if (err != NULL) {
        mg_log(MG_LOG_WARN, "could not mark owed statuses", MG_LOG_TEXT("why", err->text));
        marks_put_back(scheduler);
        mg_timer_start(scheduler->store_retry, MG_STORE_RETRY_MS, 0);
        return;
    }
    MG_FAILPOINT(SCHEDULER_MARKED);
    struct mg_owed_mark *mark = scheduler->marks_in_hand;
    scheduler->marks_in_hand = NULL;
    while (mark != NULL) {
        struct mg_owed_mark *next = mark->next;
        if (mark->work != NULL) {
            mg_work_release(scheduler, mark->work);
        }
        free(mark);
        mark = next;
    }
    mg_owed_flush(scheduler);
    mg_scheduler_wake(scheduler);
}

void mg_owed_flush(struct mg_scheduler *scheduler)
{
    if (scheduler->marks == NULL || scheduler->marks_in_hand != NULL || !scheduler->is_store_up ||
        mg_timer_is_active(scheduler->store_retry)) {
        return;
    }
    struct mg_owed rows[MG_MARKS_AT_ONCE];
    int count = 0;
    struct mg_owed_mark *last = scheduler->marks;
    rows[count++] = (struct mg_owed){last->order_id, last->version, last->is_owed};
    while (last->next != NULL && count < MG_MARKS_AT_ONCE) {
        last = last->next;
        rows[count++] = (struct mg_owed){last->order_id, last->version, last->is_owed};
    }
    scheduler->marks_in_hand = scheduler->marks;
    scheduler->marks = last->next;
    scheduler->marks_last = scheduler->marks != NULL ? scheduler->marks_last : NULL;
    last->next = NULL;
    mg_store_mark_owed(scheduler->store, rows, count, on_marked, scheduler);
}

static void marks_free(struct mg_owed_mark *mark)
{
    while (mark != NULL) {
        struct mg_owed_mark *next = mark->next;
        free(mark);
        mark = next;
    }
}

void mg_owed_finish(struct mg_scheduler *scheduler)
{
    marks_free(scheduler->marks);
    marks_free(scheduler->marks_in_hand);
    scheduler->marks = scheduler->marks_last = scheduler->marks_in_hand = NULL;
}

/* ---- publishing again ---- */

struct mg_resend {
    struct mg_scheduler *scheduler;
    struct mg_work *work;
};

void mg_debt_settle(struct mg_scheduler *scheduler, struct mg_send *send, bool has_arrived)
{
    struct mg_debt *debt = send->debt;
    send->debt = NULL;
    debt->has_failed = debt->has_failed || !has_arrived;
    debt->open--;
    if (debt->open == 0) {
        if (!debt->has_failed) {
            mg_owed_mark(scheduler, send->work, debt->order_id, debt->version, false);
        }
        free(debt);
    }
}

/* Sends the statuses of one event; what cannot be sent now stays owed. */
static void event_resend(struct mg_resend *resend, const struct mg_order_record *record,
                         const struct mg_event_record *event)
{
    struct mg_debt *debt = calloc(1, sizeof(*debt));
    struct mg_send_list list = {NULL, NULL};
    if (debt == NULL) {
        return;
    }
    memcpy(debt->order_id, record->order_id, sizeof(debt->order_id));
    debt->version = event->version;
    struct mg_status_text status;
    for (int i = 0; mg_status_kept(event, i, &status); i++) {
        struct mg_send *send = mg_status_send(resend->scheduler, resend->work, record, &status);
        if (send == NULL) {
            debt->has_failed = true;
            continue;
        }
        send->debt = debt;
        debt->open++;
        mg_send_list_add(&list, send);
    }
    if (debt->open == 0) {
        if (!debt->has_failed || record->reply_to.data == NULL) { /* nobody asks for them any more */
            mg_owed_mark(resend->scheduler, resend->work, record->order_id, event->version, false);
        }
        free(debt);
    }
    mg_outbox_add(resend->scheduler, &list);
}

static void on_owed_loaded(void *arg, const struct mg_order_record *record,
                           const struct mg_event_record *events, int count, const struct mg_err *err)
{
    struct mg_resend *resend = arg;
    struct mg_scheduler *scheduler = resend->scheduler;
    if (err != NULL) { /* the mark stands, the supervisor will ask again */
        mg_log(MG_LOG_DEBUG, "could not load owed statuses", MG_LOG_TEXT("why", err->text));
    }
    for (int i = 0; err == NULL && record != NULL && i < count; i++) {
        event_resend(resend, record, &events[i]);
    }
    mg_work_settle(scheduler, resend->work, MG_END_ACK);
    free(resend);
    mg_outbox_pump(scheduler);
    mg_scheduler_wake(scheduler);
}

void mg_owed_resend(struct mg_scheduler *scheduler, struct mg_work *work, const char *order_id)
{
    struct mg_resend *resend = calloc(1, sizeof(*resend));
    if (resend == NULL) {
        mg_work_settle(scheduler, work, MG_END_ACK);
        return;
    }
    resend->scheduler = scheduler;
    resend->work = work;
    mg_store_load_owed(scheduler->store, order_id, on_owed_loaded, resend);
}

struct mg_status_text mg_status_text_of(struct mg_slice body)
{
    struct mg_status_message status;
    struct mg_err err;
    struct mg_status_text text = {.body = body};
    if (body.data != NULL && mg_status_parse(body, &status, &err) == MG_OK) {
        text.seq = status.seq;
        text.status = status.status;
    }
    return text;
}

bool mg_status_kept(const struct mg_event_record *event, int index, struct mg_status_text *ret_status)
{
    char pointer[16];
    snprintf(pointer, sizeof(pointer), "/%d", index);
    const struct mg_slice none = {NULL, 0};
    struct mg_slice body = event->statuses.data != NULL ? mg_json_find(event->statuses, pointer) : none;
    *ret_status = mg_status_text_of(body);
    ret_status->version = event->version;
    return body.data != NULL;
}

struct mg_send *mg_status_send(struct mg_scheduler *scheduler, struct mg_work *work,
                               const struct mg_order_record *record, const struct mg_status_text *status)
{
    if (record->reply_to.data == NULL || status->seq == 0) {
        return NULL;
    }
    char message_id[MG_ORDER_ID_MAX + 24], queue[256];
    snprintf(message_id, sizeof(message_id), "%s.%llu", record->order_id, (unsigned long long)status->seq);
    snprintf(queue, sizeof(queue), "%.*s", (int)record->reply_to.len, record->reply_to.data);
    struct mg_send_spec spec = {.work = work,
                                .kind = MG_SEND_STATUS,
                                .exchange = "",
                                .type = "status",
                                .routing_key = queue,
                                .message_id = mg_slice_of(message_id),
                                .correlation_id = record->correlation_id,
                                .traceparent = record->traceparent,
                                .body = status->body};
    struct mg_send *send = mg_send_create(scheduler, &spec);
    if (send != NULL) {
        memcpy(send->order_id, record->order_id, sizeof(send->order_id));
        send->version = status->version;
        send->is_status = true;
        send->status = status->status;
    }
    return send;
}
