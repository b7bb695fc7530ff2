/*
 * The sender of a message, proved by the exchange that it came through: a client, a service's agents, or
 * unproved. Each test names the failure that it would catch.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/id.h"
#include "stage.h"

static void command(const char *name, const char *exchange)
{
    stage_act("cmd-1 o1 %s by=ann via=%s to=client.shop.statuses", name, exchange);
}

/* Would catch: a client that has false statuses sent to another client. */
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

/* Would catch: a captured agent that replies and reports for the services of others. */
START_TEST(a_word_from_the_agents_of_another_service_counts_for_nothing)
{
    struct fake_delivery report = {
        .consumer = MG_LANE_REPLIES,
        .type = "service_report",
        .exchange = "makegood.replies.payment",
        .body =
            "{\"v\":1,\"service\":\"inventory\",\"instance\":\"a:1:1\",\"breaker\":\"open\",\"ready\":true,"
            "\"in_flight\":0,\"concurrency\":64}"};
    stage_begin("o1");
    stage_reply("o1.reserve#1 via=%s", report.exchange);
    fake_broker_deliver(&report);
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 2);
    ck_assert_int_eq(fake_store.reports, 0);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
    report.exchange = "makegood.replies.inventory";
    stage_reply("o1.reserve#1 via=%s", report.exchange);
    fake_broker_deliver(&report);
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 2);
    ck_assert_int_eq(fake_store.reports, 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
}
END_TEST

/* Would catch: an exchange outside every list, made and bound to one of ours, through which any message is
 * believed. */
START_TEST(messages_through_a_strangers_exchange_count_for_nothing)
{
    static const char STRANGER[] = "agent.payment.control.evil";
    stage_begin("o1");
    int published = fake_broker.count;
    stage_reply("o1.reserve#1 via=%s", STRANGER);
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
    ck_assert_int_eq(fake_broker.count, published); /* no answer is sent */
    ck_assert_int_eq(fake_store.reports, 0);
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_ptr_null(fake_store_order("o2"));
}
END_TEST

/* ---- an order belongs to its client ---- */

static void post(const char *exchange, const char *order_id, const char *reply_to)
{
    char body[256], id[96] = "";
    if (order_id != NULL) {
        (void)snprintf(id, sizeof(id), "\"order_id\":\"%s\",", order_id);
    }
    (void)snprintf(body, sizeof(body), "{%s\"workflow\":\"two\",\"payload\":{\"items\":[1]}}", id);
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                                .exchange = exchange,
                                                .body = body,
                                                .message_id = "m1",
                                                .reply_to = reply_to,
                                                .app_id = "app"});
    stage_settle();
}

static const char SHOP[] = "makegood.intake.shop", OTHER[] = "makegood.intake.other";

/* The effect of a conflict: the order stays as it was, and no status of it is sent. */
static void assert_conflict(const char *reply_to, int published, int events)
{
    ck_assert_int_eq(fake_broker.count, published + 2);
    ck_assert_str_eq(fake_broker_last("status")->queue, reply_to);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"rejected\""));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"seq\":0"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "conflict"));
    ck_assert_str_eq(fake_broker_last("submission")->queue, "orders.rejected");
    ck_assert_int_eq(fake_store_event_count("o1"), events);
    ck_assert(mg_slice_is(fake_store_order("o1")->reply_to, "client.shop.a"));
    ck_assert(mg_slice_is(fake_store_order("o1")->client, "shop"));
}

/* Would catch: a client that takes over the statuses of another's order, or receives its state. */
START_TEST(another_clients_repetition_is_a_conflict_and_reveals_nothing)
{
    post(SHOP, "o1", "client.shop.a");
    int published = fake_broker.count;
    post(OTHER, "o1", "client.other.a");
    assert_conflict("client.other.a", published, 1);
    ck_assert_str_eq(fake_broker_last("submission")->origin, OTHER);
    char refusal[512];
    (void)snprintf(refusal, sizeof(refusal), "%s", strstr(fake_broker_last("status")->body, "\"reason\""));
    post("makegood.intake", "o1", "client.other.a");
    assert_conflict("client.other.a", published + 2, 1);
    ck_assert_str_eq(fake_broker_last("submission")->origin, "makegood.intake");
    post("", "o1", "client.other.a");
    assert_conflict("client.other.a", published + 4, 1);
    stage_submit_from("o1", "[2]", "client.other.a", false); /* no proof that its bytes are right */
    stage_settle();
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, refusal));
    post(SHOP, "o1", "client.shop.b");
    ck_assert_str_eq(fake_broker_last("status")->queue, "client.shop.b");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"accepted\""));
    ck_assert(mg_slice_is(fake_store_order("o1")->reply_to, "client.shop.b"));
}
END_TEST

/* Would catch: clients that share an exchange, and are kept from their own orders by the queue that they post
 * to. */
START_TEST(clients_of_one_exchange_share_its_orders)
{
    post("makegood.intake", "o1", "a");
    ck_assert(mg_slice_is(fake_store_order("o1")->client, ""));
    post("", "o1", "b");
    ck_assert(mg_slice_is(fake_store_order("o1")->reply_to, "b"));
    ck_assert_int_eq(fake_broker_count("submission"), 0);
    post(SHOP, "o1", "client.shop.a");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "conflict"));
    ck_assert(mg_slice_is(fake_store_order("o1")->reply_to, "b"));
}
END_TEST

/* Would catch: an order of an older version that no client, or every client, may take over. */
START_TEST(an_order_of_an_older_version_is_its_first_repeaters)
{
    post(SHOP, "o1", "client.shop.a");
    fake_store_record("o1")->client = (struct mg_slice){NULL, 0};
    mg_cache_clear(&stage_scheduler->cache);
    post(SHOP, "o1", NULL); /* a client that wants no answer owns it, too */
    const struct mg_order_record *record = fake_store_order("o1");
    ck_assert(mg_slice_is(record->client, "shop"));
    ck_assert(mg_slice_is(record->reply_to, "client.shop.a"));
    ck_assert_int_eq(record->revision, 2);
    ck_assert(mg_slice_is(record->payload, "{\"items\":[1]}"));
    int published = fake_broker.count;
    post(OTHER, "o1", "client.other.a");
    assert_conflict("client.other.a", published, 2);
    mg_cache_clear(&stage_scheduler->cache);
    post(OTHER, "o1", "client.other.a");
    assert_conflict("client.other.a", published + 2, 2);
}
END_TEST

/* Would catch: a client that derives another's ids by a false claim to be that client. */
START_TEST(a_derived_id_is_made_of_the_proved_client)
{
    char of_user[MG_UUID_SIZE], of_app[MG_UUID_SIZE];
    mg_uuid_derived(mg_slice_of("client-shop"), mg_slice_of("m1"), of_user);
    mg_uuid_derived(mg_slice_of("app"), mg_slice_of("m1"), of_app);
    post(SHOP, NULL, NULL);
    ck_assert_ptr_nonnull(fake_store_order(of_user)); /* the user of the shipped rights, as it was */
    ck_assert_ptr_null(fake_store_order(of_app));
    post("makegood.intake", NULL, NULL);
    ck_assert_ptr_nonnull(fake_store_order(of_app));
}
END_TEST

/* Would catch: a refused submission that belongs to no client any more, or to another one. */
START_TEST(a_refused_submission_keeps_the_exchange_that_proves_its_client)
{
    post(SHOP, NULL, "client.other.a"); /* a queue of another client */
    ck_assert_int_eq(fake_broker.count, 1);
    ck_assert_str_eq(fake_broker.published[0].queue, "orders.rejected");
    ck_assert_str_eq(fake_broker.published[0].origin, SHOP);
}
END_TEST

static const char BODY[] = "{\"order_id\":\"o1\",\"workflow\":\"two\",\"payload\":{\"items\":1}}";

/* Would catch: a sender that writes the broker's own x-death header, so that a requeue would attribute its
 * order to another client; one with a delay queue of its own, so that its orders are lost without an
 * answer. */
START_TEST(a_submission_with_an_x_death_header_is_refused_and_kept_without_it)
{
    struct fake_delivery forged = {.consumer = MG_LANE_NORMAL,
                                   .exchange = SHOP,
                                   .has_died = true,
                                   .message_id = "m1",
                                   .reply_to = "client.shop.a",
                                   .body = BODY};
    fake_broker_deliver(&forged);
    stage_settle();
    ck_assert_ptr_null(fake_store_order("o1"));
    ck_assert_int_eq(fake_broker.count, 2);
    ck_assert_str_eq(fake_broker_last("status")->queue, "client.shop.a");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "x-death"));
    ck_assert_str_eq(fake_broker_last("submission")->queue, "orders.rejected");
    ck_assert_str_eq(fake_broker_last("submission")->origin, SHOP);
    ck_assert_str_eq(fake_broker_last("submission")->body, BODY);
    ck_assert_int_eq(fake_broker.acked, 1);
    forged.exchange = "makegood.intake"; /* of the clients that share it: the exchange proves no single one */
    forged.reply_to = "anybody";
    fake_broker_deliver(&forged);
    stage_settle();
    ck_assert_ptr_nonnull(fake_store_order("o1"));
}
END_TEST

/* Would catch: agents that do the same in the name of another service. */
START_TEST(a_reply_with_a_note_of_its_death_is_set_aside_without_it)
{
    struct fake_delivery forged = {.consumer = MG_LANE_REPLIES,
                                   .type = "reply",
                                   .exchange = "makegood.replies.inventory",
                                   .has_died = true,
                                   .body = BODY};
    fake_broker_deliver(&forged);
    stage_settle();
    ck_assert_int_eq(fake_broker.count, 1);
    ck_assert_str_eq(fake_broker.published[0].queue, "dead.letters");
    ck_assert_str_eq(fake_broker.published[0].origin, forged.exchange);
    ck_assert_str_eq(fake_broker.published[0].body, BODY);
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

/* Would catch the same where the queue for the copy is away. */
START_TEST(a_submission_that_cannot_be_kept_without_its_x_death_header_waits)
{
    fake_broker.fails_type = "submission";
    fake_broker.failure = MG_PUBLISH_RETURNED;
    fake_broker_deliver(&(struct fake_delivery){
        .consumer = MG_LANE_NORMAL, .exchange = SHOP, .has_died = true, .message_id = "m1", .body = BODY});
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected + fake_broker.acked, 0);
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 1);
}
END_TEST

/* Would catch: bytes that are acked without having been read. A message of this size cannot be requeued at
 * all. */
START_TEST(a_large_submission_with_an_x_death_header_stays_with_the_broker)
{
    struct fake_delivery forged = {.consumer = MG_LANE_HIGH,
                                   .exchange = SHOP,
                                   .has_died = true,
                                   .is_oversized = true,
                                   .reply_to = "client.shop.a",
                                   .body = ""};
    fake_broker_deliver(&forged);
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 1);
    ck_assert_str_eq(fake_broker_last("status")->queue, "client.shop.a");
    ck_assert_str_eq(fake_broker_last("submission")->queue, "orders.rejected");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("submission")->body, "dead.letters"));
    int count = fake_broker.count;
    forged.consumer = MG_LANE_REPLIES;
    forged.type = "reply";
    forged.exchange = "makegood.replies.inventory";
    fake_broker_deliver(&forged);
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 2);
    ck_assert_int_eq(fake_broker.count, count);
    ck_assert_int_eq(fake_broker.acked, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler speakers");
    TCase *speakers = tcase_create("speakers");
    tcase_add_checked_fixture(speakers, stage_start, stage_finish);
    tcase_add_test(speakers, a_client_with_an_exchange_of_its_own_names_its_own_queues_only);
    tcase_add_test(speakers, a_word_from_the_agents_of_another_service_counts_for_nothing);
    tcase_add_test(speakers, messages_through_a_strangers_exchange_count_for_nothing);
    tcase_add_test(speakers, another_clients_repetition_is_a_conflict_and_reveals_nothing);
    tcase_add_test(speakers, clients_of_one_exchange_share_its_orders);
    tcase_add_test(speakers, an_order_of_an_older_version_is_its_first_repeaters);
    tcase_add_test(speakers, a_derived_id_is_made_of_the_proved_client);
    tcase_add_test(speakers, a_refused_submission_keeps_the_exchange_that_proves_its_client);
    tcase_add_test(speakers, a_submission_with_an_x_death_header_is_refused_and_kept_without_it);
    tcase_add_test(speakers, a_reply_with_a_note_of_its_death_is_set_aside_without_it);
    tcase_add_test(speakers, a_submission_that_cannot_be_kept_without_its_x_death_header_waits);
    tcase_add_test(speakers, a_large_submission_with_an_x_death_header_stays_with_the_broker);
    suite_add_tcase(suite, speakers);
    return run_suite(suite);
}
