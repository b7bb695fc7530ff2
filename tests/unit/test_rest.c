/* The time at which free memory goes back. malloc_trim is this file's own, so that it can be counted. */
#include <check.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/rest.h"
#include "suite.h"

static int trim_count;

int malloc_trim(size_t pad)
{
    trim_count += pad == 0 ? 1 : 0;
    return 1;
}

/* Catches: memory that is kept for good, and pages given away and fetched back in the middle of a load. */
START_TEST(memory_goes_back_once_when_work_has_stood_still)
{
    struct mg_rest rest = {0};
    trim_count = 0;
    int64_t now_ms = 100000;
    for (uint64_t work = 1; work <= 10; work++, now_ms += MG_REST_AFTER_MS - 1) {
        mg_rest_look(&rest, work, now_ms);
    }
    mg_rest_look(&rest, 10, now_ms);
    ck_assert_int_eq(trim_count, 0);
    mg_rest_look(&rest, 10, now_ms + 1);
    mg_rest_look(&rest, 10, now_ms + 10 * MG_REST_AFTER_MS);
    ck_assert_int_eq(trim_count, 1);
}
END_TEST

/* Catches: a process that gives back after its first load only. */
START_TEST(each_load_is_followed_by_a_rest_of_its_own)
{
    struct mg_rest rest = {0};
    trim_count = 0;
    for (uint64_t work = 1; work <= 3; work++) {
        int64_t now_ms = (int64_t)work * 10 * MG_REST_AFTER_MS;
        mg_rest_look(&rest, work, now_ms);
        mg_rest_look(&rest, work, now_ms + MG_REST_AFTER_MS);
    }
    ck_assert_int_eq(trim_count, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rest");
    TCase *rest = tcase_create("rest");
    tcase_add_test(rest, memory_goes_back_once_when_work_has_stood_still);
    tcase_add_test(rest, each_load_is_followed_by_a_rest_of_its_own);
    suite_add_tcase(suite, rest);
    return run_suite(suite);
}
