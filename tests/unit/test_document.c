/* Members of small JSON objects: the values that they give, and the objects that are refused. */
#include "operator/document.h"

#include <check.h>
#include <string.h>

#include "suite.h"

START_TEST(a_member_is_a_text_or_a_whole_number)
{
    const struct mg_slice object =
        mg_slice_of(" {\"text\": \"a\\u00e9\\n\", \"n\": -7, \"most\": 9223372036854775807, \"real\": 14.00,"
                    " \"list\": [{\"x\": \"y\"}, null]}\n");
    char text[5];
    int64_t number = 0;
    struct mg_err err;
    ck_assert_msg(mg_document_check(object, &err) == MG_OK, "%s", err.text);
    ck_assert(mg_document_text(object, "/text", text, sizeof(text)));
    ck_assert_str_eq(text, "a\xc3\xa9\n");
    ck_assert(mg_document_text(object, "/list/0/x", text, sizeof(text)));
    ck_assert_str_eq(text, "y");
    ck_assert(mg_document_integer(object, "/n", &number) && number == -7);
    ck_assert(mg_document_integer(object, "/most", &number) && number == INT64_MAX);
    /* Absent, or of another type. */
    ck_assert(mg_document_text(object, "/none", text, sizeof(text)) && text[0] == '\0');
    ck_assert(mg_document_text(object, "/n", text, sizeof(text)) && text[0] == '\0');
    ck_assert(!mg_document_integer(object, "/real", &number));
    ck_assert(!mg_document_integer(object, "/text", &number));
    ck_assert(!mg_document_integer(object, "/none", &number) && number == INT64_MAX);
}
END_TEST

/* Catches: half of a text that counts as the whole, such as the beginning of a token. */
START_TEST(a_text_without_room_is_none)
{
    const struct mg_slice object = mg_slice_of("{\"text\": \"1234\\u0035\"}");
    char text[6];
    ck_assert(!mg_document_text(object, "/text", text, 5));
    ck_assert_str_eq(text, "");
    ck_assert(mg_document_text(object, "/text", text, 6));
    ck_assert_str_eq(text, "12345");
}
END_TEST

static const char *const REFUSED[] = {
    "", "\"text\"", "[]", "{\"a\": 1", "{\"a\": 1, \"a\": 2}", "{\"a\": 1e999}"};

START_TEST(all_but_an_object_is_refused)
{
    struct mg_err err;
    ck_assert_int_eq(mg_document_check(mg_slice_of(REFUSED[_i]), &err), MG_BAD_INPUT);
    ck_assert_int_eq(mg_document_check((struct mg_slice){NULL, 0}, &err), MG_BAD_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("document");
    TCase *tests = tcase_create("document");
    tcase_add_test(tests, a_member_is_a_text_or_a_whole_number);
    tcase_add_test(tests, a_text_without_room_is_none);
    tcase_add_loop_test(tests, all_but_an_object_is_refused, 0, sizeof(REFUSED) / sizeof(REFUSED[0]));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
