/* Statuses that could not go out: marked as owed in the store, and published again on request. */
#ifndef MG_SCHEDULER_OWED_STATUSES_H
#define MG_SCHEDULER_OWED_STATUSES_H

#include "alert_raise.h"

#include "io/store/owed.h"

struct mg_owed_mark;

/* An event with owed statuses on their way again. Its mark is cleared once all have arrived. */
struct mg_debt {
    struct mg_owed owed; /* order_id and reply_to point below */
    char order_id[MG_ORDER_ID_MAX + 1], reply_to[MG_REPLY_TO_MAX + 1];
    int open;
    bool has_failed;
};

/* Marks on their way into the store, one call at a time. */
struct mg_owing {
    struct mg_shared *shared;
    struct mg_outbox *outbox;
    struct mg_alerts *alerts;
    STAILQ_HEAD(mg_owed_marks, mg_owed_mark) marks, in_hand, resting; /* resting: refused alone */
    int in_hand_count;
    int limit; /* of one call, smaller after a failure; 0: the most */
};

void mg_owed_init(struct mg_owing *owing, struct mg_alerts *alerts);
void mg_owed_finish(struct mg_owing *owing);
/* Marks an event's statuses as owed, or no longer owed. The ack of `work` waits for it. Copies `owed`. */
void mg_owed_mark(struct mg_owing *owing, struct mg_work *work, const struct mg_owed *owed);
/* Publishes the owed statuses of an order, at the supervisor's command. Settles `work`. */
void mg_owed_resend(struct mg_owing *owing, struct mg_work *work, const char *order_id);
/* The same, because the client has posted its order again. The ack of `work` waits for it. */
void mg_owed_recall(struct mg_owing *owing, struct mg_work *work, const char *order_id);
void mg_debt_settle(struct mg_owing *owing, struct mg_send *send, bool has_arrived);
void mg_owed_flush(struct mg_owing *owing);

#endif
