/*
 * The full queue of a served service holds up its own orders only (law 2, ack after effects): they are
 * accepted and parked in a line, up to a bound. Where each workflow needs it, new orders wait unread.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "passing.h"

#define OTHER                                                                                                \
    "{\"workflow\":\"other\",\"version\":1,\"complete_within\":\"15m\",\"on_failure\":\"compensate\","       \
    "\"on_expiry\":\"compensate\",\"steps\":["                                                               \
    "{\"step\":\"charge\",\"service\":\"payment\",\"complete_within\":\"10s\",\"on_unknown\":\"retry\","     \
    "\"retry\":{\"attempts\":3},\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"}]}"
#define WINDOW     100 /* stage.c */
#define PARKED_MAX (10 * WINDOW)

static int asked; /* part of each command's id */

/* The broker reports so many requests in the queue of `inventory`, which an agent consumes. */
static void fill(int64_t ready, bool is_high)
{
    struct mg_gate_queue *queue = &mg_gates_of(&stage_scheduler->gates, "inventory")->queues[is_high ? 1 : 0];
    queue->is_seen = true;
    queue->ready = ready;
    queue->consumers = 1;
    queue->since = 0;
    mg_scheduler_wake(&stage_scheduler->shared);
    stage_settle();
}

static void submit_other(const char *order_id, int lane)
{
    char body[128];
    snprintf(body, sizeof(body), "{\"order_id\":\"%s\",\"workflow\":\"other\",\"payload\":{}}", order_id);
    fake_broker_deliver(&(struct fake_delivery){.consumer = lane, .body = body, .message_id = order_id});
    stage_settle();
}

static void submit(const char *order_id)
{
    stage_begin(order_id);
}

/* The supervisor's command that the first of the line may go on. */
static void ask(const char *order_id)
{
    stage_act("c-%d %s due step=reserve attempt=0 by=s", ++asked, order_id);
}

static bool is_parked(const char *order_id)
{
    const struct mg_order_record *record = fake_store_order(order_id);
    return record != NULL && record->order.steps[0].state == MG_STEP_WAITING &&
           record->order.steps[0].reason == MG_REASON_WINDOW_FULL;
}

static bool is_sent(const char *order_id)
{
    return fake_store_order(order_id) != NULL && stage_step(order_id, 0) == MG_STEP_RUNNING;
}

/* `reserve` of `two` needs inventory. `other` needs only payment. */
static void setup(void)
{
    asked = 0;
    stage_start();
    submit("o0"); /* its workflow makes the services known */
    fake_store.workflow = "other";
    fake_store.definition = OTHER;
    submit_other("p0", MG_LANE_NORMAL);
    fake_store.is_avoided = true;
    ck_assert(is_sent("o0") && is_sent("p0"));
}

/* Would catch: orders of every workflow that wait for one slow service. */
START_TEST(orders_that_do_without_a_full_service_go_on)
{
    fill(80, false);
    submit("o1");
    submit_other("p1", MG_LANE_NORMAL);
    ck_assert(is_parked("o1"));
    ck_assert(is_sent("p1"));
}
END_TEST

/* Would catch: a flood of the only workflow that is parked order by order, and woken order by order. */
START_TEST(where_each_workflow_needs_it_new_orders_wait_unread)
{
    fake_store.is_avoided = false;
    fill(80, false);
    submit("o1");
    submit_other("p1", MG_LANE_HIGH);
    ck_assert_ptr_null(fake_store_order("o1"));
    ck_assert(is_sent("p1")); /* the queue of high priority has room */
    fill(70, false);
    ck_assert(is_sent("o1"));
}
END_TEST

/* Would catch: a flood for one service that fills the database. */
START_TEST(new_orders_wait_at_the_most_parked_steps_and_this_is_reported)
{
    struct mg_beat beat = {.in_hand = 0};
    fake_store.parked = PARKED_MAX - 2;
    fill(80, false);
    submit("o1");
    submit("o2");
    ck_assert(is_parked("o1") && is_parked("o2")); /* they count before the next answer */
    submit_other("p1", MG_LANE_NORMAL);
    ck_assert_ptr_null(fake_store_order("p1"));
    fake_store.parked = PARKED_MAX;
    pass(16000);
    mg_standstill_account(&stage_scheduler->standstill, &beat);
    ck_assert_ptr_nonnull(strstr(beat.reason, "new orders of all workflows wait, 1 of them in hand"));
    ck_assert_ptr_nonnull(
        strstr(beat.reason, "service inventory is full and the most steps are parked for it"));
    int counts = fake_store.parked_counts;
    fake_store.parked = PARKED_MAX - 1;
    pass(2000);
    ck_assert(is_sent("p1"));
    ck_assert_int_le(fake_store.parked_counts - counts, 3); /* not at each look */
}
END_TEST

/* Would catch: new orders that take each free place before those that wait for it, and a line for ever. */
START_TEST(a_line_is_served_in_turn_until_the_queue_is_half_empty)
{
    fake_store.parked = 1;
    fill(80, false);
    submit("o1");
    fill(60, false);
    submit("o2");
    ck_assert(is_parked("o1") && is_parked("o2"));
    fake_store.ahead_ms = 2000; /* its pause is over */
    ask("o1");
    ck_assert(is_sent("o1"));
    fill(40, false);
    submit("o3");
    ck_assert(is_sent("o3"));
    fill(60, false);
    submit("o4"); /* there is no line any more */
    ck_assert(is_sent("o4"));
}
END_TEST

/* Would catch: a window of one request, in which no order without a line fits. */
START_TEST(a_line_ends_when_nothing_is_parked)
{
    struct mg_scheduler_options options = *stage_scheduler->shared.options;
    options.window = 1;
    stage_scheduler->shared.options = &options;
    fake_store.parked = 1;
    fill(1, false);
    submit("o1");
    fill(0, false);
    submit("o2");
    ck_assert(is_parked("o1") && is_parked("o2"));
    fake_store.parked = 0;
    pass(2500);
    fake_store.workflow = STAGE_WORKFLOW; /* its newest version is read again */
    submit("o3");
    ck_assert(is_sent("o3"));
}
END_TEST

/* Would catch: a way back that waits behind each new order. */
START_TEST(an_undo_does_not_join_the_line)
{
    reply("o0");
    stage_settle();
    fake_store.parked = 1;
    fill(80, false);
    submit("o1");
    stage_answer("o0.charge#1 permanent");
    ck_assert(is_parked("o1"));
    ck_assert_int_eq(stage_step("o0", 0), MG_STEP_UNDO_RUNNING);
}
END_TEST

/* Would catch: a service without consumers that holds up others, since its queue was full before. */
START_TEST(a_full_queue_that_nothing_consumes_holds_nothing_up)
{
    fake_store.parked = PARKED_MAX;
    fill(80, false);
    submit_other("p1", MG_LANE_NORMAL);
    ck_assert_ptr_null(fake_store_order("p1"));
    mg_gates_of(&stage_scheduler->gates, "inventory")->queues[0].consumers = 0;
    mg_scheduler_wake(&stage_scheduler->shared);
    stage_settle();
    ck_assert(is_sent("p1"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler full");
    TCase *tests = tcase_create("full");
    tcase_add_checked_fixture(tests, setup, stage_finish);
    tcase_add_test(tests, orders_that_do_without_a_full_service_go_on);
    tcase_add_test(tests, where_each_workflow_needs_it_new_orders_wait_unread);
    tcase_add_test(tests, new_orders_wait_at_the_most_parked_steps_and_this_is_reported);
    tcase_add_test(tests, a_line_is_served_in_turn_until_the_queue_is_half_empty);
    tcase_add_test(tests, a_line_ends_when_nothing_is_parked);
    tcase_add_test(tests, an_undo_does_not_join_the_line);
    tcase_add_test(tests, a_full_queue_that_nothing_consumes_holds_nothing_up);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
