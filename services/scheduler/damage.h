/*
 * Stored orders that do not fit their workflow, or hold text that no version writes. Such an order is refused
 * like one that the database cannot read (aside.h): a decision would turn it back and undo
 * paid steps.
 */
#ifndef MG_SCHEDULER_DAMAGE_H
#define MG_SCHEDULER_DAMAGE_H

#include "item.h"

/* Looks at an order as it was read, before it is bound to its workflow. NULL: it is sound. Else the reason,
 * of at most MG_REFUSAL_TEXT_SIZE bytes, in the batch's arena, and its kind: an order that does not fit may
 * be one of many that a changed workflow has left. */
const char *mg_damage_of(struct mg_batch *batch, const struct mg_order_record *record,
                         const struct mg_workflow *workflow, enum mg_refusal *ret_refusal);
/* The reason against an order, stored or new, of a workflow version that the database does not have;
 * `is_there`: it has only a damaged one. */
const char *mg_damage_no_workflow(struct mg_batch *batch, const char *workflow, int64_t version,
                                  bool is_there);

#endif
