/* Calls that wait for an order: the reports that they cost, their limit for a client, the end of a wait. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "fake_clock.h"
#include "fake_loop.h"
#include "fake_report.h"
#include "gateway/call.h"

#define CALLS_MAX (MG_WAITS_MAX + 1)
#define WAIT_MS   60000

struct mg_client {
    char name[8];
};

struct mg_http_exchange {
    bool is_hung_up;
};

static struct {
    struct mg_gateway gateway;
    struct mg_client shop, other;
    struct mg_http_exchange requests[CALLS_MAX];
    struct mg_call calls[CALLS_MAX];
    bool is_woken[CALLS_MAX];
} fake;

/* ---- the world ---- */

const char *mg_client_name(const struct mg_client *client)
{
    return client->name;
}

bool mg_http_exchange_is_hung_up(const struct mg_http_exchange *request)
{
    return request->is_hung_up;
}

static void on_ask(const struct fake_report *report)
{
    ck_assert_int_eq(fake_reports.open_count, 1);
    ck_assert(report->report == MG_REPORT_CHANGES && report->param_count == 3);
    ck_assert(strncmp(report->params[2], "shop", 4) == 0); /* an order of another client wakes nobody */
}

/* No order has ended, or the first has. */
static void answer(bool has_ended)
{
    static const char *const CELLS[] = {"1", "4", "processed"};
    fake_report_answer(0, &(struct mg_rows){has_ended ? 1 : 0, 3, CELLS}, NULL);
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
                             .wait_until_ms = fake_clock.boot_ms + WAIT_MS};
    (void)snprintf(call->order_id, sizeof(call->order_id), "%d", i);
    TAILQ_INSERT_TAIL(&fake.gateway.calls, call, entry);
    return mg_wait_begin(call, on_woken);
}

static void setup(void)
{
    memset(&fake, 0, sizeof(fake));
    fake_loop_reset();
    fake_reports_reset();
    fake_reports.on_ask = on_ask;
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
    fake_reports_reset();
}

/* Would catch: reports that take more than their share of the database's time. */
START_TEST(a_report_rests_for_a_multiple_of_its_duration)
{
    ck_assert(begin(0, &fake.shop));
    fake_loop_pass(25);
    ck_assert_int_eq(fake_reports.asked, 1);
    fake_loop_pass(10);
    answer(false);
    fake_loop_pass(199);
    ck_assert_int_eq(fake_reports.asked, 1);
    fake_loop_pass(26);
    ck_assert_int_eq(fake_reports.asked, 2);
    answer(true);
    ck_assert(fake.is_woken[0]);
}
END_TEST

/* Would catch: waits and streams that notice nothing for minutes after a stall of seconds. */
START_TEST(a_slow_report_delays_the_next_one_by_a_second)
{
    ck_assert(begin(0, &fake.shop));
    fake_loop_pass(25);
    fake_loop_pass(12000);
    answer(false);
    fake_loop_pass(900);
    ck_assert_int_eq(fake_reports.asked, 1);
    fake_loop_pass(126);
    ck_assert_int_eq(fake_reports.asked, 2);
}
END_TEST

/* Would catch: a failure that counts as a slow report, and one that is repeated without any rest. */
START_TEST(a_failed_report_is_repeated_soon)
{
    ck_assert(begin(0, &fake.shop));
    fake_loop_pass(25);
    fake_loop_pass(2000);
    fake_report_answer(0, NULL, "down");
    fake_loop_pass(200);
    ck_assert_int_eq(fake_reports.asked, 1);
    fake_loop_pass(76);
    ck_assert_int_eq(fake_reports.asked, 2);
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
    fake_loop_pass(2000);
    ck_assert(!fake.is_woken[0] && !fake.is_woken[1] && !fake.is_woken[2]);
    fake.requests[0].is_hung_up = true;
    fake.calls[1].request = NULL;
    fake_loop_pass(1026);
    ck_assert(fake.is_woken[0] && fake.is_woken[1] && !fake.is_woken[2]);
    ck_assert(!mg_wait_begin(&fake.calls[0], on_woken)); /* whatever its order has become */
    fake_loop_pass(WAIT_MS);
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
