/*
 * The counterpart of main.c and process.c: each node's options, its creation and its end. A killed node's
 * memory is left as it is; a drained node ends by its own code. Both return as a new process of the same
 * name.
 */
#include "nodes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"

#define EXIT_FOR_GOOD      2        /* RestartPreventExitStatus of deploy/systemd */
#define DEAD_MAX_US        10000000 /* until the next process; usually less than a second */
#define PATIENCE_US        90000000 /* systemd's default TimeoutStopSec */
#define PAUSE_MAX_US       60000000
#define AGENT_SKEW_MAX_MS  950     /* a range smaller than the 2 s that quiescing allows for */
#define OTHERS_SKEW_MAX_MS 3600000 /* no deadline is judged by their clocks */

static const struct sim_program *const PROGRAMS[SIM_ROLE_COUNT] = {
    [SIM_SCHEDULER] = &sim_program_scheduler,
    [SIM_AGENT] = &sim_program_agent,
    [SIM_SUPERVISOR] = &sim_program_supervisor,
};

static bool is_closing; /* from here on no node starts again */

static void kill_now(struct sim_node *node);

/* ---- a life ---- */

void sim_node_gave_up(int exit_code, const char *why)
{
    bool may_give_up = (sim_has_happened(SIM_NODE_MEMORY) && exit_code != EXIT_FOR_GOOD) ||
                       sim_has_happened(SIM_STORE_DENIED);
    if (!may_give_up) {
        sim_violated("no_exit", "%s gave up with exit code %d: %s", sim_node()->name, exit_code, why);
    }
    sim_trace("gave up with exit code %d: %s", exit_code, why);
}

static void start(void *arg)
{
    struct sim_node *node = arg;
    if (node->is_alive || is_closing) {
        return;
    }
    struct sim_process *old = node->service, *process = calloc(1, sizeof(*process));
    assert(process != NULL);
    process->metrics = old != NULL ? old->metrics : mg_metrics_create(); /* never read */
    node->service = process;
    node->life++;
    node->is_alive = true;
    node->paused_until_us = 0;
    (void)snprintf(process->instance, sizeof(process->instance), "%s.%u", node->name, node->life);
    struct mg_err err;
    sim_node_enter(node);
    sim_trace("start %s", process->instance);
    enum mg_class class = PROGRAMS[node->role]->start(process, node, &err);
    if (class != MG_OK) {
        sim_node_gave_up(class == MG_BAD_INPUT ? EXIT_FOR_GOOD : 1, err.text);
    }
    sim_node_leave();
    if (class != MG_OK) {
        kill_now(node);
    }
}

static void start_later(struct sim_node *node)
{
    int64_t longest_us = sim_draw(8) == 0 ? DEAD_MAX_US : DEAD_MAX_US / 20;
    sim_after(NULL, sim_is_healed() ? 1000 : sim_draw_between(100000, longest_us), start, node);
}

static void finish_now(void *arg)
{
    struct sim_node *node = arg;
    struct sim_process *process = node->service;
    sim_trace("end %s", process->instance);
    PROGRAMS[node->role]->finish(process);
    process->has_finished = true;
    if (is_closing) {
        mg_metrics_destroy(process->metrics);
    }
    node->is_alive = false;
    start_later(node);
}

void sim_node_ended(struct sim_node *node)
{
    struct sim_process *process = node->service;
    if (!process->is_ending) {
        process->is_ending = true;
        sim_after(node, 0, finish_now, node); /* as when a loop stops: no callback is interrupted */
    }
}

static void kill_now(struct sim_node *node)
{
    sim_trace("kill %s", node->name);
    node->is_alive = false;
    sim_broker_node_died(node);
    sim_store_node_died(node);
    start_later(node);
}

/* A service manager kills a process that does not end in time. */
static void on_patience_over(void *arg)
{
    sim_trace("it does not end");
    kill_now(arg);
}

static void drain_now(void *arg)
{
    struct sim_node *node = arg;
    struct sim_process *process = node->service;
    PROGRAMS[node->role]->drain(process);
}

/* ---- faults ---- */

/* A running node; NULL: the drawn node is dead or paused. */
static struct sim_node *draw_node(void)
{
    struct sim_node *node = sim_node_at((int)sim_draw((uint64_t)sim_node_count()));
    return node->is_alive && node->paused_until_us <= sim_now_us() ? node : NULL;
}

static void on_kill(void *arg)
{
    (void)arg;
    struct sim_node *node = draw_node();
    if (node != NULL) {
        sim_happened(SIM_NODE_KILL);
        kill_now(node);
    }
}

static void on_drain(void *arg)
{
    (void)arg;
    struct sim_node *node = draw_node();
    if (node != NULL) {
        sim_happened(SIM_NODE_DRAIN);
        sim_after(node, 0, drain_now, node);
        sim_after(node, PATIENCE_US, on_patience_over, node);
    }
}

static void on_pause(void *arg)
{
    (void)arg;
    struct sim_node *node = draw_node();
    if (node != NULL) {
        sim_happened(SIM_NODE_PAUSE);
        int64_t for_us =
            sim_draw(4) == 0 ? sim_draw_between(1000000, PAUSE_MAX_US) : sim_draw_between(1000, 5000000);
        sim_trace("pause %s for %.3f s", node->name, (double)for_us / 1e6);
        node->paused_until_us = sim_now_us() + for_us;
        sim_broker_node_paused(node);
    }
}

static void skew(struct sim_node *node)
{
    int64_t most_ms = node->role == SIM_AGENT ? AGENT_SKEW_MAX_MS : OTHERS_SKEW_MAX_MS;
    node->wall_ahead_ms = sim_draw_between(-most_ms, most_ms);
}

static void on_skew(void *arg)
{
    (void)arg;
    struct sim_node *node = draw_node();
    if (node != NULL) {
        sim_happened(SIM_CLOCK_SKEW);
        skew(node);
        sim_trace("skew %s by %lld ms", node->name, (long long)node->wall_ahead_ms);
    }
}

void sim_nodes_end(void)
{
    is_closing = true;
    for (int i = 0; i < sim_node_count(); i++) {
        struct sim_node *node = sim_node_at(i);
        if (node->is_alive) {
            sim_after(node, 0, drain_now, node);
        } else {
            mg_metrics_destroy(((struct sim_process *)node->service)->metrics);
        }
    }
}

void sim_nodes_look(void)
{
    for (int i = 0; i < sim_node_count(); i++) {
        const struct sim_node *node = sim_node_at(i);
        void (*look)(const struct sim_process *process) = PROGRAMS[node->role]->look;
        if (node->is_alive && look != NULL) {
            look(node->service);
        }
    }
}

bool sim_nodes_are_awake(void)
{
    for (int i = 0; i < sim_node_count(); i++) {
        if (sim_node_at(i)->paused_until_us > sim_now_us()) {
            return false;
        }
    }
    return true;
}

bool sim_nodes_have_ended(void)
{
    for (int i = 0; i < sim_node_count(); i++) {
        if (sim_node_at(i)->is_alive) {
            return false;
        }
    }
    return true;
}

void sim_nodes_heal(void)
{
    for (int i = 0; i < sim_node_count(); i++) {
        struct sim_node *node = sim_node_at(i);
        node->wall_ahead_ms = 0;
        if (!node->is_alive) {
            sim_after(NULL, 1000, start, node);
        }
    }
}

void sim_nodes_start(void)
{
    const int64_t least[] = {[SIM_SCHEDULER] = 1, [SIM_AGENT] = 1, [SIM_SUPERVISOR] = 2};
    const int64_t of_script[] = {[SIM_SCHEDULER] = 2, [SIM_AGENT] = 1, [SIM_SUPERVISOR] = 2};
    for (int role = 0; role < SIM_ROLE_COUNT; role++) {
        int64_t count = sim_script() != NULL ? of_script[role] : sim_draw_between(least[role], 3);
        for (int number = 1; number <= count; number++) {
            struct sim_node *node = sim_node_add((enum sim_role)role, number);
            node->boot_ahead_us = sim_draw_between(60000000, INT64_C(100000000000));
            sim_after(NULL, sim_draw_between(0, 200000), start, node);
        }
    }
    sim_kernel_on_crash(kill_now);
    sim_every(SIM_NODE_KILL, on_kill);
    sim_every(SIM_NODE_DRAIN, on_drain);
    sim_every(SIM_NODE_PAUSE, on_pause);
    sim_every(SIM_CLOCK_SKEW, on_skew);
}
