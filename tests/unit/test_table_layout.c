/*
 * The columns of a table on a terminal. Would catch: a row that a terminal wraps, an id that is cut, a text
 * that is cut in a file, and a colour without a terminal.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "suite.h"
#include "table_layout.h"

#define ORDER_ID "0198a1c2-7d3e-7f00-9a31-6f1f0f5a2b77"
#define LONG     "the service answered 422: über diesen Zug ist kein Platz mehr frei, weder heute noch morgen"

static char *names[] = {(char[]){"alert_id"},  (char[]){"order_id"}, (char[]){"state"},   (char[]){"text"},
                        (char[]){"opened_at"}, (char[]){"version"},  (char[]){"acked_by"}};
#define COUNT ((int)(sizeof(names) / sizeof(names[0])))

static char *cells[] = {(char[]){"17"},
                        (char[]){ORDER_ID},
                        (char[]){"error"},
                        (char[]){LONG},
                        (char[]){"2026-01-31T12:00:00.000Z"},
                        (char[]){"3"},
                        NULL,
                        (char[]){"18"},
                        (char[]){"2026-01-31T12:00:00.000Z"},
                        (char[]){"processed"},
                        (char[]){"none"},
                        NULL,
                        (char[]){"4"},
                        (char[]){"otto"}};

static const struct mg_table table = {
    .row_count = 2, .column_count = COUNT, .columns = names, .cells = cells};
static const char *const ORDERED[] = {"order_id", "state", "opened_at", "text", "acked_by", "version", NULL};

static const char *printed(const struct mg_style *style)
{
    static char text[4096];
    struct mg_layout layout;
    FILE *out = fmemopen(text, sizeof(text), "w");
    ck_assert_ptr_nonnull(out);
    memset(text, 0, sizeof(text));
    mg_layout_make(&table, ORDERED, style, &layout);
    mg_layout_print(out, &layout);
    (void)fclose(out);
    return text;
}

START_TEST(without_a_terminal_nothing_is_cut)
{
    const struct mg_style style = {.columns = 0};
    const char *text = printed(&style);
    ck_assert_ptr_nonnull(strstr(text, LONG));
    ck_assert_ptr_nonnull(strstr(text, "2026-01-31T12:00:00.000Z"));
    ck_assert_ptr_null(strchr(text, '\x1b'));
    ck_assert(strncmp(text, "order_id", 8) == 0); /* the order of the list, not that of the report */
    ck_assert_ptr_null(strstr(text, " \n"));      /* no blanks at a line's end */
    ck_assert_ptr_null(strstr(text, "none"));
}
END_TEST

START_TEST(a_row_is_as_wide_as_the_terminal_at_most)
{
    const struct mg_style style = {.columns = _i, .now_ms = INT64_C(1800000000000)};
    char text[4096], *rest = text, *line;
    (void)snprintf(text, sizeof(text), "%s", printed(&style));
    ck_assert_ptr_nonnull(strstr(text, ORDER_ID)); /* at any width */
    while ((line = strsep(&rest, "\n")) != NULL) {
        int columns = mg_text_columns(mg_slice_of(line));
        ck_assert_msg(columns <= _i, "%d columns of %d: %s", columns, _i, line);
    }
}
END_TEST

START_TEST(the_least_important_column_goes_first)
{
    struct mg_style style = {.columns = 100, .now_ms = INT64_C(1800000000000)};
    const char *text = printed(&style);
    ck_assert_ptr_nonnull(strstr(text, "acked_by"));
    ck_assert_ptr_nonnull(strstr(text, "…"));
    style.columns = 85;
    text = printed(&style);
    ck_assert_ptr_null(strstr(text, "version"));
    ck_assert_ptr_nonnull(strstr(text, "text"));
}
END_TEST

START_TEST(a_time_is_relative_and_an_id_that_looks_like_one_is_not)
{
    const struct mg_style style = {.now_ms = INT64_C(1769860928000)}; /* 2026-01-31T12:02:08Z */
    const char *text = printed(&style);
    ck_assert_ptr_nonnull(strstr(text, "2 m ago"));
    ck_assert_ptr_nonnull(strstr(text, "\n2026-01-31T12:00:00.000Z"));
}
END_TEST

START_TEST(a_state_has_its_colour)
{
    const struct mg_style style = {.has_color = true};
    const char *text = printed(&style);
    ck_assert_ptr_nonnull(strstr(text, "\x1b[1;31merror\x1b[0m    "));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[32mprocessed\x1b[0m"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("table layout");
    TCase *tests = tcase_create("table layout");
    tcase_add_test(tests, without_a_terminal_nothing_is_cut);
    tcase_add_loop_test(tests, a_row_is_as_wide_as_the_terminal_at_most, 54, 160);
    tcase_add_test(tests, the_least_important_column_goes_first);
    tcase_add_test(tests, a_time_is_relative_and_an_id_that_looks_like_one_is_not);
    tcase_add_test(tests, a_state_has_its_colour);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
