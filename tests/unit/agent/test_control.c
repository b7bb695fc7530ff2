/*
 * Control messages in the agent: pause, share of a limit, service down for most agents. And which of several
 * messages counts.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "flow.h"
#include "wire/service_control.h"

static void setup(void)
{
    flow_start(",\"concurrency\":8,\"rate\":100");
}

static const struct mg_served *served(void)
{
    return &flow_agent.served[0];
}

/* `members` follow the members that every control message has. */
static void say(int epoch, int version, const char *members)
{
    char body[1024];
    snprintf(body, sizeof(body), "{\"v\":1,\"service\":\"payment\",\"epoch\":%d,\"version\":%d,%s}", epoch,
             version, members);
    fake_broker_say(body);
}

static void expect_parked(int number)
{
    const struct mg_reply *reply = flow_reply(number);
    ck_assert_int_eq(reply->outcome, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(reply->executed, MG_EXECUTED_NO);
    ck_assert_str_eq(reply->error_code, "service_paused");
}

/* Would catch: a call in a pause; requests that stay in the queue until their deadline; a control message
 * without a report of its effect. */
START_TEST(a_pause_ends_what_waits_and_lets_calls_under_way_end)
{
    flow_finish();
    flow_start(",\"concurrency\":1,\"tries\":1");
    flow_deliver(&(struct flow_request){.order_id = "running"});
    flow_deliver(&(struct flow_request){.order_id = "waiting"});
    flow_wait_calls(1);
    int reports = fake_broker_count("service_report");
    ck_assert_str_eq(fake_broker.listened_names, "makegood.control.payment agent.payment.control.");
    say(1, 4, "\"paused\":true");
    flow_wait_replies(1);
    expect_parked(0);
    ck_assert_int_eq(fake_broker_count("service_report"), reports + 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"control_version\":4"));
    ck_assert_int_gt(mg_broker_prefetch(NULL, 0), 0);
    flow_deliver(&(struct flow_request){.order_id = "comes-later"});
    flow_wait_replies(2);
    expect_parked(1);
    ck_assert(!fake_http.calls[0].is_cancelled);
    flow_answer_status(0, 200, "{}");
    flow_wait_replies(3);
    ck_assert_int_eq(flow_reply(2)->outcome, MG_OUTCOME_DONE);
    ck_assert_int_eq(fake_http.count, 1);

    say(1, 5, "\"paused\":false");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"control_version\":5"));
    flow_deliver(&(struct flow_request){.order_id = "after"});
    flow_wait_calls(2);
}
END_TEST

/* Would catch: tries that go on in a pause because they began before it. */
START_TEST(a_pause_ends_the_tries_of_an_attempt)
{
    flow_finish();
    flow_start(",\"concurrency\":4,\"tries\":10");
    flow_deliver(&(struct flow_request){.order_id = "tried"});
    flow_deliver(&(struct flow_request){.order_id = "in-hand"});
    flow_wait_calls(2);
    say(1, 1, "\"paused\":true");
    flow_answer_status(0, 503, "");
    flow_wait_replies(1);
    ck_assert_str_eq(flow_reply(0)->error_code, "http_503"); /* a call was made: its code */
    flow_answer_status(1, 200, "{}");
    flow_wait_replies(2);
    ck_assert_int_eq(fake_http.count, 2);
}
END_TEST

/* Would catch: "not executed" in the reply to a request that an earlier agent may have sent. */
START_TEST(a_request_redelivered_in_a_pause_stays_in_doubt)
{
    say(1, 1, "\"paused\":true");
    flow_deliver(&(struct flow_request){.order_id = "again", .is_redelivered = true});
    flow_wait_replies(1);
    ck_assert_int_eq(flow_reply(0)->executed, MG_EXECUTED_MAYBE);
    ck_assert_str_eq(flow_reply(0)->error_code, "service_paused");
}
END_TEST

/* Would catch: a limit that counts in each process; one that raises the limit of the service file; one that
 * outlives its end. */
START_TEST(a_share_bounds_the_calls_and_never_raises_them)
{
    say(1, 1,
        "\"paused\":false,\"shares\":[{\"instance\":\"other\",\"concurrency\":5},"
        "{\"instance\":\"test\",\"concurrency\":2,\"rate\":50}]");
    ck_assert_int_eq(served()->limiter.concurrency, 2);
    ck_assert_double_eq(served()->limiter.rate_per_s, 50);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 2);
    for (int i = 0; i < 4; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o%d", i);
        flow_deliver(&(struct flow_request){.order_id = order_id});
    }
    flow_wait_calls(2);
    flow_linger(60);
    ck_assert_int_eq(fake_http.count, 2);
    say(1, 2, "\"paused\":false,\"shares\":[{\"instance\":\"test\",\"concurrency\":3000,\"rate\":5000}]");
    ck_assert_int_eq(served()->limiter.concurrency, 8);
    ck_assert_double_eq(served()->limiter.rate_per_s, 100);
    flow_wait_calls(4);
    say(1, 3, "\"paused\":false,\"shares\":[{\"instance\":\"test\",\"concurrency\":1}]");
    ck_assert_int_eq(served()->limiter.in_flight, 4);
    ck_assert_int_eq(served()->limiter.concurrency, 1);
    ck_assert_double_eq(served()->limiter.rate_per_s, 100);
    say(1, 4, "\"paused\":false");
    ck_assert_int_eq(served()->limiter.concurrency, 8);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"concurrency\":8"));
}
END_TEST

/* Would catch: a replica, not yet seen by the supervisor, that makes all calls of its file; one that is cut
 * to one call because a report of it was late. */
START_TEST(an_agent_that_is_not_named_makes_one_call_or_keeps_its_share)
{
    say(1, 1, "\"paused\":false,\"shares\":[]");
    ck_assert_int_eq(served()->limiter.concurrency, 1);
    say(1, 1, "\"paused\":false,\"shares\":[{\"instance\":\"test\",\"concurrency\":3}]");
    ck_assert_int_eq(served()->limiter.concurrency, 3);
    say(1, 1, "\"paused\":false,\"shares\":[{\"instance\":\"other\",\"concurrency\":3}]");
    ck_assert_int_eq(served()->limiter.concurrency, 3);
}
END_TEST

/* ---- down for most ---- */

#define OPEN_FOR  ",\"tries\":1,\"breaker\":{\"open_for\":\"50ms\"}"
#define DOWN(who) "\"paused\":false,\"down\":{\"prober\":\"" who "\"}"

static void expect_not_made(int number)
{
    const struct mg_reply *reply = flow_reply(number);
    ck_assert_int_eq(reply->outcome, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(reply->executed, MG_EXECUTED_NO);
    ck_assert_str_eq(reply->error_code, "breaker_open");
}

/* Would catch: attempts used up to find an outage that others have found; an agent that probes alongside the
 * named prober; one that stays closed when the outage is over. */
START_TEST(it_follows_the_health_of_the_others_until_that_changes)
{
    flow_finish();
    flow_start(",\"concurrency\":1" OPEN_FOR);
    flow_deliver(&(struct flow_request){.order_id = "running"});
    flow_deliver(&(struct flow_request){.order_id = "waiting"});
    flow_wait_calls(1);
    say(1, 0, DOWN("other"));
    flow_wait_replies(1);
    expect_not_made(0);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 0);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"breaker\":\"open\""));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "other probes"));
    flow_answer_status(0, 200, "{}"); /* of an earlier call: it ends nothing */
    flow_wait_replies(2);
    flow_linger(120);
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_OPEN);
    int reports = fake_broker_count("service_report");
    say(1, 0, DOWN("other"));
    ck_assert_int_eq(fake_broker_count("service_report"), reports);
    say(1, 0, "\"paused\":false");
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_CLOSED);
    ck_assert_int_gt(mg_broker_prefetch(NULL, 0), 0);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"breaker\":\"closed\""));
    flow_deliver(&(struct flow_request){.order_id = "after"});
    flow_wait_calls(2);
}
END_TEST

/* Would catch: requests that lie in the queue until their deadline because no agent consumes; more than one
 * probe at a time; schedulers that are asked for more requests during a probe. */
START_TEST(the_named_agent_probes_and_answers_for_all)
{
    flow_finish();
    flow_start(",\"concurrency\":8" OPEN_FOR);
    say(1, 0, DOWN("test"));
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_OPEN);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 8);
    flow_deliver(&(struct flow_request){.order_id = "too-early"});
    flow_wait_replies(1);
    expect_not_made(0);
    for (int probe = 0; probe < 2; probe++) {
        flow_linger(70);
        ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"half_open\""));
        ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "this one probes"));
        flow_deliver(&(struct flow_request){.order_id = "probe"});
        flow_deliver(&(struct flow_request){.order_id = "beside"});
        flow_wait_calls(1 + probe);
        flow_wait_replies(2 + 2 * probe);
        expect_not_made(1 + 2 * probe);
        ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"breaker\":\"open\""));
        flow_answer_status(probe, probe == 0 ? 503 : 200, "{}");
        flow_wait_replies(3 + 2 * probe);
    }
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_CLOSED);
    say(1, 0, DOWN("test")); /* the supervisor has not received the report yet */
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_CLOSED);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"breaker\":\"closed\""));
    say(1, 0, "\"paused\":false");
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_CLOSED);
}
END_TEST

/* Would catch: agents that stay down for ever because no supervisor leads any more, or because every new
 * leader is undecided. */
START_TEST(a_health_that_is_not_repeated_expires)
{
    flow_finish();
    flow_start(",\"concurrency\":8" OPEN_FOR);
    say(1, 0, DOWN("other"));
    flow_linger(120);
    mg_served_expire_health(&flow_agent.served[0]);
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_OPEN);
    flow_agent.served[0].control.health_boot_ms -= MG_SERVICE_DOWN_VALID_MS;
    say(2, 0, "\"paused\":false,\"undecided\":true");
    mg_served_expire_health(&flow_agent.served[0]);
    flow_linger(20);
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_HALF_OPEN);
    flow_deliver(&(struct flow_request){.order_id = "own-probe"});
    flow_wait_calls(1);
    flow_answer_status(0, 200, "{}");
    flow_wait_replies(1);
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_CLOSED);
}
END_TEST

/* Would catch: an agent that calls a service that is down because a new leader has no evidence yet; a pause
 * that waits until it has. */
START_TEST(a_leader_that_knows_nothing_changes_nothing)
{
    flow_finish();
    flow_start(",\"concurrency\":8" OPEN_FOR);
    say(1, 0, DOWN("test"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"prober\":true"));
    say(2, 3, "\"paused\":true,\"undecided\":true");
    ck_assert(served()->control.is_paused);
    ck_assert_int_eq(served()->breaker.service_health, MG_HEALTH_PROBE);
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_OPEN);
    say(2, 3, "\"paused\":true");
    ck_assert_int_eq(served()->breaker.service_health, MG_HEALTH_UP);
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_CLOSED);
    ck_assert_ptr_null(strstr(fake_broker_last("service_report")->body, "\"prober\""));
}
END_TEST

/* Would catch: a late message of an earlier leader that stops a service that is back, or starts calls to one
 * that is down. */
START_TEST(a_report_of_an_earlier_leader_does_not_count)
{
    say(7, 0, "\"paused\":false");
    say(6, 0, DOWN("other"));
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_CLOSED);
    say(8, 0, DOWN("other"));
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_OPEN);
    say(7, 0, "\"paused\":false");
    say(7, 0, DOWN("test"));
    ck_assert_int_eq(served()->breaker.state, MG_BREAKER_OPEN);
    ck_assert_int_eq(served()->breaker.service_health, MG_HEALTH_DOWN);
}
END_TEST

/* Would catch: an outdated leader that ends a pause; a leader that is gone for good and still takes
 * precedence over the present one. */
START_TEST(a_later_leader_outdoes_an_earlier_one_that_still_speaks)
{
    say(7, 2, "\"paused\":true");
    say(6, 1, "\"paused\":false");
    ck_assert(served()->control.is_paused);
    ck_assert_uint_eq(served()->control.version, 2);
    flow_agent.served[0].control.received_boot_ms -= 6000; /* no control message for 6 s */
    say(6, 3, "\"paused\":false");
    ck_assert(!served()->control.is_paused);
    ck_assert_uint_eq(served()->control.version, 3);
}
END_TEST

/* Would catch: a pause that ends because no control message arrives, or because none can be read. */
START_TEST(without_a_readable_control_message_it_goes_on_as_before)
{
    static const char *const others[] = {
        "",
        "{",
        "[]",
        "{\"v\":2,\"service\":\"payment\",\"epoch\":9,\"version\":9,\"paused\":false}",
        "{\"v\":1,\"service\":\"carrier\",\"epoch\":9,\"version\":9,\"paused\":false}",
        "{\"v\":1,\"service\":\"payment\",\"epoch\":9,\"version\":9}",
        "{\"v\":1,\"service\":\"payment\",\"epoch\":9,\"version\":9,\"paused\":false,\"down\":{}}"};
    say(1, 3, "\"paused\":true");
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        fake_broker_say(others[i]);
        ck_assert(served()->control.is_paused);
        ck_assert_uint_eq(served()->control.version, 3);
    }
    fake_broker_connect(false);
    fake_broker_connect(true);
    ck_assert(served()->control.is_paused);
}
END_TEST

/* Would catch: a service report at each of the control messages that come once a second. */
START_TEST(the_same_control_message_again_changes_nothing)
{
    say(1, 1, "\"paused\":false,\"shares\":[{\"instance\":\"test\",\"concurrency\":2}]");
    int reports = fake_broker_count("service_report");
    char story[256];
    memcpy(story, flow_story, sizeof(story));
    say(1, 1, "\"paused\":false,\"shares\":[{\"instance\":\"test\",\"concurrency\":2}]");
    ck_assert_int_eq(fake_broker_count("service_report"), reports);
    ck_assert_str_eq(flow_story, story);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_pause_ends_what_waits_and_lets_calls_under_way_end,
        a_pause_ends_the_tries_of_an_attempt,
        a_request_redelivered_in_a_pause_stays_in_doubt,
        a_share_bounds_the_calls_and_never_raises_them,
        an_agent_that_is_not_named_makes_one_call_or_keeps_its_share,
        it_follows_the_health_of_the_others_until_that_changes,
        the_named_agent_probes_and_answers_for_all,
        a_health_that_is_not_repeated_expires,
        a_leader_that_knows_nothing_changes_nothing,
        a_report_of_an_earlier_leader_does_not_count,
        a_later_leader_outdoes_an_earlier_one_that_still_speaks,
        without_a_readable_control_message_it_goes_on_as_before,
        the_same_control_message_again_changes_nothing,
    };
    Suite *suite = suite_create("agent control");
    TCase *tcase = tcase_create("control");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, flow_finish);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
