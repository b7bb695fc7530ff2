/*
 * The scheduler's suspects (core/suspects.h). Each is a batch of its own. An isolated one waits here until
 * all other work in hand has ended. Among several, the one with the fewest deliveries goes first: the faulty
 * message has the most, so it is the last.
 */
#include "suspect_work.h"

#include <stddef.h>

#include "scheduler.h"
#include "wire/command.h"
#include "wire/reply.h"

/* The period of the check for `alone`: as long as an ack may wait until it is sent. */
#define MG_SUSPECT_LOOK_MS 20

/* True for a message of a newer version: its deliveries count requeues for other instances, and here it is
 * only parsed. */
static bool is_newer(struct mg_scheduler *scheduler, const struct mg_work *work)
{
    const struct mg_delivery *delivery = work->delivery;
    struct mg_err err;
    struct mg_reply reply;
    struct mg_service_report report;
    struct mg_command command;
    if (work->lane == MG_LANE_REPLIES && mg_slice_is(delivery->type, "service_report")) {
        return mg_service_report_parse(delivery->body, &report, &err) == MG_STALE;
    }
    if (work->lane == MG_LANE_REPLIES) {
        return (delivery->type.data != NULL && !mg_slice_is(delivery->type, "reply")) ||
               mg_reply_parse(delivery->body, &scheduler->shared.message_limits, &reply, &err) == MG_STALE;
    }
    if (work->lane != MG_LANE_COMMANDS) {
        return false;
    }
    struct mg_arena *arena = mg_arena_create(scheduler->shared.message_limits.max_bytes);
    bool is_stale = arena != NULL && mg_command_parse(delivery->body, &scheduler->shared.message_limits,
                                                      arena, &command, &err) == MG_STALE;
    mg_arena_destroy(arena);
    return is_stale;
}

static enum mg_suspicion judge(struct mg_scheduler *scheduler, const struct mg_work *work)
{
    const struct mg_delivery *delivery = work->delivery;
    enum mg_suspicion suspicion = mg_suspects_judge(delivery->delivery_count);
    bool is_read = suspicion != MG_SUSPECT_NOT && !delivery->is_oversized;
    return is_read && is_newer(scheduler, work) ? MG_SUSPECT_NOT : suspicion;
}

static void isolated_add(struct mg_scheduler *scheduler, struct mg_work *work)
{
    struct mg_work **at = &scheduler->isolated.first;
    while (*at != NULL && (*at)->delivery->delivery_count <= work->delivery->delivery_count) {
        at = &(*at)->next;
    }
    work->next = *at;
    *at = work;
    scheduler->isolated.count++;
    mg_scheduler_wake(&scheduler->shared);
}

bool mg_work_isolate(struct mg_scheduler *scheduler, struct mg_work *work)
{
    work->suspicion = judge(scheduler, work);
    work->is_alone = work->suspicion != MG_SUSPECT_NOT;
    if (mg_suspects_came(&scheduler->consumed.suspects, (int)work->lane, work->suspicion)) {
        mg_consumed_update(&scheduler->consumed);
    }
    if (work->suspicion == MG_SUSPECT_ISOLATED) {
        isolated_add(scheduler, work);
    }
    return work->suspicion == MG_SUSPECT_ISOLATED;
}

static struct mg_work *isolated_pop(struct mg_scheduler *scheduler)
{
    struct mg_work *work = scheduler->isolated.first;
    if (work != NULL) {
        scheduler->isolated.first = work->next;
        scheduler->isolated.count--;
        work->next = NULL;
    }
    return work;
}

/* True if no delivery is on its way, and the broker has received all acks. */
static bool is_quiet(const struct mg_scheduler *scheduler)
{
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        if (!mg_broker_is_stopped(scheduler->shared.broker, i) ||
            mg_broker_unsent_acks(scheduler->shared.broker, i) > 0) {
            return false;
        }
    }
    return true;
}

struct mg_work *mg_isolated_take(struct mg_scheduler *scheduler)
{
    if (scheduler->isolated.first == NULL) {
        return NULL;
    }
    bool is_alone = scheduler->shared.works.count == scheduler->isolated.count +
                                                         scheduler->shared.works.left.count +
                                                         scheduler->aside.work_count;
    if (!is_alone || !is_quiet(scheduler)) {
        if (!mg_timer_is_active(scheduler->isolated.timer)) {
            mg_timer_start(scheduler->isolated.timer, MG_SUSPECT_LOOK_MS, 0);
        }
        return NULL;
    }
    return isolated_pop(scheduler);
}

void mg_isolated_give_back(struct mg_scheduler *scheduler)
{
    struct mg_work *work;
    while ((work = isolated_pop(scheduler)) != NULL) {
        mg_consumed_drop(&scheduler->consumed, work);
    }
}
