/* A supervisor on a node, created as in services/supervisor/supervisor_main.c with the default options. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/amqp/topology.h"
#include "nodes.h"
#include "supervisor.h"

#define COUNT_TIMEOUT "2s" /* of services/supervisor/supervisor_main.c */

static void on_session(void *arg, bool is_up, const char *reason)
{
    mg_supervisor_lead_session(arg, is_up, reason);
}

static void on_refused(void *arg, const char *reason)
{
    (void)arg;
    sim_node_gave_up(1, reason);
    sim_node_ended(sim_node());
}

static void on_broker(void *arg, bool is_up, const char *reason)
{
    (void)reason;
    if (is_up) {
        mg_supervisor_lead_soon(arg);
    }
}

static enum mg_class start(struct sim_process *process, struct sim_node *node, struct mg_err *err)
{
    struct mg_supervisor *supervisor = calloc(1, sizeof(*supervisor));
    assert(supervisor != NULL);
    process->service = supervisor;
    struct mg_loop *loop = (struct mg_loop *)(void *)node;
    supervisor->options =
        (struct mg_supervisor_options){.sweep_period_ms = 250,
                                       .sweep_batch = 500,
                                       .ask_again_ms = 2000,
                                       .lead_period_ms = 500,
                                       .gap_ms = 3000,
                                       .grace_ms = 3000,
                                       .overdue_limit = 200,
                                       .window = sim_is_full_run() ? SIM_FULL_WINDOW : 1000};
    supervisor->loop = loop;
    (void)snprintf(supervisor->holder, sizeof(supervisor->holder), "%s", process->instance);
    mg_supervisor_metrics_make(supervisor, process->metrics);
    struct mg_store_options store = {.name = "makegood-supervisor",
                                     .is_leader_session = true,
                                     .metrics = process->metrics,
                                     .on_state = on_session,
                                     .on_refused = on_refused,
                                     .arg = supervisor};
    struct mg_store_options counting = {.name = "makegood-supervisor counting",
                                        .statement_timeout = COUNT_TIMEOUT,
                                        .on_state = mg_supervisor_count_session,
                                        .arg = supervisor};
    struct mg_broker_options broker = {
        .name = "makegood-supervisor",
        .check_queues = {MG_QUEUE_COMMANDS, MG_QUEUE_ALERTS, MG_QUEUE_DEAD, NULL},
        .metrics = process->metrics,
        .on_state = on_broker,
        .arg = supervisor};
    enum mg_class class = mg_store_create(loop, &store, &supervisor->store, err);
    if (class == MG_OK) {
        class = mg_store_create(loop, &counting, &supervisor->counting, err);
    }
    if (class == MG_OK) {
        class = mg_broker_create(loop, &broker, &supervisor->broker, err);
    }
    if (class == MG_OK && !mg_supervisor_lead_start(supervisor, &MG_SUPERVISOR_DUTIES)) {
        class = mg_err_set(err, MG_TRANSIENT, "no memory");
    }
    return class;
}

static void drain(struct sim_process *process)
{
    struct mg_supervisor *supervisor = process->service;
    if (!supervisor->is_stopping) {
        mg_supervisor_lead_stop(supervisor);
    }
}

static void finish(struct sim_process *process)
{
    struct mg_supervisor *supervisor = process->service;
    mg_timer_destroy(supervisor->lead_timer);
    mg_timer_destroy(supervisor->sweep_timer);
    mg_timer_destroy(supervisor->watch_timer);
    mg_timer_destroy(supervisor->count_timer);
    mg_timer_destroy(supervisor->retire_timer);
    mg_timer_destroy(supervisor->unneeded_timer);
    mg_supervisor_relay_finish(supervisor);
    mg_broker_destroy(supervisor->broker);
    mg_store_destroy(supervisor->counting);
    mg_store_destroy(supervisor->store);
}

const struct sim_program sim_program_supervisor = {start, drain, finish, NULL};
