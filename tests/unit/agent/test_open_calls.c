/* Replies about calls that may still be at work at the service, for every outcome. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "flow.h"

static void setup(void)
{
    flow_start("");
}

static void expect_reply(int number, enum mg_outcome outcome, enum mg_executed executed, const char *code)
{
    const struct mg_reply *reply = flow_reply(number);
    ck_assert_str_eq(mg_outcome_name(reply->outcome), mg_outcome_name(outcome));
    ck_assert_str_eq(mg_executed_name(reply->executed), mg_executed_name(executed));
    ck_assert_str_eq(reply->error_code, code);
}

/* Catches: an undo that overtakes the call of an earlier try, because a later one was answered. */
START_TEST(one_try_that_was_given_up_keeps_the_attempt_open)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_status(0, 504, "");
    flow_wait_calls(2);
    flow_answer_status(1, 422, "{}");
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, "http_422");
    ck_assert(flow_reply(0)->may_still_act);
    flow_deliver(&(struct flow_request){.order_id = "o2"});
    flow_wait_calls(3);
    flow_answer_status(2, 503, "{}");
    flow_wait_calls(4);
    flow_answer_status(3, 422, "{}");
    flow_wait_replies(2);
    expect_reply(1, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, "http_422");
    ck_assert(!flow_reply(1)->may_still_act);
    flow_deliver(&(struct flow_request){.order_id = "o3"});
    flow_wait_calls(5);
    flow_answer_broken(4);
    flow_wait_replies(3);
    ck_assert(flow_reply(2)->may_still_act);
}
END_TEST

/* Catches: an undo that overtakes the call of the agent that had the request before. */
START_TEST(a_redelivered_request_may_be_at_work_elsewhere_after_any_answer)
{
    flow_deliver(&(struct flow_request){.is_redelivered = true});
    flow_wait_calls(1);
    flow_answer_status(0, 200, "{}");
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_DONE, MG_EXECUTED_YES, "");
    ck_assert(flow_reply(0)->may_still_act);
    flow_deliver(&(struct flow_request){.order_id = "o2"});
    flow_wait_calls(2);
    flow_answer_status(1, 200, "{}");
    flow_wait_replies(2);
    ck_assert(!flow_reply(1)->may_still_act);
}
END_TEST

/* Catches: the same, where the request was given to another agent after this one had its answer. */
START_TEST(an_answer_that_outlives_its_connection_leaves_the_attempt_open)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_status(0, 200, "{\"id\": 7.50}");
    flow_wait_replies(1);
    ck_assert(!flow_reply(0)->may_still_act);
    fake_broker_connect(false);
    fake_broker_end("reply", MG_PUBLISH_UNKNOWN);
    fake_broker_connect(true);
    flow_wait_replies(2);
    expect_reply(1, MG_OUTCOME_DONE, MG_EXECUTED_YES, "");
    ck_assert(flow_reply(1)->may_still_act);
    ck_assert(mg_slice_is(flow_reply(1)->result, "{\"id\": 7.50}"));
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_story("crra");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent open calls");
    TCase *tcase = tcase_create("open calls");
    tcase_add_checked_fixture(tcase, setup, flow_finish);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, one_try_that_was_given_up_keeps_the_attempt_open);
    tcase_add_test(tcase, a_redelivered_request_may_be_at_work_elsewhere_after_any_answer);
    tcase_add_test(tcase, an_answer_that_outlives_its_connection_leaves_the_attempt_open);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
