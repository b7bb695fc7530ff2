/* Calls that wait for an order: the reports that they cost, their limit for a client, the end of a wait. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/clock.h"
#include "gateway/call.h"

#define CALLS_MAX  (MG_WAITS_MAX + 1)
#define TIMERS_MAX 2
#define WAIT_MS    60000

struct mg_rows {
    int64_t place; /* of the order that has ended; 0: no row */
};

struct mg_client {
    char name[8];
};

struct mg_http_exchange {
    bool is_hung_up;
};

struct mg_timer {
    mg_loop_fn *fn;
    void *arg;
    int64_t at_ms, period_ms; /* 0: stopped */
};

static struct {
    int64_t boot_ms;
    struct mg_timer timers[TIMERS_MAX];
    int timer_count;
    struct mg_gateway gateway;
    struct mg_client shop, other;
    struct mg_http_exchange requests[CALLS_MAX];
    struct mg_call calls[CALLS_MAX];
    bool is_woken[CALLS_MAX];
    mg_store_rows_fn *done; /* of the open report; NULL: none is */
    void *arg;
    int reports;
} fake;

/* ---- the world ---- */

int64_t mg_clock_boot_ms(void)
{
    return fake.boot_ms;
}

struct mg_timer *mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    (void)loop;
    ck_assert_int_lt(fake.timer_count, TIMERS_MAX);
    fake.timers[fake.timer_count] = (struct mg_timer){.fn = fn, .arg = arg};
    return &fake.timers[fake.timer_count++];
}

void mg_timer_destroy(struct mg_timer *timer)
{
    (void)timer;
}

void mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms)
{
    ck_assert(after_ms > 0 && repeat_ms > 0);
    timer->at_ms = fake.boot_ms + after_ms;
    timer->period_ms = repeat_ms;
}

void mg_timer_stop(struct mg_timer *timer)
{
    timer->at_ms = timer->period_ms = 0;
}

bool mg_timer_is_active(const struct mg_timer *timer)
{
    return timer->at_ms > 0;
}

const char *mg_client_name(const struct mg_client *client)
{
    return client->name;
}

bool mg_http_exchange_is_hung_up(const struct mg_http_exchange *request)
{
    return request->is_hung_up;
}

void mg_store_report(struct mg_store *store, enum mg_report report, const char *const *params, int count,
                     mg_store_rows_fn *done, void *arg)
{
    (void)store;
    ck_assert_ptr_null(fake.done);
    ck_assert(report == MG_REPORT_CHANGES && count == 3);
    ck_assert(strncmp(params[2], "shop", 4) == 0); /* an order of another client wakes nobody */
    fake.done = done;
    fake.arg = arg;
    fake.reports++;
}

int mg_rows_count(const struct mg_rows *rows)
{
    return rows->place > 0;
}

int64_t mg_rows_int(const struct mg_rows *rows, int row, int column)
{
    (void)row;
    return column == 0 ? rows->place : 4;
}

struct mg_slice mg_rows_value(const struct mg_rows *rows, int row, int column)
{
    (void)rows;
    (void)row;
    (void)column;
    return mg_slice_of("processed");
}

static void answer(int64_t place, const struct mg_err *err)
{
    const struct mg_rows rows = {place};
    mg_store_rows_fn *done = fake.done;
    ck_assert_ptr_nonnull(done);
    fake.done = NULL;
    done(fake.arg, err == NULL ? &rows : NULL, err);
}

/* Every millisecond of that time. */
static void pass(int64_t ms)
{
    for (int64_t end_ms = fake.boot_ms + ms; fake.boot_ms < end_ms;) {
        fake.boot_ms++;
        for (int i = 0; i < fake.timer_count; i++) {
            struct mg_timer *timer = &fake.timers[i];
            if (timer->at_ms > 0 && timer->at_ms <= fake.boot_ms) {
                timer->at_ms += timer->period_ms;
                timer->fn(timer->arg);
            }
        }
    }
}

/* ---- calls ---- */

static void on_woken(struct mg_call *call)
{
    fake.is_woken[call - fake.calls] = true;
}

static bool begin(int i, struct mg_client *client)
{
    struct mg_call *call = &fake.calls[i];
    *call = (struct mg_call){.gateway = &fake.gateway,
                             .request = &fake.requests[i],
                             .client = client,
                             .wait_until_ms = fake.boot_ms + WAIT_MS};
    (void)snprintf(call->order_id, sizeof(call->order_id), "%d", i);
    TAILQ_INSERT_TAIL(&fake.gateway.calls, call, entry);
    return mg_wait_begin(call, on_woken);
}

static void setup(void)
{
    memset(&fake, 0, sizeof(fake));
    fake.boot_ms = WAIT_MS;
    fake.shop = (struct mg_client){"shop"};
    fake.other = (struct mg_client){"other"};
    TAILQ_INIT(&fake.gateway.calls);
    fake.gateway.metrics = mg_metrics_create();
    fake.gateway.observers = mg_observers_create(&fake.gateway);
    fake.gateway.waits = mg_waits_create(&fake.gateway);
    ck_assert(fake.gateway.observers != NULL && fake.gateway.waits != NULL);
}

static void teardown(void)
{
    mg_waits_destroy(fake.gateway.waits);
    mg_observers_destroy(fake.gateway.observers);
    mg_metrics_destroy(fake.gateway.metrics);
}

/* Would catch: reports that take more than their share of the database's time. */
START_TEST(a_report_rests_for_a_multiple_of_its_duration)
{
    ck_assert(begin(0, &fake.shop));
    pass(25);
    ck_assert_int_eq(fake.reports, 1);
    pass(10);
    answer(0, NULL);
    pass(199);
    ck_assert_int_eq(fake.reports, 1);
    pass(26);
    ck_assert_int_eq(fake.reports, 2);
    answer(1, NULL);
    ck_assert(fake.is_woken[0]);
}
END_TEST

/* Would catch: waits and streams that notice nothing for minutes after a stall of seconds. */
START_TEST(a_slow_report_delays_the_next_one_by_a_second)
{
    ck_assert(begin(0, &fake.shop));
    pass(25);
    pass(12000);
    answer(0, NULL);
    pass(900);
    ck_assert_int_eq(fake.reports, 1);
    pass(126);
    ck_assert_int_eq(fake.reports, 2);
}
END_TEST

/* Would catch: a failure that counts as a slow report, and one that is repeated without any rest. */
START_TEST(a_failed_report_is_repeated_soon)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "down");
    ck_assert(begin(0, &fake.shop));
    pass(25);
    pass(2000);
    answer(0, &err);
    pass(200);
    ck_assert_int_eq(fake.reports, 1);
    pass(76);
    ck_assert_int_eq(fake.reports, 2);
}
END_TEST

/* Would catch: one client that takes the waits of all. */
START_TEST(one_client_leaves_waits_for_others)
{
    int begun = 0;
    for (int i = 0; i < MG_WAITS_MAX; i++) {
        begun += begin(i, &fake.shop);
    }
    ck_assert_int_eq(begun, MG_WAITS_MAX / 4);
    ck_assert(begin(MG_WAITS_MAX, &fake.other));
}
END_TEST

/* Would catch: waits that go on for a minute after their clients have hung up. */
START_TEST(a_wait_ends_when_its_client_has_hung_up_or_its_request_is_gone)
{
    for (int i = 0; i < 3; i++) {
        ck_assert(begin(i, &fake.shop));
    }
    pass(2000);
    ck_assert(!fake.is_woken[0] && !fake.is_woken[1] && !fake.is_woken[2]);
    fake.requests[0].is_hung_up = true;
    fake.calls[1].request = NULL;
    pass(1026);
    ck_assert(fake.is_woken[0] && fake.is_woken[1] && !fake.is_woken[2]);
    ck_assert(!mg_wait_begin(&fake.calls[0], on_woken)); /* whatever its order has become */
    pass(WAIT_MS);
    ck_assert(fake.is_woken[2]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gateway_waits");
    TCase *tcase = tcase_create("waits");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_report_rests_for_a_multiple_of_its_duration);
    tcase_add_test(tcase, a_slow_report_delays_the_next_one_by_a_second);
    tcase_add_test(tcase, a_failed_report_is_repeated_soon);
    tcase_add_test(tcase, one_client_leaves_waits_for_others);
    tcase_add_test(tcase, a_wait_ends_when_its_client_has_hung_up_or_its_request_is_gone);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
