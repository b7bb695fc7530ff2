/*
 * The numbers of each minute of the last hour: the calls of each service, and the orders that are accepted
 * and end. Agents and schedulers report their counts since they began (service_state.calls,
 * process_state.orders), and the leading supervisor adds the difference to the minute.
 */
#ifndef MG_IO_STORE_MINUTES_H
#define MG_IO_STORE_MINUTES_H

#include "io/store/store.h"

/* Adds to the present minute, and deletes minutes older than an hour. Nothing happens if (epoch, holder) does
 * not lead. Only the leader writes these rows: a lock on one of them delays no report. */
void mg_store_count_minutes(struct mg_store *store, uint64_t epoch, const char *holder,
                            mg_store_done_fn *done, void *arg);

#endif
