/* Lines of keys: turns that were lost, figures, and the alert about held ones. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "world.h"

static struct mg_supervisor *supervisor;

static void setup(void)
{
    supervisor = fake_start();
    fake_lead(0);
}

static const char *const TURNS[][FAKE_COLUMNS] = {{"o-1", "0"}, {"o-2", "3"}};

/* Would catch: a line that stands for ever after the loss of one message. */
START_TEST(a_turn_that_was_not_taken_is_asked_for_until_it_is)
{
    fake_answer_sweep(NULL, 0);
    fake.turns = TURNS;
    fake.turn_count = 2;
    fake_pass_quietly(2500);
    ck_assert_int_eq(fake.command_count, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(fake.commands[i].kind, MG_CAUSE_TURN);
        ck_assert_str_eq(fake.commands[i].order_id, TURNS[i][0]);
        ck_assert_uint_eq(fake.commands[i].generation, i == 0 ? 0 : 3);
    }
    fake_pass_quietly(2000);
    ck_assert_int_eq(fake.command_count, 4);
    ck_assert_str_eq(fake.commands[0].command_id,
                     fake.commands[2].command_id); /* the same question, one cause */
    fake.turn_count = 0;
    fake_pass_quietly(10000);
    ck_assert_int_eq(fake.command_count, 4);
}
END_TEST

/* orders, oldest_ms, held, order_id, others */
static const char *const FREE[][FAKE_COLUMNS] = {{"7", "65000", "0"}};
static const char *const HELD[][FAKE_COLUMNS] = {{"7", "65000", "2", "o-1", "5"}};

START_TEST(a_held_line_is_an_alert_while_it_lasts)
{
    fake_answer_sweep(NULL, 0);
    fake.lines = FREE;
    fake_pass_quietly(30000);
    ck_assert_int_eq(fake.alerts_sent_count, 0);
    ck_assert_double_eq(mg_metric_value(supervisor->lines_waiting), 7);
    ck_assert_double_eq(mg_metric_value(supervisor->line_oldest), 65);
    fake.lines = HELD;
    fake_pass_quietly(20000);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    ck_assert_int_eq(fake.alerts_sent[0].alert, MG_ALERT_LINE_HELD);
    ck_assert_ptr_nonnull(
        strstr(fake.alerts_sent[0].text, "order o-1 is in error or set aside, and 5 others wait"));
    fake_pass_quietly(60000);
    ck_assert_int_eq(fake.alerts_sent_count, 1);
    fake.lines = FREE;
    fake_pass_quietly(60000);
    ck_assert_int_eq(fake.alerts_sent_count, 2);
    ck_assert(fake.alerts_sent[1].is_closed);
}
END_TEST

START_TEST(a_failed_look_is_logged_once)
{
    fake_answer_sweep(NULL, 0);
    fake.is_lines_unreadable = true;
    int before = fake_log.warnings;
    fake_pass_quietly(40000);
    ck_assert_int_eq(fake_log.warnings, before + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor line_watch");
    TCase *tests = tcase_create("lines");
    tcase_add_checked_fixture(tests, setup, fake_finish);
    tcase_add_test(tests, a_turn_that_was_not_taken_is_asked_for_until_it_is);
    tcase_add_test(tests, a_held_line_is_an_alert_while_it_lasts);
    tcase_add_test(tests, a_failed_look_is_logged_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
