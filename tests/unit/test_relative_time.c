/* Times for people. Would catch: a moment that reads as another, and a text that is taken for a moment. */
#include <check.h>
#include <string.h>

#include "operator/relative_time.h"
#include "suite.h"

static const char *relative(int64_t left_ms)
{
    static char text[MG_RELATIVE_TIME_SIZE];
    int64_t now_ms = INT64_C(1800000000000);
    mg_relative_time_write(now_ms + left_ms, now_ms, text);
    return text;
}

START_TEST(a_moment_is_as_far_as_it_reads)
{
    static const struct {
        int64_t left_ms;
        const char *text;
    } cases[] = {
        {0, "now"},
        {-999, "now"},
        {999, "now"},
        {-1000, "1 s ago"},
        {28000, "in 28 s"},
        {-119999, "119 s ago"},
        {-120000, "2 m ago"},
        {INT64_C(7199999), "in 119 m"},
        {INT64_C(7200000), "in 2 h"},
        {INT64_C(-172799999), "47 h ago"},
        {INT64_C(-172800000), "2 d ago"},
        {INT64_C(-86400000) * 365, "365 d ago"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_str_eq(relative(cases[i].left_ms), cases[i].text);
    }
}
END_TEST

START_TEST(only_the_form_of_the_reports_is_a_moment)
{
    static const char *const others[] = {"",
                                         "3m",
                                         "2026-01-31",
                                         "2026-01-31T12:34:56Z",
                                         "2026-01-31T12:34:56.789",
                                         "2026-01-31T12:34:56.789Z ",
                                         "2026-02-31T12:34:56.789Z",
                                         "nightly:2026-01-31T12:34"};
    int64_t ms = 0;
    ck_assert(mg_report_time_parse("1970-01-01T00:00:01.500Z", &ms));
    ck_assert_int_eq(ms, 1500);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ck_assert_msg(!mg_report_time_parse(others[i], &ms), "%s", others[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("relative time");
    TCase *tests = tcase_create("relative time");
    tcase_add_test(tests, a_moment_is_as_far_as_it_reads);
    tcase_add_test(tests, only_the_form_of_the_reports_is_a_moment);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
