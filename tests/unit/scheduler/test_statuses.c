/*
 * Two messages of one number are equal, byte for byte. A client that submits its order again, from the same
 * place or another, receives the first status of its state again, even after later events.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/clock.h"
#include "stage.h"
#include "wire/status.h"

/* Two steps in parallel, the first of which can be undone. */
#define PARALLEL(on_failure)                                                                                 \
    "{\"workflow\":\"two\",\"version\":1,\"complete_within\":\"15m\",\"on_failure\":\"" on_failure "\","     \
    "\"on_expiry\":\"compensate\",\"steps\":["                                                               \
    "{\"step\":\"reserve\",\"service\":\"inventory\",\"complete_within\":\"10s\",\"on_unknown\":\"retry\","  \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},"                                                          \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/do_key}\"}},"                                          \
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[],\"complete_within\":\"10s\","                 \
    "\"on_unknown\":\"retry\",\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"}]}"

/* A step of which a person is to find out whether it happened. */
#define ASKING                                                                                               \
    "{\"workflow\":\"two\",\"version\":1,\"complete_within\":\"15m\",\"on_failure\":\"compensate\","         \
    "\"on_expiry\":\"compensate\",\"steps\":[{\"step\":\"charge\",\"service\":\"payment\","                  \
    "\"complete_within\":\"10s\",\"on_unknown\":\"operator\",\"do\":{\"method\":\"POST\",\"path\":\"/c\"},"  \
    "\"undo\":\"none\"}]}"

#define SUBMISSION                                                                                           \
    "{\"order_id\":\"o1\",\"workflow\":\"two\",\"payload\":{\"items\":[14.00]},\"notify\":\"steps\"}"

static void submit(const char *reply_to)
{
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                                .body = SUBMISSION,
                                                .message_id = "o1",
                                                .reply_to = reply_to,
                                                .correlation_id = "c1"});
    stage_settle();
}

static void answer(const char *step, uint32_t attempt, const char *kind, const char *outcome)
{
    bool is_done = strcmp(outcome, "done") == 0;
    stage_answer("o1.%s#%d %s %s %s", step, attempt, kind, outcome, is_done ? "yes" : "no");
}

/* ---- ways into each state, and on within it ---- */

static void go_pending(void)
{
    stage_begin("o0"); /* its workflow makes the queues watched */
    fake_broker.queue_consumers = 0;
    fake_broker_seen();
    submit("client");
}

static void go_processing(void)
{
    submit("client");
    answer("reserve", 1, "do", "done");
}

static void go_processed(void)
{
    go_processing();
    answer("charge", 1, "do", "done");
}

static void go_compensating(void)
{
    go_processing();
    answer("charge", 1, "do", "permanent");
}

static void go_compensated(void)
{
    go_compensating();
    answer("reserve", 2, "undo", "done");
}

static void go_cancelled(void)
{
    go_pending();
    stage_act("cancel o1 cancel by=ann");
}

static void go_error(void)
{
    go_compensating();
    answer("reserve", 2, "undo", "permanent");
}

static void go_error_for_another_reason(void)
{
    go_error();
    answer("reserve", 9, "undo", "done"); /* an attempt missing from the database */
}

/* A step that was under way is done when the order has turned back. */
static void go_compensating_and_complete_a_step(void)
{
    fake_store.definition = PARALLEL("compensate");
    submit("client");
    answer("charge", 1, "do", "permanent");
    answer("reserve", 1, "do", "done");
}

static void go_compensating_once_more(void)
{
    go_error();
    stage_pass(15000); /* the refused request is not made again */
    stage_act("resume o1 resume by=ann");
}

static void go_pending_once_more(void)
{
    go_compensated();
    fake_broker.queue_consumers = 0;
    fake_broker_seen();
    stage_act("restart o1 restart by=ann");
}

static void go_error_at_a_step(void)
{
    fake_store.definition = PARALLEL("error");
    submit("client");
    answer("reserve", 1, "do", "done");
    answer("charge", 1, "do", "permanent");
}

/* No status reports it: the order is accepted as it was before. */
static void go_processing_after_an_error(void)
{
    go_error_at_a_step();
    stage_act("resume o1 resume by=ann");
}

static const struct {
    void (*go)(void);
    enum mg_order_state state;
    uint64_t seq, last; /* of the status about the state; of the last of all */
    const char *step;
} ways[] = {
    {go_pending, MG_ORDER_PENDING, 1, 1, ""},
    {go_processing, MG_ORDER_PROCESSING, 1, 2, ""},
    {go_processed, MG_ORDER_PROCESSED, 4, 4, ""},
    {go_compensating, MG_ORDER_COMPENSATING, 3, 3, "charge"},
    {go_compensated, MG_ORDER_COMPENSATED, 4, 4, ""},
    {go_cancelled, MG_ORDER_CANCELLED, 3, 3, ""},
    {go_error, MG_ORDER_ERROR, 4, 4, ""},
    {go_error_for_another_reason, MG_ORDER_ERROR, 4, 4, ""},
    {go_compensating_and_complete_a_step, MG_ORDER_COMPENSATING, 2, 3, "charge"},
    {go_compensating_once_more, MG_ORDER_COMPENSATING, 5, 5, ""},
    {go_pending_once_more, MG_ORDER_PENDING, 5, 5, ""},
    {go_error_at_a_step, MG_ORDER_ERROR, 3, 3, "charge"},
    {go_processing_after_an_error, MG_ORDER_PROCESSING, 1, 3, ""},
};
#define WAY_COUNT ((int)(sizeof(ways) / sizeof(ways[0])))

/* The last status has gone out before, with the same bytes. */
static void assert_sent_before(void)
{
    const struct fake_published *last = fake_broker_last("status"), *first = fake_broker.published;
    while (strcmp(first->message_id, last->message_id) != 0) {
        first++;
    }
    ck_assert_ptr_ne(first, last);
    ck_assert_str_eq(first->body, last->body);
}

/* A repeat that was made anew would carry another time. */
static void let_time_pass(void)
{
    fake_clock_pass(1);
}

START_TEST(a_repeated_submission_gets_the_same_status_again)
{
    static const char *const QUEUES[] = {"client", "client-2", "client-2", "client"};
    struct mg_status_message status;
    struct mg_err err;
    ways[_i].go();
    ck_assert_str_eq(mg_order_state_name(stage_order("o1")), mg_order_state_name(ways[_i].state));
    ck_assert_uint_eq(fake_store_order("o1")->order.seq, ways[_i].last);
    for (size_t i = 0; i < sizeof(QUEUES) / sizeof(QUEUES[0]); i++) {
        int count = fake_broker_count("status");
        let_time_pass();
        submit(QUEUES[i]);
        const struct fake_published *last = fake_broker_last("status");
        ck_assert_int_eq(fake_broker_count("status"), count + 1);
        ck_assert_str_eq(last->queue, QUEUES[i]);
        ck_assert_int_eq(mg_status_parse(mg_slice_of(last->body), &status, &err), MG_OK);
        ck_assert_int_eq(status.status, mg_order_state_status(ways[_i].state));
        ck_assert_uint_eq(status.seq, ways[_i].seq);
        ck_assert_str_eq(status.step, ways[_i].step);
        assert_sent_before();
    }
    ck_assert_str_eq(mg_order_state_name(stage_order("o1")), mg_order_state_name(ways[_i].state));
    ck_assert_uint_eq(fake_store_order("o1")->order.seq, ways[_i].last);
}
END_TEST

/* The event that keeps a status, the first of all that do; 0: none does. */
static uint64_t version_kept(uint64_t seq)
{
    const struct mg_event_record *event;
    struct mg_status_text status;
    for (int i = 0; (event = fake_store_event("o1", i)) != NULL; i++) {
        for (int k = 0; mg_status_kept(event, k, &status); k++) {
            if (status.seq == seq) {
                return event->version;
            }
        }
    }
    return 0;
}

/* An answer to a repeat makes no event of its own. The mark of the event that keeps it may be lost with the
 * tail of the database. */
START_TEST(a_status_sent_in_vain_to_a_repetition_is_owed)
{
    ways[_i].go();
    ck_assert_str_eq(mg_order_state_name(stage_order("o1")), mg_order_state_name(ways[_i].state));
    int events = fake_store_event_count("o1");
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_RETURNED;
    submit("client");
    ck_assert_int_eq(fake_store_event_count("o1"), events);
    ck_assert_int_eq(fake_store.marks, 1);
    ck_assert_str_eq(fake_store.last_mark, "o1");
    ck_assert_uint_ne(version_kept(ways[_i].seq), 0);
    ck_assert_uint_eq(fake_store.last_mark_version, version_kept(ways[_i].seq));
}
END_TEST

START_TEST(every_state_has_a_way_into_it)
{
    for (int state = 0; state < MG_ORDER_STATE_COUNT; state++) {
        bool is_reached = false;
        for (int i = 0; i < WAY_COUNT; i++) {
            is_reached = is_reached || (int)ways[i].state == state;
        }
        ck_assert_msg(is_reached, "%s", mg_order_state_name((enum mg_order_state)state));
    }
}
END_TEST

/* The effect of the batch itself on the order is not in the store at the time of the read. */
START_TEST(a_repetition_in_one_batch_gets_that_batchs_status)
{
    go_processing();
    stage_reply("o1.charge#1 permanent");
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                                .body = SUBMISSION,
                                                .message_id = "o1",
                                                .reply_to = "client-2",
                                                .correlation_id = "c1"});
    int commits = fake_store.commits;
    stage_settle();
    ck_assert_int_eq(fake_store.commits, commits + 1);
    ck_assert_str_eq(fake_broker_last("status")->queue, "client-2");
    ck_assert_str_eq(fake_broker_last("status")->message_id, "o1.3");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"compensating\""));
    assert_sent_before();
}
END_TEST

/* Would catch: a read of the owed statuses for each of many repetitions. Each repetition keeps its event, so
 * that its cause is known when it is redelivered (law 3, re-creation). */
START_TEST(owed_statuses_are_read_once_for_all_repetitions_of_a_batch)
{
    enum { REPETITIONS = 16 };
    char correlation[16];
    go_processing();
    int commits = fake_store.commits, events = fake_store_event_count("o1");
    int statuses = fake_broker_count("status"), acked = fake_broker.acked;
    for (int i = 0; i < REPETITIONS; i++) {
        snprintf(correlation, sizeof(correlation), "again-%d", i);
        fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                                    .body = SUBMISSION,
                                                    .message_id = "o1",
                                                    .reply_to = "client",
                                                    .correlation_id = correlation});
    }
    stage_settle();
    ck_assert_int_eq(fake_store.commits, commits + 1);
    ck_assert_int_eq(fake_store.owed_loads, 1);
    ck_assert_int_eq(fake_store_event_count("o1"), events + REPETITIONS);
    ck_assert_int_eq(fake_broker_count("status"), statuses + REPETITIONS);
    ck_assert_int_eq(fake_broker.acked, acked + REPETITIONS);
    ck_assert_str_eq(fake_broker_last("status")->correlation, "again-15");
}
END_TEST

/* Would catch: an order with a long story, which each repetition reads from end to end. */
START_TEST(a_status_sent_long_ago_is_kept_anew_for_a_repetition)
{
    go_processing();
    int events = fake_store_event_count("o1");
    for (int i = 0; i < MG_SENT_EVENTS_MAX; i++) {
        fake_store_bump("o1");
    }
    for (int i = 0; i < 3; i++) {
        submit("client");
        assert_sent_before();
    }
    ck_assert_int_eq(fake_store_event_count("o1"), events + 1);
    ck_assert_int_eq(fake_store_event("o1", events)->cause_kind, MG_CAUSE_REATTACHED);
    ck_assert_uint_eq(version_kept(1), 1);
}
END_TEST

/* Would catch: unreadable statuses that are asked for every few seconds in place of all younger ones. */
START_TEST(an_owed_status_that_cannot_be_read_is_a_failed_retry)
{
    go_processing();
    fake_store_owe("o1");
    fake_store.is_owed_lost = true;
    int marks = fake_store.marks, acked = fake_broker.acked;
    stage_act("cmd-1 o1 owed seq=1 by=supervisor");
    ck_assert_int_eq(fake_store.marks, marks + 1);
    ck_assert_str_eq(fake_store.last_mark, "o1");
    ck_assert_uint_eq(fake_store.last_mark_version, 0);
    ck_assert(fake_store.last_mark_is_retry);
    ck_assert_str_eq(fake_store.last_mark_queue, "");
    ck_assert_int_eq(fake_broker.acked, acked + 1);
}
END_TEST

/* Would catch: a refund that is made twice. The refused request came to its service once more and was done,
 * and the answer to it is taken for the first one, redelivered. */
START_TEST(the_second_answer_to_a_refused_undo_counts)
{
    go_error();
    answer("reserve", 2, "undo", "permanent");
    ck_assert_str_eq(mg_order_state_name(stage_order("o1")), "error");
    stage_answer("o1.reserve#2 undo again");
    ck_assert_str_eq(mg_order_state_name(stage_order("o1")), "compensated");
    int events = fake_store_event_count("o1");
    answer("reserve", 2, "undo", "done");
    ck_assert_int_eq(fake_store_event_count("o1"), events);
}
END_TEST

/* Would catch: a step that stays in doubt although its `done` came: that is redelivered after the answer of
 * another copy, and taken for the latter. */
START_TEST(a_done_that_is_redelivered_after_an_unclear_answer_counts)
{
    fake_store.definition = ASKING;
    submit("client");
    stage_answer("o1.charge#1 do unknown");
    stage_answer("o1.charge#1 do again");
    ck_assert_str_eq(mg_order_state_name(stage_order("o1")), "processed");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler statuses");
    TCase *statuses = tcase_create("statuses");
    tcase_add_checked_fixture(statuses, stage_start, stage_finish);
    tcase_add_test(statuses, the_second_answer_to_a_refused_undo_counts);
    tcase_add_test(statuses, a_done_that_is_redelivered_after_an_unclear_answer_counts);
    tcase_add_loop_test(statuses, a_repeated_submission_gets_the_same_status_again, 0, WAY_COUNT);
    tcase_add_loop_test(statuses, a_status_sent_in_vain_to_a_repetition_is_owed, 0, WAY_COUNT);
    tcase_add_test(statuses, every_state_has_a_way_into_it);
    tcase_add_test(statuses, a_repetition_in_one_batch_gets_that_batchs_status);
    tcase_add_test(statuses, owed_statuses_are_read_once_for_all_repetitions_of_a_batch);
    tcase_add_test(statuses, a_status_sent_long_ago_is_kept_anew_for_a_repetition);
    tcase_add_test(statuses, an_owed_status_that_cannot_be_read_is_a_failed_retry);
    suite_add_tcase(suite, statuses);
    return run_suite(suite);
}
