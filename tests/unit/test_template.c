/* Templates: values go in byte for byte, and no value can turn a path or a text into another one. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "json/json.h"
#include "suite.h"
#include "wire/http_url.h"
#include "workflow/template.h"

static const char VALUES[] =
    "{\"order_id\":\"o-1\",\"n\":14.00,\"t\":true,\"z\":null,\"e\":\"\",\"up\":\"..\",\"o\":{ \"a\" : 1.10 },"
    "\"q\":\"a\\\"b\\n\",\"u\":\"M\xc3\xbcnster/Nord 5%\",\"dollar\":\"${/n}\"}";

static struct mg_slice value_of(void *arg, const struct mg_template_piece *reference)
{
    const char *pointer = reference->text.data;
    (void)arg;               /* one set of values serves all */
    if (pointer[0] == '=') { /* an expression's text stands for its value; "none" has none */
        static char text[1100];
        (void)snprintf(text, sizeof(text), "%s", pointer + 1);
        return strcmp(text, "none") == 0 ? (struct mg_slice){0} : mg_slice_of(text);
    }
    return mg_json_find(mg_slice_of(VALUES), pointer);
}

static const struct {
    const char *template, *result, *says; /* result NULL: it fails with the reason `says` */
    enum mg_class class;
} JSONS[] = {
    {"{\"a\": \"${/n}\"}", "{\"a\":14.00}", NULL, MG_OK},
    {"{\"a\" : \"${/o}\" , \"b\":[ \"${/q}\" , \"${/z}\", \"${/t}\"]}",
     "{\"a\":{ \"a\" : 1.10 },\"b\":[\"a\\\"b\\n\",null,true]}", NULL, MG_OK},
    {"\"no. ${/n} of ${/order_id}: ${/q}\"", "\"no. 14.00 of o-1: a\\\"b\\n\"", NULL, MG_OK},
    {"\"${/order_id}${/order_id}\"", "\"o-1o-1\"", NULL, MG_OK},
    {"\"$${/n} $ {} $$\"", "\"${/n} $ {} $$\"", NULL, MG_OK},
    {"\"\\u0024{/n}\"", "14.00", NULL, MG_OK},
    {"\"a\\u00e9 $\"", "\"a\xc3\xa9 $\"", NULL, MG_OK},
    {"\"${/dollar}!\"", "\"${/n}!\"", NULL, MG_OK},
    {"{\"${/n}\": 1.50}", "{\"${/n}\":1.50}", NULL, MG_OK},
    {"[1, 2.0, \"\", {}]", "[1,2.0,\"\",{}]", NULL, MG_OK},
    {"[\"${= 14.00 }\", \"${=[1,2]}\", \"a ${=\\\"b}c\\\"} ${=true}\"]", "[14.00,[1,2],\"a b}c true\"]", NULL,
     MG_OK},
    {"[\"${=r'\\\\'}\", \"${='''a'}b'''}\", \"$${=1}\"]", "[r'\\','''a'}b''',\"${=1}\"]", NULL, MG_OK},
    {"\"${=none}\"", NULL, "${=none}: there is no such value", MG_PERMANENT},
    {"\"a ${=null}\"", NULL, "its value is null", MG_PERMANENT},
    {"\"${= 'a}\"", NULL, "expression ${= 'a} without \"}\"", MG_BAD_INPUT},
    {"\"${= 1\"", NULL, "expression ${= 1 without \"}\"", MG_BAD_INPUT},
    {"\"${/missing}\"", NULL, "${/missing}: there is no such value", MG_PERMANENT},
    {"\"a ${/missing}\"", NULL, "${/missing}: there is no such value", MG_PERMANENT},
    {"\"a ${/z}\"", NULL, "its value is null", MG_PERMANENT},
    {"\"a ${/o}\"", NULL, "its value is an object", MG_PERMANENT},
    {"\"${/n\"", NULL, "without \"}\"", MG_BAD_INPUT},
    {"\"${}\"", NULL, "no JSON pointer", MG_BAD_INPUT},
    {"\"${n}\"", NULL, "no JSON pointer", MG_BAD_INPUT},
    {"\"${/~x}\"", NULL, "no JSON pointer", MG_BAD_INPUT},
};

/* As a definition and its orders do: compiled, then rendered. */
static enum mg_class render(const char *text, enum mg_template_form form, struct mg_buf *ret,
                            struct mg_err *err)
{
    const struct mg_template_values values = {value_of, NULL};
    struct mg_arena *arena = mg_arena_create(100000);
    struct mg_template template;
    enum mg_class class = mg_template_compile(mg_slice_of(text), form, arena, &template, err);
    if (class == MG_OK) {
        class = mg_template_render(&template, &values, ret, err);
    }
    mg_arena_destroy(arena);
    return class;
}

START_TEST(json_is_rendered)
{
    struct mg_err err = {MG_OK, ""};
    struct mg_buf buf;
    mg_buf_init(&buf, 1000);
    enum mg_class class = render(JSONS[_i].template, MG_TEMPLATE_JSON, &buf, &err);
    ck_assert_msg(class == JSONS[_i].class, "%s: %s", JSONS[_i].template, err.text);
    if (JSONS[_i].result != NULL) {
        ck_assert_str_eq(buf.data, JSONS[_i].result);
    } else {
        ck_assert_msg(strstr(err.text, JSONS[_i].says) != NULL, "%s: %s", JSONS[_i].template, err.text);
    }
    mg_buf_finish(&buf);
}
END_TEST

static const struct {
    const char *template, *result, *says;
} PATHS[] = {
    {"/a/${/order_id}?n=${/n}&t=${/t}", "/a/o-1?n=14.00&t=true", NULL},
    {"/a/${/u}/b", "/a/M%C3%BCnster%2FNord%205%25/b", NULL},
    {"/a/${/q}", "/a/a%22b%0A", NULL},
    {"/a/$${x}", "/a/${x}", NULL},
    {"/a/${= \"b/}\" }/c", "/a/b%2F%7D/c", NULL},
    {"/a/${= \"\" }", NULL, "its text is empty"},
    {"/a/${/e}", NULL, "its text is empty"},
    {"/a/${/o}", NULL, "its value is an object"},
    {"/a/${/nothing}", NULL, "no such value"},
    {"/a/${/n", NULL, "without \"}\""},
};

/* Catches: a value that ends the path, begins a query or names a whole collection. */
START_TEST(a_path_is_rendered_percent_encoded)
{
    struct mg_err err = {MG_OK, ""};
    struct mg_buf buf;
    mg_buf_init(&buf, 1000);
    enum mg_class class = render(PATHS[_i].template, MG_TEMPLATE_PATH, &buf, &err);
    if (PATHS[_i].result != NULL) {
        ck_assert_msg(class == MG_OK, "%s", err.text);
        ck_assert_str_eq(buf.data, PATHS[_i].result);
    } else {
        ck_assert_int_ne(class, MG_OK);
        ck_assert_msg(strstr(err.text, PATHS[_i].says) != NULL, "%s", err.text);
    }
    mg_buf_finish(&buf);
}
END_TEST

static const struct {
    const char *path;
    bool is_good;
} FAULTS[] = {
    {"/", true},
    {"/a/b.c/..d/...", true},
    {"/a?b=../c&d=/./", true},
    {"/a/%2F", true},
    {"", false},
    {"a", false},
    {"/a/../b", false},
    {"/..", false},
    {"/a/.", false},
    {"/./a", false},
    {"/a/%2e%2E", false},
    {"/a/.%2e/b", false},
    {"/a b", false},
    {"/a\r\nX: y", false},
    {"/a#b", false},
    {"/\xc3\xbc", false},
    {"/a/..?x", false},
};

/* Catches: a path that climbs out of the service's URL, or breaks the request line. */
START_TEST(only_a_path_below_the_url_may_be_sent)
{
    ck_assert_msg((mg_path_fault(mg_slice_of(FAULTS[_i].path)) == NULL) == FAULTS[_i].is_good, "%s",
                  FAULTS[_i].path);
}
END_TEST

/* Catches: an unbounded path, which a service would refuse for a reason that no report could name. */
START_TEST(a_path_has_an_end)
{
    char path[4098];
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    ck_assert_ptr_null(mg_path_fault((struct mg_slice){path, 4096}));
    ck_assert_ptr_nonnull(mg_path_fault((struct mg_slice){path, 4097}));
}
END_TEST

struct seen {
    char all[200];
    int left;
};

static void note(void *arg, const char *reference)
{
    struct seen *seen = arg;
    strncat(seen->all, reference, sizeof(seen->all) - strlen(seen->all) - 1);
    strncat(seen->all, ";", sizeof(seen->all) - strlen(seen->all) - 1);
    seen->left--;
}

static bool note_piece(void *arg, const struct mg_template_piece *reference)
{
    struct seen *seen = arg;
    note(arg, reference->text.data);
    return seen->left > 0;
}

static const char *references_of(const char *text, enum mg_template_form form, int left)
{
    static struct seen seen;
    struct mg_arena *arena = mg_arena_create(100000);
    struct mg_template template;
    struct mg_err err;
    seen = (struct seen){"", left};
    ck_assert_int_eq(mg_template_compile(mg_slice_of(text), form, arena, &template, &err), MG_OK);
    mg_template_each(&template, note_piece, &seen);
    mg_arena_destroy(arena);
    return seen.all;
}

/* Catches: a reference that rendering finds and the check of definitions does not. */
START_TEST(every_reference_is_seen)
{
    struct mg_err err;
    struct seen scanned = {"", 9};
    const char *text = "{\"a\":\"${/n} $${/no} ${/o}\",\"b\":[\"\\u0024{\\u002fq}\"],\"c\":\"/x\"}";
    ck_assert_str_eq(references_of(text, MG_TEMPLATE_JSON, 9), "/n;/o;/q;");
    ck_assert_str_eq(references_of(text, MG_TEMPLATE_JSON, 1), "/n;");
    ck_assert_str_eq(references_of("/a/${/n}/\"${/o}", MG_TEMPLATE_PATH, 9), "/n;/o;");
    const char *quoted = "\"${/n} $${/no} \\u0024{\\u002fq}${/o\"";
    ck_assert_int_eq(mg_template_scan(mg_slice_of(quoted), note, &scanned, &err), MG_BAD_INPUT);
    ck_assert_str_eq(scanned.all, "/n;/q;");
}
END_TEST

/* Catches: a request cut silently where it is too large. */
START_TEST(a_result_above_its_maximum_is_refused)
{
    struct mg_err err;
    struct mg_buf buf;
    mg_buf_init(&buf, 12);
    ck_assert_int_eq(render("\"${/o}\"", MG_TEMPLATE_JSON, &buf, &err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(err.text, "above 12 bytes"));
    mg_buf_finish(&buf);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("template");
    TCase *tests = tcase_create("template");
    tcase_add_loop_test(tests, json_is_rendered, 0, COUNT(JSONS));
    tcase_add_loop_test(tests, a_path_is_rendered_percent_encoded, 0, COUNT(PATHS));
    tcase_add_loop_test(tests, only_a_path_below_the_url_may_be_sent, 0, COUNT(FAULTS));
    tcase_add_test(tests, a_path_has_an_end);
    tcase_add_test(tests, every_reference_is_seen);
    tcase_add_test(tests, a_result_above_its_maximum_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
