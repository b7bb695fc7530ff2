/*
 * Steps that call nothing: they are open until a moment. Nothing of ours is out for them, so there is nothing
 * to doubt, to repeat or to undo. The supervisor sends DUE at the moment, as for every other wait.
 */
#ifndef MG_CORE_WAIT_H
#define MG_CORE_WAIT_H

#include "core/decider.h"

/* Opens a pending step. The opening takes an attempt, so that a late DUE for an earlier opening is stale (law
 * 5, attempt fence). A moment that has passed ends it in the same decision. */
void mg_wait_open(struct mg_decider *decider, int step);
/* Ends a wait that is due by the clock. If only a clock that was set forward has passed its moment, the rest
 * of its time is left to it. A moment that the definition names is by the clock, whichever way it was set. */
void mg_wait_end(struct mg_decider *decider, int step);
/* True if a clock that was ahead has set an end that is further away than the whole wait. `*ret_due_at_ms`:
 * the latest end. */
bool mg_wait_is_too_long(const struct mg_decider *decider, int step, int64_t *ret_due_at_ms);

#endif
