/*
 * Work waits if it could be decided or published now: closed gates, a full window, a server that is known to
 * be down, and suspects that wait for their turn are other waits. Orders that wait apart, since the store
 * refuses them, hold up no others, and have an alert of their own; but those with a fault of all stand.
 */
#include "standstill.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

void mg_standstill_init(struct mg_standstill *standstill, struct mg_batcher *batcher)
{
    standstill->shared = batcher->shared;
    standstill->batcher = batcher;
    standstill->seconds =
        mg_metrics_series(standstill->shared->metrics, MG_GAUGE, "makegood_standstill_seconds", "",
                          "time without an end of work while work waits; 0: it moves");
}

static bool has_work(const struct mg_standstill *standstill)
{
    const struct mg_work_list *lanes = standstill->batcher->inbox->lanes;
    bool is_deciding = standstill->batcher->batch != NULL || lanes[MG_LANE_REPLIES].first != NULL ||
                       lanes[MG_LANE_COMMANDS].first != NULL || lanes[MG_LANE_SIGNALS].first != NULL ||
                       lanes[MG_LANE_INTERNAL].first != NULL;
    bool is_new = (lanes[MG_LANE_HIGH].first != NULL &&
                   !mg_gates_hold_intake(standstill->batcher->inbox->gates, true)) ||
                  (lanes[MG_LANE_NORMAL].first != NULL &&
                   !mg_gates_hold_intake(standstill->batcher->inbox->gates, false));
    return is_deciding || is_new || !TAILQ_EMPTY(&standstill->batcher->owing->outbox->unsent) ||
           standstill->batcher->owing->outbox->sent_count > 0;
}

/* Of the last batch that failed, or else of the one that gets no answer. */
static const char *order_named(const struct mg_standstill *standstill)
{
    const struct mg_batch *batch = standstill->batcher->batch;
    if (standstill->batcher->failed_order_id[0] != '\0') {
        return standstill->batcher->failed_order_id;
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

static struct standing standing_of(const struct mg_standstill *standstill)
{
    int64_t now_ms = mg_clock_boot_ms();
    struct standing standing = {.for_ms = mg_progress_stands_ms(&standstill->progress, now_ms)};
    if (standing.for_ms == 0) {
        standing.crowd = mg_aside_crowd(standstill->batcher->aside, &standing.count);
        int64_t crowd_ms = standing.crowd != NULL ? now_ms - standing.crowd->since_boot_ms : 0;
        standing.for_ms = crowd_ms >= MG_STANDSTILL_AFTER_MS ? crowd_ms : 0;
    }
    return standing;
}

void mg_standstill_look(struct mg_standstill *standstill)
{
    const struct mg_shared *shared = standstill->shared;
    struct mg_batcher *batcher = standstill->batcher;
    bool may_move = shared->is_store_up && shared->is_broker_up && !shared->is_draining;
    int64_t now_ms = mg_clock_boot_ms();
    char reason[512];
    mg_progress_look(&standstill->progress, batcher->ended, may_move && has_work(standstill), now_ms);
    mg_metric_set(standstill->seconds, (double)standing_of(standstill).for_ms / 1000);
    bool stands = mg_standstill_is(standstill, reason, sizeof(reason));
    if (stands != standstill->is_logged) {
        mg_log(MG_LOG_WARN, stands ? "work stands still" : "work moves again",
               MG_LOG_TEXT("why", stands ? reason : ""));
        standstill->is_logged = stands;
    }
    if (standstill->progress.since_boot_ms == 0) { /* of an earlier failure */
        batcher->failed_order_id[0] = batcher->why[0] = '\0';
    }
}

/* The last failure, or else the statement that has no answer. */
static void why_write(const struct mg_standstill *standstill, char *ret_why, size_t size)
{
    const struct mg_batch *batch = standstill->batcher->batch;
    (void)snprintf(ret_why, size, "%s", standstill->batcher->why);
    if (ret_why[0] == '\0' && batch != NULL) {
        (void)snprintf(ret_why, size, "a statement about %d messages runs since %lld s", batch->item_count,
                       (long long)(mg_clock_boot_us() - batch->started_us) / 1000000);
    }
}

bool mg_standstill_is(const struct mg_standstill *standstill, char *ret_reason, size_t size)
{
    const struct standing standing = standing_of(standstill);
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
    why_write(standstill, last, sizeof(last));
    const char *standby = mg_store_standby(standstill->shared->store);
    const char *why = standby[0] != '\0' ? standby : last;
    const char *order_id = order_named(standstill);
    (void)snprintf(ret_reason, size, "no work has ended for %lld s, and %d messages wait%s%s%s%s",
                   (long long)(standing.for_ms / 1000), standstill->shared->works.count,
                   order_id[0] != '\0' ? ", of order " : "", order_id, why[0] != '\0' ? ": " : "", why);
    return true;
}

/* Work ends, and new orders of every workflow wait for room in the queue of one service (park.h). */
static void held_write(const struct mg_standstill *standstill, char *ret_why, size_t size)
{
    const struct mg_work_list *lanes = standstill->batcher->inbox->lanes;
    const struct mg_work *first[] = {lanes[MG_LANE_HIGH].first, lanes[MG_LANE_NORMAL].first};
    bool is_at_most = false;
    const struct mg_gate *gate = mg_gates_held_by(standstill->batcher->inbox->gates, &is_at_most);
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

void mg_standstill_account(const struct mg_standstill *standstill, struct mg_beat *ret_beat)
{
    const struct standing standing = standing_of(standstill);
    ret_beat->orders_aside = mg_aside_account(standstill->batcher->aside);
    ret_beat->in_hand = standstill->shared->works.count;
    ret_beat->stands_ms = standing.for_ms;
    if (standing.for_ms > 0 && standing.crowd != NULL) {
        (void)snprintf(ret_beat->oldest_order, sizeof(ret_beat->oldest_order), "%s",
                       standing.crowd->order_id);
        (void)snprintf(ret_beat->reason, sizeof(ret_beat->reason), "%d orders alike: %.200s", standing.count,
                       standing.crowd->text);
    } else if (standing.for_ms > 0) {
        (void)snprintf(ret_beat->oldest_order, sizeof(ret_beat->oldest_order), "%s", order_named(standstill));
        why_write(standstill, ret_beat->reason, sizeof(ret_beat->reason));
    } else {
        held_write(standstill, ret_beat->reason, sizeof(ret_beat->reason));
    }
}
