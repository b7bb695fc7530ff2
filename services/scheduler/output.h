/* The output of a processed order. */
#ifndef MG_SCHEDULER_OUTPUT_H
#define MG_SCHEDULER_OUTPUT_H

#include "item.h"

/* After a decision to go: ends it, if it asks for the order's output. */
void mg_output_finish(struct mg_batch *batch, struct mg_fold *fold, struct mg_context *context,
                      const struct mg_cause *cause);

#endif
