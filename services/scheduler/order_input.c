/*
 * A skipped step has no result for others, though one may be kept: that of accepted work which an operator
 * skipped. Its own undo still uses it, because the work may stand. While it is undone it stays skipped for
 * others: their requests are the same on the way back (law 8, derived identities).
 */
#include "order_input.h"

#include <string.h>

#include "wire/reply.h"

/* In place of the address where the secret is not known, and in a first look at whether a request can be
 * built. */
#define CALLBACK_URL_COMPARED "\"callback\""

static void note_fault(struct mg_order_input *input, int step, struct mg_slice why)
{
    if (input->input.faults == NULL) {
        memset(input->faults, 0, sizeof(input->faults));
        input->input.faults = input->faults;
    }
    input->faults[step] = why.data != NULL ? why : mg_slice_of("the answer gave none");
}

bool mg_order_input_is_unreadable(const struct mg_step_record *record)
{
    bool is_of_earlier =
        mg_error_is(record->error_code, MG_ERROR_REASON_RESULT_UNREADABLE); /* before schema 34 */
    return record->result.data == NULL && (record->unreadable.data != NULL || is_of_earlier);
}

void mg_order_input_make(const struct mg_workflow *workflow, const struct mg_order_record *record, int step,
                         struct mg_order_input *ret_input)
{
    const struct mg_order *order = &record->order;
    ret_input->input = (struct mg_render_input){
        .workflow = workflow,
        .order_id = record->order_id,
        .payload = record->payload,
        .results = ret_input->results,
        .accepted_at_ms = record->created_at_ms,
        .is_high = record->is_high,
        .callback_url = mg_slice_of(CALLBACK_URL_COMPARED),
        .asks_undone = step >= 0 && mg_step_asks_undone(&order->steps[step]),
    };
    for (int i = 0; i < workflow->plan.step_count; i++) {
        bool is_skipped =
            i != step && (order->steps[i].state == MG_STEP_SKIPPED || record->steps[i].was_skipped);
        ret_input->input.skipped |= is_skipped ? UINT64_C(1) << i : 0;
        ret_input->results[i] = is_skipped ? (struct mg_slice){NULL, 0} : record->steps[i].result;
        if (!is_skipped && mg_order_input_is_unreadable(&record->steps[i])) {
            const struct mg_step_record *of = &record->steps[i];
            note_fault(ret_input, i, of->unreadable.data != NULL ? of->unreadable : of->error_text);
        }
    }
}

struct mg_slice mg_order_undo_result(const struct mg_step_record *record)
{
    return record->undo_result.data != NULL ? record->undo_result : record->result;
}

void mg_order_input_make_request(const struct mg_workflow *workflow, const struct mg_order_record *record,
                                 int step, enum mg_kind kind, struct mg_order_input *ret_input)
{
    mg_order_input_make(workflow, record, step, ret_input);
    if (kind == MG_KIND_UNDO || ret_input->input.asks_undone) {
        ret_input->results[step] = mg_order_undo_result(&record->steps[step]);
    }
}

void mg_order_input_note_skips(struct mg_order_record *record, const struct mg_decision *decision)
{
    for (int i = 0; i < decision->transition_count; i++) {
        const struct mg_transition *transition = &decision->transitions[i];
        if (transition->step < 0) {
            continue;
        }
        struct mg_step_record *step = &record->steps[transition->step];
        if (transition->from == MG_STEP_SKIPPED) {
            step->was_skipped = transition->to == MG_STEP_UNDO_PENDING;
        } else if (transition->to == MG_STEP_PENDING) {
            step->was_skipped = false;
        }
    }
}
