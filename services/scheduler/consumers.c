/*
 * Consumers are started, stopped and given their prefetch only here. Both depend on the suspicion of the
 * messages in hand (core/suspects.h), and on whether the scheduler consumes at all.
 */
#include "consumers.h"

#include <string.h>

#include "base/log.h"
#include "io/amqp/topology.h"

/* An order has one submission and several replies. With less room, bursts of replies pass the leading
 * scheduler and reach another, which must read the orders that the first one has cached. */
#define MG_REPLIES_SHARE 3
/* The shortest interval at which metrics are scraped. */
#define MG_WATCH_MS 1000

const char *const mg_consumed_queues[MG_LANE_CONSUMERS] = {[MG_LANE_REPLIES] = MG_QUEUE_REPLIES,
                                                           [MG_LANE_COMMANDS] = MG_QUEUE_COMMANDS,
                                                           [MG_LANE_SIGNALS] = MG_QUEUE_SIGNALS,
                                                           [MG_LANE_HIGH] = MG_QUEUE_INTAKE_HIGH,
                                                           [MG_LANE_NORMAL] = MG_QUEUE_INTAKE};

uint16_t mg_consumed_prefetch(const struct mg_consumed *consumed, enum mg_lane lane)
{
    int64_t prefetch = consumed->shared->options->prefetch * (lane == MG_LANE_REPLIES ? MG_REPLIES_SHARE : 1);
    return (uint16_t)(prefetch < MG_PREFETCH_MAX ? prefetch : MG_PREFETCH_MAX);
}

void mg_consumed_update(struct mg_consumed *consumed)
{
    bool is_closed = consumed->shared->is_draining || consumed->shared->is_away;
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        uint16_t prefetch =
            mg_suspects_prefetch(&consumed->suspects, i, mg_consumed_prefetch(consumed, (enum mg_lane)i));
        if (is_closed || prefetch == 0) {
            mg_broker_pause(consumed->shared->broker, i);
        } else {
            mg_broker_resume(consumed->shared->broker, i, prefetch);
        }
    }
}

void mg_consumed_clear(struct mg_consumed *consumed, struct mg_work *work)
{
    bool is_change = mg_suspects_ended(&consumed->suspects, work->suspicion);
    work->suspicion = MG_SUSPECT_NOT;
    if (is_change) {
        mg_consumed_update(consumed);
    }
}

void mg_consumed_drop(struct mg_consumed *consumed, struct mg_work *work)
{
    mg_broker_requeue(consumed->shared->broker, work->delivery);
    mg_consumed_clear(consumed, work);
    mg_work_free(&consumed->shared->works, work);
}

void mg_consumed_taken(struct mg_consumed *consumed, const struct mg_work *work)
{
    if (work->delivery != NULL && work->lane < MG_LANE_CONSUMERS) {
        consumed->queues[work->lane].taken++;
    }
}

/* Messages of the queue that are here: they wait as those that the broker still has. */
static int64_t in_hand(const struct mg_consumed *consumed, enum mg_lane lane)
{
    const struct mg_work *work;
    int64_t count = 0;
    LIST_FOREACH(work, &consumed->shared->works.all, entry)
    {
        count += work->delivery != NULL && work->lane == lane ? 1 : 0;
    }
    return count;
}

static void on_queue_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct mg_consumed *consumed = arg;
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        struct mg_consumed_queue *seen = &consumed->queues[i];
        if (strcmp(mg_consumed_queues[i], queue) == 0) {
            /* Up to a prefetch of messages may be on their way here. */
            mg_queue_metrics_seen(&seen->metrics, ready_messages, in_hand(consumed, (enum mg_lane)i),
                                  consumers, seen->taken, mg_consumed_prefetch(consumed, (enum mg_lane)i));
        }
    }
}

void mg_consumed_watch(struct mg_consumed *consumed)
{
    struct mg_err err;
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        mg_queue_metrics_init(&consumed->queues[i].metrics, consumed->shared->metrics, mg_consumed_queues[i]);
        if (mg_broker_watch_queue(consumed->shared->broker, mg_consumed_queues[i], MG_WATCH_MS, on_queue_seen,
                                  consumed, &err) != MG_OK) {
            mg_log(MG_LOG_WARN, "could not watch a queue", MG_LOG_TEXT("queue", mg_consumed_queues[i]),
                   MG_LOG_TEXT("why", err.text));
        }
    }
}

void mg_consumed_unseen(struct mg_consumed *consumed)
{
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        mg_queue_metrics_silence(&consumed->queues[i].metrics);
    }
}
