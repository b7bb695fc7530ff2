/* The message to an order that has its turn in the line of its key. */
#ifndef MG_SCHEDULER_TURN_SEND_H
#define MG_SCHEDULER_TURN_SEND_H

#include "item.h"

/* Adds the turn that the fold's write has brought about to the fold's messages. The acks of its causes wait
 * for it. Without memory there is none: the leading supervisor finds the turn in the store. */
void mg_turn_add(struct mg_batch *batch, struct mg_fold *fold);

#endif
