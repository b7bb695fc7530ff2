/* Why an order turns back or needs an operator. */
#ifndef MG_SCHEDULER_FAILURE_H
#define MG_SCHEDULER_FAILURE_H

#include "item.h"

/* The step that the effect is about. For an effect about the order: the step that failed; -1: none. */
int mg_failure_step(const struct mg_order *order, const struct mg_effect *effect);
/* Sets a failure that is no answer of the service: it has no words of the service. */
void mg_step_error_set(struct mg_step_record *record, struct mg_slice code, struct mg_slice text);
/* The `cause` of a status, as JSON in the batch's arena; absent for a status without one. The record keeps
 * the first one. */
struct mg_slice mg_failure_cause(struct mg_batch *batch, struct mg_fold *fold,
                                 const struct mg_effect *effect);
/* The `cause` of a rejection. */
struct mg_slice mg_failure_of_refusal(struct mg_batch *batch, const char *code, const char *reason);
/* To be called after a decision: an order that goes forward again has no cause. */
void mg_failure_forget(struct mg_fold *fold, const struct mg_decision *decision);
/* Appends the step's failure to the text of an alert; step -1: nothing. */
void mg_failure_describe(const struct mg_order_record *record, int step, char *text, size_t size);
/* The same for counting: failures with equal members have one cause. NULL: no memory. */
const struct mg_failure *mg_failure_of_alert(struct mg_batch *batch, const struct mg_fold *fold,
                                             const struct mg_effect *effect);

#endif
