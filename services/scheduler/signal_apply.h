/* Signals and callbacks: commands by which a client, an operator or a service ends a wait of an order. */
#ifndef MG_SCHEDULER_SIGNAL_APPLY_H
#define MG_SCHEDULER_SIGNAL_APPLY_H

#include "item.h"

/* The identity of the signal's cause: of all signals of one name to an order, by the id that its sender gave.
 * Two clients may give one id. `client`: the sender's name; empty: none. Absent: no memory. */
struct mg_slice mg_signal_identity(struct mg_batch *batch, const struct mg_command *command,
                                   struct mg_slice client);
/* Applies the command of the item, a signal, to its order, which exists. */
void mg_signal_apply(struct mg_batch *batch, struct mg_item *item);

#endif
