/*
 * Deadlines are judged as long as sweeps are answered, however slow they are. A sweep may leave alone a
 * deadline that passed in a gap. The sweeps after the grace ask for the verdict.
 */
#include "checker.h"

#include <string.h>

/* The first sweep that leaves a deadline alone is answered within the idle time-out of its session (10 s).
 * The grace begins then (3 s), and a sweep sent after it asks. That sweep may wait longer in its session
 * behind other statements, each of which may take 10 s; the database causes that delay. */
#define LEFT_MAX_US INT64_C(15000000)
/* After a sweep an order may stay hidden from the next ones for so long: twice the ask-again time. */
#define HIDDEN_MAX_US INT64_C(4000000)

void sim_check_deadline(const char *order_id, int step, int64_t of, bool is_asked, int64_t sent_us)
{
    struct sim_submitted *order = sim_submitted_find(mg_slice_of(order_id));
    struct sim_passed *passed = &order->passed[step + 1];
    if (is_asked || passed->of != of || !sim_is_time_true()) {
        passed->of = of;
        passed->left_since_us = is_asked ? 0 : sim_now_us();
    } else if (passed->left_since_us == 0) {
        passed->left_since_us = sim_now_us();
    }
    if (is_asked || sent_us - passed->left_since_us <= LEFT_MAX_US) {
        passed->left_until_us = sim_now_us();
    } else if (sent_us - passed->left_until_us > HIDDEN_MAX_US) {
        sim_violated("deadlines_are_judged",
                     "order %s: a sweep sent %lld s after the first one left %s alone does so too", order_id,
                     (long long)((sent_us - passed->left_since_us) / 1000000),
                     step < 0 ? "its complete-by" : "an overdue attempt");
    }
}

void sim_check_sweeps_lost(void)
{
    for (int i = 0; i < sim_submitted_count(); i++) {
        struct sim_submitted *order = sim_submitted_at(i);
        for (int k = 0; k <= SIM_STEPS_MAX; k++) {
            order->passed[k].left_since_us = 0;
        }
    }
}

/* If the scheduler did not mark the step, the first sweep asks about it and marks it; a failover may lose the
 * mark. */
#define PARKED_ASKS_MAX 2

void sim_check_parked_asked(const char *order_id, int step)
{
    struct sim_submitted *order = sim_submitted_find(mg_slice_of(order_id));
    if (++order->parked_asks[step] > PARKED_ASKS_MAX) {
        sim_violated("parked_costs_nothing", "order %s: %d sweeps sent commands for a parked step", order_id,
                     order->parked_asks[step]);
    }
}

void sim_check_parked_written(struct sim_submitted *order)
{
    memset(order->parked_asks, 0, sizeof(order->parked_asks));
}
