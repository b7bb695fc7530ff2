/* One cause decided on its order in memory. */
#ifndef MG_SCHEDULER_FOLD_H
#define MG_SCHEDULER_FOLD_H

#include "kept_signals.h"

/* Fields of the event row besides its transitions. */
struct mg_story {
    struct mg_slice by, reason;
};

/* The changes that a cause brings to the order's rows. They are decided on, and kept with MG_GO alone. */
struct mg_brought {
    const struct mg_step_record *step; /* the record of the cause's step from then on; NULL: as it is */
    struct mg_slice payload;           /* the repaired one; absent: as it is */
    struct mg_signal_moves moves;      /* of signals kept at other steps */
};

/* Decides one cause on the item's fold. MG_GO: the order is changed and has the changes that are brought
 * (NULL: none), its event is added, and so are the messages of the decision. A request that cannot be built
 * is a further cause, decided here. */
enum mg_verdict mg_fold_cause(struct mg_batch *batch, struct mg_item *item, const struct mg_cause *cause,
                              const struct mg_brought *brought, struct mg_story story);
/* Law 3, re-creation: true if the item's cause has already made its event. For a redelivered cause its
 * effects are published again. */
bool mg_fold_is_known(struct mg_batch *batch, struct mg_item *item);
/* Sends a status. If the item has made an event, that event keeps the status from now on. Otherwise the
 * event that keeps it already is marked as owed when the send fails. */
void mg_fold_status(struct mg_batch *batch, struct mg_item *item, const struct mg_status_text *status);
/* Ties a record to the fold's workflow and copies the order for later comparison. False: no memory, and
 * the fold has failed. */
bool mg_fold_bind(struct mg_batch *batch, struct mg_fold *fold, struct mg_order_record *record);
uint64_t mg_fold_changed_steps(const struct mg_fold *fold);
/* Puts the collected statuses into the item's event. */
void mg_fold_close_item(struct mg_batch *batch, struct mg_item *item);

#endif
