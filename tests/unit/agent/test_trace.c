/* The agent's spans: one for each call, below the span of its attempt. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../span_recorder.h"
#include "../suite.h"
#include "flow.h"

#define TRACE     "0af7651916cd43dd8448eb211c80319c"
#define ATTEMPT   "b7ad6b7169203331"
#define UNSAMPLED "00-" TRACE "-" ATTEMPT "-00"

static const struct mg_span_sink sink = {.take = span_keep};

static void set_up(void)
{
    recorded_count = 0;
    flow_spans = &sink;
}

static void tear_down(void)
{
    flow_finish();
    flow_spans = NULL;
}

/* The context that the service received with a call. */
static const char *sent(int call)
{
    static char text[MG_TRACEPARENT_SIZE];
    const char *header = strstr(fake_http.calls[call].headers, "traceparent: ");
    if (header == NULL) {
        return "";
    }
    snprintf(text, sizeof(text), "%s", header + strlen("traceparent: "));
    return text;
}

/* Catches: a call that is in no tree, or that is not the parent of the service's own spans. */
START_TEST(a_call_is_recorded_under_its_attempt)
{
    flow_start("");
    flow_deliver(&(struct flow_request){.kind = MG_KIND_DO});
    flow_wait_calls(1);
    ck_assert_str_eq(sent(0), "00-" TRACE "-fc442c928b42f455-01"); /* try/o1.charge.3.do.0.1 */
    ck_assert_int_eq(recorded_count, 0);
    flow_answer_status(0, 200, "{\"secret\":\"of the answer\"}");
    ck_assert_int_eq(recorded_count, 1);
    ck_assert_str_eq(recorded[0].name, "POST");
    ck_assert_str_eq(recorded[0].trace, TRACE);
    ck_assert_str_eq(recorded[0].id, "fc442c928b42f455");
    ck_assert_str_eq(recorded[0].parent, ATTEMPT);
    ck_assert_int_eq(recorded[0].span.kind, MG_SPAN_CLIENT);
    ck_assert_int_ge(recorded[0].span.end_us, recorded[0].span.begin_us);
    ck_assert(!recorded[0].span.is_error);
    ck_assert(span_has(&recorded[0], " makegood.order_id=o1") &&
              span_has(&recorded[0], " makegood.step=charge") && span_has(&recorded[0], " makegood.try=1"));
    ck_assert(span_has(&recorded[0], " http.request.method=POST") &&
              span_has(&recorded[0], " http.response.status_code=200"));
    ck_assert(span_has(&recorded[0], " server.address=127.0.0.1") &&
              span_has(&recorded[0], " server.port=1"));
    ck_assert(span_has(&recorded[0], " makegood.outcome=done") &&
              span_has(&recorded[0], " makegood.executed=yes"));
    ck_assert(!span_has(&recorded[0], "secret") && !span_has(&recorded[0], "/charges") &&
              !span_has(&recorded[0], "14.00"));
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
}
END_TEST

/* Catches: two calls that look like one. */
START_TEST(each_try_is_a_span_of_its_own)
{
    flow_start(",\"tries\":2");
    flow_deliver(&(struct flow_request){.kind = MG_KIND_DO});
    flow_wait_calls(1);
    flow_answer_status(0, 503, "{\"code\":\"full\"}"); /* its own code stays out of the span */
    flow_wait_calls(2);
    char first[MG_TRACEPARENT_SIZE];
    snprintf(first, sizeof(first), "%s", sent(0));
    ck_assert_str_ne(first, sent(1));
    flow_answer_unreachable(1);
    ck_assert_int_eq(recorded_count, 2);
    ck_assert_str_ne(recorded[0].id, recorded[1].id);
    ck_assert_str_eq(recorded[0].parent, recorded[1].parent);
    ck_assert(recorded[0].span.is_error && recorded[1].span.is_error);
    ck_assert(span_has(&recorded[0], " http.response.status_code=503") &&
              span_has(&recorded[0], " error.type=http_503") && !span_has(&recorded[0], "full"));
    ck_assert(span_has(&recorded[0], " makegood.executed=maybe"));
    ck_assert(!span_has(&recorded[1], " http.response.status_code") &&
              span_has(&recorded[1], " makegood.executed=no")); /* of this try */
    flow_wait_replies(1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
}
END_TEST

/* Catches: the call of another delivery, recorded as if it were the first one's. */
START_TEST(a_request_that_comes_again_is_called_anew)
{
    flow_start("");
    flow_deliver(&(struct flow_request){.kind = MG_KIND_DO, .is_redelivered = true});
    flow_wait_calls(1);
    ck_assert_str_ne(sent(0), "00-" TRACE "-fc442c928b42f455-01");
    flow_answer_status(0, 200, "{}");
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
}
END_TEST

/* Catches: spans of traces that are not sampled, or a context that is lost on the way. */
START_TEST(an_unsampled_context_is_passed_on_unchanged)
{
    flow_start("");
    flow_deliver(&(struct flow_request){.kind = MG_KIND_DO, .traceparent = UNSAMPLED});
    flow_wait_calls(1);
    ck_assert_str_eq(sent(0), UNSAMPLED);
    flow_answer_status(0, 200, "{}");
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_deliver(&(struct flow_request){.order_id = "o2", .kind = MG_KIND_DO, .traceparent = ""});
    flow_wait_calls(2);
    ck_assert_str_eq(sent(1), "");
    flow_answer_status(1, 200, "{}");
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    ck_assert_int_eq(recorded_count, 0);
}
END_TEST

/* Catches: a call that the agent gave up and that has no span. */
START_TEST(a_call_that_is_given_up_is_recorded)
{
    flow_start("");
    flow_deliver(&(struct flow_request){.kind = MG_KIND_DO});
    flow_wait_calls(1);
    mg_agent_finish(&flow_agent);
    ck_assert(fake_http.calls[0].is_cancelled);
    ck_assert_int_eq(recorded_count, 1);
    ck_assert(span_has(&recorded[0], " error.type=cancelled") && recorded[0].span.is_error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_trace");
    TCase *tests = tcase_create("trace");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_call_is_recorded_under_its_attempt);
    tcase_add_test(tests, each_try_is_a_span_of_its_own);
    tcase_add_test(tests, a_request_that_comes_again_is_called_anew);
    tcase_add_test(tests, an_unsampled_context_is_passed_on_unchanged);
    tcase_add_test(tests, a_call_that_is_given_up_is_recorded);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
