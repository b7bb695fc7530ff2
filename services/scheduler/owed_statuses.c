/*
 * Statuses that could not go out (law 2, ack after effects): the event that keeps them is marked as owed, and
 * then the cause is acked. At the supervisor's command, or when the client posts its order again, they are
 * published again from the event. The mark is cleared once all have arrived. The store gives up statuses that
 * are owed for too long (law 14, everything bounded), with one alert for each queue.
 *
 * Marks go to the store in batches, one call at a time. A mark that the store did not take is tried again,
 * and its cause stays unacked until then. After a failure the next batch is half as large, until the one that
 * the store refuses is alone: a damaged or locked row. It rests, and the others go on.
 */
#include "owed_statuses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "status_make.h"
#include "wire/alert.h"

#define MG_MARKS_AT_ONCE  256 /* as many as a batch has causes by default */
#define MG_STORE_RETRY_MS 200
/* A mark refused alone: a lock may end soon; damage lasts until a person mends it. */
#define MG_MARK_REST_MS     1000
#define MG_MARK_REST_MAX_MS (30 * 1000)
/* As many open alerts about queues as an operator reads one by one. One more alert stands for all others. */
#define MG_GIVEN_UP_ALERTS_MAX 20
#define MG_GIVEN_UP_OTHERS     "other queues"

struct mg_owed_mark {
    STAILQ_ENTRY(mg_owed_mark) entry;
    struct mg_work *work;
    struct mg_owed owed; /* order_id and reply_to point below */
    char order_id[MG_ORDER_ID_MAX + 1], reply_to[MG_REPLY_TO_MAX + 1];
    int64_t rest_ms, due_boot_ms; /* 0: it was not refused alone */
};

void mg_owed_init(struct mg_owing *owing, struct mg_alerts *alerts)
{
    owing->shared = alerts->shared;
    owing->outbox = alerts->outbox;
    owing->alerts = alerts;
    STAILQ_INIT(&owing->marks);
    STAILQ_INIT(&owing->in_hand);
    STAILQ_INIT(&owing->resting);
}

void mg_owed_mark(struct mg_owing *owing, struct mg_work *work, const struct mg_owed *owed)
{
    MG_FAILPOINT(SCHEDULER_OWED);
    struct mg_owed_mark *mark = calloc(1, sizeof(*mark));
    if (mark == NULL) {
        mg_log(MG_LOG_ERROR, "could not record an owed status: no memory; its cause will be redelivered",
               MG_LOG_TEXT("order_id", owed->order_id));
        mg_work_give_up(work);
        return;
    }
    mark->work = work;
    mark->owed = *owed;
    snprintf(mark->order_id, sizeof(mark->order_id), "%s", owed->order_id);
    snprintf(mark->reply_to, sizeof(mark->reply_to), "%s", owed->reply_to);
    mark->owed.order_id = mark->order_id;
    mark->owed.reply_to = mark->reply_to;
    if (work != NULL) {
        mg_work_hold(work);
    }
    STAILQ_INSERT_TAIL(&owing->marks, mark, entry);
    mg_owed_flush(owing);
}

/* In front of those that came meanwhile. */
static void marks_put_back(struct mg_owing *owing)
{
    STAILQ_CONCAT(&owing->in_hand, &owing->marks);
    STAILQ_CONCAT(&owing->marks, &owing->in_hand);
}

/* Subjects are printable ASCII, and may be shorter than a queue's name; the text has the whole name. */
static void subject_of(const char *queue, char ret_subject[MG_ALERT_SUBJECT_MAX + 1])
{
    snprintf(ret_subject, MG_ALERT_SUBJECT_MAX + 1, "%.*s", MG_ALERT_SUBJECT_MAX, queue);
    for (char *at = ret_subject; *at != '\0'; at++) {
        *at = *at >= ' ' && *at <= '~' ? *at : '?';
    }
}

static void given_up_report(const struct mg_owing *owing, const struct mg_given_up *given_up)
{
    char age[32], text[MG_ALERT_TEXT_MAX + 1], subject[MG_ALERT_SUBJECT_MAX + 1];
    bool is_one_of_many = given_up->alerts_open >= MG_GIVEN_UP_ALERTS_MAX;
    mg_metric_add(owing->shared->series.given_up, (double)given_up->count);
    mg_log(MG_LOG_WARN, "statuses were given up", MG_LOG_TEXT("queue", given_up->queue),
           MG_LOG_NUMBER("events", given_up->count));
    mg_duration_format(owing->shared->options->owed_for_ms, age, sizeof(age));
    subject_of(is_one_of_many ? MG_GIVEN_UP_OTHERS : given_up->queue, subject);
    snprintf(
        text, sizeof(text),
        "%s%s accepts no statuses; those owed for %s are given up. makegood order show lists them, and a "
        "client that posts its order again receives its state",
        is_one_of_many ? "one of many: " : "", given_up->queue, age);
    mg_alert_raise(owing->alerts, MG_ALERT_STATUSES_GIVEN_UP, subject, text, false);
}

/* The only one in hand. */
static void mark_rest(struct mg_owing *owing, const struct mg_err *err)
{
    struct mg_owed_mark *mark = STAILQ_FIRST(&owing->in_hand);
    STAILQ_REMOVE_HEAD(&owing->in_hand, entry);
    if (mark->rest_ms == 0) {
        mg_log(MG_LOG_WARN, "the database refuses to mark an order's owed statuses; this is retried",
               MG_LOG_TEXT("order_id", mark->order_id), MG_LOG_TEXT("why", err->text));
    }
    int64_t rest_ms = mark->rest_ms == 0 ? MG_MARK_REST_MS : mark->rest_ms * 2;
    mark->rest_ms = rest_ms < MG_MARK_REST_MAX_MS ? rest_ms : MG_MARK_REST_MAX_MS;
    mark->due_boot_ms = mg_clock_boot_ms() + mark->rest_ms;
    STAILQ_INSERT_TAIL(&owing->resting, mark, entry);
}

static void marks_refused(struct mg_owing *owing, const struct mg_err *err)
{
    mg_log(MG_LOG_DEBUG, "could not mark owed statuses", MG_LOG_TEXT("why", err->text));
    if (owing->in_hand_count == 1) {
        mark_rest(owing, err);
    } else {
        owing->limit = owing->in_hand_count / 2;
        marks_put_back(owing);
    }
    mg_timer_start(owing->shared->store_retry, MG_STORE_RETRY_MS, 0);
}

static void on_marked(void *arg, const struct mg_given_up *given_up, int count, const struct mg_err *err)
{
    struct mg_owing *owing = arg;
    if (err != NULL) {
        marks_refused(owing, err);
        return;
    }
    owing->limit = owing->limit < MG_MARKS_AT_ONCE ? owing->limit * 2 : 0;
    MG_FAILPOINT(SCHEDULER_MARKED);
    for (int i = 0; i < count; i++) {
        given_up_report(owing, &given_up[i]);
    }
    struct mg_owed_marks stored = STAILQ_HEAD_INITIALIZER(stored); /* a release may begin the next call */
    STAILQ_CONCAT(&stored, &owing->in_hand);
    while (!STAILQ_EMPTY(&stored)) {
        struct mg_owed_mark *mark = STAILQ_FIRST(&stored);
        STAILQ_REMOVE_HEAD(&stored, entry);
        if (mark->work != NULL) {
            mg_work_release(&owing->shared->works, mark->work);
        }
        free(mark);
    }
    mg_owed_flush(owing);
    mg_scheduler_wake(owing->shared);
}

/* True: one that rests is due, and is in hand alone. */
static bool resting_take(struct mg_owing *owing, struct mg_owed *ret_row)
{
    struct mg_owed_mark *mark = STAILQ_FIRST(&owing->resting);
    while (mark != NULL && mg_clock_boot_ms() < mark->due_boot_ms) {
        mark = STAILQ_NEXT(mark, entry);
    }
    if (mark == NULL) {
        return false;
    }
    STAILQ_REMOVE(&owing->resting, mark, mg_owed_mark, entry);
    STAILQ_INSERT_TAIL(&owing->in_hand, mark, entry);
    *ret_row = mark->owed;
    return true;
}

/* Apart from mg_owed_flush, which every turn calls: a frame of this size is probed page by page. */
static __attribute__((noinline)) void marks_send(struct mg_owing *owing)
{
    struct mg_owed rows[MG_MARKS_AT_ONCE];
    int count = resting_take(owing, &rows[0]) ? 1 : 0;
    int limit = count > 0 ? 1 : owing->limit;
    limit = limit > 0 && limit < MG_MARKS_AT_ONCE ? limit : MG_MARKS_AT_ONCE;
    while (!STAILQ_EMPTY(&owing->marks) && count < limit) {
        struct mg_owed_mark *mark = STAILQ_FIRST(&owing->marks);
        STAILQ_REMOVE_HEAD(&owing->marks, entry);
        STAILQ_INSERT_TAIL(&owing->in_hand, mark, entry);
        rows[count++] = mark->owed;
    }
    owing->in_hand_count = count;
    if (count > 0) {
        mg_store_mark_owed(owing->shared->store, rows, count, owing->shared->options->owed_for_ms, on_marked,
                           owing);
    }
}

void mg_owed_flush(struct mg_owing *owing)
{
    bool has_marks = !STAILQ_EMPTY(&owing->marks) || !STAILQ_EMPTY(&owing->resting);
    if (has_marks && STAILQ_EMPTY(&owing->in_hand) && owing->shared->is_store_up &&
        !mg_timer_is_active(owing->shared->store_retry)) {
        marks_send(owing);
    }
}

void mg_owed_finish(struct mg_owing *owing)
{
    marks_put_back(owing);
    STAILQ_CONCAT(&owing->marks, &owing->resting);
    while (!STAILQ_EMPTY(&owing->marks)) {
        struct mg_owed_mark *mark = STAILQ_FIRST(&owing->marks);
        STAILQ_REMOVE_HEAD(&owing->marks, entry);
        free(mark);
    }
}

/* ---- publishing again ---- */

struct mg_resend {
    struct mg_owing *owing;
    struct mg_work *work;
    char order_id[MG_ORDER_ID_MAX + 1];
    bool is_asked; /* the work is a command for this alone */
};

void mg_debt_settle(struct mg_owing *owing, struct mg_send *send, bool has_arrived)
{
    struct mg_debt *debt = send->debt;
    send->debt = NULL;
    debt->has_failed = debt->has_failed || !has_arrived;
    debt->open--;
    if (debt->open == 0) {
        debt->owed.is_owed = debt->has_failed;
        mg_owed_mark(owing, send->work, &debt->owed);
        free(debt);
    }
}

static struct mg_debt *debt_create(const struct mg_order_record *record, uint64_t version)
{
    struct mg_debt *debt = calloc(1, sizeof(*debt));
    if (debt != NULL) {
        memcpy(debt->order_id, record->order_id, sizeof(debt->order_id));
        snprintf(debt->reply_to, sizeof(debt->reply_to), "%.*s", (int)record->reply_to.len,
                 record->reply_to.data != NULL ? record->reply_to.data : "");
        debt->owed = (struct mg_owed){
            .order_id = debt->order_id, .version = version, .is_retry = true, .reply_to = debt->reply_to};
    }
    return debt;
}

/* Sends the statuses of one event. A status that cannot be sent now stays owed. */
static void event_resend(struct mg_resend *resend, const struct mg_order_record *record,
                         const struct mg_event_record *event)
{
    struct mg_debt *debt = debt_create(record, event->version);
    struct mg_send_list list = TAILQ_HEAD_INITIALIZER(list);
    if (debt == NULL) {
        return;
    }
    struct mg_status_text status;
    for (int i = 0; mg_status_kept(event, i, &status); i++) {
        if (record->reply_to.data == NULL || status.seq == 0) {
            continue; /* without a reply queue, or unreadable: it can never go out */
        }
        struct mg_send *send = mg_status_send(resend->owing->outbox, resend->work, record, &status);
        if (send == NULL) {
            debt->has_failed = true;
            continue;
        }
        send->debt = debt;
        debt->open++;
        TAILQ_INSERT_TAIL(&list, send, entry);
    }
    if (debt->open == 0) {
        if (!debt->has_failed) {
            debt->reply_to[0] = '\0'; /* no queue was tried */
            mg_owed_mark(resend->owing, resend->work, &debt->owed);
        }
        free(debt);
    }
    mg_outbox_add_all(resend->owing->outbox, &list);
}

/* Counts like a queue that took nothing: retried with growing delays, up to the time limit. After the
 * oldest events are given up, those after them have their turn. */
static void load_failed(struct mg_resend *resend, const struct mg_err *err)
{
    const struct mg_owed unread = {
        .order_id = resend->order_id, .version = 0, .is_owed = true, .is_retry = true, .reply_to = ""};
    mg_log(MG_LOG_WARN, "could not load owed statuses; loading is retried",
           MG_LOG_TEXT("order_id", resend->order_id), MG_LOG_TEXT("why", err->text));
    mg_owed_mark(resend->owing, resend->work, &unread);
}

static void on_owed_loaded(void *arg, const struct mg_order_record *record,
                           const struct mg_event_record *events, int count, const struct mg_err *err)
{
    struct mg_resend *resend = arg;
    struct mg_owing *owing = resend->owing;
    if (err != NULL) { /* the marks remain, and the supervisor repeats its command */
        load_failed(resend, err);
    }
    for (int i = 0; err == NULL && record != NULL && i < count; i++) {
        event_resend(resend, record, &events[i]);
    }
    if (resend->is_asked) {
        mg_work_settle(&owing->shared->works, resend->work, MG_END_ACK);
    } else {
        mg_work_release(&owing->shared->works, resend->work);
    }
    free(resend);
    mg_outbox_pump(owing->outbox);
    mg_scheduler_wake(owing->shared);
}

/* False: no memory. */
static bool owed_load(struct mg_owing *owing, struct mg_work *work, const char *order_id, bool is_asked)
{
    struct mg_resend *resend = calloc(1, sizeof(*resend));
    if (resend == NULL) {
        return false;
    }
    *resend = (struct mg_resend){.owing = owing, .work = work, .is_asked = is_asked};
    snprintf(resend->order_id, sizeof(resend->order_id), "%s", order_id);
    mg_store_load_owed(owing->shared->store, order_id, on_owed_loaded, resend);
    return true;
}

void mg_owed_resend(struct mg_owing *owing, struct mg_work *work, const char *order_id)
{
    if (!owed_load(owing, work, order_id, true)) {
        mg_work_settle(&owing->shared->works, work, MG_END_ACK);
    }
}

void mg_owed_recall(struct mg_owing *owing, struct mg_work *work, const char *order_id)
{
    mg_work_hold(work);
    if (!owed_load(owing, work, order_id, false)) {
        mg_work_release(&owing->shared->works, work);
    }
}
