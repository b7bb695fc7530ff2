/* The default meaning of a reply with absent members. */
#include <check.h>

#include "suite.h"
#include "wire/reply.h"

/* Catches: an undo that overtakes a do, because an agent of an older version or in another language does not
 * report that it gave the call up. */
START_TEST(a_reply_that_may_be_and_says_no_more_may_still_act)
{
    static const struct {
        const char *text;
        bool may_still_act;
    } cases[] = {{"\"outcome\":\"transient\",\"executed\":\"maybe\"", true},
                 {"\"outcome\":\"unknown\",\"executed\":\"maybe\"", true},
                 {"\"outcome\":\"transient\",\"executed\":\"maybe\",\"may_still_act\":false", false},
                 {"\"outcome\":\"accepted\",\"executed\":\"maybe\"", false},
                 {"\"outcome\":\"accepted\",\"executed\":\"maybe\",\"may_still_act\":true", true},
                 {"\"outcome\":\"done\",\"executed\":\"yes\"", false},
                 {"\"outcome\":\"done\",\"executed\":\"yes\",\"may_still_act\":true", true},
                 {"\"outcome\":\"permanent\",\"executed\":\"no\"", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mg_reply back = {0};
        struct mg_buf body;
        struct mg_err err;
        mg_buf_init(&body, 4096);
        mg_buf_printf(&body, "{\"v\":1,\"order_id\":\"o\",\"step\":\"s\",\"attempt\":1,\"kind\":\"do\",%s}",
                      cases[i].text);
        enum mg_class class = mg_reply_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DEFAULT, &back, &err);
        ck_assert_msg(class == MG_OK, "%s", err.text);
        ck_assert_int_eq(back.may_still_act, cases[i].may_still_act);
        mg_buf_finish(&body);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply");
    TCase *tests = tcase_create("reply");
    tcase_add_test(tests, a_reply_that_may_be_and_says_no_more_may_still_act);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
