/* The guards of steps, for the core. */
#ifndef MG_SCHEDULER_GUARD_FACTS_H
#define MG_SCHEDULER_GUARD_FACTS_H

#include "item.h"

/* The fact of a step's guard. The reason of any other than GO is set in `after`, a copy of its record. */
enum mg_fact mg_guard_evaluate(struct mg_batch *batch, struct mg_fold *fold, int step,
                               struct mg_step_record *after);
/* Notes, for each step that the decision skipped because of `needs`, which step is missing. */
void mg_guard_note_needs(struct mg_batch *batch, struct mg_fold *fold);

#endif
