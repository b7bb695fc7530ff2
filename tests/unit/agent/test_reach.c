/* Calls to services that were not built for Makegood: what a call carries, and access tokens. The token
 * endpoint is the same fake client: a fetch is a call, too. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../suite.h"
#include "base/clock.h"
#include "base/hmac.h"
#include "base/id.h"
#include "fake_clock.h"
#include "flow.h"

/* Sets the clocks forward: time that passes for a token, and not for the loop. */
static int64_t began_ms;

static void clock_set(int64_t after_ms)
{
    fake_clock_pass(began_ms + after_ms - mg_clock_boot_ms());
}

static char secret[] = "/tmp/makegood-test-secret-XXXXXX";

static void set_up(void)
{
    (void)snprintf(secret, sizeof(secret), "/tmp/makegood-test-secret-XXXXXX");
    int fd = mkstemp(secret);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "p w&1\n", 6), 6);
    (void)close(fd); /* written */
    began_ms = mg_clock_boot_ms();
}

static void tear_down(void)
{
    flow_finish();
    ck_assert_int_eq(unlink(secret), 0);
}

/* `members` with the secret's file for each "~". */
static void start(const char *members)
{
    char text[900] = "";
    size_t len = 0;
    for (const char *at = members; *at != '\0'; at++) {
        char one[2] = {*at, '\0'};
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", *at == '~' ? secret : one);
    }
    flow_start(text);
}

#define OAUTH2(more)                                                                                         \
    ",\"auth\":{\"oauth2\":{\"token_url\":\"http://127.0.0.1:2/token\",\"client_id\":\"shop 1\","            \
    "\"client_secret\":{\"file\":\"~\"}" more "}}"

static bool carries(int call, const char *line)
{
    char wanted[512], all[2100];
    (void)snprintf(wanted, sizeof(wanted), "\n%s\n", line);
    (void)snprintf(all, sizeof(all), "\n%s", fake_http.calls[call].headers);
    return strstr(all, wanted) != NULL;
}

static void deliver(const char *request)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000, .request = request});
}

START_TEST(a_plain_call_carries_what_it_did)
{
    start("");
    deliver(NULL);
    flow_wait_calls(1);
    ck_assert(carries(0, "Idempotency-Key: o1.charge.do"));
    ck_assert(carries(0, "Accept: application/json"));
    ck_assert(carries(0, "Content-Type: application/json"));
    ck_assert_ptr_null(strstr(fake_http.calls[0].headers, "Authorization"));
    ck_assert_str_eq(fake_http.calls[0].body, "{\"sum\":14.00}");
}
END_TEST

START_TEST(a_step_brings_headers_and_an_encoded_body)
{
    start(
        ",\"key\":{\"header\":\"X-Request-Id\",\"prefix\":\"mg-\"},\"headers\":{\"X-A\":\"file\",\"X-B\":\"b\","
        "\"Accept\":\"text/csv\",\"Content-Type\":\"text/csv\"},"
        "\"auth\":{\"basic\":{\"user\":\"u\",\"password\":{\"file\":\"~\"}}}");
    deliver(
        "{\"method\":\"POST\",\"path\":\"/a?b=c\",\"headers\":{\"Accept\":\"text/plain\",\"x-a\":\"step\"},"
        "\"content_type\":\"application/x-www-form-urlencoded\",\"body\":\"a=b+c\"}");
    flow_wait_calls(1);
    ck_assert_str_eq(fake_http.calls[0].url, "http://127.0.0.1:1/base/a?b=c");
    ck_assert_str_eq(fake_http.calls[0].body, "a=b+c");
    ck_assert(carries(0, "x-a: step") && !carries(0, "X-A: file") && carries(0, "X-B: b"));
    ck_assert(carries(0, "Accept: text/plain") && !carries(0, "Accept: text/csv"));
    ck_assert(carries(0, "Content-Type: application/x-www-form-urlencoded"));
    ck_assert(!carries(0, "Content-Type: text/csv"));
    ck_assert(carries(0, "X-Request-Id: mg-o1.charge.do"));
    ck_assert_ptr_null(strstr(fake_http.calls[0].headers, "Idempotency-Key"));
    ck_assert(carries(0, "Authorization: Basic dTpwIHcmMQ=="));
}
END_TEST

/* Catches: an order's data in the place of a credential. */
START_TEST(a_step_does_not_replace_a_secret_or_the_key)
{
    static const char *const NAMES[] = {"X-Api-Key", "x-request-id", "X-Signature"};
    start(",\"key\":{\"header\":\"X-Request-Id\"},\"headers\":{\"X-Api-Key\":{\"file\":\"~\"}},"
          "\"auth\":{\"hmac\":{\"header\":\"X-Signature\",\"secret\":{\"file\":\"~\"}}}");
    for (int i = 0; i < 3; i++) {
        char request[256];
        (void)snprintf(request, sizeof(request),
                       "{\"method\":\"GET\",\"path\":\"/\",\"headers\":{\"%s\":\"x\"}}", NAMES[i]);
        deliver(request);
        flow_wait_replies(i + 1);
        ck_assert_int_eq(flow_reply(i)->outcome, MG_OUTCOME_PERMANENT);
        ck_assert_int_eq(flow_reply(i)->executed, MG_EXECUTED_NO);
        ck_assert_str_eq(flow_reply(i)->error_code, "unsendable");
        ck_assert_ptr_nonnull(strcasestr(flow_reply(i)->error_text, NAMES[i]));
        fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    }
    ck_assert_int_eq(fake_http.count, 0);
}
END_TEST

START_TEST(a_signature_covers_timestamp_and_body)
{
    uint8_t digest[MG_HMAC_MAX];
    char *at, timestamp[32] = "", wanted[256], hex[2 * MG_HMAC_MAX + 1];
    start(
        ",\"auth\":{\"hmac\":{\"header\":\"X-Signature\",\"prefix\":\"sha256=\",\"timestamp_header\":\"X-Time\","
        "\"secret\":{\"file\":\"~\"}}}");
    int64_t before_s = mg_clock_wall_ms() / 1000;
    deliver(NULL);
    flow_wait_calls(1);
    ck_assert_ptr_nonnull(at = strstr(fake_http.calls[0].headers, "X-Time: "));
    (void)snprintf(timestamp, sizeof(timestamp), "%.*s", (int)strcspn(at + 8, "\n"), at + 8);
    ck_assert_int_ge(strtoll(timestamp, NULL, 10), before_s);
    const struct mg_slice parts[] = {mg_slice_of(timestamp), mg_slice_of(".{\"sum\":14.00}")};
    size_t len = mg_hmac(MG_HASH_SHA256, mg_slice_of("p w&1"), parts, 2, digest);
    *mg_hex_write(digest, len, hex) = '\0';
    (void)snprintf(wanted, sizeof(wanted), "X-Signature: sha256=%s", hex);
    ck_assert(carries(0, wanted));
}
END_TEST

static void answer(int call, int status, const char *content_type, const char *body)
{
    struct mg_http_answer got = {.sent = MG_SENT_YES,
                                 .status = status,
                                 .body = mg_slice_of(body),
                                 .content_type = content_type,
                                 .retry_after_ms = -1};
    fake_http_answer(call, &got);
}

START_TEST(a_text_answer_becomes_a_string)
{
    start(",\"response\":\"text\",\"result\":{\"max_bytes\":20}");
    deliver(NULL);
    flow_wait_calls(1);
    answer(0, 200, "text/plain", "OK \"1\"\n\xff");
    flow_wait_replies(1);
    ck_assert(mg_slice_is(flow_reply(0)->result, "\"OK \\\"1\\\"\\n\xef\xbf\xbd\""));
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    deliver(NULL);
    flow_wait_calls(2);
    answer(1, 200, "text/plain", "123"); /* no number: its type does not depend on its content */
    flow_wait_replies(2);
    ck_assert(mg_slice_is(flow_reply(1)->result, "\"123\""));
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    deliver(NULL);
    flow_wait_calls(3);
    answer(2, 200, "application/json", "{\"a\":14.00}");
    flow_wait_replies(3);
    ck_assert(mg_slice_is(flow_reply(2)->result, "{\"a\":14.00}"));
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    deliver(NULL);
    flow_wait_calls(4);
    answer(3, 200, "text/plain", "a text above the bound of a result");
    flow_wait_replies(4);
    ck_assert(flow_reply(3)->is_truncated);
}
END_TEST

/* Catches: a reply that is no JSON, so that work which the service did counts as expired. */
START_TEST(an_empty_text_answer_has_no_result)
{
    start(",\"response\":\"text\"");
    deliver(NULL);
    flow_wait_calls(1);
    answer(0, 204, "", "");
    flow_wait_replies(1);
    ck_assert_int_eq(flow_reply(0)->outcome, MG_OUTCOME_DONE);
    ck_assert(flow_reply(0)->result.data == NULL && !flow_reply(0)->is_truncated);
}
END_TEST

START_TEST(an_action_may_ask_for_text)
{
    start("");
    deliver("{\"method\":\"GET\",\"path\":\"/\",\"response\":\"text\"}");
    flow_wait_calls(1);
    answer(0, 200, "", "plain");
    flow_wait_replies(1);
    ck_assert(mg_slice_is(flow_reply(0)->result, "\"plain\""));
}
END_TEST

/* ---- access tokens ---- */

#define TOKEN(text, life) "{\"access_token\":\"" text "\",\"token_type\":\"bearer\",\"expires_in\":" life "}"

START_TEST(requests_share_one_token)
{
    start(OAUTH2(",\"scope\":\"a b\",\"audience\":\"x\""));
    flow_deliver(&(struct flow_request){.order_id = "o1"});
    flow_deliver(&(struct flow_request){.order_id = "o2"});
    flow_wait_calls(1);
    flow_linger(30);
    ck_assert_int_eq(fake_http.count, 1); /* one fetch for both */
    ck_assert_str_eq(fake_http.calls[0].url, "http://127.0.0.1:2/token");
    ck_assert_str_eq(fake_http.calls[0].body, "grant_type=client_credentials&scope=a+b&audience=x");
    ck_assert(carries(0, "Authorization: Basic c2hvcCsxOnArdyUyNjE=")); /* shop+1:p+w%261 */
    ck_assert(carries(0, "Content-Type: application/x-www-form-urlencoded"));
    answer(0, 200, "application/json", TOKEN("t1", "3600"));
    flow_wait_calls(3);
    ck_assert(carries(1, "Authorization: Bearer t1") && carries(2, "Authorization: Bearer t1"));
}
END_TEST

static const char *const TYPES[] = {
    "\"Bearer\"", "\"bearer \"", "\"BearerToken\"", "\"bearer_token\"", "\"\"", "null", "\"\\u0042earer\"",
};

/* Catches: steps that never run, since a provider writes the type of the token in its own way.
 */
START_TEST(each_spelling_of_the_type_and_a_mark_are_taken)
{
    char body[200];
    start(OAUTH2(""));
    deliver(NULL);
    flow_wait_calls(1);
    (void)snprintf(body, sizeof(body),
                   "\xef\xbb\xbf{\"access_token\":\"t1\",\"scope\":\"\\ud83d\",\"token_type\":%s}",
                   TYPES[_i]);
    answer(0, 200, "application/json", body);
    flow_wait_calls(2);
    ck_assert(carries(1, "Authorization: Bearer t1"));
}
END_TEST

START_TEST(a_client_may_prove_itself_in_the_body)
{
    start(OAUTH2(",\"client_auth\":\"body\""));
    deliver(NULL);
    flow_wait_calls(1);
    ck_assert_str_eq(fake_http.calls[0].body,
                     "grant_type=client_credentials&client_id=shop+1&client_secret=p+w%261");
    ck_assert_ptr_null(strstr(fake_http.calls[0].headers, "Authorization"));
}
END_TEST

/* Two calls: one with the token t1, and one in the last minute of its `life`, 1,000 s. The second goes out at
 * once, and a renewal of the token alongside it. */
static void call_in_last_minute(const char *life)
{
    char token[128];
    (void)snprintf(token, sizeof(token), TOKEN("t1", "%s"), life);
    start(OAUTH2(""));
    flow_deliver(&(struct flow_request){.order_id = "o1"});
    flow_wait_calls(1);
    answer(0, 200, "application/json", token);
    flow_wait_calls(2);
    answer(1, 200, "application/json", "{}");
    flow_wait_replies(1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    clock_set(945000);
    flow_deliver(&(struct flow_request){.order_id = "o2"});
    flow_wait_calls(4);
}

/* Of the calls 2 and 3 the renewal; the other one is the service's. */
static int fetch_among_last(void)
{
    return strcmp(fake_http.calls[2].url, "http://127.0.0.1:2/token") == 0 ? 2 : 3;
}

/* Catches: calls that wait for a renewal, or a token that is used after its end. */
START_TEST(a_token_is_renewed_before_it_ends)
{
    call_in_last_minute("\"1000\""); /* some give a text */
    int fetch = fetch_among_last();
    ck_assert_str_eq(fake_http.calls[fetch].url, "http://127.0.0.1:2/token");
    clock_set(1000000);
    flow_deliver(&(struct flow_request){.order_id = "o3"});
    flow_linger(30);
    ck_assert_int_eq(fake_http.count, 4); /* t1 has ended */
    answer(fetch, 200, "application/json", TOKEN("t2", "3600"));
    flow_wait_calls(5);
    ck_assert(carries(4, "Authorization: Bearer t2"));
}
END_TEST

/* Delivers a request with `left_ms`; its call 1 carries the token t1. */
static void call_with_token(const char *more, int64_t left_ms)
{
    char members[600];
    (void)snprintf(members, sizeof(members), OAUTH2("%s"), more);
    start(members);
    flow_deliver(&(struct flow_request){.left_ms = left_ms});
    flow_wait_calls(1);
    answer(0, 200, "application/json", TOKEN("t1", "3600"));
    flow_wait_calls(2);
}

static bool fetches(int call)
{
    return strcmp(fake_http.calls[call].url, "http://127.0.0.1:2/token") == 0;
}

/* Catches: orders that end, since a token counts only a moment after its issue. */
START_TEST(a_young_token_is_tried_again_after_a_pause)
{
    call_with_token("", 60000);
    for (int call = 1; call < 5; call++) { /* above `tries`: none of these is a try of its own */
        int64_t refused_ms = mg_clock_boot_ms();
        answer(call, 401, "", "");
        flow_wait_calls(call + 2);
        ck_assert(carries(call + 1, "Authorization: Bearer t1"));
        ck_assert_int_ge(mg_clock_boot_ms() - refused_ms, 200);
    }
    ck_assert_int_eq(fake_broker_count("reply"), 0);
    answer(5, 503, "", ""); /* the first try that counts */
    flow_wait_calls(7);
    answer(6, 200, "application/json", "{}");
    flow_wait_replies(1);
    ck_assert_int_eq(flow_reply(0)->outcome, MG_OUTCOME_DONE);
}
END_TEST

/* Catches: an order that ends since two tokens in a row were refused: each may be of the wrong moment. */
START_TEST(refused_tokens_are_renewed_for_a_time)
{
    call_with_token("", 60000);
    int64_t first_ms = mg_clock_boot_ms();
    int fetched = 1, call = 1;
    for (; fake_broker_count("reply") == 0 && call < 60; call++) {
        if (fetches(call)) {
            char token[100];
            (void)snprintf(token, sizeof(token), TOKEN("t%d", "3600"), ++fetched);
            answer(call, 200, "application/json", token);
        } else {
            answer(call, 401, "", "");
            fake_clock_pass(1000);
        }
        for (int i = 0; i < 300 && fake_http.count == call + 1 && fake_broker_count("reply") == 0; i++) {
            flow_linger(10);
        }
    }
    ck_assert_int_ge(mg_clock_boot_ms() - first_ms, MG_TOKEN_PATIENCE_MS);
    ck_assert_int_le(mg_clock_boot_ms() - first_ms, MG_TOKEN_PATIENCE_MS + 5000);
    ck_assert_int_ge(fetched, 3);
    ck_assert_int_eq(flow_reply(0)->outcome, MG_OUTCOME_PERMANENT);
    ck_assert_str_eq(flow_reply(0)->error_code, "http_401");
    ck_assert_int_eq(flow_reply(0)->executed, MG_EXECUTED_NO);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_deliver(&(struct flow_request){.order_id = "o2", .left_ms = 60000});
    flow_wait_calls(call + 1);
    if (fetches(call)) {
        answer(call++, 200, "application/json", TOKEN("t9", "3600"));
        flow_wait_calls(call + 1);
    }
    answer(call, 401, "", ""); /* the service refuses all tokens by now: no request waits as long again */
    flow_wait_replies(2);
    ck_assert_str_eq(flow_reply(1)->error_code, "http_401");
}
END_TEST

/* Catches: an order that is judged, or an attempt that is used up, for lack of time for another token. */
START_TEST(a_refused_token_without_time_for_another_costs_no_attempt)
{
    call_with_token("", 900);
    for (int call = 1; fake_broker_count("reply") == 0 && call < 20; call++) {
        answer(call, 401, "", "");
        for (int i = 0; i < 100 && fake_http.count == call + 1 && fake_broker_count("reply") == 0; i++) {
            flow_linger(10);
        }
    }
    ck_assert_int_eq(flow_reply(0)->outcome, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(flow_reply(0)->executed, MG_EXECUTED_NO);
    ck_assert_str_eq(flow_reply(0)->error_code, "token_unavailable");
}
END_TEST

/* Catches: an attempt after the other of a request that the service refuses with each token. */
START_TEST(a_request_that_two_tokens_did_not_help_is_refused)
{
    call_with_token("", 60000);
    clock_set(40000); /* t1 is no young token any more */
    answer(1, 401, "", "");
    flow_wait_calls(3);
    answer(2, 200, "application/json", TOKEN("t2", "3600"));
    flow_wait_calls(4);
    clock_set(59500);
    answer(3, 401, "", "");
    flow_wait_replies(1);
    ck_assert_int_eq(flow_reply(0)->outcome, MG_OUTCOME_PERMANENT);
    ck_assert_str_eq(flow_reply(0)->error_code, "http_401");
}
END_TEST

/* Catches: a request without an end, since one call of a service is refused for as long as it has time, and
 * others are not. */
START_TEST(a_refusal_beside_good_calls_ends_while_there_is_time)
{
    call_with_token("", 90000);
    int64_t first_ms = mg_clock_boot_ms();
    for (int call = 1, others = 0;; others++) {
        flow_wait_calls(call + 1);
        answer(call++, 401, "", "");
        flow_linger(1);
        if (fake_broker_count("reply") > others) {
            break;
        }
        flow_deliver(&(struct flow_request){.order_id = "other"});
        flow_wait_calls(call + 1);
        answer(call++, 200, "application/json", "{}");
        flow_wait_replies(others + 1);
        fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    }
    ck_assert_int_le(mg_clock_boot_ms() - first_ms, MG_TOKEN_PATIENCE_MS + 2000);
    ck_assert_str_eq(flow_reply(fake_broker_count("reply") - 1)->error_code, "http_401");
}
END_TEST

/* Catches: a request that waits for ever, since one call of a service is refused with a token that others
 * accept. */
START_TEST(a_refusal_beside_good_calls_is_the_requests)
{
    call_with_token("", 900);
    answer(1, 401, "", "");
    flow_linger(1);
    flow_deliver(&(struct flow_request){.order_id = "o2"});
    flow_wait_calls(3);
    answer(2, 200, "application/json", "{}");
    flow_wait_replies(1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    for (int call = 3; fake_broker_count("reply") == 1 && call < 20; call++) {
        flow_wait_calls(call + 1);
        answer(call, 401, "", "");
        flow_linger(1);
    }
    ck_assert_str_eq(flow_reply(1)->error_code, "http_401");
    ck_assert_int_eq(flow_reply(1)->outcome, MG_OUTCOME_PERMANENT);
}
END_TEST

static const struct {
    int status;
    const char *challenge, *body;
    bool is_refusal; /* of the token */
} REFUSALS[] = {
    {401, NULL, "", true},
    {401, "Bearer", "", true},
    {401, "Basic realm=\"a, Bearer error=\\\"insufficient_scope\\\"\"", "", true},
    {401, "Bearer realm=\"x\", error=\"invalid_token\"", "", true},
    {403, "bearer realm=\"x, y\",error = invalid_token", "", true},
    {400, "Basic realm=\"x\", BEARER error=\"invalid_token\", error_description=\"ended\"", "", true},
    {401, "Bearer error=\"insufficient_scope\"", "", false},
    {403, "Bearer error=\"insufficient_scope\", scope=\"invalid_token\"", "", false},
    {403, "Bearer realm=\"error=invalid_token\"", "", false},
    {403, "Digest error=\"invalid_token\"", "", false},
    {403, NULL, "{\"code\":\"TOKEN_EXPIRED\"}", true},
    {400, NULL, "{\"error\":{\"code\":\"invalid_token\"}}", true},
    {400, NULL, "{\"code\":\"TOKEN_EXPIRED\"}", false},
    {403, NULL, "{\"code\":\"FORBIDDEN\"}", false},
    {403, NULL, "", false},
    {422, NULL, "{\"code\":\"TOKEN_EXPIRED\"}", false},
};

/* Catches: an ended token that the service reports by another answer than a plain 401, and a refused order
 * for which the token is tried again. */
START_TEST(each_answer_that_refuses_the_token_is_known)
{
    call_with_token(",\"expired_when\":[\"http_403/TOKEN_EXPIRED\",\"http_400/invalid_token\"]", 10000);
    fake_http_answer(1, &(struct mg_http_answer){.sent = MG_SENT_YES,
                                                 .status = REFUSALS[_i].status,
                                                 .body = mg_slice_of(REFUSALS[_i].body),
                                                 .content_type = "application/json",
                                                 .bearer_challenge = REFUSALS[_i].challenge,
                                                 .retry_after_ms = -1});
    if (REFUSALS[_i].is_refusal) {
        flow_wait_calls(3);
        ck_assert_int_eq(fake_broker_count("reply"), 0);
    } else {
        flow_wait_replies(1);
        ck_assert_int_eq(flow_reply(0)->outcome, MG_OUTCOME_PERMANENT);
    }
}
END_TEST

/* Catches: two calls with the same token, whose refusals cause two fetches. */
START_TEST(refusals_of_one_token_cause_one_fetch)
{
    start(OAUTH2(""));
    flow_deliver(&(struct flow_request){.order_id = "o1", .left_ms = 90000});
    flow_deliver(&(struct flow_request){.order_id = "o2", .left_ms = 90000, .is_at_most_once = true});
    flow_wait_calls(1);
    answer(0, 200, "application/json", TOKEN("t1", "3600"));
    flow_wait_calls(3);
    clock_set(40000); /* it is no young token */
    answer(1, 401, "", "");
    flow_wait_calls(4);
    answer(3, 200, "application/json", TOKEN("t2", "3600"));
    flow_wait_calls(5);
    answer(2, 401, "", ""); /* of t1 */
    flow_wait_calls(6);
    ck_assert(carries(4, "Authorization: Bearer t2") && carries(5, "Authorization: Bearer t2"));
}
END_TEST

/* Catches: a 401 that ends in an order, because the agent was told to stop meanwhile. */
START_TEST(a_refused_token_costs_no_attempt_while_stopping)
{
    start(OAUTH2(""));
    deliver(NULL);
    flow_wait_calls(1);
    answer(0, 200, "application/json", TOKEN("t1", "3600"));
    flow_wait_calls(2);
    mg_agent_drain(&flow_agent);
    answer(1, 401, "", "");
    flow_wait_replies(1);
    ck_assert_int_eq(flow_reply(0)->outcome, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(flow_reply(0)->executed, MG_EXECUTED_NO);
    ck_assert_str_eq(flow_reply(0)->error_code, "token_unavailable");
}
END_TEST

static const struct {
    int status; /* 0: none came */
    const char *content_type, *body, *says;
} BAD_ANSWERS[] = {
    {200, "text/html; charset=x", "<html>p w&1</html>",
     "answered 200 with text/html, not with JSON; check token_url"},
    {200, "<evil>", "x", "answered 200 with something else, not with JSON"},
    {200, "application/json", "{\"token\":\"t\"}", "has no access_token"},
    {200, "application/json", "{\"access_token\":\"\"}", "has no access_token"},
    {200, "application/json", "{\"access_token\":7}", "has no access_token"},
    {200, "application/json", "{\"access_token\":\"a b\"}", "no header can hold it"},
    {200, "application/json", "{\"access_token\":\"a\\r\\nX: 1\"}", "no header can hold it"},
    {200, "application/json", "{\"access_token\":\"t\",\"token_type\":\"mac\"}",
     "another token_type than Bearer: mac"},
    {200, "application/json", "{\"access_token\":\"t\",\"token_type\":\"<x>\"}",
     "another token_type than Bearer"},
    {401, "application/json", "{\"error\":\"invalid_client\",\"error_description\":\"p w&1\"}",
     "answered 401 invalid_client"},
    {400, "application/json", "{\"error\":\"p w&1\"}", "answered 400"},
    {503, "text/html", "busy", "answered 503"},
    {302, "", "", "answered 302"},
    {0, NULL, NULL, "gave no answer: answer's body is above 65536 bytes; cut off"},
};

/* Catches: an attempt that the token endpoint costs, and a secret in the text of its failure. */
START_TEST(without_a_token_a_step_waits)
{
    start(OAUTH2(""));
    flow_deliver(&(struct flow_request){.order_id = "o1"});
    flow_deliver(&(struct flow_request){.order_id = "o2"});
    flow_wait_calls(1);
    if (BAD_ANSWERS[_i].status == 0) {
        fake_http_answer(0, &(struct mg_http_answer){.sent = MG_SENT_MAYBE,
                                                     .status = 200,
                                                     .content_type = "",
                                                     .reason = "answer's body is above 65536 bytes; cut off",
                                                     .retry_after_ms = -1});
    } else {
        answer(0, BAD_ANSWERS[_i].status, BAD_ANSWERS[_i].content_type, BAD_ANSWERS[_i].body);
    }
    flow_wait_replies(2);
    ck_assert_int_eq(fake_http.count, 1);
    for (int i = 0; i < 2; i++) {
        const struct mg_reply *reply = flow_reply(i);
        ck_assert_int_eq(reply->outcome, MG_OUTCOME_TRANSIENT);
        ck_assert_int_eq(reply->executed, MG_EXECUTED_NO);
        ck_assert_str_eq(reply->error_code, "token_unavailable");
        ck_assert_msg(strstr(reply->error_text, BAD_ANSWERS[_i].says) != NULL, "%s", reply->error_text);
        ck_assert_ptr_null(strstr(reply->error_text, "p w"));
    }
    ck_assert_int_eq(flow_agent.served[0].breaker.state, MG_BREAKER_OPEN);
}
END_TEST

START_TEST(a_probe_asks_for_the_token_again)
{
    start(OAUTH2("") ",\"breaker\":{\"open_for\":\"50ms\"}");
    deliver(NULL);
    flow_wait_calls(1);
    answer(0, 503, "", "");
    flow_wait_replies(1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_linger(100); /* half-open by now */
    deliver(NULL);
    flow_wait_calls(2);
    answer(1, 200, "application/json", TOKEN("t1", "3600"));
    flow_wait_calls(3);
    answer(2, 200, "application/json", "{}");
    flow_wait_replies(2);
    ck_assert_int_eq(flow_reply(1)->outcome, MG_OUTCOME_DONE);
    ck_assert_int_eq(flow_agent.served[0].breaker.state, MG_BREAKER_CLOSED);
}
END_TEST

/* Catches: an attempt that expires in the agent's hands while the endpoint stays silent. */
START_TEST(a_silent_endpoint_costs_no_attempt)
{
    start(OAUTH2(""));
    flow_deliver(&(struct flow_request){.left_ms = 400});
    flow_wait_calls(1);
    flow_wait_replies(1);
    ck_assert(fake_http.calls[0].is_open);
    ck_assert_str_eq(flow_reply(0)->error_code, "token_unavailable");
    ck_assert_ptr_nonnull(strstr(flow_reply(0)->error_text, "no access token has come in time"));
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    answer(0, 200, "application/json", TOKEN("t1", "3600"));
    deliver(NULL);
    flow_wait_calls(2);
    ck_assert(carries(1, "Authorization: Bearer t1"));
}
END_TEST

/* A failed renewal leaves the old token in use. */
START_TEST(a_failed_renewal_stops_nothing)
{
    call_in_last_minute("1000");
    int fetch = fetch_among_last();
    answer(fetch, 503, "", "");
    ck_assert_int_eq(flow_agent.served[0].breaker.state, MG_BREAKER_CLOSED);
    answer(5 - fetch, 200, "application/json", "{}");
    flow_wait_replies(2);
    ck_assert_int_eq(flow_reply(1)->outcome, MG_OUTCOME_DONE);
}
END_TEST

static void check_no_token(int reply, const char *says)
{
    flow_wait_replies(reply + 1);
    ck_assert_str_eq(flow_reply(reply)->error_code, "token_unavailable");
    ck_assert_msg(strstr(flow_reply(reply)->error_text, says) != NULL, "%s", flow_reply(reply)->error_text);
}

/* Catches: a token that has ended when it comes, and fetches without a pause between them. */
START_TEST(an_ended_token_is_none_and_fetches_rest)
{
    start(OAUTH2("") ",\"breaker\":{\"open_for\":\"50ms\"}");
    deliver(NULL);
    flow_wait_calls(1);
    clock_set(1500);
    int64_t came_ms = mg_clock_boot_ms();
    answer(0, 200, "application/json", TOKEN("t1", "1"));
    check_no_token(0, "the access token had ended when it came; check expires_in of token_url");
    ck_assert_int_eq(fake_http.count, 1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_linger(100); /* half-open by now */
    deliver(NULL);
    flow_wait_calls(2);
    ck_assert_int_ge(mg_clock_boot_ms() - came_ms, 1000);
    answer(1, 200, "application/json", TOKEN("t2", "60"));
    flow_wait_calls(3);
    ck_assert(carries(2, "Authorization: Bearer t2"));
}
END_TEST

/* Catches: a token endpoint that is asked each second although it asked for a minute, or for good by a moment
 * in place of seconds; requests that wait in the agent meanwhile; a rest that no reload ends. */
START_TEST(a_token_endpoint_rests_for_as_long_as_it_asks)
{
    bool is_moment = _i == 1, is_reloaded = _i == 2;
    start(OAUTH2("") ",\"breaker\":{\"open_for\":\"50ms\"}");
    deliver(NULL);
    flow_wait_calls(1);
    fake_http_answer(0,
                     &(struct mg_http_answer){.sent = MG_SENT_YES,
                                              .status = 429,
                                              .body = mg_slice_of(""),
                                              .content_type = "",
                                              .retry_after_ms = is_moment ? INT64_C(1795879000000) : 60000});
    check_no_token(0, "the token endpoint answered 429");
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_linger(100); /* half-open by now */
    int64_t ahead_ms = is_moment ? 3500000 : 50000;
    clock_set(ahead_ms);
    deliver(NULL);
    check_no_token(1, "the token endpoint answered 429");
    ck_assert_int_eq(fake_http.count, 1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_linger(100);
    if (is_reloaded) {
        mg_token_reload(mg_remote_of(&flow_agent.served[0])->token);
    } else {
        clock_set(ahead_ms + 110000);
    }
    deliver(NULL);
    flow_wait_calls(2);
    answer(1, 200, "application/json", TOKEN("t1", "3600"));
    flow_wait_calls(3);
    ck_assert(carries(2, "Authorization: Bearer t1"));
}
END_TEST

/* Catches: a token that is dropped for a late one which has ended. */
START_TEST(an_ended_token_replaces_no_good_one)
{
    call_in_last_minute("1000");
    int fetch = fetch_among_last();
    clock_set(950000);
    answer(fetch, 200, "application/json", TOKEN("t2", "1"));
    answer(5 - fetch, 200, "application/json", "{}");
    flow_wait_replies(2);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_deliver(&(struct flow_request){.order_id = "o3"});
    flow_wait_calls(5);
    ck_assert(carries(4, "Authorization: Bearer t1"));
}
END_TEST

static const struct {
    const char *answer;
    int64_t good_ms, ended_ms; /* after the question; 0: has no end */
} LIVES[] = {
    {TOKEN("t", "3.6e3"), 3599000, 3600000},
    {TOKEN("t", "\"3.6E+3\""), 3599000, 3600000},
    {TOKEN("t", "59.9"), 58000, 59000},
    {TOKEN("t", "600000e-4"), 59000, 60000},
    {TOKEN("t", "0.9"), 0, 1000},
    {TOKEN("t", "1e300"), 31535000000, 31536000000},
    {TOKEN("t", "9000000000000000000"), 31535000000, 31536000000},
    {TOKEN("t", "90000000000000000000"), 31535000000, 31536000000},
    {TOKEN("t", "1e400"), 31535000000, 31536000000},
    {TOKEN("t", "0"), 315360000000, 0},
    {TOKEN("t", "-1e3"), 315360000000, 0},
    {TOKEN("t", "null"), 315360000000, 0},
    {"{\"access_token\":\"t\"}", 315360000000, 0},
};

/* Catches: a life that is read as another. At good_ms a call goes out, at ended_ms none. */
START_TEST(a_life_is_read_as_a_number)
{
    start(OAUTH2(""));
    deliver(NULL);
    flow_wait_calls(1);
    answer(0, 200, "application/json", LIVES[_i].answer);
    flow_wait_calls(2);
    answer(1, 200, "application/json", "{}");
    flow_wait_replies(1);
    ck_assert(mg_token_is_ready(mg_remote_of(&flow_agent.served[0])->token));
    clock_set(LIVES[_i].good_ms - (LIVES[_i].good_ms > 0 ? 1 : 0));
    ck_assert(LIVES[_i].good_ms == 0 || mg_token_is_ready(mg_remote_of(&flow_agent.served[0])->token));
    clock_set(LIVES[_i].ended_ms);
    ck_assert(mg_token_is_ready(mg_remote_of(&flow_agent.served[0])->token) == (LIVES[_i].ended_ms == 0));
}
END_TEST

static const char *const NO_LIVES[] = {"\"soon\"",  "\"\"",     "true",   "[3600]",
                                       "\"36 00\"", "\"0x10\"", "\"inf\""};

START_TEST(a_life_that_is_no_number_is_refused)
{
    char body[256];
    (void)snprintf(body, sizeof(body), "{\"access_token\":\"t\",\"expires_in\":%s}", NO_LIVES[_i]);
    start(OAUTH2(""));
    deliver(NULL);
    flow_wait_calls(1);
    answer(0, 200, "application/json", body);
    check_no_token(0, "expires_in is no number of seconds");
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("agent_reach");
    TCase *tests = tcase_create("agent_reach");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_plain_call_carries_what_it_did);
    tcase_add_test(tests, a_step_brings_headers_and_an_encoded_body);
    tcase_add_test(tests, a_step_does_not_replace_a_secret_or_the_key);
    tcase_add_test(tests, a_signature_covers_timestamp_and_body);
    tcase_add_test(tests, a_text_answer_becomes_a_string);
    tcase_add_test(tests, an_empty_text_answer_has_no_result);
    tcase_add_test(tests, an_action_may_ask_for_text);
    tcase_add_test(tests, requests_share_one_token);
    tcase_add_test(tests, a_client_may_prove_itself_in_the_body);
    tcase_add_loop_test(tests, each_spelling_of_the_type_and_a_mark_are_taken, 0,
                        sizeof(TYPES) / sizeof(TYPES[0]));
    tcase_add_test(tests, a_token_is_renewed_before_it_ends);
    tcase_add_test(tests, a_young_token_is_tried_again_after_a_pause);
    tcase_add_test(tests, refused_tokens_are_renewed_for_a_time);
    tcase_add_test(tests, a_refused_token_without_time_for_another_costs_no_attempt);
    tcase_add_test(tests, a_request_that_two_tokens_did_not_help_is_refused);
    tcase_add_test(tests, a_refusal_beside_good_calls_ends_while_there_is_time);
    tcase_add_test(tests, a_refusal_beside_good_calls_is_the_requests);
    tcase_add_loop_test(tests, each_answer_that_refuses_the_token_is_known, 0, COUNT(REFUSALS));
    tcase_add_test(tests, refusals_of_one_token_cause_one_fetch);
    tcase_add_test(tests, a_refused_token_costs_no_attempt_while_stopping);
    tcase_add_loop_test(tests, without_a_token_a_step_waits, 0, COUNT(BAD_ANSWERS));
    tcase_add_test(tests, a_probe_asks_for_the_token_again);
    tcase_add_test(tests, a_silent_endpoint_costs_no_attempt);
    tcase_add_loop_test(tests, a_token_endpoint_rests_for_as_long_as_it_asks, 0, 3);
    tcase_add_test(tests, a_failed_renewal_stops_nothing);
    tcase_add_test(tests, an_ended_token_is_none_and_fetches_rest);
    tcase_add_test(tests, an_ended_token_replaces_no_good_one);
    tcase_add_loop_test(tests, a_life_is_read_as_a_number, 0, COUNT(LIVES));
    tcase_add_loop_test(tests, a_life_that_is_no_number_is_refused, 0, COUNT(NO_LIVES));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
