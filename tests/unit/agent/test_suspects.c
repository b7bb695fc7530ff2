/*
 * Requests that may crash their agents, and the requests alongside them. A process that crashes costs all
 * messages in hand one delivery each, and 20 make a dead letter. Each test names the failure that it would
 * catch.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "flow.h"

static void setup(void)
{
    flow_start_anew(",\"concurrency\":4,\"tries\":1");
}

static void teardown(void)
{
    flow_finish();
}

static void deliver(const char *order_id, int consumer, uint32_t delivery_count)
{
    flow_deliver(
        &(struct flow_request){.order_id = order_id, .consumer = consumer, .delivery_count = delivery_count});
}

static void finish(int call)
{
    flow_answer_status(call, 200, "{}");
    flow_wait_replies(call + 1);
    fake_broker_end("reply", MG_PUBLISH_CONFIRMED);
}

static bool is_called(int call, const char *order_id)
{
    return strstr(fake_http.calls[call].headers, order_id) != NULL;
}

/* Would catch: an agent that starts and takes the guilty request together with hundreds of others. */
START_TEST(each_queue_begins_with_one_request)
{
    ck_assert_int_eq(fake_broker.options.consumers[0].prefetch, 1);
    ck_assert_int_eq(fake_broker.options.consumers[1].prefetch, 1);
    deliver("o1", 0, 1); /* once before: no suspect */
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 4);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 1), 1);
}
END_TEST

/* Would catch: neighbours with a counted delivery each, because they come while the suspect is in hand. */
START_TEST(while_a_suspect_is_here_one_request_comes_at_a_time)
{
    deliver("o1", 0, 0);
    deliver("o2", 1, 0);
    deliver("o3", 0, 2);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 1);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 1), 1);
    deliver("o4", 1, 0); /* was on its way */
    ck_assert_int_eq(mg_broker_prefetch(NULL, 1), 1);
    flow_wait_calls(4); /* it waits for no other request */
    for (int call = 0; call < 4; call++) {
        finish(call);
    }
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 1);
    deliver("o5", 0, 0);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 4);
}
END_TEST

/* Would catch: the guilty request called while others are in hand, or before its neighbours that became
 * suspects with it. */
START_TEST(a_request_redelivered_often_is_called_last_and_alone)
{
    deliver("innocent", 1, 0);
    flow_wait_calls(1);
    fake_broker.is_on_its_way[1] = true;
    deliver("guilty", 0, 9);
    deliver("beside", 0, 5);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 0);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 1), 0);
    finish(0);
    flow_linger(60); /* the broker may still send */
    ck_assert_int_eq(fake_http.count, 1);
    fake_broker.is_on_its_way[1] = false;
    fake_broker.unsent_acks[1] = 1;
    flow_linger(60); /* the broker counts the first one, too */
    ck_assert_int_eq(fake_http.count, 1);
    fake_broker.unsent_acks[1] = 0;
    flow_wait_calls(2);
    ck_assert(is_called(1, "beside"));
    flow_linger(60);
    ck_assert_int_eq(fake_http.count, 2);
    finish(1);
    flow_wait_calls(3);
    ck_assert(is_called(2, "guilty"));
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 0);
    finish(2);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 1);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 1), 1);
}
END_TEST

/* Would catch: a service that stalls for minutes because of one slow call, alongside an isolated request
 * or its own. */
START_TEST(neither_waiting_nor_being_alone_lasts_long)
{
    deliver("slow", 1, 0);
    flow_wait_calls(1);
    deliver("o1", 0, 9);
    deliver("o2", 0, 9);
    flow_agent.isolated_boot_ms -= 10000;
    flow_wait_calls(2);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 0);
    flow_agent.isolated_boot_ms -= 10000;
    flow_wait_calls(3);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 0);
    flow_agent.isolated_boot_ms -= 10000;
    flow_linger(60);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 1);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 1), 1);
}
END_TEST

/* Would catch: requests of a newer version as suspects: each give-back counts as a delivery, and all others
 * would wait. */
START_TEST(a_message_left_to_a_newer_version_is_no_suspect)
{
    flow_deliver_bytes(0, "request", "{\"v\":99}", 9);
    flow_deliver_bytes(0, "unheard_of", "{}", 9);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 4);
    deliver("guilty", 1, 9);
    flow_wait_calls(1); /* alongside them */
}
END_TEST

/* Would catch: an isolated request that stays with an agent that is ending, has lost its connection, or may
 * not call. */
START_TEST(an_isolated_request_is_given_back_like_others)
{
    fake_broker.is_on_its_way[0] = true;
    deliver("guilty", 0, 9);
    fake_broker_connect(false);
    ck_assert_ptr_nonnull(strchr(flow_story, 'q'));
    fake_broker_connect(true);
    ck_assert_int_eq(mg_broker_prefetch(NULL, 0), 1);
    memset(flow_story, 0, sizeof(flow_story));
    deliver("guilty", 0, 9);
    mg_agent_drain(&flow_agent);
    ck_assert_ptr_nonnull(strchr(flow_story, 'q'));
}
END_TEST

/* Would catch: a request that stays a suspect for ever, because the broker delivered it again while it was in
 * hand. */
START_TEST(a_suspect_that_comes_again_meanwhile_is_counted_once)
{
    deliver("o1", 0, 2);
    flow_wait_calls(1);
    deliver("o1", 0, 3); /* a new connection's */
    ck_assert_int_eq(flow_agent.suspects.in_hand, 1);
    finish(0);
    ck_assert_int_eq(flow_agent.suspects.in_hand, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_suspects");
    TCase *tests = tcase_create("suspects");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, each_queue_begins_with_one_request);
    tcase_add_test(tests, while_a_suspect_is_here_one_request_comes_at_a_time);
    tcase_add_test(tests, a_request_redelivered_often_is_called_last_and_alone);
    tcase_add_test(tests, neither_waiting_nor_being_alone_lasts_long);
    tcase_add_test(tests, a_message_left_to_a_newer_version_is_no_suspect);
    tcase_add_test(tests, an_isolated_request_is_given_back_like_others);
    tcase_add_test(tests, a_suspect_that_comes_again_meanwhile_is_counted_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
