/*
 * Bytes in hand, against a real RabbitMQ. Messages may be large, and may become so at any time. A consumer
 * never holds more bytes than its limit, takes each message at last, and leaves none near the limit of
 * deliveries.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/suite.h"
#include "broker_fixture.h"

#define BYTES_MAX ((size_t)1024 * 1024)
#define LARGE     ((size_t)100 * 1024)
#define PREFETCH  100

static struct fixture fixture;
static char queue[64];
static char *large;
static size_t most_held;
static uint32_t most_deliveries;
static bool is_any_redelivered;
static int acked;
static bool acks_at_small; /* acks all messages in hand when a small one comes */

static void on_delivery(void *arg, struct mg_delivery *delivery)
{
    struct fixture *f = arg;
    size_t held = mg_broker_held_bytes(f->broker, delivery->consumer);
    most_held = held > most_held ? held : most_held;
    most_deliveries = delivery->given_count > most_deliveries ? delivery->given_count : most_deliveries;
    is_any_redelivered = is_any_redelivered || delivery->is_redelivered;
    f->deliveries[f->delivery_count++] = delivery;
    if (f->acks_at_once) {
        mg_broker_ack(f->broker, delivery);
    }
    for (; acks_at_small && delivery->body.len < LARGE && acked < f->delivery_count; acked++) {
        mg_broker_ack(f->broker, f->deliveries[acked]);
    }
}

static void setup(void)
{
    test_queue_name("bytes", queue);
    test_quorum_queue_declare(queue);
    fixture_init(&fixture, test_amqp_url());
    fixture.options.consumers[0] = (struct mg_consumer){
        .queue = queue, .prefetch = PREFETCH, .bytes_max = BYTES_MAX, .body_max_bytes = 2 * LARGE};
    fixture.options.consumer_count = 1;
    fixture.options.on_delivery = on_delivery;
    large = calloc(1, 3 * LARGE + 1);
    ck_assert_ptr_nonnull(large);
    memset(large, 'x', 3 * LARGE);
    most_held = 0;
    most_deliveries = 0;
    is_any_redelivered = false;
    acked = 0;
    acks_at_small = false;
}

static void teardown(void)
{
    fixture_finish(&fixture);
    test_queue_delete(queue);
    free(large);
}

static int wanted;

static bool has_deliveries(const struct fixture *f)
{
    return f->delivery_count >= wanted;
}

static bool has_outcomes(const struct fixture *f)
{
    return f->outcomes[MG_PUBLISH_CONFIRMED] >= wanted;
}

static bool has_full_prefetch(const struct fixture *f)
{
    return mg_broker_prefetch(f->broker, 0) == PREFETCH;
}

static bool is_stopped(const struct fixture *f)
{
    return mg_broker_is_stopped(f->broker, 0);
}

static bool wait_deliveries(int count)
{
    wanted = count;
    return fixture_run(&fixture, has_deliveries, WAIT_MS);
}

static void publish(int count, size_t size)
{
    for (int i = 0; i < count; i++) {
        const struct mg_message message = {.exchange = "",
                                           .routing_key = queue,
                                           .type = "test",
                                           .message_id = "m",
                                           .body = {.data = large, .len = size}};
        fixture_publish_message(&fixture, &message);
        wanted = fixture.outcomes[MG_PUBLISH_CONFIRMED] + 1;
        ck_assert(fixture_run(&fixture, has_outcomes, WAIT_MS));
    }
}

/* Small ones: each used-up prefetch allows another of twice the size, until the consumer has its full
 * prefetch. */
static void grow(void)
{
    publish(2 + 4 + 8 + 16 + 32, 10);
    ck_assert(fixture_run(&fixture, has_full_prefetch, WAIT_MS));
    for (; acked < fixture.delivery_count; acked++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[acked]);
    }
}

/* Would catch: a consumer that keeps the prefetch of the smallest messages for ever, or has the full one
 * before any size is known. */
START_TEST(the_prefetch_is_as_the_messages_are_large)
{
    fixture_start(&fixture);
    ck_assert_int_eq(mg_broker_prefetch(fixture.broker, 0), 2); /* as if all were of the largest size */
    grow();
    publish(1, LARGE);
    ck_assert(wait_deliveries(acked + 1));
    fixture_run_for(&fixture, 200);
    ck_assert_int_eq(mg_broker_prefetch(fixture.broker, 0), 4);
    mg_broker_ack(fixture.broker, fixture.deliveries[acked]);
    ck_assert_int_eq(fixture.down_count, 0);
}
END_TEST

/* Would catch: slow work that runs in few slots only, since the sizes stay unknown until a message is
 * settled; and a message that is redelivered for it. */
START_TEST(a_consumer_that_settles_nothing_gets_its_prefetch)
{
    fixture_start(&fixture);
    mg_broker_pause(fixture.broker, 0);
    ck_assert(
        fixture_run(&fixture, is_stopped, WAIT_MS)); /* messages on their way till then are redelivered */
    publish(PREFETCH, 10);
    mg_broker_resume(fixture.broker, 0, 64);
    ck_assert(wait_deliveries(64));
    fixture_run_for(&fixture, 100);
    ck_assert_int_eq(mg_broker_prefetch(fixture.broker, 0), 64);
    ck_assert_int_eq(most_deliveries, 0);
    ck_assert(!is_any_redelivered);
}
END_TEST

/* Would catch: a guess that stays below the largest message received. */
START_TEST(a_guess_ends_at_the_largest_message)
{
    fixture_start(&fixture);
    publish(2, LARGE / 2);
    publish(20, 10);
    fixture_run_for(&fixture, 100);
    ck_assert_int_eq(mg_broker_prefetch(fixture.broker, 0), 8);
    ck_assert(!is_any_redelivered);
}
END_TEST

/* Would catch: memory that a burst of large messages takes after small ones; and messages requeued so often
 * for want of room that they become dead letters. */
START_TEST(messages_in_hand_never_exceed_their_bytes)
{
    fixture_start(&fixture);
    grow();
    mg_broker_pause(fixture.broker, 0);
    fixture_run_for(&fixture, 100);
    publish(60, LARGE); /* six times the limit of bytes in hand */
    mg_broker_resume(fixture.broker, 0, PREFETCH);
    int done = acked;
    for (int rounds = 0; done < acked + 60 && rounds < 2000; rounds++) {
        fixture_run_for(&fixture, 10);
        if (rounds % 4 == 0) {
            for (; done < fixture.delivery_count; done++) {
                mg_broker_ack(fixture.broker, fixture.deliveries[done]);
            }
        }
    }
    ck_assert_int_eq(done, acked + 60);
    ck_assert_uint_le(most_held, BYTES_MAX);
    ck_assert_uint_ge(most_held, BYTES_MAX / 4);
    ck_assert_uint_le(most_deliveries, 2);
    fixture_run_for(&fixture, 100);
    ck_assert_int_eq(fixture.delivery_count, acked + 60); /* each once */
    ck_assert_int_eq(test_queue_ready(queue), 0);
    ck_assert_int_eq(fixture.down_count, 0);
    ck_assert_uint_eq(mg_broker_held_bytes(fixture.broker, 0), 0);
}
END_TEST

/* Would catch: an ack with `multiple` that covers a message for which there was no room: it would be lost. */
START_TEST(messages_without_room_are_covered_by_no_ack)
{
    fixture_start(&fixture);
    grow();
    mg_broker_pause(fixture.broker, 0);
    fixture_run_for(&fixture, 100);
    publish(12, LARGE); /* two more than there is room for */
    publish(8, 10);
    acks_at_small = true;
    int before = acked;
    mg_broker_resume(fixture.broker, 0, PREFETCH);
    ck_assert(wait_deliveries(before + 20));
    acks_at_small = false;
    for (; acked < fixture.delivery_count; acked++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[acked]);
    }
    fixture_run_for(&fixture, 100);
    ck_assert_int_eq(fixture.delivery_count, before + 20);
    ck_assert_uint_eq(most_deliveries, 1); /* some found no room */
    ck_assert_int_eq(fixture.down_count, 0);
    ck_assert_int_eq(test_queue_ready(queue), 0);
    ck_assert_uint_eq(mg_broker_held_bytes(fixture.broker, 0), 0);
}
END_TEST

/* Would catch: a message that never comes, because it is larger than all room. */
START_TEST(one_message_is_always_taken)
{
    fixture.options.consumers[0].bytes_max = LARGE / 2;
    fixture_start(&fixture);
    publish(3, LARGE);
    for (int i = 0; i < 3; i++) {
        ck_assert(wait_deliveries(i + 1));
        ck_assert_uint_eq(fixture.deliveries[i]->body.len, LARGE);
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
    ck_assert_uint_le(most_deliveries, 2);
}
END_TEST

/* Would catch: a body above the queue's own limit that is kept, or without a sender to answer. */
START_TEST(a_body_above_its_limit_is_read_past)
{
    fixture_start(&fixture);
    publish(5, 3 * LARGE);
    for (int i = 0; i < 5; i++) {
        ck_assert(wait_deliveries(i + 1));
        ck_assert(fixture.deliveries[i]->is_oversized);
        ck_assert_uint_eq(fixture.deliveries[i]->body.len, 0);
        ck_assert(mg_slice_is(fixture.deliveries[i]->message_id, "m"));
        mg_broker_reject(fixture.broker, fixture.deliveries[i]);
    }
    ck_assert_uint_lt(most_held, LARGE);
}
END_TEST

/* Would catch: a consumer that stays stopped, because the messages it had in hand were lost with the
 * connection. */
START_TEST(a_full_consumer_goes_on_after_it_was_paused)
{
    fixture_start(&fixture);
    grow();
    mg_broker_pause(fixture.broker, 0);
    fixture_run_for(&fixture, 100);
    publish(30, LARGE);
    mg_broker_resume(fixture.broker, 0, PREFETCH);
    ck_assert(wait_deliveries(acked + 3));
    fixture_run_for(&fixture, 100);
    mg_broker_pause(fixture.broker, 0);
    fixture_run_for(&fixture, 100);
    ck_assert(mg_broker_is_stopped(fixture.broker, 0));
    for (int i = acked; i < fixture.delivery_count; i++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
    fixture_run_for(&fixture, 100);
    int before = fixture.delivery_count;
    ck_assert_int_eq(mg_broker_prefetch(fixture.broker, 0), 0);
    fixture.acks_at_once = true;
    mg_broker_resume(fixture.broker, 0, PREFETCH);
    ck_assert(wait_deliveries(acked + 30));
    ck_assert_int_gt(before, acked);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker_bytes");
    TCase *tests = tcase_create("bytes");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_prefetch_is_as_the_messages_are_large);
    tcase_add_test(tests, a_consumer_that_settles_nothing_gets_its_prefetch);
    tcase_add_test(tests, a_guess_ends_at_the_largest_message);
    tcase_add_test(tests, messages_in_hand_never_exceed_their_bytes);
    tcase_add_test(tests, messages_without_room_are_covered_by_no_ack);
    tcase_add_test(tests, one_message_is_always_taken);
    tcase_add_test(tests, a_body_above_its_limit_is_read_past);
    tcase_add_test(tests, a_full_consumer_goes_on_after_it_was_paused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
