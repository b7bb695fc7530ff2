/*
 * Lines: the orders of workflows with `sequence` run one at a time for each key, in the order in which they
 * were accepted. An order in line is `pending` with the reason `in_line`; it has no deadline, and no sweep
 * looks at it. Keys and places are the store's; the core has neither. It says when an order joins its line,
 * when it begins, and when it leaves. A place belongs to one generation of its order, so that a turn that
 * comes late, or twice, changes nothing.
 */
#ifndef MG_CORE_LINE_H
#define MG_CORE_LINE_H

#include "core/decider.h"

/* A new order, or a restarted one, takes the last place, and gives up an earlier one. Nothing, if its
 * workflow has no line. */
void mg_line_join(struct mg_decider *decider);
/* Its turn has come: its time begins, and planning goes on. */
enum mg_verdict mg_line_turn(struct mg_decider *decider);
/* An operator lets the next order go, though this one is in error. */
enum mg_verdict mg_line_release(struct mg_decider *decider);
/* Gives up the place of an order that has ended, or is in error if its definition releases the line then.
 * Call it at the end of a decision. `before`: the order before it. */
void mg_line_leave(struct mg_decider *decider, const struct mg_order *before);

#endif
