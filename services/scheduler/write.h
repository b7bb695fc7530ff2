/* From decisions to rows. */
#ifndef MG_SCHEDULER_WRITE_H
#define MG_SCHEDULER_WRITE_H

#include "batch.h"

/* Commits the decisions. `done` with an error: it is unknown whether they are stored. */
void mg_batch_write(struct mg_batch *batch, mg_batch_fn *done);

#endif
