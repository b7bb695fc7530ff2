/*
 * The runner of batches turn by turn. One batch lies in a table of the test's own; the schedulers' part is
 * played by the test, which says what became of each order.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/store_batch.h"
#include "io/topology.h"
#include "operator/batch_orders.h"
#include "operator/batch_runner.h"
#include "wire/alert.h"

#define ORDERS    400
#define BATCH_ID  "11111111-1111-5111-8111-111111111111"
#define NOW_US    INT64_C(1750000000000000)
#define SENT_MAX  4000
#define ENOUGH_MS 60000 /* longer than any batch here takes */
#define RESEND_MS 2000

struct fake_order {
    enum mg_batch_result result;
    uint64_t version;
    enum mg_order_state state;
    char cause[MG_UUID_SIZE];
    int sent;
};

static struct {
    int64_t boot_ms;
    /* the table */
    struct mg_batch_row row;
    struct fake_order orders[ORDERS];
    int asked_to;
    bool is_ended;
    int looks, writes, keeps, tries;
    /* what goes wrong */
    bool is_store_up, is_broker_up, fails_look, fails_write, is_fenced, is_paused_meanwhile, is_held_by_other;
    /* what was said */
    struct mg_command sent[SENT_MAX];
    int sent_count;
    struct mg_alert_message alert;
    int alert_count, resigned, warnings;
    char why[400];
    /* the runner's */
    struct mg_store_options store;
    struct mg_command_client_options client;
    struct mg_timer {
        mg_loop_fn *fn;
        void *arg;
        int64_t at_ms;
        bool is_active;
    } timer;
} fake;
static struct mg_batch_runner *runner;

/* ---- clock, loop, log ---- */

int64_t mg_clock_boot_ms(void)
{
    return fake.boot_ms;
}

int64_t mg_clock_boot_us(void)
{
    return fake.boot_ms * 1000;
}

int64_t mg_clock_wall_ms(void)
{
    return fake.boot_ms;
}

struct mg_timer *mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    (void)loop;
    fake.timer = (struct mg_timer){fn, arg, 0, false};
    return &fake.timer;
}

void mg_timer_destroy(struct mg_timer *timer)
{
    timer->is_active = false;
}

void mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms)
{
    ck_assert_int_eq(repeat_ms, 0);
    timer->at_ms = fake.boot_ms + (after_ms > 1 ? after_ms : 1);
    timer->is_active = true;
}

static void pass(int64_t ms)
{
    int64_t until_ms = fake.boot_ms + ms;
    while (fake.timer.is_active && fake.timer.at_ms <= until_ms) {
        fake.boot_ms = fake.timer.at_ms;
        fake.timer.is_active = false;
        fake.timer.fn(fake.timer.arg);
    }
    fake.boot_ms = until_ms;
}

void mg_log_write(enum mg_log_level level, const char *message, const struct mg_log_field *fields)
{
    (void)message;
    (void)fields;
    fake.warnings += level >= MG_LOG_WARN;
}

/* ---- the broker ---- */

enum mg_class mg_command_client_create(struct mg_loop *loop, const struct mg_command_client_options *options,
                                       struct mg_command_client **ret_client, struct mg_err *err)
{
    (void)loop;
    (void)err;
    fake.client = *options;
    *ret_client = (struct mg_command_client *)&fake;
    return MG_OK;
}

void mg_command_client_destroy(struct mg_command_client *client)
{
    (void)client;
}

bool mg_command_client_is_up(const struct mg_command_client *client, char *ret_reason, size_t size)
{
    (void)client;
    snprintf(ret_reason, size, "%s", fake.is_broker_up ? "" : "away");
    return fake.is_broker_up;
}

static int number_of(const char *order_id)
{
    return (int)strtol(order_id + 2, NULL, 10);
}

enum mg_class mg_command_client_send(struct mg_command_client *client, const struct mg_command *command,
                                     struct mg_err *err)
{
    (void)client;
    if (!fake.is_broker_up) {
        return mg_err_set(err, MG_TRANSIENT, "away");
    }
    ck_assert_int_lt(fake.sent_count, SENT_MAX);
    fake.sent[fake.sent_count++] = *command;
    fake.orders[number_of(command->order_id)].sent++;
    return MG_OK;
}

struct mg_broker *mg_command_client_broker(struct mg_command_client *client)
{
    (void)client;
    return NULL;
}

enum mg_class mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                mg_published_fn *done, void *arg, struct mg_err *err)
{
    (void)broker;
    (void)done;
    (void)arg;
    ck_assert_str_eq(message->exchange, "");
    ck_assert_str_eq(message->routing_key, MG_QUEUE_ALERTS);
    ck_assert_int_eq(mg_alert_parse(message->body, &fake.alert, err), MG_OK);
    fake.alert_count++;
    return MG_OK;
}

/* ---- the store ---- */

enum mg_class mg_store_create(struct mg_loop *loop, const struct mg_store_options *options,
                              struct mg_store **ret_store, struct mg_err *err)
{
    (void)loop;
    (void)err;
    fake.store = *options;
    *ret_store = (struct mg_store *)&fake;
    return MG_OK;
}

void mg_store_destroy(struct mg_store *store)
{
    (void)store;
}

bool mg_store_is_up(const struct mg_store *store, char *ret_reason, size_t size)
{
    (void)store;
    snprintf(ret_reason, size, "%s", fake.is_store_up ? "" : "away");
    return fake.is_store_up;
}

bool mg_store_is_ready(const struct mg_store *store, char *ret_reason, size_t size)
{
    return mg_store_is_up(store, ret_reason, size);
}

void mg_store_try_lead(struct mg_store *store, const char *holder, mg_store_lead_fn *done, void *arg)
{
    (void)store;
    ck_assert_str_eq(holder, "runner-1");
    fake.tries++;
    fake.is_fenced = false;
    done(arg, &(struct mg_lead_answer){.is_leader = !fake.is_held_by_other, .epoch = 1}, NULL);
}

void mg_store_stop_leading(struct mg_store *store, mg_store_done_fn *done, void *arg)
{
    (void)store;
    fake.resigned++;
    done(arg, NULL);
}

void mg_store_keep_batches(struct mg_store *store, mg_store_changed_fn *done, void *arg)
{
    (void)store;
    fake.keeps++;
    done(arg, !fake.is_fenced, NULL);
}

static int count_of(enum mg_batch_result result)
{
    int count = 0;
    for (int i = 0; i < ORDERS; i++) {
        count += fake.orders[i].result == result && (uint64_t)i < fake.row.version / 1000;
    }
    return count;
}

/* How many orders the batch has stands in thousands of its version: so a test names both at once. */
static int order_count(void)
{
    return (int)(fake.row.version / 1000);
}

void mg_store_look_at_batches(struct mg_store *store, mg_store_batches_fn *done, void *arg)
{
    static struct mg_batch_order_row asked[ORDERS];
    struct mg_err err;
    int count = 0;
    (void)store;
    fake.looks++;
    if (fake.fails_look) {
        (void)mg_err_set(&err, MG_TRANSIENT, "away");
        done(arg, NULL, &err);
        return;
    }
    for (int i = 0; i < order_count(); i++) {
        const struct fake_order *order = &fake.orders[i];
        if (order->result == MG_BATCH_RESULT_ASKED) {
            struct mg_batch_order_row *row = &asked[count++];
            *row = (struct mg_batch_order_row){
                .n = i + 1, .order = {.version = 7, .order_version = order->version, .state = order->state}};
            snprintf(row->order_id, sizeof row->order_id, "o-%d", i);
            snprintf(row->cause, sizeof row->cause, "%s", order->cause);
        }
    }
    struct mg_batch *batch = &fake.row.batch;
    batch->waiting = count_of(MG_BATCH_RESULT_WAITING);
    batch->asked = count;
    batch->done = count_of(MG_BATCH_RESULT_DONE);
    batch->failed = batch->recent_failed = count_of(MG_BATCH_RESULT_FAILED);
    batch->now_us = NOW_US + fake.boot_ms * 1000;
    const struct mg_batches batches = {&fake.row, asked, fake.is_ended ? 0 : 1, count};
    done(arg, &batches, NULL);
}

void mg_store_write_batch(struct mg_store *store, const struct mg_batch_write *write,
                          mg_store_batch_written_fn *done, void *arg)
{
    struct mg_batch_written written = {.is_leader = !fake.is_fenced};
    struct mg_err err;
    (void)store;
    fake.writes++;
    if (fake.fails_write) {
        (void)mg_err_set(&err, MG_TRANSIENT, "away");
        done(arg, NULL, &err);
        return;
    }
    written.is_written = !fake.is_fenced && !fake.is_paused_meanwhile;
    if (fake.is_paused_meanwhile) {
        fake.row.batch.state = MG_BATCH_PAUSED;
        fake.is_paused_meanwhile = false;
    } else if (written.is_written) {
        for (int i = 0; i < write->ended_count; i++) {
            fake.orders[write->ended[i].n - 1].result = write->ended[i].result;
        }
        for (int64_t i = 0; i < write->plan.ask; i++) {
            fake.orders[fake.asked_to].result = MG_BATCH_RESULT_ASKED;
            fake.asked_to++;
            written.asked++;
        }
        bool stops = write->plan.state == MG_BATCH_STOPPED && fake.row.batch.state != MG_BATCH_STOPPED;
        for (int i = 0; stops && i < order_count(); i++) {
            if (fake.orders[i].result == MG_BATCH_RESULT_WAITING) {
                fake.orders[i].result = MG_BATCH_RESULT_SKIPPED;
            }
        }
        ck_assert(stops == (write->why != NULL));
        snprintf(fake.why, sizeof fake.why, "%s", write->why != NULL ? write->why : "");
        written.is_alerted = stops;
        fake.row.batch.state = write->plan.state;
        fake.row.batch.is_tried = write->plan.is_tried;
        fake.row.batch.next_us = write->plan.next_us;
        fake.is_ended = write->plan.state == MG_BATCH_DONE ||
                        (write->plan.state == MG_BATCH_STOPPED && count_of(MG_BATCH_RESULT_ASKED) == 0);
    }
    done(arg, &written, NULL);
}

/* ---- the schedulers' part ---- */

/* Takes every command that was sent, and has the order end so. */
static void end_all(enum mg_order_state state)
{
    for (int i = 0; i < fake.sent_count; i++) {
        struct fake_order *order = &fake.orders[number_of(fake.sent[i].order_id)];
        if (order->version == 7) {
            order->version = 9;
            order->state = state;
            memcpy(order->cause, fake.sent[i].command_id, sizeof order->cause);
        }
    }
}

static void answer(int i, enum mg_command_verdict verdict, uint64_t version, const char *text)
{
    struct mg_command_result result = {.verdict = verdict, .version = version};
    snprintf(result.command_id, sizeof result.command_id, "%s", fake.sent[i].command_id);
    snprintf(result.text, sizeof result.text, "%s", text);
    fake.client.on_result(fake.client.arg, &result);
}

/* ---- tests ---- */

static void begin(int orders, double rate)
{
    struct mg_err err;
    memset(&fake, 0, sizeof fake);
    fake.boot_ms = 1000;
    fake.is_store_up = fake.is_broker_up = true;
    snprintf(fake.row.batch_id, sizeof fake.row.batch_id, BATCH_ID);
    snprintf(fake.row.reason, sizeof fake.row.reason, "it is back");
    snprintf(fake.row.by, sizeof fake.row.by, "anna");
    fake.row.verb = MG_CAUSE_RESUME;
    fake.row.version = (uint64_t)orders * 1000;
    fake.row.batch = (struct mg_batch){.state = MG_BATCH_CANARY,
                                       .canary = 5,
                                       .stop_percent = 10,
                                       .spacing_us = mg_batch_spacing_us(rate),
                                       .next_us = NOW_US};
    for (int i = 0; i < orders; i++) {
        fake.orders[i] = (struct fake_order){.version = 7, .state = MG_ORDER_ERROR};
    }
    const struct mg_batch_runner_options options = {.holder = "runner-1"};
    ck_assert_int_eq(mg_batch_runner_start(NULL, &options, &runner, &err), MG_OK);
    ck_assert(fake.store.is_leader_session && fake.store.lead == MG_LEAD_BATCHES);
}

static void finish(void)
{
    mg_batch_runner_stop(runner);
}

static void pass_until_sent(int count)
{
    for (int64_t ms = 0; fake.sent_count < count && ms < ENOUGH_MS; ms += 50) {
        pass(50);
    }
    ck_assert_int_eq(fake.sent_count, count);
}

/* Would catch: a canary that is not waited for, a batch that never ends, commands that cannot be told from
 * one another or from those of another batch. */
START_TEST(the_canary_first_then_the_rest)
{
    begin(60, 100);
    pass(ENOUGH_MS / 60);
    ck_assert_int_eq(fake.sent_count, 5);
    ck_assert_int_eq(fake.sent[0].kind, MG_CAUSE_RESUME);
    ck_assert_uint_eq(fake.sent[0].version, 7);
    ck_assert_str_eq(fake.sent[0].by, "anna");
    ck_assert_str_eq(fake.sent[0].reason, "it is back (batch " BATCH_ID ")");
    ck_assert_str_ne(fake.sent[0].command_id, fake.sent[1].command_id);
    end_all(MG_ORDER_PROCESSED);
    pass_until_sent(60);
    for (int i = 0; i < 60; i++) {
        ck_assert_int_eq(fake.orders[i].sent, 1);
    }
    end_all(MG_ORDER_COMPENSATED);
    pass(1000);
    ck_assert(fake.is_ended);
    ck_assert_int_eq(fake.row.batch.state, MG_BATCH_DONE);
    ck_assert_int_eq(count_of(MG_BATCH_RESULT_DONE), 60);
    ck_assert_int_eq(fake.alert_count, 0);
    finish();
}
END_TEST

START_TEST(a_canary_that_fails_stops_it_and_is_told_once)
{
    begin(60, 100);
    pass(1000);
    end_all(MG_ORDER_ERROR);
    pass(ENOUGH_MS);
    ck_assert_int_eq(fake.sent_count, 5);
    ck_assert(fake.is_ended);
    ck_assert_int_eq(fake.row.batch.state, MG_BATCH_STOPPED);
    ck_assert_int_eq(count_of(MG_BATCH_RESULT_FAILED), 5);
    ck_assert_int_eq(count_of(MG_BATCH_RESULT_SKIPPED), 55);
    ck_assert_int_eq(fake.alert_count, 1);
    ck_assert_int_eq(fake.alert.alert, MG_ALERT_BATCH_STOPPED);
    ck_assert_str_eq(fake.alert.subject, BATCH_ID);
    ck_assert_msg(strstr(fake.alert.text, "5 failed again") != NULL, "%s", fake.alert.text);
    ck_assert_str_eq(fake.alert.text, fake.why);
    finish();
}
END_TEST

/* An answer that was refused is all there is of it: the order stays as it was. */
START_TEST(what_is_refused_has_failed_and_what_was_changed_by_others_is_skipped)
{
    begin(5, 100);
    fake.row.batch.stop_percent = 100;
    pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    answer(0, MG_COMMAND_CONFLICT, 7, "settle it");
    answer(1, MG_COMMAND_CONFLICT, 8, "it has changed");
    fake.orders[1].version = 8;
    snprintf(fake.orders[1].cause, sizeof fake.orders[1].cause, "another's");
    answer(2, MG_COMMAND_NOT_FOUND, 0, "no such order");
    answer(3, MG_COMMAND_DONE, 8, "");
    pass(1000);
    ck_assert_int_eq(fake.orders[0].result, MG_BATCH_RESULT_FAILED);
    ck_assert_int_eq(fake.orders[1].result, MG_BATCH_RESULT_SKIPPED);
    ck_assert_int_eq(fake.orders[2].result, MG_BATCH_RESULT_FAILED);
    ck_assert_int_eq(fake.orders[3].result, MG_BATCH_RESULT_ASKED);
    ck_assert_int_eq(fake.orders[4].result, MG_BATCH_RESULT_ASKED);
    end_all(MG_ORDER_PROCESSED);
    pass(1000);
    ck_assert_int_eq(count_of(MG_BATCH_RESULT_DONE), 2);
    ck_assert(fake.is_ended);
    finish();
}
END_TEST

/* Law 3. Would catch: an order that is lost with the runner that had marked it, and one that is another cause
 * when it is asked for by the next. */
START_TEST(what_a_dead_runner_had_marked_is_asked_for_by_the_next_as_the_same_cause)
{
    begin(60, 100);
    pass(1000);
    struct mg_command first = fake.sent[0];
    finish();
    fake.sent_count = 0;
    struct mg_err err;
    const struct mg_batch_runner_options options = {.holder = "runner-1"};
    ck_assert_int_eq(mg_batch_runner_start(NULL, &options, &runner, &err), MG_OK);
    pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    ck_assert_str_eq(fake.sent[0].command_id, first.command_id);
    ck_assert_str_eq(fake.sent[0].order_id, first.order_id);
    finish();
}
END_TEST

START_TEST(a_command_without_an_answer_is_sent_again_ever_more_seldom)
{
    begin(1, 100);
    pass(500);
    ck_assert_int_eq(fake.sent_count, 1);
    pass(RESEND_MS - 1000);
    ck_assert_int_eq(fake.sent_count, 1);
    pass(1000);
    ck_assert_int_eq(fake.sent_count, 2);
    pass(3000);
    ck_assert_int_eq(fake.sent_count, 2);
    pass(INT64_C(2) * 3600 * 1000);
    ck_assert_int_lt(fake.sent_count, 30);
    fake.client.on_place(fake.client.arg); /* whatever was answered went nowhere */
    int before = fake.sent_count;
    pass(500);
    ck_assert_int_eq(fake.sent_count, before + 1);
    fake.orders[0].version = 8; /* it goes on */
    fake.orders[0].state = MG_ORDER_PROCESSING;
    memcpy(fake.orders[0].cause, fake.sent[0].command_id, sizeof fake.orders[0].cause);
    pass(INT64_C(2) * 3600 * 1000);
    ck_assert_int_eq(fake.sent_count, before + 1);
    finish();
}
END_TEST

/* Would catch: a batch that asks for nothing more as long as anything ends, or for more than may be under
 * way. */
START_TEST(a_fast_batch_is_driven_as_fast_as_its_orders_end)
{
    begin(ORDERS, 1000);
    for (int i = 0; i < 1000 && !fake.is_ended; i++) {
        pass(1);
        end_all(MG_ORDER_PROCESSED);
    }
    pass(1000);
    ck_assert(fake.is_ended);
    ck_assert_int_eq(count_of(MG_BATCH_RESULT_DONE), ORDERS);
    finish();
}
END_TEST

START_TEST(no_more_are_marked_than_can_be_sent)
{
    begin(60, 100);
    fake.is_broker_up = false;
    pass(10000);
    ck_assert_int_eq(fake.tries, 0); /* who cannot ask lets others lead, and keeps its session */
    ck_assert_int_gt(fake.keeps, 1);
    fake.is_broker_up = true;
    pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    end_all(MG_ORDER_PROCESSED);
    pass(20);
    fake.is_broker_up = false;
    pass(3000);
    int marked = count_of(MG_BATCH_RESULT_ASKED);
    int sent = fake.sent_count;
    ck_assert_int_eq(fake.asked_to, sent);
    ck_assert_int_le(marked, sent);
    ck_assert_int_eq(fake.resigned, 0);
    pass(10000);
    ck_assert_int_eq(fake.resigned, 1);
    ck_assert_int_eq(fake.asked_to, sent);
    finish();
}
END_TEST

START_TEST(an_operator_in_between_is_heard)
{
    begin(60, 100);
    fake.is_paused_meanwhile = true;
    pass(10000);
    ck_assert_int_eq(fake.sent_count, 0);
    ck_assert_int_eq(fake.row.batch.state, MG_BATCH_PAUSED);
    fake.row.batch.state = MG_BATCH_CANARY;
    pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    finish();
}
END_TEST

START_TEST(who_does_not_lead_writes_nothing_and_tries_again)
{
    begin(60, 100);
    fake.is_held_by_other = true;
    pass(5000);
    ck_assert_int_ge(fake.tries, 9);
    ck_assert_int_eq(fake.looks, 0);
    fake.is_held_by_other = false;
    pass(1000);
    ck_assert_int_eq(fake.sent_count, 5);
    end_all(MG_ORDER_PROCESSED);
    fake.is_held_by_other = fake.is_fenced = true;
    int writes = fake.writes;
    pass(5000);
    ck_assert_int_eq(fake.writes, writes + 1);
    ck_assert_int_eq(fake.sent_count, 5);
    fake.is_held_by_other = false;
    pass(1000);
    ck_assert_int_gt(fake.sent_count, 5);
    finish();
}
END_TEST

START_TEST(a_database_that_fails_is_asked_again_and_said_once)
{
    begin(60, 100);
    pass(1000);
    int warnings = fake.warnings;
    fake.fails_look = true;
    pass(10000);
    ck_assert_int_eq(fake.warnings, warnings + 1);
    fake.fails_look = false;
    fake.fails_write = true;
    end_all(MG_ORDER_PROCESSED);
    pass(10000);
    fake.fails_write = false;
    fake.is_store_up = false;
    fake.store.on_state(fake.store.arg, false, "the test says so");
    pass(5000);
    fake.is_store_up = true;
    fake.store.on_state(fake.store.arg, true, "");
    pass_until_sent(60);
    char reason[64];
    ck_assert(mg_batch_runner_is_ready(runner, reason, sizeof reason));
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("operator: batch runner");
    TCase *tests = tcase_create("batch_runner");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, the_canary_first_then_the_rest);
    tcase_add_test(tests, a_canary_that_fails_stops_it_and_is_told_once);
    tcase_add_test(tests, what_is_refused_has_failed_and_what_was_changed_by_others_is_skipped);
    tcase_add_test(tests, what_a_dead_runner_had_marked_is_asked_for_by_the_next_as_the_same_cause);
    tcase_add_test(tests, a_command_without_an_answer_is_sent_again_ever_more_seldom);
    tcase_add_test(tests, a_fast_batch_is_driven_as_fast_as_its_orders_end);
    tcase_add_test(tests, no_more_are_marked_than_can_be_sent);
    tcase_add_test(tests, an_operator_in_between_is_heard);
    tcase_add_test(tests, who_does_not_lead_writes_nothing_and_tries_again);
    tcase_add_test(tests, a_database_that_fails_is_asked_again_and_said_once);
    suite_add_tcase(suite, tests);
    SRunner *suites = srunner_create(suite);
    srunner_run_all(suites, CK_NORMAL);
    int failed = srunner_ntests_failed(suites);
    srunner_free(suites);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
