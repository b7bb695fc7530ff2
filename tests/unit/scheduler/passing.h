/* Time that passes for the scheduler: on the machine's clock, which the test wraps, in the store and in the
 * loop. */
#ifndef MG_TEST_SCHEDULER_PASSING_H
#define MG_TEST_SCHEDULER_PASSING_H

#include "stage.h"

/* The machine's clock, which also passes with the test's time. */
static int64_t passed_ms;
int64_t __real_mg_clock_boot_ms(void);
int64_t __wrap_mg_clock_boot_ms(void);
int64_t __wrap_mg_clock_boot_ms(void)
{
    return __real_mg_clock_boot_ms() + passed_ms;
}

static void pass(int64_t ms)
{
    for (int64_t until_ms = passed_ms + ms; passed_ms < until_ms; passed_ms += 250) {
        stage_settle();
        fake_store.ahead_ms += 250;
        fake_loop_advance(250);
    }
    stage_settle();
}

static void reply(const char *order_id)
{
    stage_reply(&(struct stage_reply){.order_id = order_id, .step = "reserve", .attempt = 1});
}

#endif
