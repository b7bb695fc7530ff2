/* Cron expressions, against a slow judge that reads each field anew for each minute. */
#include "schedule/cron.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "suite.h"

#define MINUTES_OF_DAY 1440

static struct mg_cron parsed(const char *text)
{
    struct mg_cron cron;
    char why[MG_CRON_WHY_SIZE];
    ck_assert_msg(mg_cron_parse(mg_slice_of(text), &cron, why), "%s: %s", text, why);
    return cron;
}

/* ---- the judge: numbers only ---- */

static bool field_has(const char *field, int value, int min, int max)
{
    char copy[64], *rest = NULL;
    snprintf(copy, sizeof(copy), "%s", field);
    for (char *part = strtok_r(copy, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
        int from = min, to = max, step = 1;
        char *slash = strchr(part, '/');
        if (slash != NULL) {
            step = (int)strtol(slash + 1, NULL, 10);
            *slash = '\0';
        }
        if (strcmp(part, "*") != 0) {
            from = to = (int)strtol(part, NULL, 10);
            char *dash = strchr(part, '-');
            to = dash != NULL ? (int)strtol(dash + 1, NULL, 10) : from;
        }
        if (value >= from && value <= to && (value - from) % step == 0) {
            return true;
        }
    }
    return false;
}

struct judge {
    char fields[5][64];
    int64_t day; /* the last one read */
    bool is_day_named;
};

static bool day_has(const struct judge *judge, int64_t day)
{
    const char(*fields)[64] = judge->fields;
    struct tm tm;
    time_t seconds = (time_t)(day * 86400);
    ck_assert_ptr_nonnull(gmtime_r(&seconds, &tm));
    bool is_seven = tm.tm_wday == 0 && strcmp(fields[4], "*") != 0 && field_has(fields[4], 7, 0, 6);
    bool is_weekday = field_has(fields[4], tm.tm_wday, 0, 6) || is_seven;
    bool is_day = field_has(fields[2], tm.tm_mday, 1, 31);
    bool is_either = fields[2][0] != '*' && fields[4][0] != '*';
    return field_has(fields[3], tm.tm_mon + 1, 1, 12) &&
           (is_either ? is_day || is_weekday : is_day && is_weekday);
}

static bool judge_has(struct judge *judge, int64_t minute)
{
    if (minute / MINUTES_OF_DAY != judge->day) {
        judge->day = minute / MINUTES_OF_DAY;
        judge->is_day_named = day_has(judge, judge->day);
    }
    return judge->is_day_named && field_has(judge->fields[1], (int)(minute / 60 % 24), 0, 23) &&
           field_has(judge->fields[0], (int)(minute % 60), 0, 59);
}

static void agrees(const char *text, int64_t from, int64_t until)
{
    const struct mg_cron cron = parsed(text);
    struct judge judge = {.day = -1};
    ck_assert_int_eq(sscanf(text, "%63s %63s %63s %63s %63s", judge.fields[0], judge.fields[1],
                            judge.fields[2], judge.fields[3], judge.fields[4]),
                     5);
    int64_t next = mg_cron_next(&cron, from - 1);
    for (int64_t minute = from; minute < until; minute++) {
        bool is_named = judge_has(&judge, minute);
        if (is_named != (minute == next)) {
            ck_abort_msg("%s: minute %lld", text, (long long)minute);
        }
        next = is_named ? mg_cron_next(&cron, minute) : next;
    }
}

static int64_t minute_of(int year, int month, int day, int hour, int minute)
{
    struct tm tm = {
        .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute};
    return (int64_t)timegm(&tm) / 60;
}

/* Would catch: a named minute that is passed over, or one that is not named. */
START_TEST(each_minute_of_a_year_is_as_the_slow_judge_has_it)
{
    static const char *const TEXTS[] = {"30 2 * * *",         "*/15 * * * *", "0 0 1 * *",   "59 23 31 12 *",
                                        "0,30 8-18 * * 1-5",  "7 */5 29 2 *", "0 12 13 * 5", "0 12 */2 * 1",
                                        "1-59/7 3 * 1-6/2 *", "0 6 * * 0",    "0 6 * * 7",   "0 6 * * 5-7"};
    int64_t from = minute_of(2027, 6, 30, 0, 0), until = minute_of(2028, 7, 1, 0, 0);
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        agrees(TEXTS[i], from, until);
    }
}
END_TEST

/* Would catch: a mistake in a rare expression. */
START_TEST(random_expressions_are_as_the_slow_judge_has_them)
{
    static const char *const FIELDS[5][6] = {{"*", "0", "*/7", "5-25", "1,2,59", "10-50/20"},
                                             {"*", "23", "*/6", "0-3", "2,14", "1-22/7"},
                                             {"*", "31", "*/9", "28-31", "1,15", "29"},
                                             {"*", "2", "*/5", "6-8", "2,12", "4"},
                                             {"*", "7", "*/3", "1-5", "0,3", "6"}};
    unsigned int seed = 7;
    for (int i = 0; i < 60; i++) {
        char text[128];
        const char *picked[5];
        struct mg_cron cron;
        char why[MG_CRON_WHY_SIZE];
        for (int field = 0; field < 5; field++) {
            picked[field] = FIELDS[field][rand_r(&seed) % 6];
        }
        snprintf(text, sizeof(text), "%s %s %s %s %s", picked[0], picked[1], picked[2], picked[3], picked[4]);
        if (!mg_cron_parse(mg_slice_of(text), &cron, why)) {
            ck_assert_ptr_nonnull(strstr(why, "never")); /* 31 February */
            continue;
        }
        int64_t from = minute_of(2027 + rand_r(&seed) % 3, 1 + rand_r(&seed) % 12, 1, 0, 0);
        agrees(text, from, from + 60 * MINUTES_OF_DAY);
    }
}
END_TEST

/* Would catch: a search that ends before the next leap day, across a year without one. */
START_TEST(a_leap_day_is_found_across_a_century_without_one)
{
    const struct mg_cron cron = parsed("0 0 29 2 *");
    ck_assert_int_eq(mg_cron_next(&cron, minute_of(2096, 2, 29, 0, 0)), minute_of(2104, 2, 29, 0, 0));
    ck_assert_int_eq(mg_cron_next(&cron, minute_of(2028, 2, 28, 23, 59)), minute_of(2028, 2, 29, 0, 0));
}
END_TEST

/* Would catch: names that count from another day or month. */
START_TEST(names_are_the_numbers_that_they_stand_for)
{
    const struct mg_cron names = parsed("0 9 * JAN,jul mon-fri"), numbers = parsed("0 9 * 1,7 1-5");
    ck_assert_mem_eq(&names, &numbers, sizeof(names));
    const struct mg_cron sunday = parsed("0 9 * * sun"), seven = parsed("0 9 * * 7");
    ck_assert_mem_eq(&sunday, &seven, sizeof(sunday));
}
END_TEST

/* Would catch: an expression of another dialect that is taken for something else. */
START_TEST(other_dialects_and_mistakes_are_refused_with_the_field)
{
    static const char *const TEXTS[][2] = {{"30 2 * *", "five"},
                                           {"0 30 2 * * *", "five"},
                                           {"@daily", "five"},
                                           {"", "five"},
                                           {"60 2 * * *", "minute"},
                                           {"-1 2 * * *", "minute"},
                                           {"5/15 2 * * *", "minute"},
                                           {"*/0 2 * * *", "minute"},
                                           {"*/90 * * * *", "minute"},
                                           {"0-10/11 * * * *", "minute"},
                                           {"0 */36 * * *", "hour"},
                                           {"1, 2 * * *", "minute"},
                                           {"0 24 * * *", "hour"},
                                           {"0 18-8 * * *", "hour"},
                                           {"0 2 0 * *", "day of month"},
                                           {"0 2 L * *", "day of month"},
                                           {"0 2 15W * *", "day of month"},
                                           {"0 2 ? * *", "day of month"},
                                           {"0 2 * 13 *", "month"},
                                           {"0 2 * foo *", "month"},
                                           {"0 2 * * 8", "day of week"},
                                           {"0 2 * * fri-mon", "day of week"},
                                           {"0 2 * * 5#3", "day of week"},
                                           {"0 2 31 2 *", "never"},
                                           {"0 2 30,31 2 *", "never"},
                                           {"99999999999 2 * * *", "minute"}};
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        struct mg_cron cron;
        char why[MG_CRON_WHY_SIZE] = "";
        ck_assert_msg(!mg_cron_parse(mg_slice_of(TEXTS[i][0]), &cron, why), "%s", TEXTS[i][0]);
        ck_assert_msg(strstr(why, TEXTS[i][1]) != NULL, "%s: %s", TEXTS[i][0], why);
    }
}
END_TEST

/* Would catch: a date that the calendar has not, or one that is a day off. */
START_TEST(a_date_is_read_only_if_the_calendar_has_it)
{
    ck_assert_int_eq(mg_civil_date_parse(mg_slice_of("1970-01-01")), 0);
    ck_assert_int_eq(mg_civil_date_parse(mg_slice_of("2028-02-29")), minute_of(2028, 2, 29, 0, 0));
    ck_assert_int_eq(mg_civil_date_parse(mg_slice_of("9999-12-31")), minute_of(9999, 12, 31, 0, 0));
    static const char *const WRONG[] = {"2027-02-29", "2027-13-01", "2027-00-01", "2027-01-00", "2027-01-32",
                                        "1969-12-31", "2027-1-1",   "2027/01/01", "",           "2027-01-0x"};
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        ck_assert_msg(mg_civil_date_parse(mg_slice_of(WRONG[i])) == -1, "%s", WRONG[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cron");
    TCase *tests = tcase_create("cron");
    tcase_add_test(tests, each_minute_of_a_year_is_as_the_slow_judge_has_it);
    tcase_add_test(tests, random_expressions_are_as_the_slow_judge_has_them);
    tcase_add_test(tests, a_leap_day_is_found_across_a_century_without_one);
    tcase_add_test(tests, names_are_the_numbers_that_they_stand_for);
    tcase_add_test(tests, other_dialects_and_mistakes_are_refused_with_the_field);
    tcase_add_test(tests, a_date_is_read_only_if_the_calendar_has_it);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
