/* The leader's metrics of the system: counted by the leader alone, seldom, and never outdated. */
#include <check.h>

#include "../page.h"
#include "../suite.h"
#include "world.h"

static struct mg_supervisor *supervisor;

static void setup(void)
{
    supervisor = fake_start();
}

static bool shows(const char *line)
{
    return page_shows(supervisor->metrics, line);
}

static const char *const FIGURES[][FAKE_COLUMNS] = {
    {"orders", "processing", "two", "12", "61000"},
    {"orders", "processing", "three", "3", "90500"},
    {"orders", "compensating", "three", "1", "4000"},
    {"alerts", "order_error", "", "7", "3600000"},
    {"owed", "", "", "2", "1500"},
    {"waits", "approve", "two", "4", "0"},
};

/* Would catch: a process that counts alongside the leader. */
START_TEST(only_the_leader_counts)
{
    fake_pass(50);
    fake_answer_lead(false, 0);
    fake_pass(60000);
    ck_assert_int_eq(fake.counts, 0);
    ck_assert(!shows("makegood_alerts{"));
    ck_assert(!shows("makegood_queue_messages{"));
}
END_TEST

/* Would catch: a figure with another name or unit, or one that keeps its old value. */
START_TEST(counts_are_shown)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_answer_count(FIGURES, 6);
    ck_assert(shows("\nmakegood_orders{workflow=\"two\",state=\"processing\"} 12\n"));
    ck_assert(shows("\nmakegood_steps_waiting{workflow=\"two\",step=\"approve\"} 4\n"));
    ck_assert(shows("\nmakegood_orders{workflow=\"three\",state=\"processing\"} 3\n"));
    ck_assert(shows("\nmakegood_order_oldest_age_seconds{state=\"processing\"} 90.5\n"));
    ck_assert(shows("\nmakegood_order_oldest_age_seconds{state=\"pending\"} 0\n"));
    ck_assert(shows("\nmakegood_alerts{alert=\"order_error\"} 7\n"));
    ck_assert(shows("\nmakegood_alerts{alert=\"dead_letter\"} 0\n"));
    ck_assert(shows("\nmakegood_alert_oldest_age_seconds{alert=\"order_error\"} 3600\n"));
    ck_assert(shows("\nmakegood_statuses_owed 2\n"));
    ck_assert(shows("\nmakegood_status_owed_oldest_age_seconds 1.5\n"));
    ck_assert(shows("\nmakegood_supervisor_epoch 7\n"));

    fake_pass_quietly(16000); /* a workflow without open orders shows none, not the last number */
    ck_assert_int_eq(fake.counts, 2);
    fake_answer_count(FIGURES, 1);
    ck_assert(shows("\nmakegood_orders{workflow=\"three\",state=\"processing\"} 0\n"));
    ck_assert(shows("\nmakegood_steps_waiting{workflow=\"two\",step=\"approve\"} 0\n"));
    ck_assert(shows("\nmakegood_order_oldest_age_seconds{state=\"processing\"} 61\n"));
}
END_TEST

/* Would catch: numbers that stand on the page for hours after the last count. */
START_TEST(missing_counts_are_not_shown)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_answer_count(FIGURES, 5);
    fake_pass_quietly(16000);
    fake_answer_count_failed();
    ck_assert(!shows("makegood_orders{"));
    ck_assert(!shows("makegood_statuses_owed 2"));
    fake_pass_quietly(51000); /* it took a second to fail */
    fake_answer_count(FIGURES, 5);
    ck_assert(shows("\nmakegood_orders{workflow=\"two\",state=\"processing\"} 12\n"));
}
END_TEST

/* Would catch: a warning at each start, and no figures for 15 s, because the first count came before its
 * session. */
START_TEST(its_session_is_waited_for)
{
    fake.is_counting_away = true;
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(10000);
    ck_assert_int_eq(fake.counts, 0);
    fake.is_counting_away = false;
    mg_supervisor_count_session(supervisor, true, "");
    fake_pass_quietly(1);
    ck_assert_int_eq(fake.counts, 1);
}
END_TEST

/* Would catch: a session that never comes, without any warning. */
START_TEST(a_session_that_does_not_come_is_a_count_that_fails)
{
    fake.is_counting_away = true;
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(15100);
    ck_assert_int_eq(fake.counts, 1);
}
END_TEST

/* Would catch: figures of two processes that add up. */
START_TEST(a_former_leader_shows_nothing)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_answer_count(FIGURES, 5);
    fake_broker_queue_seen("orders.intake", 9, 1);
    ck_assert(shows("\nmakegood_queue_messages{queue=\"orders.intake\"} 9\n"));
    mg_supervisor_lead_session(supervisor, false, "gone");
    ck_assert(!shows("makegood_orders{"));
    ck_assert(!shows("makegood_queue_messages{"));
    fake_broker_queue_seen("orders.intake", 9, 1); /* which is still watched */
    ck_assert(!shows("makegood_queue_messages{"));
    fake_pass(60000);
    ck_assert_int_eq(fake.counts, 1);
}
END_TEST

/* Would catch: a slow database that is asked more often. */
START_TEST(a_slow_count_is_made_seldom)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(1000);
    fake_answer_count(FIGURES, 1); /* it took a second: for fifty it rests */
    fake_pass_quietly(49000);
    ck_assert_int_eq(fake.counts, 1);
    fake_pass_quietly(2500);
    ck_assert_int_eq(fake.counts, 2);
}
END_TEST

/* Would catch: figures that are missing for ten minutes after a stall of seconds. */
START_TEST(a_count_rests_for_a_minute_at_most)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(12000);
    fake_answer_count_failed();
    fake_pass_quietly(59000);
    ck_assert_int_eq(fake.counts, 1);
    fake_pass_quietly(2500);
    ck_assert_int_eq(fake.counts, 2);
}
END_TEST

/* Would catch: dead letters that lie for days and look new. */
START_TEST(the_age_of_a_queue_is_since_it_was_empty)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen("dead.letters", 0, 0);
    fake_pass(5000);
    fake_broker_queue_seen("dead.letters", 2, 0);
    fake_pass(60000);
    fake_broker_queue_seen("dead.letters", 2, 0);
    ck_assert(shows("\nmakegood_queue_oldest_age_seconds{queue=\"dead.letters\"} 65\n"));
    fake_broker_queue_seen("dead.letters", 0, 0);
    ck_assert(shows("\nmakegood_queue_oldest_age_seconds{queue=\"dead.letters\"} 0\n"));
}
END_TEST

static void lead_again(void)
{
    mg_supervisor_lead_session(supervisor, false, "gone");
    mg_supervisor_lead_session(supervisor, true, "");
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
}

/* Would catch: messages of yesterday with an age that counts from the leader's start. */
START_TEST(messages_found_by_a_new_leader_have_no_age_at_first)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen("dead.letters", 2, 0);
    ck_assert(shows("\nmakegood_queue_messages{queue=\"dead.letters\"} 2\n"));
    fake_pass_quietly(59000);
    fake_broker_queue_seen("dead.letters", 2, 0);
    ck_assert(!shows("makegood_queue_oldest_age_seconds{"));
    fake_pass_quietly(1000);
    fake_broker_queue_seen("dead.letters", 2, 0);
    ck_assert(shows("\nmakegood_queue_oldest_age_seconds{queue=\"dead.letters\"} 60\n"));
    lead_again(); /* all begins anew */
    fake_broker_queue_seen("dead.letters", 0, 0);
    fake_pass_quietly(1000);
    fake_broker_queue_seen("dead.letters", 2, 0);
    ck_assert(shows("\nmakegood_queue_oldest_age_seconds{queue=\"dead.letters\"} 1\n"));
    lead_again();
    fake_broker_queue_seen("dead.letters", 2, 0);
    ck_assert(!shows("makegood_queue_oldest_age_seconds{"));
}
END_TEST

/* Would catch: a violation that no scrape ever sees, because the next sweep sets it to zero again. */
START_TEST(a_violation_is_shown_long_enough)
{
    struct mg_due due = {.ask = MG_CAUSE_NUDGE, .version = 2, .is_stuck = true, .order_id = "o-1"};
    fake_lead(100);
    fake_answer_sweep(&due, 1);
    fake_pass_quietly(10000);
    ck_assert(shows("\nmakegood_invariant_violations 1\n"));
    fake_pass_quietly(10000);
    ck_assert(shows("\nmakegood_invariant_violations 0\n"));
    ck_assert(shows("\nmakegood_invariant_violations_found_total 1\n"));
}
END_TEST

/* Would catch: unjudged deadlines that no figure shows; a service that is away, counted as one of them. */
START_TEST(the_lag_is_that_of_the_deadline_found_latest)
{
    struct mg_due dues[] = {{.ask = MG_CAUSE_DUE, .order_id = "o-1", .step = "a", .attempt = 1},
                            {.ask = MG_CAUSE_OVERDUE, .order_id = "o-2", .step = "a", .attempt = 1},
                            {.ask = MG_CAUSE_OWED, .order_id = "o-3", .seq = 4}};
    fake_lead(100);
    dues[0].due_at_ms = fake_database_ms() - 3600000; /* parked for an hour, as it should be */
    dues[1].due_at_ms = fake_database_ms() - 40000;
    fake_answer_sweep(dues, 3);
    ck_assert(shows("\nmakegood_sweep_lag_seconds 40\n"));
    fake_pass_quietly(10000);
    ck_assert(shows("\nmakegood_sweep_lag_seconds 40\n"));
    fake_pass_quietly(10000);
    ck_assert(shows("\nmakegood_sweep_lag_seconds 0\n"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor figures");
    TCase *tests = tcase_create("figures");
    tcase_add_checked_fixture(tests, setup, fake_finish);
    tcase_add_test(tests, only_the_leader_counts);
    tcase_add_test(tests, counts_are_shown);
    tcase_add_test(tests, missing_counts_are_not_shown);
    tcase_add_test(tests, its_session_is_waited_for);
    tcase_add_test(tests, a_session_that_does_not_come_is_a_count_that_fails);
    tcase_add_test(tests, a_former_leader_shows_nothing);
    tcase_add_test(tests, a_slow_count_is_made_seldom);
    tcase_add_test(tests, a_count_rests_for_a_minute_at_most);
    tcase_add_test(tests, the_age_of_a_queue_is_since_it_was_empty);
    tcase_add_test(tests, messages_found_by_a_new_leader_have_no_age_at_first);
    tcase_add_test(tests, a_violation_is_shown_long_enough);
    tcase_add_test(tests, the_lag_is_that_of_the_deadline_found_latest);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
