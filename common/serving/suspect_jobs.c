/*
 * The agent's suspects (core/suspects.h). An isolated request begins when nothing else is in hand. Of several
 * the one with the fewest deliveries goes first, so that the guilty one, which has the most, is the last.
 * Calls may last for minutes, so both the wait for the others and the time alone are bounded.
 */
#include "agent.h"
#include "base/clock.h"
#include "base/log.h"

/* The longest time that an ack may wait until it is sent. */
#define LOOK_MS 20
/* Bound of the wait of an isolated request for the calls of others, and of its time alone. A request that
 * ends its handler mostly does so at once, and a service must not stall for one slow call. */
#define ISOLATED_MS 10000

static void consume_all(struct mg_agent *agent)
{
    for (int i = 0; i < agent->served_count; i++) {
        mg_served_consume(&agent->served[i]);
    }
}

void mg_job_suspect(struct mg_job *job, enum mg_suspicion suspicion)
{
    struct mg_agent *agent = job->served->agent;
    int consumer = job->served->lines[job->is_high ? MG_LINE_HIGH : MG_LINE_NORMAL].consumer;
    bool is_first = suspicion == MG_SUSPECT_ISOLATED && agent->suspects.isolated == 0;
    job->suspicion = suspicion;
    if (mg_suspects_came(&agent->suspects, consumer, suspicion)) {
        consume_all(agent);
    }
    if (is_first) {
        mg_log(MG_LOG_WARN, "a request that was redelivered repeatedly is handled alone",
               MG_LOG_TEXT("service", job->served->service->name),
               MG_LOG_NUMBER("deliveries", job->delivery->delivery_count));
        agent->isolated_boot_ms = mg_clock_boot_ms();
        mg_timer_start(agent->isolated_timer, LOOK_MS, LOOK_MS);
    }
}

void mg_job_clear(struct mg_job *job)
{
    struct mg_agent *agent = job->served->agent;
    bool is_change = mg_suspects_ended(&agent->suspects, job->suspicion);
    job->suspicion = MG_SUSPECT_NOT;
    if (is_change) {
        mg_timer_stop(agent->isolated_timer);
        consume_all(agent);
    }
}

/* No consumer brings more, and the acks of all ended jobs have been sent to the broker. */
static bool is_quiet(const struct mg_agent *agent)
{
    for (int i = 0; i < agent->served_count * MG_LINE_COUNT; i++) {
        if (!mg_broker_is_stopped(agent->broker, i) || mg_broker_unsent_acks(agent->broker, i) > 0) {
            return false;
        }
    }
    return true;
}

struct view {
    struct mg_job *least;   /* of the waiting ones, the one with the fewest deliveries */
    struct mg_job *running; /* an isolated one that has begun */
    bool is_other;          /* something else is in hand, except requests left for others */
};

static void view_add(struct view *view, struct mg_job *job)
{
    if (job->phase == MG_JOB_ISOLATED) {
        bool is_less =
            view->least == NULL || job->delivery->delivery_count < view->least->delivery->delivery_count;
        view->least = is_less ? job : view->least;
        return;
    }
    view->running = job->suspicion == MG_SUSPECT_ISOLATED ? job : view->running;
    view->is_other = view->is_other || job->phase != MG_JOB_SET_ASIDE;
}

static struct view view_make(struct mg_agent *agent)
{
    struct view view = {0};
    struct mg_job *job;
    for (int i = 0; i < agent->served_count; i++) {
        struct mg_served *served = &agent->served[i];
        TAILQ_FOREACH(job, &served->begun, entry)
        {
            view_add(&view, job);
        }
        for (int k = 0; k < MG_LINE_COUNT; k++) {
            TAILQ_FOREACH(job, &served->lines[k].waiting, entry)
            {
                view_add(&view, job);
            }
        }
    }
    return view;
}

void mg_agent_on_isolated(void *arg)
{
    struct mg_agent *agent = arg;
    struct view view = view_make(agent);
    bool is_over = mg_clock_boot_ms() - agent->isolated_boot_ms >= ISOLATED_MS;
    if (is_over && view.running != NULL) {
        mg_job_clear(view.running);
    }
    if (view.least != NULL && (is_over || (!view.is_other && is_quiet(agent)))) {
        agent->isolated_boot_ms = mg_clock_boot_ms();
        mg_job_enqueue(view.least, false);
    }
}
