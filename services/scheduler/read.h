/* From deliveries to items. */
#ifndef MG_SCHEDULER_READ_H
#define MG_SCHEDULER_READ_H

struct mg_batch;

/* Reads each work of the batch into an item. Work that needs no order is settled. */
void mg_batch_read(struct mg_batch *batch);

#endif
