/*
 * The end of a delivery, after its work has ended. A message that this instance cannot take is left: it waits
 * for a while before its requeue, and the broker prefers another instance from then on.
 */
#include "ack.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "core/newer.h"
#include "io/amqp/topology.h"

/* The wait of a left message before its requeue. With the limit of deliveries, a message of a newer
 * version has 75 s until it is set aside: one step of a rolling restart, and a margin. */
#define MG_LEAVE_MS 5000
/* Messages without room to wait are requeued at once. In a roll-out, the schedulers upgraded first have a
 * higher rank by then. After so many requeues none of them is running. */
#define MG_NEWER_AT_ONCE_MAX 5
/* Minimum interval of the log line, and of a queue's alert: such messages come in floods. */
#define MG_NEWER_REPORT_MS 60000

static void work_leave(struct mg_ack *ack, struct mg_work *work)
{
    mg_consumed_clear(ack->consumed, work);
    work->leave_at_boot_ms = mg_clock_boot_ms() + MG_LEAVE_MS;
    ack->shared->has_left = true;
    mg_scheduler_rank(ack->shared);
    mg_work_list_append(&ack->shared->works.left, work);
    if (!mg_timer_is_active(ack->leave_timer)) {
        mg_timer_start(ack->leave_timer, MG_LEAVE_MS, MG_LEAVE_MS);
    }
}

/* True if MG_NEWER_REPORT_MS has passed since `at`, which is then set to now. */
static bool is_time_to_report(int64_t *at_boot_ms)
{
    int64_t now_ms = mg_clock_boot_ms();
    if (*at_boot_ms != 0 && now_ms - *at_boot_ms < MG_NEWER_REPORT_MS) {
        return false;
    }
    *at_boot_ms = now_ms;
    return true;
}

static void newer_left(struct mg_ack *ack, struct mg_newer_queue *newer, const char *name)
{
    mg_metric_add(ack->shared->series.left, 1);
    ack->newer_left++;
    ack->shared->has_left = true;
    mg_scheduler_rank(ack->shared);
    if (is_time_to_report(&newer->logged_at_boot_ms)) {
        mg_log(MG_LOG_WARN, "messages of a newer version are left to other schedulers; upgrade this one",
               MG_LOG_TEXT("queue", name), MG_LOG_NUMBER("left", ack->newer_left));
    }
}

static void newer_set_aside(struct mg_ack *ack, struct mg_newer_queue *newer, const char *name)
{
    mg_metric_add(ack->shared->series.dead_lettered, 1);
    ack->newer_set_aside++;
    if (is_time_to_report(&newer->raised_at_boot_ms)) {
        char text[256];
        (void)snprintf(
            text, sizeof(text),
            "messages of %s have a version that no running scheduler can read, and are in %s: upgrade the "
            "schedulers, then run makegood dead requeue",
            name, MG_QUEUE_DEAD);
        mg_log(MG_LOG_ERROR, "messages of a newer version are dead-lettered", MG_LOG_TEXT("queue", name),
               MG_LOG_NUMBER("set_aside", ack->newer_set_aside));
        mg_alert_raise(ack->alerts, MG_ALERT_NEWER_VERSION, name, text, false);
    }
}

/* False: the message waits here and is requeued later. */
static bool newer_end(struct mg_ack *ack, struct mg_work *work)
{
    struct mg_newer_queue *newer = &ack->newer[work->lane];
    const char *name = mg_consumed_queues[work->lane];
    switch (mg_newer_judge(work->delivery->given_count, newer->held_count,
                           mg_consumed_prefetch(ack->consumed, work->lane), MG_NEWER_AT_ONCE_MAX)) {
    case MG_NEWER_HOLD:
        newer_left(ack, newer, name);
        newer->held_count++;
        work->is_held_as_newer = true;
        work_leave(ack, work);
        return false;
    case MG_NEWER_GIVE_BACK:
        newer_left(ack, newer, name);
        mg_broker_requeue(ack->shared->broker, work->delivery);
        return true;
    case MG_NEWER_SET_ASIDE:
        newer_set_aside(ack, newer, name);
        mg_broker_reject(ack->shared->broker, work->delivery);
        return true;
    }
    return true;
}

/* A piece of work is settled, and nothing of it is pending. */
static void on_settled(void *arg, struct mg_work *work)
{
    struct mg_ack *ack = arg;
    struct mg_work *origin = work->origin;
    if (work->delivery == NULL && work->end != MG_END_ACK) {
        mg_work_give_up(work); /* the broker only has the message that it follows from */
    }
    if (work->delivery != NULL) {
        switch (work->end) {
        case MG_END_ACK:
            mg_broker_ack(ack->shared->broker, work->delivery);
            MG_FAILPOINT(SCHEDULER_ACKED);
            break;
        case MG_END_REJECT:
            mg_metric_add(ack->shared->series.dead_lettered, 1);
            mg_broker_reject(ack->shared->broker, work->delivery);
            break;
        case MG_END_LEAVE:
            work_leave(ack, work);
            return;
        case MG_END_NEWER:
            if (!newer_end(ack, work)) {
                return;
            }
            break;
        }
    }
    mg_consumed_taken(ack->consumed, work);
    mg_consumed_clear(ack->consumed, work);
    mg_work_free(&ack->shared->works, work);
    if (origin != NULL) {
        mg_work_release(&ack->shared->works, origin);
    }
    if (ack->shared->is_draining) {
        mg_scheduler_wake(ack->shared);
    }
}

void mg_ack_left_due(struct mg_ack *ack, bool is_all)
{
    int64_t now_ms = mg_clock_boot_ms();
    while (ack->shared->works.left.first != NULL &&
           (is_all || ack->shared->works.left.first->leave_at_boot_ms <= now_ms)) {
        struct mg_work *work = mg_work_list_pop(&ack->shared->works.left);
        ack->newer[work->lane].held_count -= work->is_held_as_newer ? 1 : 0;
        mg_consumed_drop(ack->consumed, work);
    }
    if (ack->shared->works.left.first == NULL) {
        mg_timer_stop(ack->leave_timer);
    }
}

static void on_leave(void *arg)
{
    mg_ack_left_due(arg, false);
}

bool mg_ack_init(struct mg_ack *ack, struct mg_consumed *consumed, struct mg_alerts *alerts)
{
    ack->shared = consumed->shared;
    ack->consumed = consumed;
    ack->alerts = alerts;
    ack->shared->works.on_settled = on_settled;
    ack->shared->works.arg = ack;
    ack->leave_timer = mg_timer_create(ack->shared->loop, on_leave, ack);
    return ack->leave_timer != NULL;
}

void mg_ack_finish(struct mg_ack *ack)
{
    mg_timer_destroy(ack->leave_timer);
}
