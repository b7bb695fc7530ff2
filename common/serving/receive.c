/*
 * Incoming requests are parsed, judged and put in line, or refused. Bytes that are no request of this service
 * go to the dead-letter exchange and are never lost. A request of a newer version is left for an instance
 * that can read it. A request that is redelivered while its first delivery is in work here joins that work
 * instead of doubling it.
 */
#include <assert.h>
#include <string.h>

#include "agent.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "core/newer.h"

/* A newer request waits this long before it goes back, so that it does not spin between instances that
 * cannot read it. Without room to wait it goes back at once. Agents have no rank, so each of them gets it
 * in its turn, within the same bound of deliveries. */
#define SET_ASIDE_MS 1000

static void refuse(struct mg_job *job, const char *why)
{
    mg_metric_add(job->served->metrics.malformed, 1);
    mg_log(MG_LOG_WARN, "request refused and dead-lettered",
           MG_LOG_TEXT("service", job->served->service->name),
           MG_LOG_TEXT("message_id", job->delivery->message_id.data ? job->delivery->message_id.data : ""),
           MG_LOG_TEXT("why", why));
    mg_job_finish(job, MG_JOB_REJECT);
}

static bool is_other_type(const struct mg_delivery *delivery)
{
    return delivery->type.data != NULL && delivery->type.len > 0 && !mg_slice_is(delivery->type, "request");
}

static void on_set_aside_over(void *arg)
{
    mg_job_finish(arg, MG_JOB_REQUEUE);
}

static void set_aside(struct mg_job *job)
{
    struct mg_line *line = &job->served->lines[job->is_high ? MG_LINE_HIGH : MG_LINE_NORMAL];
    enum mg_newer judged = mg_newer_judge(job->delivery->given_count, line->set_aside_count, line->prefetch,
                                          MG_NEWER_DELIVERIES_MAX);
    if (judged == MG_NEWER_SET_ASIDE) {
        refuse(job, "the request has a version that no running agent can read");
        return;
    }
    mg_log(MG_LOG_INFO, "request of a newer version left for another instance",
           MG_LOG_TEXT("service", job->served->service->name));
    bool may_wait = judged == MG_NEWER_HOLD && !job->served->agent->is_draining;
    job->timer = may_wait ? mg_timer_create(job->served->agent->loop, on_set_aside_over, job) : NULL;
    if (job->timer == NULL) {
        mg_job_finish(job, MG_JOB_REQUEUE);
        return;
    }
    line->set_aside_count++;
    line->newer_boot_ms = mg_clock_boot_ms();
    mg_timer_start(job->timer, SET_ASIDE_MS, 0);
    if (line->prefetch == 1) {
        mg_line_consume(job->served, line,
                        MG_NEWER_PREFETCH_MIN); /* as mg_served_consume sets it from now on */
    }
}

static void name_reply(struct mg_job *job)
{
    const struct mg_request *request = &job->request;
    struct mg_slice given = job->delivery->correlation_id;
    if (given.data != NULL && given.len > 0 && given.len < sizeof(job->correlation_id)) {
        memcpy(job->correlation_id, given.data, given.len);
        job->correlation_id[given.len] = '\0';
        return;
    }
    mg_correlation_write(request->order_id, request->step, request->attempt, request->kind,
                         job->correlation_id);
}

static bool is_same(const struct mg_request *a, const struct mg_request *b)
{
    return a->attempt == b->attempt && a->kind == b->kind && strcmp(a->order_id, b->order_id) == 0 &&
           strcmp(a->step, b->step) == 0;
}

static struct mg_job *find_twin(struct mg_served *served, const struct mg_job *newcomer)
{
    struct mg_job *job;
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        TAILQ_FOREACH(job, &served->lines[i].waiting, entry)
        {
            if (is_same(&job->request, &newcomer->request)) {
                return job;
            }
        }
    }
    TAILQ_FOREACH(job, &served->begun, entry)
    {
        if (job != newcomer && job->phase != MG_JOB_SET_ASIDE && is_same(&job->request, &newcomer->request)) {
            return job;
        }
    }
    return NULL;
}

/* The request's bytes are in the newer delivery. A database that lost its tail causes an attempt to be
 * sent twice, with two complete-bys. The later one holds, with its own deadline. */
static void later_take(struct mg_job *twin, const struct mg_job *newcomer)
{
    int64_t complete_by_ms = twin->request.complete_by_ms, sent_at_ms = twin->request.sent_at_ms;
    twin->request = newcomer->request;
    if (complete_by_ms > newcomer->request.complete_by_ms) {
        twin->request.complete_by_ms = complete_by_ms;
        twin->request.sent_at_ms = sent_at_ms;
    } else if (complete_by_ms < newcomer->request.complete_by_ms) {
        twin->deadline = newcomer->deadline;
    }
}

/* The older job goes on with the newer delivery: the broker still expects the ack of that one. The request
 * borrows from its delivery, so it is taken over as well. */
static void join(struct mg_job *twin, struct mg_job *newcomer)
{
    struct mg_delivery *old_delivery = twin->delivery;
    struct mg_arena *old_arena = twin->arena;
    bool was_high = twin->is_high;
    if (twin->phase == MG_JOB_WAITING) {
        mg_job_move(twin, MG_JOB_BACKING_OFF); /* the new delivery may be of the other line */
    }
    twin->delivery = newcomer->delivery;
    twin->arena = newcomer->arena;
    later_take(twin, newcomer);
    twin->is_high = newcomer->is_high;
    twin->is_redelivered = true;
    twin->tries.may_have_run = twin->tries.may_still_act = true;
    enum mg_suspicion old_suspicion = twin->suspicion;
    twin->suspicion = newcomer->suspicion;
    newcomer->suspicion = old_suspicion;
    newcomer->delivery = old_delivery;
    newcomer->arena = old_arena;
    newcomer->is_high = was_high;
    mg_job_finish(newcomer, MG_JOB_ACK); /* of an earlier connection: this only frees it */
}

static void admit(struct mg_job *job);

static void on_doubt_look(void *arg)
{
    admit(arg);
}

/* It is not called, which may be too late, and not dropped, which would use up an attempt that is in time. */
static void hold_in_doubt(struct mg_job *job)
{
    if (job->served->agent->is_draining) {
        mg_job_put_back(job);
        return;
    }
    if (job->phase == MG_JOB_IN_DOUBT) {
        return;
    }
    mg_job_move(job, MG_JOB_IN_DOUBT);
    job->timer = mg_timer_create(job->served->agent->loop, on_doubt_look, job);
    if (job->timer == NULL) {
        mg_job_finish(job, MG_JOB_REQUEUE); /* no memory here: perhaps elsewhere, or later */
        return;
    }
    mg_timer_start(job->timer, MG_DEADLINE_LOOK_MS, MG_DEADLINE_LOOK_MS);
}

/* No call is made and no attempt is used up: the step waits and sends a new request. */
static void answer_not_called(struct mg_job *job)
{
    mg_job_answer_not_made(job, MG_ERROR_REASON_BREAKER_OPEN,
                           "by the database's clock, as it was known, the request came late");
}

static void admit(struct mg_job *job)
{
    struct mg_agent *agent = job->served->agent;
    switch (mg_deadline_judge(&job->deadline, &agent->skew, mg_clock_boot_ms(), mg_clock_wall_ms())) {
    case MG_DEADLINE_LATE:
        mg_job_drop_late(job);
        return;
    case MG_DEADLINE_IN_DOUBT:
        hold_in_doubt(job);
        return;
    case MG_DEADLINE_NOT_CALLED:
        answer_not_called(job);
        return;
    case MG_DEADLINE_IN_TIME:
        break;
    }
    mg_timer_destroy(job->timer);
    job->timer = NULL;
    if (job->request.is_at_most_once && job->is_redelivered) {
        struct mg_verdict_of_try verdict;
        mg_verdict_redelivered(&verdict);
        mg_job_answer(job, &verdict, NULL);
        return;
    }
    if (job->suspicion == MG_SUSPECT_ISOLATED) {
        mg_job_move(job, MG_JOB_ISOLATED);
    } else {
        mg_job_enqueue(job, false);
    }
    if (agent->is_draining) {
        mg_job_put_back(job);
    }
}

static void receive(struct mg_job *job, bool is_fresh)
{
    struct mg_served *served = job->served;
    struct mg_agent *agent = served->agent;
    struct mg_delivery *delivery = job->delivery;
    struct mg_err err;
    if (delivery->is_oversized) {
        refuse(job, "its body is above the limit of the broker's interface");
        return;
    }
    enum mg_class class = is_other_type(delivery)
                              ? MG_STALE
                              : mg_request_parse(delivery->body, job->arena, &job->request, &err);
    /* A request that is left for others is redelivered each time and only parsed here, so it is no
     * suspect. */
    mg_job_suspect(job, class == MG_STALE ? MG_SUSPECT_NOT : mg_suspects_judge(delivery->delivery_count));
    if (class == MG_STALE) {
        set_aside(job);
        return;
    }
    if (class == MG_TRANSIENT) {
        mg_job_finish(job, MG_JOB_REQUEUE); /* no memory here: perhaps elsewhere, or later */
        return;
    }
    if (class != MG_OK) {
        refuse(job, err.text);
        return;
    }
    if (strcmp(job->request.service, served->service->name) != 0) {
        refuse(job, "it is for another service than its queue");
        return;
    }
    mg_agent_note_time(agent, delivery->arrived_boot_ms, job->request.sent_at_ms,
                       is_fresh ? MG_SAMPLE_FRESH : MG_SAMPLE_QUEUED);
    job->deadline = (struct mg_deadline){.complete_by_ms = job->request.complete_by_ms,
                                         .sent_at_ms = job->request.sent_at_ms,
                                         .received_boot_ms = delivery->arrived_boot_ms,
                                         .is_fresh = is_fresh};
    name_reply(job);
    struct mg_job *twin = job->is_redelivered ? find_twin(served, job) : NULL;
    if (twin == NULL) {
        job->tries.may_have_run = job->tries.may_still_act = job->is_redelivered;
        admit(job);
        return;
    }
    bool was_waiting = twin->phase == MG_JOB_WAITING;
    join(twin, job);
    if (was_waiting) {
        admit(twin);
    }
}

static void on_job_end(struct mg_job *job)
{
    mg_job_cancel_try(job);
    mg_job_clear(job);
}

void mg_agent_on_delivery(void *arg, struct mg_delivery *delivery)
{
    struct mg_agent *agent = arg;
    MG_FAILPOINT(AGENT_RECEIVED);
    mg_agent_turn(agent);
    assert(delivery->consumer >= 0 && delivery->consumer < agent->served_count * MG_LINE_COUNT);
    struct mg_served *served = &agent->served[delivery->consumer / MG_LINE_COUNT];
    int line_index = delivery->consumer % MG_LINE_COUNT;
    struct mg_line *line = &served->lines[line_index];
    bool is_fresh = !delivery->is_redelivered && line->room_since_ms != INT64_MAX &&
                    line->room_since_ms + MG_SKEW_ROOM_MS <= delivery->arrived_boot_ms;

    struct mg_job *job = mg_job_create(served, line_index == MG_LINE_HIGH, delivery, on_job_end);
    if (job == NULL) {
        mg_log(MG_LOG_ERROR, "could not take a request: no memory",
               MG_LOG_TEXT("service", served->service->name));
        mg_broker_requeue(agent->broker, delivery);
        return;
    }
    int64_t room_since_ms = line->room_since_ms;
    uint16_t prefetch = line->prefetch;
    mg_line_hold(served, line, 1);
    receive(job, is_fresh);
    if (line->prefetch > prefetch) {
        line->room_since_ms = room_since_ms; /* the prefetch was raised at once: nothing has waited */
    }
}

static void put_back_all_in_doubt(struct mg_served *served)
{
    struct mg_job *job, *next, *last = TAILQ_LAST(&served->begun, mg_jobs);
    for (job = TAILQ_FIRST(&served->begun); job != NULL; job = next) {
        next = job == last ? NULL : TAILQ_NEXT(job, entry); /* answered jobs move to the end of this list */
        if (job->phase == MG_JOB_IN_DOUBT) {
            mg_job_put_back(job);
        }
    }
}

/* A lost connection may void every delivery in hand, and the broker may give them to other agents. From
 * now on this process cannot prove that a request was not sent, except one that is never sent again.
 * Requests that have not begun are left to the other agents. */
static void doubt_all(struct mg_served *served)
{
    struct mg_jobs *const lists[] = {&served->lines[MG_LINE_NORMAL].waiting,
                                     &served->lines[MG_LINE_HIGH].waiting, &served->begun};
    struct mg_job *job;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        TAILQ_FOREACH(job, lists[i], entry)
        {
            job->tries.may_have_run = job->tries.may_have_run || !job->request.is_at_most_once;
            job->tries.may_still_act = job->tries.may_still_act || !job->request.is_at_most_once;
        }
    }
}

void mg_served_put_back_waiting(struct mg_served *served)
{
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        struct mg_job *job = TAILQ_FIRST(&served->lines[i].waiting);
        while (job != NULL) {
            struct mg_job *next = TAILQ_NEXT(job, entry);
            mg_job_put_back(job);
            job = next;
        }
    }
    struct mg_job *job, *next, *last = TAILQ_LAST(&served->begun, mg_jobs);
    for (job = TAILQ_FIRST(&served->begun); job != NULL; job = next) {
        next = job == last ? NULL : TAILQ_NEXT(job, entry); /* answered jobs move to the end of this list */
        if (job->phase == MG_JOB_ISOLATED) {
            mg_job_put_back(job);
        }
    }
}

void mg_agent_on_state(void *arg, bool is_up, const char *reason)
{
    struct mg_agent *agent = arg;
    if (!is_up) {
        mg_log(MG_LOG_WARN, "broker not available", MG_LOG_TEXT("why", reason));
        for (int i = 0; i < agent->served_count; i++) {
            doubt_all(&agent->served[i]);
            mg_served_put_back_waiting(&agent->served[i]);
            put_back_all_in_doubt(&agent->served[i]);
            mg_served_judge_mute(&agent->served[i]);
        }
        return;
    }
    mg_log(MG_LOG_INFO, "broker connected", MG_LOG_NUMBER("services", agent->served_count));
    agent->awake_since_boot_ms = mg_clock_boot_ms();
    for (int i = 0; i < agent->served_count; i++) {
        for (int k = 0; k < MG_LINE_COUNT; k++) {
            struct mg_line *line = &agent->served[i].lines[k];
            line->room_since_ms = INT64_MAX; /* a backlog may come now */
            mg_line_hold(&agent->served[i], line, 0);
        }
        mg_served_judge_mute(&agent->served[i]);
    }
    mg_agent_report(agent);
}
