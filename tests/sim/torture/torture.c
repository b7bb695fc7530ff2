/*
 * makegood-torture: plays each scenario once to count its occasions for a fault, and then once for each of
 * them with that one fault there. Examples: the n-th allocation fails, a process dies after its n-th event,
 * the n-th publish is refused, the answer to the n-th commit is lost. Each run is judged as every run of the
 * simulator. In addition, no memory may remain allocated, and the orders must end as without the fault.
 */
#include <assert.h>
#include <execinfo.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "program.h"
#include "run.h"
#include "scenarios.h"

#define SCENARIOS_MAX 32
#define TOLD_MAX      20 /* violations that one job prints */

static const char USAGE[] =
    "usage: tests/sim/torture/run [--scenario NAME] [--fault NAME] [--every N] [--seed SEED] [--jobs N]\n"
    "       tests/sim/torture/run --scenario NAME [--strike FAULT@N] [--seed SEED] [--trace]\n"
    "  --scenario NAME   this one alone; scenarios.c has them all\n"
    "  --fault NAME      strike with this one alone, as faults.def names it; NODE_MEMORY: an allocation fails\n"
    "  --every N         only each N-th occasion of each fault (1)\n"
    "  --seed SEED       of delays and the like (1)\n"
    "  --strike FAULT@N  one run, with the fault at its N-th occasion; FAULT@0: undisturbed\n"
    "  --trace           print everything that happens, and the callers at the place where it struck\n"
    "  --jobs N          processes at a time (as many as there are processors)\n";

enum kind { ALLOCATIONS, DEATHS, BROKER, STORE, REMOTE, CLIENT, KIND_COUNT };
static const char *const HEADS[KIND_COUNT] = {"memory", "deaths", "broker", "store", "remote", "client"};

struct tally {
    uint64_t runs[SCENARIOS_MAX][KIND_COUNT];
    uint64_t violations[SCENARIOS_MAX];
    uint64_t told;
};

struct plan {
    struct sim_options options;
    int scenario, fault; /* -1: all */
    int jobs;
    struct tally *tallies; /* one for each job */
    uint32_t every;
    bool is_one;
};

/* KIND_COUNT: a fault that only occurs spontaneously and has no occasions. */
static enum kind kind_of(enum sim_fault fault)
{
    static const char *const PREFIXES[KIND_COUNT] = {"NODE_MEMORY", "NODE_",   "BROKER_",
                                                     "STORE_",      "REMOTE_", "CLIENT_"};
    int kind = 0;
    while (kind < KIND_COUNT && strncmp(sim_fault_name(fault), PREFIXES[kind], strlen(PREFIXES[kind])) != 0) {
        kind++;
    }
    return (enum kind)kind;
}

/* Faults after which an order may rightly end in another way: a refusal of a service or a client. */
static bool may_end_otherwise(enum sim_fault fault)
{
    return fault == SIM_REMOTE_REFUSES || fault == SIM_REMOTE_GATEWAY || kind_of(fault) == CLIENT;
}

static void ends_compare(const struct sim_result *calm, const struct sim_options *options,
                         struct sim_result *result)
{
    if (result->violated[0] != '\0') {
        return;
    }
    if (result->happened[options->strike.fault] == 0) {
        (void)snprintf(result->violated, sizeof(result->violated), "same_seed_same_trace");
        (void)snprintf(result->what, sizeof(result->what),
                       "the run has not come to where it was to be struck");
    }
    /* An operator's command may come too late, or after a final refusal of the service. */
    bool is_other = may_end_otherwise(options->strike.fault) || options->script->turn_count > 0;
    for (int i = 0; options->script->workflows[i] != NULL && !is_other; i++) {
        if (result->ends[i] != calm->ends[i]) {
            (void)snprintf(result->violated, sizeof(result->violated), "same_end");
            (void)snprintf(result->what, sizeof(result->what), "order %d ends as %s instead of %s", i,
                           mg_order_state_name(result->ends[i]), mg_order_state_name(calm->ends[i]));
        }
    }
}

static void strike(const struct plan *plan, int scenario, struct sim_strike strike,
                   const struct sim_result *calm, struct tally *tally)
{
    struct sim_options options = plan->options;
    struct sim_result result;
    options.script = sim_scenario_at(scenario);
    options.strike = strike;
    sim_run(&options, &result);
    ends_compare(calm, &options, &result);
    tally->runs[scenario][kind_of(strike.fault)]++;
    if (result.violated[0] != '\0') {
        tally->violations[scenario]++;
        if (tally->told++ < TOLD_MAX) {
            (void)printf(
                "VIOLATED %s: %s\n    tests/sim/torture/run --seed %llu --scenario %s --strike %s@%u --trace\n",
                result.violated, result.what, (unsigned long long)options.seed, options.script->name,
                sim_fault_name(strike.fault), strike.at);
            (void)fflush(stdout);
        }
    }
}

/* The run without a strike; a violation in it ends the program. */
static void calm_run(const struct plan *plan, int scenario, struct sim_result *ret_result)
{
    struct sim_options options = plan->options;
    options.script = sim_scenario_at(scenario);
    options.strike.at = 0;
    sim_run(&options, ret_result);
    if (ret_result->violated[0] != '\0') {
        (void)printf("VIOLATED undisturbed, %s: %s: %s\n", options.script->name, ret_result->violated,
                     ret_result->what);
        (void)fflush(stdout);
        exit(1);
    }
}

static bool is_wanted(int wanted, int one)
{
    return wanted < 0 || wanted == one;
}

static void job_run(int job, void *arg)
{
    const struct plan *plan = arg;
    uint64_t number = 0;
    for (int scenario = 0; scenario < sim_scenario_count(); scenario++) {
        struct sim_result calm;
        if (!is_wanted(plan->scenario, scenario)) {
            continue;
        }
        calm_run(plan, scenario, &calm);
        for (int fault = 0; fault < SIM_FAULT_COUNT; fault++) {
            uint32_t last = is_wanted(plan->fault, fault) ? calm.occasions[fault] : 0;
            for (uint32_t at = 1; at <= last; at += plan->every) {
                if (number++ % (uint64_t)plan->jobs == (uint64_t)job) {
                    strike(plan, scenario, (struct sim_strike){(enum sim_fault)fault, at}, &calm,
                           &plan->tallies[job]);
                }
            }
        }
    }
}

/* False: the fault to strike has no occasion, which is printed. */
static bool is_struck(const struct plan *plan, const uint64_t runs[KIND_COUNT], uint64_t all_runs)
{
    bool has_all = all_runs > 0;
    for (int kind = 0; kind < KIND_COUNT && plan->fault < 0; kind++) {
        if (runs[kind] == 0) {
            (void)printf("NOT STRUCK: %s\n", HEADS[kind]);
            has_all = false;
        }
    }
    if (plan->fault >= 0 && all_runs == 0) {
        (void)printf("NOT STRUCK: %s\n", sim_fault_name((enum sim_fault)plan->fault));
    }
    return has_all;
}

/* True: every planned fault has struck, and no invariant is violated. */
static bool report(const struct plan *plan, double seconds)
{
    uint64_t runs[KIND_COUNT] = {0}, all_runs = 0, violations = 0;
    (void)printf("%-14s", "scenario");
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        (void)printf(" %7s", HEADS[kind]);
    }
    (void)printf(" violations\n");
    for (int i = 0; i < sim_scenario_count(); i++) {
        uint64_t here = 0;
        (void)printf("%-14s", sim_scenario_at(i)->name);
        for (int kind = 0; kind < KIND_COUNT; kind++) {
            uint64_t count = 0;
            for (int job = 0; job < plan->jobs; job++) {
                count += plan->tallies[job].runs[i][kind];
            }
            (void)printf(" %7llu", (unsigned long long)count);
            runs[kind] += count;
            all_runs += count;
        }
        for (int job = 0; job < plan->jobs; job++) {
            here += plan->tallies[job].violations[i];
        }
        violations += here;
        (void)printf(" %10llu\n", (unsigned long long)here);
    }
    (void)printf("%llu runs in %.1f s, %llu violations\n", (unsigned long long)all_runs, seconds,
                 (unsigned long long)violations);
    return is_struck(plan, runs, all_runs) && violations == 0;
}

static int all_run(struct plan *plan)
{
    assert(sim_scenario_count() <= SCENARIOS_MAX);
    plan->tallies = sim_shared_map((size_t)plan->jobs * sizeof(struct tally));
    double began_s = sim_seconds_now();
    bool is_whole = sim_jobs_run(plan->jobs, job_run, plan);
    bool is_right = report(plan, sim_seconds_now() - began_s);
    if (!is_whole) {
        (void)printf("NOT PLAYED: the rest of a job that did not come to its end\n");
    }
    return is_right && is_whole ? 0 : 1;
}

/* ---- a single run ---- */

static void on_struck(void)
{
    void *frames[24];
    (void)fflush(stdout);
    backtrace_symbols_fd(frames, backtrace(frames, 24), STDOUT_FILENO);
}

static int one_run(struct plan *plan)
{
    struct sim_result calm, result;
    calm_run(plan, plan->scenario, &calm);
    plan->options.script = sim_scenario_at(plan->scenario);
    plan->options.on_struck = plan->options.is_traced ? on_struck : NULL;
    sim_run(&plan->options, &result);
    if (plan->options.strike.at > 0) {
        ends_compare(&calm, &plan->options, &result);
    }
    (void)printf("%s, %.1f simulated seconds, %llu events, trace %016llx\n", plan->options.script->name,
                 (double)result.simulated_us / 1e6, (unsigned long long)result.events,
                 (unsigned long long)result.trace_hash);
    for (int i = 0; plan->options.script->workflows[i] != NULL; i++) {
        (void)printf("order %d: %s\n", i, mg_order_state_name(result.ends[i]));
    }
    if (result.violated[0] == '\0') {
        (void)printf("no violation\n");
        return 0;
    }
    (void)printf("VIOLATED %s: %s\n", result.violated, result.what);
    return 1;
}

/* ---- options ---- */

static int scenario_parse(const char *name)
{
    for (int i = 0; i < sim_scenario_count(); i++) {
        if (strcmp(sim_scenario_at(i)->name, name) == 0) {
            return i;
        }
    }
    sim_usage_fail(USAGE, name, "no scenario is called so; scenarios.c names them");
}

static struct sim_strike strike_parse(const char *text)
{
    size_t len = strcspn(text, "@");
    if (text[len] == '\0') {
        sim_usage_fail(USAGE, text, "a strike is FAULT@N");
    }
    enum sim_fault fault = sim_fault_parse(USAGE, text, len);
    return (struct sim_strike){fault, (uint32_t)sim_number_parse(USAGE, text + len + 1, 0)};
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {
        {"scenario", required_argument, NULL, 'n'},
        {"fault", required_argument, NULL, 'f'},
        {"every", required_argument, NULL, 'e'},
        {"seed", required_argument, NULL, 's'},
        {"strike", required_argument, NULL, 'x'},
        {"trace", no_argument, NULL, 't'},
        {"jobs", required_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct plan plan = {.options = {.seed = 1, .on_finished = sim_memory_check},
                        .scenario = -1,
                        .fault = -1,
                        .every = 1,
                        .jobs = sim_jobs_default()};
    for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
        switch (option) {
        case 'n':
            plan.scenario = scenario_parse(optarg);
            break;
        case 'f':
            plan.fault = (int)sim_fault_parse(USAGE, optarg, strlen(optarg));
            break;
        case 'e':
            plan.every = (uint32_t)sim_number_parse(USAGE, optarg, 1);
            break;
        case 's':
            plan.options.seed = sim_number_parse(USAGE, optarg, 1);
            break;
        case 'x':
            plan.options.strike = strike_parse(optarg);
            plan.is_one = true;
            break;
        case 't':
            plan.options.is_traced = true;
            plan.is_one = true;
            break;
        case 'j':
            plan.jobs = sim_jobs_parse(USAGE, optarg);
            break;
        case 'h':
            (void)fputs(USAGE, stdout);
            return 0;
        default:
            (void)fputs(USAGE, stderr);
            return 2;
        }
    }
    if (plan.is_one && plan.scenario < 0) {
        sim_usage_fail(USAGE, "--strike, --trace", "one run is of one --scenario");
    }
    return plan.is_one ? one_run(&plan) : all_run(&plan);
}
