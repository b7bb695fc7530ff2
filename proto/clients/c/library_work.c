/* A request as its handler sees it, and the handler's answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "handling.h"

/* The texts of a work: the message, its body, and the values that a handler looks up in it. */
#define WORK_MAX_BYTES (8 * MG_REQUEST_LIMITS.max_bytes)
/* The place of the body in a request. */
#define BODY_POINTER "/request/body"

static const char *text_copy(struct mg_library_work *work, struct mg_slice text, bool *is_out_of_memory)
{
    if (text.data == NULL) {
        return "";
    }
    const char *copy = mg_arena_text(work->arena, text);
    *is_out_of_memory = *is_out_of_memory || copy == NULL;
    return copy;
}

static bool show(struct mg_library_work *work, const struct mg_job *job)
{
    const struct mg_request *request = &job->request;
    const struct mg_slice message = job->delivery->body;
    bool is_out_of_memory = false;
    work->shown = (struct mg_work){
        .order_id = text_copy(work, mg_slice_of(request->order_id), &is_out_of_memory),
        .step = text_copy(work, mg_slice_of(request->step), &is_out_of_memory),
        .service = text_copy(work, mg_slice_of(request->service), &is_out_of_memory),
        .kind = mg_kind_name(request->kind),
        .attempt = request->attempt,
        .idempotency_key = text_copy(work, mg_slice_of(request->idempotency_key), &is_out_of_memory),
        .do_key = text_copy(work, mg_slice_of(request->do_key), &is_out_of_memory),
        .path = text_copy(work, request->path, &is_out_of_memory),
        .body = text_copy(work, request->content, &is_out_of_memory),
        .body_size = request->content.data != NULL ? request->content.len : 0,
        .traceparent = text_copy(work, mg_slice_of(mg_try_traceparent(job)), &is_out_of_memory),
        .message = text_copy(work, message, &is_out_of_memory),
        .message_size = message.len,
    };
    return !is_out_of_memory;
}

struct mg_library_work *mg_library_work_create(struct mg_job *job, mg_work_fn *handler, void *arg)
{
    const struct mg_service *service = job->served->service;
    struct mg_library_work *work = calloc(1, sizeof(*work));
    if (work == NULL) {
        return NULL;
    }
    work->arena = mg_arena_create(WORK_MAX_BYTES);
    if (work->arena == NULL || !show(work, job)) {
        mg_library_work_free(work);
        return NULL;
    }
    work->job = job;
    work->handler = handler;
    work->arg = arg;
    work->until_boot_ms = mg_clock_boot_ms() + mg_job_left_ms(job);
    work->limits = mg_answer_limits(service);
    work->result_max_bytes = service->result_max_bytes;
    return work;
}

void mg_library_work_free(struct mg_library_work *work)
{
    mg_arena_destroy(work->arena);
    free(work);
}

static struct mg_library_work *work_of(struct mg_work *shown)
{
    return (struct mg_library_work *)shown;
}

/* ---- the request ---- */

static struct mg_slice find(const struct mg_work *shown, const char *pointer)
{
    char whole[sizeof(BODY_POINTER) + MG_WORK_POINTER_MAX];
    const struct mg_slice message = {shown->message, shown->message_size};
    int len = snprintf(whole, sizeof(whole), BODY_POINTER "%s", pointer);
    return len < (int)sizeof(whole) ? mg_json_find(message, whole) : (struct mg_slice){NULL, 0};
}

const char *mg_work_find(struct mg_work *work, const char *pointer)
{
    struct mg_slice value = find(work, pointer);
    if (value.data == NULL) {
        return NULL;
    }
    /* A body that is a text is shorter than its JSON. */
    bool is_body = pointer[0] == '\0' && value.len == work->body_size;
    return is_body ? work->body : mg_arena_text(work_of(work)->arena, value);
}

const char *mg_work_text(struct mg_work *work, const char *pointer)
{
    struct mg_slice value = find(work, pointer);
    const char *text = NULL;
    struct mg_buf plain;
    mg_buf_init(&plain, value.len + 1);
    if (value.data != NULL && mg_json_string(value, &plain) && !plain.failed) {
        text = mg_arena_text(work_of(work)->arena, plain.len > 0 ? mg_buf_slice(&plain) : mg_slice_of(""));
    }
    mg_buf_finish(&plain);
    return text;
}

int64_t mg_work_left_ms(const struct mg_work *work)
{
    int64_t left_ms = ((const struct mg_library_work *)work)->until_boot_ms - mg_clock_boot_ms();
    return left_ms > 0 ? left_ms : 0;
}

/* ---- the answer ---- */

static void answer(struct mg_library_work *work, enum mg_outcome outcome, enum mg_executed executed,
                   enum mg_call_health health, const char *code, const char *text)
{
    char plain_code[MG_ERROR_CODE_MAX + 1] = "", plain_text[MG_ERROR_TEXT_MAX + 1];
    if (work->is_answered) {
        return;
    }
    (void)mg_error_code_append(mg_slice_of(code), plain_code);
    mg_text_copy_plain(mg_slice_of(text != NULL ? text : ""), plain_text, sizeof(plain_text));
    mg_verdict_make((struct mg_maybe){outcome, executed, false}, health, MG_ERROR_REASON_NONE, plain_text,
                    &work->verdict);
    mg_verdict_code_set(&work->verdict, plain_code);
    work->is_answered = true;
}

static enum mg_error_code answer_good(struct mg_library_work *work, enum mg_outcome outcome,
                                      const char *result, struct mg_error *error)
{
    struct mg_slice text = result != NULL ? mg_slice_of(result) : (struct mg_slice){NULL, 0};
    struct mg_err err;
    if (work->is_answered) {
        return mg_error_set(error, MG_ERROR_INPUT, "the request is answered already");
    }
    bool is_cut = text.len > work->result_max_bytes;
    if (text.data != NULL && !is_cut && mg_json_check_limits(text, &work->limits, &is_cut, &err) != MG_OK &&
        !is_cut) {
        return mg_error_set(error, MG_ERROR_INPUT, "the result is no JSON: %s", err.text);
    }
    if (text.data != NULL && !is_cut) {
        work->result = mg_arena_copy(work->arena, text);
        if (work->result.data == NULL) {
            return mg_error_set(error, MG_ERROR_SYSTEM, "no memory for the result");
        }
    }
    work->is_result_cut = is_cut;
    answer(work, outcome, MG_EXECUTED_YES, MG_CALL_HEALTHY, "", NULL);
    return MG_ERROR_NONE;
}

enum mg_error_code mg_work_done(struct mg_work *work, const char *result, struct mg_error *error)
{
    return answer_good(work_of(work), MG_OUTCOME_DONE, result, error);
}

enum mg_error_code mg_work_accepted(struct mg_work *work, const char *result, struct mg_error *error)
{
    return answer_good(work_of(work), MG_OUTCOME_ACCEPTED, result, error);
}

void mg_work_absent(struct mg_work *work)
{
    answer(work_of(work), MG_OUTCOME_ABSENT, MG_EXECUTED_NO, MG_CALL_HEALTHY, "", NULL);
}

/* An unknown word proves nothing. */
static enum mg_executed executed_of(const char *text, enum mg_executed absent)
{
    if (text == NULL) {
        return absent;
    }
    return strcmp(text, "no") == 0    ? MG_EXECUTED_NO
           : strcmp(text, "yes") == 0 ? MG_EXECUTED_YES
                                      : MG_EXECUTED_MAYBE;
}

void mg_work_transient(struct mg_work *work, const char *code, const char *text, const char *executed,
                       int64_t retry_after_ms)
{
    struct mg_library_work *own = work_of(work);
    enum mg_executed proof = executed_of(executed, MG_EXECUTED_MAYBE);
    bool is_unreached = code != NULL && mg_error_is(mg_slice_of(code), MG_ERROR_REASON_BREAKER_OPEN) &&
                        proof == MG_EXECUTED_NO;
    bool is_first = !own->is_answered;
    answer(own, MG_OUTCOME_TRANSIENT, proof, is_unreached ? MG_CALL_UNREACHABLE : MG_CALL_FAILING,
           code != NULL ? code : "transient", text);
    if (is_first && retry_after_ms >= 0) {
        own->verdict.retry_after_ms =
            retry_after_ms < MG_REPLY_RETRY_AFTER_MAX_MS ? retry_after_ms : MG_REPLY_RETRY_AFTER_MAX_MS;
    }
}

void mg_work_permanent(struct mg_work *work, const char *code, const char *text, const char *executed)
{
    answer(work_of(work), MG_OUTCOME_PERMANENT, executed_of(executed, MG_EXECUTED_NO), MG_CALL_HEALTHY,
           code != NULL ? code : "permanent", text);
}

void mg_work_unknown(struct mg_work *work, const char *text)
{
    answer(work_of(work), MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, MG_CALL_FAILING,
           mg_error_reason_name(MG_ERROR_REASON_ANSWER_UNCLEAR), text);
}

void mg_library_work_do(struct mg_library_work *work)
{
    work->handler(&work->shown, work->arg);
    if (!work->is_answered) {
        answer(work, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_CALL_FAILING, "no_answer",
               "the handler returned without an answer");
    }
}
