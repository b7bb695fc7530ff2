/* The scheduler's handling of submissions, commands and owed statuses; its inbox; its end. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"
#include "standstill.h"

/* Would catch: a client that comes back and receives nothing, or receives it at its old queue. */
START_TEST(the_same_order_from_another_place_is_attached_there)
{
    stage_begin("o1");
    stage_submit_from("o1", "[14.00]", "client-2", false);
    stage_settle();
    ck_assert_str_eq(fake_broker_last("status")->queue, "client-2");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"accepted\""));
    ck_assert_int_eq(fake_store_event_count("o1"), 2);
    ck_assert_int_eq(fake_store_event("o1", 1)->cause_kind, MG_CAUSE_REATTACHED);
    ck_assert_int_eq(fake_broker_count("request"), 1);
    stage_submit_from("o1", "[14.00]", "client-2", false); /* from the same place: answered, not written */
    stage_settle();
    ck_assert_int_eq(fake_broker_count("status"), 3);
    ck_assert_int_eq(fake_store_event_count("o1"), 2);
}
END_TEST

/* Would catch: an order overwritten by another of the same id. */
START_TEST(the_same_id_with_other_bytes_is_a_conflict)
{
    stage_begin("o1");
    stage_submit_from("o1", "[15.00]", "client", false);
    stage_settle();
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"rejected\""));
    ck_assert_str_eq(fake_broker_last("submission")->queue, "orders.rejected");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("submission")->reason, "conflict"));
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
    ck_assert_int_eq(fake_broker.acked, 2);
}
END_TEST

/* Would catch: a client that makes the scheduler write into its own queues. */
START_TEST(a_reserved_reply_queue_is_refused_and_never_written_to)
{
    stage_submit_from("o1", "[1]", "agent.payment.requests", false);
    stage_settle();
    ck_assert_int_eq(fake_broker.count, 1);
    ck_assert_str_eq(fake_broker.published[0].queue, "orders.rejected");
    ck_assert_ptr_null(fake_store_order("o1"));
}
END_TEST

/* Would catch: an order with statuses that go out again and again, because the broker returns each of
 * them. */
START_TEST(direct_reply_to_is_refused_with_a_reason_once)
{
    fake_broker_deliver(
        &(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                .body = "{\"order_id\":\"o1\",\"workflow\":\"two\",\"payload\":{}}",
                                .reply_to = "amq.rabbitmq.reply-to.g1h2AA"});
    stage_settle();
    ck_assert_ptr_null(fake_store_order("o1"));
    ck_assert_int_eq(fake_broker_count("status"), 1);
    ck_assert_str_eq(fake_broker_last("status")->queue, "amq.rabbitmq.reply-to.g1h2AA");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "direct reply-to"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("submission")->reason, "direct reply-to"));
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

/* Would catch: an order that the database cannot store, accepted and then set aside without an answer to its
 * client. */
START_TEST(an_envelope_that_is_no_text_is_refused)
{
    static const char *const texts[] = {"\xff\xfe", "caf\xc3", "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fake_broker_deliver(&(struct fake_delivery){
            .consumer = MG_LANE_NORMAL,
            .body = "{\"order_id\":\"o1\",\"workflow\":\"two\",\"payload\":{\"items\":1}}",
            .reply_to = "client",
            .correlation_id = texts[i]});
        stage_settle();
        ck_assert_ptr_null(fake_store_order("o1"));
        ck_assert_ptr_nonnull(strstr(fake_broker_last("submission")->reason, "correlation_id"));
        ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"rejected\""));
        ck_assert_int_eq(fake_broker.acked, (int)i + 1);
    }
    fake_broker_deliver(&(struct fake_delivery){
        .consumer = MG_LANE_NORMAL,
        .body = "{\"order_id\":\"o1\",\"workflow\":\"two\",\"payload\":{\"items\":1}}",
        .reply_to = "caf\xc3\xa9",
        .correlation_id = "\xf0\x9f\x92\xb6"});
    stage_settle();
    ck_assert_ptr_nonnull(fake_store_order("o1"));
}
END_TEST

/* Would catch: a refused submission that is acked although no queue keeps it. */
START_TEST(a_refused_submission_that_cannot_be_kept_goes_to_the_dead_letters)
{
    fake_broker.fails_type = "submission";
    fake_broker.failure = MG_PUBLISH_RETURNED; /* there is no orders.rejected */
    fake_broker_deliver(
        &(struct fake_delivery){.consumer = MG_LANE_NORMAL, .body = "{", .reply_to = "client"});
    stage_settle();
    ck_assert_int_eq(fake_broker.acked, 0);
    ck_assert_int_eq(fake_broker.rejected, 1);
    ck_assert_int_eq(fake_broker_count("status"), 1);
}
END_TEST

/* Would catch: an unknown workflow that is lost, or accepted. */
START_TEST(an_unknown_workflow_is_refused_with_its_name)
{
    fake_broker_deliver(
        &(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                .body = "{\"order_id\":\"o1\",\"workflow\":\"none\",\"payload\":{}}",
                                .reply_to = "client"});
    stage_settle();
    ck_assert_ptr_nonnull(strstr(fake_broker_last("submission")->reason, "\"none\""));
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

/* Would catch: a request that cannot be built, and an order that hangs for ever. */
START_TEST(a_request_that_cannot_be_built_ends_its_order_in_the_same_write)
{
    fake_store.definition = /* no request goes to a whole collection */
        "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","
        "\"do\":{\"method\":\"POST\",\"path\":\"/r/${/payload/items}\"},\"undo\":\"none\"}]}";
    stage_submit_from("o1", "\"\"", "client", false);
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_FAILED);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATED);
    ck_assert_int_eq(fake_broker_count("request"), 0);
    ck_assert_int_eq(fake_store.commits, 1);
    int statuses = fake_broker_count("status");
    ck_assert_int_ge(statuses, 2); /* accepted, and the end with its cause */
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "step reserve: "));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "/payload/"));
    stage_submit_from("o1", "\"\"", "client", true);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("status"), 2 * statuses); /* later effects belong to it */
}
END_TEST

/* Would catch: a client's lost queue that holds up its order, or a status that is forgotten. */
START_TEST(a_status_that_cannot_go_out_is_owed_until_it_can)
{
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_RETURNED;
    stage_begin("o1");
    ck_assert_int_eq(fake_store.marks, 1);
    ck_assert_str_eq(fake_store.last_mark, "o1");
    ck_assert_int_eq(fake_broker.acked, 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    stage_act("cmd-1 o1 owed seq=1 by=supervisor");
    ck_assert_int_eq(fake_store.unmarks, 0); /* the queue is still missing */
    ck_assert_int_eq(fake_store.marks, 2);   /* the failed retry counts for its queue */
    ck_assert(fake_store.last_mark_is_retry);
    ck_assert_str_eq(fake_store.last_mark_queue, "client");
    fake_broker.fails_type = NULL;
    stage_act("cmd-2 o1 owed seq=1 by=supervisor");
    ck_assert_int_eq(fake_store.unmarks, 1);
    ck_assert_int_eq(fake_broker.acked, 3);
}
END_TEST

/* Would catch: a client that comes back from another queue and waits for its owed statuses until its old
 * queue is tried again. */
START_TEST(a_client_that_posts_its_order_again_is_sent_what_it_is_owed)
{
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_RETURNED;
    stage_begin("o1");
    stage_answer("o1.reserve#1 permanent");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATED);
    ck_assert_int_eq(fake_store.marks, 3); /* of two events, one with two statuses */
    fake_broker.fails_type = NULL;
    int before = fake_broker_count("status");
    stage_submit_from("o1", "[14.00]", "client.new", false);
    stage_settle();
    ck_assert_str_eq(fake_store.last_mark_queue, "client.new");
    ck_assert_int_eq(fake_store.unmarks, 2);
    ck_assert_int_ge(fake_broker_count("status") - before, 3); /* its state, and the two events' statuses */
    int acked = fake_broker.acked;
    before = fake_broker_count("status");
    stage_submit_from("o1", "[14.00]", "client.new", false);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("status") - before, 1); /* now it is owed nothing */
    ck_assert_int_eq(fake_broker.acked, acked + 1);
}
END_TEST

/* Would catch: statuses that are given up without an alert, or an alert for each of thousands of queues. */
START_TEST(statuses_given_up_are_reported_once_a_queue_and_not_endlessly)
{
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_RETURNED;
    stage_begin("o1");
    fake_store.given_up = (struct mg_given_up){.queue = "Best\xc3\xa4tigung", .count = 3};
    stage_act("cmd-1 o1 owed seq=1 by=supervisor");
    ck_assert_int_eq(fake_store.alerts, 1);
    ck_assert_ptr_nonnull(
        strstr(fake_store.last_alert, "Best??tigung: Best\xc3\xa4tigung accepts no statuses"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("alert")->body, "\"statuses_given_up\""));
    fake_store.given_up.alerts_open = 20;
    stage_act("cmd-2 o1 owed seq=1 by=supervisor");
    ck_assert_ptr_nonnull(strstr(fake_store.last_alert, "other queues: one of many: Best"));
}
END_TEST

/* Would catch: an operator's double click that cancels twice. */
START_TEST(a_command_sent_twice_changes_once)
{
    stage_begin("o1");
    stage_act("cmd-1 o1 cancel version=1 by=me to=amq.gen-tool");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
    uint64_t version = fake_store_order("o1")->order.version;
    stage_act("cmd-1 o1 cancel version=1 by=me to=amq.gen-tool");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
    stage_act("cmd-2 o1 cancel version=1 by=you to=amq.gen-tool");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"conflict\""));
    stage_act("cmd-3 o9 cancel by=me to=amq.gen-tool");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"not_found\""));
    ck_assert_uint_eq(fake_store_order("o1")->order.version, version);
}
END_TEST

static void supervisor_says(const char *words, const char *exchange)
{
    stage_act("cmd-1 o1 %s by=ann via=%s to=client.shop.statuses", words, exchange);
}

/* Would catch: a supervisor in an attacker's hands that settles orders in an operator's name. */
START_TEST(a_supervisor_gives_no_operators_command)
{
    static const char *const operators[] = {
        "resume", "restart", "settle step=reserve outcome=done", "skip step=reserve", "compensate", "cancel",
    };
    static const char *const own[] = {
        "overdue step=reserve attempt=1", "due step=reserve attempt=1", "expired", "nudge", "owed seq=1",
    };
    stage_begin("o1");
    uint64_t version = fake_store_order("o1")->order.version;
    int rejected = 0;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        supervisor_says(operators[i], "makegood.commands.supervisor");
        ck_assert_msg(fake_broker.rejected == ++rejected, "%s", operators[i]);
    }
    ck_assert_uint_eq(fake_store_order("o1")->order.version, version);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        supervisor_says(own[i], "makegood.commands.supervisor");
        ck_assert_msg(fake_broker.rejected == rejected, "%s", own[i]);
    }
    ck_assert_ptr_null(fake_broker_last("command_result"));
    supervisor_says(operators[5], "makegood.commands");
    ck_assert_int_eq(fake_broker.rejected, rejected);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
    ck_assert_ptr_nonnull(fake_broker_last("command_result"));
}
END_TEST

/* Would catch: garbage that is requeued for ever; a newer version's message that is thrown away. */
START_TEST(a_malformed_reply_is_dead_lettered_and_a_newer_word_is_left_to_others)
{
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_REPLIES, .type = "reply", .body = "{"});
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 1);
    stage_answer("o1.reserve#1 outcome=transcendent");
    ck_assert_int_eq(fake_broker.rejected, 1);
    ck_assert_int_eq(fake_broker.acked, 0);
    stage_answer("nobody.reserve#1");
    ck_assert_int_eq(fake_broker.rejected, 2);
}
END_TEST

/* Would catch: finished work taken for failed, because its result is larger than a submission may be. */
START_TEST(a_reply_may_be_larger_than_a_submission)
{
    stage_finish();
    stage_start_limited((struct mg_json_limits){.max_bytes = 80, .max_depth = 3, .max_members = 5});
    stage_begin("o1");
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    stage_act("11111111-1111-1111-1111-111111111111 o1 cancel by=somebody reason='not wanted any more'");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
    ck_assert_int_eq(fake_broker.rejected, 0);
    stage_begin("an-order-of-which-the-submission-is-larger-than-it-may-be");
    ck_assert_int_eq(fake_broker_count("submission"), 1);
}
END_TEST

/* Would catch: attempts used up on a service without consumers (law 7, waiting is not failing). */
START_TEST(a_step_of_a_service_without_agents_waits_and_counts_nothing)
{
    stage_begin("o1"); /* its workflow makes the queues watched */
    fake_broker.queue_consumers = 0;
    fake_broker_seen();
    stage_begin("o2");
    ck_assert_int_eq(stage_step("o2", 0), MG_STEP_WAITING);
    ck_assert_int_eq(fake_store_order("o2")->order.steps[0].reason, MG_REASON_NO_CONSUMER);
    ck_assert_int_eq((int)fake_store_order("o2")->order.steps[0].attempt, 0);
}
END_TEST

/* Would catch: new orders that take the room needed next by orders that have begun; or that wait for one
 * service, and nobody is told. */
START_TEST(intake_rests_while_a_window_is_nearly_full)
{
    stage_begin("o1"); /* its workflow makes the queues watched */
    fake_broker.queue_consumers = 2;
    fake_broker.queue_ready = 75; /* of 100 */
    fake_broker_seen();
    fake_clock.boot_ms -= MG_STANDSTILL_AFTER_MS; /* the order waits for so long, while others move */
    stage_submit("o2", false);
    fake_clock.boot_ms += MG_STANDSTILL_AFTER_MS;
    stage_settle();
    ck_assert_ptr_null(fake_store_order("o2"));
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_RUNNING);
    struct mg_beat beat = {0};
    mg_standstill_account(&stage_scheduler->standstill, &beat);
    ck_assert_ptr_nonnull(strstr(beat.reason, "new orders of all workflows wait, 1 of them in hand"));
    ck_assert_ptr_nonnull(strstr(beat.reason, "is full"));
    fake_broker.queue_ready = 74;
    fake_broker_seen();
    stage_settle();
    ck_assert_int_eq(stage_step("o2", 0), MG_STEP_RUNNING);
    beat = (struct mg_beat){0};
    mg_standstill_account(&stage_scheduler->standstill, &beat);
    ck_assert_str_eq(beat.reason, "");
}
END_TEST

/* Would catch: a busy service held back by requests that it has taken long ago. */
START_TEST(a_window_is_looked_at_when_it_may_be_full)
{
    stage_begin("o1");
    fake_broker.queue_consumers = 2;
    fake_broker.queue_ready = 70; /* of 100, of which intake may have 75 */
    fake_broker_seen();
    stage_submit("o2", false);
    stage_begin("o3");
    ck_assert_int_eq(fake_broker.looks, 0);
    static const char *const FILL[] = {"o4", "o5", "o6"};
    for (size_t i = 0; i < sizeof(FILL) / sizeof(FILL[0]); i++) {
        stage_begin(FILL[i]);
    }
    stage_begin("o7");
    ck_assert_int_gt(fake_broker.looks, 0);
    ck_assert_ptr_null(fake_store_order("o7")); /* by its estimate, five more wait there */
    fake_broker_seen();                         /* all of them have been taken */
    stage_settle();
    ck_assert_int_eq(stage_step("o7", 0), MG_STEP_RUNNING);
    ck_assert_int_lt(fake_broker.looks, 20); /* and not without an end */
}
END_TEST

/* Would catch: a busy queue that is looked at too seldom; a process that wakes for queues at rest. */
START_TEST(a_queue_is_looked_at_while_it_is_in_use)
{
    stage_begin("o1");
    fake_broker.queue_consumers = 2;
    fake_broker_seen();
    fake_loop_advance(MG_TICK_MS);
    ck_assert_int_eq(fake_broker.looks, 0);
    stage_begin("o2");
    fake_loop_advance(MG_TICK_MS);
    ck_assert_int_eq(fake_broker.looks, 1); /* of four: the one that was published to */
    fake_broker_seen();
    fake_loop_advance(MG_TICK_MS);
    ck_assert_int_eq(fake_broker.looks, 1);
    fake_broker.queue_consumers = 0;
    fake_broker_seen();
    fake_loop_advance(MG_TICK_MS);
    ck_assert_int_eq(fake_broker.looks, 5); /* a new consumer may come to serve them */
}
END_TEST

/* Would catch: a queue that was deleted while nothing was published, and steps that wait for it unnoticed. */
START_TEST(a_queue_that_is_gone_raises_an_alert_before_a_request_is_returned)
{
    stage_begin("o1"); /* its workflow makes the queues watched */
    fake_broker.queue_consumers = -1;
    fake_broker_seen();
    fake_broker_seen();
    stage_settle();
    ck_assert_int_eq(fake_store.alerts, 2); /* one for each service, however often it is seen */
    fake_broker.queue_consumers = 0;
    fake_broker_seen(); /* closes it, or the next would not be new */
    fake_broker.queue_consumers = -1;
    fake_broker_seen();
    stage_settle();
    ck_assert_int_eq(fake_store.alerts, 4);
}
END_TEST

/* Would catch: an alert that stays open for ever, because its opener is dead and the others have closed it
 * once before. */
START_TEST(an_alert_that_another_process_left_open_is_closed)
{
    stage_begin("o1");
    ck_assert_int_eq(fake_store.closings, 1);
    for (int ticks = 0; ticks < 40000 / MG_TICK_MS; ticks++) {
        fake_loop_advance(MG_TICK_MS);
    }
    stage_submit("o2", false);
    stage_begin("o3");
    ck_assert_int_eq(fake_store.closings, 2);
    ck_assert_int_eq(fake_store.alerts, 0);
}
END_TEST

static int lanes_take(enum mg_lane *ret_lanes, int max)
{
    struct mg_work *works[64];
    int count = mg_inbox_take(&stage_scheduler->inbox, works, max);
    for (int i = 0; i < count; i++) {
        ret_lanes[i] = works[i]->lane;
    }
    for (int i = count - 1; i >= 0; i--) {
        mg_inbox_put_back(&stage_scheduler->inbox, works[i]);
    }
    return count;
}

/* Would catch: `high` that starves `normal`, and intake that starves open orders (law 7, waiting is not
 * failing). */
START_TEST(running_orders_come_first_and_high_leaves_a_place_to_normal)
{
    fake_store.options.on_state(fake_store.options.arg, false, "away"); /* nothing is taken meanwhile */
    for (int i = 0; i < 20; i++) {
        fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL, .body = "{}"});
        fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_HIGH, .body = "{}"});
    }
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_COMMANDS, .body = "{}"});
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_REPLIES, .body = "{}"});
    enum mg_lane lanes[64];
    ck_assert_int_eq(lanes_take(lanes, 18), 18);
    ck_assert(lanes[0] <= MG_LANE_COMMANDS && lanes[1] <= MG_LANE_COMMANDS);
    int normal = 0;
    for (int i = 2; i < 18; i++) {
        normal += lanes[i] == MG_LANE_NORMAL ? 1 : 0;
    }
    ck_assert_int_eq(normal, 2);
    fake_broker.room = 10;
    ck_assert_int_eq(lanes_take(lanes, 18), 2); /* no room to publish: no new orders */
}
END_TEST

/* Would catch: orders that wait as long as one scheduler alone cannot reach the database, because it holds
 * them. */
START_TEST(messages_are_returned_while_the_store_stays_away)
{
    fake_store.options.on_state(fake_store.options.arg, false, "away");
    stage_begin("o1");
    ck_assert_int_eq(fake_broker.requeued, 0); /* a restart is over before that */
    fake_loop_advance(60000);
    stage_settle();
    ck_assert_int_eq(fake_broker.paused, MG_LANE_CONSUMERS);
    ck_assert_int_eq(fake_broker.requeued, 1);
    stage_submit("o2", false); /* was under way when the consumers were stopped */
    fake_loop_advance(300);
    stage_settle();
    ck_assert_int_eq(fake_broker.requeued, 2);
    ck_assert_int_eq(fake_broker.acked, 0);
    ck_assert(fake_broker.is_off[MG_LANE_NORMAL]);
    fake_store.options.on_state(fake_store.options.arg, true, "");
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) { /* as before */
        bool is_known = i == MG_LANE_NORMAL;
        ck_assert(!fake_broker.is_off[i]);
        ck_assert_int_eq(fake_broker.prefetch[i],
                         is_known ? mg_consumed_prefetch(&stage_scheduler->consumed, MG_LANE_NORMAL) : 1);
    }
    stage_submit("o1", true);
    stage_settle();
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING);
}
END_TEST

/* Would catch: a stop that leaves messages unacked, or does not wait for the work in hand (law 15, restart
 * recovers). */
START_TEST(a_drain_gives_back_what_waits_and_finishes_what_is_in_hand)
{
    fake_store.is_held = true;
    stage_begin("o1"); /* in hand */
    stage_submit("o2", false);
    mg_scheduler_drain(stage_scheduler);
    stage_settle();
    ck_assert_int_eq(fake_broker.paused, MG_LANE_CONSUMERS);
    ck_assert_int_eq(fake_broker.requeued, 1);
    ck_assert_int_eq(stage_exit_code, -1);
    fake_store.is_held = false;
    stage_settle();
    fake_loop_advance(100);
    ck_assert_int_eq(stage_exit_code, 0);
    ck_assert_int_eq(fake_broker.acked, 1);
    ck_assert_ptr_null(fake_store_order("o2"));
}
END_TEST

/* Would catch: a stop that never ends because the store is away. */
START_TEST(a_drain_is_bounded)
{
    fake_store.is_held = true;
    stage_begin("o1");
    mg_scheduler_drain(stage_scheduler);
    stage_settle();
    fake_loop_advance(1000);
    ck_assert_int_eq(stage_exit_code, 0);
    ck_assert_int_eq(fake_broker.acked, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler messages");
    TCase *messages = tcase_create("messages");
    tcase_add_checked_fixture(messages, stage_start, stage_finish);
    tcase_add_test(messages, the_same_order_from_another_place_is_attached_there);
    tcase_add_test(messages, the_same_id_with_other_bytes_is_a_conflict);
    tcase_add_test(messages, a_reserved_reply_queue_is_refused_and_never_written_to);
    tcase_add_test(messages, direct_reply_to_is_refused_with_a_reason_once);
    tcase_add_test(messages, an_envelope_that_is_no_text_is_refused);
    tcase_add_test(messages, a_refused_submission_that_cannot_be_kept_goes_to_the_dead_letters);
    tcase_add_test(messages, an_unknown_workflow_is_refused_with_its_name);
    tcase_add_test(messages, a_request_that_cannot_be_built_ends_its_order_in_the_same_write);
    tcase_add_test(messages, a_status_that_cannot_go_out_is_owed_until_it_can);
    tcase_add_test(messages, a_client_that_posts_its_order_again_is_sent_what_it_is_owed);
    tcase_add_test(messages, statuses_given_up_are_reported_once_a_queue_and_not_endlessly);
    tcase_add_test(messages, a_command_sent_twice_changes_once);
    tcase_add_test(messages, a_supervisor_gives_no_operators_command);
    tcase_add_test(messages, a_malformed_reply_is_dead_lettered_and_a_newer_word_is_left_to_others);
    tcase_add_test(messages, a_reply_may_be_larger_than_a_submission);
    tcase_add_test(messages, a_step_of_a_service_without_agents_waits_and_counts_nothing);
    tcase_add_test(messages, a_queue_that_is_gone_raises_an_alert_before_a_request_is_returned);
    tcase_add_test(messages, intake_rests_while_a_window_is_nearly_full);
    tcase_add_test(messages, a_window_is_looked_at_when_it_may_be_full);
    tcase_add_test(messages, a_queue_is_looked_at_while_it_is_in_use);
    tcase_add_test(messages, an_alert_that_another_process_left_open_is_closed);
    tcase_add_test(messages, running_orders_come_first_and_high_leaves_a_place_to_normal);
    tcase_add_test(messages, messages_are_returned_while_the_store_stays_away);
    tcase_add_test(messages, a_drain_gives_back_what_waits_and_finishes_what_is_in_hand);
    tcase_add_test(messages, a_drain_is_bounded);
    suite_add_tcase(suite, messages);
    return run_suite(suite);
}
