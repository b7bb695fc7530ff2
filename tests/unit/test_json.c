/* The check of JSON text, the finder, the setter: limits hold to the byte, and bytes stay as they came. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "json/reader.h"
#include "suite.h"

static struct mg_slice text_of(const char *text)
{
    return mg_slice_of(text);
}

static enum mg_class check(struct mg_slice text, const struct mg_json_limits *limits, struct mg_err *err)
{
    *err = (struct mg_err){MG_OK, ""};
    /* of exactly this length, so that reading past the end is detected */
    char *copy = malloc(text.len > 0 ? text.len : 1);
    ck_assert_ptr_nonnull(copy);
    if (text.len > 0) {
        memcpy(copy, text.data, text.len);
    }
    enum mg_class class = mg_json_check((struct mg_slice){copy, text.len}, limits, err);
    free(copy);
    return class;
}

static const struct {
    const char *text, *says; /* `says` NULL: accepted */
} TEXTS[] = {
    {"{}", NULL},
    {" [1, -2.50e+3, true, null, \"\\u00fc\\ud83d\\ude00\"] \n", NULL},
    {"9223372036854775807", NULL},
    {"-9223372036854775808", NULL},
    {"1e308", NULL},
    {"0e999999999999999999999", NULL},
    {"1e-999999999999999999999", NULL},
    {"", "line 1, column 1: empty"},
    {" \n ", "line 1, column 1: empty"},
    {"9223372036854775808", "a number out of range"},
    {"-1e309", "a number out of range"},
    {"1e999999999999999999999", "a number out of range"},
    {"1e", "ends in the middle"},
    {"1.x", "not JSON"},
    {"-a", "not JSON"},
    {"nul", "not JSON"},
    {"nulls", "something follows the value"},
    {"{\n  \"a\": 1,\n  \"a\": 2\n}", "line 3, column 3: a member's name occurs twice"},
    {"{\"a\":1,\"\\u0061\":2}", "occurs twice"},
    {"{\"a\":1,\"\\u0061b\":2,\"A\":3,\"o\":{\"a\":1}}", NULL},
    {"{\"o\":{\"a\":1,\"a\":2}}", "occurs twice"},
    {"\"\xc3\x28\"", "invalid UTF-8"},
    {"\"\xed\xa0\x80\"", "invalid UTF-8"},
    {"\"\xf5\x80\x80\x80\"", "invalid UTF-8"},
    {"\"\\u0000\"", "NUL"},
    {"{\"\\u0000\":1}", "NUL"},
    {"\"\\ud800\"", "half a surrogate pair"},
    {"\"\\ud800x\"", "half a surrogate pair"},
    {"\"\\ud800\\n\"", "half a surrogate pair"},
    {"\"\\ud800\\u0041\"", "half a surrogate pair"},
    {"\"\\udc00\\ud800\"", "half a surrogate pair"},
    {"\"\\ud800\\u00x0\"", "not JSON"},
    {"{} {}", "something follows the value"},
    {"{\"a\":", "ends in the middle"},
    {"\"abc", "ends in the middle"},
    {"[1,]", "not JSON"},
    {"{a:1}", "not JSON"},
    {"01", "not JSON"},
    {"'a'", "not JSON"},
    {"]", "not JSON"},
    {"[}", "not JSON"},
    {"\"\t\"", "not JSON"},
    {"NaN", "not JSON"},
};

/* Catches: invalid input that passes the check; a refusal without reason and place. */
START_TEST(text_is_judged_strictly)
{
    struct mg_err err;
    enum mg_class class = check(text_of(TEXTS[_i].text), &MG_JSON_LIMITS_DEFAULT, &err);
    if (TEXTS[_i].says == NULL) {
        ck_assert_msg(class == MG_OK, "%s: %s", TEXTS[_i].text, err.text);
    } else {
        ck_assert_msg(class == MG_BAD_INPUT, "%s was accepted", TEXTS[_i].text);
        ck_assert_msg(strstr(err.text, TEXTS[_i].says) != NULL, "%s: %s", TEXTS[_i].text, err.text);
        ck_assert_msg(strncmp(err.text, "line ", 5) == 0, "no place in: %s", err.text);
    }
}
END_TEST

/* At the borders of the grammar, of numbers and of UTF-8. fuzz.json compares more such texts with another
 * parser. */
static const char *const TAKEN[] = {
    "0",
    "-0",
    "1E+05",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.797693134862315807e308",
    "17976931348623157e292",
    "179769313486231580793.7e288",
    "0.01e310",
    "0.0e9999999999999999999",
    "1e-9999999999999999999",
    "4.9e-324",
    "\"\\ud83d\\ude00\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\/\\b\\f\\n\\r\\t\"",
    "\"\x7f\"",
    "\"\xc2\x80\"",
    "\"\xdf\xbf\"",
    "\"\xe0\xa0\x80\"",
    "\"\xed\x9f\xbf\"",
    "\"\xef\xbf\xbf\"",
    "\"\xf0\x90\x80\x80\"",
    "\"\xf4\x8f\xbf\xbf\"",
    "{\"a\":{\"a\":{\"a\":1}}}",
    "[{\"a\":1},{\"a\":1}]",
    "{\"a\":[{\"b\":1}],\"b\":1}",
    ("{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,"
     "\"o\":1,\"p\":1,\"q\":1,\"\\u0072\":1,\"s\":1}"),
    "true",
    "null ",
    " null",
    "[true,false,null]",
    "[]",
    "\n\t\r 1 \n\t\r",
};

static const char *const REFUSED[] = {
    "-",
    "00",
    "-01",
    "1.",
    ".5",
    "1.5e",
    "1e-",
    "+1",
    "0x10",
    "1e5.5",
    "Infinity",
    "-NaN",
    "-9223372036854775809",
    "0009223372036854775808",
    "18446744073709551616",
    "100000000000000000000000000",
    "1.797693134862315808e308",
    "1.7976931348623159e308",
    "0.00017976931348623159e312",
    "2e308",
    "1e309",
    "0.1e310",
    "1000e306",
    "9e99999999999999999999999",
    "-2e308",
    "\"\\ud83d\"",
    "\"\\ude00\"",
    "\"\\ude00\\ude00\"",
    "\"\\ud83d\\ud83d\"",
    "\"\\ud83d\\u0041\"",
    "\"\\uD83Dx\"",
    "\"\\u00g0\"",
    "\"\\u000\"",
    "\"\\x41\"",
    "\"\\\\\\\"",
    "\"\x1f\"",
    "\"\xc0\x80\"",
    "\"\xc1\xbf\"",
    "\"\xe0\x9f\xbf\"",
    "\"\xf0\x8f\xbf\xbf\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf8\x88\x80\x80\"",
    "\"\xe2\x82\"",
    "\"\x80\"",
    "\xef\xbb\xbf{}",
    "\xc2\xa0{}",
    "\f1",
    "\v1",
    "{\"a\":1,\"a\":2}",
    "{\"\\u0061\":1,\"\\u0061\":2}",
    "{\"ab\":1,\"\\u0061b\":{\"ab\":2}}",
    "{\"\xc3\xbc\":1,\"\\u00fc\":2}",
    "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}",
    "{\"\":1,\"\":2}",
    "truex",
    "tru",
    "True",
    "[true false]",
    "[,]",
    "[1,,2]",
    "[",
    "{",
    "}",
    "[]]",
    "{]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\",1}",
    "{\"a\":1,}",
    "{,}",
    "{1:2}",
    "{\"a\":1 \"b\":2}",
    "[1]x",
    "[1] ,",
    "/* */1",
    "[1]//",
    " ",
};

/* Catches: a text that the standard allows and the check refuses, or the reverse. */
START_TEST(the_borders_are_where_the_standard_has_them)
{
    struct mg_err err;
    for (size_t i = 0; i < sizeof(TAKEN) / sizeof(TAKEN[0]); i++) {
        ck_assert_msg(check(text_of(TAKEN[i]), &MG_JSON_LIMITS_DEFAULT, &err) == MG_OK, "%s: %s", TAKEN[i],
                      err.text);
    }
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        ck_assert_msg(check(text_of(REFUSED[i]), &MG_JSON_LIMITS_DEFAULT, &err) == MG_BAD_INPUT,
                      "%s was accepted", REFUSED[i]);
    }
}
END_TEST

/* Catches: a NUL byte that ends the text for one reader and not for the other. */
START_TEST(a_nul_byte_is_refused_wherever_it_stands)
{
    struct mg_err err;
    static const char BEHIND[] = "{}\0", WITHIN[] = "\"a\0b\"", BETWEEN[] = "[1,\0 2]";
    ck_assert_int_eq(check((struct mg_slice){BEHIND, 3}, &MG_JSON_LIMITS_DEFAULT, &err), MG_BAD_INPUT);
    ck_assert_int_eq(check((struct mg_slice){WITHIN, 5}, &MG_JSON_LIMITS_DEFAULT, &err), MG_BAD_INPUT);
    ck_assert_int_eq(check((struct mg_slice){BETWEEN, 7}, &MG_JSON_LIMITS_DEFAULT, &err), MG_BAD_INPUT);
    ck_assert_str_eq(err.text, "line 1, column 4: a NUL byte; JSON text has none");
    ck_assert_int_eq(mg_json_check((struct mg_slice){NULL, 0}, &MG_JSON_LIMITS_DEFAULT, &err), MG_BAD_INPUT);
}
END_TEST

/* Catches: numbers of a service that break its order, or that let other texts through. */
START_TEST(any_number_is_taken_where_it_is_passed_on)
{
    struct mg_err err;
    ck_assert_uint_eq(MG_JSON_LIMITS_DATA.max_bytes, MG_JSON_LIMITS_DEFAULT.max_bytes);
    ck_assert_int_eq(MG_JSON_LIMITS_DATA.max_depth, MG_JSON_LIMITS_DEFAULT.max_depth);
    ck_assert_int_eq(MG_JSON_LIMITS_DATA.max_members, MG_JSON_LIMITS_DEFAULT.max_members);
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        bool is_taken = TEXTS[i].says == NULL || strstr(TEXTS[i].says, "a number out of range") != NULL;
        ck_assert_msg((check(text_of(TEXTS[i].text), &MG_JSON_LIMITS_DATA, &err) == MG_OK) == is_taken,
                      "%s: %s", TEXTS[i].text, err.text);
    }
    ck_assert_int_eq(check(text_of("{\"amount\":123456789012345678901234567890,\"rate\":-1.5e+400000}"),
                           &MG_JSON_LIMITS_DATA, &err),
                     MG_OK);
}
END_TEST

/* Catches: limits off by one, and containers in strings counted as containers. */
START_TEST(limits_hold_exactly)
{
    struct mg_err err;
    struct mg_json_limits limits = {.max_bytes = 10, .max_depth = 2, .max_members = 3};
    ck_assert_int_eq(check(text_of("[1, 2, 33]"), &limits, &err), MG_OK);
    ck_assert_int_eq(check(text_of("[1, 2, 333]"), &limits, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "11 bytes; up to 10"));
    ck_assert_int_eq(check(text_of("[[1]]"), &limits, &err), MG_OK);
    ck_assert_int_eq(check(text_of("[[[]]]"), &limits, &err), MG_BAD_INPUT);
    ck_assert_str_eq(err.text,
                     "line 1, column 3: too many levels of objects and arrays; up to 2 are allowed");
    ck_assert_int_eq(check(text_of("[1,2,3,4]"), &limits, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "too many members and elements; up to 3"));
    ck_assert_int_eq(check(text_of("[[],[]]"), &limits, &err), MG_OK);
    ck_assert_int_eq(check(text_of("\"[[[[,,,\""), &limits, &err), MG_OK);
    ck_assert_int_eq(check(text_of("[\"\\\"[[\"]"), &limits, &err), MG_OK);
}
END_TEST

/* Catches: recursion or time that grows with hostile depth. */
START_TEST(a_quarter_megabyte_of_brackets_is_refused_at_once)
{
    struct mg_err err;
    char *bytes = malloc(262144);
    ck_assert_ptr_nonnull(bytes);
    memset(bytes, '[', 262144);
    ck_assert_int_eq(check((struct mg_slice){bytes, 262144}, &MG_JSON_LIMITS_DEFAULT, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "column 33"));
    free(bytes);
}
END_TEST

/* `name_of` writes the name of member `i`. */
static enum mg_class check_many_names(int count, void (*name_of)(char ret[16], int i), struct mg_err *err)
{
    struct mg_buf text;
    char name[16];
    mg_buf_init(&text, 1000000);
    for (int i = 0; i < count; i++) {
        name_of(name, i);
        mg_buf_printf(&text, "%s\"%s\":{}", i == 0 ? "{" : ",", name);
    }
    mg_buf_append_text(&text, "}");
    enum mg_class class = check(mg_buf_slice(&text), &MG_JSON_LIMITS_DEFAULT, err);
    mg_buf_finish(&text);
    return class;
}

static void name_by_number(char ret[16], int i)
{
    snprintf(ret, 16, "n%d", i);
}

static void name_that_returns(char ret[16], int i)
{
    snprintf(ret, 16, i == 4000 ? "\\u006e%d" : "n%d", i == 4000 ? 7 : i);
}

/* Catches: names lost when there are more of them than the first memory holds; one that stands twice, written
 * otherwise, among thousands. */
START_TEST(one_name_that_comes_again_is_found_among_thousands)
{
    struct mg_err err;
    ck_assert_msg(check_many_names(5000, name_by_number, &err) == MG_OK, "%s", err.text);
    ck_assert_int_eq(check_many_names(5000, name_that_returns, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "occurs twice"));
}
END_TEST

static const char ORDER[] =
    " { \"items\" : [ {\"price\" : 14.00 , \"name\":\"a\\\"}]\"}, 7 ,[] ], \"a/b\":1, \"m~n\" : 2,"
    " \"\":3, \"\\u00fc\\n\":4, \"obj\":{ }, \"0\": 5 } ";

static const struct {
    const char *pointer, *value; /* NULL: there is none */
} FINDS[] = {
    {"/items/0/price", "14.00"},
    {"/items/0/name", "\"a\\\"}]\""},
    {"/items/1", "7"},
    {"/items/2", "[]"},
    {"/items/0", "{\"price\" : 14.00 , \"name\":\"a\\\"}]\"}"},
    {"/a~1b", "1"},
    {"/m~0n", "2"},
    {"/", "3"},
    {"/\xc3\xbc\n", "4"},
    {"/obj", "{ }"},
    {"/0", "5"},
    {"/items/3", NULL},
    {"/items/00", NULL},
    {"/items/-", NULL},
    {"/items/+1", NULL},
    {"/items/99999999999999999999", NULL},
    {"/obj/x", NULL},
    {"/items/1/x", NULL},
    {"/nothing", NULL},
    {"/item", NULL},
    {"items", NULL},
    {"/a~2b", NULL},
};

/* Catches: a value found at the wrong place, with other bytes than came, or found though it is not there. */
START_TEST(a_value_is_found_as_it_came)
{
    struct mg_err err;
    ck_assert_int_eq(check(text_of(ORDER), &MG_JSON_LIMITS_DEFAULT, &err), MG_OK);
    struct mg_slice value = mg_json_find(text_of(ORDER), FINDS[_i].pointer);
    if (FINDS[_i].value == NULL) {
        ck_assert_msg(value.data == NULL, "%s found", FINDS[_i].pointer);
    } else {
        ck_assert_msg(mg_slice_is(value, FINDS[_i].value), "%s: %.*s", FINDS[_i].pointer, (int)value.len,
                      value.data != NULL ? value.data : "");
    }
}
END_TEST

START_TEST(the_empty_pointer_is_the_whole_without_blanks)
{
    ck_assert(mg_slice_is(mg_json_find(text_of(" 14.00\n"), ""), "14.00"));
    ck_assert_ptr_null(mg_json_find((struct mg_slice){NULL, 0}, "").data);
}
END_TEST

static const struct {
    const char *text, *pointer, *value, *result; /* NULL: refused */
} SETS[] = {
    {"{\"a\":14.00,\"b\":2}", "/b", " 3 ", "{\"a\":14.00,\"b\":3}"},
    {"{\"a\":14.00}", "/b", "[1]", "{\"a\":14.00,\"b\":[1]}"},
    {"{ }", "/b", "1", "{\"b\":1 }"},
    {"{\"a\":{\"x\":1 }}", "/a/y~1\"z", "\"s\"", "{\"a\":{\"x\":1,\"y/\\\"z\":\"s\" }}"},
    {"[1,2,3]", "/1", "{}", "[1,{},3]"},
    {" {\"a\":1} ", "", "{\"b\":2}", " {\"b\":2} "},
    {"[1,2,3]", "/3", "4", NULL},
    {"[1,2,3]", "/-", "4", NULL},
    {"{\"a\":1}", "/b/c", "4", NULL},
    {"{\"a\":1}", "/a/c", "4", NULL},
    {"{\"a\":1}", "a", "4", NULL},
    {"{\"a\":1}", "/~3", "4", NULL},
};

/* Catches: a repair that changes other bytes, or puts a value where none may be. */
START_TEST(a_value_is_set_and_the_rest_stays)
{
    struct mg_err err;
    struct mg_buf buf;
    mg_buf_init(&buf, 1000);
    enum mg_class class =
        mg_json_set(text_of(SETS[_i].text), SETS[_i].pointer, text_of(SETS[_i].value), &buf, &err);
    if (SETS[_i].result == NULL) {
        ck_assert_int_eq(class, MG_BAD_INPUT);
        ck_assert_uint_eq(buf.len, 0);
    } else {
        ck_assert_int_eq(class, MG_OK);
        ck_assert_str_eq(buf.data, SETS[_i].result);
        ck_assert_int_eq(check(mg_buf_slice(&buf), &MG_JSON_LIMITS_DEFAULT, &err), MG_OK);
    }
    mg_buf_finish(&buf);
}
END_TEST

/* Catches: escapes resolved wrongly, above all pairs of surrogates. */
START_TEST(a_string_comes_out_of_its_quotes)
{
    struct mg_buf buf;
    mg_buf_init(&buf, 1000);
    ck_assert(mg_json_string(text_of("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fC\\u20ac\\ud83D\\ude00z\""), &buf));
    ck_assert_str_eq(buf.data, "a\"\\/\b\f\n\r\t\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80z");
    ck_assert(!mg_json_string(text_of("12"), &buf));
    ck_assert(!mg_json_string((struct mg_slice){NULL, 0}, &buf));
    mg_buf_clear(&buf);
    ck_assert(mg_json_string(text_of("\"\""), &buf));
    ck_assert_uint_eq(buf.len, 0);
    mg_buf_finish(&buf);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const struct {
    const char *text;
    size_t len; /* 0: up to the NUL */
    const char *mended;
} MENDS[] = {
    {"{\"a\": \"x\"}", 0, "{\"a\": \"x\"}"},
    {"\"a\\ud83d\"", 0, "\"a\\ufffd\""},
    {"\"\\uDE00b\"", 0, "\"\\ufffdb\""},
    {"\"\\ud83d\\uDE00\"", 0, "\"\\ud83d\\uDE00\""},
    {"\"\\ud83d\\ud83d\\ude00\"", 0, "\"\\ufffd\\ud83d\\ude00\""},
    {"\"\\u0000\"", 0, "\"\\ufffd\""},
    {"\"\\\\u0000\"", 0, "\"\\\\u0000\""},
    {"\"\\\"\xff\"\xff", 0, "\"\\\"\xef\xbf\xbd\"\xff"},
    {"\"a\0b\"", 5,
     "\"a\xef\xbf\xbd"
     "b\""},
    {"\"\\u00", 0, "\"\\u00"},
    {"\"\\", 0, "\"\\"},
};

START_TEST(strings_are_mended_and_the_rest_stays)
{
    struct mg_slice text = mg_slice_of(MENDS[_i].text);
    struct mg_buf mended;
    text.len = MENDS[_i].len > 0 ? MENDS[_i].len : text.len;
    mg_buf_init(&mended, 1000);
    mg_json_mend_strings(text, &mended);
    ck_assert_str_eq(mended.data, MENDS[_i].mended);
    mg_buf_finish(&mended);
}
END_TEST

/* Catches: a wrong word that gets a hint at a stranger, though one that begins alike is as near. */
START_TEST(of_two_names_as_near_the_one_that_begins_alike_is_meant)
{
    static const char *const NAMES[] = {"tls", "tries", "try_timeout", "tls", NULL};
    ck_assert_str_eq(mg_json_nearest(NAMES, mg_slice_of("trys")), "tries");
    ck_assert_str_eq(mg_json_nearest(NAMES + 1, mg_slice_of("trys")), "tries");
    ck_assert_str_eq(mg_json_nearest(NAMES, mg_slice_of("tlz")), "tls");
    ck_assert_ptr_null(mg_json_nearest(NAMES, mg_slice_of("trees_of_a_wood")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("json");
    tcase_add_loop_test(tests, text_is_judged_strictly, 0, COUNT(TEXTS));
    tcase_add_test(tests, the_borders_are_where_the_standard_has_them);
    tcase_add_test(tests, a_nul_byte_is_refused_wherever_it_stands);
    tcase_add_test(tests, any_number_is_taken_where_it_is_passed_on);
    tcase_add_test(tests, limits_hold_exactly);
    tcase_add_test(tests, a_quarter_megabyte_of_brackets_is_refused_at_once);
    tcase_add_test(tests, one_name_that_comes_again_is_found_among_thousands);
    tcase_add_loop_test(tests, a_value_is_found_as_it_came, 0, COUNT(FINDS));
    tcase_add_test(tests, the_empty_pointer_is_the_whole_without_blanks);
    tcase_add_loop_test(tests, a_value_is_set_and_the_rest_stays, 0, COUNT(SETS));
    tcase_add_test(tests, a_string_comes_out_of_its_quotes);
    tcase_add_loop_test(tests, strings_are_mended_and_the_rest_stays, 0, COUNT(MENDS));
    tcase_add_test(tests, of_two_names_as_near_the_one_that_begins_alike_is_meant);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
