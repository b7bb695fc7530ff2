/* Time that passes for the scheduler: on the machine's clock, in the store and in the loop. */
#ifndef MG_TEST_SCHEDULER_PASSING_H
#define MG_TEST_SCHEDULER_PASSING_H

#include "stage.h"

static void pass(int64_t ms)
{
    for (int64_t passed_ms = 0; passed_ms < ms; passed_ms += 250) {
        stage_settle();
        fake_clock_pass(250);
        fake_loop_advance(0);
    }
    stage_settle();
}

static inline void reply(const char *order_id)
{
    stage_reply("%s.reserve#1", order_id);
}

#endif
