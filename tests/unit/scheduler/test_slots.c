/* Slots of schedules in the scheduler. Each test names the failure that it would catch. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "schedule/schedule.h"
#include "stage.h"

#define SLOT    INT64_C(1774747800000) /* 2026-03-29T01:30:00Z */
#define SLOT_AT "2026-03-29T01:30:00.000Z"
#define MINUTE  INT64_C(60000)

static char order_id[MG_UUID_SIZE];

static void schedule_is(const char *members)
{
    static char definition[512];
    snprintf(
        definition, sizeof(definition),
        "{\"schedule\":\"nightly\",\"workflow\":\"two\",\"every\":\"30m\",\"payload\":{\"items\":[\"${/slot/at}\"]}%s}",
        members);
    fake_store.slot_row = (struct mg_slot_row){.is_found = true,
                                               .definition = mg_slice_of(definition),
                                               .version = 3,
                                               .next_slot_ms = SLOT,
                                               .next_at_ms = SLOT,
                                               .now_ms = SLOT + 5,
                                               .slot_civil_ms = SLOT,
                                               .now_civil_ms = SLOT + 5};
}

static void setup(void)
{
    stage_start();
    mg_schedule_order_id("nightly", SLOT, order_id);
    schedule_is("");
}

static void fire(const char *more)
{
    stage_act("f-1 %s fire schedule=nightly slot=\"" SLOT_AT "\" by=s %s", order_id, more);
}

static void fire_due(void)
{
    fire("via=makegood.commands.supervisor");
}

static bool was_told(const char *text)
{
    return fake_broker_last("command_result") != NULL &&
           strstr(fake_broker_last("command_result")->body, text) != NULL;
}

/* Would catch: a slot without an order, one with another payload, a schedule that stays at its slot. */
START_TEST(a_due_slot_becomes_an_order_whose_commit_moves_its_schedule)
{
    fire_due();
    ck_assert_int_eq(stage_order(order_id), MG_ORDER_PROCESSING);
    ck_assert_str_eq(fake_store_order(order_id)->workflow, "two");
    ck_assert(mg_slice_is(fake_store_order(order_id)->payload, "{\"items\":[\"" SLOT_AT "\"]}"));
    ck_assert_ptr_null(fake_store_order(order_id)->reply_to.data);
    ck_assert_int_eq(fake_store.last_slot.end, MG_SLOT_END_ORDER);
    ck_assert(fake_store.last_slot.is_moved);
    ck_assert_int_eq(fake_store.last_slot.upcoming_count, MG_SLOTS_SHOWN);
    ck_assert_int_eq(fake_store.last_slot.upcoming[0], SLOT + 30 * MINUTE);
    ck_assert_uint_eq(fake_store.last_slot.version, 3);
    ck_assert_int_eq(fake_store.settled, 0);
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

/* Would catch: a slot that two leaders, or one in two copies, make twice; effects that are lost with the
 * first copy. */
START_TEST(a_slot_that_is_fired_again_is_the_same_order)
{
    fire_due();
    int events = fake_store_event_count(order_id), sent = fake_broker.count;
    fake_store.slot_row.has_order = true;
    fake_store.slot_row.next_slot_ms = SLOT + 30 * MINUTE;
    fire_due();
    ck_assert_int_eq(fake_store_event_count(order_id), events);
    ck_assert_int_eq(fake_broker.count, sent);
    fire("via=makegood.commands.supervisor again");
    ck_assert_int_gt(fake_broker.count, sent); /* law 3, re-creation */
    ck_assert_int_eq(fake_broker.acked, 3);
}
END_TEST

/* Would catch: a schedule that is asked about without end, since its slot has an order and no commit moves
 * it. */
START_TEST(a_slot_with_an_order_moves_its_schedule_all_the_same)
{
    fire_due();
    fire_due();
    ck_assert_int_eq(fake_store.settled, 1);
    ck_assert_int_eq(fake_store.last_slot.end, MG_SLOT_END_ORDER);
    ck_assert(fake_store.last_slot.is_moved);
}
END_TEST

/* Would catch: statuses of the order that come to the queue of the operator's tool. */
START_TEST(an_operators_run_answers_the_operator_and_has_no_client)
{
    fire("to=client.tool.results");
    ck_assert(was_told("the order is made"));
    ck_assert_int_eq(stage_order(order_id), MG_ORDER_PROCESSING);
    ck_assert_ptr_null(fake_store_order(order_id)->reply_to.data);
    ck_assert_ptr_null(fake_broker_last("status"));
}
END_TEST

/* Would catch: a client that takes the id of a slot, which anybody can work out, and so stops the slot. */
START_TEST(no_submission_takes_the_id_of_a_slot)
{
    stage_begin(order_id);
    ck_assert_ptr_null(fake_store_order(order_id));
    fire_due();
    ck_assert_int_eq(stage_order(order_id), MG_ORDER_PROCESSING);
    ck_assert_int_eq(fake_store.alerts, 0);
}
END_TEST

/* Would catch: a command that makes an order under an id of its own choice. */
START_TEST(an_order_id_that_is_not_the_slots_is_refused)
{
    stage_act("f-1 o1 fire schedule=nightly slot=\"" SLOT_AT "\" by=ann to=tool");
    ck_assert(was_told("not that of the slot"));
    ck_assert_ptr_null(fake_store_order("o1"));
    ck_assert_int_eq(fake_store.slot_loads, 0);
}
END_TEST

/* Would catch: a slot that is fired too early, for a clock that is ahead. */
START_TEST(a_slot_that_is_not_due_changes_nothing)
{
    fake_store.slot_row.now_ms = SLOT - 1;
    fire_due();
    ck_assert_ptr_null(fake_store_order(order_id));
    ck_assert_int_eq(fake_store.settled, 0);
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

/* Would catch: an order while an earlier one is open, a skip without a trace, a result that is not sent. */
START_TEST(a_slot_is_skipped_while_an_earlier_order_is_open)
{
    fake_store.slot_row.open = mg_slice_of("early later");
    fire_due();
    ck_assert_ptr_null(fake_store_order(order_id));
    ck_assert_int_eq(fake_store.last_slot.end, MG_SLOT_END_OVERLAP);
    ck_assert_str_eq(fake_store.last_slot_text, "order early of an earlier slot has not ended");
    ck_assert_int_eq(fake_store.alerts, 0);
    fire("to=tool");
    ck_assert(was_told("order early of an earlier slot has not ended"));
    ck_assert(was_told("\"may_pass\":true"));
}
END_TEST

/* Would catch: a slot that is lost or moved on while it waits, and a queue without a bound. */
START_TEST(a_slot_waits_until_an_earlier_order_has_ended)
{
    schedule_is(",\"overlap\":\"queue\"");
    fake_store.slot_row.open = mg_slice_of("early later");
    fake_store.slot_row.now_ms += 90 * MINUTE;
    fake_store.slot_row.now_civil_ms += 90 * MINUTE;
    fire_due();
    ck_assert_int_eq(fake_store.slot_delay_ms, 5000);
    ck_assert_int_eq(fake_store.settled, 0);
    ck_assert_int_eq(fake_store.alerts, 0);
    ck_assert_int_eq(fake_broker.acked, 1);
    ck_assert_ptr_null(fake_store_order(order_id));
    fake_store.slot_row.open = (struct mg_slice){NULL, 0};
    fake_store.slot_row.ended_at_ms = fake_store.slot_row.now_ms - 5000;
    fire_due();
    ck_assert_int_eq(stage_order(order_id), MG_ORDER_PROCESSING);
    ck_assert_int_eq(fake_store.last_slot.upcoming[0], SLOT + 30 * MINUTE); /* the next one that waits */
}
END_TEST

START_TEST(of_too_many_slots_that_wait_the_oldest_are_missed)
{
    schedule_is(",\"overlap\":\"queue\"");
    fake_store.slot_row.open = mg_slice_of("early");
    fake_store.slot_row.now_ms += 102 * 30 * MINUTE;
    fake_store.slot_row.now_civil_ms += 102 * 30 * MINUTE;
    fire_due();
    ck_assert_int_eq(fake_store.last_slot.end, MG_SLOT_END_MISSED);
    ck_assert_int_eq(fake_store.last_slot.slots, 3);
    ck_assert_int_eq(fake_store.last_slot.upcoming[0], SLOT + 3 * 30 * MINUTE);
    ck_assert_str_eq(fake_store.last_slot_text,
                     "more than 100 slots wait for earlier orders, and the oldest of them give way");
    ck_assert_int_eq(fake_store.alerts, 1);
}
END_TEST

/* Would catch: slots of an outage that come in a flood, or without an alert. */
START_TEST(slots_of_an_outage_are_missed_together)
{
    fake_store.slot_row.now_ms += 3 * 60 * MINUTE;
    fake_store.slot_row.now_civil_ms += 3 * 60 * MINUTE;
    fire_due();
    ck_assert_ptr_null(fake_store_order(order_id));
    ck_assert_int_eq(fake_store.last_slot.end, MG_SLOT_END_MISSED);
    ck_assert_int_eq(fake_store.last_slot.slots, 6); /* 01:30 to 04:00; the one of 04:30 is in time */
    ck_assert_int_eq(fake_store.last_slot.upcoming[0], SLOT + 6 * 30 * MINUTE);
    ck_assert_int_eq(fake_store.alerts, 1);
    ck_assert_ptr_nonnull(
        strstr(fake_store.last_alert, "nightly: schedule nightly made no order for its slot"));
}
END_TEST

/* Would catch: a slot that is thrown away with an earlier one, before the end of its own jitter. */
START_TEST(a_slot_in_its_jitter_is_not_missed_with_the_one_before)
{
    schedule_is(",\"jitter\":\"29m\",\"catch_up\":\"1m\"");
    fake_store.slot_row.now_ms += 45 * MINUTE; /* the next slot may have its turn up to minute 59 */
    fake_store.slot_row.now_civil_ms += 45 * MINUTE;
    fire_due();
    ck_assert_int_eq(fake_store.last_slot.end, MG_SLOT_END_MISSED);
    ck_assert_int_eq(fake_store.last_slot.slots, 1);
    ck_assert_int_eq(fake_store.last_slot.upcoming[0], SLOT + 30 * MINUTE);
}
END_TEST

/* Would catch: a refusal that is asked for again and again, or one without a reason. */
START_TEST(a_refused_order_is_recorded_and_alerted)
{
    fake_store.slot_row.definition =
        mg_slice_of("{\"schedule\":\"nightly\",\"workflow\":\"other\",\"every\":\"30m\"}");
    fire("to=tool");
    ck_assert_int_eq(fake_store.last_slot.end, MG_SLOT_END_REFUSED);
    ck_assert(fake_store.last_slot.is_moved);
    ck_assert_ptr_nonnull(strstr(fake_store.last_slot_text, "no workflow \"other\""));
    ck_assert_int_eq(fake_store.alerts, 1);
    ck_assert(was_told("\"invalid\""));
    ck_assert_ptr_null(fake_broker_last("submission")); /* none goes to orders.rejected */
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

/* Would catch: an earlier order that goes on after a later one. */
START_TEST(an_earlier_order_is_cancelled_with_the_commit_of_the_later_one)
{
    stage_begin("early");
    schedule_is(",\"overlap\":\"cancel\"");
    fake_store.slot_row.open = mg_slice_of("early");
    fire_due();
    ck_assert_int_eq(stage_order(order_id), MG_ORDER_PROCESSING);
    ck_assert_int_eq(fake_store_order("early")->order.goal, MG_GOAL_CANCELLED);
    ck_assert_int_eq(fake_broker.acked, 2);
}
END_TEST

/* Would catch: a message that is lost, or one that is held, when the row cannot be read. */
START_TEST(a_supervisors_command_ends_when_the_row_cannot_be_read)
{
    fake_store.is_slot_lost = true;
    fire_due();
    ck_assert_int_eq(fake_broker.acked, 1);
    ck_assert_ptr_null(fake_store_order(order_id));
}
END_TEST

/* Would catch: an alert that stays although the schedule makes orders again. */
START_TEST(an_order_closes_the_alert_about_its_schedule)
{
    fire_due(); /* the gate of a service closes an alert, too */
    int others = fake_store.closings;
    fake_store.slot_row.is_alerted = true;
    mg_schedule_order_id("nightly", SLOT + 1, order_id);
    stage_act("f-2 %s fire schedule=nightly slot=\"2026-03-29T01:30:00.001Z\" by=ann", order_id);
    ck_assert_int_eq(stage_order(order_id), MG_ORDER_PROCESSING);
    ck_assert_int_eq(fake_store.closings, others + 1);
}
END_TEST

/* Would catch: several orders of one schedule, since each of its slots was judged before the others were
 * stored. */
START_TEST(of_two_slots_at_one_moment_one_makes_an_order)
{
    char second[MG_UUID_SIZE];
    static const char *const OVERLAPS[] = {"", ",\"overlap\":\"queue\"", ",\"overlap\":\"allow\""};
    bool may_overlap = _i == 2;
    schedule_is(OVERLAPS[_i]);
    fake_store.is_overlap_seen = true;
    mg_schedule_order_id("nightly", SLOT + 1, second);
    stage_command("f-1 %s fire schedule=nightly slot=\"" SLOT_AT "\" by=ann", order_id);
    stage_command("f-2 %s fire schedule=nightly slot=\"2026-03-29T01:30:00.001Z\" by=bob to=tool", second);
    stage_settle();
    ck_assert_int_eq(stage_order(order_id), MG_ORDER_PROCESSING);
    ck_assert(may_overlap == (fake_store_order(second) != NULL));
    ck_assert(may_overlap || was_told("of an earlier slot has not ended"));
    ck_assert_int_eq(fake_store.slot_loads, may_overlap ? 2 : 3); /* the second is judged anew */
    ck_assert_int_eq(fake_broker.acked, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slots");
    TCase *tests = tcase_create("slots");
    tcase_add_checked_fixture(tests, setup, stage_finish);
    tcase_add_test(tests, a_due_slot_becomes_an_order_whose_commit_moves_its_schedule);
    tcase_add_test(tests, a_slot_that_is_fired_again_is_the_same_order);
    tcase_add_test(tests, a_slot_with_an_order_moves_its_schedule_all_the_same);
    tcase_add_test(tests, an_operators_run_answers_the_operator_and_has_no_client);
    tcase_add_test(tests, no_submission_takes_the_id_of_a_slot);
    tcase_add_test(tests, an_order_id_that_is_not_the_slots_is_refused);
    tcase_add_test(tests, a_slot_that_is_not_due_changes_nothing);
    tcase_add_test(tests, a_slot_is_skipped_while_an_earlier_order_is_open);
    tcase_add_test(tests, a_slot_waits_until_an_earlier_order_has_ended);
    tcase_add_test(tests, of_too_many_slots_that_wait_the_oldest_are_missed);
    tcase_add_test(tests, slots_of_an_outage_are_missed_together);
    tcase_add_test(tests, a_slot_in_its_jitter_is_not_missed_with_the_one_before);
    tcase_add_test(tests, a_refused_order_is_recorded_and_alerted);
    tcase_add_test(tests, an_earlier_order_is_cancelled_with_the_commit_of_the_later_one);
    tcase_add_test(tests, a_supervisors_command_ends_when_the_row_cannot_be_read);
    tcase_add_test(tests, an_order_closes_the_alert_about_its_schedule);
    tcase_add_loop_test(tests, of_two_slots_at_one_moment_one_makes_an_order, 0, 3);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
