/* Batches of large messages: the bytes in hand at once stay below the share for messages. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "item.h"
#include "stage.h"

#define PAYLOAD_BYTES (248 * 1024)
#define ORDERS        40

static char text[PAYLOAD_BYTES + 256];
static char ids[ORDERS][16];

static void submit_large(int number)
{
    (void)snprintf(ids[number], sizeof(ids[number]), "o%d", number);
    int len = snprintf(text, sizeof(text),
                       "{\"order_id\":\"%s\",\"workflow\":\"two\",\"payload\":{\"items\":\"", ids[number]);
    memset(text + len, 'x', PAYLOAD_BYTES);
    (void)snprintf(text + len + PAYLOAD_BYTES, sizeof(text) - (size_t)len - PAYLOAD_BYTES, "\"}}");
    fake_broker_deliver(&(struct fake_delivery){
        .consumer = MG_LANE_NORMAL, .type = "submission", .message_id = ids[number], .body = text});
}

static void start_with(size_t memory_bytes)
{
    stage_finish();
    stage_memory_bytes = memory_bytes;
    stage_start();
    stage_memory_bytes = STAGE_MEMORY_BYTES;
}

/* Would catch: a batch of all waiting messages of any size. */
START_TEST(a_batch_is_cut_by_the_bytes_of_its_messages)
{
    start_with((size_t)16 << 20);
    for (int i = 0; i < ORDERS; i++) {
        submit_large(i);
    }
    int batches = 0;
    while (!mg_inbox_is_empty(&stage_scheduler->inbox) || stage_scheduler->batcher.batch != NULL) {
        ck_assert_int_lt(batches++, 10 * ORDERS);
        (void)fake_loop_turn();
        const struct mg_batch *batch = stage_scheduler->batcher.batch;
        size_t bytes = 0;
        for (int i = 0; batch != NULL && i < batch->work_count; i++) {
            bytes += batch->works[i]->delivery != NULL ? batch->works[i]->delivery->body.len : 0;
        }
        ck_assert_uint_le(bytes, ((size_t)16 << 20) / MG_MEMORY_BODY + PAYLOAD_BYTES + 256);
        stage_settle();
        fake_loop_advance(10);
    }
    for (int i = 0; i < ORDERS; i++) {
        ck_assert_int_eq(stage_order(ids[i]), MG_ORDER_PROCESSING);
    }
    ck_assert_int_eq(fake_broker.acked, ORDERS);
}
END_TEST

/* The most message bytes that one batch made, until nothing is left to do. */
static size_t most_made(void)
{
    size_t most = 0, before = stage_scheduler->outbox.made_bytes;
    uint64_t batch = stage_scheduler->workflows.batch;
    for (int turns = 0; stage_scheduler->shared.works.count > 0; turns++) {
        ck_assert_int_lt(turns, 100 * ORDERS);
        (void)fake_loop_turn();
        if (stage_scheduler->workflows.batch != batch) {
            batch = stage_scheduler->workflows.batch;
            before = stage_scheduler->outbox.made_bytes;
        }
        (void)fake_store_answer();
        size_t made = stage_scheduler->outbox.made_bytes - before;
        most = made > most ? made : most;
        (void)fake_broker_confirm();
        fake_loop_advance(10);
    }
    return most;
}

/* Would catch: many small commands, for each of which a large request is made. */
START_TEST(a_batch_is_cut_by_what_is_made_of_its_messages)
{
    start_with((size_t)16 << 20);
    for (int i = 0; i < ORDERS; i++) {
        submit_large(i);
    }
    (void)most_made();
    for (int i = 0; i < ORDERS; i++) {
        stage_reply("%s.reserve#1 transient", ids[i]);
    }
    (void)most_made();
    fake_store.ahead_ms = 10000; /* all are due */
    stage_scheduler->batcher.cause_bytes = 1;
    int requests = fake_broker_count("request");
    for (int i = 0; i < ORDERS; i++) {
        stage_command("due-%d %s due step=reserve attempt=1 by=s", i, ids[i]);
    }
    ck_assert_uint_le(most_made(), ((size_t)16 << 20) / MG_MEMORY_MADE + PAYLOAD_BYTES + 4096);
    ck_assert_int_eq(fake_broker_count("request"), requests + ORDERS);
}
END_TEST

/* Would catch: small messages about large orders, all of which are read at once. */
START_TEST(a_batch_is_cut_by_what_its_like_made_lately)
{
    size_t room = ((size_t)16 << 20) / MG_MEMORY_MADE;
    start_with((size_t)16 << 20);
    submit_large(0);
    (void)most_made();
    ck_assert_uint_ge(stage_scheduler->batcher.cause_bytes, PAYLOAD_BYTES);
    int fit = (int)(room / stage_scheduler->batcher.cause_bytes);
    for (int i = 0; i < 16; i++) {
        stage_command("c%d %s cancel by=ann", i, ids[0]);
    }
    (void)fake_loop_turn();
    ck_assert_ptr_nonnull(stage_scheduler->batcher.batch);
    ck_assert_int_eq(stage_scheduler->batcher.batch->work_count, fit);
    stage_settle();
}
END_TEST

/* Would catch: batches that stay small for ever, because one of their causes was large, or because the first
 * ones are small. */
START_TEST(small_messages_come_to_full_batches)
{
    int largest = 0;
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 16; i++) {
            stage_command("r%d-%d nobody cancel by=ann", round, i);
        }
        (void)fake_loop_turn();
        int count = stage_scheduler->batcher.batch != NULL ? stage_scheduler->batcher.batch->work_count : 0;
        largest = count > largest ? count : largest;
        stage_settle();
        fake_loop_advance(10);
    }
    ck_assert_int_eq(largest, 16); /* the stage's --batch */
}
END_TEST

/* Would catch: bounds of the queues in hand that together are more than the whole, or none at all. */
START_TEST(the_queues_share_what_may_be_in_hand)
{
    size_t sum = 0;
    for (int i = 0; i < MG_LANE_CONSUMERS; i++) {
        ck_assert_uint_gt(fake_broker.options.consumers[i].bytes_max, 0);
        sum += fake_broker.options.consumers[i].bytes_max;
    }
    ck_assert_uint_le(sum, STAGE_MEMORY_BYTES / MG_MEMORY_HELD);
    ck_assert_uint_eq(fake_broker.options.consumers[MG_LANE_NORMAL].body_max_bytes,
                      stage_scheduler->shared.options->limits.max_bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_memory");
    TCase *tests = tcase_create("memory");
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_test(tests, a_batch_is_cut_by_the_bytes_of_its_messages);
    tcase_add_test(tests, a_batch_is_cut_by_what_is_made_of_its_messages);
    tcase_add_test(tests, a_batch_is_cut_by_what_its_like_made_lately);
    tcase_add_test(tests, small_messages_come_to_full_batches);
    tcase_add_test(tests, the_queues_share_what_may_be_in_hand);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
