/*
 * A wait with a key, at the end of its time. The look that brings a kept signal to its order can be lost with
 * its process or its message (keyed_signals.h). So before such a wait ends by time, the store is asked for a
 * signal that came before its end; if there is one, the look is made again, and the wait goes on until then.
 */
#ifndef MG_SCHEDULER_LATE_MATCH_H
#define MG_SCHEDULER_LATE_MATCH_H

#include "item.h"

/* After the load. Then the lines are asked for (line_room.h); a batch without such waits does so at once. */
void mg_batch_matches_ask(struct mg_batch *batch);
/* At the decision: true if the command ends a wait that a signal is kept for. The look is made after the
 * batch, and the supervisor asks again. */
bool mg_late_match_look(struct mg_item *item, int step);

#endif
