/*
 * Requests that an agent cannot send, or no longer can. It makes no forbidden call, its replies are true, and
 * other requests are served. Each test names the failure that it would catch.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "core/newer.h"
#include "flow.h"

static void setup(void)
{
    flow_start(",\"concurrency\":1,\"tries\":3");
}

static void expect_reply(int number, enum mg_outcome outcome, enum mg_executed executed, const char *code)
{
    const struct mg_reply *reply = flow_reply(number);
    ck_assert_str_eq(mg_outcome_name(reply->outcome), mg_outcome_name(outcome));
    ck_assert_str_eq(mg_executed_name(reply->executed), mg_executed_name(executed));
    ck_assert_str_eq(reply->error_code, code);
}

/* Would catch: a step tried for ever that can never be sent, or taken for one that may have happened. */
START_TEST(a_request_that_can_never_be_sent_has_failed_and_not_happened)
{
    fake_http.refusal = MG_BAD_INPUT;
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, "unsendable");
    ck_assert_int_eq(fake_http.count, 0);
    fake_http.refusal = MG_OK;
    flow_deliver(&(struct flow_request){.order_id = "o2"});
    flow_wait_calls(1); /* the slot is free */
}
END_TEST

/* Would catch: an order that fails because memory was short. */
START_TEST(a_request_that_cannot_be_sent_now_is_retried_without_cost)
{
    fake_http.refusal = MG_TRANSIENT;
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, "breaker_open");
    fake_http.refusal = MG_OK;
    flow_deliver(&(struct flow_request){.order_id = "o2"});
    flow_wait_calls(1);
}
END_TEST

/* Would catch: executed "no" for a redelivered request, which an earlier agent may have sent. */
START_TEST(a_request_that_cannot_be_sent_may_have_been_sent_before)
{
    fake_http.refusal = MG_BAD_INPUT;
    flow_deliver(&(struct flow_request){.left_ms = 10000, .is_redelivered = true});
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, "unsendable");
}
END_TEST

/* Would catch: a request acked as if read, although its bytes were not received. */
START_TEST(a_message_too_large_to_read_is_dead_lettered)
{
    fake_broker_deliver(&(struct fake_delivery){.type = "request", .body = "", .is_oversized = true});
    ck_assert_str_eq(flow_story, "x");
}
END_TEST

static void answer_unavailable(int64_t retry_after_ms)
{
    struct mg_http_answer answer = {
        .sent = MG_SENT_YES, .status = 503, .content_type = "", .retry_after_ms = retry_after_ms};
    fake_http_answer(fake_http.count - 1, &answer);
}

/* Would catch: an agent that ends without a reply about a try after which the service may have acted. */
START_TEST(an_agent_that_ends_between_two_tries_answers_with_the_last_one)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    answer_unavailable(5000);
    flow_linger(20);
    ck_assert_int_eq(fake_broker_count("reply"), 0);
    mg_agent_drain(&flow_agent);
    flow_wait_replies(1);
    ck_assert_str_eq(mg_outcome_name(flow_reply(0)->outcome), "transient");
    ck_assert_str_eq(mg_executed_name(flow_reply(0)->executed), "maybe");
    ck_assert_int_eq(fake_http.count, 1);
    ck_assert(!flow_agent.is_drained); /* the reply is not confirmed */
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_run();
    ck_assert_str_eq(flow_story, "cppra");
    ck_assert(flow_agent.is_drained);
}
END_TEST

/* Would catch: a new try by an agent that is ending, which its end then cuts off. */
START_TEST(an_ending_agent_makes_no_new_try)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    mg_agent_drain(&flow_agent);
    answer_unavailable(-1);
    flow_wait_replies(1);
    ck_assert_str_eq(mg_outcome_name(flow_reply(0)->outcome), "transient");
    ck_assert_int_eq(fake_http.count, 1);
}
END_TEST

/* Would catch: an ending agent that keeps a message of a newer version from agents that can read it. */
START_TEST(an_ending_agent_returns_messages_for_a_newer_version_at_once)
{
    flow_deliver_bytes(0, "request_batch", "{}", 0);
    ck_assert_str_eq(flow_story, "u"); /* a place alongside it */
    mg_agent_drain(&flow_agent);
    ck_assert_str_eq(flow_story, "uppq");
    flow_deliver_bytes(0, "request_batch", "{}", 0);
    ck_assert_str_eq(flow_story, "uppqq");
}
END_TEST

/* Would catch: a flood of newer messages that takes the whole prefetch, so that no request gets through. */
START_TEST(many_of_a_newer_version_leave_most_of_the_prefetch_to_others)
{
    char story[64] = "qxc";
    flow_finish();
    flow_start(",\"concurrency\":8");
    const struct mg_line *line = &flow_agent.served[0].lines[0];
    int room = line->prefetch / MG_NEWER_SHARE;
    ck_assert(room > 1 && room < 32);
    for (int i = 0; i < room; i++) {
        flow_deliver_bytes(line->consumer, "request_batch", "{}", 0);
    }
    ck_assert_str_eq(flow_story, "");
    flow_deliver_bytes(line->consumer, "request_batch", "{}", MG_NEWER_DELIVERIES_MAX - 1);
    ck_assert_str_eq(flow_story, "q");
    flow_deliver_bytes(line->consumer, "request_batch", "{}", MG_NEWER_DELIVERIES_MAX);
    ck_assert_str_eq(flow_story, "qx");
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    memset(story + 3, 'q', (size_t)room);
    flow_wait_story(story);
    flow_deliver_bytes(line->consumer, "request_batch", "{}", 1);
    ck_assert_str_eq(flow_story, story); /* there is room again */
}
END_TEST

/* Would catch: a flood of newer messages that blocks a service for hours, if it allows one call at a time or
 * is probed. */
START_TEST(a_newer_version_that_waits_leaves_a_place_to_a_consumer_of_one)
{
    flow_finish();
    flow_start(",\"concurrency\":1");
    const struct mg_line *line = &flow_agent.served[0].lines[0];
    ck_assert_int_eq(line->prefetch, 1);
    flow_deliver_bytes(line->consumer, "request_batch", "{}", 0);
    ck_assert_int_eq(line->prefetch, 2);
    ck_assert_str_eq(flow_story, "u");
    flow_deliver_bytes(line->consumer, "request_batch", "{}", 1);
    ck_assert_str_eq(flow_story, "uq"); /* the second goes back at once: a place is for others */
}
END_TEST

/* Would catch: an end that waits for a service that never answers, or ignores an operator's second signal. */
START_TEST(an_end_waits_no_longer_than_it_is_given)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    mg_agent_drain(&flow_agent);
    flow_run(); /* the time-out stops the loop */
    ck_assert(!flow_agent.is_drained);
    ck_assert_str_eq(flow_story, "cpp");
    mg_agent_drain(&flow_agent);
    flow_run(); /* and so does the second signal */
    ck_assert_str_eq(flow_story, "cpp");
}
END_TEST

/* Would catch: a rate that is not kept, or a waiting request that is forgotten. */
START_TEST(requests_above_the_rate_wait_for_their_time)
{
    flow_finish();
    flow_start(",\"rate\":10");
    for (int i = 0; i < 12; i++) {
        flow_deliver(&(struct flow_request){.left_ms = 10000, .consumer = i % 2});
    }
    flow_wait_calls(1);
    ck_assert_int_lt(fake_http.count, 12);
    flow_wait_calls(12);
}
END_TEST

/* Would catch: a header of the service file that is sent twice with two meanings. */
START_TEST(the_content_type_of_the_service_file_counts)
{
    flow_finish();
    flow_start(",\"headers\":{\"content-type\":\"application/vnd.shop+json\",\"Accept\":\"text/plain\"}");
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    ck_assert_ptr_nonnull(strstr(fake_http.calls[0].headers, "content-type: application/vnd.shop+json\n"));
    ck_assert_ptr_nonnull(strstr(fake_http.calls[0].headers, "Accept: text/plain\n"));
    ck_assert_ptr_null(strstr(fake_http.calls[0].headers, "application/json"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent refusals");
    TCase *test = tcase_create("refusals");
    tcase_set_timeout(test, 30);
    tcase_add_checked_fixture(test, setup, flow_finish);
    tcase_add_test(test, a_request_that_can_never_be_sent_has_failed_and_not_happened);
    tcase_add_test(test, a_request_that_cannot_be_sent_now_is_retried_without_cost);
    tcase_add_test(test, a_request_that_cannot_be_sent_may_have_been_sent_before);
    tcase_add_test(test, a_message_too_large_to_read_is_dead_lettered);
    tcase_add_test(test, an_agent_that_ends_between_two_tries_answers_with_the_last_one);
    tcase_add_test(test, an_ending_agent_makes_no_new_try);
    tcase_add_test(test, an_ending_agent_returns_messages_for_a_newer_version_at_once);
    tcase_add_test(test, many_of_a_newer_version_leave_most_of_the_prefetch_to_others);
    tcase_add_test(test, a_newer_version_that_waits_leaves_a_place_to_a_consumer_of_one);
    tcase_add_test(test, an_end_waits_no_longer_than_it_is_given);
    tcase_add_test(test, requests_above_the_rate_wait_for_their_time);
    tcase_add_test(test, the_content_type_of_the_service_file_counts);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
