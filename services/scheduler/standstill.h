/* Whether the scheduler's work ends, and its account of itself for readiness, metrics and its heartbeat. */
#ifndef MG_SCHEDULER_STANDSTILL_H
#define MG_SCHEDULER_STANDSTILL_H

#include "base/metrics.h"
#include "base/progress.h"
#include "io/store/store.h"

struct mg_scheduler;

struct mg_standstill {
    struct mg_progress progress;
    uint64_t ended; /* causes decided and stored, since the start; without agents' reports */
    bool is_logged;
    char order_id[MG_ORDER_ID_MAX + 1]; /* the first of the last batch that failed */
    char why[MG_BEAT_REASON_SIZE];      /* its error */
    struct mg_metric *seconds;
};

void mg_standstill_init(struct mg_scheduler *scheduler);
/* A batch that has this order failed. */
void mg_standstill_note(struct mg_scheduler *scheduler, const char *order_id, const char *why);
void mg_standstill_look(struct mg_scheduler *scheduler); /* call it regularly */
/* True: no work ends; `ret_reason` has since when, the oldest order and the last error. */
bool mg_standstill_is(const struct mg_scheduler *scheduler, char *ret_reason, size_t size);
void mg_standstill_account(void *scheduler, struct mg_beat *ret_beat);

#endif
