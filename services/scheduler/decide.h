/* From orders to decisions. */
#ifndef MG_SCHEDULER_DECIDE_H
#define MG_SCHEDULER_DECIDE_H

#include <stddef.h>

struct mg_batch;

/* Applies each item to its order. Items above the memory of one batch stay undecided. */
void mg_batch_decide(struct mg_batch *batch);
/* Bytes allocated for the batch so far. */
size_t mg_batch_made(const struct mg_batch *batch);

#endif
