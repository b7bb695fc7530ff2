/* The version of a definition under development. */
#include "dev/workflow_folder.h"
#include "suite.h"

START_TEST(a_raised_version_counts_as_it_is)
{
    ck_assert_int_eq(mg_numbering_next(1, 0, false), 1);
    ck_assert_int_eq(mg_numbering_next(7, 0, false), 7);
    ck_assert_int_eq(mg_numbering_next(7, 2, false), 7);
    ck_assert_int_eq(mg_numbering_next(7, 2, true), 7);
}
END_TEST

START_TEST(a_changed_definition_gets_the_next_free_version)
{
    ck_assert_int_eq(mg_numbering_next(1, 1, false), 2);
    ck_assert_int_eq(mg_numbering_next(1, 41, false), 42);
    ck_assert_int_eq(mg_numbering_next(41, 41, false), 42);
}
END_TEST

START_TEST(a_definition_that_is_loaded_is_left)
{
    ck_assert_int_eq(mg_numbering_next(1, 1, true), 0);
    ck_assert_int_eq(mg_numbering_next(1, 41, true), 0);
}
END_TEST

/* Catches: a version that no scheduler can read. */
START_TEST(behind_the_last_version_none_is_free)
{
    ck_assert_int_eq(mg_numbering_next(1, INT32_MAX - 1, false), INT32_MAX);
    ck_assert_int_eq(mg_numbering_next(INT32_MAX, INT32_MAX, true), 0);
    ck_assert_int_eq(mg_numbering_next(INT32_MAX, INT32_MAX, false), -1);
    ck_assert_int_eq(mg_numbering_next(1, INT32_MAX, false), -1);
}
END_TEST

static bool is_same(const char *a, const char *b)
{
    return mg_numbering_is_same(mg_slice_of(a), mg_slice_of(b));
}

START_TEST(only_the_version_may_differ)
{
    ck_assert(is_same("{\"version\": 1, \"x\": 14.00}", "{\"version\": 12, \"x\": 14.00}"));
    ck_assert(!is_same("{\"version\": 1, \"x\": 14.00}", "{\"version\": 1, \"x\": 14.0}"));
    ck_assert(
        !is_same("{\"version\": 1, \"x\": {\"version\": 1}}", "{\"version\": 1, \"x\": {\"version\": 2}}"));
}
END_TEST

START_TEST(every_other_byte_stays)
{
    struct mg_buf text;
    struct mg_err err;
    mg_buf_init(&text, 1024);
    ck_assert_int_eq(
        mg_numbering_write(mg_slice_of("{\n  \"version\" : 9,\n  \"x\": 14.00 }\n"), 10, &text, &err), MG_OK);
    ck_assert_str_eq(text.data, "{\n  \"version\" : 10,\n  \"x\": 14.00 }\n");
    mg_buf_finish(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("numbering");
    TCase *tests = tcase_create("numbering");
    tcase_add_test(tests, a_raised_version_counts_as_it_is);
    tcase_add_test(tests, a_changed_definition_gets_the_next_free_version);
    tcase_add_test(tests, a_definition_that_is_loaded_is_left);
    tcase_add_test(tests, behind_the_last_version_none_is_free);
    tcase_add_test(tests, only_the_version_may_differ);
    tcase_add_test(tests, every_other_byte_stays);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
