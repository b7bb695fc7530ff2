/*
 * Messages of a newer version (law 13, nothing lost): left for another instance a bounded number of times,
 * never so many at once that others find no room, then set aside with an alert.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/clock.h"
#include "core/newer.h"
#include "stage.h"

#define NEWER "{\"v\":99,\"order_id\":\"x\"}"

static void deliver_newer(int lane, const char *type, uint32_t given_count)
{
    fake_broker_deliver(&(struct fake_delivery){
        .consumer = lane, .type = type, .body = NEWER, .delivery_count = given_count});
}

static int room_of(enum mg_lane lane)
{
    return mg_consumed_prefetch(&stage_scheduler->consumed, lane) / MG_NEWER_SHARE;
}

/* Would catch: a flood of newer messages that takes the whole prefetch, so that no reply gets through. */
START_TEST(many_leave_most_of_the_prefetch_to_others)
{
    static const struct {
        enum mg_lane lane;
        const char *type;
    } cases[] = {
        {MG_LANE_REPLIES, "reply"}, {MG_LANE_REPLIES, "service_report"}, {MG_LANE_COMMANDS, "command"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int prefetch = mg_consumed_prefetch(&stage_scheduler->consumed, cases[i].lane),
            room = room_of(cases[i].lane);
        int requeued = fake_broker.requeued, left = stage_scheduler->shared.works.left.count;
        for (int k = 0; k < prefetch; k++) {
            deliver_newer(cases[i].lane, cases[i].type, 0);
        }
        stage_settle();
        int held = stage_scheduler->shared.works.left.count - left;
        ck_assert_msg(held == (i == 1 ? 0 : room), "%s: %d wait", cases[i].type, held);
        ck_assert_int_eq(fake_broker.requeued - requeued, prefetch - held);
        ck_assert_int_eq(fake_broker.rejected, 0);
    }
    stage_begin("o1");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING);
}
END_TEST

/* Would catch the same for submissions with a workflow that a newer version has stored. */
START_TEST(submissions_that_cannot_be_judged_leave_room_too)
{
    int prefetch = mg_consumed_prefetch(&stage_scheduler->consumed, MG_LANE_NORMAL);
    fake_store.definition = "{\"workflow\":\"two\",\"version\":1,\"steps\":\"of another kind\"}";
    char ids[64][16];
    ck_assert_int_eq(prefetch, 64);
    for (int i = 0; i < prefetch; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "o%d", i);
        stage_submit(ids[i], false);
    }
    for (int i = 0; i < prefetch; i++) { /* large batches keep their distance */
        stage_settle();
        fake_loop_advance(10);
    }
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, room_of(MG_LANE_NORMAL));
    ck_assert_int_eq(fake_broker.requeued, prefetch - room_of(MG_LANE_NORMAL));
}
END_TEST

/* Would catch: a newer message that goes round for ever; one that is set aside without an alert. */
START_TEST(one_that_no_instance_can_read_is_set_aside_with_an_alert)
{
    deliver_newer(MG_LANE_REPLIES, "reply", MG_NEWER_DELIVERIES_MAX - 1);
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 0);
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 1);
    for (int i = 0; i < 20; i++) {
        deliver_newer(MG_LANE_REPLIES, "reply", MG_NEWER_DELIVERIES_MAX);
    }
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 20);
    ck_assert_int_eq(fake_broker.acked, 0);
    ck_assert_int_eq(fake_store.alerts, 1); /* not one for each */
    ck_assert_int_eq(fake_broker_count("alert"), 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("alert")->body, "\"newer_version\""));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("alert")->body, "scheduler.replies"));
    deliver_newer(MG_LANE_COMMANDS, "command", MG_NEWER_DELIVERIES_MAX);
    stage_settle();
    ck_assert_int_eq(fake_store.alerts, 2); /* of another queue */
}
END_TEST

/* Would catch: a scheduler that requeues many in a tight loop because no newer instance is running. */
START_TEST(newer_messages_without_room_are_set_aside_after_a_few_rounds)
{
    for (int i = 0; i < room_of(MG_LANE_REPLIES); i++) {
        deliver_newer(MG_LANE_REPLIES, "reply", 0);
    }
    stage_settle();
    deliver_newer(MG_LANE_REPLIES, "reply", 4);
    stage_settle();
    ck_assert_int_eq(fake_broker.requeued, 1);
    deliver_newer(MG_LANE_REPLIES, "reply", 5);
    stage_settle();
    ck_assert_int_eq(fake_broker.requeued, 1);
    ck_assert_int_eq(fake_broker.rejected, 1);
}
END_TEST

/* Would catch: room that is never given back, so that from then on each one is set aside. */
START_TEST(returned_messages_make_room)
{
    int room = room_of(MG_LANE_COMMANDS);
    for (int i = 0; i < room; i++) {
        deliver_newer(MG_LANE_COMMANDS, "command", 0);
    }
    stage_settle();
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, room);
    mg_ack_left_due(&stage_scheduler->ack, true);
    ck_assert_int_eq(fake_broker.requeued, room);
    deliver_newer(MG_LANE_COMMANDS, "command", 1);
    stage_settle();
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 1);
    ck_assert_int_eq(fake_broker.requeued, room);
}
END_TEST

/* Would catch: a readiness page that reports no problem while messages of a newer version wait. */
START_TEST(readiness_reports_them)
{
    char reason[256] = "?";
    ck_assert(mg_scheduler_is_ready(stage_scheduler, reason, sizeof(reason)));
    ck_assert_str_eq(reason, "");
    deliver_newer(MG_LANE_REPLIES, "reply", 0);
    deliver_newer(MG_LANE_REPLIES, "reply", MG_NEWER_DELIVERIES_MAX);
    stage_settle();
    ck_assert(mg_scheduler_is_ready(stage_scheduler, reason, sizeof(reason)));
    ck_assert_str_eq(
        reason, "messages of a newer version: 1 left to other schedulers, 1 set aside; upgrade this one");
}
END_TEST

/* Would catch: schedulers that have all left a message, and then take turns at every order. */
START_TEST(one_that_has_left_something_stands_behind_others_and_keeps_its_place_among_its_like)
{
    int64_t before = stage_scheduler->shared.rank;
    deliver_newer(MG_LANE_REPLIES, "reply", 0);
    stage_settle();
    ck_assert_int_lt(fake_broker.options.rank, before);
    ck_assert_int_lt(fake_broker.options.rank, -INT64_MAX / 4);
    ck_assert_int_gt(fake_broker.options.rank, INT64_MIN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_newer");
    TCase *tests = tcase_create("newer");
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_test(tests, many_leave_most_of_the_prefetch_to_others);
    tcase_add_test(tests, submissions_that_cannot_be_judged_leave_room_too);
    tcase_add_test(tests, one_that_no_instance_can_read_is_set_aside_with_an_alert);
    tcase_add_test(tests, newer_messages_without_room_are_set_aside_after_a_few_rounds);
    tcase_add_test(tests, returned_messages_make_room);
    tcase_add_test(tests, readiness_reports_them);
    tcase_add_test(tests,
                   one_that_has_left_something_stands_behind_others_and_keeps_its_place_among_its_like);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
