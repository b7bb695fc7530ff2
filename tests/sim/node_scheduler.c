/* A scheduler on a node, created as in services/scheduler/scheduler_main.c with the default options. */
#include <assert.h>
#include <stdlib.h>

#include "broker.h"
#include "nodes.h"
#include "orders.h"
#include "scheduler.h"

struct service {
    struct mg_scheduler_options options;
    struct mg_scheduler *scheduler;
};

static void on_end(void *arg, int exit_code)
{
    struct sim_node *node = arg;
    if (exit_code != 0) {
        sim_node_gave_up(exit_code, "see its last log lines");
    }
    sim_node_ended(node);
}

static enum mg_class start(struct sim_process *process, struct sim_node *node, struct mg_err *err)
{
    struct service *service = calloc(1, sizeof(*service));
    assert(service != NULL);
    process->service = service;
    service->options = (struct mg_scheduler_options){.instance = process->instance,
                                                     .workflows_dir = "",
                                                     .batch = 256,
                                                     .prefetch = 256,
                                                     .window = sim_is_full_run() ? SIM_FULL_WINDOW : 1000,
                                                     .memory_bytes = (size_t)128 << 20,
                                                     .quiesce_ms = SIM_QUIESCE_MS,
                                                     .park_ms = 1000,
                                                     .owed_for_ms = sim_owed_for_ms(),
                                                     .drain_timeout_ms = 10000,
                                                     .limits = MG_JSON_LIMITS_DATA,
                                                     .on_end = on_end,
                                                     .arg = node};
    struct mg_definition *definitions = sim_definitions_create(err);
    return definitions == NULL ? err->class
                               : mg_scheduler_create((struct mg_loop *)(void *)node, &service->options,
                                                     process->metrics, definitions, &service->scheduler, err);
}

static void drain(struct sim_process *process)
{
    mg_scheduler_drain(((struct service *)process->service)->scheduler);
}

static void finish(struct sim_process *process)
{
    mg_scheduler_destroy(((struct service *)process->service)->scheduler);
}

static void look(const struct sim_process *process)
{
    const struct mg_scheduler *scheduler = ((const struct service *)process->service)->scheduler;
    int held[MG_LANE_COUNT] = {0};
    for (const struct mg_work *work = scheduler->shared.works.left.first; work != NULL; work = work->next) {
        held[work->lane] += work->end == MG_END_NEWER ? 1 : 0;
    }
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        sim_newer_check(process->instance, held[i],
                        mg_consumed_prefetch(&scheduler->consumed, (enum mg_lane)i));
    }
}

const struct sim_program sim_program_scheduler = {start, drain, finish, look};
