/* See service_call.h. */
#include "service_call.h"

#include "serving/tries.h"

/* Below the keep-alive of common servers (Node.js closes after 5 s), so that a reused connection is seldom a
 * dead one. */
#define IDLE_CONNECTION_MS 4000
#define ANSWER_HEADERS_MAX (64 * 1024)

struct mg_http_client_options mg_outgoing_client_options(const struct mg_service *service)
{
    return (struct mg_http_client_options){
        .max_connections = service->concurrency,
        .connect_timeout_ms = MG_CONNECT_TIMEOUT_MS,
        .idle_connection_ms = IDLE_CONNECTION_MS,
        .max_body_bytes = service->answer_max_bytes,
        .max_header_bytes = ANSWER_HEADERS_MAX,
    };
}

enum mg_class mg_outgoing_make(const struct mg_outgoing *outgoing, struct mg_call_headers *ret_headers,
                               struct mg_http_request *ret_call, struct mg_err *err)
{
    const struct mg_service *service = outgoing->service;
    const struct mg_request *request = outgoing->request;
    char *method = mg_arena_text(outgoing->arena, request->method);
    char *url =
        mg_arena_printf(outgoing->arena, "%s%.*s", service->url, (int)request->path.len, request->path.data);
    if (method == NULL || url == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "no memory for the call");
    }
    enum mg_class class = mg_outgoing_write_headers(outgoing, ret_headers, err);
    *ret_call = (struct mg_http_request){
        .method = method,
        .url = url,
        .headers = ret_headers->lines,
        .body = request->content,
        .proxy = service->proxy,
        .ca_file = service->ca_file,
        .client_cert_file = service->client_cert_file,
        .client_key_file = service->client_key_file,
        .is_fresh = service->is_fresh_connection || request->is_at_most_once,
    };
    return class;
}

/* A refusing body with mended strings has words, too. */
static void mend_refusal(const struct mg_service *service, struct mg_http_answer *answer,
                         struct mg_reading *reading)
{
    const struct mg_json_limits limits = mg_answer_limits(service);
    struct mg_err err;
    bool is_object = answer->body.len > 0 && answer->body.data[0] == '{';
    if (is_object && mg_json_check(answer->body, &limits, &err) != MG_OK) {
        struct mg_slice mended = mg_reading_mend(reading, answer->body, &limits);
        answer->body = mended.data != NULL ? mended : answer->body;
    }
}

/* In the place of `value`, which lies in `body`, the asterisks of the masked body; a number gets digits. */
static void hide(char *copy, struct mg_slice body, struct mg_slice masked, struct mg_slice value)
{
    size_t at = (size_t)(value.data - body.data);
    bool is_text = value.data[0] == '"';
    for (size_t i = at; i < at + value.len; i++) {
        copy[i] = masked.data[i] == body.data[i] || is_text ? masked.data[i] : '1';
    }
}

/* A good answer may be judged a refusal: then its code and text go to clients and operators. The rest of a
 * result is passed on as it came. */
static void mask_words(const struct mg_outgoing *outgoing, struct mg_http_answer *answer)
{
    const struct mg_service *service = outgoing->service;
    const char *const *const places[] = {MG_ERROR_CODE_PLACES, MG_ERROR_TEXT_PLACES};
    const struct mg_json_limits limits = mg_answer_limits(service);
    const struct mg_slice body = answer->body, masked = mg_outgoing_mask(outgoing, body);
    struct mg_err err;
    char *copy = masked.data != body.data ? mg_arena_text(outgoing->arena, body) : NULL;
    if (copy == NULL || masked.data == NULL || mg_json_check(body, &limits, &err) != MG_OK) {
        answer->body = masked; /* the body itself if it holds no secret */
        return;
    }
    struct mg_slice result = mg_json_find(body, service->result_pointer ? service->result_pointer : "");
    for (size_t list = 0; list < sizeof(places) / sizeof(places[0]); list++) {
        for (int i = 0; places[list][i] != NULL && result.data != NULL; i++) {
            struct mg_slice value = mg_json_find(result, places[list][i]);
            if (value.data != NULL && value.data[0] != '{' && value.data[0] != '[') {
                hide(copy, body, masked, value);
            }
        }
    }
    answer->body = (struct mg_slice){copy, body.len};
}

void mg_outgoing_classify(const struct mg_outgoing *outgoing, struct mg_http_answer *answer,
                          int64_t budget_ms, struct mg_reading *ret_reading,
                          struct mg_verdict_of_try *ret_verdict)
{
    const struct mg_service *service = outgoing->service;
    const struct mg_request *request = outgoing->request;
    mg_reading_take(answer, service->is_text_answer || request->is_text_answer, ret_reading);
    if (answer->sent == MG_SENT_YES && answer->status >= 300) {
        mend_refusal(service, answer, ret_reading);
    }
    const char *body = answer->body.data;
    mg_classify_answer(service, request->kind, request->is_pollable, answer, ret_reading, budget_ms,
                       ret_verdict);
    if (mg_outcome_has_result(ret_verdict->outcome)) {
        if (request->version >= MG_REQUEST_VERSION_JUDGED || request->kind == MG_KIND_VERIFY) {
            mask_words(outgoing, answer);
        }
        return;
    }
    answer->body = mg_outgoing_mask(outgoing, answer->body);
    if (answer->body.data != body) { /* the code, too, was read from the body */
        const struct mg_verdict_of_try first = *ret_verdict;
        mg_classify_answer(service, request->kind, request->is_pollable, answer, ret_reading, budget_ms,
                           ret_verdict);
        ret_verdict->outcome = first.outcome; /* asterisks in the place of a number are no JSON */
        ret_verdict->executed = first.executed;
        ret_verdict->may_still_act = first.may_still_act;
    }
}
