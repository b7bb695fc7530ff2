/*
 * A client's part: statuses in their order, and orders that are posted until they are confirmed. Broker and
 * loop are the test's own, by the linker's --wrap.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/poster.h"
#include "client/statuses.h"
#include "suite.h"

#define GAP_MS    5000
#define POSTS_MAX 2048

/* ---- statuses ---- */

static void put(struct mg_statuses *statuses, uint64_t seq, int64_t now_ms)
{
    char body[32];
    struct mg_err err;
    (void)snprintf(body, sizeof(body), "status %d", (int)seq);
    ck_assert_int_eq(mg_statuses_put(statuses, seq, false, mg_slice_of(body), now_ms, &err), MG_OK);
}

/* The next one's number, which counts as read; -1: none. */
static int take(struct mg_statuses *statuses, int64_t now_ms, int64_t *ret_due_ms)
{
    const struct mg_kept_status *next = mg_statuses_next(statuses, GAP_MS, now_ms, ret_due_ms);
    if (next == NULL) {
        return -1;
    }
    int seq = (int)next->seq;
    char body[32];
    (void)snprintf(body, sizeof(body), "status %d", seq);
    ck_assert_str_eq(next->body, body);
    mg_statuses_read(statuses, next->seq);
    return seq;
}

/* Catches: a status that is given twice, before an earlier one, or not at all. */
START_TEST(statuses_come_by_rising_number_each_once)
{
    struct mg_statuses statuses;
    int64_t due_ms;
    mg_statuses_init(&statuses);
    put(&statuses, 2, 100);
    put(&statuses, 2, 100);
    ck_assert_int_eq(take(&statuses, 100, &due_ms), -1);
    ck_assert_int_eq(due_ms, 100 + GAP_MS);
    put(&statuses, 1, 200);
    ck_assert_int_eq(take(&statuses, 200, &due_ms), 1);
    ck_assert_int_eq(take(&statuses, 200, &due_ms), 2);
    put(&statuses, 1, 300);
    put(&statuses, 2, 300);
    ck_assert_int_eq(take(&statuses, 300, &due_ms), -1);
    ck_assert_int_eq(due_ms, INT64_MAX);
    ck_assert_int_eq(mg_statuses_newest(&statuses)->seq, 2);
    mg_statuses_finish(&statuses);
}
END_TEST

/* Catches: a status after a gap that is given at once, or never. */
START_TEST(a_status_behind_a_gap_is_held_for_a_while)
{
    struct mg_statuses statuses;
    int64_t due_ms;
    mg_statuses_init(&statuses);
    put(&statuses, 3, 1000);
    put(&statuses, 5, 2000);
    ck_assert_int_eq(take(&statuses, 999 + GAP_MS, &due_ms), -1);
    ck_assert_int_eq(take(&statuses, 1000 + GAP_MS, &due_ms), 3);
    put(&statuses, 2, 1000 + GAP_MS); /* too late */
    ck_assert_int_eq(take(&statuses, 1000 + GAP_MS, &due_ms), -1);
    ck_assert_int_eq(due_ms, 2000 + GAP_MS);
    put(&statuses, 4, 2000);
    ck_assert_int_eq(take(&statuses, 2000, &due_ms), 4);
    ck_assert_int_eq(take(&statuses, 2000, &due_ms), 5);
    mg_statuses_finish(&statuses);
}
END_TEST

/* Catches: a rejection that waits for a status number 1. */
START_TEST(a_rejection_has_no_gap_before_it)
{
    struct mg_statuses statuses;
    int64_t due_ms;
    mg_statuses_init(&statuses);
    put(&statuses, 0, 100);
    ck_assert_int_eq(take(&statuses, 100, &due_ms), 0);
    put(&statuses, 1, 100);
    ck_assert_int_eq(take(&statuses, 100, &due_ms), 1);
    mg_statuses_finish(&statuses);
}
END_TEST

/* Catches: memory that grows with statuses that no call reads. */
START_TEST(unread_statuses_are_bounded)
{
    static char large[MG_STATUSES_BYTES_MAX];
    struct mg_statuses statuses;
    struct mg_err err;
    mg_statuses_init(&statuses);
    for (uint64_t seq = 1; seq <= 3 * MG_STATUSES_MAX; seq++) {
        put(&statuses, seq, 0);
    }
    ck_assert_int_eq(statuses.count, MG_STATUSES_MAX);
    ck_assert_int_eq(mg_statuses_newest(&statuses)->seq, 3 * MG_STATUSES_MAX);
    ck_assert_int_eq(mg_statuses_put(&statuses, 1000, true, (struct mg_slice){large, sizeof(large)}, 0, &err),
                     MG_OK);
    ck_assert_int_eq(statuses.count, 1);
    ck_assert(mg_statuses_newest(&statuses)->is_end);
    mg_statuses_finish(&statuses);
}
END_TEST

/* ---- posts ---- */

static struct {
    struct mg_broker_options options;
    void (*named)(void *arg, int consumer, const char *queue);
    void *named_arg;
    struct {
        char order_id[32], reply_to[32], body[32];
        mg_published_fn *done;
        void *arg;
    } posts[POSTS_MAX];
    int post_count, acked;
    bool is_up;
    mg_loop_fn *pump, *pause_end;
    void *loop_arg;
    bool is_pausing;
} fake;

static struct {
    enum mg_publish_outcome outcome;
    int posted, statuses;
    bool repeats, is_over;
} seen;

enum mg_class __wrap_mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                                      struct mg_broker **ret_broker, struct mg_err *err);
void __wrap_mg_broker_destroy(struct mg_broker *broker);
bool __wrap_mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size);
void __wrap_mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery);
void __wrap_mg_broker_consume_private(struct mg_broker *broker, uint16_t prefetch,
                                      void (*named)(void *arg, int consumer, const char *queue), void *arg);
enum mg_class __wrap_mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                       mg_published_fn *done, void *arg, struct mg_err *err);
struct mg_idle *__wrap_mg_idle_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg);
void __wrap_mg_idle_destroy(struct mg_idle *idle);
void __wrap_mg_idle_arm(struct mg_idle *idle);
struct mg_timer *__wrap_mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg);
void __wrap_mg_timer_destroy(struct mg_timer *timer);
void __wrap_mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms);

enum mg_class __wrap_mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                                      struct mg_broker **ret_broker, struct mg_err *err)
{
    (void)loop;
    (void)err;
    fake.options = *options;
    *ret_broker = (struct mg_broker *)&fake;
    return MG_OK;
}

void __wrap_mg_broker_destroy(struct mg_broker *broker)
{
    (void)broker;
}

bool __wrap_mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size)
{
    (void)broker;
    (void)ret_reason;
    (void)size;
    return fake.is_up;
}

void __wrap_mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery)
{
    (void)broker;
    (void)delivery;
    fake.acked++;
}

void __wrap_mg_broker_consume_private(struct mg_broker *broker, uint16_t prefetch,
                                      void (*named)(void *arg, int consumer, const char *queue), void *arg)
{
    (void)broker;
    (void)prefetch;
    fake.named = named;
    fake.named_arg = arg;
}

enum mg_class __wrap_mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                       mg_published_fn *done, void *arg, struct mg_err *err)
{
    (void)broker;
    (void)err;
    ck_assert_int_lt(fake.post_count, POSTS_MAX);
    int at = fake.post_count++;
    (void)snprintf(fake.posts[at].order_id, sizeof(fake.posts[at].order_id), "%s", message->message_id);
    (void)snprintf(fake.posts[at].reply_to, sizeof(fake.posts[at].reply_to), "%s",
                   message->reply_to != NULL ? message->reply_to : "");
    (void)snprintf(fake.posts[at].body, sizeof(fake.posts[at].body), "%.*s", (int)message->body.len,
                   message->body.data);
    fake.posts[at].done = done;
    fake.posts[at].arg = arg;
    return MG_OK;
}

struct mg_idle *__wrap_mg_idle_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    (void)loop;
    fake.pump = fn;
    fake.loop_arg = arg;
    return (struct mg_idle *)&fake;
}

void __wrap_mg_idle_destroy(struct mg_idle *idle)
{
    (void)idle;
}

void __wrap_mg_idle_arm(struct mg_idle *idle)
{
    (void)idle; /* the test calls fake.pump */
}

struct mg_timer *__wrap_mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    (void)loop;
    (void)arg;
    fake.pause_end = fn;
    return (struct mg_timer *)&fake;
}

void __wrap_mg_timer_destroy(struct mg_timer *timer)
{
    (void)timer;
}

void __wrap_mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms)
{
    (void)timer;
    ck_assert_int_gt(after_ms, 0);
    ck_assert_int_eq(repeat_ms, 0);
    fake.is_pausing = true;
}

static bool on_posted(void *arg, struct mg_posting *posting, enum mg_publish_outcome outcome)
{
    (void)arg;
    (void)posting;
    seen.posted++;
    seen.outcome = outcome;
    return seen.repeats;
}

static bool on_status(void *arg, struct mg_posting *posting, struct mg_slice body)
{
    (void)arg;
    (void)posting;
    (void)body;
    seen.statuses++;
    return seen.is_over;
}

static struct mg_poster *poster_start(const char *client)
{
    const struct mg_poster_options options = {
        .client = client, .wants_statuses = true, .on_posted = on_posted, .on_status = on_status};
    struct mg_poster *poster = NULL;
    struct mg_err err;
    memset(&fake, 0, sizeof(fake));
    memset(&seen, 0, sizeof(seen));
    seen.repeats = true;
    fake.is_up = true;
    ck_assert_int_eq(mg_poster_create(NULL, &options, &poster, &err), MG_OK);
    return poster;
}

static void settle(int at, enum mg_publish_outcome outcome)
{
    fake.posts[at].done(fake.posts[at].arg, outcome);
    fake.pump(fake.loop_arg);
}

static void queue_name(const char *queue)
{
    fake.named(fake.named_arg, 0, queue);
    fake.pump(fake.loop_arg);
}

static void status_send(const char *order_id)
{
    struct mg_delivery delivery = {.correlation_id = mg_slice_of(order_id), .body = mg_slice_of("{}")};
    fake.options.on_delivery(fake.options.arg, &delivery);
}

static struct mg_posting order_of(const char *order_id)
{
    return (struct mg_posting){.order_id = order_id, .body = mg_slice_of("the bytes")};
}

/* Catches: an order that is posted before its statuses have a queue, once only, or with the old queue. */
START_TEST(an_order_goes_again_to_each_new_queue_until_it_is_over)
{
    struct mg_poster *poster = poster_start(NULL);
    struct mg_posting order = order_of("one"), over = order_of("two");
    mg_poster_add(poster, &order);
    mg_poster_add(poster, &over);
    fake.pump(fake.loop_arg);
    ck_assert_int_eq(fake.post_count, 0);
    queue_name("first");
    ck_assert_int_eq(fake.post_count, 2);
    ck_assert_str_eq(fake.posts[0].order_id, "one");
    ck_assert_str_eq(fake.posts[0].reply_to, "first");
    settle(0, MG_PUBLISH_CONFIRMED);
    settle(1, MG_PUBLISH_CONFIRMED);
    seen.is_over = true;
    status_send("two");
    status_send("unknown");
    ck_assert_int_eq(seen.statuses, 1);
    ck_assert_int_eq(fake.acked, 2);
    queue_name("second");
    ck_assert_int_eq(fake.post_count, 3);
    ck_assert_str_eq(fake.posts[2].order_id, "one");
    ck_assert_str_eq(fake.posts[2].reply_to, "second");
    ck_assert_str_eq(fake.posts[2].body, "the bytes");
    mg_poster_remove(poster, &order);
    settle(2, MG_PUBLISH_CONFIRMED);
    ck_assert_int_eq(seen.posted, 2); /* nothing of an order that was removed */
    mg_poster_destroy(poster);
}
END_TEST

/* Catches: a post without an answer that is not repeated, or that leaves a later refusal as a proof. */
START_TEST(a_post_without_a_confirm_is_repeated_after_a_pause)
{
    struct mg_poster *poster = poster_start(NULL);
    struct mg_posting order = order_of("one");
    mg_poster_add(poster, &order);
    queue_name("first");
    settle(0, MG_PUBLISH_REFUSED);
    ck_assert(!order.is_maybe);
    ck_assert_int_eq(fake.post_count, 1);
    ck_assert(fake.is_pausing);
    fake.pause_end(fake.loop_arg);
    ck_assert_int_eq(fake.post_count, 2);
    settle(1, MG_PUBLISH_UNKNOWN);
    ck_assert(order.is_maybe);
    fake.pause_end(fake.loop_arg);
    ck_assert_int_eq(fake.post_count, 3);
    seen.repeats = false;
    settle(2, MG_PUBLISH_RETURNED);
    fake.pause_end(fake.loop_arg);
    ck_assert_int_eq(fake.post_count, 3);
    mg_poster_destroy(poster);
}
END_TEST

/* Catches: a refusal that counts as a proof, though an earlier post was never answered. */
START_TEST(a_post_that_a_new_queue_overtakes_may_have_arrived)
{
    struct mg_poster *poster = poster_start(NULL);
    struct mg_posting order = order_of("one");
    mg_poster_add(poster, &order);
    queue_name("first");
    queue_name("second");
    ck_assert_int_eq(fake.post_count, 2);
    ck_assert(order.is_maybe);
    settle(0, MG_PUBLISH_UNKNOWN);
    ck_assert_int_eq(seen.posted, 0);
    mg_poster_destroy(poster); /* frees the post under way */
}
END_TEST

/* Catches: a flood of the intake queue, orders that stay behind, and an id that is not found among many. */
START_TEST(many_orders_pass_a_window)
{
    enum { COUNT = 1000 };
    static struct mg_posting orders[COUNT];
    static char ids[COUNT][16];
    struct mg_poster *poster = poster_start(NULL);
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "order-%d", i);
        orders[i] = order_of(ids[i]);
        mg_poster_add(poster, &orders[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        ck_assert_ptr_eq(mg_poster_find(poster, mg_slice_of(ids[i])), &orders[i]);
    }
    queue_name("first");
    ck_assert_int_eq(fake.post_count, 256);
    for (int i = 0; i < COUNT; i++) {
        settle(i, MG_PUBLISH_CONFIRMED);
    }
    ck_assert_int_eq(fake.post_count, COUNT);
    ck_assert_int_eq(seen.posted, COUNT);
    mg_poster_remove(poster, &orders[500]);
    ck_assert_ptr_null(mg_poster_find(poster, mg_slice_of("order-500")));
    ck_assert_ptr_eq(mg_poster_find(poster, mg_slice_of("order-501")), &orders[501]);
    mg_poster_destroy(poster);
}
END_TEST

/* Catches: a named client that shares the exchange of all, or reads from a queue of another name. */
START_TEST(a_named_client_has_names_of_its_own)
{
    struct mg_poster *poster = poster_start("shop");
    struct mg_poster *refused = NULL;
    struct mg_posting order = order_of("one");
    struct mg_err err;
    ck_assert_int_eq(fake.options.consumer_count, 1);
    ck_assert_str_eq(fake.options.consumers[0].queue, "client.shop.statuses");
    mg_poster_add(poster, &order);
    fake.pump(fake.loop_arg);
    ck_assert_str_eq(fake.posts[0].reply_to, "client.shop.statuses");
    fake.options.on_state(fake.options.arg, true, "");
    fake.pump(fake.loop_arg);
    ck_assert_int_eq(fake.post_count, 2);
    mg_poster_destroy(poster);
    const struct mg_poster_options dotted = {.client = "a.b", .wants_statuses = true};
    ck_assert_int_eq(mg_poster_create(NULL, &dotted, &refused, &err), MG_BAD_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("client");
    TCase *tests = tcase_create("client");
    tcase_add_test(tests, statuses_come_by_rising_number_each_once);
    tcase_add_test(tests, a_status_behind_a_gap_is_held_for_a_while);
    tcase_add_test(tests, a_rejection_has_no_gap_before_it);
    tcase_add_test(tests, unread_statuses_are_bounded);
    tcase_add_test(tests, an_order_goes_again_to_each_new_queue_until_it_is_over);
    tcase_add_test(tests, a_post_without_a_confirm_is_repeated_after_a_pause);
    tcase_add_test(tests, a_post_that_a_new_queue_overtakes_may_have_arrived);
    tcase_add_test(tests, many_orders_pass_a_window);
    tcase_add_test(tests, a_named_client_has_names_of_its_own);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
