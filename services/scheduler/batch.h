/* One batch in hand at a time. */
#ifndef MG_SCHEDULER_BATCH_H
#define MG_SCHEDULER_BATCH_H

#include "aside.h"
#include "slot_fire.h"
#include "stages.h"

/* Assumed memory of one cause until it is measured: more than most causes need, and batches are not small. */
#define MG_FIRST_CAUSE_BYTES ((size_t)128 * 1024)

struct mg_batcher {
    struct mg_shared *shared;
    struct mg_inbox *inbox;
    struct mg_asides *aside;
    struct mg_loader *loader;
    struct mg_owing *owing;
    struct mg_keyed *keyed;
    struct mg_fires *fires;
    struct mg_batch *batch; /* NULL: none is in hand */
    uint64_t causes_done;   /* without agents' reports */
    uint64_t ended;         /* of them decided and stored */
    struct mg_timer *backoff;
    struct mg_timer *pace; /* while it runs, the next batch waits for more causes */
    size_t cause_bytes;    /* memory of a batch per cause, the recent maximum (batch_note_size) */
    /* The first order of the last batch that failed, and the error. */
    char failed_order_id[MG_ORDER_ID_MAX + 1], why[MG_BEAT_REASON_SIZE];
};

/* False: no memory. */
bool mg_batcher_init(struct mg_batcher *batcher, struct mg_loader *loader, struct mg_asides *aside,
                     struct mg_owing *owing, struct mg_keyed *keyed, struct mg_fires *fires);
void mg_batcher_finish(struct mg_batcher *batcher);
void mg_batch_start(struct mg_batcher *batcher); /* if work waits and no batch is in hand */
void mg_batch_destroy(struct mg_batch *batch);   /* accepts NULL */

#endif
