/* The leader's commands after a sweep: which ones, the limits, and the cases without any. */
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

/* Catches: statuses that are never tried again; a question alongside each of many sweeps in a row. */
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
    ck_assert_int_eq(fake_log.warnings, 1);
    fake_pass(250);
    fake_answer_sweep(NULL, 0);
    fake_answer_owed_failed();
    ck_assert_int_eq(fake_log.warnings, 1); /* logged once */
}
END_TEST

/* Catches: owed statuses that take the place of deadlines. */
START_TEST(deadlines_come_before_owed_statuses)
{
    int64_t now_ms = fake_database_ms();
    const struct mg_due dues[] = {overdue("o-1", now_ms), overdue("o-2", now_ms)};
    fake_lead(100);
    fake_broker.room = 1;
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
    fake_broker.room = 4;
    fake_answer_sweep_full(dues, 10, 10);
    ck_assert_int_eq(fake.command_count, 4);
    ck_assert_double_eq(mg_metric_value(supervisor->unasked), 1);
    /* The window is full: nothing is sent until there is room, and then no more than the room allows. */
    fake_pass(1000);
    ck_assert_int_eq(fake.sweeps, 1);
    fake_broker.room = 64 + 10;
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
    ck_assert_int_eq(fake_log.warnings, 0); /* a first start gives no warning */
}
END_TEST

START_TEST(a_broker_outage_is_a_gap)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    int64_t swept_ms = fake_database_ms();
    fake_broker.is_down = true;
    fake_pass(3200); /* shorter than the outage that ends the lead */
    fake_broker.is_down = false;
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
        fake_broker_queue_seen("scheduler.commands", 3, 0);
        fake_pass(500);
    }
    ck_assert_int_eq(fake.sweeps, 1);
    ck_assert_int_eq(fake_log.warnings, 1);
    fake_broker_queue_seen("scheduler.commands", 1001, 2);
    fake_pass(500);
    ck_assert_int_eq(fake.sweeps, 1);
    fake_broker_queue_seen("scheduler.commands", 1000, 2);
    fake_pass(500);
    ck_assert_int_eq(fake.sweeps, 2);
    ck_assert_int_eq(fake.asked.grace_after_ms, swept_ms);
}
END_TEST

START_TEST(a_count_of_the_commands_expires)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen("scheduler.commands", 0, 0);
    fake_pass(4000);
    ck_assert_int_eq(fake.sweeps, 1);
    fake_pass(1500);
    ck_assert_int_eq(fake.sweeps, 2);
}
END_TEST

/* Catches: a sweep with its own duration counted as a gap, so that each slow one begins a grace and deadlines
 * are judged no more. */
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

/* Catches: deadlines with a grace that begins anew at each sweep ended by the database's time-out. */
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
        /* All deadlines up to the sweep that was answered have had their grace. */
        ck_assert_int_eq(fake.asked.grace_after_ms, before_ms);
        ck_assert_int_gt(fake.asked.grace_before_ms, fake_database_ms());
    }
}
END_TEST

START_TEST(a_gap_in_a_grace_ends_it)
{
    supervisor->options.grace_ms = 60000;
    fake_lead(60000);
    int64_t before_ms = fake_database_ms();
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen("scheduler.commands", 3, 0);
    fake_pass(4000); /* commands have no consumer */
    fake_broker_queue_seen("scheduler.commands", 3, 1);
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
    tcase_add_test(tcase, a_count_of_the_commands_expires);
    tcase_add_test(tcase, a_sweep_slower_than_the_gap_judges_what_was_overdue_before_it);
    tcase_add_test(tcase, each_deadline_has_one_grace_however_slow_the_sweeps);
    tcase_add_test(tcase, a_failed_sweep_is_a_gap_and_renews_no_grace);
    tcase_add_test(tcase, a_gap_in_a_grace_ends_it);
    tcase_add_test(tcase, a_grace_of_nothing_is_none);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
