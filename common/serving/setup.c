/*
 * The start and the end of an agent. Nothing connects here; connections are made in the loop.
 */
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "base/clock.h"

static void served_init(struct mg_agent *agent, int index)
{
    struct mg_served *served = &agent->served[index];
    const struct mg_service *service = served->service;
    const struct mg_breaker_rules rules = {
        .failure_ratio = service->breaker.failure_ratio,
        .min_calls = service->breaker.min_calls,
        .window_ms = service->breaker.window_ms,
        .open_ms = service->breaker.open_ms,
        .probes = service->breaker.probes,
        .unreachable_max = service->tries, /* one request that cannot be delivered at all is proof enough */
    };
    served->agent = agent;
    mg_topology_reply_exchange(service->name, served->reply_exchange);
    mg_limiter_init(&served->limiter, service->concurrency, service->rate_per_s, mg_clock_boot_ms());
    mg_breaker_init(&served->breaker, &rules);
    TAILQ_INIT(&served->begun);
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        struct mg_line *line = &served->lines[i];
        mg_topology_request_queue(service->name, i == MG_LINE_HIGH, line->queue);
        line->consumer = index * MG_LINE_COUNT + i;
        line->prefetch =
            mg_suspects_prefetch(&agent->suspects, line->consumer, mg_limiter_prefetch(&served->limiter));
        line->room_since_ms = INT64_MAX;
        TAILQ_INIT(&line->waiting);
    }
}

static enum mg_class served_start(struct mg_served *served, struct mg_err *err)
{
    mg_served_register_metrics(served);
    served->pump = mg_idle_create(served->agent->loop, mg_served_pump, served);
    served->timer = mg_timer_create(served->agent->loop, mg_served_pump, served);
    if (served->pump == NULL || served->timer == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare service %s: no memory",
                          served->service->name);
    }
    return served->agent->executor->open(served, err);
}

static enum mg_class broker_start(struct mg_agent *agent, struct mg_err *err)
{
    char name[MG_INSTANCE_MAX + 32];
    snprintf(name, sizeof(name), "makegood-agent %s", agent->instance);
    struct mg_broker_options options = {
        .address = agent->options->broker,
        .name = name,
        .consumer_count = agent->served_count * MG_LINE_COUNT,
        .body_max_bytes = MG_REQUEST_LIMITS.max_bytes,
        .metrics = agent->metrics,
        .on_delivery = mg_agent_on_delivery,
        .on_state = mg_agent_on_state,
        .arg = agent,
    };
    for (int i = 0; i < options.consumer_count; i++) {
        const struct mg_line *line = &agent->served[i / MG_LINE_COUNT].lines[i % MG_LINE_COUNT];
        options.consumers[i].queue = line->queue;
        options.consumers[i].prefetch = (uint16_t)line->prefetch;
        options.consumers[i].bytes_max =
            agent->options->memory_bytes / MG_AGENT_MEMORY_HELD / (size_t)options.consumer_count;
    }
    return mg_broker_create(agent->loop, &options, &agent->broker, err);
}

enum mg_class mg_agent_start(struct mg_agent *agent, struct mg_loop *loop, struct mg_metrics *metrics,
                             struct mg_err *err)
{
    agent->loop = loop;
    snprintf(agent->instance, sizeof(agent->instance), "%s", agent->options->instance);
    agent->started_ms = mg_clock_wall_ms();
    mg_skew_init(&agent->skew, agent->options->skew_limit_ms, mg_clock_boot_ms());
    for (int i = 0; i < agent->served_count; i++) {
        served_init(agent, i);
    }
    agent->was_ready = true;
    agent->metrics = metrics;
    agent->tick_timer = mg_timer_create(loop, mg_agent_on_tick, agent);
    agent->drain_timer = mg_timer_create(loop, mg_agent_on_drain_timer, agent);
    agent->isolated_timer = mg_timer_create(loop, mg_agent_on_isolated, agent);
    if (agent->tick_timer == NULL || agent->drain_timer == NULL || agent->isolated_timer == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
    }
    agent->skew_metric = mg_metrics_series(agent->metrics, MG_GAUGE, "makegood_clock_skew_seconds", NULL,
                                           "this machine's clock less the database's, where measurable");
    enum mg_class class = MG_OK;
    for (int i = 0; i < agent->served_count && class == MG_OK; i++) {
        class = served_start(&agent->served[i], err);
    }
    if (class == MG_OK) {
        class = broker_start(agent, err);
    }
    for (int i = 0; i < agent->served_count && class == MG_OK; i++) {
        class = mg_served_listen(&agent->served[i], err);
    }
    if (class == MG_OK) {
        mg_timer_start(agent->tick_timer, MG_AGENT_TICK_MS, MG_AGENT_TICK_MS);
    }
    return class;
}

/* Jobs still in hand go back; the broker gives them to another agent. */
static void served_clear(struct mg_served *served)
{
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        while (!TAILQ_EMPTY(&served->lines[i].waiting)) {
            mg_job_finish(TAILQ_FIRST(&served->lines[i].waiting), MG_JOB_REQUEUE);
        }
    }
    while (!TAILQ_EMPTY(&served->begun)) {
        mg_job_finish(TAILQ_FIRST(&served->begun), MG_JOB_REQUEUE);
    }
}

void mg_agent_finish(struct mg_agent *agent)
{
    for (int i = 0; i < agent->served_count && agent->broker != NULL; i++) {
        served_clear(&agent->served[i]);
    }
    if (agent->broker != NULL) {
        mg_broker_destroy(agent->broker);
    }
    for (int i = 0; i < agent->served_count; i++) {
        struct mg_served *served = &agent->served[i];
        agent->executor->close(served);
        mg_timer_destroy(served->timer);
        if (served->pump != NULL) {
            mg_idle_destroy(served->pump);
        }
    }
    mg_timer_destroy(agent->tick_timer);
    mg_timer_destroy(agent->drain_timer);
    mg_timer_destroy(agent->isolated_timer);
    memset(agent, 0, sizeof(*agent)); /* finishing it again does nothing */
}
