/* A scheduler that others leave no work, until it takes over. Each test names the failure that it would
 * catch. */
#include <check.h>

#include "../suite.h"
#include "stage.h"

#define HOUR_MS   INT64_C(3600000)
#define FINISH_MS INT64_C(600000)
#define CALLED                                                                                               \
    "{\"workflow\":\"two\",\"version\":1,\"complete_within\":\"24h\",\"steps\":[{\"step\":\"charge\","       \
    "\"service\":\"payment\",\"finish_within\":\"10m\",\"poll\":\"15s\",\"complete_within\":\"10s\","        \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"verify\":{\"method\":\"GET\",\"path\":\"/c\"},"          \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/c\"}}]}"

static void setup(void)
{
    stage_start();
    fake_store.definition = CALLED;
    stage_begin("o1");
    stage_answer("o1.charge#1 accepted maybe over");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
}

/* No message comes. */
static void idle(void)
{
    fake_loop_pass(8000);
    stage_settle();
}

/* Would catch: accepted work that is given up and undone, since the clock was an hour back for some seconds,
 * and the scheduler that knew is stopped. */
START_TEST(work_polled_while_the_clock_was_back_is_not_given_up_by_the_next_scheduler)
{
    idle();
    fake_store.ahead_ms -= HOUR_MS;
    idle();
    /* Another scheduler has polled it meanwhile: no time is left that a clock which was ahead would have
     * given. */
    struct mg_step *step = &fake_store_record("o1")->order.steps[0];
    int64_t low_ms = mg_scheduler_db_now_ms(&stage_scheduler->shared);
    step->finish_by_ms = low_ms + FINISH_MS;
    step->due_at_ms = low_ms + 15000;
    fake_store_bump("o1");
    fake_store.ahead_ms += HOUR_MS;
    idle();
    stage_act("c-1 o1 due step=charge attempt=1 by=s via=makegood.commands.supervisor");
    stage_answer("o1.charge#2 verify accepted maybe");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING);
}
END_TEST

/* Would catch: work without an end. */
START_TEST(its_time_is_over_all_the_same)
{
    idle();
    fake_clock_pass(FINISH_MS);
    idle();
    stage_act("c-1 o1 due step=charge attempt=1 by=s via=makegood.commands.supervisor");
    stage_answer("o1.charge#2 verify accepted maybe");
    ck_assert_int_eq(fake_store_order("o1")->order.goal, MG_GOAL_COMPENSATED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("standby");
    TCase *tests = tcase_create("standby");
    tcase_add_checked_fixture(tests, setup, stage_finish);
    tcase_add_test(tests, work_polled_while_the_clock_was_back_is_not_given_up_by_the_next_scheduler);
    tcase_add_test(tests, its_time_is_over_all_the_same);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
