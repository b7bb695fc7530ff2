/*
 * The end of a piece of work. A delivery is acked only here, after all its consequences are durable (law 2,
 * ack after effects). Otherwise it is dead-lettered, or requeued for another instance.
 */
#ifndef MG_SCHEDULER_ACK_H
#define MG_SCHEDULER_ACK_H

#include "alert_raise.h"
#include "consumers.h"

/* Messages of a newer version, from one queue. */
struct mg_newer_queue {
    int held_count;            /* waiting here for their requeue */
    int64_t logged_at_boot_ms; /* last log line about messages left; 0: none */
    int64_t raised_at_boot_ms; /* last alert about messages set aside; 0: none */
};

struct mg_ack {
    struct mg_shared *shared;
    struct mg_consumed *consumed;
    struct mg_alerts *alerts;
    struct mg_newer_queue newer[MG_LANE_CONSUMERS];
    int64_t newer_left, newer_set_aside; /* messages of a newer version, since the start */
    struct mg_timer *leave_timer;
};

bool mg_ack_init(struct mg_ack *ack, struct mg_consumed *consumed,
                 struct mg_alerts *alerts); /* false: no memory */
void mg_ack_finish(struct mg_ack *ack);
void mg_ack_left_due(struct mg_ack *ack,
                     bool is_all); /* requeues LEAVE and NEWER work that is due, or all of it */

#endif
