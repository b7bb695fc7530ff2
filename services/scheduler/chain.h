/* From a step's request back to the messages that it follows from. */
#ifndef MG_SCHEDULER_CHAIN_H
#define MG_SCHEDULER_CHAIN_H

#include "item.h"

/* The external cause at the start of a step's cause. Absent: the step has none. */
struct mg_slice mg_chain_root(struct mg_slice step_cause);
/* The cause to store in a step when the item sends its request. Absent: no memory. */
struct mg_slice mg_chain_cause(struct mg_batch *batch, const struct mg_item *item);
/* True if `cause` is the whole cause of a step, or one of its two parts. */
bool mg_chain_is_sent_by(struct mg_slice step_cause, struct mg_slice cause);

#endif
