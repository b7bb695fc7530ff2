/* Secrets of a call in a refusing body. Each test names the failure that it would catch. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../suite.h"
#include "flow.h"
#include "mask.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static struct mg_arena *arena;
static char file[] = "/tmp/makegood-test-secret-XXXXXX";

static void file_write(const char *content)
{
    FILE *to = fopen(file, "we");
    ck_assert_ptr_nonnull(to);
    ck_assert_int_ge(fputs(content, to), 0);
    ck_assert_int_eq(fclose(to), 0);
}

static void set_up(void)
{
    (void)snprintf(file, sizeof(file), "/tmp/makegood-test-secret-XXXXXX");
    int fd = mkstemp(file);
    ck_assert_int_ge(fd, 0);
    (void)close(fd); /* nothing is in it yet */
    arena = mg_arena_create(1024 * 1024);
    ck_assert_ptr_nonnull(arena);
}

static void tear_down(void)
{
    mg_arena_destroy(arena);
    ck_assert_int_eq(unlink(file), 0);
}

static void expect(const char *body, const char *masked)
{
    const struct mg_slice secrets[] = {mg_slice_of("sesame/open"), mg_slice_of("short"),
                                       mg_slice_of("sesame/open/wide"), mg_slice_of("say \"<open>\\")};
    struct mg_slice made = mg_mask(mg_slice_of(body), secrets, COUNT(secrets), arena);
    ck_assert_msg(mg_slice_is(made, masked), "%.*s", (int)made.len, made.data);
}

/* Catches: a secret that stays because it stands at an end, twice, escaped or within a longer one; a word
 * that is blotted out because a password is short. */
START_TEST(each_secret_is_masked_wherever_it_stands)
{
    expect("sesame/open", "***********");
    expect("a sesame/opensesame/open.", "a **********************.");
    expect("{\"a\":\"sesame\\/open\"}", "{\"a\":\"************\"}");
    expect("{\"a\":\"s\\u0065same\\u002Fopen\"}", "{\"a\":\"*********************\"}");
    expect("{\"a\":\"say \\\"\\u003copen\\u003E\\\\\"}", "{\"a\":\"************************\"}");
    expect("say \"<open>\\ twice: say \"<open>\\", "************ twice: ************");
    expect("sesame/open/wide", "****************");
    expect("sesame/ope short sesame", "sesame/ope short sesame");
    expect("sesame\\", "sesame\\");
    expect("", "");
}
END_TEST

/* Catches: a copy of each refusing body, though it holds no secret. */
START_TEST(a_body_without_a_secret_is_the_body)
{
    const struct mg_slice secret = mg_slice_of("sesame/open"), body = mg_slice_of("{\"code\":\"no\"}");
    ck_assert_ptr_eq(mg_mask(body, &secret, 1, arena).data, body.data);
}
END_TEST

/* Catches: a body with the secret, because there was no memory for the one without it. */
START_TEST(without_memory_the_body_is_left_out)
{
    struct mg_arena *small = mg_arena_create(4);
    const struct mg_slice secret = mg_slice_of("sesame/open");
    ck_assert_ptr_nonnull(small);
    ck_assert_ptr_null(mg_mask(secret, &secret, 1, small).data);
    mg_arena_destroy(small);
}
END_TEST

static const struct {
    const char *members, *said; /* "~": the secret's file */
    const char *content;        /* of the file; NULL: "sesame/open" */
} WAYS[] = {
    {",\"auth\":{\"bearer\":{\"file\":\"~\"}}", "Bearer sesame/open", NULL},
    {",\"auth\":{\"basic\":{\"user\":\"u\",\"password\":{\"file\":\"~\"}}}", "dTpzZXNhbWUvb3Blbg==", NULL},
    {",\"auth\":{\"basic\":{\"user\":\"u\",\"password\":{\"file\":\"~\"}}}", "u:sesame/open", NULL},
    {",\"headers\":{\"X-Api-Key\":{\"file\":\"~\"}}", "sesame/open", NULL},
    {",\"headers\":{\"X-Api-Key\":{\"file\":\"~\"}}", "u:sesame/open", "Token sesame/open"},
    {",\"auth\":{\"hmac\":{\"header\":\"X-Signature\",\"secret\":{\"file\":\"~\"}}}", "sesame\\/open", NULL},
};

static void start(int way)
{
    char members[300] = "";
    size_t len = 0;
    for (const char *at = WAYS[way].members; *at != '\0'; at++) {
        len += (size_t)snprintf(members + len, sizeof(members) - len, "%.*s", *at == '~' ? 99 : 1,
                                *at == '~' ? file : at);
    }
    file_write(WAYS[way].content != NULL ? WAYS[way].content : "sesame/open");
    flow_start(members);
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
}

/* The service's answer, and the reply that must not repeat it. */
static void expect_hidden(int way)
{
    char body[200];
    (void)snprintf(body, sizeof(body), "{\"code\":\"bad %s\",\"message\":\"no %s here\"}", WAYS[way].said,
                   WAYS[way].said);
    flow_answer_status(0, 422, body);
    flow_wait_replies(1);
    const struct mg_reply *reply = flow_reply(0);
    ck_assert_int_eq(reply->outcome, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(reply->executed, MG_EXECUTED_NO);
    ck_assert_str_eq(reply->error_code, strchr(WAYS[way].said, ' ') != NULL   ? "http_422/bad_Bearer"
                                        : strchr(WAYS[way].said, ':') != NULL ? "http_422/bad_u"
                                                                              : "http_422/bad");
    ck_assert_ptr_null(memmem(reply->error_message.data, reply->error_message.len, "sesame", 6));
    ck_assert_ptr_null(memmem(reply->error_message.data, reply->error_message.len, "dTpz", 4));
    ck_assert_ptr_null(memmem(reply->error_body.data, reply->error_body.len, "sesame", 6));
    ck_assert_ptr_null(memmem(reply->error_body.data, reply->error_body.len, "dTpz", 4));
    ck_assert_ptr_nonnull(memmem(reply->error_message.data, reply->error_message.len, "****", 4));
    ck_assert_ptr_null(strstr(reply->error_text, "sesame"));
}

/* Catches: a credential in the code, text or kept body that a client and an operator get. */
START_TEST(a_refusal_that_repeats_a_credential_hides_it)
{
    start(_i);
    expect_hidden(_i);
    flow_finish();
}
END_TEST

/* Catches: a credential that was renewed while its call was under way, in the answer to that call. */
START_TEST(a_credential_is_hidden_after_its_renewal)
{
    struct mg_service *service;
    struct mg_err err;
    int count;
    bool is_new_header, is_new_auth;
    start(_i);
    service = flow_agent.served[0].service;
    file_write("another/word");
    for (int i = 0; i < 2; i++) { /* the second one finds nothing new */
        ck_assert_int_eq(mg_service_reread_headers(service, &count, &is_new_header, &err), MG_OK);
        ck_assert_int_eq(mg_service_reread_auth(service, &count, &is_new_auth, &err), MG_OK);
        ck_assert_int_eq(is_new_header || is_new_auth, i == 0);
    }
    expect_hidden(_i);
    flow_finish();
}
END_TEST

/* Catches: a credential in a good answer that the definition takes for a refusal. */
START_TEST(a_good_answer_that_is_judged_hides_its_code_and_text)
{
    static const char SAID[] =
        "{\"code\":\"sesame/open\",\"message\":\"no \\u0073esame/open\",\"key\":\"sesame/open\"}";
    static const char HIDDEN[] =
        "{\"code\":\"***********\",\"message\":\"no ****************\",\"key\":\"sesame/open\"}";
    for (int version = 1; version <= MG_REQUEST_VERSION_JUDGED; version += 2) {
        file_write("sesame/open");
        char members[300];
        (void)snprintf(members, sizeof(members), ",\"auth\":{\"bearer\":{\"file\":\"%s\"}}", file);
        flow_start(members);
        flow_deliver(&(struct flow_request){.left_ms = 10000, .version = version});
        flow_wait_calls(1);
        flow_answer_status(0, 200, SAID);
        flow_wait_replies(1);
        ck_assert_int_eq(flow_reply(0)->outcome, MG_OUTCOME_DONE);
        ck_assert(mg_slice_is(flow_reply(0)->result, version == MG_REQUEST_VERSION_JUDGED ? HIDDEN : SAID));
        flow_finish();
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent mask");
    TCase *tests = tcase_create("mask");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, each_secret_is_masked_wherever_it_stands);
    tcase_add_test(tests, a_body_without_a_secret_is_the_body);
    tcase_add_test(tests, without_memory_the_body_is_left_out);
    tcase_add_loop_test(tests, a_refusal_that_repeats_a_credential_hides_it, 0, COUNT(WAYS));
    tcase_add_loop_test(tests, a_credential_is_hidden_after_its_renewal, 0, COUNT(WAYS));
    tcase_add_test(tests, a_good_answer_that_is_judged_hides_its_code_and_text);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
