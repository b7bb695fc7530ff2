/* Leadership: the choice, the loss, and actions forbidden to a process that does not lead. */
#include <check.h>
#include <string.h>

#include "../suite.h"
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

START_TEST(it_leads_once_the_lock_is_taken)
{
    fake_pass(50);
    ck_assert_int_eq(fake.tries, 1);
    fake_answer_lead(false, 0);
    fake_pass(2000);
    ck_assert_int_eq(fake.sweeps, 0);
    ck_assert(fake.is_trying);
    fake_answer_lead(true, 100);
    fake_pass(50);
    ck_assert_int_eq(fake.sweeps, 1);
    ck_assert_uint_eq(fake.asked.epoch, 7);
    ck_assert_str_eq(fake.asked.holder, "me");
    ck_assert_double_eq(mg_metric_value(supervisor->leading), 1);
}
END_TEST

START_TEST(a_standby_never_asks)
{
    for (int i = 0; i < 20; i++) {
        fake_pass(500);
        ck_assert(fake.is_trying);
        fake_answer_lead(false, 0);
    }
    ck_assert_int_eq(fake.sweeps + fake.writes + fake.command_count + fake.alerts_sent_count, 0);
    char reason[256];
    ck_assert(mg_supervisor_lead_is_ready(supervisor, reason, sizeof(reason)));
}
END_TEST

/* Catches: supervisors that are ready while none leads; one that stays unready alongside the next leader. */
START_TEST(a_lock_that_is_kept_without_leading_makes_none_ready)
{
    char reason[512];
    fake_pass(50);
    fake_answer_lead_held("session 7 holds the leader's lock and does nothing");
    ck_assert(!mg_supervisor_lead_is_ready(supervisor, reason, sizeof(reason)));
    ck_assert_str_eq(reason, "no supervisor leads: session 7 holds the leader's lock and does nothing");
    fake_pass(2000);
    fake_answer_lead(false, 0);
    ck_assert(mg_supervisor_lead_is_ready(supervisor, reason, sizeof(reason)));
    fake_pass(2000);
    fake_answer_lead_held("session 7");
    fake_pass(2000);
    fake_answer_lead(true, 100);
    ck_assert(mg_supervisor_lead_is_ready(supervisor, reason, sizeof(reason)));
}
END_TEST

START_TEST(a_lost_session_ends_leading_at_once)
{
    const struct mg_due due = {.order_id = "o-1", .ask = MG_CAUSE_DUE, .step = "reserve", .due_at_ms = 1};
    fake_lead(100);
    fake.is_store_up = false;
    mg_supervisor_lead_session(supervisor, false, "the server went away");
    ck_assert(!supervisor->is_leader);
    ck_assert_double_eq(mg_metric_value(supervisor->leading), 0);
    /* A late answer of an earlier lead causes no command. */
    fake_answer_sweep(&due, 1);
    ck_assert_int_eq(fake.command_count, 0);
    fake_pass(10000);
    ck_assert_int_eq(fake.sweeps, 1);
    ck_assert_int_eq(fake.tries, 1);

    fake.is_store_up = true;
    mg_supervisor_lead_session(supervisor, true, "");
    fake_pass(1); /* not at the next period: there may be no leader */
    ck_assert_int_eq(fake.tries, 2);
}
END_TEST

START_TEST(a_newer_epoch_ends_leading)
{
    fake_lead(100);
    fake_answer_sweep_fenced();
    ck_assert(!supervisor->is_leader);
    fake_pass(200);
    ck_assert_int_eq(fake.sweeps, 1);
    ck_assert_int_eq(fake.command_count, 0);
}
END_TEST

START_TEST(a_leader_without_a_broker_steps_down)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_broker.is_down = true;
    fake_pass(2500);
    ck_assert(supervisor->is_leader); /* a short outage changes nothing */
    fake_pass(1500);
    ck_assert(!supervisor->is_leader);
    ck_assert_int_eq(fake.resigned, 1);
    ck_assert_int_eq(fake.sweeps, 1);
    fake_answer_resigned();
    /* It does not try again before its broker is up, but keeps its session. */
    int kept = fake.kept;
    fake_pass(9000);
    ck_assert_int_eq(fake.tries, 1);
    ck_assert_int_ge(fake.kept, kept + 2);
    fake_broker.is_down = false;
    fake_pass(600);
    ck_assert_int_eq(fake.tries, 2);
}
END_TEST

START_TEST(a_leader_whose_asking_waits_keeps_its_session)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_broker_queue_seen("scheduler.commands", 0, 0);
    for (int i = 0; i < 10; i++) {
        fake_broker_queue_seen("scheduler.commands", 0, 0);
        fake_pass(2000);
    }
    ck_assert(supervisor->is_leader);
    ck_assert_int_ge(fake.kept, 5); /* of 20 s, of which 10 idle ones would end it */
}
END_TEST

START_TEST(a_pooler_is_refused_once_and_not_ready)
{
    char reason[256];
    for (int i = 0; i < 5; i++) {
        fake_pass(500);
        fake_answer_lead_refused("cannot lead through a connection pooler");
    }
    ck_assert_int_eq(fake_log.errors, 1);
    ck_assert(!mg_supervisor_lead_is_ready(supervisor, reason, sizeof(reason)));
    ck_assert_str_eq(reason, "cannot lead through a connection pooler");
    ck_assert_int_eq(fake.sweeps, 0);

    /* Connected anew, past the pooler, it is as good as any. */
    mg_supervisor_lead_session(supervisor, false, "closed");
    mg_supervisor_lead_session(supervisor, true, "");
    fake_pass(500);
    fake_answer_lead(false, 0);
    ck_assert(mg_supervisor_lead_is_ready(supervisor, reason, sizeof(reason)));
}
END_TEST

START_TEST(readiness_names_what_is_away)
{
    char reason[256];
    fake_broker.is_down = true;
    ck_assert(!mg_supervisor_lead_is_ready(supervisor, reason, sizeof(reason)));
    ck_assert_str_eq(reason, "the broker is away");
    fake.is_store_up = false;
    ck_assert(!mg_supervisor_lead_is_ready(supervisor, reason, sizeof(reason)));
    ck_assert_str_eq(reason, "the database is away");
}
END_TEST

START_TEST(ending_gives_the_lock_back)
{
    fake_lead(100);
    mg_supervisor_lead_stop(supervisor);
    ck_assert_int_eq(fake.resigned, 1);
    ck_assert_int_eq(fake_loop_stops(), 0);
    fake_answer_sweep(NULL, 0);
    fake_pass(5000);
    ck_assert_int_eq(fake.sweeps, 1);
    ck_assert_int_eq(fake.tries, 1);
    fake_answer_resigned();
    ck_assert_int_eq(fake_loop_stops(), 1);
}
END_TEST

START_TEST(a_second_signal_ends_without_waiting)
{
    fake_lead(100);
    mg_supervisor_lead_stop(supervisor);
    mg_supervisor_lead_stop(supervisor);
    ck_assert_int_eq(fake_loop_stops(), 1);
    ck_assert_int_eq(fake.resigned, 1);
}
END_TEST

START_TEST(a_standby_ends_at_once)
{
    fake_pass(50);
    mg_supervisor_lead_stop(supervisor);
    ck_assert_int_eq(fake_loop_stops(), 1);
    fake_answer_lead(true, 100); /* the answer under way makes it no leader */
    ck_assert(!supervisor->is_leader);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor_lead");
    TCase *tcase = tcase_create("lead");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, it_leads_once_the_lock_is_taken);
    tcase_add_test(tcase, a_standby_never_asks);
    tcase_add_test(tcase, a_lock_that_is_kept_without_leading_makes_none_ready);
    tcase_add_test(tcase, a_lost_session_ends_leading_at_once);
    tcase_add_test(tcase, a_newer_epoch_ends_leading);
    tcase_add_test(tcase, a_leader_without_a_broker_steps_down);
    tcase_add_test(tcase, a_leader_whose_asking_waits_keeps_its_session);
    tcase_add_test(tcase, a_pooler_is_refused_once_and_not_ready);
    tcase_add_test(tcase, readiness_names_what_is_away);
    tcase_add_test(tcase, ending_gives_the_lock_back);
    tcase_add_test(tcase, a_second_signal_ends_without_waiting);
    tcase_add_test(tcase, a_standby_ends_at_once);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
