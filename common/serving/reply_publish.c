/*
 * The reply is published and confirmed by the broker; only then is the request acked. A crash in between
 * causes a redelivery, never a lost answer. A reply that the broker does not take is offered again until
 * complete-by. After that the request is acked without a reply: the scheduler judges its attempt. While the
 * broker takes no reply at all (mute.c), that judgement may have to wait, too. Then the reply stays owed
 * without its request, and still counts if the attempt has not been judged.
 */

#include "agent.h"
#include "base/failpoint.h"
#include "base/id.h"
#include "base/log.h"
#include "core/backoff.h"

/* Backoff between offers of one reply. A broker that fails over needs about a second. */
#define REPLY_BACKOFF_MS     100
#define REPLY_BACKOFF_MAX_MS 2000
/* A reply is owed for so long after complete-by. By then an alert has long been open. */
#define OWED_MAX_MS (10 * 60 * 1000)

static void offer(struct mg_job *job);

static void on_offer_again(void *arg)
{
    offer(arg);
}

/* False: the job has ended. */
static bool is_in_time(struct mg_job *job)
{
    int64_t left_ms = mg_job_left_ms(job);
    if (left_ms <= 0 && job->delivery != NULL && mg_served_is_mute(job->served)) {
        mg_job_owe(job);
    }
    if (left_ms <= (job->delivery != NULL ? 0 : -OWED_MAX_MS)) {
        mg_job_drop_late(job);
        return false;
    }
    return true;
}

static void offer_later(struct mg_job *job, const char *why)
{
    if (!is_in_time(job)) {
        return;
    }
    if (job->reply_failures == 0) {
        mg_log(mg_served_is_mute(job->served) ? MG_LOG_DEBUG : MG_LOG_WARN,
               "could not publish a reply; publishing is retried until complete-by",
               MG_LOG_TEXT("order_id", job->request.order_id), MG_LOG_TEXT("step", job->request.step),
               MG_LOG_NUMBER("attempt", job->request.attempt), MG_LOG_TEXT("why", why));
    }
    mg_metric_add(job->served->metrics.reply_again, 1);
    int64_t wait_ms =
        mg_backoff_ms(REPLY_BACKOFF_MS, REPLY_BACKOFF_MAX_MS, job->reply_failures++, -1, mg_random_u64());
    mg_timer_destroy(job->timer);
    job->timer = mg_timer_create(job->served->agent->loop, on_offer_again, job);
    if (job->timer == NULL) {
        mg_job_finish(job, MG_JOB_REQUEUE); /* no memory: the redelivery makes the same reply again */
        return;
    }
    job->phase = MG_JOB_REPLY_WAIT;
    int64_t left_ms = mg_job_left_ms(job);
    mg_timer_start(job->timer, left_ms > 0 && left_ms < wait_ms ? left_ms : wait_ms, 0);
}

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct mg_job *job = arg;
    mg_served_note_published(job->served, outcome);
    switch (outcome) {
    case MG_PUBLISH_CONFIRMED:
        MG_FAILPOINT(AGENT_CONFIRMED);
        mg_metric_add(job->served->metrics.replies[job->last.outcome], 1);
        mg_job_finish(job, MG_JOB_ACK);
        return;
    case MG_PUBLISH_REFUSED:
    case MG_PUBLISH_RETURNED:
    case MG_PUBLISH_UNKNOWN:
    case MG_PUBLISH_UNSENT:
    case MG_PUBLISH_OUTCOME_COUNT:
        break;
    }
    offer_later(job, mg_publish_outcome_name(outcome));
}

static bool write_reply(struct mg_job *job, const struct mg_reply_parts *parts)
{
    const struct mg_request *request = &job->request;
    struct mg_verdict_of_try *last = &job->last;
    last->executed = mg_maybe_fold(request->kind, last->executed, job->tries.may_have_run);
    job->replied_may_still_act = job->tries.may_still_act;
    mg_buf_finish(&job->reply);
    mg_tries_reply_write(job->served->service, request, last, job->tries.may_still_act, parts, &job->reply);
    if (job->reply.failed) {
        mg_log(MG_LOG_ERROR, "could not write a reply: no memory; the request returns to its queue",
               MG_LOG_TEXT("order_id", request->order_id), MG_LOG_TEXT("step", request->step));
    }
    return !job->reply.failed;
}

/* The reply was not offered in time: another agent may have had the request meanwhile. Then "no" is no
 * longer a proof, and in any case a call of the other agent may be at work. */
static bool is_outdated(const struct mg_job *job)
{
    bool is_doubtful =
        !mg_outcome_has_result(job->last.outcome) &&
        mg_maybe_fold(job->request.kind, job->last.executed, job->tries.may_have_run) != job->last.executed;
    return is_doubtful || job->tries.may_still_act != job->replied_may_still_act;
}

/* Writes the reply anew. The only copies of its parts are in the old one. */
static bool rewrite_reply(struct mg_job *job)
{
    struct mg_buf old = job->reply;
    struct mg_slice text = mg_buf_slice(&old);
    struct mg_reply_parts parts = {.message = mg_json_find(text, "/error/message"),
                                   .body = mg_json_find(text, "/error/body"),
                                   .is_truncated = mg_json_find(text, "/truncated").data != NULL};
    if (!parts.is_truncated) {
        parts.result = mg_json_find(text, "/result");
    }
    mg_buf_init(&job->reply, 0);
    bool is_written = write_reply(job, &parts);
    mg_buf_finish(&old);
    return is_written;
}

static void offer(struct mg_job *job)
{
    struct mg_agent *agent = job->served->agent;
    if (!is_in_time(job)) {
        return;
    }
    if (is_outdated(job) && !rewrite_reply(job)) {
        mg_job_finish(job, MG_JOB_REQUEUE);
        return;
    }
    if (!mg_broker_can_publish(
            agent->broker)) { /* the broker object would hold it without judging its deadline */
        offer_later(job, "the broker is not available");
        return;
    }
    struct mg_message message = {
        .exchange = job->served->reply_exchange,
        .routing_key = MG_QUEUE_REPLIES,
        .type = "reply",
        .message_id = job->correlation_id, /* derived: the same reply has the same id from every sender */
        .correlation_id = job->correlation_id,
        .traceparent = job->request.traceparent[0] != '\0' ? job->request.traceparent : NULL,
        .body = mg_buf_slice(&job->reply),
    };
    struct mg_err err;
    job->phase = MG_JOB_REPLYING;
    if (mg_broker_publish(agent->broker, &message, on_published, job, &err) != MG_OK) {
        offer_later(job, err.text);
        return;
    }
    MG_FAILPOINT(AGENT_REPLIED);
}

void mg_job_answer(struct mg_job *job, const struct mg_verdict_of_try *verdict,
                   const struct mg_reply_parts *parts)
{
    const struct mg_reply_parts none = {.is_truncated = false};
    if (mg_job_left_ms(job) <= 0) {
        mg_job_drop_late(job);
        return;
    }
    job->last = *verdict;
    mg_job_move(job, MG_JOB_REPLYING);
    mg_timer_destroy(job->timer);
    job->timer = NULL;
    if (!write_reply(job, parts != NULL ? parts : &none)) {
        mg_job_finish(job, MG_JOB_REQUEUE);
        return;
    }
    offer(job);
}

void mg_job_answer_not_made(struct mg_job *job, enum mg_error_reason reason, const char *why)
{
    struct mg_verdict_of_try verdict;
    mg_verdict_not_made(reason, why, &verdict);
    mg_job_answer(job, &verdict, NULL);
}

/* A request with a try is answered. So is one that may be sent only once: this process can still prove that
 * it was not sent. Given back, that request would count as redelivered. Any other request goes back for
 * another instance. */
void mg_job_put_back(struct mg_job *job)
{
    if (job->phase == MG_JOB_SET_ASIDE) {
        mg_job_finish(job, MG_JOB_REQUEUE);
    } else if (job->tries.count > 0) {
        mg_job_answer(job, &job->last, NULL);
    } else if (job->request.is_at_most_once) {
        mg_job_answer_not_made(job, MG_ERROR_REASON_BREAKER_OPEN, "the agent stopped before the call");
    } else {
        mg_job_finish(job, MG_JOB_REQUEUE);
    }
}
