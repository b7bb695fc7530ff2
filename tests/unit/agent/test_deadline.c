/* What the database's clock says, from requests alone; and what is left of a deadline for a call. */
#include <check.h>

#include "../suite.h"
#include "deadline.h"

/* Boot time 1,000 s is wall time WALL here, and the database's clock stands `behind_ms` behind this
 * machine's. */
#define BOOT INT64_C(1000000)
#define WALL INT64_C(1700000000000)

static struct mg_skew skew;

static void setup(void)
{
    mg_skew_init(&skew, 2000, BOOT);
}

/* A request that took `transit_ms` to come here, arriving `at_ms` after the beginning. */
static void arrive(int64_t at_ms, int64_t behind_ms, int64_t transit_ms, bool is_fresh)
{
    mg_skew_note(&skew, BOOT + at_ms, WALL + at_ms, WALL + at_ms - behind_ms - transit_ms, is_fresh);
}

static int64_t now_error_ms(int64_t at_ms, int64_t behind_ms)
{
    return mg_skew_now_ms(&skew, BOOT + at_ms, WALL + at_ms) - (WALL + at_ms - behind_ms);
}

START_TEST(without_requests_the_wall_clock_is_believed)
{
    int64_t ahead_ms;
    ck_assert_int_eq(mg_skew_now_ms(&skew, BOOT, WALL), WALL);
    ck_assert(!mg_skew_measure(&skew, BOOT, WALL, &ahead_ms));
}
END_TEST

START_TEST(fresh_requests_show_a_clock_that_is_ahead_and_correct_it)
{
    int64_t ahead_ms;
    for (int i = 0; i < 3; i++) {
        arrive(i * 100, 5000, 3 + i, true);
    }
    ck_assert(mg_skew_measure(&skew, BOOT + 300, WALL + 300, &ahead_ms));
    ck_assert_int_eq(ahead_ms, 5003);
    ck_assert_int_eq(now_error_ms(300, 5000), -3);
}
END_TEST

START_TEST(a_backlog_is_not_taken_for_a_clock_that_is_ahead)
{
    int64_t ahead_ms;
    for (int i = 0; i < 100; i++) {
        arrive(i, 0, 40000 + i, false);
    }
    ck_assert(!mg_skew_measure(&skew, BOOT + 100, WALL + 100, &ahead_ms));
    ck_assert_int_eq(now_error_ms(100, 0), 0); /* so what is 40 s old is judged 40 s old */
}
END_TEST

START_TEST(one_request_from_the_future_proves_a_clock_that_is_behind)
{
    int64_t ahead_ms;
    arrive(0, -7000, 2, false);
    ck_assert(mg_skew_measure(&skew, BOOT, WALL, &ahead_ms));
    ck_assert_int_eq(ahead_ms, -6998);
    ck_assert_int_eq(now_error_ms(0, -7000), -2);
}
END_TEST

START_TEST(the_least_of_the_last_minute_counts_and_older_ones_do_not)
{
    int64_t ahead_ms;
    for (int i = 0; i < 3; i++) {
        arrive(i, 1000, 1, true);
    }
    for (int i = 0; i < 3; i++) {
        arrive(59000 + i, 1000, 500, true);
    }
    ck_assert(mg_skew_measure(&skew, BOOT + 59500, WALL + 59500, &ahead_ms));
    ck_assert_int_eq(ahead_ms, 1001);
    ck_assert(mg_skew_measure(&skew, BOOT + 61000, WALL + 61000, &ahead_ms));
    ck_assert_int_eq(ahead_ms, 1500);
    ck_assert(!mg_skew_measure(&skew, BOOT + 200000, WALL + 200000, &ahead_ms));
}
END_TEST

START_TEST(what_was_measured_is_kept_for_a_backlog_but_never_beyond_the_limit)
{
    for (int i = 0; i < 3; i++) {
        arrive(i, 1500, 1, true);
    }
    arrive(300000, 1500, 60000, false);
    ck_assert_int_eq(now_error_ms(300000, 1500), -1);
    setup();
    for (int i = 0; i < 3; i++) {
        arrive(i, 600000, 1, true);
    }
    arrive(300000, 600000, 60000, false);
    ck_assert_int_eq(now_error_ms(300000, 600000), 598000); /* in doubt too early, never too late */
}
END_TEST

START_TEST(a_wall_clock_that_jumps_does_not_move_a_measured_database_clock)
{
    for (int i = 0; i < 3; i++) {
        arrive(i, 0, 1, true);
    }
    int64_t jumped_ms = mg_skew_now_ms(&skew, BOOT + 1000, WALL + 1000 + 3600000);
    ck_assert_int_eq(jumped_ms, WALL + 1000 - 1);
}
END_TEST

/* Catches: an agent that is stopped right after it began, and takes what waited for it for fresh. */
START_TEST(who_stood_still_before_the_first_turn_knows_it)
{
    ck_assert(mg_skew_stood_still(&skew, BOOT + MG_STANDSTILL_MS + 1));
    ck_assert(!mg_skew_stood_still(&skew, BOOT + 2 * MG_STANDSTILL_MS + 1));
}
END_TEST

START_TEST(the_budget_keeps_a_margin_and_is_never_more_than_what_is_left)
{
    ck_assert_int_eq(mg_deadline_budget_ms(10000), 9750);
    ck_assert_int_eq(mg_deadline_budget_ms(400), 300);
    ck_assert_int_eq(mg_deadline_budget_ms(1), 1);
    ck_assert_int_eq(mg_deadline_budget_ms(0), 0);
    ck_assert_int_eq(mg_deadline_budget_ms(-5), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent deadline");
    TCase *tcase = tcase_create("deadline");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, without_requests_the_wall_clock_is_believed);
    tcase_add_test(tcase, fresh_requests_show_a_clock_that_is_ahead_and_correct_it);
    tcase_add_test(tcase, a_backlog_is_not_taken_for_a_clock_that_is_ahead);
    tcase_add_test(tcase, one_request_from_the_future_proves_a_clock_that_is_behind);
    tcase_add_test(tcase, the_least_of_the_last_minute_counts_and_older_ones_do_not);
    tcase_add_test(tcase, what_was_measured_is_kept_for_a_backlog_but_never_beyond_the_limit);
    tcase_add_test(tcase, a_wall_clock_that_jumps_does_not_move_a_measured_database_clock);
    tcase_add_test(tcase, who_stood_still_before_the_first_turn_knows_it);
    tcase_add_test(tcase, the_budget_keeps_a_margin_and_is_never_more_than_what_is_left);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
