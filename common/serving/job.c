/*
 * The life of a job: made from a delivery, moved between the lists of its service, ended by giving the
 * delivery back. All that still runs for it is cancelled before (on_end), so that no callback reaches freed
 * memory.
 */
#include <assert.h>
#include <stdlib.h>

#include "agent.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"

struct mg_job *mg_job_create(struct mg_served *served, bool is_high, struct mg_delivery *delivery,
                             mg_job_end_fn *on_end)
{
    struct mg_job *job = calloc(1, served->agent->executor->job_bytes);
    if (job == NULL) {
        return NULL;
    }
    job->served = served;
    job->is_high = is_high;
    job->delivery = delivery;
    job->on_end = on_end;
    job->is_redelivered = delivery->is_redelivered;
    job->phase = MG_JOB_SET_ASIDE;
    /* A path unescaped, and the URL and headers of each try: less than twice the size of the message. */
    job->arena = mg_arena_create(2 * MG_REQUEST_LIMITS.max_bytes);
    if (job->arena == NULL) {
        free(job);
        return NULL;
    }
    mg_buf_init(&job->reply, 0);
    TAILQ_INSERT_TAIL(&served->begun, job, entry);
    served->agent->jobs_made++;
    return job;
}

static void job_unlink(struct mg_job *job)
{
    struct mg_served *served = job->served;
    struct mg_line *line = &served->lines[job->is_high ? MG_LINE_HIGH : MG_LINE_NORMAL];
    line->set_aside_count -= job->phase == MG_JOB_SET_ASIDE && job->timer != NULL ? 1 : 0;
    if (job->phase == MG_JOB_WAITING) {
        TAILQ_REMOVE(&line->waiting, job, entry);
        line->waiting_count--;
    } else {
        TAILQ_REMOVE(&served->begun, job, entry);
    }
}

static void give_back(struct mg_job *job, enum mg_job_end end)
{
    struct mg_served *served = job->served;
    struct mg_broker *broker = served->agent->broker;
    if (job->delivery == NULL) {
        return;
    }
    mg_line_hold(served, &served->lines[job->is_high ? MG_LINE_HIGH : MG_LINE_NORMAL], -1);
    switch (end) {
    case MG_JOB_ACK:
        mg_broker_ack(broker, job->delivery);
        MG_FAILPOINT(AGENT_ACKED);
        break;
    case MG_JOB_REJECT:
        mg_broker_reject(broker, job->delivery);
        break;
    case MG_JOB_REQUEUE:
        mg_broker_requeue(broker, job->delivery);
        break;
    }
    job->delivery = NULL;
}

void mg_job_finish(struct mg_job *job, enum mg_job_end end)
{
    struct mg_served *served = job->served;
    job->on_end(job);
    job_unlink(job);
    give_back(job, end);
    mg_timer_destroy(job->timer);
    mg_arena_destroy(job->arena);
    mg_buf_finish(&job->reply);
    free(job);
    mg_idle_arm(served->pump);
}

/* The request's texts are in its delivery. */
void mg_job_owe(struct mg_job *job)
{
    struct mg_request *request = &job->request;
    give_back(job, MG_JOB_ACK);
    request->request = request->method = request->path = request->content = request->content_type =
        (struct mg_slice){0};
    request->headers = NULL;
}

void mg_job_enqueue(struct mg_job *job, bool is_first)
{
    struct mg_line *line = &job->served->lines[job->is_high ? MG_LINE_HIGH : MG_LINE_NORMAL];
    job_unlink(job);
    job->phase = MG_JOB_WAITING;
    line->waiting_count++;
    if (is_first) {
        TAILQ_INSERT_HEAD(&line->waiting, job, entry);
    } else {
        TAILQ_INSERT_TAIL(&line->waiting, job, entry);
    }
    mg_idle_arm(job->served->pump);
}

void mg_job_move(struct mg_job *job, enum mg_job_phase phase)
{
    assert(phase != MG_JOB_WAITING);
    job_unlink(job);
    job->phase = phase;
    TAILQ_INSERT_TAIL(&job->served->begun, job, entry);
}

int64_t mg_job_left_ms(const struct mg_job *job)
{
    return mg_deadline_left_ms(&job->deadline, &job->served->agent->skew, mg_clock_boot_ms(),
                               mg_clock_wall_ms());
}

void mg_job_drop_late(struct mg_job *job)
{
    mg_metric_add(job->served->metrics.late, 1);
    mg_log(MG_LOG_INFO, "request dropped without a reply: its complete-by has passed",
           MG_LOG_TEXT("order_id", job->request.order_id), MG_LOG_TEXT("step", job->request.step),
           MG_LOG_NUMBER("attempt", job->request.attempt), MG_LOG_NUMBER("tries", job->tries.count));
    mg_job_finish(job, MG_JOB_ACK);
}

/* Counts as the broker does: a delivery is held until its ack has been sent. A backlog may wait behind it,
 * even with room in hand. A consumer that is being started has the room that it requests. */
void mg_line_hold(struct mg_served *served, struct mg_line *line, int change)
{
    struct mg_broker *broker = served->agent->broker;
    /* Lower than requested while messages are large. */
    int granted = mg_broker_prefetch(broker, line->consumer);
    int room = granted > 0 && granted < line->prefetch ? granted : line->prefetch;
    line->held += change;
    if (line->held + mg_broker_unsent_acks(broker, line->consumer) >= room) {
        line->room_since_ms = INT64_MAX;
    } else if (line->room_since_ms == INT64_MAX) {
        line->room_since_ms = mg_clock_boot_ms();
    }
}

void mg_line_consume(struct mg_served *served, struct mg_line *line, uint16_t prefetch)
{
    prefetch = mg_suspects_prefetch(&served->agent->suspects, line->consumer, prefetch);
    if (prefetch != line->prefetch) {
        line->room_since_ms = INT64_MAX; /* a backlog may have waited for this */
    }
    line->prefetch = prefetch;
    mg_line_hold(served, line, 0);
    if (prefetch == 0) {
        mg_broker_pause(served->agent->broker, line->consumer);
    } else {
        mg_broker_resume(served->agent->broker, line->consumer, prefetch);
    }
}
