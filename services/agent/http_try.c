/*
 * One try is one HTTP call. The deadline is judged again at the last instant before it is sent. During the
 * call a time-out bounds it: the time left, less a margin. The URL is the service file's base and a path;
 * nothing in an order chooses a host.
 */
#include <stdio.h>

#include "answer_parts.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "http_agent.h"
#include "service_call.h"
#include "wire/http_header.h"

static struct mg_http_job *http_job_of(struct mg_job *job)
{
    return (struct mg_http_job *)job;
}

static void call_cancel(struct mg_job *job)
{
    struct mg_http_job *http_job = http_job_of(job);
    mg_http_call_cancel(http_job->call);
    http_job->call = NULL;
    http_job->status = 0;
}

/* OpenTelemetry's names for an HTTP client's span. */
static void call_describe(struct mg_job *job, struct mg_span *span)
{
    struct mg_http_job *http_job = http_job_of(job);
    const struct mg_http_url *endpoint = &job->served->service->endpoint;
    (void)snprintf(http_job->method, sizeof(http_job->method), "%.*s", (int)job->request.method.len,
                   job->request.method.data);
    span->name = http_job->method;
    mg_span_put_text(span, "http.request.method", http_job->method);
    mg_span_put_text(span, "server.address", endpoint->host);
    mg_span_put_number(span, "server.port", endpoint->port);
    if (http_job->status != 0) {
        mg_span_put_number(span, "http.response.status_code", http_job->status);
    }
}

static struct mg_outgoing outgoing_of(const struct mg_job *job)
{
    return (struct mg_outgoing){.service = job->served->service,
                                .token = mg_remote_of(job->served)->token,
                                .request = &job->request,
                                .traceparent = mg_try_traceparent(job),
                                .arena = job->arena};
}

/* Milliseconds until a try with a refused token is repeated; -1: it is not. */
static int64_t token_wait_ms(struct mg_http_job *http_job, const struct mg_outgoing *outgoing,
                             const struct mg_http_answer *answer, const struct mg_verdict_of_try *verdict)
{
    struct mg_token *token = mg_remote_of(http_job->job.served)->token;
    if (token == NULL || answer->sent != MG_SENT_YES) {
        return -1;
    }
    if (!mg_outgoing_is_token_refused(outgoing, answer, verdict)) {
        mg_token_accept(token, http_job->token_number);
        return -1;
    }
    return mg_token_refuse(token, http_job->token_number, mg_job_left_ms(&http_job->job),
                           &http_job->token_refusals);
}

static void measure(const struct mg_http_job *http_job, const struct mg_http_answer *answer)
{
    struct mg_remote *remote = mg_remote_of(http_job->job.served);
    int64_t duration_us = mg_clock_boot_us() - http_job->call_began_us;
    int digit = answer->sent == MG_SENT_YES && answer->status >= 100 && answer->status < 600
                    ? answer->status / 100
                    : 0;
    mg_metric_add(remote->calls[digit], 1);
    mg_metric_observe(remote->call_seconds, (double)duration_us / 1e6);
    remote->durations[mg_call_bucket(duration_us)]++;
}

/* A verify that finds nothing has a good answer. */
static void verdict_count(const struct mg_job *job, const struct mg_verdict_of_try *verdict)
{
    struct mg_remote *remote = mg_remote_of(job->served);
    bool is_good = verdict->outcome == MG_OUTCOME_ABSENT || verdict->reason == MG_ERROR_REASON_NONE;
    bool is_refusal = verdict->reason == MG_ERROR_REASON_ANSWERED && verdict->http_status / 100 == 4;
    remote->refused += !is_good && is_refusal;
    remote->failed += !is_good && !is_refusal;
}

static void call_log(const struct mg_job *job, const struct mg_http_answer *answer,
                     const struct mg_verdict_of_try *verdict)
{
    mg_log(verdict->code[0] == '\0' ? MG_LOG_DEBUG : MG_LOG_INFO, "call made",
           MG_LOG_TEXT("order_id", job->request.order_id), MG_LOG_TEXT("step", job->request.step),
           MG_LOG_NUMBER("attempt", job->request.attempt), MG_LOG_NUMBER("try", job->tries.count),
           MG_LOG_NUMBER("status", answer->status), MG_LOG_TEXT("outcome", mg_outcome_name(verdict->outcome)),
           MG_LOG_TEXT("why", verdict->text));
}

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct mg_http_job *http_job = arg;
    struct mg_job *job = &http_job->job;
    const struct mg_service *service = job->served->service;
    MG_FAILPOINT(AGENT_ANSWERED);
    http_job->call = NULL;
    http_job->status = answer->status;
    measure(http_job, answer);

    struct mg_verdict_of_try verdict;
    struct mg_http_answer told = *answer; /* without our secrets, if it refuses */
    const struct mg_outgoing outgoing = outgoing_of(job);
    struct mg_reading reading;
    mg_outgoing_classify(&outgoing, &told, http_job->call_budget_ms, &reading, &verdict);
    int64_t wait_ms = token_wait_ms(http_job, &outgoing, answer, &verdict);
    if (wait_ms >= 0) {
        verdict_count(job, &verdict);
        call_log(job, answer, &verdict);
        mg_job_try_again(job, &verdict, wait_ms);
    } else {
        struct mg_reply_parts parts;
        struct mg_buf words;
        bool has_text_result = (service->is_text_answer || job->request.is_text_answer) &&
                               !mg_media_type_is_json(answer->content_type);
        mg_reply_parts_take(service, told.body, has_text_result, &reading, &words, &verdict, &parts);
        verdict_count(job, &verdict);
        call_log(job, answer, &verdict);
        mg_job_tried(job, &verdict, &parts);
        mg_buf_finish(&words);
    }
    mg_reading_finish(&reading);
}

static void not_sent(struct mg_job *job, enum mg_class class, const char *why)
{
    struct mg_verdict_of_try verdict;
    mg_verdict_not_made(MG_ERROR_REASON_BREAKER_OPEN, why, &verdict);
    if (class == MG_BAD_INPUT) {
        verdict.outcome = MG_OUTCOME_PERMANENT;
        mg_verdict_code_set(&verdict, "unsendable");
    }
    mg_job_tried(job, &verdict, NULL);
}

static void call_begin(struct mg_job *job)
{
    struct mg_http_job *http_job = http_job_of(job);
    const struct mg_remote *remote = mg_remote_of(job->served);
    struct mg_call_headers headers;
    struct mg_http_request request;
    struct mg_err err;
    http_job->status = 0;
    if (remote->token != NULL) {
        http_job->token_number = mg_token_number(remote->token);
    }
    const struct mg_outgoing outgoing = outgoing_of(job);
    enum mg_class class = mg_outgoing_make(&outgoing, &headers, &request, &err);
    if (class != MG_OK) {
        not_sent(job, class, err.text);
        return;
    }
    request.timeout_ms = mg_job_budget_ms(job);
    if (request.timeout_ms <= 0) {
        mg_job_try_is_late(job);
        return;
    }
    http_job->call_budget_ms = request.timeout_ms;
    http_job->call_began_us = mg_clock_boot_us();
    MG_FAILPOINT(AGENT_CALLING);
    class = mg_http_client_call(remote->http, &request, on_answer, http_job, &http_job->call, &err);
    MG_FAILPOINT(AGENT_CALLED);
    if (class != MG_OK) {
        http_job->call = NULL;
        not_sent(job, class, err.text);
    }
}

const struct mg_executor mg_http_executor = {
    .job_bytes = sizeof(struct mg_http_job),
    .open = mg_remote_open,
    .close = mg_remote_close,
    .begin = call_begin,
    .cancel = call_cancel,
    .describe = call_describe,
    .measure = mg_remote_measure,
    .tokens = &mg_remote_tokens,
};
