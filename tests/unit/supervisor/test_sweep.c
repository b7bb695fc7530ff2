/* What the leader asks for, when it holds back, and when it says nothing. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "fakes.h"

static struct supervisor *supervisor;

static void setup(void)
{
    supervisor = fake_start();
}

static void teardown(void)
{
    fake_finish();
}

static struct mg_due overdue(const char *order_id, int64_t due_at_ms)
{
    struct mg_due due = {.ask = MG_CAUSE_OVERDUE, .step = "reserve", .attempt = 3, .version = 9, .seq = 4};
    (void)snprintf(due.order_id, sizeof(due.order_id), "%s", order_id);
    due.due_at_ms = due_at_ms;
    return due;
}

static struct mg_due other(enum mg_cause_kind ask, const char *order_id, int64_t due_at_ms)
{
    struct mg_due due = {.ask = ask, .version = 9, .seq = 4, .due_at_ms = due_at_ms};
    (void)snprintf(due.order_id, sizeof(due.order_id), "%s", order_id);
    if (ask == MG_CAUSE_DUE) {
        (void)snprintf(due.step, sizeof(due.step), "charge");
        due.attempt = 2;
    }
    return due;
}

START_TEST(each_due_becomes_one_command)
{
    int64_t now_ms = fake_database_ms();
    fake_lead(100);
    const struct mg_due dues[] = {overdue("o-1", now_ms), other(MG_CAUSE_DUE, "o-2", now_ms),
                                  other(MG_CAUSE_EXPIRED, "o-3", now_ms), other(MG_CAUSE_NUDGE, "o-4", 0),
                                  other(MG_CAUSE_OWED, "o-5", 0)};
    fake_answer_sweep(dues, 5);
    ck_assert_int_eq(fake.command_count, 5);
    for (int i = 0; i < 5; i++) {
        const struct mg_command *command = &fake.commands[i];
        ck_assert_int_eq(command->kind, dues[i].ask);
        ck_assert_str_eq(command->order_id, dues[i].order_id);
        ck_assert_str_eq(command->step, dues[i].step);
        ck_assert_uint_eq(command->attempt, dues[i].attempt);
        ck_assert_uint_eq(command->version, dues[i].ask == MG_CAUSE_NUDGE ? 9 : 0);
        ck_assert_uint_eq(command->seq, dues[i].ask == MG_CAUSE_OWED ? 4 : 0);
        ck_assert_str_eq(command->by, "me");
    }
}
END_TEST

/* Catches statuses that nobody tries again, and a question beside each of many sweeps in a row. */
START_TEST(owed_statuses_are_asked_for_after_a_sweep)
{
    fake_lead(100);
    ck_assert(!fake.is_owed_open);
    fake_answer_sweep_full(NULL, 0, 0);
    ck_assert(fake.is_owed_open);
    ck_assert_int_eq(fake.owed_asked.limit, 500);
    ck_assert_int_eq(fake.owed_asked.ask_again_ms, fake_supervisor()->options.ask_again_ms);
    const struct mg_due due = other(MG_CAUSE_OWED, "o-5", 0);
    fake_answer_owed(&due, 1);
    ck_assert_int_eq(fake.command_count, 1);
    ck_assert_int_eq(fake.commands[0].kind, MG_CAUSE_OWED);
    ck_assert_uint_eq(fake.commands[0].seq, 4);
    fake_pass(50); /* the next sweep comes at once, since the last was full */
    fake_answer_sweep(NULL, 0);
    ck_assert_int_eq(fake.owed_asks, 1);
    fake_pass(250);
    fake_answer_sweep(NULL, 0);
    ck_assert_int_eq(fake.owed_asks, 2);
    fake_answer_owed_failed();
    ck_assert_int_eq(fake.warnings, 1);
    fake_pass(250);
    fake_answer_sweep(NULL, 0);
    fake_answer_owed_failed();
    ck_assert_int_eq(fake.warnings, 1); /* said once */
}
END_TEST

/* Catches owed statuses that take the place of deadlines. */
START_TEST(deadlines_come_before_owed_statuses)
{
    int64_t now_ms = fake_database_ms();
    const struct mg_due dues[] = {overdue("o-1", now_ms), overdue("o-2", now_ms)};
    fake_lead(100);
    fake.room = 1;
    fake_answer_sweep(dues, 2);
    ck_assert_int_eq(fake.command_count, 1);
    ck_assert(!fake.is_owed_open);
}
END_TEST

START_TEST(the_same_ask_is_one_cause)
{
    int64_t now_ms = fake_database_ms();
    fake_lead(100);
    struct mg_due dues[6];
    for (int i = 0; i < 6; i++) {
        dues[i] = overdue("o-1", now_ms);
    }
    dues[2].due_at_ms++;
    dues[3].attempt++;
    dues[4].version++;
    (void)snprintf(dues[5].step, sizeof(dues[5].step), "charge");
    fake_answer_sweep(dues, 6);
    ck_assert_str_eq(fake.commands[0].command_id, fake.commands[1].command_id);
    for (int i = 2; i < 6; i++) {
        ck_assert_str_ne(fake.commands[0].command_id, fake.commands[i].command_id);
    }
}
END_TEST

START_TEST(without_room_the_rest_is_left_due)
{
    int64_t now_ms = fake_database_ms();
    fake_lead(100);
    struct mg_due dues[10];
    for (int i = 0; i < 10; i++) {
        dues[i] = overdue("o-1", now_ms + i);
    }
    fake.room = 4;
    fake_answer_sweep_full(dues, 10, 10);
    ck_assert_int_eq(fake.command_count, 4);
    ck_assert_double_eq(mg_metric_value(supervisor->unasked), 1);
    /* The window is full: nothing is asked until there is room, and then no more than there is room for. */
    fake_pass(1000);
    ck_assert_int_eq(fake.sweeps, 1);
    fake.room = 64 + 10;
    fake_pass(250);
    ck_assert_int_eq(fake.sweeps, 2);
    ck_assert_int_eq(fake.asked.limit, 10);
}
END_TEST

START_TEST(a_full_sweep_is_followed_at_once)
{
    fake_lead(100);
    fake_answer_sweep_full(NULL, 0, 0);
    fake_pass(50);
    ck_assert_int_eq(fake.sweeps, 2);
    ck_assert_int_eq(fake.asked.limit, 500);
    fake_answer_sweep(NULL, 0);
    fake_pass(50);
    ck_assert_int_eq(fake.sweeps, 2);
    fake_pass(250);
    ck_assert_int_eq(fake.sweeps, 3);
}
END_TEST

START_TEST(an_unconfirmed_ask_is_only_counted)
{
    fake_lead(100);
    const struct mg_due due = overdue("o-1", fake_database_ms());
    fake.outcome = MG_PUBLISH_UNKNOWN;
    fake_answer_sweep(&due, 1);
    ck_assert_double_eq(mg_metric_value(supervisor->unasked), 1);
    ck_assert(supervisor->is_leader);
}
END_TEST

START_TEST(one_question_at_a_time)
{
    fake_lead(100);
    fake_pass(5000);
    ck_assert_int_eq(fake.sweeps, 1);
}
END_TEST

/* ---- gaps ---- */

START_TEST(no_grace_without_a_gap)
{
    fake_lead(2000);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
    const struct mg_due due = overdue("o-1", fake_database_ms() - 10);
    fake_answer_sweep(&due, 1);
    ck_assert_int_eq(fake.command_count, 1);
}
END_TEST

START_TEST(a_new_leader_gives_a_grace_for_the_gap_before_it)
{
    int64_t since_ms = fake_database_ms() + 50 - 60000;
    fake_lead(60000);
    ck_assert_int_eq(fake.asked.grace_after_ms, since_ms);
    ck_assert_int_gt(fake.asked.grace_before_ms, fake_database_ms()); /* up to the statement's own now */
    int64_t before_ms = fake_database_ms();
    fake_answer_sweep(NULL, 0);
    fake_pass(300);
    ck_assert_int_eq(fake.asked.grace_after_ms, since_ms);
    ck_assert_int_eq(fake.asked.grace_before_ms, before_ms);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(2500);
    fake_pass(500);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
}
END_TEST

START_TEST(never_swept_is_a_gap_since_ever)
{
    fake_lead(-1);
    ck_assert_int_eq(fake.asked.grace_after_ms, 0);
    ck_assert_int_gt(fake.asked.grace_before_ms, fake_database_ms());
    fake_answer_sweep(NULL, 0);
    ck_assert_int_eq(fake.warnings, 0); /* a first start is nothing to warn of */
}
END_TEST

START_TEST(a_broker_outage_is_a_gap)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    int64_t swept_ms = fake_database_ms();
    fake.is_broker_up = false;
    fake_pass(3200); /* shorter than what makes it step down */
    fake.is_broker_up = true;
    fake_pass(250);
    ck_assert(supervisor->is_leader);
    ck_assert_int_eq(fake.asked.grace_after_ms, swept_ms);
    ck_assert_int_gt(fake.asked.grace_before_ms, fake_database_ms());
}
END_TEST

START_TEST(a_failing_database_is_a_gap)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    int64_t swept_ms = fake_database_ms();
    for (int i = 0; i < 10; i++) {
        fake_pass(500);
        fake_answer_sweep_failed();
    }
    fake_pass(500);
    ck_assert_int_eq(fake.asked.grace_after_ms, swept_ms);
    ck_assert_int_gt(fake.asked.grace_before_ms, fake_database_ms());
}
END_TEST

START_TEST(schedulers_that_take_nothing_are_a_gap)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    int64_t swept_ms = fake_database_ms();
    for (int i = 0; i < 20; i++) {
        fake_queue_seen("scheduler.commands", 3, 0);
        fake_pass(500);
    }
    ck_assert_int_eq(fake.sweeps, 1);
    ck_assert_int_eq(fake.warnings, 1);
    fake_queue_seen("scheduler.commands", 1001, 2);
    fake_pass(500);
    ck_assert_int_eq(fake.sweeps, 1);
    fake_queue_seen("scheduler.commands", 1000, 2);
    fake_pass(500);
    ck_assert_int_eq(fake.sweeps, 2);
    ck_assert_int_eq(fake.asked.grace_after_ms, swept_ms);
}
END_TEST

START_TEST(what_was_seen_of_the_commands_runs_out)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_queue_seen("scheduler.commands", 0, 0);
    fake_pass(4000);
    ck_assert_int_eq(fake.sweeps, 1);
    fake_pass(1500);
    ck_assert_int_eq(fake.sweeps, 2);
}
END_TEST

/* Catches: a sweep whose own duration counts as a gap, so that each slow one begins a grace and deadlines are
 * judged no more. */
START_TEST(a_sweep_slower_than_the_gap_judges_what_was_overdue_before_it)
{
    fake_lead(100);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(fake.asked.grace_before_ms, 0);
        const struct mg_due due = overdue("o-1", fake_database_ms() - 10);
        fake_pass(5000);
        fake_answer_sweep(&due, 1);
        ck_assert_int_eq(fake.command_count, i + 1);
        fake_pass(250);
        ck_assert_int_eq(fake.sweeps, i + 2);
    }
}
END_TEST

/* Catches: slow sweeps that renew the grace of a gap before them. */
START_TEST(each_deadline_has_one_grace_however_slow_the_sweeps)
{
    int64_t since_ms = fake_database_ms() + 50 - 60000;
    fake_lead(60000);
    int64_t before_ms = fake_database_ms();
    fake_pass(5000);
    fake_answer_sweep(NULL, 0);
    fake_pass(250);
    ck_assert_int_eq(fake.asked.grace_after_ms, since_ms);
    ck_assert_int_eq(fake.asked.grace_before_ms, before_ms);
    fake_pass(5000);
    fake_answer_sweep(NULL, 0);
    fake_pass(250);
    ck_assert_int_eq(fake.sweeps, 3);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
}
END_TEST

/* Catches: deadlines whose grace begins anew with each sweep that the database ends for its time-out. */
START_TEST(a_failed_sweep_is_a_gap_and_renews_no_grace)
{
    fake_lead(60000);
    for (int i = 0; i < 5; i++) {
        int64_t before_ms = fake_database_ms();
        fake_answer_sweep(NULL, 0);
        fake_pass(250);
        fake_pass(10000);
        fake_answer_sweep_failed();
        fake_pass(250);
        /* Everything up to the sweep that was answered has had its grace. */
        ck_assert_int_eq(fake.asked.grace_after_ms, before_ms);
        ck_assert_int_gt(fake.asked.grace_before_ms, fake_database_ms());
    }
}
END_TEST

/* Catches: attempts and orders that are judged because the clock was set, with all their time left; a mass
 * expiry that is told of them; and deadlines that are left alone for an hour because it was set by one. */
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
    ck_assert_str_eq(fake.last_line,
                     "the database's clock was set forward: deadlines that it passed keep their time");
    int64_t set_to_ms = supervisor->db_clock.set_to_ms;
    fake_pass_quietly(5000);
    /* What it has passed keeps its time, and gets the grace of three seconds. */
    ck_assert_int_eq(fake.asked.grace_before_ms, set_to_ms + MG_FAR_CLOCK_STALE_MS);
    ck_assert_int_ge(fake.asked.grace_after_ms, old_ms + 5000 - 3000 - 250);
    ck_assert_int_le(fake.asked.grace_after_ms, old_ms + 5000 - 3000 + 250);
    fake_pass_quietly(3600000);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
}
END_TEST

/* Catches: the same, when that clock is put a little right before they have had their time. */
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
    ck_assert_str_eq(fake.last_line, "the database's clock went back");
    fake_pass_quietly(1000);
    ck_assert_int_le(fake.asked.grace_after_ms, old_ms + 10000);
    ck_assert_int_ge(fake.asked.grace_before_ms, old_ms + 10000);
}
END_TEST

/* Catches: a step and a gap at once, of which one forgets the deadlines of the other. */
START_TEST(a_gap_in_which_the_clock_was_set_has_one_window)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    int64_t old_ms = fake_database_ms();
    fake.database_ahead_ms += 60000;
    fake_queue_seen("scheduler.commands", 3, 0);
    fake_pass(4000); /* nobody takes commands */
    fake_queue_seen("scheduler.commands", 3, 1);
    fake_pass(250);
    fake_answer_sweep(NULL, 0);
    fake_pass(250);
    ck_assert_int_eq(fake.asked.grace_before_ms, supervisor->grace_before_ms + MG_FAR_CLOCK_STALE_MS);
    ck_assert_int_eq(fake.asked.grace_after_ms, old_ms);
}
END_TEST

START_TEST(a_gap_in_a_grace_ends_it)
{
    supervisor->options.grace_ms = 60000;
    fake_lead(60000);
    int64_t before_ms = fake_database_ms();
    fake_answer_sweep(NULL, 0);
    fake_queue_seen("scheduler.commands", 3, 0);
    fake_pass(4000); /* nobody takes commands */
    fake_queue_seen("scheduler.commands", 3, 1);
    fake_pass(250);
    ck_assert_int_eq(fake.sweeps, 2);
    ck_assert_int_eq(fake.asked.grace_after_ms, before_ms);
}
END_TEST

START_TEST(a_grace_of_nothing_is_none)
{
    supervisor->options.grace_ms = 0;
    fake_lead(60000);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
    const struct mg_due due = overdue("o-1", fake_database_ms() - 1000);
    fake_answer_sweep(&due, 1);
    ck_assert_int_eq(fake.command_count, 1);
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
    ck_assert_str_eq(fake.last_line, "the database's clock went back");
    fake_pass(250);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
    /* It is followed from there: a gap by the new clock is a gap. */
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
    ck_assert_int_eq(fake.wakes, 0); /* not yet: a scheduler may still go by the old clock */
    fake_pass_quietly(1500);
    ck_assert_int_eq(fake.wakes, 1);
}

/* Catches: orders that sleep for as long as the clock was ahead; and a sweep between, which would put those
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

/* Catches: a statement that cannot be run and, without a word, is all that is run from then on. */
START_TEST(when_waking_fails_it_is_said_and_what_is_due_is_asked_meanwhile)
{
    go_back();
    int sweeps = fake.sweeps;
    fake_answer_wake_failed();
    ck_assert_str_eq(fake.last_line, "could not wake the open orders; it is tried again");
    fake_pass_quietly(1500);
    ck_assert_int_gt(fake.sweeps, sweeps);
    ck_assert_int_eq(fake.wakes, 1);
    fake_pass_quietly(1500);
    ck_assert_int_eq(fake.wakes, 2);
}
END_TEST

/* Catches: orders that were woken, could not be asked about, and sleep on. */
START_TEST(the_woken_are_woken_again_when_there_was_no_room_to_ask)
{
    go_back();
    fake_answer_wake(true, false);
    fake_pass(50);
    const struct mg_due dues[] = {overdue("o-1", fake_database_ms() - 1),
                                  other(MG_CAUSE_DUE, "o-2", fake_database_ms() + 3600000)};
    fake.room = 1;
    fake_answer_sweep(dues, 2);
    ck_assert_int_eq(fake.command_count, 1);
    fake.room = 4096;
    fake_pass_quietly(3000);
    ck_assert_int_eq(fake.wakes, 2);
}
END_TEST

/* Catches: orders that were woken, whose ask got lost with the connection, and sleep on. */
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

START_TEST(a_leader_of_an_earlier_epoch_wakes_nobody)
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
    supervisor_lead_lost(supervisor, "test");
    fake_pass(500);
    fake_answer_lead(true, 0);
    supervisor_lead_lost(supervisor, "test");
    fake.database_ahead_ms -= 5000;
    ck_assert(supervisor_sweep_start(supervisor, fake_database_ms(), fake_database_ms() + 5000));
    supervisor->is_leader = true;
    fake_pass(50);
    ck_assert_int_eq(fake.asked.grace_before_ms, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor_sweep");
    TCase *tcase = tcase_create("sweep");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, each_due_becomes_one_command);
    tcase_add_test(tcase, the_same_ask_is_one_cause);
    tcase_add_test(tcase, owed_statuses_are_asked_for_after_a_sweep);
    tcase_add_test(tcase, deadlines_come_before_owed_statuses);
    tcase_add_test(tcase, without_room_the_rest_is_left_due);
    tcase_add_test(tcase, a_full_sweep_is_followed_at_once);
    tcase_add_test(tcase, an_unconfirmed_ask_is_only_counted);
    tcase_add_test(tcase, one_question_at_a_time);
    tcase_add_test(tcase, no_grace_without_a_gap);
    tcase_add_test(tcase, a_new_leader_gives_a_grace_for_the_gap_before_it);
    tcase_add_test(tcase, never_swept_is_a_gap_since_ever);
    tcase_add_test(tcase, a_broker_outage_is_a_gap);
    tcase_add_test(tcase, a_failing_database_is_a_gap);
    tcase_add_test(tcase, schedulers_that_take_nothing_are_a_gap);
    tcase_add_test(tcase, what_was_seen_of_the_commands_runs_out);
    tcase_add_test(tcase, a_sweep_slower_than_the_gap_judges_what_was_overdue_before_it);
    tcase_add_test(tcase, each_deadline_has_one_grace_however_slow_the_sweeps);
    tcase_add_test(tcase, a_failed_sweep_is_a_gap_and_renews_no_grace);
    tcase_add_test(tcase, a_clock_that_is_set_forward_costs_no_deadline_its_time);
    tcase_add_test(tcase, a_step_back_costs_no_deadline_the_time_that_a_step_forward_left_it);
    tcase_add_test(tcase, a_gap_in_which_the_clock_was_set_has_one_window);
    tcase_add_test(tcase, a_gap_in_a_grace_ends_it);
    tcase_add_test(tcase, a_grace_of_nothing_is_none);
    tcase_add_test(tcase, a_clock_that_goes_back_makes_no_gap);
    tcase_add_test(tcase, after_a_clock_that_went_back_all_open_orders_are_woken_once);
    tcase_add_test(tcase, when_waking_fails_it_is_said_and_what_is_due_is_asked_meanwhile);
    tcase_add_test(tcase, the_woken_are_woken_again_when_there_was_no_room_to_ask);
    tcase_add_test(tcase, the_woken_are_woken_again_when_an_ask_was_not_confirmed);
    tcase_add_test(tcase, a_leader_of_an_earlier_epoch_wakes_nobody);
    tcase_add_test(tcase, a_leader_from_the_future_makes_no_gap);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
