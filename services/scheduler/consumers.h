/*
 * The queues that a scheduler consumes: the prefetch of each, when it is consumed, and its observed length.
 */
#ifndef MG_SCHEDULER_CONSUMERS_H
#define MG_SCHEDULER_CONSUMERS_H

#include "shared.h"

#include "base/queue_metrics.h"

struct mg_consumed_queue {
    int64_t taken; /* deliveries that have ended since the start */
    struct mg_queue_metrics metrics;
};

struct mg_consumed {
    struct mg_shared *shared;
    struct mg_consumed_queue queues[MG_LANE_CONSUMERS];
    struct mg_suspects suspects;
};

extern const char *const mg_consumed_queues[MG_LANE_CONSUMERS]; /* their names */

/* Maximum of unacked deliveries in a lane. */
uint16_t mg_consumed_prefetch(const struct mg_consumed *consumed, enum mg_lane lane);
/* Starts or stops each consumer, according to the current state. */
void mg_consumed_update(struct mg_consumed *consumed);
void mg_consumed_clear(struct mg_consumed *consumed,
                       struct mg_work *work); /* no longer a suspect, or about to end */
void mg_consumed_drop(struct mg_consumed *consumed,
                      struct mg_work *work); /* requeues the delivery and frees the work */
void mg_consumed_taken(struct mg_consumed *consumed, const struct mg_work *work); /* it has ended */
/* Watches the lengths of the queues, for metrics only. */
void mg_consumed_watch(struct mg_consumed *consumed);
void mg_consumed_unseen(struct mg_consumed *consumed); /* the observed lengths are outdated */

#endif
