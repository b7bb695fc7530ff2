/*
 * The broker when RabbitMQ falls silent, dies, comes back, loses queues or cuts connections. Nothing hangs,
 * every publish ends, unacked messages are redelivered, and all of it recovers by itself. Queues that take
 * nothing are in test_broker_stuck.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/suite.h"
#include "relay_fixture.h"

#define FORGOTTEN_MS 60000 /* twice the time after which a consumer counts as forgotten */

static bool is_down(const struct fixture *f)
{
    return f->down_count >= wanted;
}

static bool has_deliveries(const struct fixture *f)
{
    return f->delivery_count >= wanted;
}

static bool has_outcomes(const struct fixture *f)
{
    return fixture_outcome_count(f) >= wanted;
}

/* Would catch: an ack with `multiple` that covers a delivery still held, which a crash would then lose. */
START_TEST(only_held_messages_are_redelivered_after_a_cut)
{
    fixture_start(&fixture);
    for (int i = 0; i < 50; i++) {
        char body[16];
        (void)snprintf(body, sizeof(body), "%d", i);
        fixture_publish(&fixture, queue, body);
    }
    ck_assert(wait_for(has_deliveries, 50));
    static const int held[] = {7, 20, 21, 33};
    for (int i = 0; i < 50; i++) {
        int at = (i * 37) % 50; /* in another order than they came */
        if (at == 15) {
            mg_broker_reject(fixture.broker, fixture.deliveries[at]);
        } else if (at != held[0] && at != held[1] && at != held[2] && at != held[3]) {
            mg_broker_ack(fixture.broker, fixture.deliveries[at]);
        }
        if (i % 11 == 0) {
            fixture_run_for(&fixture, 20);
        }
    }
    fixture_run_for(&fixture, 200);
    relay_cut(relay);
    ck_assert(wait_for(has_deliveries, 54));
    fixture_run_for(&fixture, 200);
    ck_assert_int_eq(fixture.delivery_count, 54);
    for (int i = 0; i < 4; i++) {
        char body[16];
        (void)snprintf(body, sizeof(body), "%d", held[i]);
        ck_assert(mg_slice_is(fixture.deliveries[50 + i]->body, body));
        ck_assert(fixture.deliveries[50 + i]->is_redelivered);
    }
    for (int i = 0; i < 4; i++) {
        mg_broker_ack(fixture.broker,
                      fixture.deliveries[held[i]]); /* of the old connection: changes nothing */
    }
    fixture_run_for(&fixture, 100);
    relay_cut(relay);
    ck_assert(wait_for(has_deliveries, 58));
    for (int i = 0; i < 4; i++) {
        mg_broker_reject(fixture.broker, fixture.deliveries[50 + i]);
    }
    for (int i = 0; i < 4; i++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[54 + i]);
    }
    fixture_run_for(&fixture, 200);
    ck_assert(wait_for(is_up, 0)); /* deliveries come before the other connection is back */
    relay_cut(relay);
    ck_assert(wait_for(is_down, fixture.down_count + 1));
    ck_assert(wait_for(is_up, 0));
    fixture_run_for(&fixture, 200);
    ck_assert_int_eq(fixture.delivery_count, 58);
    ck_assert_int_eq(test_queue_ready(queue), 0);
}
END_TEST

/* Would catch: a publish that blocks on a broker that does not read, a message that never ends, a loop that
 * stalls. */
START_TEST(silent_broker_hangs_nothing)
{
    fixture.acks_at_once = true;
    fixture_start(&fixture);
    relay_set(relay, RELAY_SILENT);
    char *body = calloc(1, 200 * 1024);
    ck_assert_ptr_nonnull(body);
    int published = 0;
    fixture.longest_turn_ms = 0;
    for (int round = 0; round < 3; round++) {
        while (mg_broker_publish_room(fixture.broker) > 0) {
            const struct mg_message message = {
                .exchange = "", .routing_key = queue, .body = {.data = body, .len = 200 * 1024}};
            fixture_publish_message(&fixture, &message);
            published++;
        }
        ck_assert(wait_for(has_outcomes, published));
    }
    ck_assert_int_gt(published, 40);
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_UNKNOWN] + fixture.outcomes[MG_PUBLISH_UNSENT], published);
    ck_assert_int_lt(fixture.longest_turn_ms, 500);
    relay_set(relay, RELAY_PASS);
    /* The old connection wakes up, or a new one replaces it; either way the next messages go through. */
    ck_assert(wait_for(is_up, 0));
    for (int i = 0; i < 100 && fixture.outcomes[MG_PUBLISH_CONFIRMED] == 0; i++) {
        fixture_publish(&fixture, queue, "{}");
        ck_assert(wait_for(has_outcomes, ++published));
    }
    ck_assert_int_ge(fixture.outcomes[MG_PUBLISH_CONFIRMED], 1);
    relay_cut(relay); /* frames half on the wire end here, and must not be published twice */
    fixture_run_for(&fixture, 300);
    wanted = published + 1;
    ck_assert(!has_outcomes(&fixture));
    free(body);
}
END_TEST

/* Would catch: heartbeats that are not judged, so that a silent broker counts as up for ever. */
START_TEST(silence_is_noticed_by_heartbeats)
{
    fixture_start(&fixture);
    relay_set(relay, RELAY_SILENT);
    wanted = 1;
    ck_assert(fixture_run(&fixture, is_down, 35000)); /* twice the heartbeat and a bit */
    relay_set(relay, RELAY_DOWN);
    fixture_run_for(&fixture, 50);
    relay_set(relay, RELAY_PASS);
    ck_assert(wait_for(is_up, 0));
}
END_TEST

/* Would catch: a lost connection that stays lost; a state that is reported at each retry; waiting messages
 * that are dropped. */
START_TEST(recovers_when_the_broker_is_back)
{
    fixture.acks_at_once = true;
    fixture_start(&fixture);
    relay_set(relay, RELAY_DOWN);
    ck_assert(wait_for(is_down, 1));
    ck_assert_ptr_nonnull(strstr(fixture.reason, "127.0.0.1"));
    ck_assert_ptr_null(strstr(fixture.reason, "guest:guest"));
    fixture_run_for(&fixture, 1500); /* several retries */
    ck_assert_int_eq(fixture.down_count, 1);
    char reason[200];
    ck_assert(!mg_broker_is_up(fixture.broker, reason, sizeof(reason)));
    ck_assert_int_gt(strlen(reason), 0);
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(has_outcomes, 1));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_UNSENT], 1);
    relay_set(relay, RELAY_PASS);
    fixture_run_for(&fixture, 20);
    ck_assert(wait_for(is_up, 0));
    ck_assert_int_eq(fixture.up_count, 2);
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(has_deliveries, 1));
    ck_assert(wait_for(has_outcomes, 2));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_CONFIRMED], 1);
}
END_TEST

/* Would catch: a publish that ends twice or never when its connection goes; a confirmed one that is not in
 * the queue. */
START_TEST(each_publish_ends_once_through_many_cuts)
{
    fixture_start(&fixture);
    mg_broker_pause(fixture.broker, 0);
    int published = 0;
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 300 && mg_broker_publish_room(fixture.broker) > 0; i++) {
            fixture_publish(&fixture, queue, "{}");
            published++;
        }
        fixture_run_for(&fixture, round);
        relay_cut(relay);
        fixture_run_for(&fixture, 30);
    }
    ck_assert(wait_for(has_outcomes, published));
    fixture_run_for(&fixture, 200);
    wanted = published + 1;
    ck_assert(!has_outcomes(&fixture));
    ck_assert_int_ge(test_queue_ready(queue), fixture.outcomes[MG_PUBLISH_CONFIRMED]);
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_REFUSED] + fixture.outcomes[MG_PUBLISH_RETURNED], 0);
}
END_TEST

/* Would catch: a service that starts without its queues and reports no error, or does not find them once they
 * are made. */
START_TEST(missing_queues_are_named_and_found_later)
{
    char other[64], checked[64];
    test_queue_name("missing", other);
    test_queue_name("checked", checked);
    fixture.options.consumers[0].queue = other;
    fixture.options.check_queues[0] = checked;
    fixture.options.check_queues[1] = queue;
    fixture_create(&fixture);
    ck_assert(wait_for(is_down, 1));
    ck_assert_ptr_nonnull(strstr(fixture.reason, other));
    ck_assert_ptr_nonnull(strstr(fixture.reason, checked));
    ck_assert_ptr_null(strstr(fixture.reason, queue));
    ck_assert_ptr_nonnull(strstr(fixture.reason, "run: makegood broker apply"));
    fixture_run_for(&fixture, 1000);
    ck_assert_int_eq(fixture.down_count, 1);
    test_queue_declare(other, 0);
    test_queue_declare(checked, 0);
    ck_assert(wait_for(is_up, 0));
    test_queue_delete(other);
    test_queue_delete(checked);
}
END_TEST

/* Would catch: a consumer that the broker cancelled and that stays silent for ever. */
START_TEST(deleted_queue_is_noticed_and_consumed_again)
{
    fixture.acks_at_once = true;
    fixture_start(&fixture);
    test_queue_delete(queue);
    ck_assert(wait_for(is_down, 1));
    ck_assert_ptr_nonnull(strstr(fixture.reason, queue));
    test_queue_declare(queue, 0);
    ck_assert(wait_for(is_up, 0));
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(has_deliveries, 1));
}
END_TEST

/* Would catch: orders that wait for ever, since the broker forgot a consumer without a cancel. */
START_TEST(a_consumer_that_the_broker_forgot_is_made_again)
{
    if (strncmp(test_amqp_url(), "amqps:", 6) == 0) {
        return; /* the relay reads frames, which TLS hides */
    }
    fixture.acks_at_once = true;
    fixture_start(&fixture);
    relay_set(relay, RELAY_FORGETFUL);
    test_queue_delete(queue);
    test_queue_declare(queue, 0);
    fixture_publish(&fixture, queue, "{}");
    wanted = 1;
    ck_assert(fixture_run(&fixture, is_down, FORGOTTEN_MS));
    ck_assert_ptr_nonnull(strstr(fixture.reason, "forgotten"));
    ck_assert(wait_for(has_deliveries, 1));
}
END_TEST

/* Would catch: a new consumer of a quorum queue that counts the deliveries in its predecessor's hand as
 * lost. */
START_TEST(a_consumer_started_anew_does_not_ask_again_for_what_is_in_hand)
{
    enum { ROUNDS = 10 };
    char quorum[64];
    test_queue_name("anew", quorum);
    test_quorum_queue_declare(quorum);
    fixture.options.consumers[0] = (struct mg_consumer){.queue = quorum, .prefetch = 2 * ROUNDS};
    fixture_start(&fixture);
    for (int i = 0; i < ROUNDS; i++) {
        fixture_publish(&fixture, quorum, "{}");
        ck_assert(wait_for(has_deliveries, i + 1));
        mg_broker_set_rank(fixture.broker, i + 1);
    }
    ck_assert_int_eq(fixture.down_count, 0);
    ck_assert_int_eq(fixture.delivery_count, ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
    test_queue_delete(quorum);
}
END_TEST

enum { GROWN_MESSAGES = 1500, GROWN_STEP = 25 };
static int redelivered;

static void on_delivery_grow(void *arg, struct mg_delivery *delivery)
{
    struct fixture *f = arg;
    f->delivery_count++;
    redelivered += delivery->is_redelivered;
    mg_broker_ack(f->broker, delivery);
    if (f->delivery_count % GROWN_STEP == 0) {
        mg_broker_resume(f->broker, 0, (uint16_t)(1 + f->delivery_count / GROWN_STEP));
    }
}

static bool has_grown(const struct fixture *f)
{
    return mg_broker_prefetch(f->broker, 0) > 1;
}

/* Would catch: a consumer that is stopped while messages are on their way to it, although it only gets more
 * room. */
START_TEST(a_prefetch_that_grows_costs_no_delivery)
{
    char quorum[64];
    test_queue_name("grown", quorum);
    test_quorum_queue_declare(quorum);
    fixture.options.consumers[0] = (struct mg_consumer){.queue = quorum, .prefetch = 1};
    fixture.options.on_delivery = on_delivery_grow;
    redelivered = 0;
    fixture_start(&fixture);
    mg_broker_pause(fixture.broker, 0);
    for (int i = 0; i < GROWN_MESSAGES; i++) {
        fixture_publish(&fixture, quorum, "{}");
    }
    mg_broker_resume(fixture.broker, 0, 1);
    ck_assert(wait_for(has_deliveries, GROWN_MESSAGES));
    ck_assert_int_eq(redelivered, 0);
    ck_assert(fixture_run(&fixture, has_grown, WAIT_MS)); /* it may just be on its way to more */
    fixture_run_for(&fixture, 100);
    ck_assert_int_eq(fixture.delivery_count, GROWN_MESSAGES);
    ck_assert_int_eq(fixture.down_count, 0);
    test_queue_delete(quorum);
}
END_TEST

/* Would catch: a pause that a reconnect forgets. */
START_TEST(pause_survives_a_reconnect)
{
    fixture.acks_at_once = true;
    fixture_start(&fixture);
    mg_broker_pause(fixture.broker, 0);
    relay_cut(relay);
    ck_assert(wait_for(is_down, 1));
    ck_assert(wait_for(is_up, 0));
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(has_outcomes, 1));
    fixture_run_for(&fixture, 200);
    ck_assert_int_eq(fixture.delivery_count, 0);
    mg_broker_resume(fixture.broker, 0, 10);
    ck_assert(wait_for(has_deliveries, 1));
}
END_TEST

static void on_named(void *arg, int consumer, const char *name)
{
    struct fixture *f = arg;
    (void)consumer;
    f->named_count++;
    (void)snprintf(f->private_queue, sizeof(f->private_queue), "%s", name);
}

static bool is_named(const struct fixture *f)
{
    return f->named_count >= wanted;
}

/* Would catch: a private queue that is still used by its old name after a reconnect. */
START_TEST(private_queue_is_named_anew_after_a_cut)
{
    fixture.acks_at_once = true;
    fixture_create(&fixture);
    mg_broker_consume_private(fixture.broker, 10, on_named, &fixture);
    ck_assert(wait_for(is_named, 1));
    char first[256];
    (void)snprintf(first, sizeof(first), "%s", fixture.private_queue);
    relay_cut(relay);
    ck_assert(wait_for(is_named, 2));
    ck_assert_str_ne(first, fixture.private_queue);
    ck_assert(wait_for(is_up, 0));
    fixture_publish(&fixture, fixture.private_queue, "{}");
    ck_assert(wait_for(has_deliveries, 1));
}
END_TEST

/* Would catch: a broker that cannot be destroyed while its connect is never answered. */
START_TEST(destroy_while_connecting_is_clean)
{
    relay_set(relay, RELAY_SILENT);
    fixture_create(&fixture);
    fixture_run_for(&fixture, 100);
    mg_broker_destroy(fixture.broker);
    fixture.broker = NULL;
    fixture_run_for(&fixture, 50);
    ck_assert_int_eq(fixture.up_count + fixture.down_count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker_faults");
    TCase *tests = tcase_create("broker_faults");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, only_held_messages_are_redelivered_after_a_cut);
    tcase_add_test(tests, silent_broker_hangs_nothing);
    tcase_add_test(tests, silence_is_noticed_by_heartbeats);
    tcase_add_test(tests, recovers_when_the_broker_is_back);
    tcase_add_test(tests, each_publish_ends_once_through_many_cuts);
    tcase_add_test(tests, missing_queues_are_named_and_found_later);
    tcase_add_test(tests, deleted_queue_is_noticed_and_consumed_again);
    tcase_add_test(tests, a_consumer_that_the_broker_forgot_is_made_again);
    tcase_add_test(tests, a_consumer_started_anew_does_not_ask_again_for_what_is_in_hand);
    tcase_add_test(tests, a_prefetch_that_grows_costs_no_delivery);
    tcase_add_test(tests, pause_survives_a_reconnect);
    tcase_add_test(tests, private_queue_is_named_anew_after_a_cut);
    tcase_add_test(tests, destroy_while_connecting_is_clean);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
