/*
 * Chooses the next job: high before normal without starving it, within the limiter's slots and tokens, and
 * only if the breaker admits it. When the breaker opens, consuming stops, and waiting requests are answered
 * as not made. So the schedulers park their steps, and no attempt is used up. Half-open lets a few requests
 * in again. While an operator has paused the service, consuming goes on, and every request is answered like
 * that. So queued requests become parked steps before their deadlines pass. While the service is down for
 * most of its agents, one agent probes it for all.
 */
#include "agent.h"
#include "base/clock.h"

static struct mg_job *next_waiting(struct mg_served *served)
{
    struct mg_job *high = TAILQ_FIRST(&served->lines[MG_LINE_HIGH].waiting);
    struct mg_job *normal = TAILQ_FIRST(&served->lines[MG_LINE_NORMAL].waiting);
    if (high == NULL && normal == NULL) {
        return NULL;
    }
    return mg_limiter_next_is_high(&served->limiter, high != NULL, normal != NULL) ? high : normal;
}

static bool has_waiting(const struct mg_served *served)
{
    return !TAILQ_EMPTY(&served->lines[MG_LINE_HIGH].waiting) ||
           !TAILQ_EMPTY(&served->lines[MG_LINE_NORMAL].waiting);
}

/* False: nothing more can go out now. */
static bool serve_one(struct mg_served *served, int64_t now_ms)
{
    if (!has_waiting(served) || !mg_served_has_token(served)) {
        return false;
    }
    int64_t wait_ms = mg_limiter_wait_ms(&served->limiter, now_ms);
    if (wait_ms != 0) {
        if (wait_ms > 0) {
            mg_timer_start(served->timer, wait_ms, 0);
        }
        return false;
    }
    struct mg_job *job = next_waiting(served);
    if (mg_job_left_ms(job) <= 0) {
        mg_job_drop_late(job);
        return true;
    }
    if (!mg_breaker_admit(&served->breaker, &job->ticket)) {
        return false;
    }
    job->is_probe = served->breaker.state == MG_BREAKER_HALF_OPEN;
    mg_limiter_take(&served->limiter);
    mg_job_try(job);
    return true;
}

static void serve(struct mg_served *served, int64_t now_ms)
{
    if (served->breaker.state == MG_BREAKER_OPEN || served->control.is_paused) {
        mg_served_answer_uncalled(served); /* also deliveries that were on their way when consuming stopped */
    } else {
        while (serve_one(served, now_ms)) {
        }
    }
    if (mg_served_is_token_coming(served)) {
        mg_served_wait_for_token(served);
    } else if (served->breaker.service_health == MG_HEALTH_PROBE &&
               served->breaker.state != MG_BREAKER_CLOSED) {
        mg_served_answer_uncalled(served); /* these would only wait alongside the probe, or for a free slot */
    }
}

static void follow_mute(struct mg_served *served)
{
    served->mute.is_followed = mg_served_is_mute(served);
    mg_served_consume(served);
    if (!served->mute.is_followed) {
        mg_agent_report(served->agent);
    }
}

void mg_served_pump(void *arg)
{
    struct mg_served *served = arg;
    int64_t now_ms = mg_clock_boot_ms();
    if (mg_breaker_tick(&served->breaker, now_ms)) {
        mg_served_breaker_changed(served);
    }
    int64_t rest_ms = mg_breaker_rest_ms(&served->breaker, now_ms);
    if (rest_ms > 0) {
        mg_timer_start(served->timer, rest_ms, 0);
    }
    if (mg_served_is_mute(served) != served->mute.is_followed) {
        follow_mute(served);
    }
    if (!mg_served_is_mute(served)) {
        serve(served, now_ms);
    }
    if (mg_breaker_reported(&served->breaker) != served->reported) {
        mg_agent_report(served->agent);
    }
    mg_served_set_gauges(served);
    mg_agent_drain_check(served->agent);
}
