/* The leader when the database's clock is set: forward, back, and during a change of the lead. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "dues.h"
#include "world.h"

static struct mg_supervisor *supervisor;

static void setup(void)
{
    supervisor = fake_start();
}

static void teardown(void)
{
    fake_finish();
}

/* Catches: attempts and orders that are judged with all their time left because the clock was set; a mass
 * expiry that is reported because of them; deadlines that rest for an hour because the clock was set by
 * one. */
START_TEST(a_clock_that_is_set_forward_costs_no_deadline_its_time)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    int64_t old_ms = fake_database_ms();
    fake.database_ahead_ms += 3600000;
    fake_pass(250);
    struct mg_due dues[] = {overdue("o-1", old_ms + 10000), overdue("o-2", old_ms + 20000),
                            overdue("o-3", old_ms + 10000), overdue("o-4", old_ms - 5000)};
    dues[1].ask = MG_CAUSE_EXPIRED;
    dues[2].ask = MG_CAUSE_DUE;
    fake_answer_sweep_full(dues, 4, 5000);
    ck_assert_int_eq(fake.command_count, 2);
    ck_assert_str_eq(fake.commands[0].order_id, "o-3");
    ck_assert_str_eq(fake.commands[1].order_id, "o-4");
    ck_assert_double_eq(mg_metric_value(supervisor->held_back), 0);
    ck_assert_str_eq(fake_log.last_line,
                     "the database's clock jumped forward: deadlines inside the jump keep their time");
    int64_t set_to_ms = supervisor->db_clock.set_to_ms;
    fake_pass_quietly(5000);
    /* Deadlines that the clock has passed keep their time, and get the grace of three seconds. */
    ck_assert_int_eq(fake.asked.grace_before_ms, set_to_ms + MG_FAR_CLOCK_STALE_MS);
    ck_assert_int_ge(fake.asked.grace_after_ms, old_ms + 5000 - 3000 - 250);
    ck_assert_int_le(fake.asked.grace_after_ms, old_ms + 5000 - 3000 + 250);
    fake_pass_quietly(3600000);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
}
END_TEST

/* Catches: the same, where the sessions end with the step, as at a failover, and the lead with them. */
START_TEST(a_failover_to_a_clock_that_is_ahead_costs_no_deadline_its_time)
{
    bool was_standby = _i == 1;
    if (was_standby) {
        fake_pass(50);
        fake_answer_lead(false, 0);
    } else {
        fake_lead(100);
        fake_pass_quietly(100);
        mg_supervisor_lead_lost(supervisor, "test");
    }
    int64_t old_ms = fake_database_ms();
    fake.database_ahead_ms += 30000;
    fake_pass(500);
    fake_answer_lead(true, 30500);
    fake_pass(50);
    ck_assert_int_le(fake.asked.grace_after_ms, old_ms);
    ck_assert_int_ge(fake.asked.grace_before_ms, old_ms + 30000);
    fake_pass_quietly(6050); /* the grace of the gap is over */
    ck_assert_int_le(fake.asked.grace_after_ms, old_ms + 6550);
    ck_assert_int_ge(fake.asked.grace_before_ms, old_ms + 30000);
}
END_TEST

/* Catches: the same, when that clock is corrected a little before they have had their time. */
START_TEST(a_step_back_costs_no_deadline_the_time_that_a_step_forward_left_it)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    int64_t old_ms = fake_database_ms();
    fake.database_ahead_ms += 3600000;
    fake_pass(250);
    fake_answer_sweep(NULL, 0);
    fake.database_ahead_ms -= 30000;
    fake_pass(250);
    const struct mg_due due = overdue("o-1", old_ms + 10000);
    fake_answer_sweep(&due, 1);
    ck_assert_int_eq(fake.command_count, 0);
    ck_assert_str_eq(fake_log.last_line, "the database's clock jumped back");
    fake_pass_quietly(1000);
    ck_assert_int_le(fake.asked.grace_after_ms, old_ms + 10000);
    ck_assert_int_ge(fake.asked.grace_before_ms, old_ms + 10000);
}
END_TEST

/* The clock was an hour back for some seconds. Returns a moment from before. */
static int64_t go_back_and_right(void)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(2000);
    int64_t before_ms = fake_database_ms() - 1000;
    fake.database_ahead_ms -= 3600000;
    fake_pass_quietly(3000);
    fake_answer_wake(true, false);
    fake_pass_quietly(1000);
    fake.database_ahead_ms += 3600000;
    fake_pass(250);
    return before_ms;
}

/* Catches: deadlines from before a step back that rest for an hour once the clock is right again; deadlines
 * of the low clock that end then. Both in the answer that shows the step, and by the next question. */
START_TEST(a_clock_that_is_right_again_judges_the_deadlines_from_before_it_went_back)
{
    int64_t before_ms = go_back_and_right(), now_ms = fake_database_ms();
    struct mg_due dues[] = {overdue("o-1", now_ms - 3500), overdue("o-2", now_ms - 3500),
                            overdue("o-3", now_ms - 2500), overdue("o-4", now_ms - 3500)};
    dues[0].set_at_ms = before_ms;
    dues[1].set_at_ms = now_ms - 1000 - 3600000;
    dues[2].set_at_ms = before_ms;
    dues[3].set_at_ms = before_ms;
    dues[3].ask = MG_CAUSE_EXPIRED;
    fake_answer_sweep(dues, 4);
    ck_assert_int_eq(fake.command_count, 2);
    ck_assert_str_eq(fake.commands[0].order_id, "o-1");
    ck_assert_str_eq(fake.commands[1].order_id, "o-4");
    ck_assert_double_eq_tol(mg_metric_value(supervisor->sweep_lag), 3.5, 0.3);
    fake_pass(250);
    ck_assert_int_le(fake.asked.grace_after_ms, now_ms - 3600000);
    ck_assert_int_ge(fake.asked.grace_before_ms, now_ms);
    ck_assert_int_ge(fake.asked.grace_high_after_ms, now_ms - 3000);
    ck_assert_int_le(fake.asked.grace_high_after_ms, now_ms - 2500);
    ck_assert_int_le(fake.asked.high.from_ms, before_ms);
    ck_assert_int_ge(fake.asked.high.until_ms, before_ms);
    ck_assert_int_le(fake.asked.high.low_from_ms, now_ms - 4250 - 3600000);
    ck_assert_int_ge(fake.asked.high.low_until_ms, now_ms - 3600000);
}
END_TEST

/* Catches: a gap in which such a deadline passed, and that gives it no grace. */
START_TEST(a_gap_has_its_grace_for_deadlines_from_before_a_step_back)
{
    int64_t before_ms = go_back_and_right(), now_ms = fake_database_ms();
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen("scheduler.commands", 3, 0);
    fake_pass(4000); /* commands have no consumer */
    fake_broker_queue_seen("scheduler.commands", 3, 1);
    fake_pass(250);
    ck_assert_int_le(fake.asked.grace_high_after_ms, now_ms);
    ck_assert_int_ge(fake.asked.high.until_ms, before_ms);
}
END_TEST

/* Catches: a step and a gap at once, of which one discards the deadlines of the other. */
START_TEST(a_gap_in_which_the_clock_was_set_has_one_window)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    int64_t old_ms = fake_database_ms();
    fake.database_ahead_ms += 60000;
    fake_broker_queue_seen("scheduler.commands", 3, 0);
    fake_pass(4000); /* commands have no consumer */
    fake_broker_queue_seen("scheduler.commands", 3, 1);
    fake_pass(250);
    fake_answer_sweep(NULL, 0);
    fake_pass(250);
    ck_assert_int_eq(fake.asked.grace_before_ms, supervisor->grace_before_ms + MG_FAR_CLOCK_STALE_MS);
    ck_assert_int_eq(fake.asked.grace_after_ms, old_ms);
}
END_TEST

START_TEST(a_clock_that_goes_back_makes_no_gap)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake.database_ahead_ms -= 3600000;
    fake_pass(250);
    int64_t now_ms = fake_database_ms();
    const struct mg_due due = overdue("o-1", now_ms - 10);
    fake_answer_sweep(&due, 1);
    ck_assert_int_eq(fake.command_count, 1);
    ck_assert_str_eq(fake_log.last_line, "the database's clock jumped back");
    fake_pass(250);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
    /* The new clock counts from there: a gap by the new clock is a gap. */
    fake_answer_sweep(NULL, 0);
    ck_assert_int_eq(supervisor->swept_at_ms, fake_database_ms());
}
END_TEST

/* The leader, some time after the database's clock went back by an hour, about to wake the open orders. */
static void go_back(void)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake.database_ahead_ms -= 3600000;
    fake_pass_quietly(1500);
    ck_assert_int_eq(fake.wakes, 0); /* not yet: a scheduler may still use the old clock */
    fake_pass_quietly(1500);
    ck_assert_int_eq(fake.wakes, 1);
}

/* Catches: orders that sleep for as long as the clock was ahead; a sweep in between, which would put those
 * woken first to sleep again before all are. */
START_TEST(after_a_clock_that_went_back_all_open_orders_are_woken_once)
{
    go_back();
    int sweeps = fake.sweeps;
    fake_answer_wake(true, true);
    fake_pass(50);
    ck_assert_int_eq(fake.wakes, 2);
    ck_assert_int_eq(fake.sweeps, sweeps);
    fake_answer_wake(true, false);
    fake_pass(50);
    ck_assert_int_eq(fake.sweeps, sweeps + 1);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(10000);
    ck_assert_int_eq(fake.wakes, 2);
}
END_TEST

/* Catches: an order that was locked while the others were woken and sleeps on, and a waking of all for it
 * again and again. */
START_TEST(orders_passed_by_are_woken_later_at_growing_intervals)
{
    fake.passed_orders = 1;
    go_back();
    for (int i = 1; i < 5; i++) {
        fake_answer_wake(true, false);
        fake_pass_quietly((2000 << i) / 2 - 500);
        ck_assert_int_eq(fake.wakes, i);
        fake_pass_quietly(1000);
        ck_assert_int_eq(fake.wakes, i + 1);
    }
    fake.passed_orders = 0;
    fake_answer_wake(true, false);
    fake_pass_quietly(100000);
    ck_assert_int_eq(fake.wakes, 5);
}
END_TEST

/* Catches: a statement that cannot be run and, without a log line, is the only one run from then on. */
START_TEST(a_failed_waking_is_logged_and_due_steps_are_asked_meanwhile)
{
    go_back();
    int sweeps = fake.sweeps;
    fake_answer_wake_failed();
    ck_assert_str_eq(fake_log.last_line, "could not wake the open orders; this is retried");
    fake_pass_quietly(1500);
    ck_assert_int_gt(fake.sweeps, sweeps);
    ck_assert_int_eq(fake.wakes, 1);
    fake_pass_quietly(1500);
    ck_assert_int_eq(fake.wakes, 2);
}
END_TEST

/* Catches: orders that were woken, got no command for lack of room, and sleep on. */
START_TEST(the_woken_are_woken_again_when_there_was_no_room_to_ask)
{
    go_back();
    fake_answer_wake(true, false);
    fake_pass(50);
    const struct mg_due dues[] = {overdue("o-1", fake_database_ms() - 1),
                                  other(MG_CAUSE_DUE, "o-2", fake_database_ms() + 3600000)};
    fake_broker.room = 1;
    fake_answer_sweep(dues, 2);
    ck_assert_int_eq(fake.command_count, 1);
    fake_broker.room = 4096;
    fake_pass_quietly(3000);
    ck_assert_int_eq(fake.wakes, 2);
}
END_TEST

/* Catches: orders that were woken and sleep on because the connection lost their command. */
START_TEST(the_woken_are_woken_again_when_an_ask_was_not_confirmed)
{
    go_back();
    fake_answer_wake(true, false);
    fake_pass(50);
    const struct mg_due due = other(MG_CAUSE_DUE, "o-1", fake_database_ms() + 3600000);
    fake.outcome = MG_PUBLISH_UNKNOWN;
    fake_answer_sweep(&due, 1);
    fake_pass_quietly(3000);
    ck_assert_int_eq(fake.wakes, 2);
}
END_TEST

START_TEST(a_leader_of_an_earlier_epoch_wakes_no_step)
{
    go_back();
    fake_answer_wake(false, false);
    ck_assert(!supervisor->is_leader);
}
END_TEST

START_TEST(a_leader_from_the_future_makes_no_gap)
{
    fake_pass(50);
    fake_answer_lead(true, 0);
    mg_supervisor_lead_lost(supervisor, "test");
    fake_pass(500);
    fake_answer_lead(true, 0);
    mg_supervisor_lead_lost(supervisor, "test");
    fake.database_ahead_ms -= 5000;
    ck_assert(mg_supervisor_sweep_start(supervisor, fake_database_ms(), fake_database_ms() + 5000));
    supervisor->is_leader = true;
    fake_pass(50);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor_clock");
    TCase *tcase = tcase_create("clock");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_clock_that_is_set_forward_costs_no_deadline_its_time);
    tcase_add_loop_test(tcase, a_failover_to_a_clock_that_is_ahead_costs_no_deadline_its_time, 0, 2);
    tcase_add_test(tcase, a_step_back_costs_no_deadline_the_time_that_a_step_forward_left_it);
    tcase_add_test(tcase, a_clock_that_is_right_again_judges_the_deadlines_from_before_it_went_back);
    tcase_add_test(tcase, a_gap_has_its_grace_for_deadlines_from_before_a_step_back);
    tcase_add_test(tcase, a_gap_in_which_the_clock_was_set_has_one_window);
    tcase_add_test(tcase, a_clock_that_goes_back_makes_no_gap);
    tcase_add_test(tcase, after_a_clock_that_went_back_all_open_orders_are_woken_once);
    tcase_add_test(tcase, orders_passed_by_are_woken_later_at_growing_intervals);
    tcase_add_test(tcase, a_failed_waking_is_logged_and_due_steps_are_asked_meanwhile);
    tcase_add_test(tcase, the_woken_are_woken_again_when_there_was_no_room_to_ask);
    tcase_add_test(tcase, the_woken_are_woken_again_when_an_ask_was_not_confirmed);
    tcase_add_test(tcase, a_leader_of_an_earlier_epoch_wakes_no_step);
    tcase_add_test(tcase, a_leader_from_the_future_makes_no_gap);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
