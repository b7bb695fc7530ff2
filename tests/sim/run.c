/*
 * One run. Clients post for a while; faults happen all along, and then stop for good (liveness), or go on
 * until the time is up (safety). Once they have stopped, everything must come to its end within a bound.
 */
#include "run.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker.h"
#include "nodes.h"
#include "orders.h"
#include "remote.h"

#define FAULTS_MIN_US 20000000
#define FAULTS_MAX_US 120000000
/* The longest way an order can go without a fault: every attempt of every step, cool-downs, and all undone
 * again. */
#define BOUND_US INT64_C(900000000)
/* After the end: what a remote service does late, and what nobody expects any more. */
#define LINGER_US    40000000
#define LOOK_US      500000
#define SAFETY_SHARE 4   /* one run in so many never heals */
#define PATIENCE_S   120 /* of the real clock, with sanitizers: a run takes well under a second without */

static bool is_over;

static bool over(void)
{
    return is_over;
}

static void look(void *arg)
{
    (void)arg;
    is_over = sim_check_unfinished() == NULL;
    sim_after(NULL, LOOK_US, look, NULL);
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

static void run(const struct sim_options *options, struct sim_result *result)
{
    sim_kernel_start(options, result);
    bool is_safety = sim_draw(SAFETY_SHARE) == 0;
    int64_t faults_us = sim_draw_between(FAULTS_MIN_US, FAULTS_MAX_US);
    sim_check_start();
    sim_broker_start();
    sim_store_start();
    sim_remote_start();
    sim_clients_start(options->orders);
    sim_nodes_start();
    sim_kernel_run(faults_us, over);
    if (is_safety) {
        sim_check_end(false);
    } else {
        heal();
        look(NULL);
        sim_kernel_run(faults_us + BOUND_US, over);
        const char *unfinished = sim_check_unfinished();
        if (unfinished != NULL) {
            sim_violated("liveness", "%lld s after the last fault %s", (long long)(BOUND_US / 1000000),
                         unfinished);
        }
        is_over = false;
        int64_t end_us = sim_now_us() + LINGER_US;
        sim_kernel_run(end_us, over);
        sim_check_end(true);
    }
    sim_kernel_finish();
    result->orders = options->orders;
}

void sim_run(const struct sim_options *options, struct sim_result *ret_result)
{
    struct sim_result *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(shared != MAP_FAILED);
    (void)fflush(stdout);
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        (void)alarm(PATIENCE_S);
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
                       WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hangs" : "crashes");
        (void)snprintf(ret_result->what, sizeof(ret_result->what), "the run's process ended with status 0x%x",
                       status);
    }
}
