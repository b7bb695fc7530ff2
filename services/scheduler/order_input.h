/* The values that the templates, guards and conditions of a stored order may use. */
#ifndef MG_SCHEDULER_ORDER_INPUT_H
#define MG_SCHEDULER_ORDER_INPUT_H

#include "core/decide.h"
#include "io/store/store.h"
#include "workflow/workflow.h"

struct mg_order_input {
    struct mg_render_input input;
    struct mg_slice results[MG_STEPS_MAX];
    struct mg_slice faults[MG_STEPS_MAX]; /* only set if a result cannot be read */
};

/* For a request, a guard or a condition of `step`; -1: for the output. The record outlives it. */
void mg_order_input_make(const struct mg_workflow *workflow, const struct mg_order_record *record, int step,
                         struct mg_order_input *ret_input);
/* The same for a request of `kind`. */
void mg_order_input_make_request(const struct mg_workflow *workflow, const struct mg_order_record *record,
                                 int step, enum mg_kind kind, struct mg_order_input *ret_input);
/* The result to which the undo of a step refers: the newest that has all of it. */
struct mg_slice mg_order_undo_result(const struct mg_step_record *record);
/* True if the step's answer gave an unreadable result; error_text has the reason. */
bool mg_order_input_is_unreadable(const struct mg_step_record *record);
/* Notes the steps that are to be undone though they were skipped, until they begin anew. After each decision.
 */
void mg_order_input_note_skips(struct mg_order_record *record, const struct mg_decision *decision);

#endif
