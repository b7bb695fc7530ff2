/*
 * Work waits if it could be decided or published now: closed gates, a full window, a server that is known to
 * be down, and suspects that wait for their turn are other waits. Orders that wait apart, since the store
 * refuses them, hold up no others, and have an alert of their own; but those with a fault of all stand.
 */
#include "standstill.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "scheduler.h"

void mg_standstill_init(struct mg_scheduler *scheduler)
{
    scheduler->standstill.seconds =
        mg_metrics_series(scheduler->shared.metrics, MG_GAUGE, "makegood_standstill_seconds", "",
                          "time without an end of work while work waits; 0: it moves");
}

void mg_standstill_note(struct mg_scheduler *scheduler, const char *order_id, const char *why)
{
    struct mg_standstill *standstill = &scheduler->standstill;
    (void)snprintf(standstill->order_id, sizeof(standstill->order_id), "%s", order_id);
    (void)snprintf(standstill->why, sizeof(standstill->why), "%s", why);
}

static bool has_work(const struct mg_scheduler *scheduler)
{
    const struct mg_work_list *lanes = scheduler->inbox.lanes;
    bool is_deciding = scheduler->batcher.batch != NULL || lanes[MG_LANE_REPLIES].first != NULL ||
                       lanes[MG_LANE_COMMANDS].first != NULL || lanes[MG_LANE_INTERNAL].first != NULL;
    bool is_new = (lanes[MG_LANE_HIGH].first != NULL && !mg_gates_hold_intake(&scheduler->gates, true)) ||
                  (lanes[MG_LANE_NORMAL].first != NULL && !mg_gates_hold_intake(&scheduler->gates, false));
    return is_deciding || is_new || !TAILQ_EMPTY(&scheduler->outbox.unsent) ||
           scheduler->outbox.sent_count > 0;
}

/* Of the last batch that failed, or else of the one that gets no answer. */
static const char *order_named(const struct mg_scheduler *scheduler)
{
    const struct mg_batch *batch = scheduler->batcher.batch;
    if (scheduler->standstill.order_id[0] != '\0') {
        return scheduler->standstill.order_id;
    }
    return batch != NULL && batch->item_count > 0 && batch->items[0].order_id != NULL
               ? batch->items[0].order_id
               : "";
}

/* A standstill of all work, or else of a crowd of orders that the store refuses alike. */
struct standing {
    int64_t for_ms;                     /* 0: it moves */
    const struct mg_aside_order *crowd; /* its oldest; NULL: all work */
    int count;                          /* of the crowd */
};

static struct standing standing_of(const struct mg_scheduler *scheduler)
{
    int64_t now_ms = mg_clock_boot_ms();
    struct standing standing = {.for_ms = mg_progress_stands_ms(&scheduler->standstill.progress, now_ms)};
    if (standing.for_ms == 0) {
        standing.crowd = mg_aside_crowd(scheduler, &standing.count);
        int64_t crowd_ms = standing.crowd != NULL ? now_ms - standing.crowd->since_boot_ms : 0;
        standing.for_ms = crowd_ms >= MG_STANDSTILL_AFTER_MS ? crowd_ms : 0;
    }
    return standing;
}

void mg_standstill_look(struct mg_scheduler *scheduler)
{
    struct mg_standstill *standstill = &scheduler->standstill;
    bool may_move =
        scheduler->shared.is_store_up && scheduler->is_broker_up && !scheduler->shared.is_draining;
    int64_t now_ms = mg_clock_boot_ms();
    char reason[512];
    mg_progress_look(&standstill->progress, standstill->ended, may_move && has_work(scheduler), now_ms);
    mg_metric_set(standstill->seconds, (double)standing_of(scheduler).for_ms / 1000);
    bool stands = mg_standstill_is(scheduler, reason, sizeof(reason));
    if (stands != standstill->is_logged) {
        mg_log(MG_LOG_WARN, stands ? "work stands still" : "work moves again",
               MG_LOG_TEXT("why", stands ? reason : ""));
        standstill->is_logged = stands;
    }
    if (standstill->progress.since_boot_ms == 0) { /* of an earlier failure */
        standstill->order_id[0] = standstill->why[0] = '\0';
    }
}

/* The last failure, or else the statement that has no answer. */
static void why_write(const struct mg_scheduler *scheduler, char *ret_why, size_t size)
{
    const struct mg_batch *batch = scheduler->batcher.batch;
    (void)snprintf(ret_why, size, "%s", scheduler->standstill.why);
    if (ret_why[0] == '\0' && batch != NULL) {
        (void)snprintf(ret_why, size, "a statement about %d messages runs since %lld s", batch->item_count,
                       (long long)(mg_clock_boot_us() - batch->started_us) / 1000000);
    }
}

bool mg_standstill_is(const struct mg_scheduler *scheduler, char *ret_reason, size_t size)
{
    const struct standing standing = standing_of(scheduler);
    if (standing.for_ms == 0) {
        return false;
    }
    if (standing.crowd != NULL) {
        (void)snprintf(ret_reason, size,
                       "the database refuses %d orders alike for %lld s, the oldest is %s: %s",
                       standing.count, (long long)(standing.for_ms / 1000), standing.crowd->order_id,
                       standing.crowd->text);
        return true;
    }
    char last[MG_BEAT_REASON_SIZE];
    why_write(scheduler, last, sizeof(last));
    const char *standby = mg_store_standby(scheduler->shared.store);
    const char *why = standby[0] != '\0' ? standby : last;
    const char *order_id = order_named(scheduler);
    (void)snprintf(ret_reason, size, "no work has ended for %lld s, and %d messages wait%s%s%s%s",
                   (long long)(standing.for_ms / 1000), scheduler->shared.works.count,
                   order_id[0] != '\0' ? ", of order " : "", order_id, why[0] != '\0' ? ": " : "", why);
    return true;
}

/* Work ends, and new orders of every workflow wait for room in the queue of one service (park.h). */
static void held_write(const struct mg_scheduler *scheduler, char *ret_why, size_t size)
{
    const struct mg_work_list *lanes = scheduler->inbox.lanes;
    const struct mg_work *first[] = {lanes[MG_LANE_HIGH].first, lanes[MG_LANE_NORMAL].first};
    bool is_at_most = false;
    const struct mg_gate *gate = mg_gates_held_by(&scheduler->gates, &is_at_most);
    int64_t waits_ms = 0, now_ms = mg_clock_boot_ms();
    for (int i = 0; i < 2; i++) {
        int64_t one_ms = first[i] != NULL ? now_ms - first[i]->delivery->arrived_boot_ms : 0;
        waits_ms = one_ms > waits_ms ? one_ms : waits_ms;
    }
    if (gate != NULL && waits_ms >= MG_STANDSTILL_AFTER_MS) {
        (void)snprintf(ret_why, size,
                       "new orders of all workflows wait, %d of them in hand for up to %lld s: the queue of "
                       "service %s is full%s: see makegood service list",
                       lanes[MG_LANE_HIGH].count + lanes[MG_LANE_NORMAL].count, (long long)(waits_ms / 1000),
                       gate->service, is_at_most ? " and the most steps are parked for it" : "");
    }
}

void mg_standstill_account(void *arg, struct mg_beat *ret_beat)
{
    struct mg_scheduler *scheduler = arg;
    const struct standing standing = standing_of(scheduler);
    ret_beat->orders_aside = mg_aside_account(scheduler);
    ret_beat->in_hand = scheduler->shared.works.count;
    ret_beat->stands_ms = standing.for_ms;
    if (standing.for_ms > 0 && standing.crowd != NULL) {
        (void)snprintf(ret_beat->oldest_order, sizeof(ret_beat->oldest_order), "%s",
                       standing.crowd->order_id);
        (void)snprintf(ret_beat->reason, sizeof(ret_beat->reason), "%d orders alike: %.200s", standing.count,
                       standing.crowd->text);
    } else if (standing.for_ms > 0) {
        (void)snprintf(ret_beat->oldest_order, sizeof(ret_beat->oldest_order), "%s", order_named(scheduler));
        why_write(scheduler, ret_beat->reason, sizeof(ret_beat->reason));
    } else {
        held_write(scheduler, ret_beat->reason, sizeof(ret_beat->reason));
    }
}
