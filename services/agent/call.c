/*
 * One try is one HTTP call. The deadline is judged before the call is prepared, and again at the last instant
 * before it is sent. During the call a time-out bounds it: the time left, less a margin. The URL is the
 * service file's base and a path; nothing in an order chooses a host. The idempotency key is the same in
 * every try, so that the service can de-duplicate.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/id.h"
#include "base/log.h"
#include "core/backoff.h"

static void on_backoff_over(void *arg)
{
    mg_job_enqueue(arg, true);
}

static void release(struct mg_job *job, enum mg_call_health health)
{
    struct mg_served *served = job->served;
    mg_limiter_release(&served->limiter);
    if (mg_breaker_record(&served->breaker, job->ticket, health, mg_clock_boot_ms())) {
        mg_served_breaker_changed(served);
    }
    mg_idle_arm(served->pump);
}

void mg_job_cancel_call(struct mg_job *job)
{
    if (job->call == NULL) {
        return;
    }
    mg_http_call_cancel(job->call);
    job->call = NULL;
    mg_try_trace_end(job, NULL, 0);
    release(job, MG_CALL_VOID);
}

/* Milliseconds until the next try; -1: this was the last. */
static int64_t next_try_in_ms(const struct mg_job *job, const struct mg_verdict_of_try *verdict)
{
    const struct mg_served *served = job->served;
    if (served->agent->is_draining || served->breaker.state != MG_BREAKER_CLOSED ||
        served->control.is_paused) {
        return -1;
    }
    return mg_tries_next_ms(served->service, &job->request, &job->tries, verdict, mg_job_left_ms(job));
}

/* Ends a try: another one follows, or the answer. */
static void conclude(struct mg_job *job, struct mg_verdict_of_try *verdict, struct mg_slice answer_body)
{
    mg_tries_note(&job->tries, &job->request, verdict);
    job->last = *verdict;
    release(job, verdict->health);
    int64_t wait_ms = next_try_in_ms(job, verdict);
    if (wait_ms >= 0 && job->timer == NULL) {
        job->timer = mg_timer_create(job->served->agent->loop, on_backoff_over, job);
    }
    if (wait_ms < 0 || job->timer == NULL) {
        mg_job_answer(job, verdict, answer_body);
        return;
    }
    job->phase = MG_JOB_BACKING_OFF;
    mg_timer_start(job->timer, wait_ms, 0);
}

/* The service refused an access token, not the order. Until the next try the job has this answer. */
static void try_again(struct mg_job *job, const struct mg_verdict_of_try *refusal)
{
    const struct mg_served *served = job->served;
    job->tries.may_have_run = job->tries.may_have_run || refusal->executed != MG_EXECUTED_NO;
    job->tries.may_still_act = job->tries.may_still_act || refusal->may_still_act;
    mg_classify_not_made(MG_ERROR_CODE_TOKEN_UNAVAILABLE, "the service refused the access token", &job->last);
    release(job, refusal->health);
    if (served->agent->is_draining || served->control.is_paused ||
        served->breaker.state != MG_BREAKER_CLOSED) {
        mg_job_answer(job, &job->last, (struct mg_slice){NULL, 0});
    } else {
        mg_job_enqueue(job, true);
    }
}

static struct mg_outgoing outgoing_of(const struct mg_job *job)
{
    return (struct mg_outgoing){.service = job->served->service,
                                .token = job->served->token,
                                .request = &job->request,
                                .traceparent = mg_try_traceparent(job),
                                .arena = job->arena};
}

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct mg_job *job = arg;
    struct mg_served *served = job->served;
    MG_FAILPOINT(AGENT_ANSWERED);
    job->call = NULL;
    int digit = answer->sent == MG_SENT_YES && answer->status >= 100 && answer->status < 600
                    ? answer->status / 100
                    : 0;
    mg_metric_add(served->metrics.calls[digit], 1);
    mg_metric_observe(served->metrics.call_seconds, (double)(mg_clock_boot_us() - job->call_began_us) / 1e6);

    struct mg_verdict_of_try verdict;
    struct mg_http_answer told = *answer; /* without our secrets, if it refuses */
    const struct mg_outgoing outgoing = outgoing_of(job);
    mg_outgoing_classify(&outgoing, &told, job->call_budget_ms, &verdict);
    mg_log(verdict.code[0] == '\0' ? MG_LOG_DEBUG : MG_LOG_INFO, "call made",
           MG_LOG_TEXT("order_id", job->request.order_id), MG_LOG_TEXT("step", job->request.step),
           MG_LOG_NUMBER("attempt", job->request.attempt), MG_LOG_NUMBER("try", job->tries.count),
           MG_LOG_NUMBER("status", answer->status), MG_LOG_TEXT("outcome", mg_outcome_name(verdict.outcome)),
           MG_LOG_TEXT("why", verdict.text));
    mg_try_trace_end(job, &verdict, answer->status);
    if (answer->sent == MG_SENT_YES && mg_job_renews_token(job, &verdict, answer->status)) {
        try_again(job, &verdict);
        return;
    }
    job->has_text_result = (served->service->is_text_answer || job->request.is_text_answer) &&
                           !mg_classify_is_json_type(answer->content_type);
    conclude(job, &verdict, told.body);
}

static void not_sent(struct mg_job *job, enum mg_class class, const char *why)
{
    struct mg_verdict_of_try verdict;
    mg_classify_not_made(MG_ERROR_CODE_BREAKER_OPEN, why, &verdict);
    if (class == MG_BAD_INPUT) {
        verdict.outcome = MG_OUTCOME_PERMANENT;
        snprintf(verdict.code, sizeof(verdict.code), "unsendable");
    }
    mg_try_trace_end(job, &verdict, 0);
    conclude(job, &verdict, (struct mg_slice){NULL, 0});
}

void mg_job_call(struct mg_job *job)
{
    struct mg_served *served = job->served;
    struct mg_call_headers headers;
    struct mg_http_request request;
    struct mg_err err;
    mg_job_move(job, MG_JOB_CALLING);
    assert(!job->request.is_at_most_once ||
           ((job->tries.count == 0 || job->is_token_renewed) && !job->is_redelivered));
    job->tries.count++;
    mg_try_trace_begin(job);

    if (served->token != NULL) {
        job->token_number = mg_token_number(served->token);
    }
    const struct mg_outgoing outgoing = outgoing_of(job);
    enum mg_class class = mg_outgoing_make(&outgoing, &headers, &request, &err);
    if (class != MG_OK) {
        not_sent(job, class, err.text);
        return;
    }
    request.timeout_ms = mg_tries_budget_ms(served->service, mg_job_left_ms(job));
    if (request.timeout_ms <= 0) {
        release(job, MG_CALL_VOID);
        mg_job_drop_late(job);
        return;
    }
    job->call_budget_ms = request.timeout_ms;
    job->call_began_us = mg_clock_boot_us();
    MG_FAILPOINT(AGENT_CALLING);
    class = mg_http_client_call(served->http, &request, on_answer, job, &job->call, &err);
    MG_FAILPOINT(AGENT_CALLED);
    if (class != MG_OK) {
        job->call = NULL;
        not_sent(job, class, err.text);
    }
}
