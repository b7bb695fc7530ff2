/*
 * Requests of any stage to the scheduler as a whole: to run again, to end, to take another rank among the
 * schedulers, and the database's time. This file stands below all stages and calls none of them.
 */
#include "pump.h"

#include "base/clock.h"
#include "scheduler.h"

/* Behind all others: who may lead has the time of its start, negative. */
#define MG_RANK_LAST INT64_MIN
/* Who has left something to others stands behind all that have not, in the order that they would have else.
 */
#define MG_RANK_BEHIND (INT64_MIN / 2)
/* So many rounds in a row that the store did not take are more than a hitch: it may be up for others. */
#define MG_LEAD_FAILURES_MAX 3

void mg_scheduler_wake(struct mg_scheduler *scheduler)
{
    if (scheduler->pump.idle != NULL) {
        mg_idle_arm(scheduler->pump.idle);
    }
}

void mg_scheduler_end(struct mg_scheduler *scheduler, int exit_code)
{
    if (!scheduler->pump.has_ended) {
        scheduler->pump.has_ended = true;
        scheduler->options->on_end(scheduler->options->arg, exit_code);
    }
}

int64_t mg_scheduler_db_now_ms(const struct mg_scheduler *scheduler)
{
    return mg_far_clock_now_ms(&scheduler->pump.db_clock, mg_clock_boot_ms());
}

/* Who has been up longest leads: the queues' messages come to it as long as it has room, and only what is
 * above goes to the next. So however many there are, batches stay large and replies find their order in the
 * cache; and one that does not come up, or comes up again and again, gets nothing. */
void mg_scheduler_rank(struct mg_scheduler *scheduler)
{
    bool may_lead = scheduler->is_store_up && scheduler->pump.failures < MG_LEAD_FAILURES_MAX;
    int64_t rank = scheduler->pump.has_left ? MG_RANK_BEHIND + scheduler->pump.rank : scheduler->pump.rank;
    mg_broker_set_rank(scheduler->broker, may_lead ? rank : MG_RANK_LAST);
}
