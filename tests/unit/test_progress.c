/* The moment from which waiting work counts as a standstill. */
#include <check.h>
#include <stdlib.h>

#include "base/progress.h"
#include "suite.h"

#define BEGAN_MS 100000

/* Catches: a standstill of a process that has nothing to do, or of one whose work ends slowly; one that is
 * never told, or told for ever. */
START_TEST(work_that_waits_without_an_end_is_a_standstill)
{
    struct mg_progress progress = {0};
    mg_progress_look(&progress, 5, false, BEGAN_MS);
    ck_assert_int_eq(mg_progress_stands_ms(&progress, BEGAN_MS + 10 * MG_STANDSTILL_AFTER_MS), 0);

    int64_t now_ms = BEGAN_MS;
    for (uint64_t ended = 6; ended < 10; ended++, now_ms += MG_STANDSTILL_AFTER_MS - 1) {
        mg_progress_look(&progress, ended, true, now_ms);
        mg_progress_look(&progress, ended, true, now_ms + 1);
        ck_assert_int_eq(mg_progress_stands_ms(&progress, now_ms + MG_STANDSTILL_AFTER_MS), 0);
    }
    const int64_t since_ms = now_ms - MG_STANDSTILL_AFTER_MS + 2;
    mg_progress_look(&progress, 9, true, since_ms + MG_STANDSTILL_AFTER_MS);
    ck_assert_int_eq(mg_progress_stands_ms(&progress, since_ms + MG_STANDSTILL_AFTER_MS - 1), 0);
    ck_assert_int_eq(mg_progress_stands_ms(&progress, since_ms + MG_STANDSTILL_AFTER_MS),
                     MG_STANDSTILL_AFTER_MS);
    ck_assert_int_eq(mg_progress_stands_ms(&progress, since_ms + 60000), 60000);

    mg_progress_look(&progress, 10, true, since_ms + 60000);
    ck_assert_int_eq(mg_progress_stands_ms(&progress, since_ms + 60001), 0);
}
END_TEST

/* Catches: a wait that was meant, such as one for a closed gate, and that counts once work may end again. */
START_TEST(a_wait_that_is_meant_is_no_part_of_a_standstill)
{
    struct mg_progress progress = {0};
    mg_progress_look(&progress, 1, true, BEGAN_MS);
    mg_progress_look(&progress, 1, true, BEGAN_MS + 1);
    mg_progress_look(&progress, 1, false, BEGAN_MS + 2 * MG_STANDSTILL_AFTER_MS);
    ck_assert_int_eq(mg_progress_stands_ms(&progress, BEGAN_MS + 2 * MG_STANDSTILL_AFTER_MS), 0);
    mg_progress_look(&progress, 1, true, BEGAN_MS + 3 * MG_STANDSTILL_AFTER_MS);
    ck_assert_int_eq(mg_progress_stands_ms(&progress, BEGAN_MS + 3 * MG_STANDSTILL_AFTER_MS + 1), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("progress");
    TCase *tests = tcase_create("progress");
    tcase_add_test(tests, work_that_waits_without_an_end_is_a_standstill);
    tcase_add_test(tests, a_wait_that_is_meant_is_no_part_of_a_standstill);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
