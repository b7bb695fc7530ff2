/* The guards of steps, for the core. */
#ifndef MG_SCHEDULER_GUARD_FACTS_H
#define MG_SCHEDULER_GUARD_FACTS_H

#include "kept_signals.h"

/* The facts of a step: its guard, the moment of a wait, and the signals that came before it. The reason of
 * any other fact than GO is set in `after`, a copy of its record. */
void mg_guard_evaluate(struct mg_batch *batch, struct mg_fold *fold, int step, struct mg_step_record *after,
                       struct mg_signal_moves *ret_moves, struct mg_cause_facts *ret_facts);
/* Notes, for each step that the decision skipped because of `needs`, which step is missing. */
void mg_guard_note_needs(struct mg_batch *batch, struct mg_fold *fold);

#endif
