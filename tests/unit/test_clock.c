/* Clocks, and moments and durations as text. */
#include <check.h>
#include <inttypes.h>

#include "base/clock.h"
#include "core/far_clock.h"
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
    mg_duration_format(DURATIONS[_i].ms, text, sizeof(text));
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
START_TEST(a_text_that_is_no_duration_is_refused)
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

static struct mg_far_clock far;

static void far_setup(void)
{
    mg_far_clock_init(&far, 101000, 1000);
    (void)mg_far_clock_note(&far, 101000, 1000, 1002);
}

/* Catches: a database that is slow for a while, taken for one with a clock that is behind. Requests would
 * carry an outdated time, and agents would overestimate the time that they have left. */
START_TEST(a_slow_answer_does_not_move_the_other_machine_s_clock)
{
    ck_assert_int_eq(mg_far_clock_now_ms(&far, 2000), 102000);
    (void)mg_far_clock_note(&far, 106000, 2000, 7000); /* read at 6000, as it happens */
    ck_assert_int_eq(mg_far_clock_now_ms(&far, 7000), 107000);
    (void)mg_far_clock_note(&far, 80000, 10000, 10004); /* set back by half a minute */
    ck_assert_int_eq(mg_far_clock_now_ms(&far, 10004), 80000);
    (void)mg_far_clock_note(&far, 3680000, 20000, 20004); /* and an hour forward */
    ck_assert_int_eq(mg_far_clock_now_ms(&far, 20004), 3680000);
}
END_TEST

static void assert_spared(int64_t boot_ms, int64_t extra_ms, int64_t after_ms, int64_t before_ms)
{
    struct mg_spared spared = mg_far_clock_spared(&far, boot_ms, extra_ms);
    ck_assert_int_eq(spared.after_ms, after_ms);
    ck_assert_int_eq(spared.before_ms, before_ms);
}

/* Catches: attempts and orders that end with all their time left because the clock was set forward; deadlines
 * that are spared for longer than that, or for ever. */
START_TEST(deadlines_that_a_clock_set_forward_has_passed_keep_their_time)
{
    assert_spared(1002, 0, 0, 0);
    (void)mg_far_clock_note(&far, 103500, 3000, 3001); /* half a second is no step */
    assert_spared(3001, 0, 0, 0);
    (void)mg_far_clock_note(&far, 3704500, 4000, 4000); /* an hour */
    assert_spared(4000, 0, 104500, 3704750);
    assert_spared(14000, 3000, 111500, 3704750);
    assert_spared(3604250, 0, 0, 0);
    assert_spared(3604250, 3000, 3701750, 3704750);
    (void)mg_far_clock_note(&far, 114500, 14000, 14000); /* and back */
    assert_spared(14000, 0, 0, 0);
}
END_TEST

/* Catches: attempts and orders that end because a clock that was set forward is corrected a little; later
 * deadlines, taken for ones that the clock has passed. */
START_TEST(a_step_back_leaves_those_their_time_that_a_longer_step_forward_has_passed)
{
    (void)mg_far_clock_note(&far, 3704000, 4000, 4000);   /* an hour forward */
    (void)mg_far_clock_note(&far, 3686000, 16000, 16000); /* half a minute back */
    assert_spared(16000, 0, 116000, 3686250);
    (void)mg_far_clock_note(&far, 3746000, 76000, 76000); /* goes on */
    assert_spared(76000, 0, 176000, 3686250);
    (void)mg_far_clock_note(&far, 180000, 80000, 80000); /* the rest of the hour back */
    assert_spared(80000, 3000, 0, 0);
}
END_TEST

/* Catches: attempts and orders that end at a second step forward, because it is taken for the only one. */
START_TEST(a_second_step_forward_leaves_those_their_time_that_the_first_has_passed)
{
    (void)mg_far_clock_note(&far, 3704000, 4000, 4000);   /* an hour forward */
    (void)mg_far_clock_note(&far, 7316000, 16000, 16000); /* and another */
    assert_spared(16000, 0, 116000, 7316250);
    (void)mg_far_clock_note(&far, 3726000, 26000, 26000); /* that one back */
    assert_spared(26000, 0, 126000, 3726250);
    (void)mg_far_clock_note(&far, 7400000, 3700000, 3700000); /* as much later as the first was long */
    assert_spared(3700000, 0, 0, 0);
    (void)mg_far_clock_note(&far, 7460000, 3700000, 3700000); /* a minute */
    assert_spared(3700000, 0, 7400000, 7460250);
}
END_TEST

/* Catches: a slow answer after which a quick one looks like a clock that was set forward. */
START_TEST(an_uncertainty_of_a_slow_answer_is_no_step)
{
    mg_far_clock_init(&far, 999000, 1000);
    (void)mg_far_clock_note(&far, 101000, 1000, 9000); /* read at 1000, and the wall clock is wrong */
    ck_assert_int_eq(mg_far_clock_now_ms(&far, 9000), 101000);
    (void)mg_far_clock_note(&far, 110000, 10000, 10001);
    ck_assert_int_eq(mg_far_clock_now_ms(&far, 10001), 110000);
    assert_spared(10001, 0, 0, 0);
}
END_TEST

/* Catches: a process that takes the difference between its own clock and the database's for a step. */
START_TEST(the_first_answer_is_no_step)
{
    mg_far_clock_init(&far, 101000, 1000);
    (void)mg_far_clock_note(&far, 3701000, 1000, 1002);
    assert_spared(1002, 0, 0, 0);
}
END_TEST

/* ---- deadlines from before a step back ---- */

/* The moment by the right clock. Boot times are counted from some hours after the boot. */
static int64_t right(int64_t boot_ms)
{
    return DAY_MS + boot_ms;
}

/* One answer while the clock is ahead of the right one. */
static void answered_once(int64_t boot_ms, int64_t ahead_ms)
{
    (void)mg_far_clock_note(&far, right(boot_ms) + ahead_ms, boot_ms, boot_ms);
}

/* The same, after steady answers by the clock as it was. */
static void answered(int64_t boot_ms, int64_t ahead_ms)
{
    while (far.is_read && far.asked_boot_ms + MG_FAR_CLOCK_SILENCE_MS < boot_ms) {
        int64_t asked_boot_ms = far.asked_boot_ms + MG_FAR_CLOCK_SILENCE_MS;
        (void)mg_far_clock_note(&far, asked_boot_ms + far.offset_ms, asked_boot_ms, asked_boot_ms);
    }
    answered_once(boot_ms, ahead_ms);
}

/* Right until 100 s; an hour back until 130 s, and then right again. */
static void back_and_right(void)
{
    mg_far_clock_init(&far, DAY_MS, 0);
    answered(-2 * HOUR_MS, 0);
    answered(100000, 0);
    answered(100250, -HOUR_MS);
    answered(129750, -HOUR_MS);
    answered(130000, 0);
}

static bool is_spared_at(int64_t boot_ms, int64_t deadline_ms, int64_t set_at_ms)
{
    struct mg_spared spared = mg_far_clock_spared(&far, boot_ms, 3000);
    return mg_spared_has(&spared, deadline_ms, set_at_ms);
}

/* Catches: orders and attempts that have an hour more because the clock was an hour back for a while; ones of
 * the low clock that end at once. */
START_TEST(a_deadline_of_before_a_step_back_is_judged_by_its_own_clock)
{
    back_and_right();
    ck_assert(!is_spared_at(130000, right(110000), right(50000)));
    ck_assert(!is_spared_at(130000, right(127000), right(100000)));
    ck_assert(is_spared_at(130000, right(127001), right(100000))); /* the grace */
    ck_assert(!is_spared_at(130000, right(110000), right(-2 * HOUR_MS)));
    ck_assert(is_spared_at(130000, right(110000), right(110000) - HOUR_MS));
    ck_assert(!is_spared_at(130000, right(120000) - HOUR_MS, right(110000) - HOUR_MS));
}
END_TEST

/* Catches: orders that wait for an hour more, because the clock was some seconds ahead when it went back, and
 * was then set right: a little lower than before. */
START_TEST(a_right_clock_below_the_high_one_makes_no_earlier_moment_a_low_one)
{
    mg_far_clock_init(&far, DAY_MS, 0);
    answered(-2 * HOUR_MS, 7000);
    answered(100000, 7000);
    answered(100250, -HOUR_MS);
    answered(129750, -HOUR_MS);
    answered(130000, 0);
    ck_assert(!is_spared_at(190000, right(120000), right(50000)));
    ck_assert(is_spared_at(190000, right(120000), right(110000) - HOUR_MS));
    struct mg_spared spared = mg_far_clock_spared(&far, 190000, 0);
    ck_assert_int_lt(spared.high.low_until_ms, right(50000));
}
END_TEST

/* Catches: a verdict by the high clock on what another one may have set. */
START_TEST(a_deadline_of_no_known_high_clock_is_spared_as_before)
{
    back_and_right();
    ck_assert(is_spared_at(130000, right(110000), right(-2 * HOUR_MS - 1))); /* before the first answer */
    ck_assert(is_spared_at(130000, right(110000), right(100001))); /* perhaps late by the low clock */
    ck_assert(is_spared_at(130000, right(110000), right(100000) - HOUR_MS)); /* between two answers */
    ck_assert(
        is_spared_at(130000, right(110000), right(130250) - HOUR_MS)); /* by a scheduler just after it */
    ck_assert(is_spared_at(130000, right(110000), right(130000)));
}
END_TEST

/* Catches: an order that was made while the clock was back by two hours, unseen, and that is taken for one of
 * the right clock: it ends with two hours left. */
START_TEST(after_a_silence_no_high_clock_is_known)
{
    int64_t set_at_ms = right(150000) - 2 * HOUR_MS;
    mg_far_clock_init(&far, DAY_MS, 0);
    answered(-2 * HOUR_MS - 100000, 0);
    answered(100000, 0);
    answered_once(200000, -HOUR_MS); /* by two hours until 190 s */
    answered(230000, 0);
    ck_assert(is_spared_at(230000, set_at_ms + 2 * HOUR_MS, set_at_ms));
    back_and_right();
    answered_once(500000, 0); /* perhaps back once more, and right again */
    answered_once(500250, HOUR_MS);
    ck_assert(is_spared_at(500250, right(510000), right(50000)));
}
END_TEST

/* Catches: attempts and orders that end with time left because the clock was set forward by more than it was
 * back. */
START_TEST(a_step_forward_beyond_the_high_clock_leaves_its_deadlines_their_time)
{
    back_and_right();
    answered(140000, HOUR_MS);
    ck_assert(is_spared_at(150000, right(160000), right(50000)));
    ck_assert(!is_spared_at(164000, right(160000), right(50000)));
    ck_assert(is_spared_at(164000, right(160000), right(135000)));
}
END_TEST

/* Catches: the high clock forgotten at a second step back, and attempts that began in the first stay below it
 * and end at the end of the second, since their order was written in between. */
START_TEST(a_second_step_back_leaves_the_high_clock_known)
{
    back_and_right();
    answered(140000, 0);
    answered(140250, -HOUR_MS);
    answered(160000, _i == 0 ? -HOUR_MS : -2 * HOUR_MS);
    answered(170000, 0);
    ck_assert(!is_spared_at(170000, right(150000), right(50000)));
    ck_assert(is_spared_at(170000, right(150000), right(135000)));
    ck_assert(is_spared_at(170000, right(150000), right(110000) - HOUR_MS));
    ck_assert(is_spared_at(170000, right(150000), right(150000) - HOUR_MS));
}
END_TEST

/* Catches: deadlines of the right clock that end at the second of two steps forward, judged by the clock that
 * was ahead in between. */
START_TEST(a_clock_that_was_ahead_before_judges_no_deadline_of_the_right_one)
{
    mg_far_clock_init(&far, DAY_MS, 0);
    answered(-2 * HOUR_MS, 0);
    answered(100000, 0);
    answered(100250, HOUR_MS);
    answered(110000, 0);
    answered(120000, HOUR_MS);
    ck_assert(is_spared_at(120000, right(200000), right(50000)));
    ck_assert(is_spared_at(120000, right(200000), right(115000)));
    ck_assert(!is_spared_at(204000, right(200000), right(50000)));
    answered(210000, 0);
    answered(220000, -30000);
    answered(230000, 0);
    ck_assert(!is_spared_at(230000, right(225000), right(-HOUR_MS)));
    ck_assert(is_spared_at(230000, right(225000), right(230100))); /* by a scheduler that reads it late */
}
END_TEST

/* Catches: deadlines of an earlier clock, lower than the high one, that are judged by the high one. */
START_TEST(a_high_clock_begins_where_a_lower_one_ended)
{
    mg_far_clock_init(&far, DAY_MS, 0);
    answered(-2 * HOUR_MS, 0);
    answered(100000, 0);
    answered(100250, HOUR_MS);
    answered(110000, HOUR_MS / 2);
    answered(2200000, HOUR_MS / 2);
    answered(2200250, 0);
    answered(2300000, HOUR_MS / 2);
    ck_assert(is_spared_at(2300000, right(3000000), right(50000)));
    ck_assert(!is_spared_at(2300000, right(2290000) + HOUR_MS / 2, right(1000000) + HOUR_MS / 2));
}
END_TEST

/* Catches: a new high clock taken for the earlier one, long after that was reached again. */
START_TEST(the_latest_step_back_counts)
{
    back_and_right();
    answered(100000 + 2 * HOUR_MS, 0);
    answered(100250 + 2 * HOUR_MS, -30000);
    answered(700000 + 2 * HOUR_MS, 0);
    ck_assert(!is_spared_at(700000 + 2 * HOUR_MS, right(690000 + 2 * HOUR_MS), right(HOUR_MS)));
    ck_assert(is_spared_at(700000 + 2 * HOUR_MS, right(690000 + 2 * HOUR_MS), right(90000 + 2 * HOUR_MS)));
    ck_assert(is_spared_at(700000 + 2 * HOUR_MS, right(690000 + 2 * HOUR_MS), right(50000)));
}
END_TEST

/* Catches: a verdict by a clock that is known only as far as this machine's clock has not drifted from it. */
START_TEST(a_step_back_is_forgotten_after_a_day)
{
    bool is_known = _i == 0;
    int64_t boot_ms = is_known ? DAY_MS : DAY_MS + 200000;
    mg_far_clock_init(&far, DAY_MS, 0);
    answered(-2 * HOUR_MS, 0);
    answered(100000, 0);
    answered(100250, -HOUR_MS);
    answered(boot_ms, 0);
    ck_assert(is_spared_at(boot_ms, right(boot_ms) - 10000, right(-HOUR_MS)) == !is_known);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock");
    TCase *tests = tcase_create("clock");
    tcase_add_test(tests, the_clocks_agree_with_each_other);
    tcase_add_loop_test(tests, a_moment_is_written_as_rfc_3339, 0, sizeof(MOMENTS) / sizeof(MOMENTS[0]));
    tcase_add_loop_test(tests, a_duration_is_read_and_written_shortest, 0,
                        sizeof(DURATIONS) / sizeof(DURATIONS[0]));
    tcase_add_loop_test(tests, a_text_that_is_no_duration_is_refused, 0,
                        sizeof(NOT_DURATIONS) / sizeof(NOT_DURATIONS[0]));
    tcase_add_test(tests, no_text_is_no_duration);
    suite_add_tcase(suite, tests);
    TCase *of_others = tcase_create("of others");
    tcase_add_checked_fixture(of_others, far_setup, NULL);
    tcase_add_test(of_others, a_slow_answer_does_not_move_the_other_machine_s_clock);
    tcase_add_test(of_others, deadlines_that_a_clock_set_forward_has_passed_keep_their_time);
    tcase_add_test(of_others, a_step_back_leaves_those_their_time_that_a_longer_step_forward_has_passed);
    tcase_add_test(of_others, a_second_step_forward_leaves_those_their_time_that_the_first_has_passed);
    tcase_add_test(of_others, the_first_answer_is_no_step);
    tcase_add_test(of_others, an_uncertainty_of_a_slow_answer_is_no_step);
    tcase_add_test(of_others, a_deadline_of_before_a_step_back_is_judged_by_its_own_clock);
    tcase_add_test(of_others, a_right_clock_below_the_high_one_makes_no_earlier_moment_a_low_one);
    tcase_add_test(of_others, a_deadline_of_no_known_high_clock_is_spared_as_before);
    tcase_add_test(of_others, after_a_silence_no_high_clock_is_known);
    tcase_add_test(of_others, a_step_forward_beyond_the_high_clock_leaves_its_deadlines_their_time);
    tcase_add_loop_test(of_others, a_second_step_back_leaves_the_high_clock_known, 0, 2);
    tcase_add_test(of_others, a_clock_that_was_ahead_before_judges_no_deadline_of_the_right_one);
    tcase_add_test(of_others, a_high_clock_begins_where_a_lower_one_ended);
    tcase_add_test(of_others, the_latest_step_back_counts);
    tcase_add_loop_test(of_others, a_step_back_is_forgotten_after_a_day, 0, 2);
    suite_add_tcase(suite, of_others);
    return run_suite(suite);
}
