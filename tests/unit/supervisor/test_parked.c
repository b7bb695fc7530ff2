/* Steps parked for the gate of their service: the commands about them, their number, and the cases without
 * any. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
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

static const struct mg_parked_queue PAYMENT = {.service = "payment", .is_open = true};
static const struct mg_parked_queue CLOSED = {.service = "payment"};

/* One more sweep is answered, so parked steps are asked about. */
static void turn(void)
{
    fake_pass(250);
    fake_answer_sweep(NULL, 0);
    ck_assert(fake.is_parked_open);
}

/* The leader has the queue in its table, and has seen it. */
static void meet(int64_t ready, int64_t consumers)
{
    fake_answer_sweep(NULL, 0);
    fake_answer_parked(&PAYMENT, 1, NULL, 0);
    fake_broker_queue_seen("agent.payment.requests", ready, consumers);
}

START_TEST(each_ask_becomes_one_command)
{
    meet(0, 2);
    turn();
    struct mg_parked_queue queue = PAYMENT;
    const struct mg_due dues[] = {
        {.ask = MG_CAUSE_DUE, .order_id = "o-1", .step = "charge", .attempt = 2, .is_parked = true},
        {.ask = MG_CAUSE_DUE, .order_id = "o-2", .step = "charge", .attempt = 1, .is_parked = true}};
    queue.asked = 2;
    fake_answer_parked(&queue, 1, dues, 2);
    ck_assert_int_eq(fake.command_count, 2);
    ck_assert_int_eq(fake.commands[1].kind, MG_CAUSE_DUE);
    ck_assert_str_eq(fake.commands[1].order_id, "o-2");
    ck_assert_str_eq(fake.commands[1].step, "charge");
    ck_assert_uint_eq(fake.commands[1].attempt, 1);
}
END_TEST

/* Would catch: a new leader that floods a queue before it has seen it. */
START_TEST(of_a_queue_that_was_not_seen_nothing_is_asked)
{
    fake_answer_sweep(NULL, 0);
    ck_assert_int_eq(fake.room_count, 0);
    fake_answer_parked(&PAYMENT, 1, NULL, 0);
    turn();
    ck_assert_int_eq(fake.room_count, 0);
    ck_assert_int_eq(fake_broker.looks, 1);
}
END_TEST

START_TEST(as_many_are_asked_as_the_window_has_room_for)
{
    meet(900, 2);
    turn();
    ck_assert_int_eq(fake.room_count, 1);
    ck_assert_str_eq(fake.rooms[0].service, "payment");
    ck_assert(!fake.rooms[0].is_high);
    ck_assert_int_eq(fake.rooms[0].room, 100);
    /* Steps asked about since the last look at the queue are on their way there. */
    struct mg_parked_queue queue = PAYMENT;
    queue.asked = 60;
    fake_answer_parked(&queue, 1, NULL, 0);
    turn();
    ck_assert_int_eq(fake.rooms[0].room, 40);
    fake_answer_parked(&PAYMENT, 1, NULL, 0);
    fake_broker_queue_seen("agent.payment.requests", 1000, 2);
    turn();
    ck_assert_int_eq(fake.room_count, 0);
}
END_TEST

START_TEST(of_a_queue_that_nothing_consumes_nothing_is_asked)
{
    meet(0, 0);
    turn();
    ck_assert_int_eq(fake.room_count, 0);
    fake_answer_parked(&PAYMENT, 1, NULL, 0);
    fake_broker_queue_seen("agent.payment.requests", 0, 1);
    turn();
    ck_assert_int_eq(fake.room_count, 1);
}
END_TEST

START_TEST(behind_a_closed_gate_no_queue_is_looked_at)
{
    meet(0, 2);
    turn();
    fake_answer_parked(&CLOSED, 1, NULL, 0);
    int looks = fake_broker.looks;
    turn();
    ck_assert_int_eq(fake.room_count, 0);
    ck_assert_int_eq(fake_broker.looks, looks);
    fake_answer_parked(NULL, 0, NULL, 0); /* nothing is parked any more */
    turn();
    ck_assert_int_eq(fake.room_count, 0);
}
END_TEST

/* Would catch: deadlines that wait in the queue of commands behind thousands of parked steps. */
START_TEST(parked_steps_do_not_fill_the_queue_of_commands)
{
    meet(0, 2);
    fake_broker_queue_seen("scheduler.commands", 450, 2);
    turn();
    ck_assert_int_eq(fake.rooms[0].room, 50);
    fake_answer_parked(&PAYMENT, 1, NULL, 0);
    fake_broker_queue_seen("scheduler.commands", 500, 2);
    fake_pass(250);
    fake_answer_sweep(NULL, 0);
    ck_assert(!fake.is_parked_open);
}
END_TEST

START_TEST(each_queue_has_its_share)
{
    static const struct mg_parked_queue QUEUES[] = {{.service = "payment", .is_open = true},
                                                    {.service = "payment", .is_high = true, .is_open = true}};
    fake_answer_sweep(NULL, 0);
    fake_answer_parked(QUEUES, 2, NULL, 0);
    fake_broker_queue_seen("agent.payment.requests", 0, 2);
    fake_broker_queue_seen("agent.payment.requests.high", 990, 2);
    turn();
    ck_assert_int_eq(fake.room_count, 2);
    ck_assert_int_eq(fake.rooms[0].room, 250);
    ck_assert(fake.rooms[1].is_high);
    ck_assert_int_eq(fake.rooms[1].room, 10);
}
END_TEST

/* Would catch: the steps of the two hundredth service, which wait for ever. */
START_TEST(of_a_queue_that_cannot_be_watched_some_are_asked)
{
    fake_broker.is_unwatchable = true;
    fake_answer_sweep(NULL, 0);
    fake_answer_parked(&PAYMENT, 1, NULL, 0);
    ck_assert_int_eq(fake_log.warnings, 1);
    turn();
    ck_assert_int_eq(fake.rooms[0].room, 50);
}
END_TEST

/* Would catch: a million steps that go out, fail and are parked again at each probe of the service. */
START_TEST(while_a_service_is_probed_one_step_is_asked_about)
{
    struct mg_parked_queue probing = PAYMENT;
    probing.is_probing = true;
    meet(0, 2);
    turn();
    ck_assert_int_gt(fake.rooms[0].room, 1);
    fake_answer_parked(&probing, 1, NULL, 0);
    turn();
    ck_assert_int_eq(fake.room_count, 1);
    ck_assert_int_eq(fake.rooms[0].room, 1);
    probing.asked = 1;
    fake_answer_parked(&probing, 1, NULL, 0);
    turn();
    ck_assert_int_eq(fake.room_count, 0); /* that one is on its way there */
    fake_answer_parked(&PAYMENT, 1, NULL, 0);
    turn();
    ck_assert_int_gt(fake.rooms[0].room, 1);
}
END_TEST

/* Catches: a service that is back, and stays down for minutes behind steps that cannot go out. */
START_TEST(while_no_step_goes_out_that_probes_more_are_asked_about)
{
    struct mg_parked_queue probing = PAYMENT;
    probing.is_probing = true;
    meet(0, 2);
    turn();
    fake_answer_parked(&probing, 1, NULL, 0);
    static const int ROOMS[] = {1, 2, 4, 8};
    for (int i = 0; i < 4; i++) {
        turn();
        ck_assert_int_eq(fake.rooms[0].room, ROOMS[i]);
        probing.asked = ROOMS[i];
        fake_answer_parked(&probing, 1, NULL, 0);
        fake_broker_queue_seen("agent.payment.requests", 0, 2);
    }
    turn();
    ck_assert_int_eq(fake.rooms[0].room, 16);
    probing.asked = 0; /* orders that have ended left them waiting */
    fake_answer_parked(&probing, 1, NULL, 0);
    turn();
    ck_assert_int_eq(fake.rooms[0].room, 32);
    fake_answer_parked(&PAYMENT, 1, NULL, 0); /* it was found well, and then not */
    turn();
    probing.asked = 0;
    fake_answer_parked(&probing, 1, NULL, 0);
    turn();
    ck_assert_int_eq(fake.rooms[0].room, 1);
}
END_TEST

START_TEST(of_a_queue_that_cannot_be_watched_one_probes_too)
{
    struct mg_parked_queue probing = PAYMENT;
    probing.is_probing = fake_broker.is_unwatchable = true;
    fake_answer_sweep(NULL, 0);
    fake_answer_parked(&probing, 1, NULL, 0);
    turn();
    ck_assert_int_eq(fake.rooms[0].room, 1);
}
END_TEST

/* Queues of services gone000 and so on, from the first one on. */
static void name_gone(struct mg_parked_queue *ret_queues, int first, int count)
{
    for (int i = 0; i < count; i++) {
        ret_queues[i] = (struct mg_parked_queue){.is_open = true};
        (void)snprintf(ret_queues[i].service, sizeof(ret_queues[i].service), "gone%03d", first + i);
    }
}

/* Catches: services that are gone and keep all places, so that a healthy one's steps wait for ever. */
START_TEST(queues_that_have_no_parked_steps_make_room_for_others)
{
    static struct mg_parked_queue gone[MG_SUPERVISOR_PARKED_MAX];
    fake_answer_sweep(NULL, 0);
    for (int round = 0; round < 3; round++) {
        name_gone(gone, round * MG_SUPERVISOR_PARKED_MAX, MG_SUPERVISOR_PARKED_MAX);
        fake_answer_parked(gone, MG_SUPERVISOR_PARKED_MAX, NULL, 0);
        turn();
    }
    fake_answer_parked(&PAYMENT, 1, NULL, 0);
    fake_broker_queue_seen("agent.payment.requests", 900, 2);
    turn();
    ck_assert_int_eq(fake.room_count, 1);
    ck_assert_str_eq(fake.rooms[0].service, "payment");
    ck_assert_int_eq(fake.rooms[0].room, 100);
    ck_assert_int_le(fake_broker.watched, MG_SUPERVISOR_QUEUES + MG_SUPERVISOR_PARKED_MAX);
}
END_TEST

static void see_gone(int first, int count)
{
    for (int i = first; i < first + count; i++) {
        char name[MG_QUEUE_NAME_SIZE];
        (void)snprintf(name, sizeof(name), "agent.gone%03d.requests", i);
        fake_broker_queue_seen(name, 0, 2);
    }
}

/* Answers with the next queues of `total`, after the place named in the question. Returns the first. */
static int answer_crowd(int total)
{
    static struct mg_parked_queue queues[MG_SUPERVISOR_PARKED_MAX];
    int first = fake.after.service[0] == '\0' ? 0 : (int)strtol(fake.after.service + 4, NULL, 10) + 1;
    int count = total - first < MG_SUPERVISOR_PARKED_MAX ? total - first : MG_SUPERVISOR_PARKED_MAX;
    name_gone(queues, first, count);
    fake_answer_parked(queues, count, NULL, 0);
    return first;
}

/* Catches: the steps of the two hundred and forty-first service, which wait for ever. */
START_TEST(of_more_queues_than_are_held_each_has_its_turn)
{
    enum { TOTAL = MG_SUPERVISOR_PARKED_MAX + 60 };
    fake_answer_sweep(NULL, 0);
    for (int round = 0; round < 4; round++) {
        int first = answer_crowd(TOTAL), count = round % 2 == 0 ? MG_SUPERVISOR_PARKED_MAX : 60;
        ck_assert_int_eq(first, round % 2 == 0 ? 0 : MG_SUPERVISOR_PARKED_MAX);
        turn(); /* the broker has not answered yet: the same ones are named again */
        ck_assert_int_eq(answer_crowd(TOTAL), first);
        see_gone(first, count);
        turn();
        ck_assert_int_eq(fake.room_count, count);
        ck_assert_int_le(fake_broker.watched, MG_SUPERVISOR_QUEUES + MG_SUPERVISOR_PARKED_MAX);
    }
    fake_pass_quietly(3000);
    ck_assert(fake.is_open[MG_WATCHED_PARKED_CROWD]);
    for (int i = 0; i < 80; i++) { /* 20 seconds */
        fake_answer_parked(NULL, 0, NULL, 0);
        turn();
        if (fake.is_write_open) {
            fake_answer_write();
        }
    }
    ck_assert(!fake.is_open[MG_WATCHED_PARKED_CROWD]);
}
END_TEST

START_TEST(a_queue_without_an_answer_of_the_broker_holds_up_no_turn)
{
    fake_answer_sweep(NULL, 0);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(answer_crowd(MG_SUPERVISOR_PARKED_MAX + 1), 0);
        turn();
    }
    ck_assert_int_eq(answer_crowd(MG_SUPERVISOR_PARKED_MAX + 1), MG_SUPERVISOR_PARKED_MAX);
}
END_TEST

START_TEST(a_question_that_fails_is_asked_again)
{
    meet(0, 2);
    int warnings = fake_log.warnings;
    for (int i = 0; i < 3; i++) {
        turn();
        fake_answer_parked_failed();
    }
    ck_assert_int_eq(fake_log.warnings, warnings + 1);
    ck_assert(supervisor->is_leader);
}
END_TEST

START_TEST(a_leader_of_an_earlier_epoch_steps_down)
{
    fake_answer_sweep(NULL, 0);
    fake_answer_parked_fenced();
    ck_assert(!supervisor->is_leader);
}
END_TEST

/* Would catch: all open orders woken because one command about a parked step was not confirmed. */
START_TEST(an_unconfirmed_ask_wakes_no_step)
{
    const struct mg_due due = {.ask = MG_CAUSE_DUE,
                               .order_id = "o-1",
                               .step = "charge",
                               .due_at_ms = fake_database_ms() + 3600000,
                               .is_parked = true};
    meet(0, 2);
    turn();
    fake.outcome = MG_PUBLISH_UNKNOWN;
    fake_answer_parked(&PAYMENT, 1, &due, 1);
    fake_pass_quietly(3000);
    ck_assert_int_eq(fake.wakes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor_parked");
    TCase *tcase = tcase_create("parked");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, each_ask_becomes_one_command);
    tcase_add_test(tcase, of_a_queue_that_was_not_seen_nothing_is_asked);
    tcase_add_test(tcase, as_many_are_asked_as_the_window_has_room_for);
    tcase_add_test(tcase, of_a_queue_that_nothing_consumes_nothing_is_asked);
    tcase_add_test(tcase, behind_a_closed_gate_no_queue_is_looked_at);
    tcase_add_test(tcase, parked_steps_do_not_fill_the_queue_of_commands);
    tcase_add_test(tcase, each_queue_has_its_share);
    tcase_add_test(tcase, of_a_queue_that_cannot_be_watched_some_are_asked);
    tcase_add_test(tcase, while_a_service_is_probed_one_step_is_asked_about);
    tcase_add_test(tcase, while_no_step_goes_out_that_probes_more_are_asked_about);
    tcase_add_test(tcase, of_a_queue_that_cannot_be_watched_one_probes_too);
    tcase_add_test(tcase, queues_that_have_no_parked_steps_make_room_for_others);
    tcase_add_test(tcase, of_more_queues_than_are_held_each_has_its_turn);
    tcase_add_test(tcase, a_queue_without_an_answer_of_the_broker_holds_up_no_turn);
    tcase_add_test(tcase, a_question_that_fails_is_asked_again);
    tcase_add_test(tcase, a_leader_of_an_earlier_epoch_steps_down);
    tcase_add_test(tcase, an_unconfirmed_ask_wakes_no_step);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
