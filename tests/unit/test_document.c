/* Small documents as trees: what they give back, and what is refused, with its place and a remedy. */
#include "operator/document.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

static int mallocs_left = -1; /* below 0: no limit; link option --wrap=malloc */
void *real_malloc(size_t size) __asm__("__real_malloc");
void *test_malloc(size_t size) __asm__("__wrap_malloc");

void *test_malloc(size_t size)
{
    if (mallocs_left == 0) {
        return NULL;
    }
    if (mallocs_left > 0) {
        mallocs_left--;
    }
    return real_malloc(size);
}

static struct mg_err err;

static void set_up(void)
{
    mallocs_left = -1;
    err = (struct mg_err){MG_OK, ""};
}

/* The text in a block of its own: the sanitizer sees a read after its end. */
static enum mg_class document_read_of(const char *text, size_t len, struct json_t **ret_document)
{
    char *copy = malloc(len + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy + 1, text, len);
    enum mg_class class = mg_document_read((struct mg_slice){copy + 1, len}, ret_document, &err);
    free(copy);
    return class;
}

START_TEST(members_and_elements_are_found)
{
    static const char text[] =
        " {\"text\": \"a\\u00e9\\n\", \"empty\": \"\", \"n\": -7, \"most\": 9223372036854775807,"
        " \"real\": 14.00, \"list\": [{\"x\": \"y\"}, null], \"yes\": true}\n";
    struct json_t *document = NULL;
    int64_t number = 0;
    ck_assert_msg(document_read_of(text, strlen(text), &document) == MG_OK, "%s", err.text);
    ck_assert_str_eq(mg_document_text(mg_document_member(document, "text")).data, "a\xc3\xa9\n");
    ck_assert(mg_slice_is(mg_document_text(mg_document_member(document, "empty")), ""));
    ck_assert(mg_document_integer(mg_document_member(document, "n"), &number) && number == -7);
    ck_assert(mg_document_integer(mg_document_member(document, "most"), &number) && number == INT64_MAX);
    const struct json_t *list = mg_document_member(document, "list");
    ck_assert_str_eq(mg_document_text(mg_document_member(mg_document_element(list, 0), "x")).data, "y");
    ck_assert_ptr_nonnull(mg_document_element(list, 1));
    ck_assert_ptr_null(mg_document_element(list, 2));
    /* Absent, or of another type. */
    ck_assert_ptr_null(mg_document_member(document, "none"));
    ck_assert_ptr_null(mg_document_member(list, "x"));
    ck_assert_ptr_null(mg_document_member(NULL, "x"));
    ck_assert_ptr_null(mg_document_element(document, 0));
    ck_assert_ptr_null(mg_document_element(NULL, 0));
    ck_assert_ptr_null(mg_document_text(mg_document_member(document, "n")).data);
    ck_assert_ptr_null(mg_document_text(NULL).data);
    ck_assert(!mg_document_integer(mg_document_member(document, "real"), &number));
    ck_assert(!mg_document_integer(mg_document_member(document, "text"), &number));
    ck_assert(!mg_document_integer(NULL, &number));
    mg_document_free(document);
    mg_document_free(NULL);
}
END_TEST

static const struct {
    const char *text;
    size_t len; /* 0: of the C string */
    const char *place, *remedy;
} REFUSED[] = {
    {"", 0, "line 1, column 0", "expected"},
    {"\"text\"", 0, "line 1", "'[' or '{' expected"},
    {"{\"a\": 1", 0, "line 1, column 7", "send it whole"},
    {"{\"a\": 1}\n{", 0, "line 2, column 1", "send one value"},
    {"{\"a\": 1,\n }", 0, "line 2, column 2", "no trailing comma"},
    {"{a: 1}", 0, "line 1, column 2", "names in double quotes"},
    {"{\"a\": 1, \"a\": 2}", 0, "line 1", "use each name once"},
    {"{\"a\": \"\xff\"}", 0, "line 1", "UTF-8"},
    {"{\"a\": \"\\ud800\"}", 0, "line 1", "RFC 8259"},
    {"{\"a\": \"\\u0000\"}", 0, "line 1", "remove it"},
    {"{\"\\u0000\": 1}", 0, "line 1", "remove it"},
    {"{\"a\": 9223372036854775808}", 0, "line 1", "as a string"},
    {"{\"a\": 1e999}", 0, "line 1", "as a string"},
    {"{\"a\": 1}\0x", 10, "a NUL byte", "none"},
};

/* Catches: a refusal from which the sender cannot tell what to mend. */
START_TEST(a_fault_has_its_place_and_a_remedy)
{
    struct json_t *document = NULL;
    size_t len = REFUSED[_i].len > 0 ? REFUSED[_i].len : strlen(REFUSED[_i].text);
    ck_assert_int_eq(document_read_of(REFUSED[_i].text, len, &document), MG_BAD_INPUT);
    ck_assert_ptr_null(document);
    ck_assert_msg(strstr(err.text, REFUSED[_i].place) != NULL && strstr(err.text, REFUSED[_i].remedy) != NULL,
                  "%s: %s", REFUSED[_i].text, err.text);
}
END_TEST

/* Catches: a recursion that a sender drives as deep as the text is long. */
START_TEST(a_text_is_neither_too_long_nor_too_deep)
{
    size_t len = MG_DOCUMENT_MAX_BYTES + 1;
    char *text = malloc(len);
    struct json_t *document = NULL;
    ck_assert_ptr_nonnull(text);
    memset(text, '[', len);
    ck_assert_int_eq(mg_document_read((struct mg_slice){text, len}, &document, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "above"));
    ck_assert_int_eq(mg_document_read((struct mg_slice){text, len - 1}, &document, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "too many levels"));
    free(text);
}
END_TEST

/* Catches: a valid request that is refused as broken because memory was short, and a leak of half a tree. */
START_TEST(want_of_memory_is_no_fault_of_the_text)
{
    static const char text[] = "{\"reason\": \"because\", \"list\": [1, \"two\", {\"three\": 3}]}";
    struct json_t *document = NULL;
    int refused = 0;
    for (;; refused++) {
        mallocs_left = refused;
        enum mg_class class = mg_document_read(mg_slice_of(text), &document, &err);
        mallocs_left = -1;
        if (class == MG_OK) {
            break;
        }
        ck_assert_ptr_null(document);
        ck_assert_msg(class == MG_TRANSIENT, "after %d: %s", refused, err.text);
    }
    ck_assert_int_gt(refused, 5);
    mg_document_free(document);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("document");
    TCase *tests = tcase_create("document");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, members_and_elements_are_found);
    tcase_add_loop_test(tests, a_fault_has_its_place_and_a_remedy, 0, sizeof(REFUSED) / sizeof(REFUSED[0]));
    tcase_add_test(tests, a_text_is_neither_too_long_nor_too_deep);
    tcase_add_test(tests, want_of_memory_is_no_fault_of_the_text);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
