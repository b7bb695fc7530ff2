/*
 * Law 11, quiesce: the moment after which no earlier attempt of a step can act any more.
 */
#ifndef MG_CORE_QUIET_H
#define MG_CORE_QUIET_H

#include "core/decider.h"

/* Law 11, quiesce: the moment before which an earlier attempt of the step may still act. A moment set by a
 * clock that was ahead is cut to the longest time of an attempt that begins now: no agent makes a call for a
 * request of that clock later. */
int64_t mg_quiet_at(struct mg_decider *decider, int step);
/* An attempt with a complete-by of `complete_by_ms` is over for its order, but may still act at the
 * service. */
void mg_quiet_extend(struct mg_decider *decider, int step, int64_t complete_by_ms);
/* The dispatch of the running attempt. Its answer is as old as that: it may have come late. */
int64_t mg_quiet_begun_ms(const struct mg_decider *decider, int step);
/* Every attempt before the running one was over when that one began, and it has no second copy. Only then
 * does an answer that finds nothing hold for all of them. */
bool mg_quiet_was_reached(struct mg_decider *decider, int step);
/* Whether that moment has passed or does not exist; and the moment itself, or now if it has passed. */
bool mg_quiet_is_reached(struct mg_decider *decider, int step);
int64_t mg_quiet_due_at(struct mg_decider *decider, int step);

#endif
