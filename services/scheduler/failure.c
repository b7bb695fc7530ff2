/*
 * Why an order turns back or needs an operator: for its client, in its record and in its alerts. The record
 * keeps the first such failure until the order goes forward again, because the undo's own failures replace
 * those of the steps, and later statuses name the cause of the turn.
 *
 * The JSON is that of `cause` in proto/status.schema.json:
 *   {"step":"charge","code":"card_declined","text":"the card was declined","status":422}
 */
#include "failure.h"

#include <stdio.h>
#include <string.h>

#include "base/json_write.h"

#define NO_TEXT ((struct mg_slice){NULL, 0})

static int step_in(const struct mg_order *order, enum mg_step_state state)
{
    for (int i = 0; i < order->step_count; i++) {
        if (order->steps[i].state == state) {
            return i;
        }
    }
    return -1;
}

int mg_failure_step(const struct mg_order *order, const struct mg_effect *effect)
{
    if (effect->step >= 0) {
        return effect->step;
    }
    int undo = effect->reason == MG_REASON_UNDO_FAILED ? step_in(order, MG_STEP_UNDO_FAILED) : -1;
    return undo >= 0 ? undo : step_in(order, MG_STEP_FAILED);
}

void mg_step_error_set(struct mg_step_record *record, struct mg_slice code, struct mg_slice text)
{
    record->error_code = code;
    record->error_text = text;
    record->error_message = NO_TEXT;
    record->error_body = NO_TEXT;
}

/* ---- the cause in a status ---- */

/* The service's own words; else ours, if the failure has no part of the service in it. Any other text of ours
 * is about hosts and connections: it is for operators only. */
static struct mg_slice text_for_client(const struct mg_step_record *record)
{
    enum mg_reason reason = MG_REASON_NONE;
    if (record->error_message.data != NULL) {
        return record->error_message;
    }
    bool is_ours = record->error_code.data != NULL &&
                   mg_reason_parse(record->error_code.data, record->error_code.len, &reason);
    return is_ours ? record->error_text : NO_TEXT;
}

static void text_put(struct mg_json_writer *json, const char *name, struct mg_slice text)
{
    if (text.len > 0) {
        mg_json_name(json, name);
        mg_buf_append_json_mended(json->buf, text);
    }
}

/* The reason of a step, also if the decision that failed it has begun its undo already. */
static enum mg_reason reason_of(const struct mg_decision *decision, const struct mg_order *order, int step)
{
    for (int i = 0; i < decision->transition_count; i++) {
        const struct mg_transition *change = &decision->transitions[i];
        if (change->step == step && change->to == MG_STEP_FAILED) {
            return change->reason;
        }
    }
    return order->steps[step].reason;
}

/* The code of a failure; absent if the step's reason says it. The last answer of work that ran out of time is
 * no failure itself. */
static struct mg_slice code_of(const struct mg_step_record *record, enum mg_reason reason)
{
    bool is_late =
        reason == MG_REASON_FINISH_EXPIRED || mg_error_is(record->error_code, MG_ERROR_REASON_NOT_DONE_YET);
    return is_late ? NO_TEXT : record->error_code;
}

static bool is_of_step(enum mg_reason reason)
{
    return reason != MG_REASON_ORDER_EXPIRED && reason != MG_REASON_OPERATOR &&
           reason != MG_REASON_STATE_LOST;
}

/* An order without a failed step may lack its output: then the fault of the output is the text. */
static struct mg_slice reason_text(const struct mg_fold *fold, enum mg_reason reason, int step)
{
    bool is_output = step < 0 && reason == MG_REASON_UNRENDERABLE && fold->output_fault.data != NULL;
    return is_output ? fold->output_fault : mg_slice_of(mg_reason_text(reason));
}

static void cause_write(const struct mg_decision *decision, const struct mg_fold *fold, enum mg_reason reason,
                        int step, struct mg_buf *ret)
{
    struct mg_json_writer json = mg_json_compact(ret);
    const struct mg_order_record *record = fold->record;
    const struct mg_step_record *more = step >= 0 ? &record->steps[step] : NULL;
    enum mg_reason its = more != NULL ? reason_of(decision, &record->order, step) : MG_REASON_NONE;
    mg_buf_clear(ret);
    mg_json_object_begin(&json);
    if (more != NULL && code_of(more, its).data != NULL) {
        const struct mg_error_facts facts = mg_error_facts_read(more->error_code);
        mg_json_member_word(&json, "step", record->step_names[step]);
        text_put(&json, "code", facts.own.data != NULL ? facts.own : more->error_code);
        text_put(&json, "text", text_for_client(more));
        if (facts.http_status > 0) {
            mg_json_member_int(&json, "status", facts.http_status);
        }
    } else {
        its = its != MG_REASON_NONE ? its : reason;
        if (more != NULL) {
            mg_json_member_word(&json, "step", record->step_names[step]);
        }
        mg_json_member_word(&json, "code", mg_reason_name(its));
        text_put(&json, "text", reason_text(fold, its, step));
    }
    mg_json_object_end(&json);
}

static struct mg_slice cause_make(struct mg_batch *batch, struct mg_fold *fold,
                                  const struct mg_effect *effect, enum mg_reason reason)
{
    int step = is_of_step(reason) ? mg_failure_step(&fold->record->order, effect) : -1;
    cause_write(&batch->decision, fold, reason, step, &batch->scratch);
    struct mg_slice cause =
        batch->scratch.failed ? NO_TEXT : mg_arena_copy(batch->arena, mg_buf_slice(&batch->scratch));
    fold->has_failed = fold->has_failed || cause.data == NULL;
    return cause;
}

struct mg_slice mg_failure_cause(struct mg_batch *batch, struct mg_fold *fold, const struct mg_effect *effect)
{
    struct mg_order_record *record = fold->record;
    bool is_error = effect->status == MG_STATUS_ERROR;
    bool is_turn = effect->status == MG_STATUS_COMPENSATING;
    bool is_end = effect->status == MG_STATUS_COMPENSATED || effect->status == MG_STATUS_CANCELLED;
    if (!is_error && !is_turn && !is_end) {
        return NO_TEXT;
    }
    /* A cancellation replaces the failure before it: the client asks for an order that an operator has ended.
     */
    bool is_cancelled = record->order.goal == MG_GOAL_CANCELLED && !is_error;
    if (record->failure.data != NULL && !is_error && !(is_cancelled && is_turn)) {
        return record->failure;
    }
    struct mg_slice cause =
        cause_make(batch, fold, effect, is_cancelled ? MG_REASON_OPERATOR : effect->reason);
    if (record->failure.data == NULL || (is_cancelled && is_turn)) {
        record->failure = cause;
    }
    return cause;
}

void mg_failure_forget(struct mg_fold *fold, const struct mg_decision *decision)
{
    for (int i = 0; i < decision->transition_count && fold->record->failure.data != NULL; i++) {
        const struct mg_transition *transition = &decision->transitions[i];
        if (transition->step < 0 &&
            (transition->to == MG_ORDER_PENDING || transition->to == MG_ORDER_PROCESSING)) {
            fold->record->failure = NO_TEXT;
        }
    }
}

struct mg_slice mg_failure_of_refusal(struct mg_batch *batch, const char *code, const char *reason)
{
    struct mg_json_writer json = mg_json_compact(&batch->scratch);
    mg_buf_clear(&batch->scratch);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "code", code);
    text_put(&json, "text", mg_slice_of(reason));
    mg_json_object_end(&json);
    /* Without memory the rejection goes out without its cause: it has the reason. */
    return batch->scratch.failed ? NO_TEXT : mg_arena_copy(batch->arena, mg_buf_slice(&batch->scratch));
}

/* ---- the failure in an alert ---- */

void mg_failure_describe(const struct mg_order_record *record, int step, char *text, size_t size)
{
    const struct mg_step_record *more = step >= 0 ? &record->steps[step] : NULL;
    size_t len = strlen(text);
    if (more == NULL || more->error_text.data == NULL || len >= size) {
        return;
    }
    /* The whole body stands with the step; here its beginning, if the service file finds no text in it. */
    struct mg_slice words = more->error_message.data != NULL ? more->error_message : more->error_body;
    words.len = words.len < MG_ERROR_MESSAGE_MAX ? words.len : MG_ERROR_MESSAGE_MAX;
    (void)snprintf(text + len, size - len, "; step %s: %.*s%s%.*s", record->step_names[step],
                   (int)more->error_text.len, more->error_text.data, words.data != NULL ? ": " : "",
                   (int)words.len, words.data != NULL ? words.data : "");
    mg_utf8_mend(text + len);
}

const struct mg_failure *mg_failure_of_alert(struct mg_batch *batch, const struct mg_fold *fold,
                                             const struct mg_effect *effect)
{
    const struct mg_order_record *record = fold->record;
    struct mg_failure *failure = mg_arena_alloc(batch->arena, sizeof(*failure));
    int step = mg_failure_step(&record->order, effect);
    enum mg_reason reason = effect->reason;
    if (failure == NULL) {
        return NULL;
    }
    *failure = (struct mg_failure){.workflow = mg_slice_of(record->workflow)};
    if (step >= 0) {
        failure->step = mg_slice_of(record->step_names[step]);
        failure->service = mg_slice_of(record->services[step]);
        enum mg_reason its = reason_of(&batch->decision, &record->order, step);
        failure->error_code = code_of(&record->steps[step], its);
        reason = its != MG_REASON_NONE ? its : reason;
    }
    if (failure->error_code.data == NULL) {
        failure->error_code = mg_slice_of(mg_reason_name(reason));
    }
    return failure;
}
