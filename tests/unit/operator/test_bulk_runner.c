/* The runner of bulk actions turn by turn. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "operator/bulk_runner.h"
#include "world.h"

#define ENOUGH_MS 60000 /* longer than any bulk action here takes */
#define RESEND_MS 2000

static struct mg_bulk_runner *runner;

static void begin(int orders, double rate)
{
    struct mg_err err;
    fake_begin();
    snprintf(fake.row.bulk_id, sizeof(fake.row.bulk_id), BULK_ID);
    snprintf(fake.row.reason, sizeof(fake.row.reason), "it is back");
    snprintf(fake.row.by, sizeof(fake.row.by), "anna");
    fake.row.verb = MG_CAUSE_RESUME;
    fake.row.version = (uint64_t)orders * 1000;
    fake.row.bulk = (struct mg_bulk){.state = MG_BULK_CANARY,
                                     .canary = 5,
                                     .stop_percent = 10,
                                     .spacing_us = mg_bulk_spacing_us(rate),
                                     .next_us = NOW_US};
    for (int i = 0; i < orders; i++) {
        fake.orders[i] = (struct fake_order){.version = 7, .state = MG_ORDER_ERROR};
    }
    const struct mg_bulk_runner_options options = {.holder = "runner-1"};
    ck_assert_int_eq(mg_bulk_runner_start(NULL, &options, &runner, &err), MG_OK);
    ck_assert(fake.store.is_leader_session && fake.store.lead == MG_LEAD_BULK);
    /* The tool has no option to allow it: doctor reports the unsafe setting instead. */
    ck_assert(fake.store.is_unsafe_durability_allowed);
}

static void finish(void)
{
    mg_bulk_runner_stop(runner);
}

static void pass_until_sent(int count)
{
    for (int64_t ms = 0; fake.sent_count < count && ms < ENOUGH_MS; ms += 50) {
        fake_loop_pass(50);
    }
    ck_assert_int_eq(fake.sent_count, count);
}

/* Would catch: a canary that is not waited for; a bulk action that never ends; commands without distinct ids,
 * within a bulk action or between two; a command that is under way during an upgrade and gets another id. */
START_TEST(the_canary_first_then_the_rest)
{
    begin(60, 100);
    fake_loop_pass(ENOUGH_MS / 60);
    ck_assert_int_eq(fake.sent_count, 5);
    ck_assert_int_eq(fake.sent[0].kind, MG_CAUSE_RESUME);
    ck_assert_uint_eq(fake.sent[0].version, 7);
    ck_assert_str_eq(fake.sent[0].by, "anna");
    ck_assert_str_eq(fake.sent[0].reason, "it is back (bulk action " BULK_ID ")");
    /* uuid.uuid5(Makegood's namespace, "5:batch:" BULK_ID ".o-0.7") of Python: the id of every version. */
    ck_assert_str_eq(fake.sent[0].command_id, "6e9326cd-1e61-5d8e-9a3d-056b57576457");
    ck_assert_str_ne(fake.sent[0].command_id, fake.sent[1].command_id);
    fake_end_all(MG_ORDER_PROCESSED);
    pass_until_sent(60);
    for (int i = 0; i < 60; i++) {
        ck_assert_int_eq(fake.orders[i].sent, 1);
    }
    fake_end_all(MG_ORDER_COMPENSATED);
    fake_loop_pass(1000);
    ck_assert(fake.is_ended);
    ck_assert_int_eq(fake.row.bulk.state, MG_BULK_DONE);
    ck_assert_int_eq(fake_count(MG_BULK_RESULT_DONE), 60);
    ck_assert_int_eq(fake.alert_count, 0);
    finish();
}
END_TEST

START_TEST(a_canary_that_fails_stops_it_and_is_reported_once)
{
    begin(60, 100);
    fake_loop_pass(1000);
    fake_end_all(MG_ORDER_ERROR);
    fake_loop_pass(ENOUGH_MS);
    ck_assert_int_eq(fake.sent_count, 5);
    ck_assert(fake.is_ended);
    ck_assert_int_eq(fake.row.bulk.state, MG_BULK_STOPPED);
    ck_assert_int_eq(fake_count(MG_BULK_RESULT_FAILED), 5);
    ck_assert_int_eq(fake_count(MG_BULK_RESULT_SKIPPED), 55);
    ck_assert_int_eq(fake.alert_count, 1);
    ck_assert_int_eq(fake.alert.alert, MG_ALERT_BULK_STOPPED);
    ck_assert_str_eq(fake.alert.subject, BULK_ID);
    ck_assert_msg(strstr(fake.alert.text, "5 failed again") != NULL, "%s", fake.alert.text);
    ck_assert_str_eq(fake.alert.text, fake.why);
    finish();
}
END_TEST

/* A refused command leaves its order as it was: the answer is its only effect. */
/* Would catch: a bulk action that stops itself on orders whose state does not allow its verb. */
START_TEST(an_order_that_does_not_allow_the_verb_is_skipped_and_one_that_is_not_found_has_failed)
{
    begin(5, 100);
    fake.row.bulk.stop_percent = 100;
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    fake_answer(0, MG_COMMAND_CONFLICT, 7, "settle it");
    fake_answer(1, MG_COMMAND_CONFLICT, 8, "it has changed");
    fake.orders[1].version = 8;
    snprintf(fake.orders[1].cause, sizeof(fake.orders[1].cause), "another's");
    fake_answer(2, MG_COMMAND_NOT_FOUND, 0, "no such order");
    fake_answer(3, MG_COMMAND_DONE, 8, "");
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.orders[0].result, MG_BULK_RESULT_SKIPPED);
    ck_assert_int_eq(fake.orders[1].result, MG_BULK_RESULT_SKIPPED);
    ck_assert_int_eq(fake.orders[2].result, MG_BULK_RESULT_FAILED);
    ck_assert_int_eq(fake.orders[3].result, MG_BULK_RESULT_ASKED);
    ck_assert_int_eq(fake.orders[4].result, MG_BULK_RESULT_ASKED);
    fake_end_all(MG_ORDER_PROCESSED);
    fake_loop_pass(1000);
    ck_assert_int_eq(fake_count(MG_BULK_RESULT_DONE), 2);
    ck_assert(fake.is_ended);
    finish();
}
END_TEST

/* Would catch: a bulk action that stops because a session has locked one of its first orders. */
START_TEST(an_order_that_waits_for_the_database_is_asked_again)
{
    begin(5, 100);
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    fake_answer(0, MG_COMMAND_INVALID, 0, "the database refuses this order's rows: a lock (55P03)");
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.orders[0].result, MG_BULK_RESULT_ASKED);
    fake_loop_pass(3000);
    ck_assert_int_ge(fake.sent_count, 6);
    fake_end_all(MG_ORDER_PROCESSED);
    fake_loop_pass(1000);
    ck_assert_int_eq(fake_count(MG_BULK_RESULT_DONE), 5);
    ck_assert(fake.is_ended);
    finish();
}
END_TEST

/* Would catch: orders that fail anew and are undone, counted as orders that went well. */
START_TEST(an_order_undone_instead_of_going_forward_has_failed)
{
    begin(60, 100);
    fake_loop_pass(1000);
    fake.is_turned = true;
    fake_end_all(MG_ORDER_COMPENSATED);
    fake_loop_pass(ENOUGH_MS);
    ck_assert_int_eq(fake.row.bulk.state, MG_BULK_STOPPED);
    ck_assert_int_eq(fake.sent_count, 5);
    ck_assert_int_eq(fake_count(MG_BULK_RESULT_FAILED), 5);
    ck_assert_str_eq(fake.orders[0].text, "the order was compensated or cancelled");
    finish();
}
END_TEST

/* Would catch: a bulk action that goes on without a live scheduler, so that all its commands are taken at
 * once later. */
START_TEST(commands_without_a_taker_do_not_pile_up)
{
    begin(ORDERS, 5);
    fake.row.bulk.canary = 0;
    fake_loop_pass(ENOUGH_MS);
    ck_assert_int_eq(fake.asked_to, 7);
    for (int i = 0; i < 7; i++) {
        fake_answer(i, MG_COMMAND_CONFLICT, 7, "settle it");
    }
    fake.row.bulk.stop_percent = 100;
    fake_loop_pass(ENOUGH_MS);
    ck_assert_int_eq(fake.asked_to, 14);
    fake_end_all(MG_ORDER_PROCESSING); /* under way is not done, but taken */
    fake_loop_pass(500);
    ck_assert_int_gt(fake.asked_to, 14);
    finish();
}
END_TEST

/* Law 3, re-creation. Would catch: an order that is lost with the runner that had marked it; one that becomes
 * another cause when the next runner asks for it. */
START_TEST(orders_marked_by_a_dead_runner_are_requested_by_the_next_as_the_same_cause)
{
    begin(60, 100);
    fake_loop_pass(1000);
    struct mg_command first = fake.sent[0];
    finish();
    fake.sent_count = 0;
    struct mg_err err;
    const struct mg_bulk_runner_options options = {.holder = "runner-1"};
    ck_assert_int_eq(mg_bulk_runner_start(NULL, &options, &runner, &err), MG_OK);
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    ck_assert_str_eq(fake.sent[0].command_id, first.command_id);
    ck_assert_str_eq(fake.sent[0].order_id, first.order_id);
    finish();
}
END_TEST

START_TEST(a_command_without_an_answer_is_sent_again_ever_more_seldom)
{
    begin(1, 100);
    fake_loop_pass(500);
    ck_assert_int_eq(fake.sent_count, 1);
    fake_loop_pass(RESEND_MS - 1000);
    ck_assert_int_eq(fake.sent_count, 1);
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.sent_count, 2);
    fake_loop_pass(3000);
    ck_assert_int_eq(fake.sent_count, 2);
    fake_loop_pass(INT64_C(2) * 3600 * 1000);
    ck_assert_int_lt(fake.sent_count, 30);
    fake.client.on_place(fake.client.arg); /* a new reply queue: earlier answers are lost */
    int before = fake.sent_count;
    fake_loop_pass(500);
    ck_assert_int_eq(fake.sent_count, before + 1);
    fake.orders[0].version = 8; /* it goes on */
    fake.orders[0].state = MG_ORDER_PROCESSING;
    memcpy(fake.orders[0].cause, fake.sent[0].command_id, sizeof(fake.orders[0].cause));
    fake_loop_pass(INT64_C(2) * 3600 * 1000);
    ck_assert_int_eq(fake.sent_count, before + 1);
    finish();
}
END_TEST

/* Would catch: a bulk action that asks for nothing more as long as orders end, or for more than may be under
 * way. */
START_TEST(a_fast_bulk_action_is_driven_as_fast_as_its_orders_end)
{
    begin(ORDERS, 1000);
    for (int i = 0; i < 1000 && !fake.is_ended; i++) {
        fake_loop_pass(1);
        fake_end_all(MG_ORDER_PROCESSED);
    }
    fake_loop_pass(1000);
    ck_assert(fake.is_ended);
    ck_assert_int_eq(fake_count(MG_BULK_RESULT_DONE), ORDERS);
    finish();
}
END_TEST

START_TEST(no_more_are_marked_than_can_be_sent)
{
    begin(60, 100);
    fake.is_broker_up = false;
    fake_loop_pass(10000);
    ck_assert_int_eq(fake.tries, 0); /* without a broker others lead */
    ck_assert_int_gt(fake.keeps, 1);
    fake.is_broker_up = true;
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    fake_end_all(MG_ORDER_PROCESSED);
    fake_loop_pass(20);
    fake.is_broker_up = false;
    fake_loop_pass(3000);
    int marked = fake_count(MG_BULK_RESULT_ASKED);
    int sent = fake.sent_count;
    ck_assert_int_eq(fake.asked_to, sent);
    ck_assert_int_le(marked, sent);
    ck_assert_int_eq(fake.resigned, 0);
    fake_loop_pass(10000);
    ck_assert_int_eq(fake.resigned, 1);
    ck_assert_int_eq(fake.asked_to, sent);
    finish();
}
END_TEST

START_TEST(a_command_of_an_operator_in_between_counts)
{
    begin(60, 100);
    fake.is_paused_meanwhile = true;
    fake_loop_pass(10000);
    ck_assert_int_eq(fake.sent_count, 0);
    ck_assert_int_eq(fake.row.bulk.state, MG_BULK_PAUSED);
    fake.row.bulk.state = MG_BULK_CANARY;
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    finish();
}
END_TEST

START_TEST(a_runner_that_does_not_lead_writes_nothing_and_retries)
{
    begin(60, 100);
    fake.is_held_by_other = true;
    fake_loop_pass(5000);
    ck_assert_int_ge(fake.tries, 9);
    ck_assert_int_eq(fake.looks, 0);
    fake.is_held_by_other = false;
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    fake_end_all(MG_ORDER_PROCESSED);
    fake.is_held_by_other = fake.is_fenced = true;
    int writes = fake.writes;
    fake_loop_pass(5000);
    ck_assert_int_eq(fake.writes, writes + 1);
    ck_assert_int_eq(fake.sent_count, 5);
    fake.is_held_by_other = false;
    fake_loop_pass(1000);
    ck_assert_int_gt(fake.sent_count, 5);
    finish();
}
END_TEST

/* Would catch: two runners that both send commands, because one does not detect that another leads
 * meanwhile. */
START_TEST(a_succeeded_runner_detects_it_before_the_next_request)
{
    begin(60, 100);
    fake_loop_pass(1500);
    ck_assert_int_eq(fake.sent_count, 5);
    int looks = fake.looks, writes = fake.writes;
    fake.is_held_by_other = fake.is_fenced = true;
    fake_loop_pass(10000); /* no order ends, so no write shows the loss of the lead */
    ck_assert_int_eq(fake.writes, writes);
    ck_assert_int_le(fake.looks - looks, 2000 / 250 + 1);
    looks = fake.looks;
    fake_end_all(MG_ORDER_PROCESSED);
    fake_loop_pass(10000);
    ck_assert_int_eq(fake.looks, looks);
    ck_assert_int_eq(fake.writes, writes);
    ck_assert_int_eq(fake.sent_count, 5);
    finish();
}
END_TEST

/* Would catch: a runner that cannot lead and logs so twice a second, or never; one that logs nothing about a
 * database that is away. */
START_TEST(an_obstacle_is_logged_once)
{
    begin(60, 100);
    fake.refusal = "behind a pooler";
    fake_loop_pass(10000);
    ck_assert_int_ge(fake.tries, 10);
    ck_assert_int_eq(fake_log.loud, 1);
    ck_assert_int_eq(fake.looks, 0);
    fake.refusal = NULL;
    fake_loop_pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    fake.fails_keep = true;
    fake_loop_pass(10000);
    ck_assert_int_eq(fake_log.loud, 2);
    fake.fails_keep = false;
    fake_end_all(MG_ORDER_PROCESSED);
    fake_loop_pass(2000);
    ck_assert_int_gt(fake.sent_count, 5);
    finish();
}
END_TEST

START_TEST(a_database_that_fails_is_queried_again_and_logged_once)
{
    begin(60, 100);
    fake_loop_pass(1000);
    int warnings = fake_log.loud;
    fake.fails_look = true;
    fake_loop_pass(10000);
    ck_assert_int_eq(fake_log.loud, warnings + 1);
    fake.fails_look = false;
    fake_end_all(MG_ORDER_PROCESSED);
    fake_loop_pass(1000);
    fake.fails_write = true;
    fake_end_all(MG_ORDER_PROCESSED);
    fake_loop_pass(10000);
    ck_assert_int_eq(fake_log.loud, warnings + 2);
    fake.fails_write = false;
    fake.is_store_up = false;
    fake.store.on_state(fake.store.arg, false, "the test says so");
    fake_loop_pass(5000);
    fake.is_store_up = true;
    fake.store.on_state(fake.store.arg, true, "");
    fake_loop_pass(1000);
    ck_assert(fake.is_ended);
    ck_assert_int_eq(fake.sent_count, 60);
    finish();
}
END_TEST

/* Would catch: one bulk action that cannot be written and holds up all later ones. */
START_TEST(a_bulk_action_that_cannot_be_written_keeps_no_other_waiting)
{
    begin(60, 100);
    fake.has_older = true;
    int warnings = fake_log.loud;
    fake_loop_pass(2000);
    ck_assert_int_eq(fake.sent_count, 5);
    fake_end_all(MG_ORDER_PROCESSED);
    pass_until_sent(60);
    fake_end_all(MG_ORDER_PROCESSED);
    fake_loop_pass(2000);
    ck_assert(fake.is_ended);
    ck_assert_int_eq(fake_log.loud, warnings + 1);
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("operator: bulk runner");
    TCase *tests = tcase_create("bulk_runner");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_canary_first_then_the_rest);
    tcase_add_test(tests, a_canary_that_fails_stops_it_and_is_reported_once);
    tcase_add_test(tests,
                   an_order_that_does_not_allow_the_verb_is_skipped_and_one_that_is_not_found_has_failed);
    tcase_add_test(tests, an_order_that_waits_for_the_database_is_asked_again);
    tcase_add_test(tests, an_order_undone_instead_of_going_forward_has_failed);
    tcase_add_test(tests, commands_without_a_taker_do_not_pile_up);
    tcase_add_test(tests, orders_marked_by_a_dead_runner_are_requested_by_the_next_as_the_same_cause);
    tcase_add_test(tests, a_command_without_an_answer_is_sent_again_ever_more_seldom);
    tcase_add_test(tests, a_fast_bulk_action_is_driven_as_fast_as_its_orders_end);
    tcase_add_test(tests, no_more_are_marked_than_can_be_sent);
    tcase_add_test(tests, a_command_of_an_operator_in_between_counts);
    tcase_add_test(tests, a_runner_that_does_not_lead_writes_nothing_and_retries);
    tcase_add_test(tests, a_succeeded_runner_detects_it_before_the_next_request);
    tcase_add_test(tests, an_obstacle_is_logged_once);
    tcase_add_test(tests, a_database_that_fails_is_queried_again_and_logged_once);
    tcase_add_test(tests, a_bulk_action_that_cannot_be_written_keeps_no_other_waiting);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
