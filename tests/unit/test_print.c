/* Text for people: a printf with texts that steer no terminal, and with the columns of a terminal. */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/print.h"
#include "suite.h"

static char *printed;

static void tear_down(void)
{
    free(printed);
    printed = NULL;
}

static void MG_PRINTF(2, 3) expect(const char *expected, const char *format, ...)
{
    size_t size;
    va_list args;
    free(printed);
    FILE *out = open_memstream(&printed, &size);
    ck_assert_ptr_nonnull(out);
    va_start(args, format);
    mg_print_args(out, format, args);
    va_end(args);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_str_eq(printed, expected);
}

/* Catches: a title that is set, a screen that is cleared, a line that reads backwards or is two, by the text
 * of a service. */
START_TEST(a_text_steers_no_terminal)
{
    expect("a.]0;X.b.[2Jc\n", "%s\n", "a\033]0;X\ab\033[2Jc");
    expect("a b c\n", "%s\n", "a\nb\tc");
    expect("..", "%s", "\xc2\x85\xc2\x9b");                  /* C1 */
    expect(".....", "%s", "\u202e\u2066\u200f\u061c\u2028"); /* direction, and a line end */
    expect("a?b??", "%s",
           "a\xff"
           "b\xe6\x9d");
    expect("Zürich 東京 e\u0301 😀", "%s", "Zürich 東京 e\u0301 😀");
    expect("a.b|a?", "%.3s|%.2s", "a\033bc", "aü");
    expect(". ", "%c%c", '\a', '\n');
}
END_TEST

/* Catches: tables of names in other scripts that stand askew. */
START_TEST(columns_are_those_of_a_terminal)
{
    expect("[Jürgen  ]", "[%-8s]", "Jürgen");
    expect("[  Jürgen]", "[%8s]", "Jürgen");
    expect("[東京  ]", "[%-*s]", 6, "東京");
    expect("[e\u0301  ]", "[%-3s]", "e\u0301");
    expect("[東京太郎]", "[%-3s]", "東京太郎");
    ck_assert_int_eq(mg_text_columns(mg_slice_of("a\xff")), 2);
    ck_assert_int_eq(mg_text_columns(mg_slice_of("")), 0);
}
END_TEST

/* Catches: a number that differs from printf's. */
START_TEST(numbers_are_printfs)
{
    expect("-5 5 ff 007 -07 100%", "%d %u %x %03d %03d %d%%", -5, 5U, 0xffU, 7, -7, 100);
    expect("[   42][42   ][9223372036854775807]", "[%5d][%-5lld][%" PRId64 "]", 42, 42LL, INT64_MAX);
    expect("18446744073709551615 7", "%" PRIu64 " %zu", UINT64_MAX, (size_t)7);
    expect("0.5 1.500000", "%.1f %f", 0.5, 1.5);
}
END_TEST

static void MG_PRINTF(2, 3) brief(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mg_print_brief(out, 4, format, args);
    va_end(args);
}

/* Catches: a word of the command line of megabytes, repeated whole in the line that refuses it. */
START_TEST(a_long_text_is_cut_between_characters)
{
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    brief(out, "%s %s: a format of any length\n", "abcüx", "abcd");
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_str_eq(printed, "abc… abcd: a format of any length\n");
}
END_TEST

START_TEST(lines_stay_where_they_are_wanted)
{
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    mg_print_lines(out, mg_slice_of("a\nb\033c\td"));
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_str_eq(printed, "a\nb.c d");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("print");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, a_text_steers_no_terminal);
    tcase_add_test(tests, columns_are_those_of_a_terminal);
    tcase_add_test(tests, numbers_are_printfs);
    tcase_add_test(tests, a_long_text_is_cut_between_characters);
    tcase_add_test(tests, lines_stay_where_they_are_wanted);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
