/*
 * A queue that takes nothing: its channel confirms nothing any more, for any queue. The queue at fault is
 * found, and all others go on. The relay reads frames, which TLS hides: so these tests do not run over TLS.
 */
#include <stdlib.h>

#include "../unit/suite.h"
#include "relay_fixture.h"

static bool is_all_unknown(const struct fixture *seen)
{
    return seen->outcomes[MG_PUBLISH_UNKNOWN] == wanted;
}

static bool is_returned(const struct fixture *seen)
{
    return seen->outcomes[MG_PUBLISH_RETURNED] == wanted;
}

static bool has_confirm(const struct fixture *seen)
{
    return seen->outcomes[MG_PUBLISH_CONFIRMED] == wanted;
}

/* The relay behaves so as soon as the connection is up. */
static void start_through(enum relay_mode mode)
{
    fixture.options.confirm_timeout_ms = 4000;
    fixture.acks_at_once = true;
    fixture_start(&fixture);
    relay_set(relay, mode);
}

/* Would catch: messages to all queues that wait for ever behind one queue that takes nothing; and an innocent
 * queue that is blamed because its message stood in front. */
START_TEST(a_channel_that_confirms_nothing_gives_way_and_its_queue_is_found)
{
    start_through(RELAY_UNCONFIRMED);
    fixture_publish(&fixture, queue, "{}");
    fixture_publish(&fixture, "another", "{}");
    ck_assert(wait_for(is_all_unknown, 2)); /* both with the connection: either may be the reason */
    ck_assert_int_eq(fixture.down_count, 1);
    ck_assert_ptr_nonnull(strstr(fixture.reason, "confirmed"));
    fixture_publish(&fixture, queue, "{}");
    fixture_publish(&fixture, "another", "{}");
    ck_assert(wait_for(is_all_unknown, 3)); /* the first: the other has not been sent */
    relay_set(relay, RELAY_PASS);
    ck_assert(wait_for(is_returned, 1));
    ck_assert_int_eq(fixture.down_count, 1); /* the second time went apart */
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(has_confirm, 1));
}
END_TEST

static bool has_unsent(const struct fixture *seen)
{
    return seen->outcomes[MG_PUBLISH_UNSENT] == wanted;
}

static void publish_stuck(size_t size)
{
    char *body = calloc(1, size + 1);
    ck_assert_ptr_nonnull(body);
    const struct mg_message message = {
        .exchange = "", .routing_key = RELAY_STUCK_QUEUE, .body = {.data = body, .len = size}};
    fixture_publish_message(&fixture, &message);
    free(body);
}

/* Would catch: messages to all queues that wait, at each trial, for a queue that takes nothing. */
START_TEST(a_publish_on_a_line_of_its_own_holds_up_no_other)
{
    start_through(RELAY_STUCK);
    publish_stuck(0);
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(is_all_unknown, 2));
    ck_assert_int_eq(fixture.down_count, 1);
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(has_confirm, 1)); /* it was not that one */
    publish_stuck(0);
    for (int i = 2; fixture.outcomes[MG_PUBLISH_UNKNOWN] == 2; i++) {
        fixture_publish(&fixture, queue, "{}");
        ck_assert(wait_for(has_confirm, i));
    }
    ck_assert_int_eq(fixture.down_count, 1);
    relay_set(relay, RELAY_PASS);
    publish_stuck(0);
    ck_assert(wait_for(is_returned, 1));
}
END_TEST

/* Would catch: a connection lost for each further message that waits for the same queue. */
START_TEST(messages_for_a_queue_that_is_found_leave_with_its_first)
{
    start_through(RELAY_STUCK);
    publish_stuck(0);
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(is_all_unknown, 2));
    publish_stuck(0);
    fixture_publish(&fixture, queue, "{}");
    publish_stuck(0);
    ck_assert(wait_for(has_unsent, 1));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_UNKNOWN], 3);
    ck_assert(wait_for(has_confirm, 1));
    ck_assert_int_eq(fixture.down_count, 1);
}
END_TEST

/* Would catch: queues that receive nothing any more because the broker's user has reached its limit of
 * connections. */
START_TEST(without_a_second_connection_all_goes_over_the_first)
{
    start_through(RELAY_STUCK);
    publish_stuck(0);
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(is_all_unknown, 2));
    ck_assert(wait_for(is_up, 0));
    relay_set(relay, RELAY_FULL);
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(has_unsent, 1));
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(has_confirm, 1));
}
END_TEST

/* Would catch: an agent of several services whose replies stop it once for each service's exchange. */
START_TEST(a_queue_is_the_same_through_each_exchange)
{
    start_through(RELAY_UNCONFIRMED);
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(is_all_unknown, 1));
    const struct mg_message message = {
        .exchange = "amq.direct", .routing_key = queue, .body = mg_slice_of("{}")};
    fixture_publish_message(&fixture, &message);
    ck_assert(wait_for(is_all_unknown, 2));
    ck_assert_int_eq(fixture.down_count, 1);
}
END_TEST

/* Would catch: a connection that stalls again for the messages after the first. */
START_TEST(messages_for_a_queue_that_may_take_nothing_go_apart)
{
    enum { MESSAGES = 18, BYTES = 200 * 1024 }; /* more than the sockets take, less than the window */
    start_through(RELAY_STUCK);
    for (int i = 0; i < MESSAGES; i++) {
        publish_stuck(BYTES);
    }
    fixture_publish(&fixture, queue, "{}");
    ck_assert(wait_for(has_confirm, 1));
    ck_assert_int_lt(fixture.outcomes[MG_PUBLISH_UNKNOWN], MESSAGES); /* some have not left yet */
    fixture_run_for(&fixture, 3000);                                  /* half the timeout, and a little */
    ck_assert_int_eq(fixture.down_count, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker_stuck");
    TCase *tests = tcase_create("broker_stuck");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_channel_that_confirms_nothing_gives_way_and_its_queue_is_found);
    tcase_add_test(tests, a_publish_on_a_line_of_its_own_holds_up_no_other);
    tcase_add_test(tests, messages_for_a_queue_that_is_found_leave_with_its_first);
    tcase_add_test(tests, without_a_second_connection_all_goes_over_the_first);
    tcase_add_test(tests, a_queue_is_the_same_through_each_exchange);
    tcase_add_test(tests, messages_for_a_queue_that_may_take_nothing_go_apart);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
