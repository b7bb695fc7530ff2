/*
 * Input that the scheduler cannot use, for ever or at present. Nothing wrong is sent, nothing is lost, and an
 * alert or answer reports it. Each test names the failure that it would catch.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "base/clock.h"
#include "stage.h"

/* One step that is tried again at once. Its order waits for a person when it fails. */
#define HASTY                                                                                                \
    "{\"workflow\":\"two\",\"version\":1,\"complete_within\":\"15m\",\"on_failure\":\"error\","              \
    "\"on_expiry\":\"error\",\"steps\":["                                                                    \
    "{\"step\":\"reserve\",\"service\":\"inventory\",\"complete_within\":\"10s\",\"on_unknown\":\"retry\","  \
    "\"retry\":{\"attempts\":3,\"backoff\":\"1ms\",\"max_backoff\":\"1ms\"},"                                \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\",\"body\":{\"items\":\"${/payload/items}\"}},"               \
    "\"undo\":\"none\"}]}"

/* The first step's undo uses the part of the payload that its do used; the second step's undo uses none. */
#define REFUNDED                                                                                                    \
    "{\"workflow\":\"two\",\"version\":1,\"complete_within\":\"15m\",\"on_failure\":\"error\","                     \
    "\"on_expiry\":\"error\",\"steps\":["                                                                           \
    "{\"step\":\"charge\",\"service\":\"payment\",\"complete_within\":\"10s\",\"on_unknown\":\"retry\","            \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\",\"body\":{\"total\":\"${/payload/items/0}\"}},"                    \
    "\"undo\":{\"method\":\"POST\",\"path\":\"/refunds\",\"body\":{\"total\":\"${/payload/items/0}\"}}},"           \
    "{\"step\":\"book\",\"service\":\"carrier\",\"complete_within\":\"10s\",\"on_unknown\":\"retry\","              \
    "\"after\":[\"charge\"],\"do\":{\"method\":\"POST\",\"path\":\"/b\",\"body\":{\"all\":\"${/payload/items}\"}}," \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/b/${/do_key}\"}}]}"

/* As if another program version had made the attempt's request, with other bytes for the same order. */
static void render_otherwise(const char *order_id)
{
    struct mg_order_record *record = fake_store_record(order_id);
    ck_assert(record->steps[0].has_do_digest);
    record->steps[0].do_digest[0] ^= 1;
    fake_store_bump(order_id); /* its cached copy no longer counts */
}

static void refuse_for_now(void)
{
    stage_answer("o1.reserve#1 transient");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    fake_store.ahead_ms = 1000; /* it is due */
}

/* Would catch: an order that begins with a payload which its workflow cannot use, and fails in the middle. */
START_TEST(a_payload_of_another_shape_is_refused_before_there_is_an_order)
{
    fake_store.definition =
        "{\"workflow\":\"two\",\"version\":1,\"input\":{\"items\":[\"number\"]},"
        "\"values\":{\"total\":\"payload.items.sum(i, i * 1.10)\"},\"steps\":[{\"step\":\"reserve\","
        "\"service\":\"inventory\",\"do\":{\"method\":\"POST\",\"path\":\"/r\","
        "\"body\":{\"total\":\"${= values.total}\"}},\"undo\":\"none\"}]}";
    stage_submit_from("o1", "[14.00,\"x\"]", "client", false);
    stage_settle();
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"rejected\""));
    ck_assert_ptr_nonnull(
        strstr(fake_broker_last("status")->body, "/payload/items/1: a string; a number is expected"));
    ck_assert_str_eq(fake_broker_last("submission")->queue, "orders.rejected");
    ck_assert_ptr_null(fake_store_order("o1"));
    stage_submit_from("o2", "[14.00,1]", "client", false);
    stage_settle();
    ck_assert_ptr_nonnull(fake_store_order("o2"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "\"body\":{\"total\":16.5000}"));
    ck_assert_int_eq(fake_broker.acked, 2);
}
END_TEST

/* Would catch: a key that carries other bytes the second time; a remote answers it with the result of the
 * first bytes (law 8, derived identities). */
START_TEST(a_key_that_would_carry_other_bytes_is_not_sent)
{
    fake_store.definition = HASTY;
    stage_begin("o1");
    refuse_for_now();
    render_otherwise("o1");
    int requests = fake_broker_count("request");
    stage_act("due-1 o1 due step=reserve attempt=1 by=s");
    ck_assert_int_eq(fake_broker_count("request"), requests);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_FAILED);
    ck_assert_int_eq(fake_store_order("o1")->order.steps[0].reason, MG_REASON_REQUEST_CHANGED);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    ck_assert_int_eq(fake_broker_count("alert"), 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("alert")->body, "the same idempotency key"));
}
END_TEST

/* Would catch the same in a second copy. The fate of the first is settled by its deadline. */
START_TEST(no_second_copy_is_made_of_other_bytes)
{
    fake_store.definition = HASTY;
    stage_begin("o1");
    render_otherwise("o1");
    int requests = fake_broker_count("request"), statuses = fake_broker_count("status");
    stage_submit("o1", true);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), requests);
    ck_assert_int_eq(fake_broker_count("status"), statuses + 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_broker.acked, 2);
}
END_TEST

/* Would catch: orders refused during an upgrade, because a newer version has stored their workflow. */
START_TEST(a_submission_whose_workflow_cannot_be_read_is_left_to_others)
{
    fake_store.definition = "{\"workflow\":\"two\",\"version\":1,\"steps\":\"of another kind\"}";
    stage_begin("o1");
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 1);
    ck_assert_int_eq(fake_broker.acked + fake_broker.rejected + fake_broker.requeued, 0);
    ck_assert_int_eq(fake_broker_count("submission"), 0); /* nothing goes to orders.rejected */
    fake_loop_advance(5000);
    ck_assert_int_eq(fake_broker.requeued, 0); /* it is early: the real clock stands */
    stage_scheduler->shared.works.left.first->leave_at_boot_ms = mg_clock_boot_ms();
    fake_loop_advance(5000);
    ck_assert_int_eq(fake_broker.requeued, 1);
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 0);
}
END_TEST

/* Would catch: an ending scheduler that keeps a message from instances that can read it. */
START_TEST(an_ending_scheduler_returns_messages_left_to_others_at_once)
{
    fake_store.definition = "{\"workflow\":\"two\",\"version\":1,\"steps\":\"of another kind\"}";
    stage_begin("o1");
    mg_scheduler_drain(stage_scheduler);
    stage_settle();
    ck_assert_int_eq(fake_broker.requeued, 1);
    ck_assert_int_eq(fake_broker.acked, 0);
}
END_TEST

/* Would catch: memory that fills with deliveries of lost connections (law 14, everything bounded). */
START_TEST(messages_of_a_lost_connection_make_room)
{
    int prefetch = mg_consumed_prefetch(&stage_scheduler->consumed, MG_LANE_NORMAL);
    for (int i = 0; i < 2 * prefetch + 3; i++) { /* of the consumer before, and of the present one */
        stage_submit("o1", i > 0);
    }
    ck_assert_int_eq(stage_scheduler->inbox.lanes[MG_LANE_NORMAL].count, 2 * prefetch);
    ck_assert_int_eq(fake_broker.requeued, 3);
}
END_TEST

/* Would catch: one order that is decided for ever while its neighbours wait for it (law 14, everything
 * bounded). */
START_TEST(an_order_that_is_lost_each_time_is_set_aside_in_the_end)
{
    stage_begin("o1");
    int alerts = fake_store.alerts;
    fake_store.conflicts = 1000;
    stage_answer("o1.reserve#1");
    ck_assert_int_lt(fake_store.commits, 100);
    ck_assert_int_eq(fake_store.alerts, alerts + 1);
    ck_assert_int_eq(fake_broker.rejected, 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    fake_store.conflicts = 0;
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
}
END_TEST

static void deliver_command(const char *body, bool is_oversized)
{
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_COMMANDS,
                                                .type = "command",
                                                .body = body,
                                                .reply_to = "amq.gen-tool",
                                                .correlation_id = "asked",
                                                .is_oversized = is_oversized});
    stage_settle();
}

/* Would catch: a bad command without an answer to its operator, or one that is lost. */
START_TEST(a_command_that_cannot_be_read_is_answered_and_kept)
{
    deliver_command(
        "{\"v\":1,\"command_id\":\"c\",\"order_id\":\"o1\",\"command\":\"cancel\",\"step\":\"x\"}", false);
    ck_assert_int_eq(fake_broker.rejected, 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"invalid\""));
    ck_assert_str_eq(fake_broker_last("command_result")->correlation, "asked");
    deliver_command("", true);
    ck_assert_int_eq(fake_broker.rejected, 2);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "above the limit"));
    deliver_command(
        "{\"v\":1,\"command_id\":\"c\",\"order_id\":\"o1\",\"command\":\"rejoice\",\"by\":\"ann\"}", false);
    ck_assert_int_eq(fake_broker.rejected, 2);
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 1); /* a command of a newer version */
    ck_assert_int_eq(fake_broker_count("command_result"), 2);
    ck_assert_int_eq(fake_broker.acked, 0);
}
END_TEST

static void fail_for_good(void)
{
    fake_store.definition = HASTY;
    stage_begin("o1");
    stage_answer("o1.reserve#1 permanent");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
}

static void assert_refused(const char *command_id, const char *words, const char *verdict)
{
    struct mg_order before = fake_store_order("o1")->order;
    stage_act("%s o1 %s to=amq.gen-tool", command_id, words);
    const struct mg_order_record *record = fake_store_order("o1");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, verdict));
    ck_assert_uint_eq(record->order.version, before.version);
    ck_assert(mg_slice_is(record->payload, "{\"items\":[14.00]}"));
    ck_assert_int_eq(record->revision, 1);
}

/* Would catch: a payload that is repaired by halves, or into one that no submission may have. */
START_TEST(a_repair_that_cannot_be_made_changes_nothing)
{
    fail_for_good();
    assert_refused("r-1", "skip step=pay by=ann", "\"invalid\"");
    assert_refused(
        "r-2",
        "resume by=ann set=[{\"pointer\":\"/items\",\"value\":1},{\"pointer\":\"/no/such\",\"value\":1}]",
        "\"invalid\"");
    assert_refused("r-3", "resume version=1 by=ann set=[{\"pointer\":\"/items\",\"value\":1}]",
                   "\"conflict\"");
    stage_act("r-4 o1 resume by=ann set=[{\"pointer\":\"/items\",\"value\":[15.00]}] to=amq.gen-tool");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
    ck_assert(mg_slice_is(fake_store_order("o1")->payload, "{\"items\":[15.00]}"));
    ck_assert_int_eq(fake_store_order("o1")->revision, 2);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "\"o1.reserve.do."));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "[15.00]"));
}
END_TEST

static int json_sets_without_memory;

enum mg_class real_json_set(struct mg_slice text, const char *pointer, struct mg_slice value,
                            struct mg_buf *ret_text, struct mg_err *err) __asm__("__real_mg_json_set");
enum mg_class test_json_set(struct mg_slice text, const char *pointer, struct mg_slice value,
                            struct mg_buf *ret_text, struct mg_err *err) __asm__("__wrap_mg_json_set");

enum mg_class test_json_set(struct mg_slice text, const char *pointer, struct mg_slice value,
                            struct mg_buf *ret_text, struct mg_err *err)
{
    if (json_sets_without_memory == 0) {
        return real_json_set(text, pointer, value, ret_text, err);
    }
    json_sets_without_memory--;
    ret_text->failed = ret_text->is_out_of_memory = true;
    return MG_OK;
}

/* Would catch: a repair that is refused as invalid because memory was short at that moment. */
START_TEST(a_repair_for_which_there_is_no_memory_is_made_later)
{
    fail_for_good();
    json_sets_without_memory = 1;
    stage_act("r-1 o1 resume by=ann set=[{\"pointer\":\"/items\",\"value\":[15.00]}] to=amq.gen-tool");
    ck_assert_int_eq(json_sets_without_memory, 0);
    ck_assert_int_eq(fake_broker_count("command_result"), 0);
    fake_loop_advance(1000);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("command_result"), 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
    ck_assert(mg_slice_is(fake_store_order("o1")->payload, "{\"items\":[15.00]}"));
}
END_TEST

/* Would catch: a charge of 14.00 that is refunded as 15.00. */
START_TEST(a_repair_leaves_the_undo_of_what_was_done)
{
    fake_store.definition = REFUNDED;
    stage_begin("o1");
    stage_answer("o1.charge#1");
    stage_answer("o1.book#1 permanent");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    assert_refused("r-1", "resume by=ann set=[{\"pointer\":\"/items\",\"value\":[15.00]}]",
                   "step charge is done");
    assert_refused("r-2", "resume by=ann set=[{\"pointer\":\"/items\",\"value\":[]}]", "step charge is done");
    stage_act("r-3 o1 resume by=ann set=[{\"pointer\":\"/items\",\"value\":[14.00,1]}] to=amq.gen-tool");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "[14.00,1]"));
}
END_TEST

/* Would catch: an unconfirmed charge, made as 14.00 if at all, and refunded as 15.00. */
START_TEST(a_repair_leaves_the_undo_of_what_may_have_been_done)
{
    fake_store.definition = REFUNDED;
    stage_begin("o1");
    stage_answer("o1.charge#1 permanent maybe");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    ck_assert(fake_store_order("o1")->order.steps[0].is_maybe);
    assert_refused("r-1", "resume by=ann set=[{\"pointer\":\"/items\",\"value\":[15.00]}]",
                   "step charge is done or may be");
}
END_TEST

/* Would catch: a submission or reply acked as if read, although its bytes were not received. */
START_TEST(messages_that_are_too_large_stay_with_the_broker)
{
    fake_broker_deliver(&(struct fake_delivery){
        .consumer = MG_LANE_NORMAL, .body = "", .reply_to = "client", .is_oversized = true});
    fake_broker_deliver(&(struct fake_delivery){
        .consumer = MG_LANE_REPLIES, .type = "reply", .body = "", .is_oversized = true});
    stage_settle();
    ck_assert_int_eq(fake_broker.rejected, 2);
    ck_assert_int_eq(fake_broker.acked, 0);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "larger than a submission may be"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("submission")->body, "dead.letters"));
}
END_TEST

/* Would catch: a message of a rolling upgrade that ends as a dead letter. */
START_TEST(a_type_that_a_newer_version_sends_to_replies_is_left_to_others)
{
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_REPLIES, .type = "echo", .body = "{}"});
    stage_settle();
    ck_assert_int_eq(stage_scheduler->shared.works.left.count, 1);
    ck_assert_int_eq(fake_broker.acked + fake_broker.rejected, 0);
}
END_TEST

static void ask_for_owed(const char *command_id, const char *order_id)
{
    int acked = fake_broker.acked;
    stage_act("%s %s owed seq=1 by=s", command_id, order_id);
    ck_assert_int_eq(fake_broker.acked, acked + 1); /* it is sent again as long as it is owed */
}

/* Would catch: a status that never reaches its client, because it stops being owed before it is sent; one
 * that is owed for ever, because no client waits for it. */
START_TEST(a_status_is_owed_until_it_is_sent_or_no_client_waits)
{
    stage_submit("o1", false);
    stage_submit_from("o2", "[1]", NULL, false);
    stage_settle();
    int statuses = fake_broker_count("status");
    ask_for_owed("owed-1", "nobody");
    fake_store.is_owed_lost = true;
    ask_for_owed("owed-2", "o1");
    ck_assert_int_eq(fake_store.unmarks, 0);
    ck_assert_int_eq(fake_broker_count("status"), statuses);
    fake_store.is_owed_lost = false;
    fake_store_owe("o1");
    fake_store_owe("o2");
    ask_for_owed("owed-3", "o1");
    ck_assert_int_eq(fake_store.unmarks, 1);
    ck_assert_int_eq(fake_broker_count("status"), statuses + 1);
    ask_for_owed("owed-4", "o2");
    ck_assert_int_eq(fake_store.unmarks, 2);
    ck_assert_int_eq(fake_broker_count("status"), statuses + 1);
}
END_TEST

/* Would catch: an alert that stays closed, because another process closed it and this one remembers it as
 * open. */
START_TEST(an_alert_that_another_process_closed_is_opened_again)
{
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_REFUSED;
    stage_submit("o1", false);
    stage_begin("o2");
    ck_assert_int_eq(fake_store.alerts, 1);
    for (int ticks = 0; ticks < 40000 / MG_TICK_MS; ticks++) {
        fake_loop_advance(MG_TICK_MS);
    }
    stage_rest_over();
    stage_submit("o3", false);
    stage_begin("o4");
    ck_assert_int_eq(fake_store.alerts, 2);
}
END_TEST

/* Would catch: refused orders of one client that fill orders.rejected, then dead.letters, and then the intake
 * of all clients; refused orders that are no longer kept while no alert is open. */
START_TEST(refused_orders_without_room_in_their_queue_are_reported)
{
    fake_broker.fails_type = "submission"; /* the copies for orders.rejected */
    fake_broker.failure = MG_PUBLISH_REFUSED;
    for (int i = 0; i < 3; i++) {
        fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                                    .exchange = "makegood.intake",
                                                    .body = "no order",
                                                    .message_id = "m1",
                                                    .reply_to = "client"});
        stage_settle();
    }
    ck_assert_int_eq(fake_broker_count("status"), 3);
    ck_assert_int_eq(fake_broker.acked, 3);
    ck_assert_int_eq(fake_broker.rejected, 0);
    ck_assert_int_eq(fake_store.alerts, 1);
}
END_TEST

static void pass(int ms)
{
    for (int ticks = 0; ticks < ms / MG_TICK_MS; ticks++) {
        fake_loop_advance(MG_TICK_MS);
    }
    stage_settle();
}

/* Would catch: a step that waits for a missing queue without an alert, because the last alert was closed as
 * needed by no order. */
START_TEST(an_alert_that_no_order_needed_is_opened_again_when_one_does)
{
    fake_broker.queue_consumers = -1;
    stage_begin("o1"); /* its workflow makes the queues watched */
    fake_broker_seen();
    stage_settle();
    int alerts = fake_store.alerts;
    ck_assert_int_ge(alerts, 1);
    pass(40000);
    ck_assert_int_eq(fake_store.alerts, alerts); /* a known condition raises no second alert */
    stage_begin("o2");
    ck_assert_int_eq(stage_step("o2", 0), MG_STEP_WAITING);
    ck_assert_int_eq(fake_store.alerts, alerts + 1);
    stage_begin("o3"); /* its reason is kept as long as it is valid */
    ck_assert_int_eq(fake_store.alerts, alerts + 1);
    pass(40000);
    ck_assert_int_eq(fake_store.alerts, alerts + 2);
    pass(80000);
    ck_assert_int_eq(fake_store.alerts, alerts + 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler refusals");
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, stage_start, stage_finish);
    tcase_add_test(refusals, a_payload_of_another_shape_is_refused_before_there_is_an_order);
    tcase_add_test(refusals, a_key_that_would_carry_other_bytes_is_not_sent);
    tcase_add_test(refusals, no_second_copy_is_made_of_other_bytes);
    tcase_add_test(refusals, a_submission_whose_workflow_cannot_be_read_is_left_to_others);
    tcase_add_test(refusals, an_ending_scheduler_returns_messages_left_to_others_at_once);
    tcase_add_test(refusals, messages_of_a_lost_connection_make_room);
    tcase_add_test(refusals, an_order_that_is_lost_each_time_is_set_aside_in_the_end);
    tcase_add_test(refusals, a_command_that_cannot_be_read_is_answered_and_kept);
    tcase_add_test(refusals, a_repair_that_cannot_be_made_changes_nothing);
    tcase_add_test(refusals, a_repair_for_which_there_is_no_memory_is_made_later);
    tcase_add_test(refusals, a_repair_leaves_the_undo_of_what_was_done);
    tcase_add_test(refusals, a_repair_leaves_the_undo_of_what_may_have_been_done);
    tcase_add_test(refusals, messages_that_are_too_large_stay_with_the_broker);
    tcase_add_test(refusals, a_type_that_a_newer_version_sends_to_replies_is_left_to_others);
    tcase_add_test(refusals, a_status_is_owed_until_it_is_sent_or_no_client_waits);
    tcase_add_test(refusals, refused_orders_without_room_in_their_queue_are_reported);
    tcase_add_test(refusals, an_alert_that_another_process_closed_is_opened_again);
    tcase_add_test(refusals, an_alert_that_no_order_needed_is_opened_again_when_one_does);
    suite_add_tcase(suite, refusals);
    return run_suite(suite);
}
