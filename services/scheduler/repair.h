/* Repairs by an operator. */
#ifndef MG_SCHEDULER_REPAIR_H
#define MG_SCHEDULER_REPAIR_H

#include "item.h"

/* The order's payload after an operator's `resume`, in the batch's arena. Absent, with the reason in
 * `err`: the payload would be invalid, or it would change the undo of a step that is done or maybe. Out of
 * memory sets the fold's has_failed, too. */
struct mg_slice mg_repair_payload(struct mg_batch *batch, struct mg_fold *fold,
                                  const struct mg_command *command, struct mg_err *err);
/* Whether the requests of other steps that have gone out stay as they are if this step is done with this
 * result (law 8, derived identities). MG_BAD_INPUT: one would change. MG_TRANSIENT: no memory. */
enum mg_class mg_repair_check_settled(struct mg_fold *fold, int step, struct mg_slice result,
                                      struct mg_err *err) MG_MUSTCHECK;

#endif
