/*
 * The scheduler's suspects (core/suspects.h). Each is a batch of its own. An isolated one waits here until
 * all other work in hand has ended. Among several, the one with the fewest deliveries goes first: the faulty
 * message has the most, so it is the last.
 */
#include "suspect_work.h"

#include <stddef.h>

#include "wire/command.h"
#include "wire/reply.h"

/* The period of the check for `alone`: as long as an ack may wait until it is sent. */
#define MG_SUSPECT_LOOK_MS 20

bool mg_isolated_init(struct mg_isolated *isolated, struct mg_consumed *consumed)
{
    isolated->shared = consumed->shared;
    isolated->consumed = consumed;
    isolated->timer = mg_scheduler_timer(isolated->shared);
    return isolated->timer != NULL;
}

void mg_isolated_finish(struct mg_isolated *isolated)
{
    mg_timer_destroy(isolated->timer);
}

/* True for a message of a newer version: its deliveries count requeues for other instances, and here it is
 * only parsed. */
static bool is_newer(const struct mg_json_limits *limits, const struct mg_work *work)
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
               mg_reply_parse(delivery->body, limits, &reply, &err) == MG_STALE;
    }
    if (work->lane != MG_LANE_COMMANDS && work->lane != MG_LANE_SIGNALS) {
        return false;
    }
    struct mg_arena *arena = mg_arena_create(limits->max_bytes);
    bool is_stale =
        arena != NULL && mg_command_parse(delivery->body, limits, arena, &command, &err) == MG_STALE;
    mg_arena_destroy(arena);
    return is_stale;
}

static enum mg_suspicion judge(const struct mg_json_limits *limits, const struct mg_work *work)
{
    const struct mg_delivery *delivery = work->delivery;
    enum mg_suspicion suspicion = mg_suspects_judge(delivery->delivery_count);
    bool is_read = suspicion != MG_SUSPECT_NOT && !delivery->is_oversized;
    return is_read && is_newer(limits, work) ? MG_SUSPECT_NOT : suspicion;
}

static void isolated_add(struct mg_isolated *isolated, struct mg_work *work)
{
    struct mg_work **at = &isolated->first;
    while (*at != NULL && (*at)->delivery->delivery_count <= work->delivery->delivery_count) {
        at = &(*at)->next;
    }
    work->next = *at;
    *at = work;
    isolated->count++;
    mg_scheduler_wake(isolated->shared);
}

bool mg_work_isolate(struct mg_isolated *isolated, struct mg_work *work)
{
    work->suspicion = judge(&isolated->shared->message_limits, work);
    work->is_alone = work->suspicion != MG_SUSPECT_NOT;
    if (mg_suspects_came(&isolated->consumed->suspects, (int)work->lane, work->suspicion)) {
        mg_consumed_update(isolated->consumed);
    }
    if (work->suspicion == MG_SUSPECT_ISOLATED) {
        isolated_add(isolated, work);
    }
    return work->suspicion == MG_SUSPECT_ISOLATED;
}

static struct mg_work *isolated_pop(struct mg_isolated *isolated)
{
    struct mg_work *work = isolated->first;
    if (work != NULL) {
        isolated->first = work->next;
        isolated->count--;
        work->next = NULL;
    }
    return work;
}

/* True if no delivery is on its way, and the broker has received all acks. */
static bool is_quiet(const struct mg_isolated *isolated)
{
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        if (!mg_broker_is_stopped(isolated->shared->broker, i) ||
            mg_broker_unsent_acks(isolated->shared->broker, i) > 0) {
            return false;
        }
    }
    return true;
}

struct mg_work *mg_isolated_take(struct mg_isolated *isolated)
{
    if (isolated->first == NULL) {
        return NULL;
    }
    bool is_alone = isolated->shared->works.count == isolated->count + isolated->shared->works.left.count +
                                                         isolated->shared->works.apart_count;
    if (!is_alone || !is_quiet(isolated)) {
        if (!mg_timer_is_active(isolated->timer)) {
            mg_timer_start(isolated->timer, MG_SUSPECT_LOOK_MS, 0);
        }
        return NULL;
    }
    return isolated_pop(isolated);
}

void mg_isolated_give_back(struct mg_isolated *isolated)
{
    struct mg_work *work;
    while ((work = isolated_pop(isolated)) != NULL) {
        mg_consumed_drop(isolated->consumed, work);
    }
}
