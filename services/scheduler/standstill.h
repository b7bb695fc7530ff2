/* Whether the scheduler's work ends, and its account of itself for readiness, metrics and its heartbeat. */
#ifndef MG_SCHEDULER_STANDSTILL_H
#define MG_SCHEDULER_STANDSTILL_H

#include "batch.h"

#include "base/progress.h"

struct mg_standstill {
    struct mg_shared *shared;
    struct mg_batcher *batcher;
    struct mg_progress progress;
    bool is_logged;
    struct mg_metric *seconds;
};

void mg_standstill_init(struct mg_standstill *standstill, struct mg_batcher *batcher);
void mg_standstill_look(struct mg_standstill *standstill); /* call it regularly */
/* True: no work ends; `ret_reason` has since when, the oldest order and the last error. */
bool mg_standstill_is(const struct mg_standstill *standstill, char *ret_reason, size_t size);
void mg_standstill_account(const struct mg_standstill *standstill, struct mg_beat *ret_beat);

#endif
