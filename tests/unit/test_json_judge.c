/*
 * The check of JSON text beside another judge, jansson: for every text both must say the same. The texts are
 * the examples of proto/, hard ones by hand, and those that mutate.h makes from them.
 */
#include <check.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"
#include "suite.h"
#include "wire/json.h"

#define SEEDS_MAX 600
#define TEXT_MAX  4096
#define ROUNDS    30000
#define DEPTH_MAX 2048 /* jansson's own limit */

static const char *const HARD[] = {
    "0",
    "-0",
    "-",
    "00",
    "-01",
    "1.",
    ".5",
    "1.5e",
    "1E+05",
    "1e-",
    "+1",
    "0x10",
    "1e5.5",
    "Infinity",
    "-NaN",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "0009223372036854775808",
    "18446744073709551616",
    "100000000000000000000000000",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.797693134862315807e308",
    "1.797693134862315808e308",
    "1.7976931348623159e308",
    "17976931348623157e292",
    "0.00017976931348623159e312",
    "179769313486231580793.7e288",
    "2e308",
    "1e309",
    "0.1e310",
    "0.01e310",
    "1000e306",
    "0.0e9999999999999999999",
    "1e-9999999999999999999",
    "4.9e-324",
    "9e99999999999999999999999",
    "-2e308",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\ude00\"",
    "\"\\ude00\\ude00\"",
    "\"\\ud83d\\ud83d\"",
    "\"\\ud83d\\u0041\"",
    "\"\\uD83Dx\"",
    "\"\\u00g0\"",
    "\"\\u000\"",
    "\"\\u0000\"",
    "\"\\x41\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\\\\\\"",
    "\"\\/\\b\\f\\n\\r\\t\"",
    "\"\x7f\"",
    "\"\x1f\"",
    "\"\xc2\x80\"",
    "\"\xc0\x80\"",
    "\"\xc1\xbf\"",
    "\"\xdf\xbf\"",
    "\"\xe0\x9f\xbf\"",
    "\"\xe0\xa0\x80\"",
    "\"\xed\x9f\xbf\"",
    "\"\xed\xa0\x80\"",
    "\"\xef\xbf\xbf\"",
    "\"\xf0\x8f\xbf\xbf\"",
    "\"\xf0\x90\x80\x80\"",
    "\"\xf4\x8f\xbf\xbf\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf8\x88\x80\x80\"",
    "\"\xe2\x82\"",
    "\"\x80\"",
    "\xef\xbb\xbf{}",
    "\xc2\xa0{}",
    "\f1",
    "\v1",
    "{\"a\":1,\"a\":2}",
    "{\"a\":1,\"\\u0061\":2}",
    "{\"\\u0061\":1,\"\\u0061\":2}",
    "{\"ab\":1,\"\\u0061b\":{\"ab\":2}}",
    "{\"\xc3\xbc\":1,\"\\u00fc\":2}",
    "{\"\xf0\x9f\x98\x80\":1,\"\\ud83d\\ude00\":2}",
    "{\"\":1,\"\":2}",
    "{\"a\":{\"a\":{\"a\":1}}}",
    "[{\"a\":1},{\"a\":1}]",
    "{\"a\":[{\"b\":1}],\"b\":1}",
    ("{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,"
     "\"o\":1,\"p\":1,\"q\":1,\"\\u0072\":1,\"s\":1}"),
    "true",
    "truex",
    "tru",
    "True",
    "null ",
    " null",
    "nul",
    "[true,false,null]",
    "[true false]",
    "[,]",
    "[1,,2]",
    "[1,]",
    "[",
    "]",
    "{",
    "}",
    "{}",
    "[]",
    "[]]",
    "{]",
    "[}",
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
    "'a'",
    "",
    " ",
    "\n\t\r 1 \n\t\r",
};

static char texts[SEEDS_MAX][TEXT_MAX];
static struct mg_slice seeds[SEEDS_MAX]; /* of `texts` */
static size_t seed_count;

static bool is_taken_by_jansson(struct mg_slice text)
{
    if (memchr(text.data, '\0', text.len) != NULL) return false; /* it would end the text there */
    json_error_t error;
    json_t *root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    json_decref(root);
    return root != NULL;
}

static bool is_taken_by_us(struct mg_slice text, struct mg_err *err)
{
    static const struct mg_json_limits wide = {TEXT_MAX, DEPTH_MAX, TEXT_MAX};
    /* exactly as long as said, so that reading past the end is noticed */
    char *copy = malloc(text.len + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text.data, text.len);
    char *exact = realloc(copy, text.len > 0 ? text.len : 1);
    enum mg_class class = mg_json_check((struct mg_slice){exact, text.len}, &wide, err);
    free(exact);
    ck_assert(class == MG_OK || class == MG_BAD_INPUT);
    return class == MG_OK;
}

/* Returns whether both take it. */
static bool judge(struct mg_slice text)
{
    struct mg_err err = {MG_OK, ""};
    bool is_taken = is_taken_by_us(text, &err);
    ck_assert_msg(is_taken == is_taken_by_jansson(text), "only %s takes: %.*s (%s)",
                  is_taken ? "ours" : "jansson", (int)text.len, text.data, err.text);
    return is_taken;
}

static void add_seed(const char *bytes, size_t len)
{
    ck_assert_uint_lt(seed_count, SEEDS_MAX);
    ck_assert_uint_le(len, TEXT_MAX);
    memcpy(texts[seed_count], bytes, len);
    seeds[seed_count] = (struct mg_slice){texts[seed_count], len};
    seed_count++;
}

static void add_examples(void)
{
    char bytes[TEXT_MAX + 1];
    glob_t found;
    ck_assert_int_eq(glob(MG_SOURCE_DIR "/proto/examples/*/*/*.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "rb");
        ck_assert_ptr_nonnull(file);
        size_t len = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        if (len <= TEXT_MAX) add_seed(bytes, len);
    }
    globfree(&found);
}

static void gather(void)
{
    seed_count = 0;
    for (size_t i = 0; i < sizeof HARD / sizeof HARD[0]; i++)
        add_seed(HARD[i], strlen(HARD[i]));
    add_examples();
}

/* Catches: a text that the standard allows and we refuse, or the other way. */
START_TEST(both_judges_agree_on_what_people_wrote)
{
    gather();
    for (size_t i = 0; i < seed_count; i++)
        (void)judge(seeds[i]);
}
END_TEST

START_TEST(both_judges_agree_on_what_chance_wrote)
{
    static const char MARKS[] = "{}[]\",:\\ueE+-.0123456789 \n\ttfnabr/\x80\xc3\xed\xa0\xf0\x9f";
    static char text[TEXT_MAX];
    size_t taken = 0;
    gather();
    struct mutator mutator = {seeds, seed_count, {MARKS, sizeof MARKS - 1}, TEXT_MAX, 20261121};
    for (int i = 0; i < ROUNDS; i++)
        taken += judge((struct mg_slice){text, mutate_next(&mutator, text)});
    /* chance must write enough of both kinds to say anything */
    ck_assert_uint_gt(taken, ROUNDS / 20);
    ck_assert_uint_lt(taken, ROUNDS - ROUNDS / 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_judge");
    TCase *tests = tcase_create("json_judge");
    tcase_add_test(tests, both_judges_agree_on_what_people_wrote);
    tcase_add_test(tests, both_judges_agree_on_what_chance_wrote);
    tcase_set_timeout(tests, 100);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
