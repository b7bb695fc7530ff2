/* Answers: JSON, problem documents, and the headers of every answer. The end of a call. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "gateway/call.h"

#define DETAIL_SIZE     (MG_ERR_TEXT_MAX + 256)
#define HEADERS_MAX     12
#define PROBLEM_MAX     (16u * 1024)
#define TYPE_OF_PROBLEM "application/problem+json"
/* Without memory for more. */
#define NO_MEMORY                                                                                            \
    "{\"type\": \"about:blank\", \"title\": \"Service Unavailable\", \"status\": 503, \"detail\": \"no memory\"}\n"

/* Whether the route's line names the status; any status may answer a request without a route. */
static bool is_declared(const struct mg_route *route, unsigned int status)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", status);
    return route == NULL || strstr(route->statuses, text) != NULL;
}

static void call_measure(const struct mg_call *call, unsigned int status)
{
    char labels[128];
    const char *method = call->route != NULL ? call->route->method : "";
    const char *path = call->route != NULL ? call->route->path : "";
    (void)snprintf(labels, sizeof(labels), "method=\"%s\",path=\"%s\",status=\"%u\"", method, path, status);
    mg_metric_add(mg_metrics_series(call->gateway->metrics, MG_COUNTER, "makegood_gateway_requests_total",
                                    labels, "requests of clients, by their answer"),
                  1);
    if (call->wait_until_ms == 0) {
        (void)snprintf(labels, sizeof(labels), "method=\"%s\",path=\"%s\"", method, path);
        mg_metric_observe(mg_metrics_series(call->gateway->metrics, MG_HISTOGRAM,
                                            "makegood_gateway_request_seconds", labels,
                                            "from a whole request to its answer, without those that waited"),
                          (double)(mg_clock_boot_us() - call->began_us) / 1e6);
    }
}

static void call_free(struct mg_call *call)
{
    TAILQ_REMOVE(&call->gateway->calls, call, entry);
    free(call->payload);
    free(call);
}

static void call_send(struct mg_call *call, const struct mg_http_response *answer)
{
    assert(is_declared(call->route, answer->status));
    call_measure(call, answer->status);
    if (call->request != NULL) {
        mg_http_answer(call->request, answer);
    }
    call_free(call);
}

/* Appends the headers of every answer, and those of CORS for a page that may read it. */
static int headers_make(const struct mg_call *call, struct mg_http_header ret_headers[HEADERS_MAX])
{
    int count = 0;
    ret_headers[count++] = (struct mg_http_header){"X-Content-Type-Options", "nosniff"};
    if (call->origin != NULL) {
        ret_headers[count++] = (struct mg_http_header){"Access-Control-Allow-Origin", call->origin};
        ret_headers[count++] = (struct mg_http_header){"Access-Control-Expose-Headers",
                                                       "Location, Retry-After, Idempotent-Replayed"};
        ret_headers[count++] = (struct mg_http_header){"Vary", "Origin"};
    }
    return count;
}

/* The headers have room for two more after `count`. */
static void json_send(struct mg_call *call, unsigned int status, struct mg_slice json,
                      struct mg_http_header headers[HEADERS_MAX], int count)
{
    headers[count] = (struct mg_http_header){NULL, NULL};
    const struct mg_http_response answer = {.status = status,
                                            .type = json.data != NULL ? call->route->answers : NULL,
                                            .body = json,
                                            .headers = headers};
    call_send(call, &answer);
}

void mg_call_answer(struct mg_call *call, unsigned int status, struct mg_slice json)
{
    struct mg_http_header headers[HEADERS_MAX];
    json_send(call, status, json, headers, headers_make(call, headers));
}

void mg_accepted_write(struct mg_buf *out, unsigned int status, const struct mg_post *post)
{
    struct mg_json_writer json = mg_json_spaced(out);
    mg_json_object_begin(&json);
    if (status != 0) {
        mg_json_member_int(&json, "status", (int64_t)status);
    }
    mg_json_member_word(&json, "order_id", post->order_id);
    if (post->state != NULL) {
        mg_json_member_word(&json, "state", post->state);
    }
    mg_json_object_end(&json);
    mg_buf_append_text(out, "\n");
}

/* The header of a repetition has the name that services with idempotency keys commonly use. */
void mg_call_accept(struct mg_call *call)
{
    struct mg_http_header headers[HEADERS_MAX];
    char location[MG_ORDER_ID_MAX + 32], memory[MG_ORDER_ID_MAX + 64];
    struct mg_buf json;
    int count = headers_make(call, headers);
    (void)snprintf(location, sizeof(location), "/v1/orders/%s", call->post.order_id);
    headers[count++] = (struct mg_http_header){"Location", location};
    if (call->post.state != NULL) {
        headers[count++] = (struct mg_http_header){"Idempotent-Replayed", "true"};
    }
    mg_buf_init_fixed(&json, memory, sizeof(memory));
    mg_accepted_write(&json, 0, &call->post);
    json_send(call, 202, mg_buf_slice(&json), headers, count);
}

struct mg_http_stream *mg_call_stream(struct mg_call *call, struct mg_slice beginning,
                                      void (*closed)(void *arg), void *arg)
{
    struct mg_http_header headers[HEADERS_MAX];
    int count = headers_make(call, headers);
    headers[count++] = (struct mg_http_header){"X-Accel-Buffering", "no"}; /* nginx must not buffer */
    headers[count] = (struct mg_http_header){NULL, NULL};
    const struct mg_http_response answer = {
        .status = 200, .type = call->route->answers, .body = beginning, .headers = headers};
    struct mg_http_stream *stream = mg_http_stream_open(call->request, &answer, closed, arg);
    call_measure(call, stream != NULL ? 200 : 503);
    call_free(call);
    return stream;
}

void mg_problem_write(struct mg_buf *out, unsigned int status, const char *text)
{
    struct mg_json_writer json = mg_json_spaced(out);
    char plain[DETAIL_SIZE]; /* it may repeat an argument, and clients print it */
    mg_text_copy_plain(mg_slice_of(text), plain, sizeof(plain));
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "type", "about:blank");
    mg_json_member_word(&json, "title", mg_http_title(status));
    mg_json_member_int(&json, "status", (int64_t)status);
    mg_json_member_string(&json, "detail", plain);
    mg_json_object_end(&json);
    mg_buf_append_text(out, "\n");
}

void mg_call_refuse(struct mg_call *call, unsigned int status, const char *format, ...)
{
    char text[DETAIL_SIZE];
    struct mg_http_header headers[HEADERS_MAX];
    struct mg_buf body;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mg_utf8_mend(text); /* the cut may split a character */
    int count = headers_make(call, headers);
    if (status == 401) {
        headers[count++] = (struct mg_http_header){"WWW-Authenticate", "Bearer realm=\"makegood\""};
    } else if (status == 405) {
        headers[count++] = (struct mg_http_header){"Allow", call->allow};
    } else if (status == 429 || status == 503) {
        headers[count++] = (struct mg_http_header){"Retry-After", "1"};
    }
    headers[count] = (struct mg_http_header){NULL, NULL};
    mg_buf_init(&body, PROBLEM_MAX);
    mg_problem_write(&body, status, text);
    const struct mg_http_response answer = {.status = body.failed ? 503 : status,
                                            .type = TYPE_OF_PROBLEM,
                                            .body =
                                                body.failed ? mg_slice_of(NO_MEMORY) : mg_buf_slice(&body),
                                            .headers = headers};
    call_send(call, &answer);
    mg_buf_finish(&body);
}

void mg_call_permit(struct mg_call *call)
{
    struct mg_http_header headers[HEADERS_MAX];
    int count = headers_make(call, headers);
    headers[count++] = (struct mg_http_header){"Access-Control-Allow-Methods", "GET, POST"};
    headers[count++] = (struct mg_http_header){"Access-Control-Allow-Headers",
                                               "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, "
                                               "traceparent"};
    headers[count++] = (struct mg_http_header){"Access-Control-Max-Age", "600"};
    headers[count] = (struct mg_http_header){NULL, NULL};
    const struct mg_http_response answer = {.status = 204, .headers = headers};
    call_send(call, &answer);
}
