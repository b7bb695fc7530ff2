/*
 * The scheduler's laws, between fakes: the moment of each ack, the effects of a cause that is redelivered, a
 * lost race, an unknown commit. Each test names the failure that it would catch.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "base/clock.h"
#include "stage.h"

/* Would catch: a broken path. */
START_TEST(an_order_goes_from_submission_to_processed)
{
    stage_begin("o1");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING);
    ck_assert_str_eq(fake_broker_last("request")->queue, "agent.inventory.requests");
    ck_assert_str_eq(fake_broker_last("request")->correlation, "o1.reserve.1.do");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "\"items\":[14.00]"));
    ck_assert_str_eq(fake_broker_last("status")->message_id, "o1.1");
    ck_assert_str_eq(fake_broker_last("status")->correlation, "c1");
    stage_answer("o1.reserve#1");
    ck_assert_str_eq(fake_broker_last("request")->correlation, "o1.charge.1.do");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "\"ref\":7.50"));
    stage_answer("o1.charge#1");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert_str_eq(fake_broker_last("status")->message_id, "o1.2");
    ck_assert_int_eq(fake_broker.acked, 3);
    ck_assert_int_eq(fake_store_event_count("o1"), 3);
    ck_assert_str_eq(fake_store_event("o1", 2)->cause.data, "o1.charge.1.do:reply");
}
END_TEST

/* Would catch: an ack before the commit, or before the confirms (law 2, ack after effects). */
START_TEST(a_cause_is_acked_only_when_its_effects_are_durable)
{
    fake_store.is_held = true;
    fake_broker.is_held = true;
    stage_begin("o1");
    ck_assert_int_eq(fake_broker.count, 0); /* nothing leaves before the commit */
    ck_assert_int_eq(fake_broker.acked, 0);
    fake_store.is_held = false;
    stage_settle();
    ck_assert_int_eq(fake_broker.count, 2); /* request and status */
    ck_assert_int_eq(fake_broker.acked, 0);
    fake_broker_confirm();
    stage_settle();
    ck_assert_int_eq(fake_broker.acked, 0);
    fake_broker_confirm();
    stage_settle();
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

/* Would catch: an order that waits for a time-out because a process died between commit and publish (law 3,
 * re-creation).
 */
START_TEST(a_cause_that_comes_again_makes_its_effects_again)
{
    stage_begin("o1");
    int requests = fake_broker_count("request"), statuses = fake_broker_count("status");
    stage_submit("o1", true);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), requests + 1);
    ck_assert_int_eq(fake_broker_count("status"), statuses + 1);
    ck_assert_str_eq(fake_broker_last("request")->correlation, "o1.reserve.1.do");
    ck_assert(fake_broker_last("request")->is_again); /* the agent must not report that nothing happened */
    ck_assert_str_eq(fake_broker_last("status")->message_id, "o1.1");
    ck_assert_int_eq(fake_store.commits, 2); /* two copies are out: the step is maybe, which is an event */
    ck_assert_int_eq(fake_store_event_count("o1"), 2);
    ck_assert_int_eq(fake_broker.acked, 2);
    stage_submit("o1", true);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), requests + 2);
    ck_assert_int_eq(fake_store.commits, 2); /* and is written once */

    stage_answer("o1.reserve#1");
    requests = fake_broker_count("request");
    stage_submit("o1", true); /* its attempt is no longer awaited: only the status */
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), requests);
    ck_assert_int_eq(fake_broker_count("status"), statuses + 3);
}
END_TEST

/* Would catch: a duplicate that multiplies messages. */
START_TEST(any_other_duplicate_publishes_nothing)
{
    stage_submit("o1", false);
    stage_answer("o1.reserve#1");
    stage_answer("o1.reserve#1");
    int count = fake_broker.count, commits = fake_store.commits, acked = fake_broker.acked;
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(fake_broker.count, count);
    ck_assert_int_eq(fake_store.commits, commits);
    ck_assert_int_eq(fake_broker.acked, acked + 1);
}
END_TEST

/* Would catch: a decision on an outdated state, or a cause dropped because another instance was quicker (law
 * 4, version guard). */
START_TEST(a_lost_race_is_decided_again)
{
    stage_begin("o1");
    int requests = fake_broker_count("request");
    fake_store.next_commit = FAKE_COMMIT_CONFLICT;
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_int_eq((int)fake_store_order("o1")->order.version, 3); /* the other instance's and ours */
    ck_assert_int_eq(fake_broker_count("request"), requests + 1); /* nothing of the lost decision went out */
    ck_assert_int_eq(fake_broker.acked, 2);
}
END_TEST

/* Would catch: an order lost, or done twice, because a connection died in COMMIT. */
START_TEST(an_unknown_commit_is_run_again)
{
    const enum fake_commit kinds[] = {FAKE_COMMIT_UNKNOWN_DONE, FAKE_COMMIT_UNKNOWN_LOST};
    fake_store.next_commit = kinds[_i];
    stage_begin("o1");
    ck_assert_int_eq(fake_broker.count, 0);
    ck_assert_int_eq(fake_broker.acked, 0);
    fake_loop_advance(6000); /* past the backoff */
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_store_event_count("o1"), kinds[_i] == FAKE_COMMIT_UNKNOWN_DONE ? 2 : 1);
    ck_assert_int_eq(fake_broker_count("request"), 1);
    ck_assert_int_eq(fake_broker_count("status"), 1);
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

/* Would catch: a step lost to a service's full queue, or an ack before the refusal is stored (law 2, ack
 * after effects). */
START_TEST(a_request_that_is_not_taken_parks_its_step_and_only_then_acks)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_REFUSED;
    fake_broker.is_held = true;
    stage_begin("o1");
    fake_store.is_held = true;
    while (fake_broker_confirm()) {
    }
    stage_settle();
    ck_assert_int_eq(fake_broker.acked, 0); /* the stored step is still running */
    fake_store.is_held = false;
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(fake_store_order("o1")->order.steps[0].reason, MG_REASON_UNPUBLISHABLE);
    ck_assert(!fake_store_order("o1")->order.steps[0].is_maybe);
    ck_assert_int_eq((int)fake_store_order("o1")->order.steps[0].failure_count, 0);
    ck_assert_int_eq(fake_broker.acked, 1);
    ck_assert_int_eq(fake_store.alerts, 1);
}
END_TEST

/* Would catch: an alert without its remedy, because the broker's answer came before the queue was first
 * looked at. */
START_TEST(the_alert_of_a_returned_request_names_the_command)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_RETURNED;
    stage_begin("o1");
    ck_assert_int_eq(fake_store.alerts, 1);
    ck_assert_msg(strstr(fake_store.last_alert, "; run: makegood broker apply --service ") != NULL, "%s",
                  fake_store.last_alert);
}
END_TEST

/* Would catch: a cause that is acked although its request is neither confirmed nor stored as refused (law 2,
 * ack after effects). */
START_TEST(a_cause_stays_while_it_cannot_be_written_that_its_request_is_nowhere)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_REFUSED;
    fake_broker.is_held = true;
    stage_submit_from("o1", "[666]", "client", false);
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    fake_store.poisoned = "{\"items\":[666]}";
    while (fake_broker_confirm()) {
    }
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_broker.acked, 0);
    ck_assert_int_eq(stage_scheduler->aside.order_count, 1); /* tried again with its order */
}
END_TEST

/* Would catch: a client without the final status, because the scheduler died between the commit of a refused
 * request and the status that follows. The messages before it are redelivered; it does not. */
START_TEST(a_status_that_follows_from_a_refused_request_is_owed_from_its_commit_on)
{
    fake_broker.is_held = true;
    stage_begin("o1");
    stage_act("c-1 o1 cancel by=ann reason=late");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING); /* its request is still unanswered */
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_REFUSED;
    fake_broker.is_held = false;
    stage_settle();
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_CANCELLED);
    int last = fake_store_event_count("o1") - 1;
    ck_assert_ptr_nonnull(strstr(fake_store_event("o1", last)->statuses.data, "cancelled"));
    ck_assert(fake_store_event("o1", last)->is_owed);
    ck_assert(!fake_store_event("o1", 0)->is_owed); /* its cause is redelivered until it is acked */
}
END_TEST

/* Would catch: an unanswered publish taken as proof that no copy is out. */
START_TEST(an_unanswered_request_may_have_happened)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    stage_begin("o1");
    ck_assert_int_eq(fake_broker_count("request"), 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert(fake_store_order("o1")->order.steps[0].is_maybe);
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

static void assert_command_done(const char *command_id, const char *words)
{
    stage_act("%s o1 %s to=amq.gen-tool", command_id, words);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
}

/* Would catch: a charge for a reservation that was undone before the order began again. */
START_TEST(a_restarted_order_knows_no_result_of_before)
{
    stage_begin("o1");
    stage_answer("o1.reserve#1");
    stage_answer("o1.charge#1 permanent");
    stage_answer("o1.reserve#2 undo");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATED);
    assert_command_done("c-1", "restart by=ann");
    stage_answer("o1.reserve#3 transient");
    int requests = fake_broker_count("request");
    assert_command_done("c-2", "skip step=reserve by=ann");
    ck_assert_int_eq(fake_broker_count("request"), requests);
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_FAILED);
    ck_assert(mg_slice_is(fake_store_order("o1")->steps[1].error_code, "unrenderable"));
}
END_TEST

/* Would catch: steps parked, and an alert for each service, because the broker was restarted. */
START_TEST(messages_lost_with_the_connection_wait_for_the_next_one)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    fake_broker.is_held = true;
    stage_begin("o1");
    fake_broker.is_down = true;
    fake_broker.is_held = false;
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), 1);
    ck_assert_int_eq(fake_broker.acked, 0);
    fake_broker.is_down = false;
    fake_broker.fails_type = NULL;
    fake_broker.options.on_state(fake_broker.options.arg, true, "");
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), 2);
    ck_assert(fake_broker_last("request")->is_again);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_broker.acked, 1);
    ck_assert_int_eq(fake_store.alerts, 0);
}
END_TEST

/* Would catch: a step cleared by one copy's "not executed" while the other copy acts (law 10, sticky maybe).
 * A second copy leaves only after the step is maybe in the store. */
START_TEST(a_step_is_maybe_before_a_second_copy_of_its_request_leaves)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_UNKNOWN;
    fake_broker.is_held = true;
    stage_begin("o1");
    fake_broker.is_down = true; /* both end with the connection */
    fake_broker_confirm();
    fake_broker_confirm();
    fake_broker.is_down = false;
    fake_broker.options.on_state(fake_broker.options.arg, true, "");
    fake_broker.fails_type = NULL;
    fake_store.is_held = true;
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), 1);
    fake_store.is_held = false;
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), 2);
    ck_assert(fake_store_order("o1")->order.steps[0].is_maybe);
    stage_reply("o1.reserve#1 permanent"); /* the first copy's */
    fake_broker.is_held = false;
    stage_settle();
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
}
END_TEST

/* Would catch: an undo that overtakes its do, because the broker refused one copy of a request and holds
 * another (law 11, quiesce). */
START_TEST(a_refused_copy_of_a_request_does_not_end_the_other)
{
    fake_broker.is_held = true;
    stage_begin("o1");
    stage_submit("o1", true); /* redelivered, while the request it made is still unanswered */
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), 2);
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_REFUSED;
    while (stage_step("o1", 0) == MG_STEP_RUNNING && fake_broker_confirm()) { /* up to the first copy */
        stage_settle();
    }
    fake_broker.fails_type = NULL;
    fake_broker.is_held = false;
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    stage_act("c-1 o1 cancel by=ann reason=late");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDO_PENDING);
    ck_assert_int_eq(fake_broker_count("request"), 2);
}
END_TEST

/* Would catch: one bad row that fails its whole batch. */
START_TEST(a_refused_order_waits_alone_and_its_neighbours_go_on)
{
    fake_store.poisoned = "{\"items\":[666]}";
    stage_submit("o1", false);
    stage_submit_from("o2", "[666]", "client", false);
    stage_begin("o3");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING);
    ck_assert_int_eq(stage_order("o3"), MG_ORDER_PROCESSING);
    ck_assert_ptr_null(fake_store_order("o2"));
    ck_assert_int_eq(stage_scheduler->aside.order_count, 1);
    ck_assert_int_eq(fake_broker.rejected, 0);
    ck_assert_int_eq(fake_broker.acked, 2);
}
END_TEST

/* Would catch: a batch that is too large for its memory and is run again unchanged, for ever. */
START_TEST(a_batch_that_is_too_much_at_once_is_taken_apart)
{
    const char *ids[] = {"o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8"};
    fake_store.load_max = 2;
    for (int i = 0; i < 8; i++) {
        stage_submit(ids[i], false);
    }
    for (int i = 0; i < 40; i++) {
        stage_settle();
        fake_loop_advance(6000); /* past the backoff */
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_ptr_nonnull(fake_store_order(ids[i]));
    }
    ck_assert_int_eq(fake_broker.acked, 8);
}
END_TEST

/* Would catch: one order of a newer version that holds up all the others, or is decided without its newer
 * members. */
START_TEST(an_order_that_a_newer_version_wrote_is_left_to_others)
{
    stage_submit("o1", false);
    stage_begin("o2");
    fake_store.unreadable = "o1";
    fake_store_bump("o1");
    stage_reply("o1.reserve#1");
    stage_answer("o2.reserve#1");
    ck_assert_int_eq(stage_step("o2", 0), MG_STEP_DONE);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_broker.acked, 3);
    ck_assert_int_eq(fake_broker.rejected, 0);
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 1); /* goes back to the queue after a while */
    ck_assert_int_lt(fake_broker.options.rank, stage_scheduler->shared.rank); /* and ranks below others */
    stage_act("a-1 o1 expired by=supervisor"); /* will be sent again: kept asks would pile up and end as dead
                                                  letters */
    ck_assert_int_eq(fake_broker.acked, 4);
}
END_TEST

/* Would catch: a scheduler without a store, or with one that takes nothing from it, that receives all
 * messages while others could handle them. */
START_TEST(a_scheduler_that_cannot_store_lets_others_lead)
{
    int64_t rank = fake_broker.options.rank;
    ck_assert_int_lt(rank, 0); /* the time of its start: a later start has less */
    fake_store.options.on_state(fake_store.options.arg, false, "gone");
    ck_assert_int_eq(fake_broker.options.rank, INT64_MIN);
    fake_store.options.on_state(fake_store.options.arg, true, "");
    ck_assert_int_eq(fake_broker.options.rank, rank);
    stage_submit("o1", false);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(fake_broker.options.rank, rank); /* once or twice is a hitch */
        fake_store.next_commit = FAKE_COMMIT_UNKNOWN_LOST;
        stage_settle();
        if (i < 2) {
            fake_loop_advance(5000);
        }
    }
    ck_assert_int_eq(fake_broker.options.rank, INT64_MIN);
    fake_loop_advance(5000);
    stage_settle();
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING);
    ck_assert_int_eq(fake_broker.options.rank, rank);
}
END_TEST

/* Would catch: a message that kills its handler and takes others with it, again and again (law 13, nothing
 * lost). */
START_TEST(a_message_seen_twice_before_is_handled_alone)
{
    stage_submit("o1", false);
    stage_begin("o2");
    int commits = fake_store.commits;
    stage_reply("o1.reserve#1");
    stage_answer("o2.reserve#1 delivered=2");
    ck_assert_int_eq(fake_store.commits, commits + 2);
    ck_assert_int_eq(stage_step("o2", 0), MG_STEP_DONE);
}
END_TEST

/* Would catch: two writes of one order in one batch, or a second cause decided on the state before the
 * first. */
START_TEST(all_causes_of_one_order_are_written_once)
{
    stage_begin("o1");
    int commits = fake_store.commits;
    stage_reply("o1.reserve#1");
    stage_reply("o1.reserve#1");
    stage_answer("o1.charge#1");
    ck_assert_int_eq(fake_store.commits, commits + 1);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert_int_eq(fake_store_event_count("o1"), 3);
    ck_assert_int_eq(fake_broker_count("request"), 1); /* the second was answered before it could go out */
    ck_assert_int_eq(fake_broker.acked, 4);
}
END_TEST

/* Would catch: the same delivery twice in one batch (a connection was lost between), of which one is
 * forgotten. */
START_TEST(a_twin_in_the_same_batch_is_one_order)
{
    stage_submit("o1", false);
    stage_submit("o1", true);
    stage_settle();
    ck_assert_int_eq(fake_store_event_count("o1"), 2); /* submitted, republished */
    ck_assert_int_eq(fake_broker.acked, 2);
}
END_TEST

/* Would catch: full load taken in batches of a few messages, each as expensive for the servers as a large
 * one; a few messages that wait for others that never come. */
START_TEST(a_batch_of_many_is_not_followed_at_once)
{
    const char *ids[] = {"o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8"};
    for (int i = 0; i < 7; i++) {
        stage_submit(ids[i], false);
    }
    stage_settle();
    stage_begin(ids[7]);
    ck_assert_int_eq(fake_broker_count("request"), 8);
    for (int i = 0; i < 8; i++) {
        stage_reply("%s.reserve#1", ids[i]);
    }
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), 16);
    stage_begin("o9");
    ck_assert_ptr_null(fake_store_order("o9"));
    fake_loop_advance(10);
    stage_settle();
    ck_assert_ptr_nonnull(fake_store_order("o9"));
}
END_TEST

/* Would catch: attempts used up by agents that follow an operator's pause. */
START_TEST(a_reply_that_an_operator_paused_the_service_counts_nothing)
{
    stage_begin("o1");
    stage_answer("o1.reserve#1 transient service_paused");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(fake_store_order("o1")->order.steps[0].reason, MG_REASON_SERVICE_PAUSED);
    ck_assert_uint_eq(fake_store_order("o1")->order.failure_count, 0);
}
END_TEST

/* Would catch: failures counted under an earlier attempt's error, although the last attempt had no answer. */
START_TEST(the_last_failure_of_a_step_is_its_latest)
{
    stage_begin("o1");
    stage_answer("o1.reserve#1 transient http_503");
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[0].error_code, "http_503"));
    stage_pass(6000);
    stage_act("c1 o1 due step=reserve attempt=1 by=s");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    stage_act("c2 o1 overdue step=reserve attempt=2 by=s");
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[0].error_code, "http_503")); /* not yet due */
    stage_pass(14000);
    stage_act("c3 o1 overdue step=reserve attempt=2 by=s");
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[0].error_code, "expired"));
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[0].error_text,
                          "the attempt's complete-by passed without a reply"));
}
END_TEST

/* Would catch: deadlines of accepted work that are over at the first reply after the database's clock was
 * set, if no question was asked before. */
START_TEST(a_scheduler_without_work_notices_that_the_clock_of_the_database_is_set)
{
    fake_store.ahead_ms += 3600 * 1000;
    stage_begin("o1");
    struct mg_spared spared = mg_far_clock_spared(&stage_scheduler->shared.db_clock, mg_clock_boot_ms(), 0);
    ck_assert_int_ge(spared.before_ms - spared.after_ms, 3599 * 1000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler flow");
    TCase *flow = tcase_create("flow");
    tcase_add_checked_fixture(flow, stage_start, stage_finish);
    tcase_add_test(flow, an_order_goes_from_submission_to_processed);
    tcase_add_test(flow, a_cause_is_acked_only_when_its_effects_are_durable);
    tcase_add_test(flow, a_cause_that_comes_again_makes_its_effects_again);
    tcase_add_test(flow, any_other_duplicate_publishes_nothing);
    tcase_add_test(flow, a_lost_race_is_decided_again);
    tcase_add_loop_test(flow, an_unknown_commit_is_run_again, 0, 2);
    tcase_add_test(flow, a_request_that_is_not_taken_parks_its_step_and_only_then_acks);
    tcase_add_test(flow, the_alert_of_a_returned_request_names_the_command);
    tcase_add_test(flow, a_cause_stays_while_it_cannot_be_written_that_its_request_is_nowhere);
    tcase_add_test(flow, a_status_that_follows_from_a_refused_request_is_owed_from_its_commit_on);
    tcase_add_test(flow, an_unanswered_request_may_have_happened);
    tcase_add_test(flow, a_restarted_order_knows_no_result_of_before);
    tcase_add_test(flow, messages_lost_with_the_connection_wait_for_the_next_one);
    tcase_add_test(flow, a_step_is_maybe_before_a_second_copy_of_its_request_leaves);
    tcase_add_test(flow, a_refused_copy_of_a_request_does_not_end_the_other);
    tcase_add_test(flow, a_reply_that_an_operator_paused_the_service_counts_nothing);
    tcase_add_test(flow, the_last_failure_of_a_step_is_its_latest);
    tcase_add_test(flow, a_scheduler_without_work_notices_that_the_clock_of_the_database_is_set);
    tcase_add_test(flow, a_refused_order_waits_alone_and_its_neighbours_go_on);
    tcase_add_test(flow, a_batch_that_is_too_much_at_once_is_taken_apart);
    tcase_add_test(flow, an_order_that_a_newer_version_wrote_is_left_to_others);
    tcase_add_test(flow, a_scheduler_that_cannot_store_lets_others_lead);
    tcase_add_test(flow, a_message_seen_twice_before_is_handled_alone);
    tcase_add_test(flow, all_causes_of_one_order_are_written_once);
    tcase_add_test(flow, a_twin_in_the_same_batch_is_one_order);
    tcase_add_test(flow, a_batch_of_many_is_not_followed_at_once);
    suite_add_tcase(suite, flow);
    return run_suite(suite);
}
