/*
 * One run. Clients post for a while. Faults occur until they stop for good (liveness), or until the time is
 * up (safety). Once they have stopped, everything must end within a bound.
 */
#include "run.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker.h"
#include "nodes.h"
#include "orders.h"
#include "program.h"
#include "remote.h"

#define FAULTS_MIN_US 20000000
#define FAULTS_MAX_US 120000000
/* The longest an order can take without a fault: every attempt of every step, cool-downs, and all undos. */
#define BOUND_US INT64_C(900000000)
/* After the end: for late effects of remote services and messages that no process awaits any more. */
#define LINGER_US    40000000
#define ENDING_US    15000000           /* of a node with no work in hand */
#define WAKING_US    120000000          /* twice the longest pause */
#define GIVING_UP_US INT64_C(500000000) /* sim_owed_for_ms and a sixteenth of it, with a margin */
#define LOOK_US      500000
/* An order in error: for each step some resumes and a settle, each after a round in which nothing is taken,
 * since a request may still act, and a command for the rest. */
#define CLOSE_ROUNDS 90
#define CLOSE_US     15000000
#define ALONE_LOAD   4 /* factor of orders, so that some are open at each moment */
#define SAFETY_SHARE 4 /* one run in so many never heals */
/* Processor time of a run with sanitizers; without them it needs less than a second. A busy machine makes no
 * run hang. */
#define PATIENCE_S 120

static bool is_over;

static bool over(void)
{
    return is_over;
}

static void look(void *arg)
{
    (void)arg;
    is_over = sim_check_unfinished() == NULL;
    if (!is_over) {
        sim_after(NULL, LOOK_US, look, NULL);
    }
}

static void heal(void)
{
    sim_kernel_heal();
    sim_broker_heal();
    sim_store_heal();
    sim_remote_heal();
    sim_clients_heal();
    sim_nodes_heal();
}

/* Runs until everything has ended; a fixed bound is the limit. */
static void end_wait(int64_t since_us, const char *what)
{
    look(NULL);
    sim_kernel_run(since_us + BOUND_US, over);
    const char *unfinished = sim_check_unfinished();
    if (unfinished != NULL) {
        sim_violated("liveness", "%lld s after %s %s", (long long)(BOUND_US / 1000000), what, unfinished);
    }
    is_over = false;
}

/* Time for late events. An order that a clock held (verdict.c) may continue meanwhile. From then on it has
 * the bound to end within, and its messages have a linger of their own to arrive. A run that never comes to
 * rest ends by PATIENCE_S. */
static void end_linger(void)
{
    int commits;
    do {
        commits = sim_check_commits();
        sim_kernel_run(sim_now_us() + LINGER_US, over);
        end_wait(sim_now_us(), "a wait was over");
    } while (sim_check_commits() != commits);
}

static void owed_look(void *arg)
{
    (void)arg;
    is_over = sim_check_is_settled();
    if (!is_over) {
        sim_after(NULL, LOOK_US, owed_look, NULL);
    }
}

/* The operator ends each order that is in error. */
static void end_errors(void)
{
    for (int i = 0; i < CLOSE_ROUNDS && sim_operator_close(); i++) {
        sim_kernel_run(sim_now_us() + CLOSE_US, over);
        end_wait(sim_now_us(), "an operator's command");
    }
    sim_check_closed();
}

/* Runs until the statuses owed to clients that are gone are given up. */
static void end_owed(void)
{
    if (sim_may_happen(SIM_STORE_CLOCK_JUMP)) {
        return; /* giving up takes a day */
    }
    owed_look(NULL);
    sim_kernel_run(sim_now_us() + GIVING_UP_US, over);
    is_over = false;
}

static void ends_note(const struct sim_script *script, struct sim_result *result)
{
    for (int i = 0; script->workflows[i] != NULL; i++) {
        struct sim_stored stored;
        bool is_stored = sim_store_find(sim_submitted_at(i)->order_id, &stored);
        result->ends[i] = is_stored ? stored.record->order.state : MG_ORDER_STATE_COUNT;
    }
}

/* No fault continues by itself here, so healing only ends slowdowns caused by a strike. */
static void script_run(const struct sim_options *options, struct sim_result *result)
{
    sim_kernel_run(options->script->least_ms * INT64_C(1000), over);
    end_wait(sim_now_us(), "the script");
    ends_note(options->script, result);
    heal();
    if (sim_has_happened(SIM_REMOTE_LATE)) {
        sim_kernel_run(sim_now_us() + LINGER_US, over);
    }
    sim_kernel_run(sim_now_us() + WAKING_US, sim_nodes_are_awake);
    sim_check_end(true);
    sim_nodes_end();
    sim_kernel_run(sim_now_us() + ENDING_US, sim_nodes_have_ended);
    if (!sim_nodes_have_ended()) {
        sim_violated("liveness", "a node that got SIGTERM has not ended");
    }
    if (options->on_finished != NULL) {
        options->on_finished();
    }
}

static void world_start(const struct sim_options *options)
{
    sim_check_start();
    sim_broker_start();
    sim_store_start();
    sim_remote_start();
    sim_clients_start(sim_is_alone() ? ALONE_LOAD * options->orders : options->orders);
    sim_strangers_start();
    sim_newer_start();
    sim_clock_run_start();
    sim_minority_run_start();
    sim_full_run_start();
    sim_nodes_start();
}

static void run(const struct sim_options *options, struct sim_result *result)
{
    sim_kernel_start(options, result);
    if (options->script != NULL) {
        world_start(options);
        script_run(options, result);
        sim_kernel_finish();
        return;
    }
    bool is_safety = sim_draw(SAFETY_SHARE) == 0;
    int64_t faults_us = sim_is_alone() ? FAULTS_MAX_US : sim_draw_between(FAULTS_MIN_US, FAULTS_MAX_US);
    world_start(options);
    sim_kernel_run(faults_us, over);
    if (is_safety) {
        sim_check_end(false);
    } else {
        heal();
        end_wait(faults_us, "the last fault");
        end_linger();
        if (sim_is_rough_run() && sim_is_time_true()) {
            end_errors();
            end_linger();
        }
        end_owed();
        sim_check_end(true);
    }
    sim_kernel_finish();
    result->orders = options->orders;
}

void sim_run(const struct sim_options *options, struct sim_result *ret_result)
{
    struct sim_result *shared = sim_shared_map(sizeof(*shared));
    (void)fflush(stdout);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        const struct rlimit patience = {.rlim_cur = PATIENCE_S, .rlim_max = PATIENCE_S + 1};
        (void)setrlimit(RLIMIT_CPU, &patience);
        run(options, shared);
        (void)fflush(stdout);
        _exit(0);
    }
    int status = 0;
    pid_t ended = waitpid(child, &status, 0);
    assert(ended == child);
    *ret_result = *shared;
    (void)munmap(shared, sizeof(*shared));
    if (ret_result->violated[0] == '\0' && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
        (void)snprintf(ret_result->violated, sizeof(ret_result->violated), "%s",
                       WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU ? "hangs" : "crashes");
        (void)snprintf(ret_result->what, sizeof(ret_result->what), "the run's process ended with status 0x%x",
                       status);
    }
}
