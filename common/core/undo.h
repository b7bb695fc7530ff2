/* Inside of the core: see undo.c. */
#ifndef MG_CORE_UNDO_H
#define MG_CORE_UNDO_H

#include "core/decider.h"

/* The undo of the present key is in doubt no more, and has not happened. The doubt had taken the place of the
 * end of the do's work, which is set anew. */
void mg_undo_end_doubt(struct mg_decider *decider, int index);
/* A reply to the running attempt of a step that is being undone. */
enum mg_verdict mg_undo_replied(struct mg_decider *decider, int index);
/* Between two attempts a copy of the newest request may still be answered: an agent that loses its ack gets
 * the request once more. If the copy acted, the undo is done; if it may have, the undo is in doubt. */
bool mg_undo_awaits_copy(const struct mg_step *step);
enum mg_verdict mg_undo_copy_replied(struct mg_decider *decider, int index);
/* Its complete-by has passed without a reply. */
enum mg_verdict mg_undo_overdue(struct mg_decider *decider, int index);
/* The broker refused its request. `may_be_out`: a copy may act nevertheless. */
enum mg_verdict mg_undo_unpublishable(struct mg_decider *decider, int index, bool may_be_out);

#endif
