/* Signals with a key: old ones are deleted, an alert names those that no order takes. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "world.h"

static struct mg_supervisor *supervisor;

static void setup(void)
{
    supervisor = fake_start();
    fake_lead(0);
    fake_answer_sweep(NULL, 0);
}

/* Would catch: a table that grows for ever, or a leader that keeps the database busy with it. */
START_TEST(old_signals_are_deleted_a_bite_at_a_time)
{
    fake_pass_quietly(30500);
    ck_assert_int_eq(fake.forgets, 3);
    fake.kept_signals.forgotten = 1000;
    fake_pass_quietly(12000);
    ck_assert_int_ge(fake.forgets, 5); /* a full bite is followed by another one after a second */
    fake.kept_signals.forgotten = 0;
    fake_pass_quietly(2000);
    int before = fake.forgets;
    fake_pass_quietly(10000);
    ck_assert_int_le(fake.forgets - before, 1);
}
END_TEST

START_TEST(a_signal_without_an_order_is_an_alert_while_it_is_kept)
{
    fake.kept_signals = (struct mg_kept_figures){.kept = 3, .oldest_ms = 65000};
    fake_pass_quietly(30000);
    ck_assert_int_eq(fake.alerts_sent_count, 0);
    ck_assert_double_eq(mg_metric_value(supervisor->signals_kept), 3);
    ck_assert_double_eq(mg_metric_value(supervisor->signal_kept_oldest), 65);
    fake.kept_signals = (struct mg_kept_figures){.kept = 3,
                                                 .oldest_ms = 90000000,
                                                 .late = 2,
                                                 .signal = "paid",
                                                 .signal_id = "evt_1/psp",
                                                 .by = "client:psp"};
    fake_pass_quietly(60000);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert_int_eq(fake.alerts_sent[0].alert, MG_ALERT_SIGNAL_UNMATCHED);
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text,
                                 "the key of signal paid with the id evt_1, by client:psp: it has been "
                                 "kept for more than a day (2 such signals)"));
    fake.kept_signals.late = 0;
    fake_pass_quietly(60000);
    ck_assert_int_eq(fake.alerts_sent_count, 2);
    ck_assert(fake.alerts_sent[1].is_closed);
}
END_TEST

START_TEST(signals_without_an_order_are_counted_at_their_deletion)
{
    fake.kept_signals = (struct mg_kept_figures){.forgotten = 5, .unmatched = 2};
    int before = fake_log.warnings;
    fake_pass_quietly(11000);
    ck_assert_double_eq(mg_metric_value(supervisor->signals_unmatched), 2);
    ck_assert_int_eq(fake_log.warnings, before + 1);
}
END_TEST

START_TEST(a_failed_look_is_logged_once)
{
    fake.is_forget_failing = true;
    int before = fake_log.warnings;
    fake_pass_quietly(40000);
    ck_assert_int_eq(fake_log.warnings, before + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor signal_watch");
    TCase *tests = tcase_create("signals");
    tcase_add_checked_fixture(tests, setup, fake_finish);
    tcase_add_test(tests, old_signals_are_deleted_a_bite_at_a_time);
    tcase_add_test(tests, a_signal_without_an_order_is_an_alert_while_it_is_kept);
    tcase_add_test(tests, signals_without_an_order_are_counted_at_their_deletion);
    tcase_add_test(tests, a_failed_look_is_logged_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
