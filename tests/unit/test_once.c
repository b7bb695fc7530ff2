/* The latch of log lines that stand for a run of equal events. */
#include <check.h>

#include "base/once.h"
#include "suite.h"

/* Would catch: a line for each of many failures, or none for the failures after a success. */
START_TEST(each_run_is_reported_once)
{
    struct mg_once once = {0};
    for (int run = 0; run < 3; run++) {
        ck_assert(mg_once_set(&once));
        ck_assert(!mg_once_set(&once));
        ck_assert(!mg_once_set(&once));
        mg_once_reset(&once);
    }
}
END_TEST

/* Would catch: the end of a trouble that was never reported, or that is reported twice. */
START_TEST(the_end_of_a_run_is_known_once)
{
    struct mg_once once = {0};
    ck_assert(!mg_once_reset(&once));
    ck_assert(mg_once_set(&once));
    ck_assert(mg_once_reset(&once));
    ck_assert(!mg_once_reset(&once));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("once");
    TCase *tests = tcase_create("once");
    tcase_add_test(tests, each_run_is_reported_once);
    tcase_add_test(tests, the_end_of_a_run_is_known_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
