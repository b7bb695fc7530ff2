/*
 * The broker against a real RabbitMQ. Published messages arrive and are confirmed, refused or returned. Acked
 * messages are gone, others are redelivered. Queues are paused and private. test_broker_faults.c holds the
 * faults, test_broker_watch.c the watched queues.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/suite.h"
#include "broker_fixture.h"

static struct fixture fixture;
static char queue[64];

static void setup(void)
{
    fixture_init_queue(&fixture, test_amqp_url(), "broker", queue);
}

static void teardown(void)
{
    fixture_finish(&fixture);
    test_queue_delete(queue);
}

static int wanted;

static bool has_deliveries(const struct fixture *f)
{
    return f->delivery_count >= wanted;
}

static bool has_outcomes(const struct fixture *f)
{
    return fixture_outcome_count(f) >= wanted;
}

static bool wait_deliveries(int count)
{
    wanted = count;
    return fixture_run(&fixture, has_deliveries, WAIT_MS);
}

static bool wait_outcomes(int count)
{
    wanted = count;
    return fixture_run(&fixture, has_outcomes, WAIT_MS);
}

/* Would catch: a property that is lost or mixed up on its way. */
START_TEST(message_arrives_with_all_its_properties)
{
    fixture_start(&fixture);
    const struct mg_message message = {.exchange = "",
                                       .routing_key = queue,
                                       .type = "request",
                                       .message_id = "m-1",
                                       .correlation_id = "c-1",
                                       .reply_to = "r-1",
                                       .traceparent = "00-11-22-01",
                                       .is_again = true,
                                       .body = mg_slice_of("{\"a\":14.00}")};
    fixture_publish_message(&fixture, &message);
    ck_assert_int_eq(fixture_outcome_count(&fixture), 0); /* never from within */
    ck_assert(wait_deliveries(1));
    ck_assert(wait_outcomes(1));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_CONFIRMED], 1);
    const struct mg_delivery *delivery = fixture.deliveries[0];
    ck_assert(mg_slice_is(delivery->body, "{\"a\":14.00}"));
    ck_assert_int_eq(delivery->body.data[delivery->body.len], '\0');
    ck_assert(mg_slice_is(delivery->type, "request"));
    ck_assert(mg_slice_is(delivery->message_id, "m-1"));
    ck_assert(mg_slice_is(delivery->correlation_id, "c-1"));
    ck_assert(mg_slice_is(delivery->reply_to, "r-1"));
    ck_assert(mg_slice_is(delivery->traceparent, "00-11-22-01"));
    ck_assert(mg_slice_is(delivery->routing_key, queue));
    ck_assert_ptr_null(delivery->user_id.data);
    ck_assert(delivery->is_redelivered); /* marked as being redelivered */
    ck_assert_uint_eq(delivery->delivery_count, 0);
    mg_broker_ack(fixture.broker, fixture.deliveries[0]);
}
END_TEST

/* Would catch: a return that is assigned to the wrong message, or that counts as confirmed. */
START_TEST(only_messages_without_a_queue_are_returned)
{
    fixture.acks_at_once = true;
    fixture_start(&fixture);
    for (int i = 0; i < 300; i++) {
        fixture_publish(&fixture, i % 3 == 0 ? "test.there.is.no.such.queue" : queue, "{}");
    }
    ck_assert(wait_outcomes(300));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_RETURNED], 100);
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_CONFIRMED], 200);
    ck_assert(wait_deliveries(200));
}
END_TEST

/* Would catch: a nack that is taken for a confirm. */
START_TEST(full_queue_refuses)
{
    char full[64];
    test_queue_name("full", full);
    test_queue_declare(full, 2);
    fixture_start(&fixture);
    for (int i = 0; i < 10; i++) {
        fixture_publish(&fixture, full, "{}");
        ck_assert(wait_outcomes(i + 1)); /* one at a time: a burst may overshoot the limit */
    }
    ck_assert_int_ge(fixture.outcomes[MG_PUBLISH_REFUSED], 7);
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_REFUSED] + fixture.outcomes[MG_PUBLISH_CONFIRMED], 10);
    test_queue_delete(full);
}
END_TEST

/* Would catch: memory that grows with the number of publishes while none is confirmed. */
START_TEST(window_is_bounded)
{
    fixture_create(&fixture); /* not connected yet: all of it waits */
    size_t room = mg_broker_publish_room(fixture.broker);
    ck_assert_uint_gt(room, 0);
    for (size_t i = 0; i < room; i++) {
        fixture_publish(&fixture, queue, "{}");
    }
    ck_assert_uint_eq(mg_broker_publish_room(fixture.broker), 0);
    struct mg_err err;
    const struct mg_message more = {.exchange = "", .routing_key = queue, .body = mg_slice_of("{}")};
    ck_assert_int_eq(mg_broker_publish(fixture.broker, &more, NULL, NULL, &err), MG_TRANSIENT);
    fixture.acks_at_once = true;
    ck_assert(wait_outcomes((int)room));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_CONFIRMED], (int)room);
    ck_assert(wait_deliveries((int)room));
    ck_assert_uint_eq(mg_broker_publish_room(fixture.broker), room);
}
END_TEST

/* Would catch: a broker that gives a consumer no more than some thousands, so that an agent's slots beyond
 * stay empty. */
START_TEST(a_prefetch_of_thousands_is_filled)
{
    char quorum[64];
    const int count = 3000, at_once = 1000;
    test_queue_name("quorum", quorum);
    test_quorum_queue_declare(quorum);
    fixture.options.consumers[0] = (struct mg_consumer){.queue = quorum, .prefetch = (uint16_t)count};
    fixture_start(&fixture);
    for (int i = 0; i < count; i++) {
        fixture_publish(&fixture, quorum, "{}");
        if ((i + 1) % at_once == 0) {
            ck_assert(wait_outcomes(i + 1));
        }
    }
    ck_assert(wait_deliveries(count));
    for (int i = 0; i < count; i++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
    test_queue_delete(quorum);
}
END_TEST

/* Would catch: a text that the library would cut silently. */
START_TEST(too_long_texts_are_refused_and_long_reasons_cut)
{
    fixture_start(&fixture);
    char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    struct mg_err err;
    struct mg_message message = {.exchange = "", .routing_key = queue, .correlation_id = text};
    ck_assert_int_eq(mg_broker_publish(fixture.broker, &message, NULL, NULL, &err), MG_BAD_INPUT);
    message.correlation_id = NULL;
    message.reason = text;
    fixture_publish_message(&fixture, &message);
    ck_assert(wait_outcomes(1));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_CONFIRMED], 1);
    ck_assert(wait_deliveries(1));
    ck_assert_uint_eq(fixture.deliveries[0]->body.len, 0);
    mg_broker_ack(fixture.broker, fixture.deliveries[0]);
}
END_TEST

/* Would catch: a body of several frames that loses a piece; one above the limit that is kept. */
START_TEST(large_bodies_arrive_and_oversized_ones_are_read_past)
{
    fixture.options.body_max_bytes = 300 * 1024;
    fixture_start(&fixture);
    char *body = malloc(3 * 1024 * 1024);
    ck_assert_ptr_nonnull(body);
    for (int i = 0; i < 3 * 1024 * 1024; i++) {
        body[i] = (char)('a' + i % 23);
    }
    const size_t sizes[] = {300 * 1024, 300 * 1024 + 1, 3 * 1024 * 1024, 1};
    for (int i = 0; i < 4; i++) {
        const struct mg_message message = {
            .exchange = "", .routing_key = queue, .body = {.data = body, .len = sizes[i]}};
        fixture_publish_message(&fixture, &message);
    }
    ck_assert(wait_deliveries(4));
    for (int i = 0; i < 4; i++) {
        const struct mg_delivery *delivery = fixture.deliveries[i];
        bool is_large = sizes[i] > 300 * 1024;
        ck_assert_int_eq(delivery->is_oversized, is_large);
        ck_assert_uint_eq(delivery->body.len, is_large ? 0 : sizes[i]);
        ck_assert_int_eq(memcmp(delivery->body.data, body, delivery->body.len), 0);
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
    free(body);
    ck_assert(wait_outcomes(4));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_CONFIRMED], 4);
}
END_TEST

/* Would catch: an ack that is never sent, or a requeue that is sent as an ack. */
START_TEST(acked_are_gone_and_requeued_come_again)
{
    fixture_start(&fixture);
    for (int i = 0; i < 10; i++) {
        fixture_publish(&fixture, queue, "{}");
    }
    ck_assert(wait_deliveries(10));
    for (int i = 0; i < 10; i++) {
        if (i == 4) {
            mg_broker_requeue(fixture.broker, fixture.deliveries[i]);
        } else {
            mg_broker_ack(fixture.broker, fixture.deliveries[i]);
        }
    }
    ck_assert(wait_deliveries(11));
    ck_assert(fixture.deliveries[10]->is_redelivered);
    mg_broker_ack(fixture.broker, fixture.deliveries[10]);
    fixture_run_for(&fixture, 100);
    ck_assert_int_eq(fixture.delivery_count, 11);
    ck_assert_int_eq(test_queue_ready(queue), 0);
    ck_assert_int_eq(fixture.up_count, 1); /* no ack was wrong: the channel lives */
    ck_assert_int_eq(fixture.down_count, 0);
}
END_TEST

static bool is_stopped(const struct fixture *seen)
{
    return mg_broker_is_stopped(seen->broker, 0);
}

/* Would catch: a paused consumer that gets messages, or a resumed one that gets none. */
START_TEST(paused_consumer_gets_nothing_until_resumed)
{
    fixture.acks_at_once = true;
    fixture_start(&fixture);
    mg_broker_pause(fixture.broker, 0);
    ck_assert(fixture_run(&fixture, is_stopped, WAIT_MS));
    for (int i = 0; i < 5; i++) {
        fixture_publish(&fixture, queue, "{}");
    }
    ck_assert(wait_outcomes(5));
    fixture_run_for(&fixture, 200);
    ck_assert_int_eq(fixture.delivery_count, 0);
    ck_assert_int_eq(test_queue_ready(queue), 5);
    mg_broker_resume(fixture.broker, 0, 2);
    ck_assert(wait_deliveries(5));
    for (int i = 0; i < 20; i++) { /* of quick changes the last one counts */
        mg_broker_pause(fixture.broker, 0);
        mg_broker_resume(fixture.broker, 0, 3);
    }
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_deliveries(6));
    ck_assert_int_eq(fixture.down_count, 0);
}
END_TEST

/* Would catch: a prefetch that counts for all consumers together, or not at all. */
START_TEST(each_consumer_has_its_own_prefetch)
{
    char other[64];
    test_queue_name("other", other);
    test_queue_declare(other, 0);
    fixture.options.consumers[0].prefetch = 3;
    fixture.options.consumers[1] = (struct mg_consumer){.queue = other, .prefetch = 5};
    fixture.options.consumer_count = 2;
    fixture_start(&fixture);
    for (int i = 0; i < 20; i++) {
        fixture_publish(&fixture, i % 2 == 0 ? queue : other, "{}");
    }
    ck_assert(wait_deliveries(8));
    fixture_run_for(&fixture, 200);
    ck_assert_int_eq(fixture.delivery_count, 8);
    int counts[2] = {0};
    for (int i = 0; i < 8; i++) {
        counts[fixture.deliveries[i]->consumer]++;
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
    ck_assert_int_eq(counts[0], 3);
    ck_assert_int_eq(counts[1], 5);
    fixture.acks_at_once = true;
    ck_assert(wait_deliveries(20));
    test_queue_delete(other);
}
END_TEST

static bool has_all_deliveries(const struct fixture *f)
{
    return f->delivery_count + fixture.delivery_count >= wanted;
}

/* Would catch: a rank that is not sent, or not changed. Would also catch messages that wait beyond one
 * consumer's prefetch although another has room. */
START_TEST(messages_go_to_the_highest_rank_that_has_room)
{
    static struct fixture other;
    fixture_init(&other, test_amqp_url());
    other.options.consumers[0] = (struct mg_consumer){.queue = queue, .prefetch = 100};
    other.options.consumer_count = 1;
    other.options.rank = -2000000000000;
    fixture.options.rank = -1000000000000;
    fixture.options.consumers[0].prefetch = 10;
    fixture_start(&other);
    fixture_start(&fixture);
    for (int i = 0; i < 15; i++) {
        fixture_publish(&fixture, queue, "{}");
    }
    ck_assert(wait_deliveries(10));
    wanted = 15;
    ck_assert(fixture_run(&other, has_all_deliveries, WAIT_MS));
    ck_assert_int_eq(fixture.delivery_count, 10);
    for (int i = 0; i < 10; i++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
    mg_broker_set_rank(fixture.broker, INT64_MIN);
    fixture_run_for(&fixture, 1000); /* the consumer is started anew: a few round trips */
    for (int i = 0; i < 15; i++) {
        fixture_publish(&fixture, queue, "{}");
    }
    wanted = 30;
    ck_assert(wait_outcomes(30));
    ck_assert(fixture_run(&other, has_all_deliveries, WAIT_MS));
    ck_assert_int_eq(fixture.delivery_count, 10);
    fixture_finish(&other);
}
END_TEST

static void on_named(void *arg, int consumer, const char *name)
{
    struct fixture *f = arg;
    ck_assert_int_eq(consumer, 1);
    f->named_count++;
    (void)snprintf(f->private_queue, sizeof(f->private_queue), "%s", name);
}

static bool is_named(const struct fixture *f)
{
    return f->named_count > 0;
}

/* Would catch: a private queue without a published name, or with messages that go to another consumer. */
START_TEST(private_queue_is_named_and_read)
{
    fixture.acks_at_once = true;
    fixture_create(&fixture);
    mg_broker_consume_private(fixture.broker, 10, on_named, &fixture);
    ck_assert(fixture_run(&fixture, is_named, WAIT_MS));
    fixture_publish(&fixture, fixture.private_queue, "{\"x\":1}");
    ck_assert(wait_outcomes(1));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_CONFIRMED], 1);
    ck_assert(wait_deliveries(1));
}
END_TEST

/* Would catch: acks that wait for one delivery for ever, so that the consumer runs out of prefetch behind
 * it. */
START_TEST(acks_above_a_delivery_that_is_held_for_long_are_sent)
{
    fixture.options.consumers[0].prefetch = 10;
    fixture_start(&fixture);
    for (int i = 0; i < 30; i++) {
        fixture_publish(&fixture, queue, "{}");
    }
    ck_assert(wait_deliveries(10));
    mg_broker_ack(fixture.broker, fixture.deliveries[3]); /* one alone: after a delay */
    ck_assert_int_eq(mg_broker_unsent_acks(fixture.broker, 0), 1);
    ck_assert(wait_deliveries(11));
    ck_assert_int_eq(mg_broker_unsent_acks(fixture.broker, 0), 0);
    for (int i = 4; i < 11; i++) { /* most of the prefetch: at once */
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
    ck_assert(wait_deliveries(18));
    mg_broker_requeue(fixture.broker, fixture.deliveries[2]);
    ck_assert(wait_deliveries(19));
    mg_broker_destroy(fixture.broker); /* deliveries 0, 1 and 11 to 18 are still held */
    fixture.broker = NULL;
    for (int i = 0; i < WAIT_MS / 20 && test_queue_ready(queue) != 22; i++) {
        fixture_run_for(&fixture, 20);
    }
    ck_assert_int_eq(test_queue_ready(queue), 22);
}
END_TEST

/* Would catch: acks in memory that are lost when the process ends. */
START_TEST(acks_before_destroy_reach_the_broker)
{
    fixture_start(&fixture);
    for (int i = 0; i < 200; i++) {
        fixture_publish(&fixture, queue, "{}");
    }
    ck_assert(wait_outcomes(200));
    ck_assert(wait_deliveries(100)); /* the prefetch */
    for (int i = 0; i < 100; i++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
    mg_broker_destroy(fixture.broker);
    fixture.broker = NULL;
    for (int i = 0; i < WAIT_MS / 20 && test_queue_ready(queue) != 100; i++) {
        fixture_run_for(&fixture, 20);
    }
    fixture_run_for(&fixture, 100);
    ck_assert_int_eq(test_queue_ready(queue), 100);
}
END_TEST

/* Would catch: the loss of an ack that waited for a delivery which is still held. */
START_TEST(a_waiting_ack_before_destroy_reaches_the_broker)
{
    fixture_start(&fixture);
    for (int i = 0; i < 10; i++) {
        fixture_publish(&fixture, queue, "{}");
    }
    ck_assert(wait_deliveries(10));
    mg_broker_ack(fixture.broker, fixture.deliveries[5]);
    mg_broker_destroy(fixture.broker);
    fixture.broker = NULL;
    for (int i = 0; i < WAIT_MS / 20 && test_queue_ready(queue) != 9; i++) {
        fixture_run_for(&fixture, 20);
    }
    fixture_run_for(&fixture, 100);
    ck_assert_int_eq(test_queue_ready(queue), 9);
}
END_TEST

/* Would catch: message headers of another user that end the process: the library decodes nested ones
 * recursively. */
START_TEST(deeply_nested_headers_do_no_harm)
{
    fixture_start(&fixture);
    int nested = test_publish_nested(queue);
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_outcomes(1));
    ck_assert(wait_deliveries(nested + 1));
    fixture_run_for(&fixture, 100);
    for (int i = 0; i < fixture.delivery_count; i++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
}
END_TEST

static struct mg_broker *destroyed_within;

static void on_delivery_destroy(void *arg, struct mg_delivery *delivery)
{
    struct fixture *f = arg;
    (void)delivery;
    f->delivery_count++;
    mg_broker_destroy(destroyed_within);
}

/* Would catch: memory used after a callback destroyed the broker. */
START_TEST(broker_may_be_destroyed_within_a_callback)
{
    fixture_start(&fixture);
    struct mg_broker_options options = fixture.options;
    options.on_delivery = on_delivery_destroy;
    mg_broker_destroy(fixture.broker);
    struct mg_err err;
    ck_assert_int_eq(mg_broker_create(fixture.loop, &options, &destroyed_within, &err), MG_OK);
    fixture.broker = destroyed_within;
    fixture_publish(&fixture, queue, "{}");
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_deliveries(1));
    fixture.broker = NULL;
    fixture_run_for(&fixture, 100);
    ck_assert_int_eq(fixture.delivery_count, 1);
}
END_TEST

/* Would catch: an address that is accepted and fails for ever later; a password that would leave the machine
 * in plain text; missing certificates that are noticed only at the first connect. */
START_TEST(bad_addresses_are_refused)
{
    const struct mg_broker_address addresses[] = {
        {.url = ""},
        {.url = "localhost"},
        {.url = "http://localhost"},
        {.url = "amqp://rabbit.example"},
        {.url = "amqp://localhost/\n"},
        {.url = "amqp://guest:guest@localhost/ "},
        {.url = "amqps://localhost", .tls = {.ca_file = "/nonexistent"}},
        {.url = "amqps://localhost", .tls = {.cert_file = "/nonexistent"}},
        {.url = "amqps://localhost", .tls = {.ca_file = "/dev/null"}},
    };
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        struct mg_broker *broker = NULL;
        struct mg_err err;
        fixture.options.address = addresses[i];
        ck_assert_int_eq(mg_broker_create(fixture.loop, &fixture.options, &broker, &err), MG_BAD_INPUT);
        ck_assert_ptr_null(broker);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker");
    TCase *tests = tcase_create("broker");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, message_arrives_with_all_its_properties);
    tcase_add_test(tests, only_messages_without_a_queue_are_returned);
    tcase_add_test(tests, full_queue_refuses);
    tcase_add_test(tests, window_is_bounded);
    tcase_add_test(tests, a_prefetch_of_thousands_is_filled);
    tcase_add_test(tests, too_long_texts_are_refused_and_long_reasons_cut);
    tcase_add_test(tests, large_bodies_arrive_and_oversized_ones_are_read_past);
    tcase_add_test(tests, acked_are_gone_and_requeued_come_again);
    tcase_add_test(tests, paused_consumer_gets_nothing_until_resumed);
    tcase_add_test(tests, each_consumer_has_its_own_prefetch);
    tcase_add_test(tests, messages_go_to_the_highest_rank_that_has_room);
    tcase_add_test(tests, private_queue_is_named_and_read);
    tcase_add_test(tests, acks_above_a_delivery_that_is_held_for_long_are_sent);
    tcase_add_test(tests, acks_before_destroy_reach_the_broker);
    tcase_add_test(tests, a_waiting_ack_before_destroy_reaches_the_broker);
    tcase_add_test(tests, deeply_nested_headers_do_no_harm);
    tcase_add_test(tests, broker_may_be_destroyed_within_a_callback);
    tcase_add_test(tests, bad_addresses_are_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
