/* An order's story for people: rounds of waiting that are equal take one line, and no other line is left
 * out. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli.h"
#include "suite.h"

static const char *const COLUMNS[] = {"version", "at",          "cause_kind", "by_whom",
                                      "step",    "transitions", "statuses",   "reason"};
#define COLUMN_COUNT ((int)(sizeof(COLUMNS) / sizeof(COLUMNS[0])))
#define EVENTS_MAX   64

static char *columns[COLUMN_COUNT];
static char *cells[EVENTS_MAX * COLUMN_COUNT];
static struct mg_table events;
static struct mg_style style; /* in UTC, with authors */
static int second;

static void setup(void)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        columns[i] = strdup(COLUMNS[i]);
    }
    events = (struct mg_table){.column_count = COLUMN_COUNT, .columns = columns, .cells = cells};
    second = 0;
    style = (struct mg_style){.shows_authors = true};
}

static void teardown(void)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        free(columns[i]);
    }
    for (int i = 0; i < events.row_count * COLUMN_COUNT; i++) {
        free(cells[i]);
    }
}

MG_PRINTF(1, 2) static char *text_of(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return strdup(text);
}

/* A second after the one before it. `statuses` NULL: none. */
static void event(const char *cause, const char *step, const char *why, const char *from, const char *to,
                  const char *reason, int attempt, const char *statuses)
{
    char **row = &cells[events.row_count++ * COLUMN_COUNT];
    row[0] = text_of("%d", events.row_count);
    row[1] = text_of("2026-01-31T12:%02d:%02d.000Z", second / 60, second % 60);
    row[2] = strdup(cause);
    row[3] = strdup("s-1");
    row[4] = strdup(step);
    row[5] = text_of("[{\"step\":\"%s\",\"from\":\"%s\",\"to\":\"%s\",\"attempt\":%d,\"kind\":\"do\","
                     "\"reason\":\"%s\",\"due_at\":\"2026-01-31T13:00:%02d.000Z\"}]",
                     step, from, to, attempt, reason, second % 60);
    row[6] = statuses != NULL ? strdup(statuses) : NULL;
    row[7] = strdup(why);
    second++;
}

static void unserved(int attempt)
{
    event("due", "charge", "the step's wait is over", "waiting", "running", "none", attempt, NULL);
    event("reply", "charge", "the circuit breaker is open", "running", "waiting", "breaker_open", attempt,
          NULL);
}

static void failed(int attempt, const char *why)
{
    event("due", "charge", "the step's wait is over", "waiting", "running", "none", attempt, NULL);
    event("reply", "charge", why, "running", "waiting", "reply_transient", attempt, NULL);
    event("due", "charge", "the step's wait is over", "waiting", "waiting", "breaker_open", attempt, NULL);
}

/* Replaces the first `from` in the text. */
static void replace(char **text, const char *from, const char *to)
{
    char *at = strstr(*text, from);
    ck_assert_ptr_nonnull(at);
    *at = '\0';
    char *whole = text_of("%s%s%s", *text, to, at + strlen(from));
    free(*text);
    *text = whole;
}

static const char *told_of(const struct mg_table *steps)
{
    static char text[16384];
    FILE *out = fmemopen(text, sizeof(text), "w");
    memset(text, 0, sizeof(text));
    ck_assert_ptr_nonnull(out);
    mg_story_print(out, &style, NULL, steps, &events);
    (void)fclose(out);
    return text;
}

static const char *told(void)
{
    return told_of(NULL);
}

static int lines(void)
{
    int count = 0;
    for (const char *at = told(); *at != '\0'; at++) {
        count += *at == '\n';
    }
    return count;
}

/* Would catch: hundreds of lines for an hour in which nothing happened. */
START_TEST(equal_rounds_of_waiting_take_one_line)
{
    for (int i = 0; i < 8; i++) {
        unserved(2 + i);
    }
    ck_assert_str_eq(
        told(), "2026-01-31T12:00:00.000Z  charge            waited 15 s, 8 looks: the circuit breaker of "
                "the service is open (attempts 2 to 9)\n");
}
END_TEST

/* Would catch: calls that failed, lost among those that were not made. */
START_TEST(rounds_that_called_the_service_show_its_answer)
{
    for (int i = 0; i < 3; i++) {
        failed(2 + i, "payment answered 503");
        second += 60;
    }
    failed(5, "payment answered 500");
    ck_assert_ptr_nonnull(strstr(told(), "waited 2 min, 3 looks: the circuit breaker of the service is open "
                                         "(attempts 2 to 4, 3 failed: payment answered 503)\n"));
    ck_assert_ptr_nonnull(strstr(told(), "reply: payment answered 500"));
    ck_assert_int_eq(lines(), 1 + 3 * 2);
}
END_TEST

/* Would catch: lines by the hundred again, where some rounds called the service and others did not. */
START_TEST(rounds_of_both_kinds_take_one_line)
{
    unserved(2);
    failed(3, "payment answered 503");
    unserved(4);
    unserved(5);
    failed(6, "payment answered 503");
    ck_assert_int_eq(lines(), 1);
    ck_assert_ptr_nonnull(strstr(told(), "waited 11 s, 5 looks: the circuit breaker of the service is open "
                                         "(attempts 2 to 6, 2 failed: payment answered 503)\n"));
    failed(7, "payment answered 500");
    unserved(8);
    ck_assert_int_eq(lines(), 2);
    ck_assert_ptr_nonnull(strstr(told(), "(attempts 7 to 8, 1 failed: payment answered 500)\n"));
}
END_TEST

/* Would catch: an operator's pause in the middle of an outage. */
START_TEST(rounds_that_wait_for_something_else_are_distinguished)
{
    failed(2, "payment answered 503");
    event("due", "charge", "the step's wait is over", "waiting", "running", "none", 3, NULL);
    event("reply", "charge", "paused", "running", "waiting", "service_paused", 3, NULL);
    ck_assert_int_eq(lines(), 2 * events.row_count);
}
END_TEST

/* Would catch: a number of attempts that all kinds share, alongside a limit of one kind. */
START_TEST(a_step_has_its_attempts_by_kind)
{
    char *step_columns[] = {(char[]){"step"}, (char[]){"state"}, (char[]){"maybe"}, (char[]){"error_text"}};
    char *step_cells[] = {
        (char[]){"charge"}, (char[]){"undone"},  (char[]){"t"}, (char[]){"payment answered 503"},
        (char[]){"ship"},   (char[]){"pending"}, (char[]){"f"}, NULL};
    const struct mg_table steps = {
        .row_count = 2, .column_count = 4, .columns = step_columns, .cells = step_cells};
    for (int i = 0; i < 3; i++) {
        failed(2 * i + 1, "payment answered 503");
        event("due", "charge", "", "unknown", "running", "none", 2 * i + 2, NULL);
        replace(&cells[5 + (events.row_count - 1) * COLUMN_COUNT], "\"do\"", "\"verify\"");
    }
    event("due", "charge", "", "undo_waiting", "undo_running", "none", 7, NULL);
    replace(&cells[5 + (events.row_count - 1) * COLUMN_COUNT], "\"do\"", "\"undo\"");
    event("due", "book", "", "pending", "running", "none", 1, NULL);
    ck_assert_ptr_nonnull(
        strstr(told_of(&steps), "  charge           undone        attempts: 3 do, 1 undo, 3 verify, may have "
                                "happened, earlier failure: payment answered 503\n"
                                "  ship             pending       no attempt\n\n"));
    free(cells[0]);
    cells[0] = strdup("7"); /* those before it are left out */
    ck_assert_ptr_nonnull(strstr(told_of(&steps), "attempts shown: 3 do, 1 undo, 3 verify, may"));
}
END_TEST

START_TEST(one_round_is_printed_as_it_was)
{
    unserved(2);
    ck_assert_int_eq(lines(), 4);
}
END_TEST

/* Would catch: a step's end, a status or another step's event that is taken for waiting. */
START_TEST(events_other_than_waiting_are_printed_unchanged)
{
    static const char STATUS[] = "[{\"status\":\"accepted\",\"seq\":1}]";
    for (int i = 0; i < 2; i++) { /* its client gets a status */
        event("due", "charge", "the step's wait is over", "waiting", "running", "none", 2 + i, NULL);
        event("reply", "charge", "the circuit breaker is open", "running", "waiting", "breaker_open", 2 + i,
              STATUS);
    }
    for (int i = 0; i < 2; i++) { /* one step goes out, another comes back */
        event("due", "charge", "the step's wait is over", "waiting", "running", "none", 4 + i, NULL);
        event("reply", "ship", "the circuit breaker is open", "running", "waiting", "breaker_open", 1, NULL);
    }
    event("due", "charge", "the step's wait is over", "waiting", "running", "none", 6, NULL);
    event("reply", "charge", "", "running", "done", "none", 6, NULL);
    for (int i = 0; i < 2; i++) { /* retries of a service that is there */
        event("due", "book", "the step's wait is over", "waiting", "running", "none", 1 + i, NULL);
        event("reply", "book", "no", "running", "waiting", "reply_transient", 1 + i, NULL);
    }
    ck_assert_int_eq(lines(), 2 * events.row_count + 2);
}
END_TEST

/* Would catch: a story that ends within a round, read beyond its end. */
START_TEST(unfinished_rounds_are_printed)
{
    unserved(2);
    unserved(3);
    event("due", "charge", "the step's wait is over", "waiting", "running", "none", 4, NULL);
    ck_assert_int_eq(lines(), 3);
    ck_assert_ptr_nonnull(strstr(told(), "waiting → running  (do, attempt 4)"));
}
END_TEST

START_TEST(rounds_without_a_moment_are_printed_without_a_time)
{
    unserved(2);
    unserved(3);
    free(cells[1]);
    cells[1] = strdup("x");
    ck_assert_ptr_nonnull(strstr(told(), "waited, 2 looks:"));
}
END_TEST

/* Would catch: an order without a story for the sake of one event. */
START_TEST(an_unreadable_list_hides_no_other_event)
{
    unserved(2);
    unserved(3);
    event("reply", "charge", "", "running", "done", "none", 3, "[{\"status\":\"\\u0000\"}]");
    free(cells[1 * COLUMN_COUNT + 5]);
    cells[1 * COLUMN_COUNT + 5] = strdup("[{\"step\":");
    const char *story = told();
    ck_assert_ptr_nonnull(strstr(story, "(do, attempt 2)"));
    ck_assert_ptr_nonnull(strstr(story, "by s-1\n"));
    ck_assert_ptr_nonnull(strstr(story, "transitions could not be read: "));
    ck_assert_ptr_nonnull(strstr(story, "waiting → running  (do, attempt 3)"));
    ck_assert_ptr_nonnull(strstr(story, "running → done"));
    ck_assert_ptr_nonnull(strstr(story, "statuses could not be read: "));
    ck_assert_ptr_nonnull(strstr(story, "NUL"));
}
END_TEST

/* Would catch: the end of an order that the story hides, because its output has numbers as services have
 * them. */
START_TEST(an_output_hides_no_status)
{
    event(
        "reply", "charge", "", "running", "done", "none", 3,
        "[{\"status\":\"step_completed\",\"step\":\"charge\",\"seq\":2},{\"status\":\"processed\",\"seq\":3,"
        "\"output\":{\"amount\":123456789012345678901234567890,\"rate\":1e400,\"status\":\"not ours\"}}]");
    const char *story = told();
    ck_assert_msg(strstr(story, "status to client: step_completed charge (2)\n") != NULL, "%s", story);
    ck_assert_msg(strstr(story, "status to client: processed (3)\n") != NULL, "%s", story);
    ck_assert_ptr_null(strstr(story, "could not be read"));
    ck_assert_ptr_null(strstr(story, "not ours"));
}
END_TEST

/* Would catch: a round whose client may have got a status. */
START_TEST(an_event_that_cannot_be_read_is_part_of_no_round)
{
    unserved(2);
    unserved(3);
    cells[3 * COLUMN_COUNT + 6] = strdup("[");
    ck_assert_int_eq(lines(), 4 * 2 + 1);
}
END_TEST

/* Would catch: a time that must be reckoned from another, the name of a process in each line, and an operator
 * without a name. */
START_TEST(for_people_times_count_from_the_acceptance_and_processes_are_not_named)
{
    style = (struct mg_style){.now_ms = INT64_C(1769861000000), .began_ms = INT64_C(1769860799500)};
    event("reply", "charge", "http_503", "running", "waiting", "reply_transient", 1, NULL);
    event("resume", "charge", "repaired", "failed", "running", "resumed", 2, NULL);
    ck_assert_ptr_nonnull(strstr(told(), "+0.500 s    charge            reply: http_503\n"));
    ck_assert_ptr_nonnull(strstr(told(), ", for 60 m\n"));
    ck_assert_ptr_nonnull(strstr(told(), "resume: repaired by s-1\n"));
    ck_assert_ptr_null(strstr(told(), "2026-"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("story");
    TCase *tests = tcase_create("story");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, equal_rounds_of_waiting_take_one_line);
    tcase_add_test(tests, rounds_that_called_the_service_show_its_answer);
    tcase_add_test(tests, rounds_of_both_kinds_take_one_line);
    tcase_add_test(tests, rounds_that_wait_for_something_else_are_distinguished);
    tcase_add_test(tests, a_step_has_its_attempts_by_kind);
    tcase_add_test(tests, one_round_is_printed_as_it_was);
    tcase_add_test(tests, events_other_than_waiting_are_printed_unchanged);
    tcase_add_test(tests, unfinished_rounds_are_printed);
    tcase_add_test(tests, rounds_without_a_moment_are_printed_without_a_time);
    tcase_add_test(tests, an_unreadable_list_hides_no_other_event);
    tcase_add_test(tests, an_output_hides_no_status);
    tcase_add_test(tests, an_event_that_cannot_be_read_is_part_of_no_round);
    tcase_add_test(tests, for_people_times_count_from_the_acceptance_and_processes_are_not_named);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
