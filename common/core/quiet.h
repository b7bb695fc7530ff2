/*
 * Law 11, quiesce: the moment from which no earlier attempt of a step can act any more.
 */
#ifndef MG_CORE_QUIET_H
#define MG_CORE_QUIET_H

#include "core/decider.h"

/* Law 11, quiesce: before this an earlier attempt of the step may still act. A moment that a clock which was
 * ahead has set is cut to what an attempt that begins now may take: an agent calls nothing of that clock
 * later. */
int64_t mg_quiet_at(struct mg_decider *decider, int step);
/* An attempt that had until `complete_by_ms` is over for its order, and perhaps not for the service. */
void mg_quiet_extend(struct mg_decider *decider, int step, int64_t complete_by_ms);
/* That moment has passed, or there is none; and when it will have: now, if it has. */
bool mg_quiet_is_reached(struct mg_decider *decider, int step);
int64_t mg_quiet_due_at(struct mg_decider *decider, int step);

#endif
