/*
 * Requests of any stage to the scheduler as a whole: to run again, to end, to take another rank among the
 * schedulers, and to read the database's time. This file is below all stages and calls none of them.
 */
#include "shared.h"

#include "base/clock.h"

/* After all others: a process that may lead has its start time, negative, as rank. */
#define MG_RANK_LAST INT64_MIN
/* A process that has left messages to others ranks below all that have not; among such, the order stays. */
#define MG_RANK_BEHIND (INT64_MIN / 2)
/* So many batches in a row that the store did not take are more than a hitch: it may be up for others. */
#define MG_LEAD_FAILURES_MAX 3
/* A shorter failure delays a reply less than its attempt's quiet time. */
#define MG_SPARED_FROM_MS 1000
/* Longer than the pause of any scheduler after failures, and than the batches of a prefetch. */
#define MG_SPARED_FOR_MS 10000
/* Without a further failure for so long, nothing of the work that the store did not take is left to be
 * stored: it came to nothing when it was tried again. Longer than a pause after failures and a statement that
 * times out. */
#define MG_FAILING_FOR_MS 30000

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Independent of the limit of submissions, replies and commands up to the default limit are taken: agents
 * cut results to it. */
static struct mg_json_limits message_limits(const struct mg_json_limits *of_submissions)
{
    struct mg_json_limits limits = MG_JSON_LIMITS_DATA;
    if (of_submissions->max_bytes > limits.max_bytes) {
        limits.max_bytes = of_submissions->max_bytes;
    }
    limits.max_depth = most(limits.max_depth, of_submissions->max_depth);
    limits.max_members = most(limits.max_members, of_submissions->max_members);
    return limits;
}

bool mg_shared_init(struct mg_shared *shared, struct mg_loop *loop,
                    const struct mg_scheduler_options *options, struct mg_metrics *metrics)
{
    shared->loop = loop;
    shared->options = options;
    shared->message_limits = message_limits(&options->limits);
    shared->metrics = metrics;
    mg_far_clock_init(&shared->db_clock, mg_clock_wall_ms(), mg_clock_boot_ms());
    mg_scheduler_metrics_init(&shared->series, metrics);
    shared->store_retry = mg_scheduler_timer(shared);
    return shared->store_retry != NULL;
}

void mg_scheduler_wake(struct mg_shared *shared)
{
    if (shared->pump != NULL) {
        mg_idle_arm(shared->pump);
    }
}

static void on_timer(void *arg)
{
    mg_scheduler_wake(arg);
}

struct mg_timer *mg_scheduler_timer(struct mg_shared *shared)
{
    return mg_timer_create(shared->loop, on_timer, shared);
}

void mg_scheduler_end(struct mg_shared *shared, int exit_code)
{
    if (!shared->has_ended) {
        shared->has_ended = true;
        shared->options->on_end(shared->options->arg, exit_code);
    }
}

int64_t mg_scheduler_db_now_ms(const struct mg_shared *shared)
{
    return mg_far_clock_now_ms(&shared->db_clock, mg_clock_boot_ms());
}

/* The longest-running process leads: the queues' messages go to it as long as it has room, and only the
 * excess to the next. So batches stay large and replies find their order in the cache, for any number of
 * schedulers. A process that fails to start, or restarts again and again, gets nothing. */
void mg_scheduler_rank(struct mg_shared *shared)
{
    bool may_lead = shared->is_store_up && shared->failures < MG_LEAD_FAILURES_MAX;
    int64_t rank = shared->has_left ? MG_RANK_BEHIND + shared->rank : shared->rank;
    mg_broker_set_rank(shared->broker, may_lead ? rank : MG_RANK_LAST);
}

void mg_scheduler_failed(struct mg_shared *shared, int64_t began_boot_ms)
{
    shared->failures++;
    shared->failing_boot_ms = shared->failing_boot_ms == 0 ? began_boot_ms : shared->failing_boot_ms;
    shared->failed_boot_ms = mg_clock_boot_ms();
}

static bool is_failing_for_long(const struct mg_shared *shared)
{
    return shared->failing_boot_ms != 0 && mg_clock_boot_ms() - shared->failing_boot_ms >= MG_SPARED_FROM_MS;
}

void mg_scheduler_stored(struct mg_shared *shared, bool is_whole)
{
    if (is_failing_for_long(shared)) {
        shared->spared_boot_ms = mg_clock_boot_ms() + MG_SPARED_FOR_MS;
    }
    shared->failing_boot_ms = 0;
    shared->failures =
        is_whole ? 0 : shared->failures + 1; /* half as many next, until the slow one stands alone */
}

bool mg_scheduler_spares(const struct mg_shared *shared)
{
    int64_t now_ms = mg_clock_boot_ms();
    bool is_failing = is_failing_for_long(shared) && now_ms - shared->failed_boot_ms < MG_FAILING_FOR_MS;
    return is_failing || now_ms < shared->spared_boot_ms;
}
