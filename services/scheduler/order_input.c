/*
 * A skipped step has no result for others, though one may be kept: that of accepted work which an operator
 * skipped. Its own undo still uses it, because the work may stand.
 */
#include "order_input.h"

void mg_order_input_make(const struct mg_workflow *workflow, const struct mg_order_record *record, int step,
                         struct mg_order_input *ret_input)
{
    const struct mg_order *order = &record->order;
    ret_input->input = (struct mg_render_input){
        .workflow = workflow,
        .order_id = record->order_id,
        .payload = record->payload,
        .results = ret_input->results,
        .is_high = record->is_high,
    };
    for (int i = 0; i < workflow->plan.step_count; i++) {
        bool is_skipped = order->steps[i].state == MG_STEP_SKIPPED;
        ret_input->input.skipped |= is_skipped ? UINT64_C(1) << i : 0;
        ret_input->results[i] =
            is_skipped && i != step ? (struct mg_slice){NULL, 0} : record->steps[i].result;
    }
}
