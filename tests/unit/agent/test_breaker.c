/* The breaker: causes for opening and closing it, and results that no longer count. */
#include <check.h>

#include "../suite.h"
#include "serving/breaker.h"

static const struct mg_breaker_rules rules = {
    .failure_ratio = 0.5,
    .min_calls = 10,
    .window_ms = 10000,
    .open_ms = 5000,
    .probes = 2,
    .unreachable_max = 3,
};
static struct mg_breaker breaker;

static void setup(void)
{
    mg_breaker_init(&breaker, &rules);
}

static bool call(enum mg_call_health health, int64_t now_ms)
{
    uint32_t ticket;
    ck_assert(mg_breaker_admit(&breaker, &ticket));
    return mg_breaker_record(&breaker, ticket, health, now_ms);
}

START_TEST(failures_below_min_calls_do_not_open_it)
{
    for (int i = 0; i < 9; i++) {
        ck_assert(!call(MG_CALL_FAILING, 1000));
    }
    ck_assert_int_eq(breaker.state, MG_BREAKER_CLOSED);
    ck_assert(call(MG_CALL_FAILING, 1000));
    ck_assert_int_eq(breaker.state, MG_BREAKER_OPEN);
}
END_TEST

START_TEST(it_opens_at_the_ratio_and_not_below)
{
    for (int i = 0; i < 10; i++) {
        ck_assert(!call(MG_CALL_HEALTHY, 1000));
    }
    for (int i = 0; i < 9; i++) {
        ck_assert(!call(MG_CALL_FAILING, 1000));
    }
    ck_assert(call(MG_CALL_FAILING, 1000));
}
END_TEST

START_TEST(calls_older_than_the_window_do_not_count)
{
    for (int i = 0; i < 9; i++) {
        ck_assert(!call(MG_CALL_FAILING, 1000));
    }
    ck_assert(!call(MG_CALL_FAILING, 12000));
    ck_assert_int_eq(breaker.state, MG_BREAKER_CLOSED);
}
END_TEST

START_TEST(unreachable_calls_in_a_row_open_it_at_once)
{
    ck_assert(!call(MG_CALL_UNREACHABLE, 1));
    ck_assert(!call(MG_CALL_UNREACHABLE, 2));
    ck_assert(!call(MG_CALL_HEALTHY, 3));
    ck_assert(!call(MG_CALL_UNREACHABLE, 4));
    ck_assert(!call(MG_CALL_UNREACHABLE, 5));
    ck_assert(call(MG_CALL_UNREACHABLE, 6));
    ck_assert_int_eq(breaker.state, MG_BREAKER_OPEN);
}
END_TEST

static void open_it(int64_t now_ms)
{
    for (int i = 0; i < 3; i++) {
        call(MG_CALL_UNREACHABLE, now_ms);
    }
    ck_assert_int_eq(breaker.state, MG_BREAKER_OPEN);
}

START_TEST(open_admits_nothing_until_its_time_is_over)
{
    uint32_t ticket;
    open_it(1000);
    ck_assert(!mg_breaker_admit(&breaker, &ticket));
    ck_assert(!mg_breaker_tick(&breaker, 5999));
    ck_assert(!mg_breaker_admit(&breaker, &ticket));
    ck_assert(mg_breaker_tick(&breaker, 6000));
    ck_assert_int_eq(breaker.state, MG_BREAKER_HALF_OPEN);
}
END_TEST

START_TEST(half_open_admits_only_probes_and_closes_after_as_many_successes)
{
    uint32_t first, second, third;
    open_it(1000);
    mg_breaker_tick(&breaker, 6000);
    ck_assert(mg_breaker_admit(&breaker, &first));
    ck_assert(mg_breaker_admit(&breaker, &second));
    ck_assert(!mg_breaker_admit(&breaker, &third));
    ck_assert(!mg_breaker_record(&breaker, first, MG_CALL_HEALTHY, 6001));
    ck_assert(mg_breaker_admit(&breaker, &third));
    ck_assert(mg_breaker_record(&breaker, second, MG_CALL_HEALTHY, 6002));
    ck_assert_int_eq(breaker.state, MG_BREAKER_CLOSED);
}
END_TEST

START_TEST(a_failed_probe_opens_it_again_for_the_whole_time)
{
    open_it(1000);
    mg_breaker_tick(&breaker, 6000);
    ck_assert(call(MG_CALL_FAILING, 6100));
    ck_assert_int_eq(breaker.state, MG_BREAKER_OPEN);
    ck_assert(!mg_breaker_tick(&breaker, 11099));
    ck_assert(mg_breaker_tick(&breaker, 11100));
}
END_TEST

START_TEST(a_void_probe_returns_its_place_and_proves_nothing)
{
    uint32_t ticket;
    open_it(1000);
    mg_breaker_tick(&breaker, 6000);
    for (int i = 0; i < 10; i++) {
        ck_assert(mg_breaker_admit(&breaker, &ticket));
        ck_assert(!mg_breaker_record(&breaker, ticket, MG_CALL_VOID, 6100));
    }
    ck_assert_int_eq(breaker.state, MG_BREAKER_HALF_OPEN);
}
END_TEST

START_TEST(a_result_from_before_the_opening_neither_closes_nor_reopens)
{
    uint32_t old_good, old_bad;
    ck_assert(mg_breaker_admit(&breaker, &old_good));
    ck_assert(mg_breaker_admit(&breaker, &old_bad));
    open_it(1000);
    mg_breaker_tick(&breaker, 6000);
    ck_assert(!mg_breaker_record(&breaker, old_good, MG_CALL_HEALTHY, 6001));
    ck_assert(!mg_breaker_record(&breaker, old_bad, MG_CALL_FAILING, 6001));
    ck_assert_int_eq(breaker.state, MG_BREAKER_HALF_OPEN);
    ck_assert_int_eq(breaker.probes_out, 0);
}
END_TEST

/* Would catch: an agent that calls a service that is down for most agents; one that makes no call once the
 * service is back; one that depends for ever on a message of a dead leader. */
START_TEST(each_service_health_meets_each_breaker_state)
{
    enum { CLOSED = MG_BREAKER_CLOSED, OPEN = MG_BREAKER_OPEN, HALF = MG_BREAKER_HALF_OPEN };
    static const struct {
        enum mg_service_health before, service_health;
        int expected[3]; /* by the state before: closed, open, half-open */
        bool is_changed;
        int64_t rest_ms; /* of one open a second ago; -1: until the control message expires */
    } cases[] = {
        {MG_HEALTH_UNKNOWN, MG_HEALTH_UP, {CLOSED, OPEN, HALF}, false, 4000},
        {MG_HEALTH_UNKNOWN, MG_HEALTH_DOWN, {OPEN, OPEN, OPEN}, true, -1},
        {MG_HEALTH_UNKNOWN, MG_HEALTH_PROBE, {OPEN, OPEN, HALF}, true, 4000},
        {MG_HEALTH_UP, MG_HEALTH_UNKNOWN, {CLOSED, OPEN, HALF}, false, 4000},
        {MG_HEALTH_UP, MG_HEALTH_UP, {CLOSED, OPEN, HALF}, false, 4000},
        {MG_HEALTH_UP, MG_HEALTH_DOWN, {OPEN, OPEN, OPEN}, true, -1},
        {MG_HEALTH_UP, MG_HEALTH_PROBE, {OPEN, OPEN, HALF}, true, 4000},
        {MG_HEALTH_DOWN, MG_HEALTH_UNKNOWN, {CLOSED, OPEN, HALF}, true, 4000},
        {MG_HEALTH_DOWN, MG_HEALTH_UP, {CLOSED, CLOSED, CLOSED}, true, -1},
        {MG_HEALTH_DOWN, MG_HEALTH_DOWN, {CLOSED, OPEN, HALF}, false, -1},
        {MG_HEALTH_DOWN, MG_HEALTH_PROBE, {OPEN, OPEN, OPEN}, true, 5000},
        {MG_HEALTH_PROBE, MG_HEALTH_UNKNOWN, {CLOSED, OPEN, HALF}, true, 4000},
        {MG_HEALTH_PROBE, MG_HEALTH_UP, {CLOSED, CLOSED, CLOSED}, true, -1},
        {MG_HEALTH_PROBE, MG_HEALTH_DOWN, {OPEN, OPEN, OPEN}, true, -1},
        {MG_HEALTH_PROBE, MG_HEALTH_PROBE, {CLOSED, OPEN, HALF}, false, 4000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int state = CLOSED; state <= HALF; state++) {
            setup();
            breaker.service_health = cases[i].before;
            breaker.state = (enum mg_breaker_state)state;
            breaker.open_until_ms = state == OPEN ? 10000 + rules.open_ms : 0;
            ck_assert_int_eq(mg_breaker_follow(&breaker, cases[i].service_health, 11000),
                             cases[i].is_changed);
            ck_assert_msg((int)breaker.state == cases[i].expected[state], "case %zu, state %d: %d", i, state,
                          (int)breaker.state);
            if (state == OPEN) {
                ck_assert_int_eq(mg_breaker_rest_ms(&breaker, 11000), cases[i].rest_ms);
            }
        }
    }
}
END_TEST

/* Would catch: two agents that probe in one open time. */
START_TEST(only_the_named_agent_probes)
{
    uint32_t ticket, late;
    mg_breaker_follow(&breaker, MG_HEALTH_DOWN, 1000);
    ck_assert(!mg_breaker_tick(&breaker, 1000 + 10 * rules.open_ms));
    ck_assert(!mg_breaker_admit(&breaker, &ticket));
    mg_breaker_follow(&breaker, MG_HEALTH_PROBE, 100000);
    ck_assert(!mg_breaker_tick(&breaker, 100000 + rules.open_ms - 1));
    ck_assert(mg_breaker_tick(&breaker, 100000 + rules.open_ms));
    ck_assert(mg_breaker_admit(&breaker, &late));
    mg_breaker_follow(&breaker, MG_HEALTH_DOWN, 110000);
    ck_assert(!mg_breaker_record(&breaker, late, MG_CALL_HEALTHY, 110001)); /* another is named meanwhile */
    ck_assert_int_eq(breaker.state, MG_BREAKER_OPEN);
    mg_breaker_follow(&breaker, MG_HEALTH_UNKNOWN, 120000);
    ck_assert(mg_breaker_tick(&breaker, 120000));
}
END_TEST

/* Would catch: schedulers that go on sending requests while the only probe is out. */
START_TEST(half_open_is_reported_while_a_probe_is_wanted)
{
    uint32_t first, second;
    mg_breaker_follow(&breaker, MG_HEALTH_PROBE, 1000);
    ck_assert(mg_breaker_tick(&breaker, 1000 + rules.open_ms));
    ck_assert(mg_breaker_admit(&breaker, &first));
    ck_assert_int_eq(mg_breaker_reported(&breaker), MG_BREAKER_HALF_OPEN);
    ck_assert(mg_breaker_admit(&breaker, &second));
    ck_assert_int_eq(mg_breaker_reported(&breaker), MG_BREAKER_OPEN);
    ck_assert(!mg_breaker_record(&breaker, first, MG_CALL_VOID, 7000));
    ck_assert_int_eq(mg_breaker_reported(&breaker), MG_BREAKER_HALF_OPEN);
    ck_assert(mg_breaker_admit(&breaker, &first));
    ck_assert(!mg_breaker_record(&breaker, first, MG_CALL_HEALTHY, 7000));
    ck_assert(mg_breaker_record(&breaker, second, MG_CALL_HEALTHY, 7000));
    ck_assert_int_eq(mg_breaker_reported(&breaker), MG_BREAKER_CLOSED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent breaker");
    TCase *tcase = tcase_create("breaker");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, failures_below_min_calls_do_not_open_it);
    tcase_add_test(tcase, it_opens_at_the_ratio_and_not_below);
    tcase_add_test(tcase, calls_older_than_the_window_do_not_count);
    tcase_add_test(tcase, unreachable_calls_in_a_row_open_it_at_once);
    tcase_add_test(tcase, open_admits_nothing_until_its_time_is_over);
    tcase_add_test(tcase, half_open_admits_only_probes_and_closes_after_as_many_successes);
    tcase_add_test(tcase, a_failed_probe_opens_it_again_for_the_whole_time);
    tcase_add_test(tcase, a_void_probe_returns_its_place_and_proves_nothing);
    tcase_add_test(tcase, a_result_from_before_the_opening_neither_closes_nor_reopens);
    tcase_add_test(tcase, each_service_health_meets_each_breaker_state);
    tcase_add_test(tcase, only_the_named_agent_probes);
    tcase_add_test(tcase, half_open_is_reported_while_a_probe_is_wanted);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
