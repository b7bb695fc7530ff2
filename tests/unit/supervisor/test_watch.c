/* Alerts that belong to no order: opened once, closed when their cause is gone, left as they are while no
 * look is possible. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "world.h"

static struct mg_supervisor *supervisor;

static void setup(void)
{
    supervisor = fake_start();
    fake_lead(100);
}

static void teardown(void)
{
    fake_finish();
}

static struct mg_due stuck(const char *order_id)
{
    struct mg_due due = {.ask = MG_CAUSE_NUDGE, .version = 2, .is_stuck = true};
    (void)snprintf(due.order_id, sizeof(due.order_id), "%s", order_id);
    return due;
}

START_TEST(mass_expiry_is_braked_and_alerted)
{
    struct mg_due due = {.ask = MG_CAUSE_OVERDUE, .step = "reserve", .attempt = 1, .order_id = "o-1"};
    due.due_at_ms = fake_database_ms();
    fake_answer_sweep_full(&due, 1, 450);
    ck_assert_int_eq(fake.command_count, 1);
    ck_assert_double_eq(mg_metric_value(supervisor->held_back), 250);
    /* Not at once again, though there is more: that would be no brake. */
    fake_pass(200);
    ck_assert_int_eq(fake.sweeps, 1);
    fake_pass_quietly(2500);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert_int_eq(fake.alerts_sent[0].alert, MG_ALERT_MASS_EXPIRY);
    ck_assert(!fake.alerts_sent[0].is_closed);
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text,
                                 "450 attempts and orders are overdue at once; each sweep judges 200"));
    ck_assert_double_eq(mg_metric_value(supervisor->held_back), 250);
}
END_TEST

/* Would catch: a figure of held-back commands that the next sweep sets to 0. No two scrapes in a row see it,
 * and its rule never fires. */
START_TEST(held_back_orders_are_shown_until_the_hold_is_surely_over)
{
    fake_answer_sweep_full(NULL, 0, 450);
    fake_pass_quietly(500); /* sweeps that find nothing */
    ck_assert_double_eq(mg_metric_value(supervisor->held_back), 250);
    fake_pass(500);
    fake_answer_sweep_full(NULL, 0, 210); /* less of the same */
    ck_assert_double_eq(mg_metric_value(supervisor->held_back), 250);
    fake_pass_quietly(16000);
    ck_assert_double_eq(mg_metric_value(supervisor->held_back), 0);
}
END_TEST

/* Would catch: a database that is slow for hours, visible only by late deadlines. */
START_TEST(sweeps_slower_than_the_gap_are_alerted_until_they_are_fast_again)
{
    fake_pass(3100);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(2500);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert_int_eq(fake.alerts_sent[0].alert, MG_ALERT_SLOW_SWEEP);
    ck_assert(!fake.alerts_sent[0].is_closed);
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "a sweep took 3.1 s"));
    fake_pass_quietly(20000);
    ck_assert_int_eq(fake.alerts_sent_count, 2);
    ck_assert(fake.alerts_sent[1].is_closed);
}
END_TEST

/* Would catch: an alert that is silent, or closed, because no sweep is answered any more. */
START_TEST(sweeps_that_end_by_their_time_out_are_alerted)
{
    fake_answer_sweep(NULL, 0);
    for (int i = 0; i < 4; i++) {
        fake_pass(250);
        fake_pass(10000);
        fake_answer_sweep_failed();
        if (fake.is_write_open) {
            fake_answer_write();
        }
    }
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert_int_eq(fake.alerts_sent[0].alert, MG_ALERT_SLOW_SWEEP);
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "a sweep failed after 10.0 s"));
}
END_TEST

START_TEST(a_sweep_as_long_as_the_gap_is_not_slow)
{
    fake_pass(3000);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(3000);
    ck_assert_int_eq(fake.alerts_sent_count, 0);
}
END_TEST

START_TEST(exactly_the_limit_is_no_mass_expiry)
{
    fake_answer_sweep_full(NULL, 0, 200);
    fake_pass(50);
    ck_assert_int_eq(fake.sweeps, 2);
    fake_pass_quietly(3000);
    ck_assert_int_eq(fake.alerts_sent_count, 0);
}
END_TEST

START_TEST(stuck_orders_are_counted_nudged_and_alerted)
{
    const struct mg_due dues[] = {stuck("o-1"), stuck("o-2")};
    fake_answer_sweep(dues, 2);
    ck_assert_int_eq(fake.command_count, 2);
    ck_assert_double_eq(mg_metric_value(supervisor->violations), 2);
    ck_assert_int_eq(fake_log.errors, 1); /* one line a sweep, however many they are */
    fake_pass_quietly(2500);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert_int_eq(fake.alerts_sent[0].alert, MG_ALERT_INVARIANT_VIOLATION);
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "order o-1 "));
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "2 such orders"));
}
END_TEST

/* Would catch: a damaged order that nothing but a line of the log names, and an alert that its cure leaves
 * open. */
START_TEST(an_order_that_is_passed_by_is_named_until_it_passes)
{
    fake.passed_orders = 2;
    fake_pass_quietly(2500);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert_int_eq(fake.alerts_sent[0].alert, MG_ALERT_ORDER_PASSED_BY);
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "order o-3 cannot be swept (2 such rows)"));
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "missing chunk number 0 (XX001)"));
    ck_assert_double_eq(mg_metric_value(supervisor->passed_by), 2);
    fake.passed_orders = 0;
    fake_pass_quietly(18000);
    ck_assert_int_eq(fake.alerts_sent_count, 2);
    ck_assert(fake.alerts_sent[1].is_closed);
    ck_assert_double_eq(mg_metric_value(supervisor->passed_by), 0);
}
END_TEST

START_TEST(a_plain_nudge_is_no_violation)
{
    struct mg_due due = stuck("o-1");
    due.is_stuck = false;
    fake_answer_sweep(&due, 1);
    fake_pass_quietly(3000);
    ck_assert_double_eq(mg_metric_value(supervisor->violations), 0);
    ck_assert_int_eq(fake.alerts_sent_count, 0);
}
END_TEST

START_TEST(an_alert_is_opened_once_and_closed_when_its_cause_is_gone)
{
    fake_answer_sweep(NULL, 0);
    for (int i = 0; i < 10; i++) { /* 20 s of dead letters */
        fake_broker_queue_seen("dead.letters", 3, 0);
        fake_pass_quietly(2000);
    }
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert_str_eq(fake.alerts_sent[0].subject, "dead.letters");
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "queue dead.letters holds messages"));
    for (int i = 0; i < 6; i++) { /* last seen 2 s ago, so gone for at most 14 s */
        fake_broker_queue_seen("dead.letters", 0, 0);
        fake_pass_quietly(2000);
    }
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    fake_pass_quietly(4000);
    ck_assert_int_eq(fake.alerts_sent_count, 2);
    ck_assert(fake.alerts_sent[1].is_closed);
    fake_pass_quietly(10000);
    ck_assert_int_eq(fake.alerts_sent_count, 2);
}
END_TEST

START_TEST(an_alert_that_cannot_be_checked_stays_open)
{
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen("dead.letters", 3, 0);
    fake_pass_quietly(60000); /* no look is possible: the connection for looks is away */
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert(fake.is_open[MG_WATCHED_DEAD_LETTERS]);
    fake_broker_queue_seen("dead.letters", 0, 0);
    fake_pass_quietly(2500);
    ck_assert(!fake.is_open[MG_WATCHED_DEAD_LETTERS]);
}
END_TEST

START_TEST(a_new_leader_does_not_close_before_it_has_looked_as_long)
{
    fake.is_open[MG_WATCHED_STUCK_ORDERS] = true; /* by its predecessor */
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(14000);
    ck_assert(fake.is_open[MG_WATCHED_STUCK_ORDERS]);
    fake_pass_quietly(4000);
    ck_assert(!fake.is_open[MG_WATCHED_STUCK_ORDERS]);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert(fake.alerts_sent[0].is_closed);
    ck_assert_str_eq(fake.alerts_sent[0].text, "the cause no longer exists");
}
END_TEST

START_TEST(a_slow_ask_again_keeps_the_alert_open)
{
    const struct mg_due due = stuck("o-1");
    supervisor->options.ask_again_ms = 60000;
    fake_answer_sweep(&due, 1);
    for (int i = 0; i < 3; i++) {
        fake_pass_quietly(60000);
        fake_pass(300);
        fake_answer_sweep(&due, 1);
    }
    ck_assert_int_eq(fake.alerts_sent_count, 1);
}
END_TEST

START_TEST(an_alert_that_could_not_be_published_is_published_again)
{
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen("dead.letters", 3, 0);
    fake.outcome = MG_PUBLISH_REFUSED;
    fake_pass_quietly(6500);
    ck_assert(fake.is_open[MG_WATCHED_DEAD_LETTERS]);
    ck_assert_int_eq(fake.alerts_sent_count, 0);
    ck_assert_int_eq(fake_log.warnings, 2); /* the alert itself, and one about the failed publish */
    fake.outcome = MG_PUBLISH_CONFIRMED;
    fake_pass_quietly(6000);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
}
END_TEST

START_TEST(a_supervisor_that_does_not_lead_writes_no_alert)
{
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen("dead.letters", 3, 0);
    mg_supervisor_lead_lost(supervisor, "test");
    fake.is_store_up = false;
    fake_broker_queue_seen("dead.letters", 3, 0);
    fake_pass(20000);
    ck_assert_int_eq(fake.writes, 0);
}
END_TEST

static const char *const UNNEEDED[][FAKE_COLUMNS] = {{"travle"}, {"greeting"}};

/* Would catch: an alert about a service that stays open though its last order was cancelled; one that is
 * closed again and again. */
START_TEST(an_alert_that_no_order_needs_is_closed_and_sent_once)
{
    fake_answer_sweep(NULL, 0);
    fake.unneeded = UNNEEDED;
    fake.unneeded_count = 2;
    fake_pass_quietly(9000);
    ck_assert_int_eq(fake.alerts_sent_count, 0);
    fake_pass_quietly(2000);
    fake.unneeded_count = 0;
    fake_pass_quietly(30000);
    ck_assert_int_eq(fake.alerts_sent_count, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(fake.alerts_sent[i].alert, MG_ALERT_UNPUBLISHABLE);
        ck_assert(fake.alerts_sent[i].is_closed);
        ck_assert_str_eq(fake.alerts_sent[i].subject, UNNEEDED[i][0]);
    }
}
END_TEST

/* kind, instance, seen_at, age_ms, in_hand, stands_since, stands_ms, oldest_order, reason */
static const char *const PROCESSES[][FAKE_COLUMNS] = {
    {"scheduler", "s-1", "2026-11-28T07:00:00.000Z", "1200", "3", "", "", "", ""},
    {"scheduler", "s-2", "2026-11-28T07:00:00.000Z", "900", "40", "2026-11-28T06:59:00.000Z", "61000", "o-17",
     "lock timeout (55P03)"}};
static const char *const SILENT[][FAKE_COLUMNS] = {
    {"scheduler", "s-1", "2026-11-28T07:00:00.000Z", "10001", "3", "", "", "", ""}};

/* Would catch: a process that is frozen, or lives and does not move, and that nobody is told of; an alert
 * that outlives it. */
START_TEST(a_process_that_does_not_move_or_is_not_seen_is_an_alert_while_it_lasts)
{
    static const struct {
        const char *const (*rows)[FAKE_COLUMNS];
        int count;
        const char *text;
    } CASES[] = {
        {PROCESSES, 2,
         "scheduler s-2 does not move since 2026-11-28T06:59:00.000Z, order o-17: lock timeout (55P03); "
         "makegood doctor names all of now"},
        {SILENT, 1, "scheduler s-1 was last seen at 2026-11-28T07:00:00.000Z: it is frozen, killed or"}};
    fake_answer_sweep(NULL, 0);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        fake.processes = PROCESSES; /* the first alone is well */
        fake.process_count = 1;
        fake_pass_quietly(30000);
        ck_assert(!fake.is_open[MG_WATCHED_STANDSTILL]);
        fake.alerts_sent_count = 0;
        fake.processes = CASES[i].rows;
        fake.process_count = CASES[i].count;
        fake_pass_quietly(6000);
        ck_assert(fake.is_open[MG_WATCHED_STANDSTILL]);
        ck_assert_int_eq(fake.alerts_sent_count, 1);
        ck_assert_int_eq(fake.alerts_sent[0].alert, MG_ALERT_STANDSTILL);
        ck_assert_msg(strstr(fake.alerts_sent[0].text, CASES[i].text) != NULL, "%s",
                      fake.alerts_sent[0].text);
        fake.process_count = 0;
        fake_pass_quietly(30000);
        ck_assert(!fake.is_open[MG_WATCHED_STANDSTILL]);
    }
}
END_TEST

/* order_id, since, reason, held_by */
static const char *const WAITING[][FAKE_COLUMNS] = {
    {"o-4", "2026-11-28T07:00:00.000Z", "another session has locked its rows", "session 71 (psql, user ann)"},
    {"o-5", "2026-11-28T07:00:01.000Z", "the ledger is closed (55006)", ""}};

/* Would catch: an order that waits at a scheduler for a lock, and that only a metric counts. */
START_TEST(an_order_that_the_database_keeps_waiting_is_an_alert_while_it_lasts)
{
    fake_answer_sweep(NULL, 0);
    fake.waiting = WAITING;
    fake.waiting_count = 2;
    fake_pass_quietly(6000);
    ck_assert(fake.is_open[MG_WATCHED_PASSED_BY]);
    ck_assert_str_eq(fake.alerts_sent[0].text,
                     "order o-4 waits since 2026-11-28T07:00:00.000Z: locked by session 71 (psql, user ann) "
                     "(2 such orders); the others go on; makegood order explain o-4");
    fake.waiting_count = 0;
    fake_pass_quietly(30000);
    ck_assert(!fake.is_open[MG_WATCHED_PASSED_BY]);
}
END_TEST

/* Would catch: an alert that stays open because each look at it ends while other alerts are being written. */
START_TEST(findings_during_a_write_are_written_next)
{
    fake_answer_sweep(NULL, 0);
    fake.unneeded = UNNEEDED;
    fake.unneeded_count = 2;
    fake_pass_quietly(7500);
    fake_broker_queue_seen("dead.letters", 3, 0);
    while (!fake.is_write_open) {
        fake_pass(50);
    }
    fake_pass(3000);
    fake.unneeded_count = 0;
    fake_answer_write();
    fake_pass_quietly(3000);
    int closed = 0;
    for (int i = 0; i < fake.alerts_sent_count; i++) {
        closed += fake.alerts_sent[i].alert == MG_ALERT_UNPUBLISHABLE && fake.alerts_sent[i].is_closed;
    }
    ck_assert_int_eq(closed, 2);
}
END_TEST

/* Would catch: a warning every ten seconds while the database is away. */
START_TEST(an_alert_whose_check_fails_stays_open_and_is_logged_once)
{
    fake_answer_sweep(NULL, 0);
    fake.is_unneeded_unreadable = true;
    int warnings = fake_log.warnings;
    fake_pass_quietly(60000);
    ck_assert_int_eq(fake_log.warnings, warnings + 1);
    ck_assert_int_eq(fake.alerts_sent_count, 0);
}
END_TEST

/* Would catch: a queue that is deleted or expires, with its messages, and nobody is told; an alert that stays
 * after the queue is back; and a leader that counts as ready without it. */
START_TEST(a_missing_queue_is_an_alert_until_it_is_back)
{
    char reason[256];
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen(MG_QUEUE_INTAKE, 3, 1);
    fake_broker_queue_seen(MG_QUEUE_DEAD, 0, 0);
    ck_assert(!mg_supervisor_is_queue_missing(supervisor, reason, sizeof(reason)));
    fake_broker_queue_seen(MG_QUEUE_INTAKE, 0, -1);
    fake_pass_quietly(2500);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert_int_eq(fake.alerts_sent[0].alert, MG_ALERT_QUEUE_MISSING);
    ck_assert_str_eq(fake.alerts_sent[0].subject, MG_QUEUE_INTAKE);
    ck_assert_str_eq(fake.alerts_sent[0].text, "queue orders.intake is missing; run: makegood broker apply");
    ck_assert(mg_supervisor_is_queue_missing(supervisor, reason, sizeof(reason)));
    ck_assert_str_eq(reason, fake.alerts_sent[0].text);
    ck_assert(!mg_supervisor_lead_is_ready(supervisor, reason, sizeof(reason)));
    int64_t gone_ms = mg_supervisor_gone_ms(supervisor);
    for (int64_t passed = 0; passed < gone_ms + 3000; passed += 1000) {
        fake_broker_queue_seen(MG_QUEUE_INTAKE, 0, 1);
        fake_pass_quietly(1000);
    }
    ck_assert(!mg_supervisor_is_queue_missing(supervisor, reason, sizeof(reason)));
    ck_assert_int_eq(fake.alerts_sent_count, 2);
    ck_assert(fake.alerts_sent[1].is_closed);
    ck_assert_str_eq(fake.alerts_sent[1].subject, MG_QUEUE_INTAKE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor_watch");
    TCase *tcase = tcase_create("watch");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, mass_expiry_is_braked_and_alerted);
    tcase_add_test(tcase, held_back_orders_are_shown_until_the_hold_is_surely_over);
    tcase_add_test(tcase, sweeps_slower_than_the_gap_are_alerted_until_they_are_fast_again);
    tcase_add_test(tcase, sweeps_that_end_by_their_time_out_are_alerted);
    tcase_add_test(tcase, a_sweep_as_long_as_the_gap_is_not_slow);
    tcase_add_test(tcase, exactly_the_limit_is_no_mass_expiry);
    tcase_add_test(tcase, stuck_orders_are_counted_nudged_and_alerted);
    tcase_add_test(tcase, an_order_that_is_passed_by_is_named_until_it_passes);
    tcase_add_test(tcase, a_plain_nudge_is_no_violation);
    tcase_add_test(tcase, an_alert_is_opened_once_and_closed_when_its_cause_is_gone);
    tcase_add_test(tcase, an_alert_that_cannot_be_checked_stays_open);
    tcase_add_test(tcase, a_new_leader_does_not_close_before_it_has_looked_as_long);
    tcase_add_test(tcase, a_slow_ask_again_keeps_the_alert_open);
    tcase_add_test(tcase, an_alert_that_could_not_be_published_is_published_again);
    tcase_add_test(tcase, a_supervisor_that_does_not_lead_writes_no_alert);
    tcase_add_test(tcase, an_alert_that_no_order_needs_is_closed_and_sent_once);
    tcase_add_test(tcase, a_process_that_does_not_move_or_is_not_seen_is_an_alert_while_it_lasts);
    tcase_add_test(tcase, an_order_that_the_database_keeps_waiting_is_an_alert_while_it_lasts);
    tcase_add_test(tcase, findings_during_a_write_are_written_next);
    tcase_add_test(tcase, an_alert_whose_check_fails_stays_open_and_is_logged_once);
    tcase_add_test(tcase, a_missing_queue_is_an_alert_until_it_is_back);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
