/*
 * The effect of a served service's state on its requests: how many are consumed, and which are answered
 * without a call. These answers follow from an open breaker, a missing access token or an operator's pause.
 */
#include "agent.h"
#include "base/clock.h"
#include "base/log.h"

/* A failed try carries more information than a try that was not made. */
void mg_job_answer_uncalled(struct mg_job *job)
{
    const struct mg_served *served = job->served;
    if (job->tries.count > 0) {
        mg_job_answer(job, &job->last, NULL);
    } else if (served->control.is_paused) {
        mg_job_answer_not_made(job, MG_ERROR_REASON_SERVICE_PAUSED, "an operator has paused the service");
    } else if (mg_served_token_fault(served)[0] != '\0') {
        mg_job_answer_not_made(job, MG_ERROR_REASON_TOKEN_UNAVAILABLE, mg_served_token_fault(served));
    } else if (mg_served_is_token_coming(served)) {
        mg_job_answer_not_made(job, MG_ERROR_REASON_TOKEN_UNAVAILABLE, "no access token has come in time");
    } else {
        mg_job_answer_not_made(job, MG_ERROR_REASON_BREAKER_OPEN, "the circuit breaker is open");
    }
}

void mg_served_answer_uncalled(struct mg_served *served)
{
    struct mg_job *job, *next;
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        for (job = TAILQ_FIRST(&served->lines[i].waiting); job != NULL; job = next) {
            next = TAILQ_NEXT(job, entry);
            mg_job_answer_uncalled(job);
        }
    }
    struct mg_job *last = TAILQ_LAST(&served->begun, mg_jobs);
    for (job = TAILQ_FIRST(&served->begun); job != NULL; job = next) {
        next = job == last ? NULL : TAILQ_NEXT(job, entry); /* answered jobs move to the end of this list */
        if (job->phase == MG_JOB_BACKING_OFF || job->phase == MG_JOB_ISOLATED) {
            mg_job_answer_uncalled(job);
        }
    }
}

/* A request that is left for other instances takes up a place while it waits. So a second place is kept
 * for requests that can be served here: a probe queues behind all that are left. */
static uint16_t line_prefetch(const struct mg_line *line, uint16_t prefetch)
{
    bool is_left = line->newer_boot_ms != 0 && mg_clock_boot_ms() - line->newer_boot_ms < MG_NEWER_ROOM_MS;
    return prefetch == 1 && is_left ? MG_NEWER_PREFETCH_MIN : prefetch;
}

void mg_served_consume(struct mg_served *served)
{
    uint16_t prefetch = mg_limiter_prefetch(&served->limiter);
    if (served->breaker.service_health != MG_HEALTH_PROBE && served->breaker.state == MG_BREAKER_OPEN) {
        prefetch = 0;
    } else if (served->breaker.service_health != MG_HEALTH_PROBE &&
               served->breaker.state == MG_BREAKER_HALF_OPEN) {
        prefetch = (uint16_t)served->breaker.rules.probes;
    }
    if (mg_served_is_mute(served)) {
        prefetch = 0;
    }
    if (!served->agent->is_draining) {
        for (int i = 0; i < MG_LINE_COUNT; i++) {
            mg_line_consume(served, &served->lines[i], line_prefetch(&served->lines[i], prefetch));
        }
    }
}

void mg_served_breaker_changed(struct mg_served *served)
{
    static const char *const HEALTHS[] = {[MG_HEALTH_UNKNOWN] = "unknown",
                                          [MG_HEALTH_UP] = "not down for most agents",
                                          [MG_HEALTH_DOWN] = "down for most agents",
                                          [MG_HEALTH_PROBE] = "down for most agents; this one probes it"};
    bool is_open = served->breaker.state == MG_BREAKER_OPEN;
    mg_log(is_open ? MG_LOG_WARN : MG_LOG_INFO, "circuit breaker changed",
           MG_LOG_TEXT("service", served->service->name),
           MG_LOG_TEXT("breaker", mg_breaker_state_name(served->breaker.state)),
           MG_LOG_TEXT("service_is", HEALTHS[served->breaker.service_health]));
    mg_served_consume(served);
    if (is_open) {
        mg_served_answer_uncalled(served);
    }
    mg_agent_report(served->agent);
    mg_idle_arm(served->pump);
}
