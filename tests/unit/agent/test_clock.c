/* The agent when its estimate of the database's clock and a request contradict each other. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/clock.h"
#include "flow.h"
#include "wire/service_control.h"

#define BACK_MS 30000

static void setup(void)
{
    flow_start("");
    for (int i = 0; i < MG_LINE_COUNT; i++) { /* there was room all along */
        flow_agent.served[0].lines[i].room_since_ms = mg_clock_boot_ms() - 60000;
    }
    flow_agent.awake_since_boot_ms = mg_clock_boot_ms() - 60000;
}

/* The leading supervisor publishes the database's time, which is `behind_ms` behind this machine's. */
static void tell_time(int64_t behind_ms)
{
    char body[256], sent_at[MG_TIME_TEXT_SIZE];
    mg_time_format(mg_clock_wall_ms() - behind_ms, sent_at);
    snprintf(
        body, sizeof(body),
        "{\"v\":1,\"service\":\"payment\",\"epoch\":1,\"version\":0,\"paused\":false,\"sent_at\":\"%s\"}",
        sent_at);
    fake_broker_say(body);
}

/* Over a second, as in a longer run. */
static void tell_time_often(int64_t behind_ms)
{
    for (int i = 0; i < 5; i++) {
        tell_time(behind_ms);
        flow_linger(200);
    }
}

static void deliver_behind(const char *order_id, int64_t behind_ms)
{
    flow_deliver(
        &(struct flow_request){.order_id = order_id, .sent_ago_ms = behind_ms, .left_ms = 5000 - behind_ms});
}

/* Catches: an attempt that is used up in silence for a minute after the database's clock went back. */
START_TEST(a_request_of_a_clock_that_went_back_is_called_once_that_is_known)
{
    tell_time_often(0);
    deliver_behind("first", BACK_MS);
    flow_linger(50);
    ck_assert_str_eq(flow_story, ""); /* neither dropped nor called */
    tell_time_often(BACK_MS);
    flow_wait_calls(1);
    deliver_behind("next", BACK_MS);
    flow_wait_calls(2);
    flow_answer_status(0, 200, "{}");
    flow_wait_replies(1);
    ck_assert_int_eq((int)mg_metric_value(flow_agent.served[0].metrics.late), 0);
}
END_TEST

static void assert_replied_that_it_was_not_called(int number)
{
    flow_wait_replies(number + 1);
    const struct mg_reply *reply = flow_reply(number);
    ck_assert_str_eq(reply->error_code, "breaker_open");
    ck_assert_int_eq(reply->executed, MG_EXECUTED_NO);
    ck_assert_int_eq(fake_http.count, 0);
    ck_assert_int_eq((int)mg_metric_value(flow_agent.served[0].metrics.late), 0);
}

/* Catches: a call long after complete-by of a request that a stopped scheduler sends when it continues; an
 * attempt that is used up because a scheduler keeps the old clock for a moment after a step forward. */
START_TEST(a_fresh_request_that_came_late_is_answered_and_not_called)
{
    tell_time_often(0);
    deliver_behind("held-up", BACK_MS);
    tell_time_often(0);
    tell_time(0);
    assert_replied_that_it_was_not_called(0);
}
END_TEST

/* Catches: an attempt that is used up because no later message showed the clock. */
START_TEST(a_request_whose_doubt_does_not_end_is_answered_in_time)
{
    tell_time_often(0);
    flow_deliver(&(struct flow_request){.sent_ago_ms = BACK_MS, .left_ms = 1000 - BACK_MS});
    assert_replied_that_it_was_not_called(0);
}
END_TEST

/* Catches: a process that keeps undecided requests while it stops, or while the broker is away. */
START_TEST(requests_in_doubt_are_returned_when_there_is_no_time_to_wait)
{
    tell_time_often(0);
    deliver_behind("first", BACK_MS);
    fake_broker_connect(false);
    ck_assert_str_eq(flow_story, "q");
    fake_broker_connect(true);
    deliver_behind("second", BACK_MS);
    flow_linger(20);
    mg_agent_drain(&flow_agent);
    ck_assert_ptr_nonnull(strchr(flow_story + 1, 'q'));
    ck_assert(flow_agent.is_drained);
    ck_assert_int_eq(fake_http.count, 0);
}
END_TEST

/* Catches: all agents of a service that stop its orders because the database's clock is wrong and theirs are
 * right. */
START_TEST(a_clock_that_is_known_to_be_wrong_makes_no_agent_unready)
{
    char reason[256];
    tell_time_often(BACK_MS);
    ck_assert_msg(mg_agent_is_ready(&flow_agent, reason, sizeof(reason)), "%s", reason);
    int64_t ahead_ms = 0;
    ck_assert(mg_skew_measure(&flow_agent.skew, mg_clock_boot_ms(), mg_clock_wall_ms(), &ahead_ms));
    ck_assert_int_ge(ahead_ms, BACK_MS - 10);
    flow_agent.skew.minute_second = -1;
    for (int i = 0; i < MG_SKEW_SECONDS; i++) {
        flow_agent.skew.seconds[i].fresh_count = 0;
        flow_agent.skew.seconds[i].least_ms -= 2 * BACK_MS; /* from the future, with no other evidence */
    }
    ck_assert(!mg_agent_is_ready(&flow_agent, reason, sizeof(reason)));
    ck_assert_ptr_nonnull(strstr(reason, "behind of the database's; synchronise it"));
}
END_TEST

/* Catches: messages that lay in the queue while the process stalled, taken for a clock that went back. */
START_TEST(control_messages_that_waited_for_a_stopped_agent_prove_nothing_of_the_clock)
{
    tell_time_often(0);
    flow_agent.skew.ran_at_boot_ms = mg_clock_boot_ms() - BACK_MS;
    for (int64_t behind_ms = BACK_MS; behind_ms > BACK_MS / 2; behind_ms -= 1000) {
        tell_time(behind_ms);
    }
    ck_assert_int_eq(flow_agent.skew.run.count, 0);
    ck_assert_int_le(mg_clock_boot_ms() - flow_agent.awake_since_boot_ms, 1000);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_request_of_a_clock_that_went_back_is_called_once_that_is_known,
        a_fresh_request_that_came_late_is_answered_and_not_called,
        a_request_whose_doubt_does_not_end_is_answered_in_time,
        requests_in_doubt_are_returned_when_there_is_no_time_to_wait,
        a_clock_that_is_known_to_be_wrong_makes_no_agent_unready,
        control_messages_that_waited_for_a_stopped_agent_prove_nothing_of_the_clock,
    };
    Suite *suite = suite_create("agent clock");
    TCase *tcase = tcase_create("clock");
    tcase_add_checked_fixture(tcase, setup, flow_finish);
    tcase_set_timeout(tcase, 30);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
