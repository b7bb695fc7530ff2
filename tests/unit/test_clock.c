/* Clocks, and moments and durations as text. */
#include <check.h>
#include <inttypes.h>

#include "base/clock.h"
#include "suite.h"

#define HOUR_MS (3600 * INT64_C(1000))
#define DAY_MS  (24 * HOUR_MS)

/* Catches: microseconds taken for milliseconds, or a clock that runs backwards. */
START_TEST(the_clocks_agree_with_each_other)
{
    int64_t us = mg_clock_boot_us(), ms = mg_clock_boot_ms();
    ck_assert_int_gt(us, 0);
    ck_assert_int_ge(ms, us / 1000);
    ck_assert_int_lt(ms - us / 1000, 10000);
    ck_assert_int_ge(mg_clock_boot_us(), us);
    ck_assert_int_gt(mg_clock_wall_ms(), INT64_C(1577836800000)); /* 2020: this code is younger */
}
END_TEST

static const struct {
    int64_t ms;
    const char *text;
} MOMENTS[] = {
    {0, "1970-01-01T00:00:00.000Z"},
    {-1, "1969-12-31T23:59:59.999Z"},
    {INT64_C(1769862896789), "2026-01-31T12:34:56.789Z"},
    {INT64_C(951782400000), "2000-02-29T00:00:00.000Z"},
    {INT64_C(-62135596800000), "0001-01-01T00:00:00.000Z"},
    {INT64_MIN, "0000-01-01T00:00:00.000Z"},
    {INT64_MAX, "9999-12-31T23:59:59.999Z"},
};

/* Catches: local time, a lost fraction, and a year of five digits that overflows its room. */
START_TEST(a_moment_is_written_as_rfc_3339)
{
    char text[MG_TIME_TEXT_SIZE];
    mg_time_format(MOMENTS[_i].ms, text);
    ck_assert_str_eq(text, MOMENTS[_i].text);
}
END_TEST

static const struct {
    const char *text;
    int64_t ms;
    const char *shortest;
} DURATIONS[] = {
    {"500ms", 500, "500ms"},
    {"0s", 0, "0s"},
    {"0d", 0, "0s"},
    {"10s", 10000, "10s"},
    {"90s", 90000, "90s"},
    {"60s", 60000, "1m"},
    {"15m", 15 * 60000, "15m"},
    {"120m", 2 * HOUR_MS, "2h"},
    {"36h", 36 * HOUR_MS, "36h"},
    {"48h", 2 * DAY_MS, "2d"},
    {"1001ms", 1001, "1001ms"},
    {"3650d", 3650 * DAY_MS, "3650d"},
};

/* Catches: a unit taken for another, and a duration that does not survive being printed. */
START_TEST(a_duration_is_read_and_written_shortest)
{
    char text[32];
    ck_assert_int_eq(mg_duration_parse(DURATIONS[_i].text), DURATIONS[_i].ms);
    mg_duration_format(DURATIONS[_i].ms, text, sizeof text);
    ck_assert_str_eq(text, DURATIONS[_i].shortest);
    ck_assert_int_eq(mg_duration_parse(text), DURATIONS[_i].ms);
}
END_TEST

static const char *const NOT_DURATIONS[] = {
    "",
    "s",
    "10",
    "10 s",
    " 10s",
    "10s ",
    "-1s",
    "+1s",
    "1.5s",
    "1h30m",
    "10sec",
    "10S",
    "0x10s",
    "3651d",
    "87601h",
    "99999999999999999999ms",
    "ms",
    "1w",
    "9223372036854775807d",
    "9223372036854775808ms",
};

/* Catches: a duration that overflows into a short one, and half-read texts. */
START_TEST(what_is_no_duration_is_refused)
{
    ck_assert_int_eq(mg_duration_parse(NOT_DURATIONS[_i]), -1);
}
END_TEST

/* Catches: an option that was not given, parsed. */
START_TEST(no_text_is_no_duration)
{
    ck_assert_int_eq(mg_duration_parse(NULL), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *tests = tcase_create("clock");
    tcase_add_test(tests, the_clocks_agree_with_each_other);
    tcase_add_loop_test(tests, a_moment_is_written_as_rfc_3339, 0, sizeof MOMENTS / sizeof MOMENTS[0]);
    tcase_add_loop_test(tests, a_duration_is_read_and_written_shortest, 0,
                        sizeof DURATIONS / sizeof DURATIONS[0]);
    tcase_add_loop_test(tests, what_is_no_duration_is_refused, 0,
                        sizeof NOT_DURATIONS / sizeof NOT_DURATIONS[0]);
    tcase_add_test(tests, no_text_is_no_duration);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
