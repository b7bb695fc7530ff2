/*
 * The output that a processed order gives back: its workflow's template, with the values of payload and
 * results. Without it an order must not end as processed. So it is made while the order is decided: once
 * every step is done or skipped, the core asks for it, and then ends the decision.
 *
 * The output is kept in one place, the status `processed`, in the event that sent it. So each repetition has
 * the same bytes, whatever becomes of template or program, and reports and archive have it with the event. A
 * column of its own would hold the same bytes again. An order without output has none of this.
 */
#include "output.h"

#include "core/decide.h"
#include "core/order.h"
#include "order_input.h"

/* Sets the fold's output, or its fault. Out of memory sets has_failed. */
static void output_make(struct mg_batch *batch, struct mg_fold *fold)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    struct mg_order_input input;
    mg_order_input_make(workflow, fold->record, -1, &input);
    struct mg_err err;
    struct mg_buf output;
    mg_buf_init(&output, MG_OUTPUT_MAX_BYTES);
    enum mg_class class = mg_workflow_render_output(&input.input, &output, &err);
    struct mg_slice made =
        mg_arena_copy(batch->arena, class == MG_OK ? mg_buf_slice(&output) : mg_slice_of(err.text));
    mg_buf_finish(&output);
    fold->has_failed = fold->has_failed || class == MG_TRANSIENT || made.data == NULL;
    if (class == MG_OK) {
        fold->output = made;
    } else {
        fold->output_fault = made;
    }
}

void mg_output_finish(struct mg_batch *batch, struct mg_fold *fold, struct mg_context *context,
                      const struct mg_cause *cause)
{
    fold->output = fold->output_fault = (struct mg_slice){NULL, 0};
    if (batch->decision.asks_output) {
        output_make(batch, fold);
        context->is_output_open = false;
        context->is_output_unrenderable = fold->output.data == NULL;
        mg_order_finish(&fold->workflow->workflow->plan, context, cause, &fold->record->order,
                        &batch->decision);
    }
}
