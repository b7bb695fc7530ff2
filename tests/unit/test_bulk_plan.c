/* Would catch: a bulk action that goes on after its canary failed; one that exceeds its rate or its number of
 * orders; one that never ends; an order counted under a wrong result. */
#include <check.h>

#include "core/bulk_plan.h"
#include "suite.h"

#define NOW_US  INT64_C(1750000000000000)
#define SECOND  INT64_C(1000000)
#define SPACING 200000 /* five a second */

/* In the midst of its canary: two of five are under way, and the next command may go now. */
static struct mg_bulk trying(void)
{
    return (struct mg_bulk){.state = MG_BULK_CANARY,
                            .canary = 5,
                            .stop_percent = 10,
                            .spacing_us = SPACING,
                            .waiting = 58,
                            .asked = 2,
                            .now_us = NOW_US,
                            .next_us = NOW_US};
}

/* The canary is over, a thousand are left. */
static struct mg_bulk running(void)
{
    struct mg_bulk bulk = trying();
    bulk.state = MG_BULK_RUNNING;
    bulk.is_tried = true;
    bulk.waiting = 1000;
    bulk.asked = 0;
    bulk.done = 5;
    return bulk;
}

START_TEST(a_rate_is_a_spacing)
{
    ck_assert_int_eq(mg_bulk_spacing_us(5), SPACING);
    ck_assert_int_eq(mg_bulk_spacing_us(0.1), 10 * SECOND);
    ck_assert_int_eq(mg_bulk_spacing_us(1000), 1000);
    ck_assert_int_eq(mg_bulk_spacing_us(1e6), 1);
    ck_assert_int_eq(mg_bulk_spacing_us(1e9), 1);
    ck_assert_int_eq(mg_bulk_spacing_us(1e-300), MG_BULK_SPACING_MAX_US);
}
END_TEST

START_TEST(nothing_beyond_the_canary_is_asked_for_until_it_is_over)
{
    struct mg_bulk bulk = trying();
    bulk.next_us = NOW_US - SECOND; /* the rate has room for six */
    struct mg_bulk_plan plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.ask, 3);
    ck_assert_int_eq(plan.state, MG_BULK_CANARY);
    bulk.asked = 5;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 0);
    bulk.asked = 1;
    bulk.done = 4;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 0);
    ck_assert(!mg_bulk_plan(&bulk).is_tried);
    bulk.asked = 0;
    bulk.done = 5;
    plan = mg_bulk_plan(&bulk);
    ck_assert(plan.is_tried);
    ck_assert_int_eq(plan.state, MG_BULK_RUNNING);
    ck_assert_int_eq(plan.ask, 6);
}
END_TEST

/* Skipped orders have no result: others take their place. */
START_TEST(a_canary_is_as_many_as_have_shown_something)
{
    struct mg_bulk bulk = trying();
    bulk.asked = 0;
    bulk.done = 2; /* and three were skipped */
    bulk.next_us = NOW_US - SECOND;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 3);
    bulk.waiting = 1; /* the canary is three now */
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 1);
    bulk.waiting = 0;
    bulk.asked = 1;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 0);
}
END_TEST

START_TEST(without_a_canary_it_runs_at_once)
{
    struct mg_bulk bulk = trying();
    bulk.canary = 0;
    bulk.asked = 0;
    struct mg_bulk_plan plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.state, MG_BULK_RUNNING);
    ck_assert_int_eq(plan.ask, 1);
}
END_TEST

START_TEST(a_canary_fails_above_its_share)
{
    struct mg_bulk bulk = trying();
    bulk.failed = 1;
    struct mg_bulk_plan plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.state, MG_BULK_STOPPED);
    ck_assert_int_eq(plan.why, MG_BULK_CANARY_FAILED);
    ck_assert_int_eq(plan.ask, 0);
    bulk.stop_percent = 20; /* one failure in five is allowed */
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_GOES_ON);
    bulk.failed = 2;
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_CANARY_FAILED);
    bulk.stop_percent = 100;
    bulk.failed = 5;
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_GOES_ON);
    /* The last of all failed: the result shows that, too. */
    bulk = (struct mg_bulk){.state = MG_BULK_CANARY, .canary = 5, .failed = 3, .spacing_us = SPACING};
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_STOPPED);
}
END_TEST

/* Would catch: a bulk action that a stranger stops; one that goes on although nothing at all succeeds. */
START_TEST(failures_for_another_cause_count_only_while_nothing_succeeds)
{
    struct mg_bulk bulk = trying();
    bulk.failed = bulk.failed_otherwise = 1;
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_GOES_ON); /* another order may succeed */
    bulk.failed = 2;
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_CANARY_FAILED);
    bulk.failed = bulk.failed_otherwise = 5;
    bulk.asked = 0;
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_CANARY_FAILED);
    bulk.failed = bulk.failed_otherwise = 4;
    bulk.done = 1;
    ck_assert(mg_bulk_plan(&bulk).is_tried);
    bulk = running();
    bulk.recent = 50;
    bulk.recent_failed = bulk.recent_failed_otherwise = 40;
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_GOES_ON);
    bulk.recent_failed += 6;
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_TOO_MANY_FAILED);
    bulk.recent_failed = bulk.recent_failed_otherwise = 50;
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_TOO_MANY_FAILED);
}
END_TEST

START_TEST(it_stops_when_too_many_of_the_newest_failed)
{
    struct mg_bulk bulk = running();
    bulk.failed = 300; /* long ago */
    bulk.recent = 50;
    bulk.recent_failed = 5;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_RUNNING);
    bulk.recent_failed = 6;
    struct mg_bulk_plan plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.state, MG_BULK_STOPPED);
    ck_assert_int_eq(plan.why, MG_BULK_TOO_MANY_FAILED);
    ck_assert_int_eq(plan.ask, 0);
    bulk.stop_percent = 0;
    bulk.recent_failed = 1;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_STOPPED);
    bulk.recent_failed = 0;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_RUNNING);
}
END_TEST

/* Would catch: a share of orders that have not ended, so that the brake of a short bulk action never acts;
 * and one that the first failure stops. */
START_TEST(failures_are_a_share_of_the_orders_that_have_ended)
{
    struct mg_bulk bulk = running();
    bulk.stop_percent = 20;
    bulk.recent = 13;
    bulk.recent_failed = 2;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_RUNNING);
    bulk.recent_failed = 3; /* 23 % */
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_TOO_MANY_FAILED);
    bulk.recent = 4; /* too few to judge: as of ten */
    bulk.recent_failed = 2;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_RUNNING);
    bulk.recent_failed = 3;
    ck_assert_int_eq(mg_bulk_plan(&bulk).why, MG_BULK_TOO_MANY_FAILED);
}
END_TEST

START_TEST(a_paused_bulk_action_asks_for_nothing_and_ends_with_its_last_order)
{
    struct mg_bulk bulk = running();
    bulk.state = MG_BULK_PAUSED;
    bulk.recent_failed = 50;
    bulk.asked = 1;
    struct mg_bulk_plan plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.state, MG_BULK_PAUSED);
    ck_assert_int_eq(plan.ask, 0);
    bulk.is_tried = false;
    bulk.failed = 5;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_PAUSED);
    bulk.waiting = 0;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_PAUSED);
    bulk.asked = 0;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_DONE);
}
END_TEST

START_TEST(it_is_done_when_none_waits_and_none_is_under_way)
{
    struct mg_bulk bulk = running();
    bulk.waiting = 0;
    bulk.asked = 1;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_RUNNING);
    bulk.asked = 0;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_DONE);
    bulk.state = MG_BULK_CANARY; /* all of them were skipped */
    bulk.is_tried = false;
    bulk.done = 0;
    ck_assert_int_eq(mg_bulk_plan(&bulk).state, MG_BULK_DONE);
}
END_TEST

START_TEST(an_ended_bulk_action_stays_ended)
{
    struct mg_bulk bulk = running();
    bulk.state = MG_BULK_STOPPED;
    struct mg_bulk_plan plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.state, MG_BULK_STOPPED);
    ck_assert_int_eq(plan.ask, 0);
    bulk.state = MG_BULK_DONE;
    plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.state, MG_BULK_DONE);
    ck_assert_int_eq(plan.ask, 0);
}
END_TEST

START_TEST(no_more_are_asked_for_than_there_are_and_may_be_under_way)
{
    struct mg_bulk bulk = running();
    bulk.spacing_us = 1000;
    bulk.next_us = NOW_US - SECOND;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, MG_BULK_UNDER_WAY_MAX);
    bulk.asked = MG_BULK_UNDER_WAY_MAX - 3;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 3);
    bulk.asked = MG_BULK_UNDER_WAY_MAX;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 0);
    bulk.asked = MG_BULK_UNDER_WAY_MAX + 1;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 0);
    bulk.asked = 0;
    bulk.waiting = 2;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 2);
    bulk = trying();
    bulk.canary = 10000;
    bulk.waiting = 20000;
    bulk.spacing_us = 1;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 1);
    bulk.next_us = 0;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, MG_BULK_UNDER_WAY_MAX - 2);
}
END_TEST

START_TEST(the_next_is_asked_for_a_spacing_later)
{
    struct mg_bulk bulk = running();
    bulk.next_us = NOW_US + 1;
    struct mg_bulk_plan plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.ask, 0);
    ck_assert_int_eq(plan.next_us, NOW_US + 1);
    bulk.next_us = NOW_US;
    plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.ask, 1);
    ck_assert_int_eq(plan.next_us, NOW_US + SPACING);
    bulk.next_us = NOW_US - 3 * SPACING + 1;
    plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.ask, 3);
    ck_assert_int_eq(plan.next_us, NOW_US + 1);
}
END_TEST

/* Would catch: a bulk action that stalls for as long as the database's clock was put back. */
START_TEST(a_clock_that_was_put_back_holds_nothing_up)
{
    struct mg_bulk bulk = running();
    bulk.next_us = NOW_US + SPACING; /* the latest time that a look leaves behind */
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 0);
    bulk.next_us = NOW_US + 3600 * SECOND;
    struct mg_bulk_plan plan = mg_bulk_plan(&bulk);
    ck_assert_int_eq(plan.ask, 1);
    ck_assert_int_eq(plan.next_us, NOW_US + SPACING);
}
END_TEST

/* Would catch: commands that wait for a scheduler by the hundred, and are all taken at once. */
START_TEST(no_more_commands_wait_to_be_taken_than_a_burst)
{
    struct mg_bulk bulk = running();
    bulk.next_us = NOW_US - SECOND;
    bulk.asked = bulk.untaken = 5;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 2);
    bulk.asked = bulk.untaken = 7;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 0);
    ck_assert_int_eq(mg_bulk_plan(&bulk).next_us, bulk.next_us);
    bulk.asked = 190; /* the others are under way */
    bulk.untaken = 0;
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 6);
    bulk.asked = bulk.untaken = 1;
    bulk.spacing_us = 1000 * SECOND; /* also where a second has room for none */
    ck_assert_int_eq(mg_bulk_plan(&bulk).ask, 1);
}
END_TEST

/* By simulation: the rate holds for any times of the looks, however late the runner and however long the
 * halt. */
START_TEST(a_rate_holds_in_every_span_of_time)
{
    enum { LOOKS = 4000 };
    static int64_t asked_at_us[LOOKS * MG_BULK_UNDER_WAY_MAX];
    int64_t count = 0;
    uint64_t draw = 1;
    struct mg_bulk bulk = running();
    bulk.waiting = LOOKS * MG_BULK_UNDER_WAY_MAX;
    for (int look = 0; look < LOOKS; look++) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        int64_t pause_us = (int64_t)(draw >> 33) % (3 * SPACING);
        bulk.now_us += look % 100 == 99 ? 60 * SECOND : pause_us;
        struct mg_bulk_plan plan = mg_bulk_plan(&bulk);
        bulk.next_us = plan.next_us;
        for (int64_t i = 0; i < plan.ask; i++) {
            asked_at_us[count++] = bulk.now_us;
        }
    }
    ck_assert_int_gt(count, 1000);
    for (int64_t first = 0, last = 0; last < count; last++) { /* a window of ten seconds */
        while (asked_at_us[last] - asked_at_us[first] > 10 * SECOND) {
            first++;
        }
        ck_assert_int_le(last - first + 1, (10 * SECOND + MG_BULK_BURST_US) / SPACING + 1);
    }
}
END_TEST

START_TEST(the_state_of_an_order_is_that_of_its_row_and_story)
{
    static const struct {
        struct mg_bulk_order order;
        enum mg_bulk_result result;
    } CASES[] = {
        {{7, 7, MG_ORDER_ERROR, false, false, false, false}, MG_BULK_RESULT_ASKED},
        {{7, 7, MG_ORDER_ERROR, false, false, true, false}, MG_BULK_RESULT_FAILED},
        {{7, 7, MG_ORDER_ERROR, false, false, true, true}, MG_BULK_RESULT_SKIPPED}, /* nothing was tried */
        {{7, 8, MG_ORDER_PROCESSING, false, true, false, false}, MG_BULK_RESULT_ASKED},
        {{7, 9, MG_ORDER_COMPENSATING, false, true, true, false}, MG_BULK_RESULT_ASKED}, /* an old error */
        {{7, 9, MG_ORDER_PROCESSED, false, true, false, false}, MG_BULK_RESULT_DONE},
        {{7, 9, MG_ORDER_COMPENSATED, false, true, false, false}, MG_BULK_RESULT_DONE},
        {{7, 9, MG_ORDER_CANCELLED, false, true, false, false}, MG_BULK_RESULT_DONE},
        {{7, 9, MG_ORDER_ERROR, false, true, false, false}, MG_BULK_RESULT_FAILED},
        {{7, 9, MG_ORDER_COMPENSATED, true, true, false, false},
         MG_BULK_RESULT_FAILED}, /* it was to go forward */
        {{7, 9, MG_ORDER_COMPENSATED, true, false, false, false}, MG_BULK_RESULT_SKIPPED},
        {{7, 8, MG_ORDER_ERROR, false, false, false, false},
         MG_BULK_RESULT_SKIPPED}, /* overtaken by another */
        {{7, 9, MG_ORDER_PROCESSED, false, false, true, false}, MG_BULK_RESULT_SKIPPED},
        {{7, 0, MG_ORDER_PENDING, false, false, false, false}, MG_BULK_RESULT_SKIPPED}, /* it is gone */
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        ck_assert_int_eq(mg_bulk_judge(&CASES[i].order), CASES[i].result);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bulk_plan");
    TCase *tests = tcase_create("bulk_plan");
    tcase_add_test(tests, a_rate_is_a_spacing);
    tcase_add_test(tests, nothing_beyond_the_canary_is_asked_for_until_it_is_over);
    tcase_add_test(tests, a_canary_is_as_many_as_have_shown_something);
    tcase_add_test(tests, without_a_canary_it_runs_at_once);
    tcase_add_test(tests, a_canary_fails_above_its_share);
    tcase_add_test(tests, failures_for_another_cause_count_only_while_nothing_succeeds);
    tcase_add_test(tests, it_stops_when_too_many_of_the_newest_failed);
    tcase_add_test(tests, failures_are_a_share_of_the_orders_that_have_ended);
    tcase_add_test(tests, a_paused_bulk_action_asks_for_nothing_and_ends_with_its_last_order);
    tcase_add_test(tests, it_is_done_when_none_waits_and_none_is_under_way);
    tcase_add_test(tests, an_ended_bulk_action_stays_ended);
    tcase_add_test(tests, no_more_are_asked_for_than_there_are_and_may_be_under_way);
    tcase_add_test(tests, the_next_is_asked_for_a_spacing_later);
    tcase_add_test(tests, a_clock_that_was_put_back_holds_nothing_up);
    tcase_add_test(tests, no_more_commands_wait_to_be_taken_than_a_burst);
    tcase_add_test(tests, a_rate_holds_in_every_span_of_time);
    tcase_add_test(tests, the_state_of_an_order_is_that_of_its_row_and_story);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
