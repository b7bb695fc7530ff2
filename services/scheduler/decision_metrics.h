/* Metrics of decisions. */
#ifndef MG_SCHEDULER_DECISION_METRICS_H
#define MG_SCHEDULER_DECISION_METRICS_H

#include "item.h"

/* Milliseconds since the dispatch of a step's running attempt; -1: no attempt runs. To be called before
 * the decision. */
int64_t mg_attempt_ms(const struct mg_batch *batch, const struct mg_fold *fold, int step);
/* Records that the item ended this attempt. */
void mg_item_note_attempt(struct mg_item *item, int step, enum mg_kind kind, int64_t attempt_ms);
void mg_fold_count(const struct mg_fold *fold); /* after the commit, before the messages go out */
void mg_item_count(struct mg_shared *shared, const struct mg_item *item); /* after the commit */

#endif
