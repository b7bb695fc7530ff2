/* Queues of clients and services that take nothing: they are left alone for a while, and hold up no other. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"

static int count_to(const char *type, const char *queue)
{
    int count = 0;
    for (int i = 0; i < fake_broker.count; i++) {
        count += strcmp(fake_broker.published[i].type, type) == 0 &&
                 strcmp(fake_broker.published[i].queue, queue) == 0;
    }
    return count;
}

static void submit(const char *order_id, const char *reply_to)
{
    stage_submit_from(order_id, "[14.00]", reply_to, false);
    stage_settle();
}

/* Would catch: a client's queue without its majority, for which all others wait at each of that client's
 * orders. */
START_TEST(a_clients_queue_that_confirms_nothing_is_left_alone)
{
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    submit("o1", "hung");
    ck_assert_int_eq(count_to("status", "hung"), 1);
    ck_assert_int_eq(fake_store.marks, 1);
    fake_broker.fails_type = NULL;
    submit("o2", "hung");
    submit("o3", "well");
    ck_assert_int_eq(count_to("status", "hung"), 1);
    ck_assert_int_eq(fake_store.marks, 2); /* owed, not lost */
    ck_assert_int_eq(count_to("status", "well"), 1);
    ck_assert_int_eq(fake_broker.acked, 3);
}
END_TEST

/* Would catch: a queue that is never tried again; one that gets all its statuses at once, before the first is
 * confirmed. */
START_TEST(a_clients_queue_that_rested_is_tried_with_one_message)
{
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    submit("o1", "hung");
    fake_broker.fails_type = NULL;
    fake_broker.is_held = true;
    stage_rest_over();
    submit("o2", "hung");
    submit("o3", "hung");
    ck_assert_int_eq(count_to("status", "hung"), 2);
    fake_broker.is_held = false;
    stage_settle();
    submit("o4", "hung");
    ck_assert_int_eq(count_to("status", "hung"), 3);
}
END_TEST

/* Would catch: a client's queue that rests because of a status that waited behind another queue's. */
START_TEST(a_status_that_was_never_sent_proves_nothing_about_its_queue)
{
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_UNSENT;
    submit("o1", "client");
    ck_assert_int_eq(stage_scheduler->outbox.silence.count, 0);
    ck_assert_int_eq(fake_store.marks, 1);
    fake_broker.fails_type = NULL;
    submit("o2", "client");
    ck_assert_int_eq(count_to("status", "client"), 2);
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    submit("o3", "hung");
    stage_rest_over();
    fake_broker.failure = MG_PUBLISH_UNSENT;
    submit("o4", "hung");
    ck_assert_int_eq(stage_scheduler->outbox.silence.count, 1); /* the trial gave no result */
}
END_TEST

/* Would catch: a queue that was silent once and returns, and is left alone for ever; rests that do not
 * grow. */
START_TEST(rests_grow_while_nothing_is_confirmed)
{
    struct mg_queue_rest rest = {.ms = 0};
    for (int i = 0; i < 10; i++) {
        int64_t before_ms = rest.ms;
        ck_assert(mg_queue_rest_begin(&rest, true));
        ck_assert_int_ge(rest.ms, before_ms);
        ck_assert(!mg_queue_rest_begin(&rest, true)); /* of a message that left before */
        mg_queue_rest_try(&rest);
    }
    ck_assert_int_eq(rest.ms, 60000);
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    submit("o1", "hung");
    int64_t first_ms = stage_scheduler->outbox.silence.queues[0].rest.ms;
    stage_rest_over();
    submit("o2", "hung");
    ck_assert_int_gt(stage_scheduler->outbox.silence.queues[0].rest.ms, first_ms);
    fake_broker.failure = MG_PUBLISH_RETURNED; /* it is gone: that is an answer */
    stage_rest_over();
    submit("o3", "hung");
    ck_assert_int_eq(stage_scheduler->outbox.silence.count, 0);
}
END_TEST

/* Would catch: statuses of one client that count as its queue's silence because the broker went away. */
START_TEST(messages_lost_with_the_connection_are_no_silence)
{
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    fake_broker.is_held = true;
    submit("o1", "client");
    fake_broker.is_down = true;
    fake_broker.is_held = false;
    stage_settle();
    ck_assert_int_eq(stage_scheduler->outbox.silence.count, 0);
    fake_broker.is_down = false;
    fake_broker.fails_type = NULL;
    fake_broker.options.on_state(fake_broker.options.arg, true, "");
    stage_settle();
    ck_assert_int_eq(count_to("status", "client"), 2);
}
END_TEST

/* Would catch: more silent queues than the table holds, and memory beyond it. */
START_TEST(silent_queues_are_bounded)
{
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    for (int i = 0; i < MG_SILENT_QUEUES_MAX + 5; i++) {
        char name[32];
        snprintf(name, sizeof(name), "hung%d", i);
        mg_silence_begin(&stage_scheduler->outbox.silence, name);
    }
    ck_assert_int_eq(stage_scheduler->outbox.silence.count, MG_SILENT_QUEUES_MAX);
    ck_assert(mg_silence_holds(&stage_scheduler->outbox.silence, "hung68"));
}
END_TEST

static const enum mg_publish_outcome FAILURES[] = {MG_PUBLISH_REFUSED, MG_PUBLISH_RETURNED,
                                                   MG_PUBLISH_UNKNOWN};

/* Would catch: a queue that takes nothing, and rows without end in the stories of all orders that wait for
 * it. */
START_TEST(a_services_queue_that_takes_nothing_is_tried_with_one_request)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = FAILURES[_i];
    submit("o1", "client");
    submit("o2", "client");
    ck_assert_int_eq(fake_broker_count("request"), 1);
    ck_assert_int_eq(stage_step("o2", 0), MG_STEP_WAITING);
    ck_assert_uint_eq(fake_store_order("o2")->order.steps[0].attempt, 0); /* none is used up */
    fake_broker.is_held = true;
    stage_rest_over();
    submit("o3", "client");
    submit("o4", "client");
    ck_assert_int_eq(fake_broker_count("request"), 2);
    fake_broker.fails_type = NULL;
    fake_broker.is_held = false;
    stage_settle(); /* that one was refused: it ended with its failure */
    stage_rest_over();
    submit("o5", "client");
    submit("o6", "client");
    ck_assert_int_ge(fake_broker_count("request"), 4);
}
END_TEST

/* Would catch: a step that waits for the result of a request that never left, and a service's queue that
 * rests for it. */
START_TEST(a_request_that_was_never_sent_did_not_run)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_UNSENT;
    submit("o1", "client");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert(!fake_store_order("o1")->order.steps[0].is_maybe);
    fake_broker.fails_type = NULL;
    submit("o2", "client");
    ck_assert_int_eq(fake_broker_count("request"), 2); /* its queue does not rest */
}
END_TEST

#define ONCE                                                                                                 \
    "{\"workflow\":\"two\",\"version\":1,\"complete_within\":\"15m\",\"on_failure\":\"compensate\","         \
    "\"on_expiry\":\"compensate\",\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","               \
    "\"complete_within\":\"10s\",\"at_most_once\":true,\"on_unknown\":\"operator\","                         \
    "\"retry\":{\"attempts\":1},\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"undo\":\"none\"}]}"

/* Would catch: an innocent service that waits, with an alert, because the connection stalled on another
 * queue. A request that may be sent once was on its way then. */
START_TEST(a_request_lost_with_the_connection_proves_nothing_about_its_queue)
{
    fake_store.definition = ONCE;
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    fake_broker.is_held = true;
    submit("o1", "client");
    fake_broker.is_down = true;
    fake_broker.is_held = false;
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNKNOWN);
    fake_broker.is_down = false;
    fake_broker.fails_type = NULL;
    fake_broker.options.on_state(fake_broker.options.arg, true, "");
    submit("o2", "client");
    ck_assert_int_eq(fake_broker_count("request"), 2);
    ck_assert_int_eq(fake_store.alerts, 0);
}
END_TEST

/* Would catch: a queue that rests on for a trial that was never published: its cause's commit failed, or
 * another cause of its batch overtook it. */
START_TEST(a_trial_that_does_not_go_out_leaves_room_for_another)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    submit("o1", "client");
    fake_broker.fails_type = NULL;
    stage_rest_over();
    fake_store.next_commit = FAKE_COMMIT_UNKNOWN_LOST;
    submit("o2", "client");
    fake_loop_advance(1000);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_silence");
    TCase *cases = tcase_create("silence");
    tcase_add_checked_fixture(cases, stage_start, stage_finish);
    tcase_add_test(cases, a_clients_queue_that_confirms_nothing_is_left_alone);
    tcase_add_test(cases, a_clients_queue_that_rested_is_tried_with_one_message);
    tcase_add_test(cases, a_status_that_was_never_sent_proves_nothing_about_its_queue);
    tcase_add_test(cases, rests_grow_while_nothing_is_confirmed);
    tcase_add_test(cases, messages_lost_with_the_connection_are_no_silence);
    tcase_add_test(cases, silent_queues_are_bounded);
    tcase_add_loop_test(cases, a_services_queue_that_takes_nothing_is_tried_with_one_request, 0, 3);
    tcase_add_test(cases, a_request_that_was_never_sent_did_not_run);
    tcase_add_test(cases, a_request_lost_with_the_connection_proves_nothing_about_its_queue);
    tcase_add_test(cases, a_trial_that_does_not_go_out_leaves_room_for_another);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
