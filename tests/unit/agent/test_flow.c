/*
 * The agent's flow from delivery to ack: its calls, its replies, their order, and the cases without any
 * reply.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "base/clock.h"
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

/* Catches: a call or a reply that loses data needed by the remote or the scheduler. */
START_TEST(a_request_is_called_and_answered_by_the_contract)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    const struct fake_call *call = &fake_http.calls[0];
    ck_assert_str_eq(call->method, "POST");
    ck_assert_str_eq(call->url, "http://127.0.0.1:1/base/charges");
    ck_assert_str_eq(call->body, "{\"sum\":14.00}");
    ck_assert_ptr_nonnull(strstr(call->headers, "Idempotency-Key: o1.charge.do\n"));
    ck_assert_ptr_nonnull(strstr(call->headers, "X-Makegood-Order: o1\n"));
    ck_assert_ptr_nonnull(strstr(call->headers, "X-Makegood-Step: charge\n"));
    ck_assert_ptr_nonnull(strstr(call->headers, "X-Makegood-Attempt: 3\n"));
    ck_assert_ptr_nonnull(strstr(call->headers, "X-Makegood-Complete-By: 2"));
    ck_assert_ptr_nonnull(strstr(call->headers, "Content-Type: application/json\n"));
    ck_assert_ptr_nonnull(strstr(call->headers, "traceparent: 00-0af7651916cd43dd8448eb211c80319c"));
    ck_assert_int_eq(call->timeout_ms, 9750);
    flow_answer_status(0, 201, "{\"id\": 7.50}");
    flow_wait_replies(1);
    ck_assert_str_eq(fake_broker_nth("reply", 0)->type, "reply");
    ck_assert_str_eq(fake_broker_nth("reply", 0)->queue, "scheduler.replies");
    ck_assert_str_eq(fake_broker_nth("reply", 0)->correlation, "o1.charge.3.do");
    expect_reply(0, MG_OUTCOME_DONE, MG_EXECUTED_YES, "");
    ck_assert(mg_slice_is(flow_reply(0)->result, "{\"id\": 7.50}"));
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_story("cra");
}
END_TEST

/* Catches: a request acked before its reply is confirmed, so that a crash loses the answer. */
START_TEST(the_request_is_acked_only_after_the_reply_is_confirmed)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_status(0, 200, "{}");
    flow_linger(50);
    ck_assert_str_eq(flow_story, "cr");
    fake_broker_end("reply", MG_PUBLISH_REFUSED);
    flow_wait_replies(2);
    ck_assert_str_eq(flow_story, "crppr");
    fake_broker_end("reply", MG_PUBLISH_UNKNOWN);
    flow_wait_replies(3);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_story("crpprrauu");
}
END_TEST

START_TEST(a_reply_waits_while_the_broker_is_away_and_goes_out_when_it_is_back)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    fake_broker_connect(false);
    flow_answer_status(0, 200, "{}");
    flow_linger(50);
    ck_assert_int_eq(fake_broker_count("reply"), 0);
    fake_broker_connect(true);
    flow_wait_replies(1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_story("cra");
}
END_TEST

/* Catches: "it was not executed" in a reply to a request that was delivered again meanwhile to another agent,
 * and called there. */
START_TEST(a_refusal_that_outlives_its_connection_is_maybe)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_status(0, 422, "");
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, "http_422");
    fake_broker_connect(false);
    fake_broker_end("reply", MG_PUBLISH_UNKNOWN);
    fake_broker_connect(true);
    flow_wait_replies(2);
    expect_reply(1, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, "http_422");
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_story("crra");
}
END_TEST

START_TEST(a_call_that_fails_after_its_connection_is_gone_is_maybe)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    fake_broker_connect(false);
    flow_answer_status(0, 422, "");
    fake_broker_connect(true);
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, "http_422");
}
END_TEST

/* It is never sent again, so the known outcome must be kept. */
START_TEST(at_most_once_keeps_its_refusal_while_the_broker_is_away)
{
    flow_deliver(&(struct flow_request){.is_at_most_once = true});
    flow_wait_calls(1);
    fake_broker_connect(false);
    flow_answer_status(0, 422, "");
    fake_broker_connect(true);
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, "http_422");
}
END_TEST

START_TEST(a_full_publish_window_delays_the_reply)
{
    fake_broker.refused_type = "reply";
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_status(0, 200, "{}");
    flow_linger(20);
    fake_broker.refused_type = NULL;
    flow_wait_replies(1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_story("cra");
}
END_TEST

/* ---- what the reports say of the calls ---- */

static const char *report_of_calls(void)
{
    flow_linger(6000); /* longer than the period of reports */
    const char *calls = strstr(fake_broker_last("service_report")->body, "\"calls\":");
    ck_assert_ptr_nonnull(calls);
    return calls;
}

/* Would catch: a slow or failing service that looks as any other, and one that seems to fail after its
 * repair. */
START_TEST(a_report_has_the_calls_and_the_last_failure)
{
    flow_finish();
    flow_start(",\"tries\":1");
    ck_assert_ptr_nonnull(strstr(report_of_calls(), "{\"count\":0,\"failed\":0,"));
    flow_deliver(&(struct flow_request){.left_ms = 60000});
    flow_wait_calls(1);
    flow_linger(3000);
    flow_answer_status(0, 503, "{\"code\": \"MAINTENANCE\", \"message\": \"we are updating\"}");
    const char *calls = report_of_calls();
    ck_assert_ptr_nonnull(strstr(calls,
                                 "{\"count\":1,\"failed\":1,\"within\":[0,0,0,0,0,0,0,0,0,0,0,1,0,0,0],"
                                 "\"refused\":0,\"durations\":[0,0,"));
    ck_assert_ptr_nonnull(strstr(calls, "],\"failing_since\":\"2"));
    ck_assert_ptr_nonnull(strstr(calls,
                                 "\"error\":{\"code\":\"http_503/MAINTENANCE\",\"text\":\"we are updating\","
                                 "\"at\":\"2"));
    flow_deliver(&(struct flow_request){.order_id = "o2", .left_ms = 60000});
    flow_wait_calls(2);
    flow_answer_status(1, 422, "");
    calls = report_of_calls();
    ck_assert_ptr_null(strstr(calls, "failing_since")); /* a refusal is an answer */
    ck_assert_ptr_nonnull(strstr(calls, "http_503/MAINTENANCE"));
    ck_assert_ptr_nonnull(strstr(calls, "{\"count\":2,\"failed\":1,"));
    ck_assert_ptr_nonnull(strstr(calls, "\"refused\":1,"));
    flow_deliver(&(struct flow_request){.order_id = "o3", .left_ms = 60000});
    flow_wait_calls(3);
    fake_http_answer(2, &(struct mg_http_answer){.sent = MG_SENT_YES,
                                                 .status = 201,
                                                 .content_type = "text/html",
                                                 .body = mg_slice_of("<html>hello</html>"),
                                                 .retry_after_ms = -1});
    calls = report_of_calls(); /* it cannot be read */
    ck_assert_ptr_nonnull(strstr(calls, "{\"count\":3,\"failed\":2,"));
}
END_TEST

/* Would catch: 2,000 ms that are reported as 2,425. */
START_TEST(a_duration_is_reported_within_an_eighth)
{
    const int64_t durations_us[] = {0,     1,       1000,    1001,     8000,     8001,
                                    17000, 2000000, 2048001, 65536000, INT64_MAX};
    const int buckets[] = {0, 0, 0, 1, 7, 8, 16, 71, 72, 111, 111};
    for (size_t i = 0; i < sizeof(buckets) / sizeof(buckets[0]); i++) {
        ck_assert_int_eq(mg_call_bucket(durations_us[i]), buckets[i]);
    }
}
END_TEST

START_TEST(an_unreachable_service_is_reported_as_such)
{
    flow_deliver(&(struct flow_request){.left_ms = 60000});
    flow_wait_calls(1);
    flow_answer_unreachable(0);
    const char *calls = report_of_calls();
    ck_assert_ptr_null(strstr(calls, "\"failed\":0"));
    ck_assert_ptr_nonnull(strstr(calls, "\"code\":\"unreachable\""));
}
END_TEST

/* ---- deadlines ---- */

/* A message with the database's clock, equal to this machine's, arrives in so long (negative: arrived so long
 * ago). */
static void hear_the_clock(int64_t in_ms)
{
    int64_t wall_ms = mg_clock_wall_ms() + in_ms;
    (void)mg_skew_note(&flow_agent.skew, mg_clock_boot_ms() + in_ms, wall_ms, wall_ms, MG_SAMPLE_CONTROL);
}

static void know_the_clock(void)
{
    for (int i = MG_SKEW_FRESH_MIN; i >= 0; i--) {
        hear_the_clock(-300 * i);
    }
}

/* Catches: a call, or even an error message, after complete-by (P7). */
START_TEST(a_late_request_is_dropped_in_silence)
{
    know_the_clock();
    flow_deliver(&(struct flow_request){.left_ms = -1, .sent_ago_ms = 10000});
    hear_the_clock(MG_SKEW_SETTLE_MS + 10); /* it did not go back */
    flow_wait_story("a");
    ck_assert_int_eq((int)mg_metric_value(flow_agent.served[0].metrics.late), 1);
}
END_TEST

START_TEST(an_answer_after_complete_by_is_kept_silent)
{
    flow_deliver(&(struct flow_request){.left_ms = 60});
    flow_wait_calls(1);
    flow_linger(80);
    flow_answer_status(0, 200, "{}");
    flow_linger(20);
    ck_assert_str_eq(flow_story, "ca");
}
END_TEST

START_TEST(a_reply_without_a_taker_ends_silently_at_complete_by)
{
    fake_broker.refused_type = "reply";
    flow_deliver(&(struct flow_request){.left_ms = 100});
    flow_wait_calls(1);
    flow_answer_status(0, 200, "{}");
    flow_linger(150);
    ck_assert_str_eq(flow_story, "ca");
}
END_TEST

/* Catches: a result that is thrown away while no attempt can be judged, either, as under an alarm. */
START_TEST(a_reply_that_the_broker_refuses_is_owed_beyond_complete_by)
{
    flow_deliver(&(struct flow_request){.left_ms = 100});
    flow_wait_calls(1);
    flow_answer_status(0, 200, "{\"id\": 7}");
    flow_wait_replies(1);
    flow_linger(120);
    fake_broker_end("reply", MG_PUBLISH_REFUSED);
    flow_wait_replies(2);
    ck_assert_str_eq(flow_story, "crappr");
    ck_assert(mg_slice_is(flow_reply(1)->result, "{\"id\": 7}"));
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_story("crappruu");
}
END_TEST

/* Catches: work whose result nobody can learn, and which is done anew by the next attempt. */
START_TEST(no_call_begins_while_replies_are_returned)
{
    flow_deliver(&(struct flow_request){.order_id = "o1", .left_ms = 60000});
    flow_wait_calls(1);
    flow_answer_status(0, 200, "{}");
    flow_wait_replies(1);
    fake_broker_end("reply", MG_PUBLISH_RETURNED);
    char reason[512];
    ck_assert(!mg_agent_is_ready(&flow_agent, reason, sizeof(reason)));
    ck_assert_ptr_nonnull(strstr(reason, "not bound to exchange makegood.replies.payment"));
    flow_deliver(&(struct flow_request){.order_id = "o2", .left_ms = 60000}); /* it was on its way */
    flow_linger(50);
    ck_assert_int_eq(fake_http.count, 1);
    flow_wait_replies(2);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_calls(2);
    ck_assert(mg_agent_is_ready(&flow_agent, reason, sizeof(reason)));
    flow_wait_story("crpprauuc");
}
END_TEST

START_TEST(a_request_goes_back_uncalled_while_the_broker_is_barred)
{
    fake_broker.is_barred = true;
    fake_broker_connect(false);
    flow_deliver(&(struct flow_request){.order_id = "o1", .left_ms = 60000});
    flow_wait_story("ppq");
    ck_assert_int_eq(fake_http.count, 0);
    fake_broker.is_barred = false;
    fake_broker_connect(true);
    flow_deliver(&(struct flow_request){.order_id = "o1", .left_ms = 60000, .is_redelivered = true});
    flow_wait_calls(1);
}
END_TEST

START_TEST(a_request_that_expires_while_it_waits_for_a_slot_is_not_called)
{
    flow_finish();
    flow_start(",\"concurrency\":1");
    flow_deliver(&(struct flow_request){.order_id = "long"});
    flow_wait_calls(1);
    flow_deliver(&(struct flow_request){.order_id = "late", .left_ms = 40});
    flow_linger(60);
    flow_answer_status(0, 200, "{}");
    flow_wait_replies(1);
    flow_linger(20);
    ck_assert_int_eq(fake_http.count, 1);
    ck_assert_str_eq(flow_story, "cra");
}
END_TEST

/* ---- tries ---- */

START_TEST(a_transient_failure_is_tried_again_with_the_same_key)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_status(0, 503, "");
    flow_wait_calls(2);
    ck_assert_ptr_nonnull(strstr(fake_http.calls[1].headers, "Idempotency-Key: o1.charge.do\n"));
    flow_answer_status(1, 200, "{}");
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_DONE, MG_EXECUTED_YES, "");
}
END_TEST

START_TEST(after_the_last_try_the_failure_is_answered)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    for (int i = 0; i < 3; i++) {
        flow_wait_calls(i + 1);
        flow_answer_status(i, 503, "");
    }
    flow_wait_replies(1);
    ck_assert_int_eq(fake_http.count, 3);
    expect_reply(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, "http_503");
}
END_TEST

/* Catches: a step taken for one that did nothing although its first try executed, so that it is never
 * undone. */
START_TEST(a_refusal_after_a_try_that_may_have_run_is_still_maybe)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_status(0, 500, "");
    flow_wait_calls(2);
    flow_answer_status(1, 422, "{}");
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, "http_422");
}
END_TEST

START_TEST(a_refusal_of_a_redelivered_request_is_maybe_too)
{
    flow_deliver(&(struct flow_request){.is_redelivered = true});
    flow_wait_calls(1);
    flow_answer_status(0, 422, "{}");
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, "http_422");
}
END_TEST

START_TEST(a_first_refusal_proves_that_nothing_happened)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_status(0, 422, "{}");
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, "http_422");
}
END_TEST

START_TEST(a_broken_answer_is_unknown_and_not_sent_again)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_answer_broken(0);
    flow_wait_replies(1);
    ck_assert_int_eq(fake_http.count, 1);
    expect_reply(0, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, "broken_answer");
}
END_TEST

/* Catches: a backlog behind acks that the broker has not received, taken for a clock that is ahead. */
START_TEST(a_request_that_may_have_waited_behind_unsent_acks_proves_nothing_of_the_clock)
{
    struct mg_line *line = &flow_agent.served[0].lines[MG_LINE_NORMAL];
    line->room_since_ms = 0;
    fake_broker.unsent_acks[0] = line->prefetch - 2;
    flow_deliver(&(struct flow_request){.order_id = "o1"});
    ck_assert_int_eq(line->room_since_ms, 0);
    flow_deliver(&(struct flow_request){.order_id = "o2"});
    ck_assert_int_eq(line->room_since_ms, INT64_MAX);
}
END_TEST

/* Catches: an agent that stalled for a while, finds old requests that look new, and takes its clock for
 * one that is ahead. It would call long after complete-by. */
START_TEST(messages_of_a_standstill_prove_nothing_about_the_clock)
{
    for (int i = 0; i < MG_LINE_COUNT; i++) { /* there was room all along */
        flow_agent.served[0].lines[i].room_since_ms = mg_clock_boot_ms() - 60000;
    }
    know_the_clock();
    flow_agent.skew.ran_at_boot_ms = mg_clock_boot_ms() - 30000;
    for (int i = 0; i < MG_SKEW_FRESH_MIN + 2; i++) {
        flow_deliver(&(struct flow_request){.left_ms = -10000, .sent_ago_ms = 20000});
    }
    hear_the_clock(MG_SKEW_SETTLE_MS + 10);
    flow_wait_story("aaaaa");
}
END_TEST

/* ---- at most once ---- */

START_TEST(at_most_once_has_one_try_on_a_fresh_connection)
{
    flow_deliver(&(struct flow_request){.is_at_most_once = true});
    flow_wait_calls(1);
    ck_assert(fake_http.calls[0].is_fresh);
    flow_answer_status(0, 503, "");
    flow_wait_replies(1);
    flow_linger(20);
    ck_assert_int_eq(fake_http.count, 1);
}
END_TEST

/* Catches: a second execution of a step that may run once only. */
START_TEST(at_most_once_redelivered_is_answered_unknown_without_a_call)
{
    flow_deliver(&(struct flow_request){.is_at_most_once = true, .is_redelivered = true});
    flow_wait_replies(1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_story("ra");
    expect_reply(0, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, "redelivered");
}
END_TEST

START_TEST(at_most_once_that_has_not_begun_when_the_agent_stops_is_answered_not_made)
{
    flow_finish();
    flow_start(",\"concurrency\":1");
    flow_deliver(&(struct flow_request){.order_id = "running"});
    flow_deliver(&(struct flow_request){.order_id = "once", .is_at_most_once = true});
    flow_wait_calls(1);
    mg_agent_drain(&flow_agent);
    flow_wait_replies(1);
    expect_reply(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, "breaker_open");
    ck_assert_str_eq(flow_reply(0)->order_id, "once");
}
END_TEST

/* ---- deliveries that are wrong, new, or come twice ---- */

START_TEST(malformed_or_misdirected_requests_are_dead_lettered)
{
    flow_deliver_bytes(0, "request", "{\"v\":1}", 0);
    flow_deliver_bytes(0, "request", "not JSON", 0);
    flow_deliver(&(struct flow_request){.service = "inventory"});
    flow_linger(20);
    ck_assert_str_eq(flow_story, "xxx");
}
END_TEST

START_TEST(words_of_a_newer_version_are_left_for_another_instance)
{
    flow_deliver_bytes(0, "request_batch", "{}", 0);
    flow_linger(50);
    ck_assert_str_eq(flow_story, "");
    flow_wait_story("q");
    flow_deliver_bytes(0, "request_batch", "{}", 15);
    flow_wait_story("qx");
}
END_TEST

/* Catches: two calls for one attempt under way in one process after a reconnect. */
START_TEST(a_redelivery_joins_the_call_that_is_under_way)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    flow_deliver(&(struct flow_request){.is_redelivered = true});
    flow_linger(20);
    ck_assert_int_eq(fake_http.count, 1);
    flow_answer_status(0, 200, "{}");
    flow_wait_replies(1);
    ck_assert(flow_reply(0)->may_still_act); /* another agent may have had it between the two */
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_wait_story("cara");
    ck_assert_int_eq(flow_agent.served[0].lines[0].held, 0);
}
END_TEST

/* Catches: an attempt sent twice, by a database that lost its tail, and called after the complete-by that it
 * carries. */
START_TEST(of_two_copies_with_two_complete_bys_the_later_one_holds)
{
    char half_an_hour[MG_TIME_TEXT_SIZE];
    flow_finish();
    flow_start(",\"concurrency\":1");
    flow_deliver(&(struct flow_request){.order_id = "running"});
    flow_wait_calls(1);
    flow_deliver(&(struct flow_request){.order_id = "twice", .left_ms = _i == 0 ? 3600000 : 4000});
    flow_deliver(&(struct flow_request){
        .order_id = "twice", .left_ms = _i == 0 ? 4000 : 3600000, .is_redelivered = true});
    flow_answer_status(0, 200, "{}");
    flow_wait_calls(2);
    mg_time_format(mg_clock_wall_ms() + 1800000, half_an_hour);
    const char *complete_by = strstr(fake_http.calls[1].headers, "X-Makegood-Complete-By: ");
    ck_assert_ptr_nonnull(complete_by);
    ck_assert_int_gt(strncmp(complete_by + strlen("X-Makegood-Complete-By: "), half_an_hour, 16), 0);
}
END_TEST

START_TEST(waiting_requests_are_given_up_when_the_broker_goes_away)
{
    flow_finish();
    flow_start(",\"concurrency\":1");
    flow_deliver(&(struct flow_request){.order_id = "running"});
    flow_deliver(&(struct flow_request){.order_id = "waiting"});
    flow_wait_calls(1);
    fake_broker_connect(false);
    ck_assert_str_eq(flow_story, "cq");
}
END_TEST

/* ---- order of service ---- */

START_TEST(high_waits_before_normal)
{
    flow_finish();
    flow_start(",\"concurrency\":1");
    flow_deliver(&(struct flow_request){.order_id = "first"});
    flow_wait_calls(1);
    flow_deliver(&(struct flow_request){.order_id = "normal"});
    flow_deliver(&(struct flow_request){.order_id = "high", .consumer = 1});
    flow_answer_status(0, 200, "{}");
    flow_wait_calls(2);
    ck_assert_ptr_nonnull(strstr(fake_http.calls[1].headers, "X-Makegood-Order: high\n"));
}
END_TEST

/* ---- breaker ---- */

static void open_breaker(void)
{
    flow_deliver(&(struct flow_request){.order_id = "down"});
    for (int i = 0; i < 3; i++) {
        flow_wait_calls(i + 1);
        flow_answer_unreachable(i);
    }
    ck_assert_int_eq(flow_agent.served[0].breaker.state, MG_BREAKER_OPEN);
}

/* Catches: attempts used up on a service that is down. */
START_TEST(an_open_breaker_stops_consuming_and_parks_what_is_in_hand)
{
    flow_finish();
    flow_start(",\"concurrency\":1");
    flow_deliver(&(struct flow_request){.order_id = "down"});
    flow_deliver(&(struct flow_request){.order_id = "held"});
    int reports = fake_broker_count("service_report");
    for (int i = 0; i < 3; i++) {
        flow_wait_calls(i + 1);
        flow_answer_unreachable(i);
    }
    flow_wait_replies(2);
    expect_reply(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, "breaker_open");
    expect_reply(1, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, "breaker_open");
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 0);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 1), 0);
    ck_assert_int_gt(fake_broker_count("service_report"), reports);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"open\""));
    flow_deliver(&(struct flow_request){.order_id = "on-its-way"});
    flow_wait_replies(3);
    expect_reply(2, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, "breaker_open");
    ck_assert_int_eq(fake_http.count, 3);
}
END_TEST

/* Catches: an outage that uses up an attempt of an order with each probe. */
START_TEST(a_failed_probe_is_distinguished_from_other_attempts)
{
    flow_finish();
    flow_start(",\"concurrency\":8,\"breaker\":{\"open_for\":\"50ms\"}");
    open_breaker();
    flow_wait_replies(1);
    ck_assert(!flow_reply(0)->is_probe);
    flow_linger(70);
    int replies = fake_broker_count("reply");
    flow_deliver(&(struct flow_request){.order_id = "probe"});
    flow_wait_calls(4);
    flow_answer_status(3, 503, "{}");
    flow_wait_replies(replies + 1);
    ck_assert(flow_reply(replies)->is_probe);
    ck_assert_str_eq(flow_reply(replies)->error_code, "http_503");
}
END_TEST

START_TEST(a_half_open_breaker_probes_and_a_success_closes_it)
{
    flow_finish();
    flow_start(",\"concurrency\":8,\"breaker\":{\"open_for\":\"50ms\"}");
    open_breaker();
    flow_linger(70);
    ck_assert_int_eq(flow_agent.served[0].breaker.state, MG_BREAKER_HALF_OPEN);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("service_report")->body, "\"half_open\""));
    flow_deliver(&(struct flow_request){.order_id = "probe"});
    flow_deliver(&(struct flow_request){.order_id = "next", .consumer = 1});
    flow_wait_calls(4);
    flow_linger(20);
    ck_assert_int_eq(fake_http.count, 4);
    flow_answer_status(3, 200, "{}");
    flow_wait_calls(5);
    ck_assert_int_eq(flow_agent.served[0].breaker.state, MG_BREAKER_CLOSED);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 8);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 1), 8);
}
END_TEST

/* ---- the way out ---- */

START_TEST(draining_gives_back_what_has_not_begun_and_finishes_what_has)
{
    flow_finish();
    flow_start(",\"concurrency\":1");
    flow_deliver(&(struct flow_request){.order_id = "running"});
    flow_deliver(&(struct flow_request){.order_id = "waiting"});
    flow_wait_calls(1);
    mg_agent_drain(&flow_agent);
    ck_assert_str_eq(flow_story, "cppq");
    flow_deliver(&(struct flow_request){.order_id = "on-its-way"});
    ck_assert_str_eq(flow_story, "cppqq");
    flow_answer_status(0, 200, "{}");
    flow_wait_replies(1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
    flow_run();
    ck_assert_str_eq(flow_story, "cppqqra");
    ck_assert(flow_agent.is_drained);
}
END_TEST

START_TEST(unfinished_requests_are_returned_at_the_end)
{
    flow_deliver(&(struct flow_request){.left_ms = 10000});
    flow_wait_calls(1);
    mg_agent_finish(&flow_agent);
    ck_assert_str_eq(flow_story, "cq");
    ck_assert(fake_http.calls[0].is_cancelled);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_request_is_called_and_answered_by_the_contract,
        the_request_is_acked_only_after_the_reply_is_confirmed,
        a_reply_waits_while_the_broker_is_away_and_goes_out_when_it_is_back,
        a_refusal_that_outlives_its_connection_is_maybe,
        a_call_that_fails_after_its_connection_is_gone_is_maybe,
        at_most_once_keeps_its_refusal_while_the_broker_is_away,
        a_full_publish_window_delays_the_reply,
        a_report_has_the_calls_and_the_last_failure,
        a_duration_is_reported_within_an_eighth,
        an_unreachable_service_is_reported_as_such,
        a_late_request_is_dropped_in_silence,
        an_answer_after_complete_by_is_kept_silent,
        a_reply_without_a_taker_ends_silently_at_complete_by,
        a_reply_that_the_broker_refuses_is_owed_beyond_complete_by,
        no_call_begins_while_replies_are_returned,
        a_request_goes_back_uncalled_while_the_broker_is_barred,
        a_request_that_expires_while_it_waits_for_a_slot_is_not_called,
        a_transient_failure_is_tried_again_with_the_same_key,
        after_the_last_try_the_failure_is_answered,
        a_refusal_after_a_try_that_may_have_run_is_still_maybe,
        a_refusal_of_a_redelivered_request_is_maybe_too,
        a_first_refusal_proves_that_nothing_happened,
        a_broken_answer_is_unknown_and_not_sent_again,
        a_request_that_may_have_waited_behind_unsent_acks_proves_nothing_of_the_clock,
        messages_of_a_standstill_prove_nothing_about_the_clock,
        at_most_once_has_one_try_on_a_fresh_connection,
        at_most_once_redelivered_is_answered_unknown_without_a_call,
        at_most_once_that_has_not_begun_when_the_agent_stops_is_answered_not_made,
        malformed_or_misdirected_requests_are_dead_lettered,
        words_of_a_newer_version_are_left_for_another_instance,
        a_redelivery_joins_the_call_that_is_under_way,
        waiting_requests_are_given_up_when_the_broker_goes_away,
        high_waits_before_normal,
        an_open_breaker_stops_consuming_and_parks_what_is_in_hand,
        a_failed_probe_is_distinguished_from_other_attempts,
        a_half_open_breaker_probes_and_a_success_closes_it,
        draining_gives_back_what_has_not_begun_and_finishes_what_has,
        unfinished_requests_are_returned_at_the_end,
    };
    Suite *suite = suite_create("agent flow");
    TCase *tcase = tcase_create("flow");
    tcase_add_checked_fixture(tcase, setup, flow_finish);
    tcase_set_timeout(tcase, 30);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    tcase_add_loop_test(tcase, of_two_copies_with_two_complete_bys_the_later_one_holds, 0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
