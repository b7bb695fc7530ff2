/* The leader's moves of ended orders to the archive: period, number, and the log when it cannot. */
#include <check.h>
#include <string.h>

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

static const struct mg_retire_answer OFF = {.outcome = MG_RETIRE_OFF};
static const struct mg_retire_answer NOTHING = {.outcome = MG_RETIRE_MOVED, .oldest_ms = 5000};
static const struct mg_retire_answer FULL = {.outcome = MG_RETIRE_MOVED, .moved = 20, .is_full = true};
static const struct mg_retire_answer ROUND = {
    .outcome = MG_RETIRE_MOVED, .moved = 3, .is_round = true, .oldest_ms = 4000};
static const struct mg_retire_answer NO_PARTITION = {.outcome = MG_RETIRE_NO_PARTITION};

/* Answers each question with `answer` for so long; the database takes `took_ms` for it. */
static void answer_for(int64_t ms, const struct mg_retire_answer *answer, int64_t took_ms)
{
    for (int64_t end_ms = fake_clock.boot_ms + ms; fake_clock.boot_ms < end_ms;) {
        if (fake.is_retire_open) {
            fake_pass_quietly(took_ms);
            fake_answer_retire(answer);
        }
        fake_pass_quietly(50);
    }
}

static int alerts_count(bool is_closed)
{
    int count = 0;
    for (int i = 0; i < fake.alerts_sent_count; i++) {
        count += fake.alerts_sent[i].alert == MG_ALERT_RETENTION_STANDS &&
                 fake.alerts_sent[i].is_closed == is_closed;
    }
    return count;
}

/* Would catch: a standby that moves orders; a former leader that goes on. */
START_TEST(only_the_leader_moves)
{
    fake_pass(50);
    fake_answer_lead(false, 0);
    fake_pass(20000);
    ck_assert_int_eq(fake.retires, 0);
    fake_answer_lead(true, 100);
    fake_pass_quietly(2000);
    ck_assert_int_eq(fake.retires, 1);
    mg_supervisor_lead_lost(supervisor, "the test says so");
    fake_answer_retire(&FULL);
    fake_pass(20000);
    ck_assert_int_eq(fake.retires, 1);
}
END_TEST

/* Would catch: a leader that goes on moving while it ends, or takes the answer of another lead for its
 * own. */
START_TEST(an_ending_or_succeeded_leader_moves_no_more)
{
    const struct mg_retire_answer fenced = {.outcome = MG_RETIRE_FENCED, .moved = 3, .is_full = true};
    fake_lead(100);
    fake_pass_quietly(2000);
    fake_answer_retire(&fenced);
    ck_assert(shows("\nmakegood_orders_retired_total 0\n"));
    fake_pass_quietly(500);
    ck_assert_int_eq(fake.retires, 1); /* not at once, as after a full bite */
    fake_pass_quietly(1500);
    ck_assert_int_eq(fake.retires, 2);
    supervisor->is_stopping = true;
    fake_answer_retire(&FULL);
    fake_pass_quietly(20000);
    ck_assert_int_eq(fake.retires, 2);
}
END_TEST

/* Would catch: installations without a policy that ask every second; moving that takes all of the database's
 * time, or that falls behind. */
START_TEST(it_asks_as_often_as_there_is_reason_to)
{
    fake_lead(100);
    answer_for(60000, &OFF, 0);
    ck_assert_int_ge(fake.retires, 4);
    ck_assert_int_le(fake.retires, 5);
    fake.retires = 0;
    answer_for(30000, &NOTHING, 0);
    ck_assert_int_ge(fake.retires, 13);
    ck_assert_int_le(fake.retires, 30);
    fake.retires = 0;
    answer_for(10000, &FULL, 50);
    ck_assert_int_ge(fake.retires, 60);
    ck_assert_int_le(fake.retires, 101);
}
END_TEST

/* Would catch: bites that hold up other work for longer than a blink; bites that never grow. */
START_TEST(a_bite_is_as_large_as_can_be_done_in_a_blink)
{
    fake_lead(100);
    answer_for(20000, &FULL, 0);
    ck_assert_int_eq(fake.bite, 500);
    answer_for(3000, &FULL, 150);
    ck_assert_int_lt(fake.bite, 10);
    ck_assert_int_ge(fake.bite, 1);
    int before = fake.bite;
    answer_for(3000, &FULL, 50);
    ck_assert_int_eq(fake.bite, before);
    for (int i = 0; i < 10; i++) {
        fake_pass_quietly(6000);
        fake_answer_retire_failed();
    }
    fake_pass_quietly(6000);
    ck_assert_int_eq(fake.bite, 1);
}
END_TEST

/* Would catch: orders that leave while deadlines are found late. */
START_TEST(deadlines_come_first)
{
    fake_lead(100);
    supervisor->lag_ms = 1500;
    fake_pass(10000);
    ck_assert_int_eq(fake.retires, 0);
    supervisor->lag_ms = 0;
    fake_pass(1000);
    ck_assert_int_eq(fake.retires, 1);
}
END_TEST

/* Would catch: tables that grow for weeks without an alert; an alert that never closes. */
START_TEST(a_leader_that_cannot_move_logs_it_and_its_end)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    answer_for(5000, &NO_PARTITION, 0);
    ck_assert_int_eq(alerts_count(false), 1);
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "run makegood db retain"));
    ck_assert_str_eq(fake.alerts_sent[0].subject, "archive");
    answer_for(60000, &NO_PARTITION, 0);
    ck_assert_int_eq(alerts_count(false), 1);
    answer_for(30000, &NOTHING, 0);
    ck_assert_int_eq(alerts_count(true), 1);
}
END_TEST

/* Would catch: an alert for a lock that was held for a moment; none for a disk that stays full. */
START_TEST(a_lasting_failure_is_reported)
{
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    fake_pass_quietly(2000);
    fake_answer_retire_failed();
    answer_for(70000, &NOTHING, 0);
    ck_assert_int_eq(alerts_count(false), 0);
    for (int i = 0; i < 14; i++) {
        fake_pass_quietly(5100);
        fake_answer_retire_failed();
    }
    fake_pass_quietly(5000);
    ck_assert_int_eq(alerts_count(false), 1);
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "the disk is full"));
}
END_TEST

/* Would catch: an order that stays for ever without an alert, or makes the others stay, too. */
START_TEST(an_order_that_is_passed_by_is_named)
{
    struct mg_retire_answer answer = {.outcome = MG_RETIRE_MOVED, .moved = 5, .failure = "order o-5: no"};
    fake_lead(100);
    fake_answer_sweep(NULL, 0);
    answer_for(10000, &answer, 0);
    ck_assert_int_eq(alerts_count(false), 1);
    ck_assert_ptr_nonnull(strstr(fake.alerts_sent[0].text, "order o-5: no"));
    ck_assert_int_ge(fake.retires, 5);
    answer_for(60000, &NOTHING, 0);
    ck_assert_int_eq(alerts_count(true), 1);
}
END_TEST

/* Would catch: figures that count a move that failed, or show the age of one page as that of all. */
START_TEST(moved_and_remaining_orders_are_shown)
{
    fake_lead(100);
    answer_for(1900, &NOTHING, 0);
    ck_assert(!shows("\nmakegood_order_finished_oldest_age_seconds "));
    ck_assert(shows("\nmakegood_orders_retired_total 0\n"));
    answer_for(1000, &ROUND, 0);
    ck_assert(shows("\nmakegood_orders_retired_total 3\n"));
    ck_assert(shows("\nmakegood_order_finished_oldest_age_seconds 5\n"));
    answer_for(1000, &ROUND, 0);
    ck_assert(shows("\nmakegood_order_finished_oldest_age_seconds 4\n"));
    mg_supervisor_lead_lost(supervisor, "the test says so");
    ck_assert(!shows("\nmakegood_order_finished_oldest_age_seconds "));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor retire");
    TCase *tests = tcase_create("retire");
    tcase_add_checked_fixture(tests, setup, fake_finish);
    tcase_add_test(tests, only_the_leader_moves);
    tcase_add_test(tests, an_ending_or_succeeded_leader_moves_no_more);
    tcase_add_test(tests, it_asks_as_often_as_there_is_reason_to);
    tcase_add_test(tests, a_bite_is_as_large_as_can_be_done_in_a_blink);
    tcase_add_test(tests, deadlines_come_first);
    tcase_add_test(tests, a_leader_that_cannot_move_logs_it_and_its_end);
    tcase_add_test(tests, a_lasting_failure_is_reported);
    tcase_add_test(tests, an_order_that_is_passed_by_is_named);
    tcase_add_test(tests, moved_and_remaining_orders_are_shown);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
