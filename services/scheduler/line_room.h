/*
 * Whether the line of a new order has room. Its length is read before the decision, and only for orders of
 * which the workflow has a line. When several schedulers accept orders of a key at once, their batches may
 * exceed the bound together.
 */
#ifndef MG_SCHEDULER_LINE_ROOM_H
#define MG_SCHEDULER_LINE_ROOM_H

#include "item.h"

/* Ends the stage of loading: reads the lengths of the lines that new orders would join, if there are any. */
void mg_batch_lines_ask(struct mg_batch *batch);
/* True if the order would be one more than its workflow allows, the orders before it in its batch included.
 */
bool mg_line_is_full(const struct mg_batch *batch, const struct mg_item *item, struct mg_slice key);

#endif
