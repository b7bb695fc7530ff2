/*
 * The queues from which a scheduler's work comes: how many deliveries of each may be here, when they are
 * consumed, and how full they are seen.
 */
#ifndef MG_SCHEDULER_CONSUME_H
#define MG_SCHEDULER_CONSUME_H

#include "work.h"

#include "base/queue_metrics.h"

struct mg_scheduler;

struct mg_consumed_queue {
    int64_t taken; /* for the first time, since the start */
    struct mg_queue_metrics metrics;
};

struct mg_consumed {
    struct mg_consumed_queue queues[MG_LANE_CONSUMERS];
    struct mg_suspects suspects;
};

extern const char *const mg_consumed_queues[MG_LANE_CONSUMERS]; /* their names */

/* Deliveries of a lane that may be here unacked. */
uint16_t mg_consumed_prefetch(const struct mg_scheduler *scheduler, enum mg_lane lane);
/* Starts or stops each consumer, as it should be now. */
void mg_consumed_update(struct mg_scheduler *scheduler);
void mg_consumed_clear(struct mg_scheduler *scheduler,
                       struct mg_work *work);                                /* no suspect, or about to end */
void mg_consumed_drop(struct mg_scheduler *scheduler, struct mg_work *work); /* back to the broker, undone */
/* How full the queues are; only for what is told of them. */
void mg_consumed_watch(struct mg_scheduler *scheduler);
void mg_consumed_unseen(struct mg_scheduler *scheduler); /* what was seen of the queues is of long ago */

#endif
