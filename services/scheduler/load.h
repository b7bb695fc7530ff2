/* From items to orders. */
#ifndef MG_SCHEDULER_LOAD_H
#define MG_SCHEDULER_LOAD_H

#include "batch.h"

struct mg_loader {
    int64_t seen_at_boot_ms; /* when the store last answered; 0: not in this session */
};

/* Gives each item its order and workflow. `done` with an error: not all of them could be read. */
void mg_batch_load(struct mg_batch *batch, mg_batch_fn *done);

#endif
