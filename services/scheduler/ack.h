/*
 * The end of a piece of work: its delivery is acked here and nowhere else, when all that follows from it is
 * safe (law 2, ack after effects); or it goes to the dead letters, or back to the queue for another instance.
 */
#ifndef MG_SCHEDULER_ACK_H
#define MG_SCHEDULER_ACK_H

#include "work.h"

#include "base/loop.h"

struct mg_scheduler;

/* Messages of a newer version that came from a queue. */
struct mg_newer_queue {
    int held_count;            /* wait here to be given back */
    int64_t told_at_boot_ms;   /* of those that are left; 0: never, as below */
    int64_t raised_at_boot_ms; /* the alert, of those that are set aside */
};

struct mg_ack {
    struct mg_newer_queue newer[MG_LANE_CONSUMERS];
    int64_t newer_left, newer_set_aside; /* messages of a newer version, since the start */
    struct mg_timer *leave_timer;
};

void mg_ack_end(void *scheduler, struct mg_work *work);            /* it is settled, and nothing is pending */
void mg_ack_left_due(struct mg_scheduler *scheduler, bool is_all); /* LEAVE, NEWER: back to the queue */

#endif
