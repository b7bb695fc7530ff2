/* Statuses that could not go out: marked as owed in the store, and sent again when they are asked for. */
#ifndef MG_SCHEDULER_OWED_H
#define MG_SCHEDULER_OWED_H

#include "outbox.h"

#include "io/store/owed.h"

struct mg_owed_mark;

/* Events whose owed statuses go out again: cleared when all have arrived. */
struct mg_debt {
    struct mg_owed word; /* order_id and reply_to point below */
    char order_id[MG_ORDER_ID_MAX + 1], reply_to[MG_REPLY_TO_MAX + 1];
    int open;
    bool has_failed;
};

/* Marks on their way into the store, one call at a time. */
struct mg_owing {
    struct mg_owed_mark *marks, *marks_last, *marks_in_hand;
};

/* Marks an event's statuses as owed, or no longer; the ack of `work` waits for it. Copies the word. */
void mg_owed_mark(struct mg_scheduler *scheduler, struct mg_work *work, const struct mg_owed *word);
/* The supervisor asks: publish what an order's client is still owed. Settles the work. */
void mg_owed_resend(struct mg_scheduler *scheduler, struct mg_work *work, const char *order_id);
/* The client has posted its order again: the same, and the ack of `work` waits for it. */
void mg_owed_recall(struct mg_scheduler *scheduler, struct mg_work *work, const char *order_id);
void mg_debt_settle(struct mg_scheduler *scheduler, struct mg_send *send, bool has_arrived);
void mg_owed_flush(struct mg_scheduler *scheduler);
void mg_owed_finish(struct mg_scheduler *scheduler);

#endif
