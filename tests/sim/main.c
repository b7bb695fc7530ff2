/*
 * makegood-sim: runs seeds on all processors and reports the results. Each run is a process of its own. A
 * sample of the seeds runs twice and must leave the same trace.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "program.h"
#include "run.h"

#define ORDERS_DEFAULT 40
#define TWICE_EVERY    16 /* one seed in so many is run twice */

static const char USAGE[] =
    "usage: tests/sim/run [--seeds N] [--first SEED] [--seed SEED] [--orders N] [--faults LIST] [--rough] [--trace] [--jobs N]\n"
    "  --seeds N      run N seeds (1000), from --first (1) on\n"
    "  --seed SEED    run this one, and nothing else\n"
    "  --orders N     orders of one run (40)\n"
    "  --faults LIST  the faults that a run may have, by the names of faults.def with commas; \"all\" (as is), \"none\";\n"
    "                 -NAME: all but this\n"
    "  --rough        services misbehave in each run, and not only in those of seeds that end with 8\n"
    "  --trace        print everything that happens\n"
    "  --jobs N       processes at a time (as many as there are processors)\n"
    "  --no-shrink    leave a seed that fails as it is\n"
    "  --survey       do not stop at the first seed that fails: count them by invariant\n";

/* Results of one job; shared with the first process. */
struct tally {
    uint64_t seeds, orders, events;
    double simulated_s, cpu_s;
    uint64_t happened[SIM_FAULT_COUNT];
    uint64_t failed_seed; /* the first failed seed; 0: none */
    struct sim_result failure;
    uint64_t failures;
};

struct plan {
    struct sim_options options;
    uint64_t first, count;
    int jobs;
    struct tally *tallies; /* one for each job */
    bool is_survey, is_shrunk;
};

static void faults_print(uint64_t faults)
{
    const char *comma = "";
    if (faults == 0) {
        (void)printf("none");
    }
    for (int i = 0; i < SIM_FAULT_COUNT; i++) {
        if ((faults >> i & 1) != 0) {
            (void)printf("%s%s", comma, sim_fault_name((enum sim_fault)i));
            comma = ",";
        }
    }
}

void sim_print_command(const struct sim_options *options)
{
    (void)printf("tests/sim/run --seed %llu --orders %d%s --trace --faults ",
                 (unsigned long long)options->seed, options->orders, options->is_rough ? " --rough" : "");
    faults_print(options->faults);
    (void)printf("\n");
}

static uint64_t faults_parse(const char *list)
{
    uint64_t faults = list[0] == '-' ? SIM_FAULTS_ALL : 0;
    if (strcmp(list, "all") == 0) {
        return SIM_FAULTS_ALL;
    }
    while (*list != '\0' && strcmp(list, "none") != 0) {
        size_t len = strcspn(list, ",");
        if (list[0] == '-') {
            faults &= ~(UINT64_C(1) << sim_fault_parse(USAGE, list + 1, len - 1));
        } else {
            faults |= UINT64_C(1) << sim_fault_parse(USAGE, list, len);
        }
        list += len + (list[len] == ',' ? 1 : 0);
    }
    return faults;
}

/* ---- many ---- */

/* Processor time of a job and of the runs that it has waited for; other programs may use the processor
 * too. */
static double cpu_seconds(void)
{
    double seconds = 0;
    for (int i = 0; i < 2; i++) {
        struct rusage usage;
        (void)getrusage(i == 0 ? RUSAGE_SELF : RUSAGE_CHILDREN, &usage);
        seconds += (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    }
    return seconds;
}

static void seed_run(const struct plan *plan, uint64_t seed, struct tally *tally)
{
    struct sim_options options = plan->options;
    struct sim_result result;
    options.seed = seed;
    options.is_hashed = seed % TWICE_EVERY == 0;
    sim_run(&options, &result);
    if (options.is_hashed && result.violated[0] == '\0') {
        struct sim_result again;
        sim_run(&options, &again);
        if (again.trace_hash != result.trace_hash) {
            (void)snprintf(result.violated, sizeof(result.violated), "same_seed_same_trace");
            (void)snprintf(result.what, sizeof(result.what), "the second run of the seed left another trace");
        }
    }
    tally->seeds++;
    tally->orders += (uint64_t)result.orders;
    tally->events += result.events;
    tally->simulated_s += (double)result.simulated_us / 1e6;
    for (int i = 0; i < SIM_FAULT_COUNT; i++) {
        tally->happened[i] += result.happened[i];
    }
    if (result.violated[0] != '\0') {
        tally->failures++;
        if (plan->is_survey) {
            (void)printf("seed %llu: %s: %s\n", (unsigned long long)seed, result.violated, result.what);
            (void)fflush(stdout);
        }
        if (tally->failed_seed == 0) {
            tally->failure = result;
            tally->failed_seed = seed;
        }
    }
}

static bool has_failed(const struct plan *plan)
{
    for (int i = 0; i < plan->jobs; i++) {
        if (plan->tallies[i].failed_seed != 0) {
            return true;
        }
    }
    return false;
}

static void job_run(int job, void *arg)
{
    const struct plan *plan = arg;
    for (uint64_t i = (uint64_t)job; i < plan->count; i += (uint64_t)plan->jobs) {
        if (!plan->is_survey && has_failed(plan)) {
            break;
        }
        seed_run(plan, plan->first + i, &plan->tallies[job]);
        plan->tallies[job].cpu_s = cpu_seconds();
    }
}

static void report(const struct tally *sum, double seconds)
{
    (void)printf(
        "%llu seeds, %llu orders, %.1f simulated hours, %llu events in %.1f s: %.0f orders a minute on one core\n",
        (unsigned long long)sum->seeds, (unsigned long long)sum->orders, sum->simulated_s / 3600,
        (unsigned long long)sum->events, seconds, sum->cpu_s > 0 ? (double)sum->orders * 60 / sum->cpu_s : 0);
    (void)printf("faults injected:\n");
    for (int i = 0; i < SIM_FAULT_COUNT; i++) {
        (void)printf("  %-22s %10llu%s", sim_fault_name((enum sim_fault)i),
                     (unsigned long long)sum->happened[i],
                     i % 2 == 1 || i == SIM_FAULT_COUNT - 1 ? "\n" : "");
    }
}

/* The sum over all jobs; returns the job with the first failed seed, or NULL. */
static const struct tally *tallies_sum(const struct plan *plan, struct tally *ret_sum)
{
    const struct tally *failed = NULL;
    *ret_sum = (struct tally){.seeds = 0};
    for (int i = 0; i < plan->jobs; i++) {
        const struct tally *tally = &plan->tallies[i];
        ret_sum->seeds += tally->seeds;
        ret_sum->orders += tally->orders;
        ret_sum->events += tally->events;
        ret_sum->simulated_s += tally->simulated_s;
        ret_sum->cpu_s += tally->cpu_s;
        ret_sum->failures += tally->failures;
        for (int k = 0; k < SIM_FAULT_COUNT; k++) {
            ret_sum->happened[k] += tally->happened[k];
        }
        if (tally->failed_seed != 0 && (failed == NULL || tally->failed_seed < failed->failed_seed)) {
            failed = tally;
        }
    }
    return failed;
}

static int seeds_run(struct plan *plan)
{
    plan->tallies = sim_shared_map((size_t)plan->jobs * sizeof(struct tally));
    double began_s = sim_seconds_now();
    bool is_whole = sim_jobs_run(plan->jobs, job_run, plan);
    struct tally sum;
    const struct tally *failed = tallies_sum(plan, &sum);
    report(&sum, sim_seconds_now() - began_s);
    if (!is_whole) {
        (void)printf("NOT PLAYED: %llu of %llu seeds, for a job did not come to its end\n",
                     (unsigned long long)(plan->count - sum.seeds), (unsigned long long)plan->count);
    }
    if (failed == NULL) {
        (void)printf("no violation%s\n", is_whole ? "" : " in those that were played");
        return is_whole ? 0 : 1;
    }
    struct sim_options options = plan->options;
    options.seed = failed->failed_seed;
    (void)printf("VIOLATED by seed %llu: %s: %s\n    ", (unsigned long long)failed->failed_seed,
                 failed->failure.violated, failed->failure.what);
    sim_print_command(&options);
    if (plan->is_survey) {
        (void)printf("%llu seeds of %llu fail\n", (unsigned long long)sum.failures,
                     (unsigned long long)sum.seeds);
    } else if (plan->is_shrunk) {
        sim_shrink(&options, &failed->failure);
    }
    return 1;
}

static int one_run(const struct plan *plan)
{
    struct sim_result result;
    sim_run(&plan->options, &result);
    (void)printf("seed %llu: %d orders, %.0f simulated seconds, %llu events, trace %016llx, faults ",
                 (unsigned long long)plan->options.seed, plan->options.orders,
                 (double)result.simulated_us / 1e6, (unsigned long long)result.events,
                 (unsigned long long)result.trace_hash);
    faults_print(result.faults);
    (void)printf("\n%s%s%s\n", result.violated[0] != '\0' ? "VIOLATED " : "no violation", result.violated,
                 result.violated[0] != '\0' ? ": " : "");
    if (result.violated[0] != '\0') {
        (void)printf("  %s\n", result.what);
    }
    return result.violated[0] != '\0' ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {
        {"seeds", required_argument, NULL, 'n'},  {"first", required_argument, NULL, 'b'},
        {"seed", required_argument, NULL, 's'},   {"orders", required_argument, NULL, 'o'},
        {"faults", required_argument, NULL, 'f'}, {"rough", no_argument, NULL, 'r'},
        {"trace", no_argument, NULL, 't'},        {"jobs", required_argument, NULL, 'j'},
        {"survey", no_argument, NULL, 'v'},       {"no-shrink", no_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    struct plan plan = {.options = {.faults = SIM_FAULTS_ALL, .orders = ORDERS_DEFAULT, .is_hashed = true},
                        .is_shrunk = true,
                        .first = 1,
                        .count = 1000,
                        .jobs = sim_jobs_default()};
    for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
        switch (option) {
        case 'n':
            plan.count = sim_number_parse(USAGE, optarg, 1);
            break;
        case 'b':
            plan.first = sim_number_parse(USAGE, optarg, 1);
            break;
        case 's':
            plan.options.seed = sim_number_parse(USAGE, optarg, 1);
            break;
        case 'o':
            plan.options.orders = (int)sim_number_parse(USAGE, optarg, 1);
            break;
        case 'f':
            plan.options.faults = faults_parse(optarg);
            break;
        case 'r':
            plan.options.is_rough = true;
            break;
        case 't':
            plan.options.is_traced = true;
            break;
        case 'j':
            plan.jobs = sim_jobs_parse(USAGE, optarg);
            break;
        case 'k':
            plan.is_shrunk = false;
            break;
        case 'v':
            plan.is_survey = true;
            break;
        case 'h':
            (void)fputs(USAGE, stdout);
            return 0;
        default:
            (void)fputs(USAGE, stderr);
            return 2;
        }
    }
    return plan.options.seed != 0 ? one_run(&plan) : seeds_run(&plan);
}
