/* Would catch: one cause counted as many because an id or a number is in its text, or two causes as one. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/signature.h"
#include "suite.h"

static const char *signature(const char *code, const char *text)
{
    static char signature[MG_SIGNATURE_MAX + 1];
    size_t len = mg_signature_write(mg_slice_of(code), mg_slice_of(text), signature);
    ck_assert_uint_eq(len, strlen(signature));
    return signature;
}

START_TEST(what_differs_from_case_to_case_is_left_out)
{
    static const char *const CASES[][2] = {
        {"till answered 422", "till answered #"},
        {"order 4711 is held by \"ann\"", "order # is held by #"},
        {"no such item 'A-17', nor \"\"", "no such item #, nor #"},
        {"`x` twice: `y`", "# twice: #"},
        {"don't know what it isn't", "don't know what it isn't"},
        {"an open \"quote of 3", "an open \"quote of #"},
        {"9f0c3b1e-7b3c-4f0a-9d52-0c6f8e1a2b3c is gone", "# is gone"},
        {"id=9F0C3B1E-7B3C-4F0A-9D52-0C6F8E1A2B3C.", "id=#."},
        {"commit 0ffc3b1e", "commit #"},
        {"a decade was added, defaced facade", "a decade was added, defaced facade"},
        {"effacedbed", "effacedbed"}, /* a word: it has no digit */
        {"card abc12x", "card abc#x"},
        {"14.00 EUR at 2026-01-31T12:34:56.789Z", "#.# EUR at #-#-#T#:#:#.#Z"},
        {"two\n\t lines  \x01 here", "two lines here"},
        {"stra\xc3\x9f\x65 5, caf\xc3\xa9", "stra\xc3\x9f\x65 #, caf\xc3\xa9"},
        {"a\x7f b", "a b"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char wanted[256];
        (void)snprintf(wanted, sizeof(wanted), "http_500%s%s", CASES[i][1][0] != '\0' ? ": " : "",
                       CASES[i][1]);
        ck_assert_str_eq(signature("http_500", CASES[i][0]), wanted);
    }
}
END_TEST

START_TEST(the_code_stays_as_it_is)
{
    ck_assert_str_eq(signature("http_422", NULL), "http_422");
    ck_assert_str_eq(signature("a1-\"b\"", "no"), "a1-\"b\": no");
}
END_TEST

START_TEST(it_is_cut_between_characters)
{
    char text[4 * MG_SIGNATURE_MAX + 1];
    for (size_t lead = 0; lead < 4; lead++) {
        memset(text, 'x', lead);
        for (size_t i = lead; i + 3 < sizeof(text); i += 3) {
            memcpy(text + i, "\xe2\x82\xac", 4); /* the euro sign, three bytes */
        }
        const char *cut = signature("c", text);
        size_t len = strlen(cut);
        ck_assert_uint_le(len, MG_SIGNATURE_MAX);
        ck_assert_uint_gt(len, MG_SIGNATURE_MAX - 3);
        ck_assert_uint_eq((len - strlen("c: ") - lead) % 3, 0);
    }
    memset(text, 'y', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    ck_assert_uint_eq(strlen(signature(text, text)), MG_SIGNATURE_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("signature");
    TCase *tests = tcase_create("signature");
    tcase_add_test(tests, what_differs_from_case_to_case_is_left_out);
    tcase_add_test(tests, the_code_stays_as_it_is);
    tcase_add_test(tests, it_is_cut_between_characters);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
