/*
 * Steps that call nothing: they are open until a moment, or until a signal. Nothing of ours is out for them,
 * so there is nothing to doubt, to repeat or to undo. The supervisor sends DUE at the moment, as for every
 * other wait; for a signal that moment is its time-out.
 *
 * A signal against the time-out, or against a cancellation: the order of their commits decides (law 4,
 * version guard). The time-out counts when the scheduler judges it, not before; until then a late signal
 * counts, as a late reply does (law 6, database clock).
 */
#ifndef MG_CORE_WAIT_H
#define MG_CORE_WAIT_H

#include "core/decider.h"

/* Opens a pending step. The opening takes an attempt, so that a late DUE for an earlier opening is stale (law
 * 5, attempt fence). A moment that has passed, or a signal that came before, ends it in the same decision. */
void mg_wait_open(struct mg_decider *decider, int step);
/* Ends a wait for a moment that is due by the clock. If only a clock that was set forward has passed its
 * moment, the rest of its time is left to it. A moment that the definition names is by the clock, whichever
 * way it was set. A wait for a signal stays. */
void mg_wait_end(struct mg_decider *decider, int step);
/* The time-out of a wait for a signal, which is due by the clock. It is judged before any request of the same
 * decision, because it may turn the order back. */
enum mg_verdict mg_wait_time_out(struct mg_decider *decider, int step);
/* The cause SIGNAL for a step that waits, or will. */
enum mg_verdict mg_wait_signal(struct mg_decider *decider);
/* True if a clock that was ahead has set an end that is further away than the whole wait. `*ret_due_at_ms`:
 * the latest end. */
bool mg_wait_is_too_long(const struct mg_decider *decider, int step, int64_t *ret_due_at_ms);

#endif
