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
#include "base/log.h"

static struct mg_job *next_waiting(struct mg_lane *lane)
{
    struct mg_job *high = TAILQ_FIRST(&lane->lines[MG_LINE_HIGH].waiting);
    struct mg_job *normal = TAILQ_FIRST(&lane->lines[MG_LINE_NORMAL].waiting);
    if (high == NULL && normal == NULL) {
        return NULL;
    }
    return mg_limiter_next_is_high(&lane->limiter, high != NULL, normal != NULL) ? high : normal;
}

static bool has_waiting(const struct mg_lane *lane)
{
    return !TAILQ_EMPTY(&lane->lines[MG_LINE_HIGH].waiting) ||
           !TAILQ_EMPTY(&lane->lines[MG_LINE_NORMAL].waiting);
}

/* False: nothing more can go out now. */
static bool serve_one(struct mg_lane *lane, int64_t now_ms)
{
    if (!has_waiting(lane)) {
        return false;
    }
    int64_t wait_ms = mg_limiter_wait_ms(&lane->limiter, now_ms);
    if (wait_ms != 0) {
        if (wait_ms > 0) {
            mg_timer_start(lane->timer, wait_ms, 0);
        }
        return false;
    }
    struct mg_job *job = next_waiting(lane);
    if (mg_job_left_ms(job) <= 0) {
        mg_job_drop_late(job);
        return true;
    }
    if (!mg_breaker_admit(&lane->breaker, &job->ticket)) {
        return false;
    }
    mg_limiter_take(&lane->limiter);
    mg_job_call(job);
    return true;
}

void mg_lane_pump(void *arg)
{
    struct mg_lane *lane = arg;
    int64_t now_ms = mg_clock_boot_ms();
    if (mg_breaker_tick(&lane->breaker, now_ms)) {
        mg_lane_breaker_changed(lane);
    }
    int64_t rest_ms = mg_breaker_rest_ms(&lane->breaker, now_ms);
    if (rest_ms > 0) {
        mg_timer_start(lane->timer, rest_ms, 0);
    }
    if (lane->breaker.state == MG_BREAKER_OPEN || lane->control.is_paused) {
        mg_lane_answer_unserved(lane); /* also deliveries that were on their way when consuming stopped */
    } else {
        while (serve_one(lane, now_ms)) {
        }
    }
    if (lane->breaker.word == MG_WORD_PROBE && lane->breaker.state != MG_BREAKER_CLOSED) {
        mg_lane_answer_unserved(lane); /* these would only wait beside the probe, or for a free slot */
    }
    if (mg_breaker_told(&lane->breaker) != lane->reported) {
        mg_agent_report(lane->agent);
    }
    mg_lane_measure(lane);
    mg_agent_drain_check(lane->agent);
}
