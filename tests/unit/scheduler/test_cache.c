/*
 * Orders that are decided without a read: the read is saved, the cached order equals the stored one, and a
 * wrong guess changes nothing and is detected. Each test names the failure that it would catch.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "base/clock.h"
#include "io/store/columns.def"
#include "stage.h"

#define NOW_MS mg_clock_boot_ms()

static void reply(const char *order_id, const char *step, uint32_t attempt)
{
    stage_reply("%s.%s#%d", order_id, step, attempt);
}

/* Would catch: a read for each cause, which costs a round trip and half as much as the write. */
START_TEST(an_order_of_ones_own_is_not_read)
{
    stage_begin("o1");
    int loads = fake_store.loads;
    stage_submit("o2", false);
    reply("o1", "reserve", 1);
    stage_settle();
    reply("o1", "charge", 1);
    reply("o2", "reserve", 1);
    stage_settle();
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert_int_eq(stage_step("o2", 1), MG_STEP_RUNNING);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "\"ref\":7.50"));
    ck_assert_int_eq(fake_store.loads, loads);
    ck_assert_ptr_null(
        mg_cache_take(&stage_scheduler->cache, "o1", NOW_MS)); /* it has ended: no cause will ask for it */
}
END_TEST

/* Would catch: a decision on a state that another instance has changed since. */
START_TEST(a_later_write_of_another_scheduler_is_detected)
{
    stage_begin("o1");
    fake_store_bump("o1");
    int loads = fake_store.loads, commits = fake_store.commits;
    reply("o1", "reserve", 1);
    stage_settle();
    ck_assert_int_eq(fake_store.commits, commits + 2); /* the first one lost to the guard */
    ck_assert_int_eq(fake_store.loads, loads + 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_uint_eq(fake_store_order("o1")->order.version, 3);
    ck_assert_int_eq(fake_broker_count("request"), 2); /* and nothing of it remained */
    ck_assert_int_eq(fake_broker.acked, 2);
}
END_TEST

/* Would catch: a reply dropped as stale, or taken for proof of lost data, on the evidence of the cache
 * alone. */
START_TEST(a_reply_that_does_not_fit_what_is_remembered_is_not_judged_by_it)
{
    stage_begin("o1");
    int loads = fake_store.loads, commits = fake_store.commits;
    reply("o1", "reserve", 1);
    reply("o1", "reserve", 1); /* in the same batch: the first is decided, the second repeats it */
    stage_settle();
    ck_assert_int_eq(fake_store.loads, loads);
    ck_assert_int_eq(fake_store.commits, commits + 1);
    reply("o1", "reserve", 1);
    stage_settle();
    ck_assert_int_eq(fake_store.loads, loads + 1);
    ck_assert_int_eq(fake_store.commits, commits + 1);
    ck_assert_int_eq(fake_broker.acked, 4);
}
END_TEST

/* Would catch: an order made twice, or a client without an answer, because the order was taken for new. */
START_TEST(an_order_that_is_not_new_is_found_out)
{
    stage_begin("o1");
    mg_cache_clear(&stage_scheduler->cache); /* as in another instance */
    int statuses = fake_broker_count("status");
    stage_begin("o1");
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
    ck_assert_int_eq(fake_broker_count("status"), statuses + 1);
    ck_assert_int_eq(fake_broker_count("request"), 1);
    stage_submit_from("o1", "[15.00]", "client", false);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("submission"), 1); /* refused, once */
    const struct mg_metric *begun = stage_scheduler->workflows.first->entered[MG_ORDER_PROCESSING];
    ck_assert_double_eq(mg_metric_value(begun), 1); /* one order, however often it was taken for new */
    ck_assert_int_eq(fake_broker.acked, 3);
}
END_TEST

/* Would catch: a refusal by guess of an existing order, because its workflow was given another name. */
START_TEST(a_workflow_that_is_unknown_is_refused_once)
{
    stage_begin("o0");
    int loads = fake_store.loads;
    fake_broker_deliver(
        &(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                .body = "{\"order_id\":\"o1\",\"workflow\":\"three\",\"payload\":{}}",
                                .message_id = "o1"});
    stage_settle();
    ck_assert_int_eq(fake_store.loads, loads + 1);
    ck_assert_int_eq(fake_broker_count("submission"), 1);
}
END_TEST

/* Would catch: a submission that is acked and never answered, because another in its batch made the order. */
START_TEST(a_cause_without_a_decision_is_not_acked_with_its_neighbour)
{
    stage_begin("o0");
    fake_broker_deliver(
        &(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                .body = "{\"order_id\":\"o1\",\"workflow\":\"three\",\"payload\":{}}",
                                .message_id = "o1"});
    stage_begin("o1");
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
    ck_assert_int_eq(fake_broker_count("submission"), 1); /* refused: other bytes than the order's */
    ck_assert_int_eq(fake_broker.acked, 3);
}
END_TEST

/* Would catch: a guess on a write that may have failed, or on a store that was replaced; a deadline by the
 * clock of the earlier server. */
START_TEST(nothing_is_remembered_of_a_session_that_is_lost)
{
    stage_begin("o1");
    int loads = fake_store.loads;
    fake_store.options.on_state(fake_store.options.arg, false, "away");
    fake_store.options.on_state(fake_store.options.arg, true, "");
    stage_begin("o2"); /* is new, but the clock is read */
    ck_assert_int_eq(fake_store.loads, loads + 1);
    reply("o1", "reserve", 1);
    stage_settle();
    ck_assert_int_eq(fake_store.loads, loads + 2);
    fake_store.next_commit = FAKE_COMMIT_UNKNOWN_DONE;
    reply("o1", "charge", 1);
    stage_settle();
    fake_loop_advance(6000); /* past the backoff */
    stage_settle();
    ck_assert_int_eq(fake_store.loads, loads + 3);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert_int_eq(fake_store_event_count("o1"), 3);
}
END_TEST

#define FIND_TEXT(member) *at++ = &(member);

/* The texts of an order with three steps. */
static int texts_find(struct mg_order_record *record, struct mg_slice *ret_texts[64])
{
    struct mg_slice **at = ret_texts;
    MG_ORDER_COLUMNS(MG_TEXTS, FIND_TEXT);
    MG_PAYLOAD_COLUMNS(MG_TEXTS, FIND_TEXT);
    for (int i = 0; i < 3; i++) {
        struct mg_step_record *more = &record->steps[i];
        MG_STEP_COLUMNS(MG_TEXTS, FIND_TEXT);
    }
    return (int)(at - ret_texts);
}

/* Would catch: a member of an order that is lost in the cache, or a text cut or mixed up. */
START_TEST(a_cached_order_is_whole)
{
    static const struct mg_slice TEXTS[] = {
        {"{\"items\":[14.00]}", 17}, {NULL, 0},   {"", 0},        {"00-trace", 8},
        {"o1.charge.do", 12},        {"a\0b", 3}, {"http_503", 8}};
    struct mg_arena *arena = mg_arena_create(1024 * 1024);
    struct mg_order_record *record = mg_arena_alloc(arena, sizeof(*record));
    struct mg_cache cache = {.bytes_max = MG_CACHE_MAX_BYTES};
    struct mg_slice *texts[64], *kept_texts[64];
    memset(record, 0x5a, sizeof(*record)); /* every member of it must come back */
    record->labels = NULL;                 /* those of a new order lie in another batch's memory */
    record->label_count = 0;
    snprintf(record->order_id, sizeof(record->order_id), "o1");
    record->order.step_count = 3;
    int count = texts_find(record, texts);
    for (int i = 0; i < count; i++) {
        *texts[i] = TEXTS[(size_t)i % (sizeof(TEXTS) / sizeof(TEXTS[0]))];
    }
    mg_cache_put(&cache, record, NOW_MS);
    ck_assert_ptr_null(mg_cache_take(&cache, "o2", NOW_MS));
    struct mg_cached *cached = mg_cache_take(&cache, "o1", NOW_MS);
    struct mg_order_record *kept = mg_cached_record(cached, arena);
    ck_assert_int_eq(texts_find(kept, kept_texts), count);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(kept_texts[i]->data == NULL, texts[i]->data == NULL);
        ck_assert(mg_slice_equal(*kept_texts[i], *texts[i]));
        *kept_texts[i] = *texts[i];
    }
    ck_assert_mem_eq(kept, record, offsetof(struct mg_order_record, order));
    ck_assert_mem_eq(&kept->order, &record->order,
                     offsetof(struct mg_order, steps) + 3 * sizeof(struct mg_step));
    ck_assert_mem_eq(kept->steps, record->steps, 3 * sizeof(record->steps[0]));
    free(cached);
    ck_assert_uint_eq(cache.bytes, 0);
    mg_arena_destroy(arena);
}
END_TEST

/* Would catch: an order that left for the archive long ago, taken for a new one of its id. */
START_TEST(an_order_written_long_ago_leaves_the_cache)
{
    struct mg_order_record *record = calloc(1, sizeof(*record));
    struct mg_cache cache = {.bytes_max = MG_CACHE_MAX_BYTES};
    snprintf(record->order_id, sizeof(record->order_id), "o1");
    for (int64_t age_ms = MG_CACHE_AGE_MAX_MS; age_ms <= MG_CACHE_AGE_MAX_MS + 1; age_ms++) {
        mg_cache_put(&cache, record, 1000);
        struct mg_cached *cached = mg_cache_take(&cache, "o1", 1000 + age_ms);
        ck_assert((cached != NULL) == (age_ms == MG_CACHE_AGE_MAX_MS));
        free(cached);
        ck_assert_uint_eq(cache.bytes, 0);
    }
    free(record);
}
END_TEST

/* Would catch: memory that grows with the open orders, or a chain that breaks when room is made. */
START_TEST(the_cache_is_bounded)
{
    static char payload[256 * 1024];
    struct mg_order_record *record = calloc(1, sizeof(*record));
    struct mg_cache cache = {.bytes_max = MG_CACHE_MAX_BYTES};
    record->payload = (struct mg_slice){payload, sizeof(payload)};
    for (int i = 0; i < 1000; i++) {
        snprintf(record->order_id, sizeof(record->order_id), "o%d", i);
        mg_cache_put(&cache, record, NOW_MS);
    }
    ck_assert_uint_le(cache.bytes, 16u * 1024 * 1024);
    ck_assert_ptr_null(mg_cache_take(&cache, "o0", NOW_MS));
    for (int i = 950; i < 1000; i += 2) {
        snprintf(record->order_id, sizeof(record->order_id), "o%d", i);
        struct mg_cached *cached = mg_cache_take(&cache, record->order_id, NOW_MS);
        ck_assert_ptr_nonnull(cached);
        free(cached);
    }
    mg_cache_clear(&cache);
    ck_assert_uint_eq(cache.bytes, 0);
    ck_assert_ptr_null(cache.newest);
    free(record);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler cache");
    TCase *tests = tcase_create("cache");
    tcase_set_timeout(tests, 30);
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_test(tests, an_order_of_ones_own_is_not_read);
    tcase_add_test(tests, a_later_write_of_another_scheduler_is_detected);
    tcase_add_test(tests, a_reply_that_does_not_fit_what_is_remembered_is_not_judged_by_it);
    tcase_add_test(tests, an_order_that_is_not_new_is_found_out);
    tcase_add_test(tests, a_workflow_that_is_unknown_is_refused_once);
    tcase_add_test(tests, a_cause_without_a_decision_is_not_acked_with_its_neighbour);
    tcase_add_test(tests, nothing_is_remembered_of_a_session_that_is_lost);
    tcase_add_test(tests, a_cached_order_is_whole);
    tcase_add_test(tests, the_cache_is_bounded);
    tcase_add_test(tests, an_order_written_long_ago_leaves_the_cache);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
