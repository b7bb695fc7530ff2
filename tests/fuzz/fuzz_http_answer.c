/*
 * Answers of remote services: the HTTP client on libcurl, and the agent's classification of its results. The
 * input is a byte that picks the call, then the service's bytes before it closes. A call with a sound answer
 * precedes it, so that state kept by the client between calls is present. libcurl connects to a socket of
 * this process instead of the network.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "classify.h"
#include "fuzz.h"
#include "io/http/curl.h"
#include "serving/tries.h"

#define BODY_MAX_BYTES     2048
#define HEADER_MAX_BYTES   2048
#define RETRY_AFTER_MAX_MS (365 * 24 * 3600 * INT64_C(1000)) /* the client's own bound */
#define TIMEOUT_MS         60000 /* no call waits here; the fuzzer's own limit is far below */

static const char *const METHODS[] = {"POST", "GET", "DELETE", "HEAD"};
static const char SERVICES[2][256] = {
    "{\"service\":\"s\",\"url\":\"http://h\",\"answer_max_bytes\":2048}",
    "{\"service\":\"s\",\"url\":\"http://h\",\"answer_max_bytes\":2048,\"result\":{\"max_bytes\":200,"
    "\"pointer\":\"/data/0\"},\"answers\":{\"409\":{\"outcome\":\"done\"}}}"};

static struct mg_loop *loop;
static struct mg_http_client *client;
static struct mg_service *services[2];
static int listener;
static char path[32]; /* the listener's */

struct call {
    enum mg_kind kind;
    bool is_pollable;
    const struct mg_service *service;
    struct mg_slice sent;
    int fd; /* the service's end; -1: not yet connected */
    int answers;
};

/* ---- the service ---- */

enum mg_class __real_mg_http_call_configure(struct mg_http_call *call, const struct mg_http_request *request,
                                            struct mg_err *err);
enum mg_class __wrap_mg_http_call_configure(struct mg_http_call *call, const struct mg_http_request *request,
                                            struct mg_err *err);

enum mg_class __wrap_mg_http_call_configure(struct mg_http_call *call, const struct mg_http_request *request,
                                            struct mg_err *err)
{
    enum mg_class class = __real_mg_http_call_configure(call, request, err);
    FUZZ_REQUIRE(curl_easy_setopt(call->easy, CURLOPT_ABSTRACT_UNIX_SOCKET, path) == CURLE_OK);
    return class;
}

static void on_connection(void *arg, int events)
{
    struct call *call = arg;
    (void)events;
    FUZZ_REQUIRE(call->fd == -1); /* a request is sent once */
    call->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    FUZZ_REQUIRE(call->fd >= 0);
    FUZZ_REQUIRE(send(call->fd, call->sent.data, call->sent.len, MSG_NOSIGNAL) == (ssize_t)call->sent.len);
    FUZZ_REQUIRE(shutdown(call->fd, SHUT_WR) == 0);
}

/* ---- properties of an answer ---- */

/* Schedulers can parse the agent's reply about any answer. */
static void reply_can_be_read(const struct call *call, const struct mg_verdict_of_try *verdict,
                              struct mg_slice result, bool is_truncated)
{
    struct mg_reply read, reply = {.order_id = "o-1",
                                   .step = "s",
                                   .attempt = 1,
                                   .kind = call->kind,
                                   .outcome = verdict->outcome,
                                   .executed = verdict->executed,
                                   .result = result,
                                   .is_truncated = is_truncated,
                                   .http_status = verdict->http_status,
                                   .error_reason = verdict->reason,
                                   .retry_after_ms = verdict->retry_after_ms};
    struct mg_buf body;
    struct mg_err err;
    memcpy(reply.error_code, verdict->code, sizeof(reply.error_code));
    memcpy(reply.error_text, verdict->text, sizeof(reply.error_text));
    mg_buf_init(&body, FUZZ_TEXT_MAX);
    mg_reply_write(&reply, &body);
    FUZZ_REQUIRE(mg_reply_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DATA, &read, &err) == MG_OK);
    FUZZ_REQUIRE(read.outcome == reply.outcome && read.executed == reply.executed);
    FUZZ_REQUIRE(read.http_status == reply.http_status && read.error_reason == reply.error_reason);
    mg_buf_finish(&body);
}

/* A second, simpler reader: a complete answer has an empty line, and JSON without a stated length is complete
 * JSON. */
static void must_be_whole(const struct call *call, const struct mg_http_answer *answer,
                          const struct mg_verdict_of_try *verdict)
{
    bool is_empty_line_seen = false;
    struct mg_err err;
    for (size_t i = 0; i + 1 < call->sent.len; i++) {
        char next = call->sent.data[i + 1];
        is_empty_line_seen =
            is_empty_line_seen || (call->sent.data[i] == '\n' && (next == '\r' || next == '\n'));
    }
    FUZZ_REQUIRE(is_empty_line_seen);
    if (answer->is_ended_by_close && verdict->code[0] == '\0' &&
        strcmp(answer->content_type, "application/json") == 0) {
        FUZZ_REQUIRE(mg_json_check(answer->body, &MG_JSON_LIMITS_DATA, &err) == MG_OK);
    }
}

static void judge(const struct call *call, const struct mg_http_answer *received)
{
    struct mg_verdict_of_try verdict;
    struct mg_http_answer read = *received, *answer = &read;
    struct mg_reading reading;
    mg_reading_take(answer, false, &reading);
    mg_classify_answer(call->service, call->kind, call->is_pollable, answer, &reading, TIMEOUT_MS, &verdict);
    FUZZ_REQUIRE(verdict.outcome < MG_OUTCOME_COUNT && verdict.executed < MG_EXECUTED_COUNT);
    /* law 10, sticky maybe: once bytes have left, only a complete answer can prove that nothing happened */
    FUZZ_REQUIRE(answer->sent == MG_SENT_YES || verdict.executed == MG_EXECUTED_MAYBE);
    bool is_truncated = false;
    struct mg_slice result = {NULL, 0};
    if (answer->sent == MG_SENT_YES) {
        must_be_whole(call, answer, &verdict);
        result = mg_reply_result(call->service, answer->body, &is_truncated);
        FUZZ_REQUIRE(result.data == NULL || fuzz_is_within(result, answer->body));
        FUZZ_REQUIRE(result.len <= call->service->result_max_bytes);
    }
    reply_can_be_read(call, &verdict, result, is_truncated);
    mg_reading_finish(&reading);
}

static void on_done(void *arg, const struct mg_http_answer *answer)
{
    struct call *call = arg;
    call->answers++;
    FUZZ_REQUIRE(answer->sent != MG_SENT_NO && !answer->is_timed_out);
    FUZZ_REQUIRE(answer->status == 0 || (answer->status >= 200 && answer->status <= 999));
    FUZZ_REQUIRE(answer->retry_after_ms >= -1 && answer->retry_after_ms <= RETRY_AFTER_MAX_MS);
    FUZZ_REQUIRE(answer->body.len <= BODY_MAX_BYTES && answer->content_type != NULL);
    if (answer->sent == MG_SENT_YES) {
        FUZZ_REQUIRE(answer->status != 0 && answer->body.data != NULL &&
                     (answer->reason[0] == '\0') == !answer->is_undecoded);
    } else {
        FUZZ_REQUIRE(answer->body.data == NULL && answer->reason[0] != '\0');
    }
    judge(call, answer);
    mg_loop_stop(loop);
}

/* ---- the call ---- */

static void prepare(void)
{
    const struct mg_http_client_options options = {.max_connections = 4,
                                                   .connect_timeout_ms = TIMEOUT_MS,
                                                   .max_body_bytes = BODY_MAX_BYTES,
                                                   .max_header_bytes = HEADER_MAX_BYTES};
    struct mg_err err;
    loop = mg_loop_create();
    FUZZ_REQUIRE(loop != NULL);
    (void)snprintf(path, sizeof(path), "makegood-fuzz-%d", (int)getpid());
    listener = fuzz_listen(path);
    FUZZ_REQUIRE(mg_http_client_create(loop, &options, &client, &err) == MG_OK);
    for (int i = 0; i < 2; i++) {
        FUZZ_REQUIRE(mg_service_parse(mg_slice_of(SERVICES[i]), NULL, &services[i], &err) == MG_OK);
    }
}

static void try_call(uint8_t choice, struct mg_slice sent)
{
    struct call call = {.kind = (enum mg_kind)((choice >> 2) % MG_KIND_COUNT),
                        .is_pollable = (choice & 0x10) != 0,
                        .service = services[(choice >> 5) & 1],
                        .sent = sent,
                        .fd = -1};
    struct mg_watch *watch = mg_watch_create(loop, listener, on_connection, &call);
    FUZZ_REQUIRE(watch != NULL);
    mg_watch_set(watch, MG_READABLE);

    const char *method = METHODS[choice & 3];
    const struct mg_http_request request = {.method = method,
                                            .url = "http://127.0.0.1:1/charges",
                                            .body = mg_slice_of((choice & 3) == 0 ? "{\"n\":14.00}" : NULL),
                                            .timeout_ms = TIMEOUT_MS,
                                            .is_fresh = true};
    struct mg_http_call *handle;
    struct mg_err err;
    FUZZ_REQUIRE(mg_http_client_call(client, &request, on_done, &call, &handle, &err) == MG_OK);
    mg_loop_run(loop);
    FUZZ_REQUIRE(call.answers == 1 && call.fd >= 0);
    mg_watch_destroy(watch);
    close(call.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (loop == NULL) {
        prepare();
    }
    try_call(0, mg_slice_of("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"));
    try_call(size > 0 ? data[0] : 0, (struct mg_slice){(const char *)data + (size > 0), size - (size > 0)});
    return 0;
}
