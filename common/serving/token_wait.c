/*
 * Requests of a service that needs an access token. A request waits for a token without a slot. It is
 * answered before its complete-by, so that its step waits and loses no attempt. An endpoint that gives no
 * token closes the service's gate as a service that cannot be reached does: the breaker opens, and a probe
 * asks for the token again.
 */
#include "agent.h"
#include "base/clock.h"

/* Time to publish the reply of a request that is given up; less where the attempt has little time. */
#define GIVE_UP_MS 1000

void mg_served_on_token(void *arg, bool is_good)
{
    struct mg_served *served = arg;
    if (is_good) {
        mg_idle_arm(served->pump);
        return;
    }
    if (mg_breaker_fail(&served->breaker, mg_clock_boot_ms())) {
        mg_served_breaker_changed(served);
    } else {
        mg_served_answer_uncalled(served);
    }
}

static int64_t give_up_ms(const struct mg_job *job)
{
    int64_t half_ms = (job->request.complete_by_ms - job->request.sent_at_ms) / 2;
    return half_ms < GIVE_UP_MS ? half_ms : GIVE_UP_MS;
}

void mg_served_wait_for_token(struct mg_served *served)
{
    int64_t next_ms = -1;
    struct mg_job *job, *next;
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        for (job = TAILQ_FIRST(&served->lines[i].waiting); job != NULL; job = next) {
            next = TAILQ_NEXT(job, entry);
            int64_t left_ms = mg_job_left_ms(job) - give_up_ms(job);
            if (left_ms <= 0) {
                mg_job_answer_uncalled(job);
            } else if (next_ms < 0 || left_ms < next_ms) {
                next_ms = left_ms;
            }
        }
    }
    if (next_ms > 0) {
        mg_timer_start(served->timer, next_ms, 0);
    }
}
