/*
 * Messages that may crash their handlers, and the messages alongside them. A process that crashes costs all
 * messages in hand one delivery each, and 20 make a dead letter.
 */
#include <check.h>
#include <stdio.h>

#include "../suite.h"
#include "stage.h"

static void submit(const char *order_id, uint32_t delivery_count)
{
    char body[256];
    (void)snprintf(body, sizeof(body),
                   "{\"order_id\":\"%s\",\"workflow\":\"two\",\"payload\":{\"items\":[14.00]}}", order_id);
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                                .type = "submission",
                                                .message_id = order_id,
                                                .body = body,
                                                .is_redelivered = delivery_count > 0,
                                                .delivery_count = delivery_count});
}

static bool has(const char *order_id)
{
    return fake_store_order(order_id) != NULL;
}

/* Passes time, for messages that wait for a look or for the distance of large batches. */
static void settle(void)
{
    for (int i = 0; i < 4; i++) {
        stage_settle();
        fake_loop_advance(20);
    }
    stage_settle();
}

static void confirm_all(void)
{
    while (fake_broker_confirm()) {
    }
}

/* Would catch: a process that starts and takes the guilty message together with hundreds of others. */
START_TEST(each_queue_begins_with_one_message)
{
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        ck_assert_int_eq(fake_broker.options.consumers[i].prefetch, 1);
    }
    submit("o1", 1); /* once before: no suspect */
    ck_assert_int_eq(fake_broker.prefetch[MG_LANE_NORMAL],
                     mg_consumed_prefetch(&stage_scheduler->consumed, MG_LANE_NORMAL));
    ck_assert_int_eq(fake_broker.prefetch[MG_LANE_REPLIES], 1);
}
END_TEST

/* Would catch: neighbours with a counted delivery each, because the suspect comes when many messages are in
 * hand. */
START_TEST(while_a_suspect_is_here_one_message_comes_at_a_time)
{
    submit("o1", 0);
    submit("o2", 2);
    submit("o4", 0); /* was on its way */
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        ck_assert_int_eq(fake_broker.prefetch[i], 1);
        ck_assert(!fake_broker.is_off[i]);
    }
    settle();
    ck_assert(has("o1") && has("o2") && has("o4"));
    submit("o3", 0);
    ck_assert_int_eq(fake_broker.prefetch[MG_LANE_NORMAL],
                     mg_consumed_prefetch(&stage_scheduler->consumed, MG_LANE_NORMAL));
}
END_TEST

/* Would catch: the guilty message handled while others are in hand, or before its neighbours that became
 * suspects with it. */
START_TEST(a_message_redelivered_often_is_handled_last_and_alone)
{
    fake_broker.is_held = true;
    submit("guilty", 9);
    submit("beside", 5);
    submit("again", 7);
    submit("innocent", 0); /* was on its way */
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        ck_assert(fake_broker.is_off[i]);
    }
    settle();
    ck_assert(has("innocent") && !has("beside") && !has("again") && !has("guilty"));
    confirm_all();
    settle();
    ck_assert(has("beside") && !has("again") && !has("guilty"));
    confirm_all();
    settle();
    ck_assert(has("again") && !has("guilty"));
    confirm_all();
    settle();
    ck_assert(has("guilty"));
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        ck_assert(fake_broker.is_off[i]); /* it is still in hand */
    }
    confirm_all();
    settle();
    ck_assert_int_eq(fake_broker.acked, 4);
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        ck_assert(!fake_broker.is_off[i]);
        ck_assert_int_eq(fake_broker.prefetch[i], 1); /* there may be more of them */
    }
}
END_TEST

/* Would catch: one that is handled while the broker still sends others. */
START_TEST(it_waits_until_the_broker_sends_no_more)
{
    submit("guilty", 9);
    fake_broker.is_off[MG_LANE_REPLIES] = false; /* the broker has not confirmed that yet */
    settle();
    ck_assert(!has("guilty"));
    fake_broker.is_off[MG_LANE_REPLIES] = true;
    settle();
    ck_assert(has("guilty"));
}
END_TEST

/* Would catch: a flood of newer messages as suspects: each give-back counts as a delivery, and every other
 * message would wait. */
START_TEST(a_message_left_to_a_newer_version_is_no_suspect)
{
    static const struct {
        enum mg_lane lane;
        const char *type, *body;
    } newer[] = {{MG_LANE_REPLIES, "reply", "{\"v\":99}"},
                 {MG_LANE_REPLIES, "unheard_of", "{}"},
                 {MG_LANE_REPLIES, "service_report", "{\"v\":99}"},
                 {MG_LANE_COMMANDS, "command", "{\"v\":99}"}};
    for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
        fake_broker_deliver(&(struct fake_delivery){
            .consumer = newer[i].lane, .type = newer[i].type, .body = newer[i].body, .delivery_count = 9});
        ck_assert_msg(!fake_broker.is_off[MG_LANE_NORMAL], "%s %s", newer[i].type, newer[i].body);
    }
    settle();
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 4);
    ck_assert_int_gt(fake_broker.prefetch[MG_LANE_REPLIES], 1);
}
END_TEST

/* Would catch: an end, or a store that stays away, with which a suspect is never given back. */
START_TEST(a_suspect_is_given_back_like_others)
{
    submit("guilty", 9);
    mg_scheduler_drain(stage_scheduler);
    settle();
    ck_assert_int_eq(fake_broker.requeued, 1);
    ck_assert_int_eq(stage_scheduler->shared.works.count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_suspects");
    TCase *tests = tcase_create("suspects");
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_test(tests, each_queue_begins_with_one_message);
    tcase_add_test(tests, while_a_suspect_is_here_one_message_comes_at_a_time);
    tcase_add_test(tests, a_message_redelivered_often_is_handled_last_and_alone);
    tcase_add_test(tests, it_waits_until_the_broker_sends_no_more);
    tcase_add_test(tests, a_message_left_to_a_newer_version_is_no_suspect);
    tcase_add_test(tests, a_suspect_is_given_back_like_others);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
