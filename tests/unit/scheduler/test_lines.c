/*
 * Orders in the line of their key: what is asked of the store, and the message to the order that has
 * its turn. Each test names the failure that it would catch.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "io/amqp/topology.h"
#include "stage.h"

#define LINED                                                                                                  \
    "{\"workflow\":\"two\",\"version\":1,\"sequence\":{\"key\":\"k/${/payload/items/0}\",\"at_most\":2},"      \
    "\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\",\"do\":{\"method\":\"POST\",\"path\":\"/r\"}," \
    "\"undo\":\"none\"}]}"

static void setup(void)
{
    stage_start();
    fake_store.definition = LINED;
}

static void submit(const char *order_id, const char *items)
{
    stage_submit_from(order_id, items, "client", false);
    stage_settle();
}

START_TEST(an_order_joins_the_line_of_its_key_and_calls_nothing)
{
    submit("o1", "[14.00]");
    ck_assert(mg_order_is_in_line(&fake_store_order("o1")->order));
    ck_assert(fake_store.last_move.joins && !fake_store.last_move.leaves && !fake_store.last_move.begins);
    ck_assert_int_eq(fake_broker_count("request"), 0);
    ck_assert_int_eq(fake_broker_count("status"), 1);
}
END_TEST

/* Law 2, ack after effects. Would catch: an end that is acked although the next order was not told. */
START_TEST(a_cause_that_ends_an_order_sends_the_turn_to_the_next)
{
    fake_store.turn = "o1";
    submit("o1", "[1]");
    ck_assert_int_eq(fake_broker_count("command"), 1);
    ck_assert_str_eq(fake_broker_last("command")->queue, MG_QUEUE_COMMANDS);
    ck_assert_ptr_nonnull(
        strstr(fake_broker_last("command")->body, "\"command\":\"turn\",\"order_id\":\"o1\""));
    stage_act("c-1 o1 turn by=me generation=0");
    ck_assert_int_eq(fake_broker_count("request"), 1);
    ck_assert(fake_store.last_move.begins);
    fake_store.turn = "o2";
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert(fake_store.last_move.leaves && fake_store.last_move.left_generation == 0);
    ck_assert_int_eq(fake_broker_count("command"), 2);
}
END_TEST

START_TEST(a_restarted_order_leaves_its_place_and_joins_anew)
{
    submit("o1", "[1]");
    stage_act("c-1 o1 cancel by=ann reason=no");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_CANCELLED);
    stage_act("c-2 o1 restart by=ann reason=yes");
    ck_assert(fake_store.last_move.joins && fake_store.last_move.left_generation == 0);
    ck_assert_uint_eq(fake_store_order("o1")->order.generation, 1);
    stage_act("c-3 o1 turn by=me generation=0");
    ck_assert_int_eq(fake_broker_count("request"), 0);
    stage_act("c-4 o1 turn by=me generation=1");
    ck_assert_int_eq(fake_broker_count("request"), 1);
}
END_TEST

/* Would catch: a line without a bound, and a refusal of an order that is there already. */
START_TEST(a_full_line_rejects_a_new_order_and_knows_an_old_one)
{
    submit("o1", "[1]");
    fake_store.line_length = 2;
    submit("o2", "[1]");
    ck_assert_ptr_null(fake_store_order("o2"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "line_full"));
    submit("o1", "[1]");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "accepted"));
}
END_TEST

START_TEST(an_order_without_a_key_is_rejected)
{
    submit("o1", "[null]");
    ck_assert_ptr_null(fake_store_order("o1"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "/sequence/key"));
}
END_TEST

/* Would catch: a statement more for orders that have no line. */
START_TEST(an_order_without_a_line_asks_for_no_length)
{
    fake_store.definition = STAGE_DEFINITION;
    submit("o1", "[1]");
    ck_assert_int_eq(fake_store.line_looks, 0);
    ck_assert_int_eq(fake_broker_count("request"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler lines");
    TCase *tests = tcase_create("lines");
    tcase_add_checked_fixture(tests, setup, stage_finish);
    tcase_add_test(tests, an_order_joins_the_line_of_its_key_and_calls_nothing);
    tcase_add_test(tests, a_cause_that_ends_an_order_sends_the_turn_to_the_next);
    tcase_add_test(tests, a_restarted_order_leaves_its_place_and_joins_anew);
    tcase_add_test(tests, a_full_line_rejects_a_new_order_and_knows_an_old_one);
    tcase_add_test(tests, an_order_without_a_key_is_rejected);
    tcase_add_test(tests, an_order_without_a_line_asks_for_no_length);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
