/* The scheduler's handling of agents' service reports. */
#include <check.h>
#include <stdio.h>

#include "../suite.h"
#include "stage.h"

/* Would catch: reports of agents that never reach the others. */
START_TEST(a_service_report_is_stored_and_acked)
{
    fake_broker_deliver(&(struct fake_delivery){
        .consumer = MG_LANE_REPLIES,
        .type = "service_report",
        .body = "{\"v\":1,\"service\":\"payment\",\"instance\":\"a:1:1\",\"breaker\":\"open\",\"ready\":true,"
                "\"in_flight\":0,\"concurrency\":64}"});
    stage_settle();
    ck_assert_int_eq(fake_store.reports, 1);
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

static void report_deliver(int process, int sequence)
{
    char body[256];
    snprintf(body, sizeof(body),
             "{\"v\":1,\"service\":\"payment\",\"instance\":\"a\",\"breaker\":\"open\",\"ready\":true,"
             "\"in_flight\":0,\"concurrency\":64,\"process\":%d,\"sequence\":%d}",
             process, sequence);
    fake_broker_deliver(
        &(struct fake_delivery){.consumer = MG_LANE_REPLIES, .type = "service_report", .body = body});
}

/* Would catch: a report that is redelivered because a scheduler died with it in hand, and replaces a newer
 * one that waits; a new process's first report, dropped in favour of an old process's. */
START_TEST(an_overtaken_report_takes_no_newer_ones_place)
{
    report_deliver(1, 5); /* in hand */
    report_deliver(1, 7);
    report_deliver(1, 6);
    stage_settle();
    ck_assert_int_eq(fake_store.reports, 2);
    ck_assert_uint_eq(fake_store.last_report, 7);
    ck_assert_int_eq(fake_broker.acked, 3);
    report_deliver(1, 8);
    report_deliver(1, 9);
    report_deliver(2, 1);
    stage_settle();
    ck_assert_uint_eq(fake_store.last_report, 1);
    report_deliver(0, 3);
    report_deliver(0, 3);
    report_deliver(0, 2); /* a report without a process id counts as it comes */
    stage_settle();
    ck_assert_uint_eq(fake_store.last_report, 2);
    ck_assert_int_eq(fake_broker.acked, 9);
}
END_TEST

#define ZEROS "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
#define CALLS                                                                                                \
    "{\"count\":2,\"failed\":1,\"within\":[0,0,0,0,0,0,0,0,0,0,0,0,0,1,0],\"refused\":1,"                    \
    "\"durations\":[" ZEROS ZEROS ZEROS ZEROS "0,0,0,1],"                                                    \
    "\"failing_since\":\"2026-01-31T12:34:56.789Z\"}"

/* Would catch: numbers that are lost between agent and table; a newer agent's members, or a wrong text, in
 * it; and an older agent with a service that seems to answer at once. */
START_TEST(the_calls_of_a_report_are_stored_as_json)
{
    static const char *const bodies[] = {
        "{\"v\":1,\"service\":\"payment\",\"instance\":\"a\",\"breaker\":\"open\",\"ready\":true,"
        "\"in_flight\":0,\"concurrency\":64,\"calls\":" CALLS "}",
        "{\"v\":1,\"service\":\"payment\",\"instance\":\"a\",\"breaker\":\"open\",\"ready\":true,"
        "\"in_flight\":0,\"concurrency\":64}"};
    fake_broker_deliver(
        &(struct fake_delivery){.consumer = MG_LANE_REPLIES, .type = "service_report", .body = bodies[0]});
    stage_settle();
    ck_assert_str_eq(fake_store.last_calls, CALLS);
    fake_broker_deliver(
        &(struct fake_delivery){.consumer = MG_LANE_REPLIES, .type = "service_report", .body = bodies[1]});
    stage_settle();
    ck_assert_str_eq(fake_store.last_calls, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler reports");
    TCase *tests = tcase_create("reports");
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_test(tests, a_service_report_is_stored_and_acked);
    tcase_add_test(tests, an_overtaken_report_takes_no_newer_ones_place);
    tcase_add_test(tests, the_calls_of_a_report_are_stored_as_json);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
