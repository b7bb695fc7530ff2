/* An agent of all services on a node, created as in services/agent/agent_main.c with the default options. */
#include <assert.h>
#include <stdlib.h>

#include "broker.h"
#include "http_agent.h"
#include "nodes.h"

struct service {
    struct mg_serving_options options;
    struct mg_agent agent;
};

static enum mg_class start(struct sim_process *process, struct sim_node *node, struct mg_err *err)
{
    struct service *service = calloc(1, sizeof(*service));
    assert(service != NULL);
    process->service = service;
    service->options = (struct mg_serving_options){.instance = process->instance,
                                                   .drain_timeout_ms = 30000,
                                                   .skew_limit_ms = 2000,
                                                   .memory_bytes = (size_t)128 << 20};
    struct mg_agent *agent = &service->agent;
    agent->options = &service->options;
    agent->executor = &mg_http_executor;
    for (int i = 0; i < sim_service_count(); i++) { /* mg_agent_load reads them from files */
        enum mg_class class =
            mg_service_parse(mg_slice_of(sim_service_text(i)), NULL, &agent->served[i].service, err);
        if (class != MG_OK) {
            return class;
        }
        agent->served_count++;
    }
    return mg_agent_start(agent, (struct mg_loop *)(void *)node, process->metrics, err);
}

static void drain(struct sim_process *process)
{
    mg_agent_drain(&((struct service *)process->service)->agent);
}

static void finish(struct sim_process *process)
{
    mg_agent_finish(&((struct service *)process->service)->agent);
}

static void look(const struct sim_process *process)
{
    const struct mg_agent *agent = &((const struct service *)process->service)->agent;
    for (int i = 0; i < agent->served_count; i++) {
        const struct mg_served *served = &agent->served[i];
        int held[MG_LINE_COUNT] = {0};
        const struct mg_job *job;
        TAILQ_FOREACH(job, &served->begun, entry)
        {
            held[job->is_high ? MG_LINE_HIGH : MG_LINE_NORMAL] += job->phase == MG_JOB_SET_ASIDE ? 1 : 0;
        }
        for (int k = 0; k < MG_LINE_COUNT; k++) { /* an opening breaker takes the prefetch back, not these */
            sim_newer_check(process->instance, held[k], mg_limiter_prefetch(&served->limiter));
        }
    }
}

const struct sim_program sim_program_agent = {start, drain, finish, look};
