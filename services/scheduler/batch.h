/* One batch in hand at a time. */
#ifndef MG_SCHEDULER_BATCH_H
#define MG_SCHEDULER_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"

struct mg_batch;
struct mg_scheduler;

/* Assumed memory of one cause until it is measured: more than most causes need, and batches are not small. */
#define MG_FIRST_CAUSE_BYTES ((size_t)128 * 1024)

struct mg_batcher {
    struct mg_batch *batch; /* NULL: none is in hand */
    uint64_t causes_done;
    struct mg_timer *backoff;
    struct mg_timer *pace; /* while it runs, the next batch waits for more causes */
    size_t cause_bytes;    /* memory of a batch per cause, the recent maximum (batch_note_size) */
};

void mg_batch_start(struct mg_scheduler *scheduler); /* if work waits and no batch is in hand */
void mg_batch_destroy(struct mg_batch *batch);       /* accepts NULL */

#endif
