/* Orders that the database refuses while it works for others, and a database that refuses all of them. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "passing.h"

static void overdue(const char *order_id)
{
    stage_command("s-1 %s overdue step=reserve attempt=1 by=s", order_id);
}

static void two_orders_run(void)
{
    stage_submit("o1", false);
    stage_begin("o2");
    ck_assert_int_eq(fake_broker.acked, 2);
}

static int aside_count(void)
{
    return stage_scheduler->aside.order_count;
}

/* Would catch: a scheduler that stalls with its whole prefetch because of one locked row. */
START_TEST(a_locked_order_waits_alone_and_ends_after_its_lock)
{
    two_orders_run();
    fake_store.refused = "o1";
    fake_store.refusal = MG_REFUSAL_PASSING;
    reply("o1");
    reply("o2");
    stage_settle();
    ck_assert_int_eq(stage_step("o2", 1), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_broker.acked, 3);
    ck_assert_int_eq(aside_count(), 1);
    stage_submit("o3", false);
    pass(20000);
    ck_assert_int_eq(stage_order("o3"), MG_ORDER_PROCESSING);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    fake_store.refused = NULL;
    pass(6000);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_int_eq(aside_count(), 0);
    ck_assert_int_eq(fake_broker.rejected, 0);
    ck_assert_int_eq(fake_broker_count("alert"), 0);
}
END_TEST

/* Would catch: a damaged row that is read for ever, and one that no alert names. */
START_TEST(a_damaged_order_is_set_aside_with_its_causes_and_an_alert)
{
    two_orders_run();
    fake_store.damaged = "o1";
    fake_store.refusal = MG_REFUSAL_LASTING;
    fake_store_bump("o1"); /* not as it is in the cache */
    reply("o1");
    reply("o2");
    pass(15000);
    ck_assert_int_eq(stage_step("o2", 1), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_broker.rejected, 1);
    ck_assert_int_eq(fake_broker_count("alert"), 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("alert")->body, "\"alert\":\"set_aside\""));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("alert")->body, "missing chunk (XX001)"));
    ck_assert_str_eq(fake_store.aside, "o1");
    ck_assert_int_eq(aside_count(), 0);
    reply("o1"); /* at once, while the row is there */
    pass(250);
    ck_assert_int_eq(fake_broker.rejected, 2);
    fake_store.aside = fake_store.damaged = NULL; /* readmitted */
    reply("o1");
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
}
END_TEST

/* Would catch: a verb without effect on an order with which nothing is wrong. */
START_TEST(a_healthy_order_that_is_set_aside_by_hand_stops_until_it_is_readmitted)
{
    two_orders_run();
    fake_store.aside = "o1";
    pass(2500);
    reply("o1");
    reply("o2");
    overdue("o1");
    pass(250);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_int_eq(stage_step("o2", 1), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_broker.rejected, 1); /* the reply; a supervisor asks again */
    fake_store.aside = NULL;                   /* at once, before the next look at the list */
    reply("o1");
    pass(250);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    pass(2500);
    ck_assert_int_eq(aside_count(), 0);
}
END_TEST

/* Would catch: messages that are judged one by one while the database refuses all (wraparound). */
START_TEST(nothing_is_judged_while_the_database_refuses_all)
{
    two_orders_run();
    fake_store.is_refusing = true;
    reply("o1");
    stage_submit("o3", false);
    pass(30000);
    ck_assert_int_eq(fake_broker.rejected + fake_broker.requeued, 0);
    ck_assert_int_eq(aside_count(), 0);
    char reason[512];
    ck_assert(mg_standstill_is(&stage_scheduler->standstill, reason, sizeof(reason)));
    ck_assert_msg(strstr(reason, "of order o1: all is refused (54000)") != NULL, "%s", reason);
    fake_store.is_refusing = false;
    pass(6000);
    ck_assert(!mg_standstill_is(&stage_scheduler->standstill, reason, sizeof(reason)));
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_int_eq(stage_order("o3"), MG_ORDER_PROCESSING);
}
END_TEST

/* Would catch: a call that is made again, because its overdue attempt was judged before the reply that lay in
 * hand all the while. */
START_TEST(no_attempt_is_overdue_by_the_time_in_which_the_database_took_nothing)
{
    two_orders_run();
    int requests = fake_broker_count("request");
    fake_store.is_refusing = true;
    stage_submit("o3", false);
    pass(30000);
    overdue("o1");
    pass(2000);
    fake_store.is_refusing = false;
    pass(6000); /* the longest pause between tries, and less than the time that is spared */
    ck_assert_int_eq(stage_order("o3"), MG_ORDER_PROCESSING);
    overdue("o1");
    pass(250);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    reply("o1");
    pass(250);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_int_eq(fake_broker_count("request"), requests + 2); /* of o3, and the next step of o1 */
    pass(10000);
    overdue("o2"); /* without a reply it is judged, afterwards */
    pass(250);
    ck_assert_int_eq(stage_step("o2", 0), MG_STEP_WAITING);
}
END_TEST

/* Would catch: an order that stands for ever. Its scheduler spares attempts after a failure of the store, the
 * work that failed is another scheduler's by now, and nothing else is to be stored. */
START_TEST(attempts_are_judged_again_although_nothing_was_stored_since_a_failure)
{
    two_orders_run();
    fake_store.is_refusing = true;
    reply("o2");
    pass(5000);
    fake_store_record("o2")->order.steps[0].attempt++;
    fake_store_bump("o2");
    int acked = fake_broker.acked;
    fake_store.is_refusing = false;
    pass(7000);
    ck_assert_int_eq(fake_broker.acked, acked + 1); /* the reply is stale */
    overdue("o1");
    pass(250);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    pass(30000);
    overdue("o1");
    pass(250);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
}
END_TEST

#define LAST_OVERDUE "s-3 o1 overdue step=reserve attempt=3 by=s again"

/* The order is given up by its third overdue attempt: command s-3 owes the status. */
static void order_is_given_up(void)
{
    two_orders_run();
    for (int attempt = 1; attempt <= 3; attempt++) {
        pass(16000);
        stage_act("s-%d o1 overdue step=reserve attempt=%d by=s", attempt, attempt);
        if (attempt < 3) {
            pass(6000);
            stage_act("d-%d o1 due step=reserve attempt=%d by=s", attempt, attempt);
        }
    }
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
}

/* Would catch: a status that is lost with the scheduler that published it, because the redelivered command is
 * dropped: attempts are spared, or its order waits alone, or is set aside. */
START_TEST(a_command_that_was_decided_before_gives_its_statuses_again)
{
    order_is_given_up();
    int statuses = fake_broker_count("status");
    fake_store.is_refusing = true;
    stage_submit("o3", false);
    pass(2000);
    fake_store.is_refusing = false;
    pass(6000);
    stage_command(LAST_OVERDUE); /* attempts are spared */
    pass(250);
    ck_assert_int_eq(fake_broker_count("status"), statuses + 2); /* of o3, and this one */

    fake_store.refused = "o1";
    fake_store.refusal = MG_REFUSAL_PASSING;
    stage_reply("o1.reserve#4 undo");
    pass(2000);
    ck_assert_int_eq(aside_count(), 1);
    int acked = fake_broker.acked;
    stage_command(LAST_OVERDUE);
    pass(250);
    ck_assert_int_eq(fake_broker.acked, acked);
    fake_store.refused = NULL;
    pass(30000);
    ck_assert_int_eq(aside_count(), 0);
    ck_assert_int_ge(fake_broker_count("status"), statuses + 3);
}
END_TEST

/* Would catch: a reply that was paid for, or an accepted order, judged by the first refusal. */
START_TEST(a_lasting_refusal_is_tried_again_before_its_order_is_set_aside)
{
    two_orders_run();
    fake_store.refused = "o1";
    fake_store.refusal = MG_REFUSAL_LASTING;
    reply("o1");
    pass(2000);
    ck_assert_int_eq(aside_count(), 1);
    ck_assert_int_eq(fake_broker.rejected, 0);
    fake_store.refused = NULL;
    pass(6000);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    fake_store.refused = "o3";
    stage_submit("o3", false);
    pass(2000);
    ck_assert_int_eq(fake_broker.rejected, 0);
    pass(13000);
    ck_assert_int_eq(fake_broker.rejected, 1);
    ck_assert_str_eq(fake_store.aside, "o3");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("alert")->body, "\"alert\":\"set_aside\""));
}
END_TEST

/* Would catch: orders that are judged one by one by a fault which the witness does not share, while no other
 * order is written. */
START_TEST(several_refused_orders_are_judged_only_if_another_is_written_as_they_are)
{
    two_orders_run();
    fake_store.refused = "o1";
    fake_store.refused_too = "o2";
    fake_store.refusal = MG_REFUSAL_LASTING;
    reply("o1");
    reply("o2");
    pass(30000);
    ck_assert_int_eq(aside_count(), 2);
    ck_assert_int_eq(fake_broker.rejected, 0);
    stage_submit("o3", false);
    pass(12000);
    ck_assert_int_eq(stage_order("o3"), MG_ORDER_PROCESSING); /* nothing like the steps that cannot be done */
    ck_assert_int_eq(fake_broker.rejected, 0);
    reply("o3");
    pass(12000);
    ck_assert_int_eq(stage_step("o3", 0), MG_STEP_DONE);
    ck_assert_int_eq(fake_broker.rejected, 2);
}
END_TEST

/* Ten orders, p10 to p19, on their way to the queue. */
static void crowd_submit(void)
{
    char order_id[8];
    for (int i = 10; i < 20; i++) {
        (void)snprintf(order_id, sizeof(order_id), "p%d", i);
        stage_submit(order_id, false);
    }
}

/* Would catch: orders that are set aside one by one, by a trigger that refuses the next state of all of them,
 * while new orders are written. */
START_TEST(a_crowd_with_one_fault_is_not_judged_and_stays)
{
    char order_id[8], reason[512];
    crowd_submit();
    stage_begin("o9");
    fake_store.refused = "o9"; /* the oldest waits for another fault */
    fake_store.refusal = MG_REFUSAL_PASSING;
    fake_store.sqlstate = "55P03";
    reply("o9");
    pass(250);
    ck_assert_int_eq(aside_count(), 1);
    TAILQ_FIRST(&stage_scheduler->aside.orders)->retry_boot_ms += 3600000;
    fake_store.refused = "p1*";
    fake_store.refusal = MG_REFUSAL_LASTING;
    fake_store.sqlstate = "P0001";
    for (int i = 10; i < 20; i++) {
        (void)snprintf(order_id, sizeof(order_id), "p%d", i);
        reply(order_id);
    }
    pass(5000);
    ck_assert(!mg_standstill_is(&stage_scheduler->standstill, reason, sizeof(reason)));
    stage_submit("o3", false); /* is written */
    pass(30000);
    ck_assert_int_eq(fake_broker.rejected, 0);
    ck_assert_int_eq(aside_count(), 11);
    ck_assert(mg_standstill_is(&stage_scheduler->standstill, reason, sizeof(reason)));
    ck_assert_msg(strstr(reason, "the database refuses 10 orders alike for ") != NULL &&
                      strstr(reason, "the oldest is p10: as the test wants") != NULL,
                  "%s", reason);
    fake_store.refused = NULL;
    pass(30000);
    ck_assert(!mg_standstill_is(&stage_scheduler->standstill, reason, sizeof(reason)));
    ck_assert_int_eq(aside_count(), 1);
    ck_assert_int_eq(stage_step("p19", 0), MG_STEP_DONE);
}
END_TEST

/* Would catch: orders that are set aside one by one, in a store with few open orders, by a trigger that
 * refuses the next state of all and names each, since new orders are taken. */
START_TEST(few_orders_with_one_fault_are_not_judged_while_only_new_ones_are_written)
{
    char order_id[8], refused[8] = "o[12]", reason[512];
    two_orders_run();
    fake_store.refusal = MG_REFUSAL_LASTING;
    fake_store.sqlstate = "P0001";
    fake_store.refused = refused;
    reply("o1");
    reply("o2");
    for (int i = 3; i < 7; i++) { /* a new one now and then; its step cannot be done, either */
        (void)snprintf(order_id, sizeof(order_id), "o%d", i);
        stage_begin(order_id);
        ck_assert_int_eq(stage_order(order_id), MG_ORDER_PROCESSING);
        (void)snprintf(refused, sizeof(refused), "o[1-%d]", i);
        reply(order_id);
        pass(10000);
        ck_assert_int_eq(fake_broker.rejected, 0);
    }
    ck_assert_int_eq(aside_count(), 6);
    ck_assert(mg_standstill_is(&stage_scheduler->standstill, reason, sizeof(reason)));
    ck_assert_msg(strstr(reason, "the database refuses 6 orders alike for ") != NULL, "%s", reason);
    fake_store.refused = NULL;
    pass(10000);
    ck_assert(!mg_standstill_is(&stage_scheduler->standstill, reason, sizeof(reason)));
    ck_assert_int_eq(aside_count(), 0);
    ck_assert_int_eq(fake_broker.rejected, 0);
    ck_assert_int_eq(stage_step("o6", 0), MG_STEP_DONE);
}
END_TEST

/* Would catch: the only order under way, set aside within seconds by a fault that the next one meets, too. */
START_TEST(a_single_order_without_a_witness_waits_long_before_it_is_set_aside)
{
    two_orders_run();
    fake_store.refused = "o1";
    fake_store.refusal = MG_REFUSAL_LASTING;
    reply("o1");
    pass(9 * 60 * 1000);
    ck_assert_int_eq(fake_broker.rejected, 0);
    ck_assert_int_eq(aside_count(), 1);
    pass(2 * 60 * 1000);
    ck_assert_int_eq(fake_broker.rejected, 1);
    fake_store.aside = NULL;
    fake_store.refused = "o2";
    reply("o2");
    pass(1000);
    stage_begin("o4");
    reply("o4"); /* the witness */
    pass(15000);
    ck_assert_int_eq(fake_broker.rejected, 2);
}
END_TEST

/* Would catch: orders that have lost their own rows and wait for ever, since a crowd has lost the same. */
START_TEST(a_crowd_of_damaged_orders_is_set_aside_one_by_one)
{
    char order_id[8], reason[512];
    two_orders_run();
    crowd_submit();
    stage_settle();
    fake_store.damaged = "p1*";
    fake_store.refusal = MG_REFUSAL_DAMAGED;
    for (int i = 10; i < 20; i++) {
        (void)snprintf(order_id, sizeof(order_id), "p%d", i);
        fake_store_bump(order_id);
        reply(order_id);
    }
    pass(30000);
    ck_assert_int_eq(fake_broker.rejected, 10);
    ck_assert_int_eq(fake_broker_count("alert"), 10);
    ck_assert_int_eq(aside_count(), 0);
    ck_assert(!mg_standstill_is(&stage_scheduler->standstill, reason, sizeof(reason)));
    reply("o1");
    pass(250);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
}
END_TEST

/* Would catch: later causes that overtake the one that waits; commands that pile up; an operator that waits
 * for an answer in vain. */
START_TEST(later_causes_join_the_waiting_order)
{
    two_orders_run();
    fake_store.refused = "o1";
    fake_store.refusal = MG_REFUSAL_PASSING;
    reply("o1");
    stage_settle();
    int acked = fake_broker.acked;
    for (int i = 0; i < 3; i++) {
        overdue("o1");
    }
    stage_begin("o1");
    ck_assert_int_eq(fake_broker.acked, acked + 3); /* the commands are redelivered anyway */
    ck_assert_int_eq(stage_scheduler->shared.works.apart_count, 2);
    stage_act("c-1 o1 cancel by=ann reason=late to=amq.gen-tool");
    ck_assert_int_eq(fake_broker_count("command_result"), 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"invalid\""));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "as the test wants (XX001)"));
    fake_store.refused = NULL;
    pass(6000);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_int_eq(stage_scheduler->shared.works.apart_count, 0);
    ck_assert_int_eq(fake_broker.acked, acked + 6);
}
END_TEST

/* Would catch: an operator's command that is refused for minutes after the lock has ended, since nothing else
 * tries the order again. */
START_TEST(a_command_after_the_lock_is_carried_out)
{
    two_orders_run();
    fake_store.refused = "o1";
    fake_store.refusal = MG_REFUSAL_PASSING;
    stage_command("c-1 o1 cancel by=ann reason=late to=amq.gen-tool");
    pass(8000);
    ck_assert_int_eq(fake_broker_count("command_result"), 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"invalid\",\"may_pass\":true"));
    fake_store.refused = NULL;
    stage_command("c-2 o1 cancel by=ann reason=late to=amq.gen-tool");
    pass(250);
    ck_assert_int_eq(fake_broker_count("command_result"), 2);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
    ck_assert_int_eq(aside_count(), 0);
}
END_TEST

/* Would catch: waiting orders that take the whole prefetch, or memory without end. */
START_TEST(few_causes_of_a_waiting_order_are_kept)
{
    two_orders_run();
    fake_store.refused = "o1";
    fake_store.refusal = MG_REFUSAL_PASSING;
    int most = mg_consumed_prefetch(&stage_scheduler->consumed, MG_LANE_NORMAL) / 4;
    reply("o1");
    pass(1000);
    for (int i = 0; i < most + 20; i++) {
        stage_begin("o1");
    }
    ck_assert_int_eq(stage_scheduler->aside.held[MG_LANE_NORMAL], most);
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 20);
    mg_scheduler_drain(stage_scheduler);
    pass(1000);
    ck_assert_int_eq(stage_exit_code, 0);
    ck_assert_int_eq(stage_scheduler->shared.works.count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler aside");
    TCase *aside = tcase_create("aside");
    tcase_add_checked_fixture(aside, stage_start, stage_finish);
    tcase_add_test(aside, a_locked_order_waits_alone_and_ends_after_its_lock);
    tcase_add_test(aside, a_damaged_order_is_set_aside_with_its_causes_and_an_alert);
    tcase_add_test(aside, a_healthy_order_that_is_set_aside_by_hand_stops_until_it_is_readmitted);
    tcase_add_test(aside, nothing_is_judged_while_the_database_refuses_all);
    tcase_add_test(aside, no_attempt_is_overdue_by_the_time_in_which_the_database_took_nothing);
    tcase_add_test(aside, attempts_are_judged_again_although_nothing_was_stored_since_a_failure);
    tcase_add_test(aside, a_command_that_was_decided_before_gives_its_statuses_again);
    tcase_add_test(aside, a_lasting_refusal_is_tried_again_before_its_order_is_set_aside);
    tcase_add_test(aside, a_crowd_with_one_fault_is_not_judged_and_stays);
    tcase_add_test(aside, few_orders_with_one_fault_are_not_judged_while_only_new_ones_are_written);
    tcase_add_test(aside, a_single_order_without_a_witness_waits_long_before_it_is_set_aside);
    tcase_add_test(aside, a_crowd_of_damaged_orders_is_set_aside_one_by_one);
    tcase_add_test(aside, several_refused_orders_are_judged_only_if_another_is_written_as_they_are);
    tcase_add_test(aside, later_causes_join_the_waiting_order);
    tcase_add_test(aside, a_command_after_the_lock_is_carried_out);
    tcase_add_test(aside, few_causes_of_a_waiting_order_are_kept);
    suite_add_tcase(suite, aside);
    return run_suite(suite);
}
