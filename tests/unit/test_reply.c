/* The meaning of a reply with absent members, and of one with members that contradict each other. */
#include <check.h>

#include "suite.h"
#include "wire/reply.h"

/* Catches: an undo that overtakes a do, because an agent of an older version or in another language does not
 * report that it gave the call up. */
START_TEST(a_maybe_without_details_may_still_act)
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

static void parse(const char *members, struct mg_reply *ret_reply)
{
    static struct mg_buf body;
    struct mg_err err;
    mg_buf_finish(&body);
    mg_buf_init(&body, 4096);
    mg_buf_printf(&body,
                  "{\"v\":1,\"order_id\":\"o\",\"step\":\"s\",\"attempt\":1,\"kind\":\"do\","
                  "\"outcome\":\"permanent\",\"executed\":\"no\"%s}",
                  members);
    enum mg_class class = mg_reply_parse(mg_buf_slice(&body), &MG_JSON_LIMITS_DEFAULT, ret_reply, &err);
    ck_assert_msg(class == MG_OK, "%s", err.text);
}

/* Catches: a proof (law 10, sticky maybe), or an attempt that costs nothing, by a reply that contradicts
 * itself; an agent without the members, or with a newer word, that is read with another meaning than before.
 */
START_TEST(code_and_members_of_a_reply_give_its_facts)
{
    static const struct {
        const char *members, *code;
        enum mg_error_reason reason;
        int http_status;
    } cases[] = {
        /* the text alone */
        {"", "", MG_ERROR_REASON_NONE, 0},
        {",\"error\":{\"code\":\"http_422\"}", "http_422", MG_ERROR_REASON_ANSWERED, 422},
        {",\"error\":{\"code\":\"http_422/a/b\"}", "http_422/a/b", MG_ERROR_REASON_ANSWERED, 422},
        {",\"error\":{\"code\":\"http_422/\"}", "http_422/", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"code\":\"http_4220\"}", "http_4220", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"code\":\"http_42\"}", "http_42", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"code\":\"http_4x2\"}", "http_4x2", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"code\":\"http_099\"}", "http_099", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"code\":\"HTTP_422\"}", "HTTP_422", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"code\":\"refused/DECLINED\"}", "refused/DECLINED", MG_ERROR_REASON_REFUSED, 0},
        {",\"error\":{\"code\":\"timeout\"}", "timeout", MG_ERROR_REASON_TIMEOUT, 0},
        {",\"error\":{\"code\":\"timeout/x\"}", "timeout/x", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"code\":\"answered\"}", "answered", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"code\":\"/timeout\"}", "/timeout", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"text\":\"no\"}", "", MG_ERROR_REASON_NONE, 0},
        /* members that agree with it, or add to it */
        {",\"http_status\":422,\"error\":{\"code\":\"http_422\",\"reason\":\"answered\"}", "http_422",
         MG_ERROR_REASON_ANSWERED, 422},
        {",\"http_status\":422,\"error\":{\"code\":\"SOLD_OUT\",\"reason\":\"answered\"}", "SOLD_OUT",
         MG_ERROR_REASON_ANSWERED, 422},
        {",\"http_status\":422,\"error\":{\"code\":\"SOLD_OUT\"}", "SOLD_OUT", MG_ERROR_REASON_OTHER, 422},
        {",\"http_status\":200,\"error\":{\"code\":\"result_unreadable\"}", "result_unreadable",
         MG_ERROR_REASON_RESULT_UNREADABLE, 200},
        {",\"http_status\":201", "", MG_ERROR_REASON_NONE, 201},
        /* members alone */
        {",\"error\":{\"reason\":\"breaker_open\"}", "breaker_open", MG_ERROR_REASON_BREAKER_OPEN, 0},
        {",\"http_status\":422,\"error\":{\"reason\":\"answered\"}", "http_422", MG_ERROR_REASON_ANSWERED,
         422},
        {",\"error\":{\"reason\":\"answered\"}", "answered", MG_ERROR_REASON_ANSWERED, 0},
        /* a word of a newer version */
        {",\"error\":{\"code\":\"http_503\",\"reason\":\"proxied\"}", "http_503", MG_ERROR_REASON_ANSWERED,
         503},
        {",\"error\":{\"code\":\"proxied\",\"reason\":\"a_word_that_is_longer_than_any_of_ours_is\"}",
         "proxied", MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"reason\":\"proxied\"}", "", MG_ERROR_REASON_NONE, 0},
        {",\"error\":{\"code\":\"timeout\",\"reason\":\"\"}", "timeout", MG_ERROR_REASON_TIMEOUT, 0},
        /* contradictions */
        {",\"http_status\":422,\"error\":{\"code\":\"timeout\",\"reason\":\"answered\"}", "timeout",
         MG_ERROR_REASON_OTHER, 0},
        {",\"error\":{\"code\":\"http_503\",\"reason\":\"breaker_open\"}", "http_503", MG_ERROR_REASON_OTHER,
         0},
        {",\"error\":{\"code\":\"http_503\",\"reason\":\"other\"}", "http_503", MG_ERROR_REASON_OTHER, 0},
        {",\"http_status\":422,\"error\":{\"code\":\"http_401\",\"reason\":\"answered\"}", "http_401",
         MG_ERROR_REASON_OTHER, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct mg_reply reply;
        parse(cases[i].members, &reply);
        ck_assert_msg(reply.error_reason == cases[i].reason && reply.http_status == cases[i].http_status,
                      "%s: \"%s\", status %d", cases[i].members, mg_error_reason_name(reply.error_reason),
                      reply.http_status);
        ck_assert_str_eq(reply.error_code, cases[i].code);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply");
    TCase *tests = tcase_create("reply");
    tcase_add_test(tests, a_maybe_without_details_may_still_act);
    tcase_add_test(tests, code_and_members_of_a_reply_give_its_facts);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
