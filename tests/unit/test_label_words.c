/* Labels as operators write them, and as the reports take them. */
#include <check.h>
#include <string.h>

#include "operator/option_words.h"
#include "suite.h"

static struct mg_label_words words;
static char json[MG_LABELS_TEXT_SIZE], refusal[MG_LABELS_REFUSAL_SIZE];

static bool add(const char *text)
{
    return mg_label_words_add(&words, mg_slice_of(text), refusal);
}

static const char *written(void)
{
    ck_assert(mg_label_words_write(&words, json, sizeof(json), refusal));
    return json;
}

static void setup(void)
{
    words.count = 0;
    refusal[0] = '\0';
}

/* Would catch: two texts for equal filters, so that one bulk action is started twice. */
START_TEST(equal_labels_give_equal_text)
{
    ck_assert(add("customer=17") && add("country=CH") && add("note=a=b \"c\\"));
    ck_assert_str_eq(written(), "{\"country\":\"CH\",\"customer\":\"17\",\"note\":\"a=b \\\"c\\\\\"}");
    words.count = 0;
    ck_assert_str_eq(written(), "");
}
END_TEST

static const struct {
    const char *text, *refusal;
} WRONG[] = {
    {"", "expected NAME=VALUE"},        {"customer", "expected NAME=VALUE"},
    {"=17", "expected NAME=VALUE"},     {"Customer=17", "expected NAME=VALUE"},
    {"customer=", "UTF-8 of 1 to 128"}, {"customer=\xff", "UTF-8 of 1 to 128"},
    {"known=18", "given twice"},
};

START_TEST(a_wrong_label_is_named)
{
    ck_assert(add("known=17"));
    ck_assert(!add(WRONG[_i].text));
    ck_assert_msg(strstr(refusal, WRONG[_i].refusal) != NULL, "%s", refusal);
    ck_assert_int_eq(words.count, 1);
}
END_TEST

START_TEST(a_value_and_a_list_have_their_limits)
{
    static const char *const OTHERS[] = {"b=x", "c=x", "d=x", "e=x", "f=x", "g=x", "h=x"};
    char text[160] = "a=";
    memset(text + 2, 'x', 129);
    ck_assert(!add(text));
    text[130] = '\0';
    ck_assert(add(text));
    for (int i = 0; i < MG_LABELS_MAX - 1; i++) {
        ck_assert(add(OTHERS[i]));
    }
    ck_assert(!add("i=x"));
    ck_assert_msg(strstr(refusal, "at most 8") != NULL, "%s", refusal);
    ck_assert(!mg_label_words_write(&words, json, 64, refusal));
}
END_TEST

/* Would catch: a value that is cut at its comma. */
START_TEST(a_comma_ends_a_value_only_before_another_label)
{
    ck_assert(mg_label_words_add_all(&words, "customer=Smith, John, country=CH,team=a,b", refusal));
    ck_assert_str_eq(written(), "{\"country\":\"CH\",\"customer\":\"Smith, John\",\"team\":\"a,b\"}");
    words.count = 0;
    ck_assert(mg_label_words_add_all(&words, "", refusal));
    ck_assert_int_eq(words.count, 0);
    ck_assert(!mg_label_words_add_all(&words, "17", refusal));
}
END_TEST

/* Would catch: half a character in an answer of the console or the tool. */
START_TEST(a_refusal_shows_whole_characters)
{
    char text[256] = "";
    memset(text, 'x', 79);
    memcpy(text + 79, "\xc3\xa4\xc3\xa4", 5);
    ck_assert(!add(text));
    ck_assert_int_eq(memcmp(refusal + 6 + 78, "x: expected", strlen("x: expected")), 0);
    ck_assert(!add(text + 1)); /* 78 and two bytes fit */
    ck_assert_int_eq(memcmp(refusal + 6 + 78, "\xc3\xa4: expected", strlen("\xc3\xa4: expected")), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("label words");
    TCase *tests = tcase_create("label words");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, equal_labels_give_equal_text);
    tcase_add_test(tests, a_refusal_shows_whole_characters);
    tcase_add_loop_test(tests, a_wrong_label_is_named, 0, (int)(sizeof(WRONG) / sizeof(WRONG[0])));
    tcase_add_test(tests, a_value_and_a_list_have_their_limits);
    tcase_add_test(tests, a_comma_ends_a_value_only_before_another_label);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
