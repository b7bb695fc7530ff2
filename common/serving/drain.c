/*
 * The way out. Consuming stops, and requests that have not begun go back. Calls under way may finish, are
 * answered, confirmed and acked; then the process ends. Work that is unfinished at the time-out is
 * redelivered elsewhere, as after a crash. This code only saves work; correctness does not depend on it.
 */
#include "agent.h"
#include "base/clock.h"
#include "base/log.h"

/* For the last acks and the last report to leave the process. */
#define FLUSH_MS 200

static bool has_jobs(const struct mg_agent *agent)
{
    for (int i = 0; i < agent->served_count; i++) {
        const struct mg_served *served = &agent->served[i];
        if (!TAILQ_EMPTY(&served->begun) || !TAILQ_EMPTY(&served->lines[MG_LINE_NORMAL].waiting) ||
            !TAILQ_EMPTY(&served->lines[MG_LINE_HIGH].waiting)) {
            return true;
        }
    }
    return false;
}

void mg_agent_on_drain_timer(void *arg)
{
    struct mg_agent *agent = arg;
    if (has_jobs(agent) && mg_clock_boot_ms() >= agent->drain_until_ms) {
        mg_log(MG_LOG_WARN, "drain timeout: unfinished requests will be redelivered", MG_LOG_NONE);
    }
    mg_loop_stop(agent->loop);
}

void mg_agent_drain_check(struct mg_agent *agent)
{
    if (agent->is_draining && !agent->is_drained && !has_jobs(agent)) {
        agent->is_drained = true;
        mg_timer_start(agent->drain_timer, FLUSH_MS, 0);
    }
}

static void drain_served(struct mg_served *served)
{
    struct mg_job *job, *next;
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        mg_line_consume(served, &served->lines[i], 0);
    }
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        for (job = TAILQ_FIRST(&served->lines[i].waiting); job != NULL; job = next) {
            next = TAILQ_NEXT(job, entry);
            mg_job_put_back(job);
        }
    }
    struct mg_job *last = TAILQ_LAST(&served->begun, mg_jobs);
    for (job = TAILQ_FIRST(&served->begun); job != NULL; job = next) {
        next = job == last ? NULL : TAILQ_NEXT(job, entry); /* answered jobs move to the end of this list */
        if (job->phase == MG_JOB_BACKING_OFF || job->phase == MG_JOB_SET_ASIDE ||
            job->phase == MG_JOB_ISOLATED || job->phase == MG_JOB_IN_DOUBT) {
            mg_job_put_back(job);
        }
    }
}

void mg_agent_drain(void *arg)
{
    struct mg_agent *agent = arg;
    if (agent->is_draining) {
        mg_log(MG_LOG_WARN, "second stop signal: stopping at once", MG_LOG_NONE);
        mg_loop_stop(agent->loop);
        return;
    }
    mg_log(MG_LOG_INFO, "stopping: finishing the calls under way", MG_LOG_NONE);
    agent->is_draining = true;
    agent->was_ready = false;
    agent->drain_until_ms = mg_clock_boot_ms() + agent->options->drain_timeout_ms;
    mg_timer_start(agent->drain_timer, agent->options->drain_timeout_ms, 0);
    mg_agent_report(agent);
    for (int i = 0; i < agent->served_count; i++) {
        drain_served(&agent->served[i]);
    }
    mg_agent_drain_check(agent);
}
