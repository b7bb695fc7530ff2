/* The numbers of each minute: the leader has them counted, and no order waits for them. */
#include <check.h>

#include "../suite.h"
#include "world.h"

static void setup(void)
{
    (void)fake_start();
    fake_lead(0);
    fake_answer_sweep(NULL, 0);
}

/* Would catch: charts without numbers, and a leader that keeps the database busy with them. */
START_TEST(calls_and_orders_are_counted_each_five_seconds)
{
    fake_pass_quietly(60500);
    ck_assert_int_eq(fake.minute_counts, 12);
}
END_TEST

START_TEST(a_failed_count_is_logged_once_and_repeated)
{
    fake.is_minute_failing = true;
    int before = fake_log.warnings;
    fake_pass_quietly(21000);
    ck_assert_int_eq(fake.minute_counts, 4);
    ck_assert_int_eq(fake_log.warnings, before + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor minute_count");
    TCase *tests = tcase_create("minutes");
    tcase_add_checked_fixture(tests, setup, fake_finish);
    tcase_add_test(tests, calls_and_orders_are_counted_each_five_seconds);
    tcase_add_test(tests, a_failed_count_is_logged_once_and_repeated);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
