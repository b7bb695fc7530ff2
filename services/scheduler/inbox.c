/*
 * Work that waits, by lane. It is taken in the order of law 7, waiting is not failing: first requests that
 * the broker did not take, then replies and commands, then signals, then intake. Intake has one place in
 * eight against signals, and `normal` one in eight against `high`, so that neither ever stalls. A message
 * that was delivered twice before may be the one that crashes its handler: it is taken alone.
 */
#include "inbox.h"

#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"

/* One of so many places for intake is reserved for normal, and one of so many against signals for intake. */
#define MG_NORMAL_SHARE 8
#define MG_INTAKE_SHARE 8
/* With less room for publishing, new orders wait: orders under way need it. */
#define MG_INTAKE_ROOM 64

/* A restarted consumer may deliver a full prefetch alongside the rest of the last one. More cannot belong to
 * the present connection: the oldest are of an earlier one. The broker redelivers those, and their requeue
 * sends nothing. So a flapping connection does not fill the memory. */
static void lane_trim(struct mg_inbox *inbox, enum mg_lane lane)
{
    while (inbox->lanes[lane].count > 2 * mg_consumed_prefetch(inbox->consumed, lane)) {
        mg_consumed_drop(inbox->consumed, mg_work_list_pop(&inbox->lanes[lane]));
    }
}

static void lane_note(struct mg_inbox *inbox, enum mg_lane lane)
{
    mg_metric_set(inbox->shared->series.waiting[lane], inbox->lanes[lane].count);
}

struct mg_work *mg_inbox_receive(struct mg_inbox *inbox, struct mg_delivery *delivery)
{
    struct mg_work *work = NULL;
    enum mg_lane lane = (enum mg_lane)delivery->consumer;
    if (!inbox->shared->is_draining && delivery->consumer >= 0 && delivery->consumer < MG_LANE_CONSUMERS) {
        work = mg_work_create(&inbox->shared->works, lane);
    }
    if (work == NULL) { /* draining, or no memory: another instance, or later */
        mg_broker_requeue(inbox->shared->broker, delivery);
        return NULL;
    }
    work->delivery = delivery;
    delivery->user = work;
    work->is_again = delivery->is_redelivered;
    return work;
}

void mg_inbox_add(struct mg_inbox *inbox, struct mg_work *work)
{
    MG_FAILPOINT(SCHEDULER_RECEIVED);
    if (mg_work_isolate(inbox->isolated, work)) {
        return;
    }
    mg_work_list_append(&inbox->lanes[work->lane], work);
    lane_trim(inbox, work->lane);
    lane_note(inbox, work->lane);
    mg_scheduler_wake(inbox->shared);
}

struct mg_work *mg_inbox_add_internal(struct mg_inbox *inbox, struct mg_work *origin)
{
    struct mg_work *work = mg_work_create(&inbox->shared->works, MG_LANE_INTERNAL);
    if (work != NULL) {
        work->origin = origin;
        if (origin != NULL) {
            mg_work_hold(origin);
        }
        mg_work_list_append(&inbox->lanes[MG_LANE_INTERNAL], work);
        lane_note(inbox, MG_LANE_INTERNAL);
        mg_scheduler_wake(inbox->shared);
    }
    return work;
}

void mg_inbox_put_back(struct mg_inbox *inbox, struct mg_work *work)
{
    mg_work_list_prepend(&inbox->lanes[work->lane], work);
    lane_note(inbox, work->lane);
}

void mg_inbox_put_behind(struct mg_inbox *inbox, struct mg_work *work)
{
    mg_work_list_append(&inbox->lanes[work->lane], work);
    lane_note(inbox, work->lane);
}

/* The lane that has the next place; MG_LANE_COUNT: none. */
static enum mg_lane lane_choose(struct mg_inbox *inbox, bool is_high_open, bool is_normal_open)
{
    const struct mg_work_list *lanes = inbox->lanes;
    if (lanes[MG_LANE_INTERNAL].first != NULL) {
        return MG_LANE_INTERNAL;
    }
    bool has_reply = lanes[MG_LANE_REPLIES].first != NULL,
         has_command = lanes[MG_LANE_COMMANDS].first != NULL;
    if (has_reply || has_command) {
        bool is_command = has_command && (!has_reply || inbox->replies_turn++ % 2 != 0);
        return is_command ? MG_LANE_COMMANDS : MG_LANE_REPLIES;
    }
    bool has_high = is_high_open && lanes[MG_LANE_HIGH].first != NULL;
    bool has_normal = is_normal_open && lanes[MG_LANE_NORMAL].first != NULL;
    bool is_intakes_turn = (has_high || has_normal) && inbox->signals_turn % MG_INTAKE_SHARE == 0;
    if (lanes[MG_LANE_SIGNALS].first != NULL && !is_intakes_turn) {
        inbox->signals_turn++;
        return MG_LANE_SIGNALS;
    }
    if (!has_high && !has_normal) {
        return MG_LANE_COUNT;
    }
    inbox->signals_turn++;
    bool is_normals_turn = ++inbox->intake_turn % MG_NORMAL_SHARE == 0;
    return has_normal && (!has_high || is_normals_turn) ? MG_LANE_NORMAL : MG_LANE_HIGH;
}

static void lane_give_back(struct mg_inbox *inbox, enum mg_lane lane)
{
    struct mg_work *work;
    while ((work = mg_work_list_pop(&inbox->lanes[lane])) != NULL) {
        mg_consumed_drop(inbox->consumed, work);
    }
    lane_note(inbox, lane);
}

/* NULL: none waits, or it is not yet alone. */
static struct mg_work *isolated_take(struct mg_inbox *inbox)
{
    if (inbox->isolated->first != NULL) {
        /* New orders may wait for room at their services without limit, and the suspect with them. */
        lane_give_back(inbox, MG_LANE_HIGH);
        lane_give_back(inbox, MG_LANE_NORMAL);
    }
    return mg_isolated_take(inbox->isolated);
}

int mg_inbox_take(struct mg_inbox *inbox, struct mg_work **ret_works, int max)
{
    bool is_open = mg_broker_publish_room(inbox->shared->broker) >= MG_INTAKE_ROOM;
    bool is_high_open = is_open && !mg_gates_hold_intake(inbox->gates, true);
    bool is_normal_open = is_open && !mg_gates_hold_intake(inbox->gates, false);
    size_t room = inbox->shared->options->memory_bytes / MG_MEMORY_BODY;
    int count = 0;
    while (count < max) {
        enum mg_lane lane = lane_choose(inbox, is_high_open, is_normal_open);
        if (lane == MG_LANE_COUNT) {
            break;
        }
        const struct mg_work *first = inbox->lanes[lane].first;
        size_t size = first->delivery != NULL ? first->delivery->body.len : 0;
        bool is_alone = first->is_alone;
        if (count > 0 && (is_alone || size > room)) {
            break;
        }
        room -= size < room ? size : room;
        ret_works[count++] = mg_work_list_pop(&inbox->lanes[lane]);
        lane_note(inbox, lane);
        if (is_alone) {
            break;
        }
    }
    if (count == 0 && (ret_works[0] = isolated_take(inbox)) != NULL) {
        count = 1;
    }
    return count;
}

/* After the broker is reached: until the first signals are here, and until those of an outage are read. */
#define SIGNALS_COME_MS 3000
#define SIGNALS_READ_MS 60000

bool mg_inbox_awaits_signals(const struct mg_inbox *inbox, int64_t due_at_ms, int64_t now_ms)
{
    if (inbox->up_boot_ms == 0) {
        return false;
    }
    int64_t up_ms = mg_clock_boot_ms() - inbox->up_boot_ms;
    bool is_bounded = up_ms < SIGNALS_READ_MS || now_ms - due_at_ms < SIGNALS_READ_MS;
    return up_ms < SIGNALS_COME_MS || (is_bounded && inbox->lanes[MG_LANE_SIGNALS].first != NULL);
}

bool mg_inbox_is_empty(const struct mg_inbox *inbox)
{
    for (int i = 0; i < MG_LANE_COUNT; i++) {
        if (inbox->lanes[i].first != NULL) {
            return false;
        }
    }
    return inbox->isolated->first == NULL;
}

void mg_inbox_give_back(struct mg_inbox *inbox)
{
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        lane_give_back(inbox, (enum mg_lane)i);
    }
    mg_isolated_give_back(inbox->isolated);
}

void mg_inbox_finish(struct mg_inbox *inbox)
{
    while (!LIST_EMPTY(&inbox->shared->works.all)) {
        struct mg_work *work = LIST_FIRST(&inbox->shared->works.all);
        if (work->delivery != NULL) {
            mg_broker_requeue(inbox->shared->broker, work->delivery);
        }
        mg_consumed_clear(inbox->consumed, work);
        mg_work_free(&inbox->shared->works, work);
    }
    memset(inbox->lanes, 0, sizeof(inbox->lanes));
    memset(&inbox->shared->works.left, 0, sizeof(inbox->shared->works.left));
    inbox->isolated->first = NULL;
    inbox->isolated->count = 0;
}
