/*
 * Whose word a message is, by the exchange that it came through: of a client, of a service's agents, or
 * nobody's. Each test says which failure it would catch.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"

static void command(const char *name, const char *exchange)
{
    char body[256];
    (void)snprintf(body, sizeof(body),
                   "{\"v\":1,\"command_id\":\"cmd-1\",\"order_id\":\"o1\",\"by\":\"ann\",\"command\":\"%s\"}",
                   name);
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_COMMANDS,
                                                .type = "command",
                                                .exchange = exchange,
                                                .body = body,
                                                .reply_to = "client.shop.statuses"});
    stage_settle();
}

/* Would catch: a client that has another told what is not so. */
START_TEST(a_client_with_an_exchange_of_its_own_names_its_own_queues_only)
{
    struct fake_delivery submission = {.consumer = MG_LANE_NORMAL,
                                       .exchange = "makegood.intake.shop",
                                       .body = "{",
                                       .reply_to = "client.other.statuses"};
    fake_broker_deliver(&submission);
    stage_settle();
    ck_assert_int_eq(fake_broker.count, 1);
    ck_assert_str_eq(fake_broker.published[0].queue, "orders.rejected");
    submission.reply_to = "client.shop.statuses";
    fake_broker_deliver(&submission);
    stage_settle();
    ck_assert_str_eq(fake_broker_last("status")->queue, "client.shop.statuses");
}
END_TEST

/* Would catch: an agent that was taken over, and speaks for the services of others. */
START_TEST(a_word_from_the_agents_of_another_service_counts_for_nothing)
{
    struct stage_reply reply = {
        .order_id = "o1", .step = "reserve", .attempt = 1, .exchange = "makegood.replies.payment"};
    struct fake_delivery report = {
        .consumer = MG_LANE_REPLIES,
        .type = "service_report",
        .exchange = reply.exchange,
        .body =
            "{\"v\":1,\"service\":\"inventory\",\"instance\":\"a:1:1\",\"breaker\":\"open\",\"ready\":true,"
            "\"in_flight\":0,\"concurrency\":64}"};
    stage_submit("o1", false);
    stage_settle();
    stage_reply(&reply);
    fake_broker_deliver(&report);
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 2);
    ck_assert_int_eq(fake_store.reports, 0);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
    reply.exchange = "makegood.replies.inventory";
    report.exchange = reply.exchange;
    stage_reply(&reply);
    fake_broker_deliver(&report);
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 2);
    ck_assert_int_eq(fake_store.reports, 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
}
END_TEST

/* Would catch: an exchange that is in no list, made and bound to one of ours, through which anything is
 * believed. */
START_TEST(what_comes_through_a_strangers_exchange_counts_for_nothing)
{
    static const char STRANGER[] = "agent.payment.control.evil";
    stage_submit("o1", false);
    stage_settle();
    int published = fake_broker.count;
    stage_reply(
        &(struct stage_reply){.order_id = "o1", .step = "reserve", .attempt = 1, .exchange = STRANGER});
    fake_broker_deliver(&(struct fake_delivery){
        .consumer = MG_LANE_REPLIES,
        .type = "service_report",
        .exchange = STRANGER,
        .body = "{\"v\":1,\"service\":\"payment\",\"instance\":\"a:1:1\",\"breaker\":\"open\",\"ready\":true,"
                "\"in_flight\":0,\"concurrency\":64}"});
    command("cancel", STRANGER);
    command("nudge", STRANGER);
    fake_broker_deliver(
        &(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                .exchange = STRANGER,
                                .body = "{\"order_id\":\"o2\",\"workflow\":\"two\",\"payload\":{}}",
                                .reply_to = "client.shop.statuses"});
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 5);
    ck_assert_int_eq(fake_broker.count, published); /* nobody is answered */
    ck_assert_int_eq(fake_store.reports, 0);
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_ptr_null(fake_store_order("o2"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler speakers");
    TCase *speakers = tcase_create("speakers");
    tcase_add_checked_fixture(speakers, stage_start, stage_finish);
    tcase_add_test(speakers, a_client_with_an_exchange_of_its_own_names_its_own_queues_only);
    tcase_add_test(speakers, a_word_from_the_agents_of_another_service_counts_for_nothing);
    tcase_add_test(speakers, what_comes_through_a_strangers_exchange_counts_for_nothing);
    suite_add_tcase(suite, speakers);
    return run_suite(suite);
}
