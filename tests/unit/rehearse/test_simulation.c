/* Many orders in simulated time: the effect of each setting, and the rules that hold with any. */
#include <stdio.h>

#include "rehearse/simulation.h"
#include "simulate_fixture.h"

#define ORDERS 2000

static struct mg_tally *run(void)
{
    struct mg_tally *tally = NULL;
    struct mg_err err = {MG_OK, ""};
    fixture_profile->orders = ORDERS;
    ck_assert_msg(mg_profile_check(fixture_profile, &err) == MG_OK, "%s", err.text);
    ck_assert_msg(mg_simulate(fixture_profile, (const struct mg_service *const *)fixture_services, &tally,
                              &err) == MG_OK,
                  "%s", err.text);
    return tally;
}

static uint64_t ended(const struct mg_tally *tally, enum mg_order_state state)
{
    return tally->ends[state].count;
}

/* `percent` of all orders, within two hundredths of them. */
static void assert_share(uint64_t count, int percent)
{
    int64_t meant = (int64_t)ORDERS * percent / 100;
    ck_assert_msg((int64_t)count >= meant - ORDERS / 50 && (int64_t)count <= meant + ORDERS / 50,
                  "%llu orders, and %lld are meant", (unsigned long long)count, (long long)meant);
}

static uint64_t caused(const struct mg_tally *tally, enum mg_order_state state, int step,
                       enum mg_reason reason)
{
    uint64_t count = 0;
    for (int i = 0; i < tally->cause_count; i++) {
        const struct mg_cause_tally *cause = &tally->causes[i];
        enum mg_reason why = step >= 0 ? cause->reason : cause->why;
        count += cause->state == state && cause->step == step && why == reason ? cause->count : 0;
    }
    return count;
}

/* ---- settings ---- */

/* Catches: a call that takes another time than its setting, or steps that do not follow each other. */
START_TEST(an_order_takes_the_time_of_its_calls)
{
    fixture_open(CHAIN, "");
    fixture_set(MG_SETTING_TIME, "a=1s");
    fixture_set(MG_SETTING_TIME, "two=50ms");
    struct mg_tally *tally = run();
    ck_assert_uint_eq(ended(tally, MG_ORDER_PROCESSED), ORDERS);
    ck_assert_int_eq(mg_quantiles_at(&tally->ends[MG_ORDER_PROCESSED].time_ms, 50), 1136); /* 1150 */
    ck_assert_int_eq(mg_quantiles_at(&tally->steps[1].time_ms, 99), 50);
    free(tally);
}
END_TEST

/* Catches: p50 and p99 that the drawn times do not have. */
START_TEST(skewed_times_have_their_p50_and_p99)
{
    fixture_open(CHAIN, "");
    fixture_set(MG_SETTING_TIME, "a=200ms,p99=2s");
    struct mg_tally *tally = run();
    int64_t p50_ms = mg_quantiles_at(&tally->steps[0].time_ms, 50);
    int64_t p99_ms = mg_quantiles_at(&tally->steps[0].time_ms, 99);
    ck_assert_msg(p50_ms > 180 && p50_ms < 220, "p50 %lld ms", (long long)p50_ms);
    ck_assert_msg(p99_ms > 1500 && p99_ms < 2700, "p99 %lld ms", (long long)p99_ms);
    free(tally);
}
END_TEST

/* Catches: a 503 that fails an order while it has attempts left, or that costs no attempt. */
START_TEST(failed_calls_are_repeated_and_cost_attempts)
{
    fixture_open(CHAIN, ",\"tries\":1");
    fixture_set(MG_SETTING_FAIL, "b=30%");
    struct mg_tally *tally = run();
    ck_assert_uint_gt(ended(tally, MG_ORDER_PROCESSED), ORDERS * 9 / 10);
    ck_assert_msg(mg_quantiles_mean(&tally->steps[1].attempts) > 1.2, "%f attempts",
                  mg_quantiles_mean(&tally->steps[1].attempts));
    ck_assert_msg(mg_quantiles_mean(&tally->steps[0].attempts) < 1.001, "of another step, too");
    free(tally);
}
END_TEST

/* Catches: tries within one attempt that an agent would not make. */
START_TEST(an_agent_tries_again_within_an_attempt)
{
    fixture_open(CHAIN, ",\"tries\":10,\"breaker\":{\"failure_ratio\":1}");
    fixture_set(MG_SETTING_FAIL, "b=30%");
    struct mg_tally *tally = run();
    ck_assert_msg(mg_quantiles_mean(&tally->steps[1].attempts) < 1.02, "%f attempts",
                  mg_quantiles_mean(&tally->steps[1].attempts));
    ck_assert_uint_gt(tally->services[1].calls, ORDERS * 13 / 10);
    free(tally);
}
END_TEST

/* Catches: a refusal that is repeated, a step before it that is not undone, one after it that is done. */
START_TEST(refused_orders_are_compensated)
{
    fixture_open(CHAIN, "");
    fixture_set(MG_SETTING_REFUSE, "b=10%");
    struct mg_tally *tally = run();
    assert_share(ended(tally, MG_ORDER_COMPENSATED), 10);
    ck_assert_uint_eq(tally->steps[0].undone, ended(tally, MG_ORDER_COMPENSATED));
    ck_assert_uint_eq(tally->steps[1].undone, 0); /* a refusal is proof that nothing happened */
    ck_assert_uint_eq(tally->steps[2].begun, ended(tally, MG_ORDER_PROCESSED));
    ck_assert_uint_eq(tally->services[1].calls, ORDERS);
    ck_assert_uint_eq(caused(tally, MG_ORDER_COMPENSATED, 1, MG_REASON_REPLY_PERMANENT),
                      ended(tally, MG_ORDER_COMPENSATED));
    free(tally);
}
END_TEST

/* Catches: a refusal drawn for each call, so that tries multiply it. */
START_TEST(a_service_refuses_an_order_once_and_for_all)
{
    fixture_open(CHAIN, ",\"tries\":1");
    fixture_set(MG_SETTING_REFUSE, "b=10%");
    fixture_set(MG_SETTING_LOSE, "b=30%");
    struct mg_tally *tally = run();
    assert_share(ended(tally, MG_ORDER_COMPENSATED), 10);
    free(tally);
}
END_TEST

/* Catches: a lost answer taken for a failure. The service has acted, and the verify finds it. */
START_TEST(lost_answers_are_verified)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "\"on_unknown\":\"verify\",")), "");
    fixture_set(MG_SETTING_LOSE, "a.do=40%");
    struct mg_tally *tally = run();
    ck_assert_uint_eq(ended(tally, MG_ORDER_PROCESSED), ORDERS);
    ck_assert_uint_gt(tally->services[0].calls, ORDERS * 13 / 10);
    ck_assert_msg(mg_quantiles_mean(&tally->steps[0].attempts) < 1.001, "%f attempts",
                  mg_quantiles_mean(&tally->steps[0].attempts));
    free(tally);
}
END_TEST

/* Catches: an outage that burns attempts (law 7, waiting is not failing), or steps that stay parked. */
START_TEST(an_outage_costs_time_and_no_attempt)
{
    fixture_open(CHAIN, "");
    fixture_set(MG_SETTING_DOWN, "two=10s..5m");
    struct mg_tally *tally = run();
    ck_assert_uint_eq(ended(tally, MG_ORDER_PROCESSED), ORDERS);
    ck_assert_int_eq(mg_quantiles_at(&tally->steps[1].attempts, 50), 1);
    ck_assert_int_gt(mg_quantiles_at(&tally->ends[MG_ORDER_PROCESSED].time_ms, 50), 200000);
    ck_assert_int_eq(mg_quantiles_at(&tally->steps[0].time_ms, 99), 100); /* of another service */
    free(tally);
}
END_TEST

/* Catches: calls that fail since the service is down, and that count against the attempts of their steps. */
START_TEST(an_outage_fails_no_step_of_a_single_attempt)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "\"retry\":{\"attempts\":1},")), "");
    fixture_set(MG_SETTING_DOWN, "one=10s..1m");
    struct mg_tally *tally = run();
    ck_assert_uint_eq(ended(tally, MG_ORDER_PROCESSED), ORDERS);
    free(tally);
}
END_TEST

/* Catches: a result that is forgotten, so that the undo which needs it asks for it first; or one that is
 * known although no answer has brought it. */
START_TEST(an_undo_learns_only_a_result_that_was_lost)
{
    fixture_open(
        WORKFLOW(
            "",
            "{\"step\":\"a\",\"service\":\"one\",\"learn\":\"repeat\",\"retry\":{\"attempts\":1},\"do\":" CALL(
                "/do") ",\"undo\":{\"method\":\"DELETE\",\"path\":\"/${/results/a/id}\"}}," STEP("b", "two",
                                                                                                 "")),
        "");
    fixture_set(MG_SETTING_REFUSE, "b=20%");
    struct mg_tally *tally = run();
    assert_share(tally->steps[0].undone, 20);
    ck_assert_uint_eq(tally->services[0].calls, ORDERS + tally->steps[0].undone);
    free(tally);
    fixture_set(MG_SETTING_LOSE, "a.do=10%"); /* each lost one fails its step */
    tally = run();
    ck_assert_uint_gt(tally->services[0].calls, ORDERS + tally->steps[0].undone + ORDERS / 20);
    free(tally);
}
END_TEST

/* Catches: an order that waits for ever although its time is over. */
START_TEST(orders_expire_in_an_outage)
{
    fixture_open(WORKFLOW("\"complete_within\":\"1m\",", STEP("a", "one", "") "," STEP("b", "two", "")), "");
    fixture_set(MG_SETTING_DOWN, "two=0s..10m");
    struct mg_tally *tally = run();
    ck_assert_uint_eq(ended(tally, MG_ORDER_COMPENSATED), ORDERS);
    ck_assert_uint_eq(caused(tally, MG_ORDER_COMPENSATED, -1, MG_REASON_ORDER_EXPIRED), ORDERS);
    ck_assert_uint_eq(tally->steps[0].undone, ORDERS);
    free(tally);
}
END_TEST

/* Catches: a share that another step's chance changes, and `needs` that is not followed. */
START_TEST(a_condition_holds_in_its_share_of_the_orders)
{
    fixture_open(
        WORKFLOW("", STEP("a", "one", "") "," STEP("b", "two", "\"when\":\"payload.express\",") "," STEP(
                         "c", "three", "\"needs\":[\"b\"],")),
        "");
    fixture_set(MG_SETTING_WHEN, "b=40%");
    struct mg_tally *tally = run();
    assert_share(tally->steps[1].skipped, 60);
    ck_assert_uint_eq(tally->steps[1].skipped + tally->steps[1].done, ORDERS);
    ck_assert_uint_eq(tally->steps[2].skipped, tally->steps[1].skipped);
    free(tally);
}
END_TEST

/* Catches: a condition that chance decides although the payload is given. */
START_TEST(a_payload_decides_conditions_and_moments)
{
    fixture_open(
        WORKFLOW(
            "",
            STEP("a", "one", "") "," STEP("b", "two", "\"when\":\"payload.total > 100 && results.a.ok\",") "," STEP(
                "c", "three",
                "\"when\":\"state.b == 'skipped'\",") ","
                                                      "{\"step\":\"d\",\"wait\":{\"until\":\"time(order.accepted_at) + duration('2h')\"}}"),
        "");
    fixture_profile->payload = mg_slice_of("{\"total\":100.01}");
    fixture_profile->results[0] = mg_slice_of("{\"ok\":true}");
    struct mg_tally *tally = run();
    ck_assert_uint_eq(tally->steps[1].done, ORDERS);
    ck_assert_uint_eq(tally->steps[2].skipped, ORDERS);
    int64_t p50_ms = mg_quantiles_at(&tally->ends[MG_ORDER_PROCESSED].time_ms, 50);
    ck_assert_msg(p50_ms > 7000000 && p50_ms <= 7200000, "%lld ms", (long long)p50_ms); /* of two hours */
    free(tally);
}
END_TEST

/* Catches: a wait that ends at another moment, or that is counted as a call. */
START_TEST(waits_last_as_their_definition_or_their_setting_has_it)
{
    fixture_open(
        WORKFLOW(
            "",
            "{\"step\":\"a\",\"wait\":{\"for\":\"3h\"}},{\"step\":\"b\",\"wait\":{\"until\":\"payload.at\"}}," STEP(
                "c", "one", "")),
        "");
    fixture_set(MG_SETTING_TIME, "b=1h..2h");
    struct mg_tally *tally = run();
    ck_assert_uint_eq(ended(tally, MG_ORDER_PROCESSED), ORDERS);
    ck_assert_int_eq(mg_quantiles_at(&tally->steps[0].time_ms, 50),
                     mg_quantiles_at(&tally->steps[0].time_ms, 99));
    int64_t p50_ms = mg_quantiles_at(&tally->steps[1].time_ms, 50);
    ck_assert_msg(p50_ms > 4800000 && p50_ms < 6000000, "%lld ms", (long long)p50_ms);
    free(tally);
}
END_TEST

/* Catches: accepted work that counts as done at once, or that no poll finds. */
START_TEST(accepted_work_is_polled_until_it_is_finished)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "\"finish_within\":\"1h\",\"poll\":\"10s\",")), "");
    fixture_set(MG_SETTING_FINISH, "a=5m");
    struct mg_tally *tally = run();
    ck_assert_uint_eq(ended(tally, MG_ORDER_PROCESSED), ORDERS);
    int64_t p50_ms = mg_quantiles_at(&tally->steps[0].time_ms, 50);
    ck_assert_msg(p50_ms >= 295000 && p50_ms < 325000, "%lld ms", (long long)p50_ms);
    ck_assert_uint_gt(tally->services[0].calls, 20 * ORDERS);
    free(tally);
}
END_TEST

/* Catches: accepted work that is too slow and is awaited for ever, or is left standing. */
START_TEST(work_that_is_not_finished_in_time_is_undone)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "\"finish_within\":\"10m\",")), "");
    fixture_set(MG_SETTING_FINISH, "a=30m");
    struct mg_tally *tally = run();
    ck_assert_uint_eq(ended(tally, MG_ORDER_PROCESSED), 0);
    ck_assert_uint_eq(ended(tally, MG_ORDER_COMPENSATED), ORDERS);
    ck_assert_uint_eq(tally->steps[0].undone, ORDERS);
    free(tally);
}
END_TEST

/* Catches: a failed undo that is counted as an end well. */
START_TEST(a_refused_undo_ends_in_error)
{
    fixture_open(CHAIN, "");
    fixture_set(MG_SETTING_REFUSE, "c=20%");
    fixture_set(MG_SETTING_REFUSE, "a.undo=50%");
    struct mg_tally *tally = run();
    assert_share(ended(tally, MG_ORDER_ERROR), 10);
    assert_share(ended(tally, MG_ORDER_COMPENSATED), 10);
    ck_assert_uint_eq(tally->steps[0].undo_failed, ended(tally, MG_ORDER_ERROR));
    ck_assert_uint_eq(caused(tally, MG_ORDER_ERROR, 0, MG_REASON_REPLY_PERMANENT),
                      ended(tally, MG_ORDER_ERROR));
    free(tally);
}
END_TEST

/* Catches: a reason that is looked for in the step's present state, which its undo has changed in the same
 * decision. */
START_TEST(a_step_that_may_have_acted_is_the_reason_although_it_is_undone)
{
    fixture_open(CHAIN, ",\"tries\":3");
    fixture_set(MG_SETTING_REFUSE, "b=20%");
    fixture_set(MG_SETTING_FAIL, "b.do=30%"); /* a refusal after a 503 proves nothing about the 503 */
    struct mg_tally *tally = run();
    assert_share(ended(tally, MG_ORDER_COMPENSATED), 20);
    ck_assert_uint_gt(tally->steps[1].undone, ORDERS / 50);
    ck_assert_uint_eq(caused(tally, MG_ORDER_COMPENSATED, 1, MG_REASON_REPLY_PERMANENT),
                      ended(tally, MG_ORDER_COMPENSATED));
    free(tally);
}
END_TEST

/* Catches: settings of a service that hide those of its step, or an earlier one that hides a later. */
START_TEST(a_step_outranks_its_service_and_a_kind_outranks_all_kinds)
{
    fixture_open(WORKFLOW("", STEP("a", "pay", "") "," STEP("b", "pay", "")), "");
    fixture_set(MG_SETTING_TIME, "b=300ms");
    fixture_set(MG_SETTING_TIME, "b.undo=5ms");
    fixture_set(MG_SETTING_TIME, "pay=70ms");
    fixture_set(MG_SETTING_TIME, "pay.do=80ms");
    fixture_set(MG_SETTING_TIME, "pay=75ms");
    fixture_set(MG_SETTING_TIME, "b=400ms");
    ck_assert_int_eq(fixture_profile->habits[0][MG_KIND_DO].time.low_ms, 80);
    ck_assert_int_eq(fixture_profile->habits[0][MG_KIND_UNDO].time.low_ms, 75);
    ck_assert_int_eq(fixture_profile->habits[1][MG_KIND_DO].time.low_ms, 400);
    ck_assert_int_eq(fixture_profile->habits[1][MG_KIND_UNDO].time.low_ms, 5);
}
END_TEST

/* ---- any settings ---- */

#define MIXED                                                                                                                                                                                             \
    WORKFLOW(                                                                                                                                                                                             \
        "\"complete_within\":\"20m\",",                                                                                                                                                                   \
        STEP("a", "one", "") "," STEP("b", "two", "\"after\":[\"a\"],\"when\":\"payload.b\",") "," STEP("c", "three", "\"after\":[\"a\"],\"retry\":{\"attempts\":3},\"finish_within\":\"5m\",") "," STEP( \
            "d", "two",                                                                                                                                                                                   \
            "\"after\":[\"b\",\"c\"],\"pivot\":true,") "," LAST("e", "four",                                                                                                                              \
                                                                "\"after\":[\"d\"],\"retry\":{\"attempts\":100},"))

static void mixed_open(void)
{
    fixture_open(MIXED, "");
    fixture_set(MG_SETTING_WHEN, "b=50%");
    fixture_set(MG_SETTING_TIME, "one=50ms,p99=5s");
    fixture_set(MG_SETTING_FAIL, "two=20%");
    fixture_set(MG_SETTING_LOSE, "three=20%");
    fixture_set(MG_SETTING_FINISH, "c=1m..8m");
    fixture_set(MG_SETTING_REFUSE, "d=10%");
    fixture_set(MG_SETTING_REFUSE, "a.undo=10%");
    fixture_set(MG_SETTING_DOWN, "two=20s..3m");
    fixture_set(MG_SETTING_DOWN, "two=10m..11m");
    fixture_set(MG_SETTING_FAIL, "four=70%");
}

/* Catches: an order that is counted twice, or that is lost. */
START_TEST(each_order_has_one_end_or_is_open)
{
    static const int64_t stops_ms[] = {1, 60000, 600000, 86400000};
    mixed_open();
    fixture_profile->stop_after_ms = stops_ms[_i];
    struct mg_tally *tally = run();
    uint64_t causes = tally->other_causes, ends = 0;
    for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
        ends += ended(tally, (enum mg_order_state)i);
        ck_assert(ended(tally, (enum mg_order_state)i) == 0 ||
                  mg_order_state_is_terminal((enum mg_order_state)i));
    }
    for (int i = 0; i < tally->cause_count; i++) {
        causes += tally->causes[i].count;
    }
    ck_assert_uint_eq(tally->orders, ORDERS);
    ck_assert_uint_eq(ends + tally->open, ORDERS);
    ck_assert_uint_eq(causes, ORDERS - ended(tally, MG_ORDER_PROCESSED));
    ck_assert_uint_eq(tally->open > 0, stops_ms[_i] <= 60000);
    free(tally);
}
END_TEST

static bool has_same_times(const struct mg_quantiles *a, const struct mg_quantiles *b)
{
    return a->count == b->count && memcmp(a->places, b->places, sizeof(a->places)) == 0;
}

/* Ends, times, attempts, calls and reasons. */
static bool is_same(const struct mg_tally *a, const struct mg_tally *b)
{
    bool is_same = a->orders == b->orders && a->open == b->open && a->stopped_ms == b->stopped_ms &&
                   a->decisions == b->decisions && a->cause_count == b->cause_count;
    for (int i = 0; i < MG_ORDER_STATE_COUNT && is_same; i++) {
        is_same = has_same_times(&a->ends[i].time_ms, &b->ends[i].time_ms);
    }
    for (int i = 0; i < MG_STEPS_MAX && is_same; i++) {
        is_same = has_same_times(&a->steps[i].attempts, &b->steps[i].attempts) &&
                  has_same_times(&a->steps[i].time_ms, &b->steps[i].time_ms) &&
                  a->services[i].calls == b->services[i].calls && a->services[i].peak == b->services[i].peak;
    }
    for (int i = 0; i < a->cause_count && is_same; i++) {
        is_same = a->causes[i].step == b->causes[i].step && a->causes[i].reason == b->causes[i].reason &&
                  a->causes[i].count == b->causes[i].count;
    }
    return is_same;
}

/* Catches: chance from elsewhere, such as the clock, memory or a hash of addresses. */
START_TEST(the_same_seed_gives_the_same_counts)
{
    mixed_open();
    struct mg_tally *first = run(), *second = run();
    ck_assert(is_same(first, second));
    fixture_profile->seed = 2;
    struct mg_tally *other = run();
    ck_assert(!is_same(first, other));
    free(first);
    free(second);
    free(other);
}
END_TEST

/* Catches: an effect that stands in an order that ended as compensated. */
START_TEST(steps_are_undone_or_failed_where_orders_turn_back)
{
    mixed_open();
    fixture_profile->stop_after_ms = 86400000;
    struct mg_tally *tally = run();
    uint64_t turned = ended(tally, MG_ORDER_COMPENSATED);
    ck_assert_uint_gt(turned, 0);
    ck_assert_uint_le(turned, tally->steps[0].undone + ORDERS - tally->steps[0].done);
    ck_assert_uint_eq(tally->steps[4].undone, 0); /* after the pivot */
    free(tally);
}
END_TEST

/* Catches: a probe of a service that was down which never comes, so that its steps stay parked. */
START_TEST(parked_steps_go_on_after_each_outage)
{
    fixture_open(WORKFLOW("\"complete_within\":\"1h\",", STEP("a", "one", "") "," STEP("b", "two", "")), "");
    fixture_set(MG_SETTING_DOWN, "two=5s..1m");
    fixture_set(MG_SETTING_DOWN, "two=61s..2m");
    fixture_set(MG_SETTING_FAIL, "two=60%"); /* its breaker opens now and then */
    struct mg_tally *tally = run();
    ck_assert_uint_eq(tally->open, 0);
    ck_assert_uint_gt(ended(tally, MG_ORDER_PROCESSED), ORDERS / 2);
    free(tally);
}
END_TEST

/* Catches: settings that are missing and taken for something. */
START_TEST(a_condition_or_a_moment_without_a_value_is_a_mistake)
{
    struct mg_err err = {MG_OK, ""};
    fixture_open(WORKFLOW("\"input\":{\"x\":\"boolean\"},", STEP("a", "one", "\"when\":\"payload.x\",")), "");
    ck_assert_int_eq(mg_profile_check(fixture_profile, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "--when a=40%"));
    fixture_profile->payload = mg_slice_of("{\"x\":3}");
    ck_assert_int_eq(mg_profile_check(fixture_profile, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "an order with this payload is rejected"));
    fixture_open(WORKFLOW("", "{\"step\":\"a\",\"wait\":{\"until\":\"payload.at\"}}," STEP("b", "one", "")),
                 "");
    ck_assert_int_eq(mg_profile_check(fixture_profile, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "--time a=2h"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simulation");
    TCase *settings = tcase_create("settings"), *always = tcase_create("always");
    tcase_add_checked_fixture(settings, NULL, fixture_close);
    tcase_add_checked_fixture(always, NULL, fixture_close);
    tcase_add_test(settings, an_order_takes_the_time_of_its_calls);
    tcase_add_test(settings, skewed_times_have_their_p50_and_p99);
    tcase_add_test(settings, failed_calls_are_repeated_and_cost_attempts);
    tcase_add_test(settings, an_agent_tries_again_within_an_attempt);
    tcase_add_test(settings, refused_orders_are_compensated);
    tcase_add_test(settings, a_service_refuses_an_order_once_and_for_all);
    tcase_add_test(settings, lost_answers_are_verified);
    tcase_add_test(settings, an_outage_costs_time_and_no_attempt);
    tcase_add_test(settings, an_outage_fails_no_step_of_a_single_attempt);
    tcase_add_test(settings, an_undo_learns_only_a_result_that_was_lost);
    tcase_add_test(settings, orders_expire_in_an_outage);
    tcase_add_test(settings, a_condition_holds_in_its_share_of_the_orders);
    tcase_add_test(settings, a_payload_decides_conditions_and_moments);
    tcase_add_test(settings, waits_last_as_their_definition_or_their_setting_has_it);
    tcase_add_test(settings, accepted_work_is_polled_until_it_is_finished);
    tcase_add_test(settings, work_that_is_not_finished_in_time_is_undone);
    tcase_add_test(settings, a_refused_undo_ends_in_error);
    tcase_add_test(settings, a_step_that_may_have_acted_is_the_reason_although_it_is_undone);
    tcase_add_test(settings, a_step_outranks_its_service_and_a_kind_outranks_all_kinds);
    tcase_add_loop_test(always, each_order_has_one_end_or_is_open, 0, 4);
    tcase_add_test(always, the_same_seed_gives_the_same_counts);
    tcase_add_test(always, steps_are_undone_or_failed_where_orders_turn_back);
    tcase_add_test(always, parked_steps_go_on_after_each_outage);
    tcase_add_test(always, a_condition_or_a_moment_without_a_value_is_a_mistake);
    suite_add_tcase(suite, settings);
    suite_add_tcase(suite, always);
    return run_suite(suite);
}
