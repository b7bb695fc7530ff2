/* Spans of orders and attempts; to be called only with a span sink. */
#ifndef MG_SCHEDULER_ORDER_SPANS_H
#define MG_SCHEDULER_ORDER_SPANS_H

#include "item.h"

/* Replaces the client's span by the attempt's, as parent of the agent's spans. */
void mg_request_trace(const struct mg_span_sink *spans, const struct mg_order_record *record,
                      struct mg_request *request);
/* Emit the spans that a stored fold or item has ended. */
void mg_fold_trace(const struct mg_batch *batch, const struct mg_fold *fold);
void mg_item_trace(const struct mg_batch *batch, const struct mg_item *item);

#endif
