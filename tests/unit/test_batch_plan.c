/* Would catch: a batch that goes on after its canary failed; one that exceeds its rate or its number of
 * orders; one that never ends; an order counted under a wrong result. */
#include <check.h>

#include "core/batch_plan.h"
#include "suite.h"

#define NOW_US  INT64_C(1750000000000000)
#define SECOND  INT64_C(1000000)
#define SPACING 200000 /* five a second */

/* In the midst of its canary: two of five are under way, and the next command may go now. */
static struct mg_batch trying(void)
{
    return (struct mg_batch){.state = MG_BATCH_CANARY,
                             .canary = 5,
                             .stop_percent = 10,
                             .spacing_us = SPACING,
                             .waiting = 58,
                             .asked = 2,
                             .now_us = NOW_US,
                             .next_us = NOW_US};
}

/* The canary is over, a thousand are left. */
static struct mg_batch running(void)
{
    struct mg_batch batch = trying();
    batch.state = MG_BATCH_RUNNING;
    batch.is_tried = true;
    batch.waiting = 1000;
    batch.asked = 0;
    batch.done = 5;
    return batch;
}

START_TEST(a_rate_is_a_spacing)
{
    ck_assert_int_eq(mg_batch_spacing_us(5), SPACING);
    ck_assert_int_eq(mg_batch_spacing_us(0.1), 10 * SECOND);
    ck_assert_int_eq(mg_batch_spacing_us(1000), 1000);
    ck_assert_int_eq(mg_batch_spacing_us(1e6), 1);
    ck_assert_int_eq(mg_batch_spacing_us(1e9), 1);
    ck_assert_int_eq(mg_batch_spacing_us(1e-300), MG_BATCH_SPACING_MAX_US);
}
END_TEST

START_TEST(nothing_beyond_the_canary_is_asked_for_until_it_is_over)
{
    struct mg_batch batch = trying();
    batch.next_us = NOW_US - SECOND; /* the rate has room for six */
    struct mg_batch_plan plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.ask, 3);
    ck_assert_int_eq(plan.state, MG_BATCH_CANARY);
    batch.asked = 5;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 0);
    batch.asked = 1;
    batch.done = 4;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 0);
    ck_assert(!mg_batch_plan(&batch).is_tried);
    batch.asked = 0;
    batch.done = 5;
    plan = mg_batch_plan(&batch);
    ck_assert(plan.is_tried);
    ck_assert_int_eq(plan.state, MG_BATCH_RUNNING);
    ck_assert_int_eq(plan.ask, 6);
}
END_TEST

/* Skipped orders have no result: others take their place. */
START_TEST(a_canary_is_as_many_as_have_shown_something)
{
    struct mg_batch batch = trying();
    batch.asked = 0;
    batch.done = 2; /* and three were skipped */
    batch.next_us = NOW_US - SECOND;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 3);
    batch.waiting = 1; /* the canary is three now */
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 1);
    batch.waiting = 0;
    batch.asked = 1;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 0);
}
END_TEST

START_TEST(without_a_canary_it_runs_at_once)
{
    struct mg_batch batch = trying();
    batch.canary = 0;
    batch.asked = 0;
    struct mg_batch_plan plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.state, MG_BATCH_RUNNING);
    ck_assert_int_eq(plan.ask, 1);
}
END_TEST

START_TEST(a_canary_fails_above_its_share)
{
    struct mg_batch batch = trying();
    batch.failed = 1;
    struct mg_batch_plan plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.state, MG_BATCH_STOPPED);
    ck_assert_int_eq(plan.why, MG_BATCH_CANARY_FAILED);
    ck_assert_int_eq(plan.ask, 0);
    batch.stop_percent = 20; /* one failure in five is allowed */
    ck_assert_int_eq(mg_batch_plan(&batch).why, MG_BATCH_GOES_ON);
    batch.failed = 2;
    ck_assert_int_eq(mg_batch_plan(&batch).why, MG_BATCH_CANARY_FAILED);
    batch.stop_percent = 100;
    batch.failed = 5;
    ck_assert_int_eq(mg_batch_plan(&batch).why, MG_BATCH_GOES_ON);
    /* The last of all failed: the result shows that, too. */
    batch = (struct mg_batch){.state = MG_BATCH_CANARY, .canary = 5, .failed = 3, .spacing_us = SPACING};
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_STOPPED);
}
END_TEST

START_TEST(it_stops_when_too_many_of_the_newest_failed)
{
    struct mg_batch batch = running();
    batch.failed = 300; /* long ago */
    batch.recent_failed = 5;
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_RUNNING);
    batch.recent_failed = 6;
    struct mg_batch_plan plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.state, MG_BATCH_STOPPED);
    ck_assert_int_eq(plan.why, MG_BATCH_TOO_MANY_FAILED);
    ck_assert_int_eq(plan.ask, 0);
    batch.stop_percent = 0;
    batch.recent_failed = 1;
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_STOPPED);
    batch.recent_failed = 0;
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_RUNNING);
}
END_TEST

START_TEST(a_paused_batch_asks_for_nothing_and_ends_with_its_last_order)
{
    struct mg_batch batch = running();
    batch.state = MG_BATCH_PAUSED;
    batch.recent_failed = 50;
    batch.asked = 1;
    struct mg_batch_plan plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.state, MG_BATCH_PAUSED);
    ck_assert_int_eq(plan.ask, 0);
    batch.is_tried = false;
    batch.failed = 5;
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_PAUSED);
    batch.waiting = 0;
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_PAUSED);
    batch.asked = 0;
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_DONE);
}
END_TEST

START_TEST(it_is_done_when_none_waits_and_none_is_under_way)
{
    struct mg_batch batch = running();
    batch.waiting = 0;
    batch.asked = 1;
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_RUNNING);
    batch.asked = 0;
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_DONE);
    batch.state = MG_BATCH_CANARY; /* all of them were skipped */
    batch.is_tried = false;
    batch.done = 0;
    ck_assert_int_eq(mg_batch_plan(&batch).state, MG_BATCH_DONE);
}
END_TEST

START_TEST(what_has_ended_stays_so)
{
    struct mg_batch batch = running();
    batch.state = MG_BATCH_STOPPED;
    struct mg_batch_plan plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.state, MG_BATCH_STOPPED);
    ck_assert_int_eq(plan.ask, 0);
    batch.state = MG_BATCH_DONE;
    plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.state, MG_BATCH_DONE);
    ck_assert_int_eq(plan.ask, 0);
}
END_TEST

START_TEST(no_more_are_asked_for_than_there_are_and_may_be_under_way)
{
    struct mg_batch batch = running();
    batch.spacing_us = 1000;
    batch.next_us = NOW_US - SECOND;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, MG_BATCH_UNDER_WAY_MAX);
    batch.asked = MG_BATCH_UNDER_WAY_MAX - 3;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 3);
    batch.asked = MG_BATCH_UNDER_WAY_MAX;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 0);
    batch.asked = MG_BATCH_UNDER_WAY_MAX + 1;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 0);
    batch.asked = 0;
    batch.waiting = 2;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 2);
    batch = trying();
    batch.canary = 10000;
    batch.waiting = 20000;
    batch.spacing_us = 1;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 1);
    batch.next_us = 0;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, MG_BATCH_UNDER_WAY_MAX - 2);
}
END_TEST

START_TEST(the_next_is_asked_for_a_spacing_later)
{
    struct mg_batch batch = running();
    batch.next_us = NOW_US + 1;
    struct mg_batch_plan plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.ask, 0);
    ck_assert_int_eq(plan.next_us, NOW_US + 1);
    batch.next_us = NOW_US;
    plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.ask, 1);
    ck_assert_int_eq(plan.next_us, NOW_US + SPACING);
    batch.next_us = NOW_US - 3 * SPACING + 1;
    plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.ask, 3);
    ck_assert_int_eq(plan.next_us, NOW_US + 1);
}
END_TEST

/* Would catch: a batch that stands still for as long as the database's clock was put back. */
START_TEST(a_clock_that_was_put_back_holds_nothing_up)
{
    struct mg_batch batch = running();
    batch.next_us = NOW_US + SPACING; /* the latest time that a look leaves behind */
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 0);
    batch.next_us = NOW_US + 3600 * SECOND;
    struct mg_batch_plan plan = mg_batch_plan(&batch);
    ck_assert_int_eq(plan.ask, 1);
    ck_assert_int_eq(plan.next_us, NOW_US + SPACING);
}
END_TEST

/* Would catch: commands that wait for a scheduler by the hundred, and are all taken at once. */
START_TEST(no_more_commands_wait_to_be_taken_than_a_burst)
{
    struct mg_batch batch = running();
    batch.next_us = NOW_US - SECOND;
    batch.asked = batch.untaken = 5;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 2);
    batch.asked = batch.untaken = 7;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 0);
    ck_assert_int_eq(mg_batch_plan(&batch).next_us, batch.next_us);
    batch.asked = 190; /* the others are under way */
    batch.untaken = 0;
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 6);
    batch.asked = batch.untaken = 1;
    batch.spacing_us = 1000 * SECOND; /* also where a second has room for none */
    ck_assert_int_eq(mg_batch_plan(&batch).ask, 1);
}
END_TEST

/* By simulation: the rate holds for any times of the looks, however late the runner and however long the
 * halt. */
START_TEST(a_rate_holds_in_every_span_of_time)
{
    enum { LOOKS = 4000 };
    static int64_t asked_at_us[LOOKS * MG_BATCH_UNDER_WAY_MAX];
    int64_t count = 0;
    uint64_t draw = 1;
    struct mg_batch batch = running();
    batch.waiting = LOOKS * MG_BATCH_UNDER_WAY_MAX;
    for (int look = 0; look < LOOKS; look++) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        int64_t pause_us = (int64_t)(draw >> 33) % (3 * SPACING);
        batch.now_us += look % 100 == 99 ? 60 * SECOND : pause_us;
        struct mg_batch_plan plan = mg_batch_plan(&batch);
        batch.next_us = plan.next_us;
        for (int64_t i = 0; i < plan.ask; i++) {
            asked_at_us[count++] = batch.now_us;
        }
    }
    ck_assert_int_gt(count, 1000);
    for (int64_t first = 0, last = 0; last < count; last++) { /* a window of ten seconds */
        while (asked_at_us[last] - asked_at_us[first] > 10 * SECOND) {
            first++;
        }
        ck_assert_int_le(last - first + 1, (10 * SECOND + MG_BATCH_BURST_US) / SPACING + 1);
    }
}
END_TEST

START_TEST(an_order_is_what_its_row_and_its_story_say)
{
    static const struct {
        struct mg_batch_order order;
        enum mg_batch_result result;
    } CASES[] = {
        {{7, 7, MG_ORDER_ERROR, false, false, false}, MG_BATCH_RESULT_ASKED},
        {{7, 7, MG_ORDER_ERROR, false, false, true}, MG_BATCH_RESULT_FAILED},
        {{7, 8, MG_ORDER_PROCESSING, false, true, false}, MG_BATCH_RESULT_ASKED},
        {{7, 9, MG_ORDER_COMPENSATING, false, true, true}, MG_BATCH_RESULT_ASKED}, /* an old error */
        {{7, 9, MG_ORDER_PROCESSED, false, true, false}, MG_BATCH_RESULT_DONE},
        {{7, 9, MG_ORDER_COMPENSATED, false, true, false}, MG_BATCH_RESULT_DONE},
        {{7, 9, MG_ORDER_CANCELLED, false, true, false}, MG_BATCH_RESULT_DONE},
        {{7, 9, MG_ORDER_ERROR, false, true, false}, MG_BATCH_RESULT_FAILED},
        {{7, 9, MG_ORDER_COMPENSATED, true, true, false}, MG_BATCH_RESULT_FAILED}, /* it was to go forward */
        {{7, 9, MG_ORDER_COMPENSATED, true, false, false}, MG_BATCH_RESULT_SKIPPED},
        {{7, 8, MG_ORDER_ERROR, false, false, false}, MG_BATCH_RESULT_SKIPPED}, /* overtaken by another */
        {{7, 9, MG_ORDER_PROCESSED, false, false, true}, MG_BATCH_RESULT_SKIPPED},
        {{7, 0, MG_ORDER_PENDING, false, false, false}, MG_BATCH_RESULT_SKIPPED}, /* it is gone */
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        ck_assert_int_eq(mg_batch_judge(&CASES[i].order), CASES[i].result);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch_plan");
    TCase *tests = tcase_create("batch_plan");
    tcase_add_test(tests, a_rate_is_a_spacing);
    tcase_add_test(tests, nothing_beyond_the_canary_is_asked_for_until_it_is_over);
    tcase_add_test(tests, a_canary_is_as_many_as_have_shown_something);
    tcase_add_test(tests, without_a_canary_it_runs_at_once);
    tcase_add_test(tests, a_canary_fails_above_its_share);
    tcase_add_test(tests, it_stops_when_too_many_of_the_newest_failed);
    tcase_add_test(tests, a_paused_batch_asks_for_nothing_and_ends_with_its_last_order);
    tcase_add_test(tests, it_is_done_when_none_waits_and_none_is_under_way);
    tcase_add_test(tests, what_has_ended_stays_so);
    tcase_add_test(tests, no_more_are_asked_for_than_there_are_and_may_be_under_way);
    tcase_add_test(tests, the_next_is_asked_for_a_spacing_later);
    tcase_add_test(tests, a_clock_that_was_put_back_holds_nothing_up);
    tcase_add_test(tests, no_more_commands_wait_to_be_taken_than_a_burst);
    tcase_add_test(tests, a_rate_holds_in_every_span_of_time);
    tcase_add_test(tests, an_order_is_what_its_row_and_its_story_say);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
