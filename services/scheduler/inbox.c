/*
 * Work that waits, by lane, and the end of each piece of work. The order of taking is law 7's: what the
 * broker did not take, then replies and commands, then intake; `high` before `normal`, of which one place in
 * eight is kept so that it never stands still. A message that was given out twice before may be what kills
 * its handler: it is taken alone.
 *
 * A delivery is acked here and nowhere else, when it is settled and nothing that follows from it is pending.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "core/newer.h"
#include "scheduler.h"

/* Of eight places given to intake, normal has one for certain. */
#define MG_NORMAL_SHARE 8
/* Less room than this for publishing, and new orders wait: what is going on needs it. */
#define MG_INTAKE_ROOM 64
/* An order has one submission and some replies. With less room for them, bursts go past the scheduler that
 * leads to another, which reads what the first one knows. */
#define MG_REPLIES_SHARE 3
/* How long what is left waits before it is given back. With the bound of deliveries a message of a newer
 * version has 75 s until it is set aside: a rolling restart's step, and a little. */
#define MG_LEAVE_MS 5000
/* Those that find no room to wait are given back at once: the first schedulers of a roll-out have a higher
 * rank by then. After so many times none of them is there. */
#define MG_NEWER_AT_ONCE_MAX 5
/* A log line, and the alert of a queue, at most so often: they come in floods. */
#define MG_NEWER_TELL_MS 60000
/* As often as anybody scrapes. */
#define MG_WATCH_MS 1000

static const char *const QUEUES[MG_LANE_CONSUMERS] = {[MG_LANE_REPLIES] = MG_QUEUE_REPLIES,
                                                      [MG_LANE_COMMANDS] = MG_QUEUE_COMMANDS,
                                                      [MG_LANE_HIGH] = MG_QUEUE_INTAKE_HIGH,
                                                      [MG_LANE_NORMAL] = MG_QUEUE_INTAKE};

static void lane_append(struct mg_lane_list *lane, struct mg_work *work)
{
    work->next = NULL;
    if (lane->last != NULL) {
        lane->last->next = work;
    } else {
        lane->first = work;
    }
    lane->last = work;
    lane->count++;
}

static struct mg_work *lane_pop(struct mg_lane_list *lane)
{
    struct mg_work *work = lane->first;
    if (work != NULL) {
        lane->first = work->next;
        lane->last = lane->first != NULL ? lane->last : NULL;
        lane->count--;
        work->next = NULL;
    }
    return work;
}

static struct mg_work *work_create(struct mg_scheduler *scheduler, enum mg_lane lane)
{
    struct mg_work *work = calloc(1, sizeof(*work));
    if (work == NULL) {
        return NULL;
    }
    work->lane = lane;
    work->all_next = scheduler->all;
    if (scheduler->all != NULL) {
        scheduler->all->all_prev = work;
    }
    scheduler->all = work;
    scheduler->work_count++;
    return work;
}

static void work_free(struct mg_scheduler *scheduler, struct mg_work *work)
{
    if (work->all_prev != NULL) {
        work->all_prev->all_next = work->all_next;
    } else {
        scheduler->all = work->all_next;
    }
    if (work->all_next != NULL) {
        work->all_next->all_prev = work->all_prev;
    }
    scheduler->work_count--;
    mg_work_clear(scheduler, work);
    free(work);
}

uint16_t mg_inbox_prefetch(const struct mg_scheduler *scheduler, enum mg_lane lane)
{
    int64_t prefetch = scheduler->options->prefetch * (lane == MG_LANE_REPLIES ? MG_REPLIES_SHARE : 1);
    return (uint16_t)(prefetch < MG_PREFETCH_MAX ? prefetch : MG_PREFETCH_MAX);
}

/* A consumer that was started anew may bring a prefetch beside what is left of the one before. More cannot be
 * of the present connection: the oldest are of an earlier one, which gives them again, and giving them back
 * sends nothing. So a connection that comes and goes does not fill the memory. */
static void lane_trim(struct mg_scheduler *scheduler, enum mg_lane lane)
{
    while (scheduler->lanes[lane].count > 2 * mg_inbox_prefetch(scheduler, lane)) {
        struct mg_work *work = lane_pop(&scheduler->lanes[lane]);
        mg_broker_requeue(scheduler->broker, work->delivery);
        work_free(scheduler, work);
    }
}

static void lane_note(struct mg_scheduler *scheduler, enum mg_lane lane)
{
    mg_metric_set(scheduler->counters.waiting[lane], scheduler->lanes[lane].count);
}

/* By x-death `dead requeue` finds out which exchange a letter proves its sender by. RabbitMQ (3.10 to 4.2)
 * updates an entry that is there, whoever wrote it, and leaves its exchange. So a message that comes with one
 * from a sender of its own exchange is kept as a copy without it, which cannot be requeued. */
static void forged_set_aside(struct mg_scheduler *scheduler, struct mg_work *work)
{
    const struct mg_delivery *delivery = work->delivery;
    struct mg_send_spec spec = {
        .work = work,
        .kind = MG_SEND_REJECTED,
        .exchange = "",
        .routing_key = MG_QUEUE_DEAD,
        .type = work->lane == MG_LANE_REPLIES ? "reply" : "submission",
        .message_id = delivery->message_id,
        .correlation_id = delivery->correlation_id,
        .origin = delivery->exchange,
        .reason = mg_slice_of("it came with the header x-death, which is the broker's to write"),
        .body = delivery->body};
    struct mg_send *send = mg_send_create(scheduler, &spec);
    if (send != NULL) {
        struct mg_send_list list = {send, send};
        mg_log(MG_LOG_ERROR, "a message came with a header x-death of its sender's; it changes nothing",
               MG_LOG_TEXT("exchange", delivery->exchange.data));
        mg_metric_add(scheduler->counters.dead_lettered, 1);
        mg_outbox_add(scheduler, &list);
    }
    mg_work_settle(scheduler, work, send != NULL ? MG_END_ACK : MG_END_LEAVE);
    mg_outbox_pump(scheduler);
}

void mg_inbox_add(struct mg_scheduler *scheduler, struct mg_delivery *delivery)
{
    struct mg_work *work = NULL;
    enum mg_lane lane = (enum mg_lane)delivery->consumer;
    if (!scheduler->is_draining && delivery->consumer >= 0 && delivery->consumer < MG_LANE_CONSUMERS) {
        work = work_create(scheduler, lane);
    }
    if (work == NULL) { /* draining, or no memory: another instance, or later */
        mg_broker_requeue(scheduler->broker, delivery);
        return;
    }
    work->delivery = delivery;
    delivery->user = work;
    work->is_again = delivery->is_redelivered;
    scheduler->queues[lane].taken += delivery->is_redelivered ? 0 : 1;
    if (delivery->has_died && mg_topology_is_of_one(delivery->exchange)) {
        forged_set_aside(scheduler, work);
        return;
    }
    if (lane == MG_LANE_REPLIES && mg_slice_is(delivery->type, "service_report")) {
        mg_reports_add(scheduler, work);
        return;
    }
    MG_FAILPOINT(SCHEDULER_RECEIVED);
    if (mg_work_isolate(scheduler, work)) {
        return;
    }
    lane_append(&scheduler->lanes[lane], work);
    lane_trim(scheduler, lane);
    lane_note(scheduler, lane);
    mg_scheduler_wake(scheduler);
}

static void on_queue_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct mg_scheduler *scheduler = arg;
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        struct mg_lane_queue *seen = &scheduler->queues[i];
        if (strcmp(QUEUES[i], queue) == 0) { /* as many as the prefetch may be on their way here */
            mg_queue_metrics_seen(&seen->metrics, ready_messages, consumers, seen->taken,
                                  mg_inbox_prefetch(scheduler, (enum mg_lane)i));
        }
    }
}

void mg_inbox_watch(struct mg_scheduler *scheduler)
{
    struct mg_err err;
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        mg_queue_metrics_init(&scheduler->queues[i].metrics, scheduler->metrics, QUEUES[i]);
        if (mg_broker_watch_queue(scheduler->broker, QUEUES[i], MG_WATCH_MS, on_queue_seen, scheduler,
                                  &err) != MG_OK) {
            mg_log(MG_LOG_WARN, "could not watch a queue", MG_LOG_TEXT("queue", QUEUES[i]),
                   MG_LOG_TEXT("why", err.text));
        }
    }
}

void mg_inbox_unseen(struct mg_scheduler *scheduler)
{
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        mg_queue_metrics_silence(&scheduler->queues[i].metrics);
    }
}

struct mg_work *mg_work_create_internal(struct mg_scheduler *scheduler, struct mg_work *origin)
{
    struct mg_work *work = work_create(scheduler, MG_LANE_INTERNAL);
    if (work != NULL) {
        work->origin = origin;
        if (origin != NULL) {
            mg_work_hold(origin);
        }
        lane_append(&scheduler->lanes[MG_LANE_INTERNAL], work);
        lane_note(scheduler, MG_LANE_INTERNAL);
        mg_scheduler_wake(scheduler);
    }
    return work;
}

void mg_inbox_put_back(struct mg_scheduler *scheduler, struct mg_work *work)
{
    struct mg_lane_list *lane = &scheduler->lanes[work->lane];
    work->next = lane->first;
    lane->first = work;
    if (lane->last == NULL) {
        lane->last = work;
    }
    lane->count++;
    lane_note(scheduler, work->lane);
}

/* The lane that has the next place; MG_LANE_COUNT: none. */
static enum mg_lane lane_choose(struct mg_scheduler *scheduler, bool is_high_open, bool is_normal_open)
{
    const struct mg_lane_list *lanes = scheduler->lanes;
    if (lanes[MG_LANE_INTERNAL].first != NULL) {
        return MG_LANE_INTERNAL;
    }
    bool has_reply = lanes[MG_LANE_REPLIES].first != NULL,
         has_command = lanes[MG_LANE_COMMANDS].first != NULL;
    if (has_reply || has_command) {
        bool is_command = has_command && (!has_reply || scheduler->replies_turn++ % 2 != 0);
        return is_command ? MG_LANE_COMMANDS : MG_LANE_REPLIES;
    }
    bool has_high = is_high_open && lanes[MG_LANE_HIGH].first != NULL;
    bool has_normal = is_normal_open && lanes[MG_LANE_NORMAL].first != NULL;
    if (!has_high && !has_normal) {
        return MG_LANE_COUNT;
    }
    bool is_normals_turn = ++scheduler->intake_turn % MG_NORMAL_SHARE == 0;
    return has_normal && (!has_high || is_normals_turn) ? MG_LANE_NORMAL : MG_LANE_HIGH;
}

int mg_inbox_take(struct mg_scheduler *scheduler, struct mg_work **ret_works, int max)
{
    bool is_open = mg_broker_publish_room(scheduler->broker) >= MG_INTAKE_ROOM;
    bool is_high_open = is_open && !mg_gates_is_full(scheduler, true);
    bool is_normal_open = is_open && !mg_gates_is_full(scheduler, false);
    size_t room = scheduler->options->memory_bytes / MG_MEMORY_BODY;
    int count = 0;
    while (count < max) {
        enum mg_lane lane = lane_choose(scheduler, is_high_open, is_normal_open);
        if (lane == MG_LANE_COUNT) {
            break;
        }
        const struct mg_work *first = scheduler->lanes[lane].first;
        size_t size = first->delivery != NULL ? first->delivery->body.len : 0;
        bool is_alone = first->is_alone;
        if (count > 0 && (is_alone || size > room)) {
            break;
        }
        room -= size < room ? size : room;
        ret_works[count++] = lane_pop(&scheduler->lanes[lane]);
        lane_note(scheduler, lane);
        if (is_alone) {
            break;
        }
    }
    if (count == 0 && (ret_works[0] = mg_isolated_take(scheduler)) != NULL) {
        count = 1;
    }
    return count;
}

bool mg_inbox_is_empty(const struct mg_scheduler *scheduler)
{
    for (int i = 0; i < MG_LANE_COUNT; i++) {
        if (scheduler->lanes[i].first != NULL) {
            return false;
        }
    }
    return scheduler->isolated == NULL;
}

void mg_inbox_drop(struct mg_scheduler *scheduler, struct mg_work *work)
{
    mg_broker_requeue(scheduler->broker, work->delivery);
    work_free(scheduler, work);
}

void mg_inbox_give_back_lane(struct mg_scheduler *scheduler, enum mg_lane lane)
{
    struct mg_work *work;
    while ((work = lane_pop(&scheduler->lanes[lane])) != NULL) {
        mg_inbox_drop(scheduler, work);
    }
    lane_note(scheduler, lane);
}

void mg_inbox_give_back(struct mg_scheduler *scheduler)
{
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        mg_inbox_give_back_lane(scheduler, (enum mg_lane)i);
    }
    mg_isolated_give_back(scheduler);
}

/* ---- the end of a piece of work ---- */

static void work_leave(struct mg_scheduler *scheduler, struct mg_work *work)
{
    mg_work_clear(scheduler, work);
    work->leave_at_boot_ms = mg_clock_boot_ms() + MG_LEAVE_MS;
    scheduler->has_left = true;
    mg_scheduler_rank(scheduler);
    lane_append(&scheduler->left, work);
    if (!mg_timer_is_active(scheduler->leave_timer)) {
        mg_timer_start(scheduler->leave_timer, MG_LEAVE_MS, MG_LEAVE_MS);
    }
}

/* Whether so long has passed since `at`, which then begins anew. */
static bool is_time_to_tell(int64_t *at_boot_ms)
{
    int64_t now_ms = mg_clock_boot_ms();
    if (*at_boot_ms != 0 && now_ms - *at_boot_ms < MG_NEWER_TELL_MS) {
        return false;
    }
    *at_boot_ms = now_ms;
    return true;
}

static void newer_left(struct mg_scheduler *scheduler, struct mg_lane_queue *queue, const char *name)
{
    mg_metric_add(scheduler->counters.left, 1);
    scheduler->newer_left++;
    scheduler->has_left = true;
    mg_scheduler_rank(scheduler);
    if (is_time_to_tell(&queue->newer_told_at_boot_ms)) {
        mg_log(MG_LOG_WARN, "messages of a newer version are left to other schedulers; upgrade this one",
               MG_LOG_TEXT("queue", name), MG_LOG_NUMBER("left", scheduler->newer_left));
    }
}

static void newer_set_aside(struct mg_scheduler *scheduler, struct mg_lane_queue *queue, const char *name)
{
    mg_metric_add(scheduler->counters.dead_lettered, 1);
    scheduler->newer_set_aside++;
    if (is_time_to_tell(&queue->newer_raised_at_boot_ms)) {
        char text[256];
        (void)snprintf(text, sizeof(text),
                       "messages of %s have a version that no running scheduler can read, and lie in %s: "
                       "upgrade the schedulers, then makegood dead requeue",
                       name, MG_QUEUE_DEAD);
        mg_log(MG_LOG_ERROR, "messages of a newer version are set aside", MG_LOG_TEXT("queue", name),
               MG_LOG_NUMBER("set_aside", scheduler->newer_set_aside));
        mg_alert_raise(scheduler, MG_ALERT_NEWER_VERSION, name, text, false);
    }
}

/* False: it waits here, and is given back later. */
static bool newer_end(struct mg_scheduler *scheduler, struct mg_work *work)
{
    struct mg_lane_queue *queue = &scheduler->queues[work->lane];
    const char *name = QUEUES[work->lane];
    switch (mg_newer_judge(work->delivery->given_count, queue->newer_held,
                           mg_inbox_prefetch(scheduler, work->lane), MG_NEWER_AT_ONCE_MAX)) {
    case MG_NEWER_HOLD:
        newer_left(scheduler, queue, name);
        queue->newer_held++;
        work->is_held_as_newer = true;
        work_leave(scheduler, work);
        return false;
    case MG_NEWER_GIVE_BACK:
        newer_left(scheduler, queue, name);
        mg_broker_requeue(scheduler->broker, work->delivery);
        return true;
    case MG_NEWER_SET_ASIDE:
        newer_set_aside(scheduler, queue, name);
        mg_broker_reject(scheduler->broker, work->delivery);
        return true;
    }
    return true;
}

static void work_end(struct mg_scheduler *scheduler, struct mg_work *work)
{
    struct mg_work *origin = work->origin;
    if (work->delivery == NULL && work->end != MG_END_ACK) {
        mg_work_give_up(work); /* the broker has nothing of it but what it follows from */
    }
    if (work->delivery != NULL) {
        switch (work->end) {
        case MG_END_ACK:
            mg_broker_ack(scheduler->broker, work->delivery);
            MG_FAILPOINT(SCHEDULER_ACKED);
            break;
        case MG_END_REJECT:
            mg_metric_add(scheduler->counters.dead_lettered, 1);
            mg_broker_reject(scheduler->broker, work->delivery);
            break;
        case MG_END_LEAVE:
            work_leave(scheduler, work);
            return;
        case MG_END_NEWER:
            if (!newer_end(scheduler, work)) {
                return;
            }
            break;
        }
    }
    work_free(scheduler, work);
    if (origin != NULL) {
        mg_work_release(scheduler, origin);
    }
    if (scheduler->is_draining) {
        mg_scheduler_wake(scheduler);
    }
}

void mg_work_hold(struct mg_work *work)
{
    work->pending++;
}

void mg_work_release(struct mg_scheduler *scheduler, struct mg_work *work)
{
    work->pending--;
    if (work->pending == 0 && work->is_settled) {
        work_end(scheduler, work);
    }
}

void mg_work_settle(struct mg_scheduler *scheduler, struct mg_work *work, enum mg_end end)
{
    work->is_settled = true;
    work->end = end;
    if (work->pending == 0) {
        work_end(scheduler, work);
    }
}

void mg_work_give_up(struct mg_work *work)
{
    while (work != NULL && work->origin != NULL) {
        work = work->origin;
    }
    if (work != NULL) {
        work->end = MG_END_LEAVE;
    }
}

void mg_inbox_left_due(struct mg_scheduler *scheduler, bool is_all)
{
    int64_t now_ms = mg_clock_boot_ms();
    while (scheduler->left.first != NULL && (is_all || scheduler->left.first->leave_at_boot_ms <= now_ms)) {
        struct mg_work *work = lane_pop(&scheduler->left);
        scheduler->queues[work->lane].newer_held -= work->is_held_as_newer ? 1 : 0;
        mg_broker_requeue(scheduler->broker, work->delivery);
        work_free(scheduler, work);
    }
    if (scheduler->left.first == NULL) {
        mg_timer_stop(scheduler->leave_timer);
    }
}

void mg_inbox_finish(struct mg_scheduler *scheduler)
{
    while (scheduler->all != NULL) {
        struct mg_work *work = scheduler->all;
        if (work->delivery != NULL) {
            mg_broker_requeue(scheduler->broker, work->delivery);
        }
        work_free(scheduler, work);
    }
    memset(scheduler->lanes, 0, sizeof(scheduler->lanes));
    memset(&scheduler->left, 0, sizeof(scheduler->left));
    scheduler->isolated = NULL;
    scheduler->isolated_count = 0;
}
