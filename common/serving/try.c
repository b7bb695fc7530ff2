/*
 * One try of a request, made by the executor. The deadline is judged before the try is prepared, by the
 * executor again at the last instant before it acts, and before the reply. A failed try that may pass is
 * followed by another, within the attempt. The idempotency key is the same in every try.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "base/clock.h"

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

void mg_job_cancel_try(struct mg_job *job)
{
    if (!job->is_trying) {
        return;
    }
    job->is_trying = false;
    job->served->agent->executor->cancel(job);
    mg_try_trace_end(job, NULL);
    release(job, MG_CALL_VOID);
}

int64_t mg_job_budget_ms(const struct mg_job *job)
{
    return mg_tries_budget_ms(job->served->service, mg_job_left_ms(job));
}

static bool may_try_again(const struct mg_served *served)
{
    return !served->agent->is_draining && served->breaker.state == MG_BREAKER_CLOSED &&
           !served->control.is_paused;
}

/* Milliseconds until the next try; -1: this was the last. */
static int64_t next_try_in_ms(const struct mg_job *job, const struct mg_verdict_of_try *verdict)
{
    return may_try_again(job->served) ? mg_tries_next_ms(job->served->service, &job->request, &job->tries,
                                                         verdict, mg_job_left_ms(job))
                                      : -1;
}

/* False: no memory. */
static bool back_off(struct mg_job *job, int64_t wait_ms)
{
    if (job->timer == NULL) {
        job->timer = mg_timer_create(job->served->agent->loop, on_backoff_over, job);
    }
    if (job->timer == NULL) {
        return false;
    }
    job->phase = MG_JOB_BACKING_OFF;
    mg_timer_start(job->timer, wait_ms, 0);
    return true;
}

/* The service's own sentence, or else ours. */
static void failure_note(struct mg_served *served, const struct mg_verdict_of_try *verdict,
                         const struct mg_reply_parts *parts)
{
    struct mg_failures *failures = &served->failures;
    struct mg_buf words;
    mg_buf_init(&words, MG_ERROR_TEXT_MAX + 1);
    bool has_words = parts != NULL && parts->message.data != NULL && mg_json_string(parts->message, &words);
    failures->last_ms = mg_skew_now_ms(&served->agent->skew, mg_clock_boot_ms(), mg_clock_wall_ms());
    failures->since_ms = failures->since_ms != 0 ? failures->since_ms : failures->last_ms;
    snprintf(failures->code, sizeof(failures->code), "%s",
             verdict->health == MG_CALL_UNREACHABLE ? "unreachable" : verdict->code);
    snprintf(failures->text, sizeof(failures->text), "%.*s",
             has_words ? (int)words.len : (int)strlen(verdict->text), has_words ? words.data : verdict->text);
    mg_utf8_mend(failures->text);
    mg_buf_finish(&words);
}

void mg_job_tried(struct mg_job *job, struct mg_verdict_of_try *verdict, const struct mg_reply_parts *parts)
{
    job->is_trying = job->is_try_repeated = false;
    mg_try_trace_end(job, verdict);
    mg_tries_note(&job->tries, &job->request, verdict);
    /* A try before it, while the breaker was closed, was an attempt like any other. */
    bool is_down = verdict->health == MG_CALL_FAILING || verdict->health == MG_CALL_UNREACHABLE;
    if (is_down) {
        failure_note(job->served, verdict, parts);
    } else if (verdict->health == MG_CALL_HEALTHY) {
        job->served->failures.since_ms = 0;
    }
    verdict->is_probe = job->is_probe && is_down && job->tries.count == 1;
    job->last = *verdict;
    release(job, verdict->health);
    int64_t wait_ms = next_try_in_ms(job, verdict);
    if (wait_ms < 0 || !back_off(job, wait_ms)) {
        mg_job_answer(job, verdict, parts);
    }
}

void mg_job_try_is_late(struct mg_job *job)
{
    job->is_trying = false;
    release(job, MG_CALL_VOID);
    mg_job_drop_late(job);
}

/* Until the next try the job has the answer that no token was good. */
void mg_job_try_again(struct mg_job *job, const struct mg_verdict_of_try *refusal, int64_t wait_ms)
{
    job->is_trying = false;
    job->is_try_repeated = true;
    mg_try_trace_end(job, refusal);
    job->tries.may_have_run = job->tries.may_have_run || refusal->executed != MG_EXECUTED_NO;
    job->tries.may_still_act = job->tries.may_still_act || refusal->may_still_act;
    mg_verdict_not_made(MG_ERROR_REASON_TOKEN_UNAVAILABLE, "the service refused the access token",
                        &job->last);
    release(job, refusal->health);
    bool has_time = mg_deadline_budget_ms(mg_job_left_ms(job) - wait_ms) >= MG_TRY_MIN_MS;
    if (!may_try_again(job->served) || !has_time || (wait_ms > 0 && !back_off(job, wait_ms))) {
        mg_job_answer(job, &job->last, NULL);
    } else if (wait_ms == 0) {
        mg_job_enqueue(job, true);
    }
}

void mg_job_try(struct mg_job *job)
{
    mg_job_move(job, MG_JOB_TRYING);
    assert(!job->request.is_at_most_once ||
           ((job->tries.count == 0 || job->is_try_repeated) && !job->is_redelivered));
    job->tries.count += job->is_try_repeated ? 0 : 1;
    job->is_trying = true;
    mg_try_trace_begin(job);
    job->served->agent->executor->begin(job);
}
