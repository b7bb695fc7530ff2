/* The stages of a batch, in their order; each is a file of its name. */
#ifndef MG_SCHEDULER_STAGES_H
#define MG_SCHEDULER_STAGES_H

#include "item.h"

/* stage_read.c: from deliveries to items. Work that needs no order is settled. */
void mg_batch_read(struct mg_batch *batch);

/* The load, and the stages that it asks besides the store. */
struct mg_loader {
    struct mg_gates *gates;
    struct mg_cache *cache;
    struct mg_workflows *workflows;
    int64_t seen_at_boot_ms; /* when the store last answered; 0: not in this session */
};
/* stage_load.c: gives each item its order and workflow. `done` with an error: not all of them could be read.
 */
void mg_batch_load(struct mg_batch *batch, mg_batch_fn *done);

/* stage_decide.c: applies each item to its order. Items above the memory of one batch stay undecided. */
void mg_batch_decide(struct mg_batch *batch);
/* Bytes allocated for the batch so far. */
size_t mg_batch_made(const struct mg_batch *batch);

/* stage_write.c: commits the decisions. `done` with an error: it is unknown whether they are stored. */
void mg_batch_write(struct mg_batch *batch, mg_batch_fn *done);

#endif
