/*
 * From a running attempt to its request: the keys, the rendered `request` member, and the digest that binds a
 * key to its bytes (law 8, derived identities).
 */
#include "render.h"

#include <string.h>

#include "core/key.h"
#include "failure.h"
#include "order_input.h"
#include "order_spans.h"

static void error_note(struct mg_batch *batch, struct mg_fold *fold, int step, const char *code,
                       const char *text)
{
    mg_step_error_set(&fold->record->steps[step], mg_slice_of(code),
                      mg_arena_copy(batch->arena, mg_slice_of(text)));
    fold->touched |= UINT64_C(1) << step;
}

uint64_t mg_render_known_results(struct mg_fold *fold, int step, const struct mg_step_record *after)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    uint64_t known = 0;
    for (int i = 0; workflow->has_learning && i < workflow->plan.step_count; i++) {
        const struct mg_step_record *record = after != NULL && i == step ? after : &fold->record->steps[i];
        bool may_have_one = fold->record->order.steps[i].attempt > 0 || record->result.data != NULL;
        if (!workflow->plan.steps[i].needs_result || !may_have_one) {
            continue;
        }
        struct mg_err err;
        enum mg_class class = mg_workflow_undo_check(workflow, i, mg_order_undo_result(record), &err);
        known |= class == MG_OK ? UINT64_C(1) << i : 0;
        fold->has_failed = fold->has_failed || class == MG_TRANSIENT;
    }
    return known;
}

static void missing_note(struct mg_batch *batch, struct mg_fold *fold, int step, enum mg_reason reason)
{
    const struct mg_step_record *record = &fold->record->steps[step];
    struct mg_err err;
    enum mg_class class =
        mg_workflow_undo_check(fold->workflow->workflow, step, mg_order_undo_result(record), &err);
    if (class != MG_PERMANENT) {
        fold->has_failed = fold->has_failed || class == MG_TRANSIENT;
        return;
    }
    bool has_text = record->error_text.data != NULL;
    const struct mg_slice message = record->error_message, body = record->error_body; /* the service's */
    const char *text = mg_arena_printf(
        batch->arena,
        "the undo needs the step's result, and it %s: %s%s%.*s; find it at the service and settle "
        "the step with --outcome done --result JSON",
        reason == MG_REASON_LEARN_FAILED ? "could not be learned" : "is not known", err.text,
        has_text ? "; last answer: " : "", has_text ? (int)record->error_text.len : 0,
        has_text ? record->error_text.data : "");
    if (text == NULL) {
        fold->has_failed = true;
        return;
    }
    error_note(batch, fold, step, mg_reason_name(reason), text);
    fold->record->steps[step].error_message = message;
    fold->record->steps[step].error_body = body;
}

void mg_render_note_missing(struct mg_batch *batch, struct mg_fold *fold)
{
    bool may_miss = fold->workflow->workflow->has_learning;
    for (int i = 0; may_miss && i < batch->decision.transition_count; i++) {
        const struct mg_transition *transition = &batch->decision.transitions[i];
        bool is_missing =
            transition->reason == MG_REASON_UNRENDERABLE || transition->reason == MG_REASON_LEARN_FAILED;
        if (transition->step >= 0 && transition->to == MG_STEP_UNDO_FAILED && is_missing) {
            missing_note(batch, fold, transition->step, transition->reason);
        }
    }
}

/* The address for the callback of the running do by the secret of this place, as a JSON string in the batch's
 * arena; absent: no such secret, or no memory. */
static struct mg_slice callback_url_make(struct mg_batch *batch, const struct mg_order_record *record,
                                         const struct mg_request *request, uint32_t generation, int place)
{
    const struct mg_scheduler_options *options = batch->shared->options;
    char token[MG_CALLBACK_TOKEN_SIZE];
    struct mg_callback callback = {.generation = generation};
    memcpy(callback.order_id, record->order_id, sizeof(callback.order_id));
    memcpy(callback.step, request->step, sizeof(callback.step));
    if (!mg_callback_token_make(options->callback_secrets, place, &callback, token)) {
        return (struct mg_slice){NULL, 0};
    }
    mg_buf_clear(&batch->scratch);
    mg_buf_printf(&batch->scratch, "\"%s/%s\"", options->callback_url, token);
    return mg_arena_copy(batch->arena, mg_buf_slice(&batch->scratch));
}

/* The request, in the batch's scratch. */
static enum mg_class request_render(struct mg_batch *batch, const struct mg_order_input *input, int step,
                                    const struct mg_request *request, struct mg_err *err)
{
    mg_buf_clear(&batch->scratch);
    return mg_workflow_render(&input->input, step, request->kind, request->idempotency_key, request->do_key,
                              &batch->scratch, err);
}

/* False: this key has carried other bytes. A verify has the key of its do and bytes of its own, so it is
 * not compared. */
static bool digest_check(struct mg_fold *fold, int step, enum mg_kind kind, struct mg_slice rendered,
                         bool is_again)
{
    struct mg_step_record *record = &fold->record->steps[step];
    if (kind == MG_KIND_VERIFY) {
        return true;
    }
    bool *has_digest = kind == MG_KIND_DO ? &record->has_do_digest : &record->has_undo_digest;
    uint8_t *digest = kind == MG_KIND_DO ? record->do_digest : record->undo_digest;
    uint8_t now[MG_SHA256_SIZE];
    mg_sha256(rendered, now);
    if (*has_digest) {
        return memcmp(now, digest, sizeof(now)) == 0;
    }
    if (!is_again) {
        memcpy(digest, now, sizeof(now));
        *has_digest = true;
        fold->touched |= UINT64_C(1) << step;
    }
    return true;
}

/* The address by the secret with which this key has gone out, as long as the file has it: the key carries the
 * same bytes after the secret was renewed (law 8, derived identities). For a key that has not gone out, or
 * has done so before schema 45, when bytes were compared without the address: the first secret. */
static enum mg_render callback_render(struct mg_batch *batch, struct mg_fold *fold, int step,
                                      struct mg_order_input *input, struct mg_request *request,
                                      bool is_compared_without)
{
    const struct mg_step_record *record = &fold->record->steps[step];
    int places = record->has_do_digest && !is_compared_without ? MG_CALLBACK_SECRETS_MAX : 1;
    for (int i = 0; i < places; i++) {
        struct mg_err err;
        uint8_t digest[MG_SHA256_SIZE];
        input->input.callback_url =
            callback_url_make(batch, fold->record, request, fold->record->order.steps[step].generation, i);
        if (input->input.callback_url.data == NULL) {
            return i == 0 ? MG_RENDER_NO_MEMORY : MG_RENDER_CHANGED;
        }
        if (request_render(batch, input, step, request, &err) != MG_OK || batch->scratch.failed) {
            return MG_RENDER_NO_MEMORY;
        }
        request->request = mg_buf_slice(&batch->scratch);
        mg_sha256(request->request, digest);
        if (places == 1 || memcmp(digest, record->do_digest, sizeof(digest)) == 0) {
            return MG_RENDER_OK;
        }
    }
    return MG_RENDER_CHANGED;
}

static bool request_add(struct mg_batch *batch, struct mg_item *item, struct mg_request *request, int step,
                        bool is_again)
{
    struct mg_fold *fold = item->fold;
    const struct mg_order_record *record = fold->record;
    char queue[MG_QUEUE_NAME_SIZE], correlation[MG_KEY_SIZE];
    mg_topology_request_queue(request->service, record->is_high, queue);
    mg_correlation_write(record->order_id, request->step, request->attempt, request->kind, correlation);
    const char *traceparent = request->traceparent[0] != '\0' ? request->traceparent : NULL;
    struct mg_send_spec spec = {.work = item->work,
                                .kind = MG_SEND_REQUEST,
                                .exchange = MG_EXCHANGE_REQUESTS,
                                .routing_key = queue,
                                .type = "request",
                                .message_id = mg_slice_of(correlation),
                                .correlation_id = mg_slice_of(correlation),
                                .traceparent = mg_slice_of(traceparent),
                                .request = request};
    struct mg_send *send = mg_send_create(batch->outbox, &spec);
    if (send == NULL) {
        return false;
    }
    memcpy(send->order_id, record->order_id, sizeof(send->order_id));
    send->gate = fold->workflow->gates[step];
    send->step = step;
    send->is_again = is_again;
    send->is_trial = mg_gate_take(send->gate, record->is_high);
    TAILQ_INSERT_TAIL(&fold->sends, send, entry);
    return true;
}

enum mg_render mg_render_request(struct mg_batch *batch, struct mg_item *item, int step, bool is_again)
{
    struct mg_fold *fold = item->fold;
    struct mg_order_record *record = fold->record;
    const struct mg_step *state = &record->order.steps[step];
    const struct mg_workflow *workflow = fold->workflow->workflow;
    const struct mg_step_plan *plan = &workflow->plan.steps[step];

    struct mg_request request;
    memset(&request, 0, sizeof(request));
    memcpy(request.order_id, record->order_id, sizeof(request.order_id));
    memcpy(request.step, workflow->steps[step].name, sizeof(request.step));
    memcpy(request.service, workflow->steps[step].service, sizeof(request.service));
    request.attempt = state->attempt;
    request.kind = state->kind;
    request.complete_by_ms = state->complete_by_ms;
    request.is_at_most_once = plan->is_at_most_once && state->kind == MG_KIND_DO;
    bool asks_undone = mg_step_asks_undone(state);
    bool is_of_undo = state->kind == MG_KIND_UNDO || asks_undone;
    request.is_pollable = mg_workflow_is_polled(workflow, step, state->kind, asks_undone);
    enum mg_kind of_key = is_of_undo ? MG_KIND_UNDO : MG_KIND_DO;
    mg_key_write(record->order_id, request.step, MG_KIND_DO, state->generation, request.do_key);
    mg_key_write(record->order_id, request.step, of_key, mg_key_generation(state, of_key),
                 request.idempotency_key);
    if (record->traceparent.len < sizeof(request.traceparent) && record->traceparent.data != NULL) {
        memcpy(request.traceparent, record->traceparent.data, record->traceparent.len);
    }
    if (batch->shared->options->spans != NULL) {
        mg_request_trace(batch->shared->options->spans, record, &request);
    }

    struct mg_order_input input;
    mg_order_input_make_request(workflow, record, step, state->kind, &input);
    struct mg_err err;
    const char *callback_url = batch->shared->options->callback_url; /* NULL: a rehearsal */
    bool has_callback = workflow->steps[step].has_callback && state->kind == MG_KIND_DO;
    if (has_callback && callback_url != NULL && callback_url[0] == '\0') {
        input.input.callback_url = (struct mg_slice){NULL, 0}; /* the request cannot be built */
    }
    enum mg_class class = request_render(batch, &input, step, &request, &err);
    if (class == MG_PERMANENT || class == MG_BAD_INPUT || class == MG_BUG) {
        error_note(batch, fold, step, mg_reason_name(MG_REASON_UNRENDERABLE), err.text);
        return MG_RENDER_UNRENDERABLE;
    }
    if (class != MG_OK || batch->scratch.failed) {
        return MG_RENDER_NO_MEMORY;
    }
    request.request = mg_buf_slice(&batch->scratch);
    request.version = mg_workflow_request_version(workflow, step, state->kind);
    bool is_compared = false; /* without the address */
    if (has_callback && callback_url != NULL) {
        is_compared = fold->record->steps[step].has_do_digest &&
                      digest_check(fold, step, state->kind, request.request, is_again);
        enum mg_render end = callback_render(batch, fold, step, &input, &request, is_compared);
        if (end == MG_RENDER_NO_MEMORY) {
            return end;
        }
    }
    if (!is_compared && !digest_check(fold, step, state->kind, request.request, is_again)) {
        if (!is_again) {
            error_note(batch, fold, step, "request_changed", mg_reason_text(MG_REASON_REQUEST_CHANGED));
        }
        return MG_RENDER_CHANGED;
    }
    return request_add(batch, item, &request, step, is_again) ? MG_RENDER_OK : MG_RENDER_NO_MEMORY;
}
