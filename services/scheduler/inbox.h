/* Work that waits for its batch, by lane. */
#ifndef MG_SCHEDULER_INBOX_H
#define MG_SCHEDULER_INBOX_H

#include "consumers.h"
#include "gates.h"
#include "suspect_work.h"

struct mg_inbox {
    struct mg_shared *shared;
    struct mg_consumed *consumed;
    struct mg_isolated *isolated;
    const struct mg_gates *gates;
    struct mg_work_list lanes[MG_LANE_COUNT];
    unsigned int replies_turn, signals_turn, intake_turn;
    int64_t up_boot_ms; /* when the broker was reached; 0: not yet */
};

/* Wraps a delivery into a piece of work, in no lane yet. NULL: the delivery was requeued. */
struct mg_work *mg_inbox_receive(struct mg_inbox *inbox, struct mg_delivery *delivery);
void mg_inbox_add(struct mg_inbox *inbox, struct mg_work *work);
/* Takes at most `max` pieces of work in the order of law 7, waiting is not failing: orders under way
 * before new ones. */
int mg_inbox_take(struct mg_inbox *inbox, struct mg_work **ret_works, int max);
void mg_inbox_put_back(struct mg_inbox *inbox, struct mg_work *work);   /* to the front of its lane */
void mg_inbox_put_behind(struct mg_inbox *inbox, struct mg_work *work); /* to its end */
void mg_inbox_give_back(struct mg_inbox *inbox);                        /* requeues all waiting work */
/* True: signals from before the time-out at `due_at_ms` may still have to be read. The supervisor asks about
 * it again. A flood of signals puts it off for a minute at most. */
bool mg_inbox_awaits_signals(const struct mg_inbox *inbox, int64_t due_at_ms, int64_t now_ms);
bool mg_inbox_is_empty(const struct mg_inbox *inbox);
/* Adds a follow-up of `origin`. The ack of `origin` waits for it. NULL: no memory. */
struct mg_work *mg_inbox_add_internal(struct mg_inbox *inbox, struct mg_work *origin);
void mg_inbox_finish(struct mg_inbox *inbox);

#endif
