/* The requests of running attempts. */
#ifndef MG_SCHEDULER_RENDER_H
#define MG_SCHEDULER_RENDER_H

#include "item.h"

enum mg_render { MG_RENDER_OK, MG_RENDER_UNRENDERABLE, MG_RENDER_CHANGED, MG_RENDER_NO_MEMORY };
/* Builds the request of a step's running attempt and adds it to the fold's sends. With `is_again` the
 * digest is only compared. */
enum mg_render mg_render_request(struct mg_batch *batch, struct mg_item *item, int step, bool is_again);
/* Bit i: the result of step i has what its undo refers to (known_results of the core). `after`: the record
 * that `step` is to have; NULL: as it is. Out of memory sets the fold's has_failed. */
uint64_t mg_render_known_results(struct mg_fold *fold, int step, const struct mg_step_record *after);
/* After a decision: for each undo that it gave up for want of a result, the step's error names what is
 * missing, and the last answer. */
void mg_render_note_missing(struct mg_batch *batch, struct mg_fold *fold);

#endif
