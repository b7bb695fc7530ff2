/* Signals and lines of a simulation: the settings of a profile, and the fate of orders. */
#include <stdio.h>

#include "rehearse/simulation.h"
#include "simulate_fixture.h"

#define ORDERS 2000
#define MINUTE INT64_C(60000)

/* `wait` begins with a comma, `more` too. */
#define WAIT(name, wait, more)                                                                               \
    "{\"step\":\"" name "\",\"wait\":{\"signal\":\"ok\",\"within\":\"1h\"" wait "}" more "}"
#define JUDGED ",\"done_when\":\"result.ok == true\",\"refused_when\":\"result.ok == false\""
#define CHOICES                                                                                              \
    ",\"choices\":{\"Yes\":{\"ok\":true,\"limit\":5},\"No\":{\"ok\":false},\"Later\":{\"ok\":null}}"
#define AROUND(wait, more)                                                                                   \
    WORKFLOW("", STEP("a", "one", "") "," WAIT("w", wait, more) "," STEP("b", "two", ""))

static struct mg_tally *tally;

static void run(void)
{
    struct mg_err err = {MG_OK, ""};
    free(tally);
    fixture_profile->orders = ORDERS;
    ck_assert_msg(mg_profile_check(fixture_profile, &err) == MG_OK, "%s", err.text);
    ck_assert_msg(mg_simulate(fixture_profile, (const struct mg_service *const *)fixture_services, &tally,
                              &err) == MG_OK,
                  "%s", err.text);
}

static void close(void)
{
    free(tally);
    tally = NULL;
    fixture_close();
}

/* `percent` of all orders, within two hundredths of them. */
static void assert_share(uint64_t count, int percent)
{
    int64_t meant = (int64_t)ORDERS * percent / 100;
    ck_assert_msg((int64_t)count >= meant - ORDERS / 50 && (int64_t)count <= meant + ORDERS / 50,
                  "%llu orders, and %lld are meant", (unsigned long long)count, (long long)meant);
}

/* A quantile is right to within a sixty-fourth. */
static void assert_near(int64_t ms, int64_t meant_ms)
{
    ck_assert_msg(ms >= meant_ms - meant_ms / 40 && ms <= meant_ms + meant_ms / 40,
                  "%lld ms, and %lld are meant", (long long)ms, (long long)meant_ms);
}

static const struct mg_signal_tally *waits(void)
{
    return &tally->signals[1]; /* the first step that waits for it is the second */
}

/* ---- signals ---- */

/* Catches: a signal that comes in another share or at another time, and a wait without one that does not time
 * out. */
START_TEST(a_signal_comes_in_its_share_and_its_time)
{
    fixture_open(AROUND("", ""), "");
    fixture_set(MG_SETTING_SIGNAL, "ok=80% in 10m");
    run();
    ck_assert_uint_eq(waits()->waited, ORDERS);
    assert_share(waits()->done, 80);
    ck_assert_uint_eq(waits()->done + waits()->timed_out, ORDERS);
    ck_assert_uint_eq(waits()->early + waits()->late + waits()->refused, 0);
    assert_near(mg_quantiles_at(&waits()->time_ms, 50), 10 * MINUTE);
    assert_near(mg_quantiles_at(&waits()->time_ms, 95), 60 * MINUTE);
    ck_assert_uint_eq(tally->ends[MG_ORDER_PROCESSED].count, waits()->done);
    ck_assert_uint_eq(tally->ends[MG_ORDER_COMPENSATED].count, waits()->timed_out);
    ck_assert_int_eq(tally->causes[0].step, 1);
    ck_assert_int_eq(tally->causes[0].reason, MG_REASON_TIMED_OUT);
}
END_TEST

/* Catches: a signal that ends a wait after its time-out. */
START_TEST(a_signal_after_the_time_out_is_late)
{
    fixture_open(AROUND("", ""), "");
    fixture_set(MG_SETTING_SIGNAL, "w=100% in 30m..90m");
    run();
    assert_share(waits()->done, 50);
    ck_assert_uint_eq(waits()->late, waits()->timed_out);
    ck_assert_uint_eq(waits()->done + waits()->late, ORDERS);
}
END_TEST

/* Catches: a time-out with `skip` that turns the order back. */
START_TEST(a_wait_that_is_skipped_when_over_lets_the_order_go_on)
{
    fixture_open(AROUND(",\"on_timeout\":\"skip\"", ""), "");
    fixture_set(MG_SETTING_SIGNAL, "ok=40% in 1m");
    run();
    ck_assert_uint_eq(tally->ends[MG_ORDER_PROCESSED].count, ORDERS);
    assert_share(tally->steps[1].skipped, 60);
    ck_assert_uint_eq(tally->steps[1].skipped, waits()->timed_out);
}
END_TEST

/* Catches: a refusal that is taken for a yes, or for a time-out. */
START_TEST(a_share_of_the_signals_refuses)
{
    fixture_open(AROUND("", JUDGED), "");
    fixture_set(MG_SETTING_SIGNAL, "ok=100% in 1m");
    fixture_set(MG_SETTING_REFUSE, "ok=25%");
    run();
    assert_share(waits()->refused, 25);
    ck_assert_uint_eq(waits()->refused + waits()->done, ORDERS);
    ck_assert_uint_eq(tally->ends[MG_ORDER_COMPENSATED].count, waits()->refused);
    ck_assert_int_eq(tally->causes[0].reason, MG_REASON_SIGNAL_REFUSED);
}
END_TEST

/* Catches: an early signal that is lost, or that begins its time with the wait. */
START_TEST(an_early_signal_is_kept_until_its_step_begins)
{
    fixture_open(AROUND("", ""), "");
    fixture_set(MG_SETTING_TIME, "one=10s");
    fixture_set(MG_SETTING_SIGNAL, "ok=100% at 0s..20s");
    run();
    ck_assert_uint_eq(waits()->done, ORDERS);
    assert_share(waits()->early, 50);
    ck_assert_uint_eq(waits()->late, 0);
    ck_assert_int_le(mg_quantiles_at(&waits()->time_ms, 40), 0);
    int64_t p75_ms = mg_quantiles_at(&waits()->time_ms, 75);
    ck_assert_msg(p75_ms > 4200 && p75_ms < 5800, "%lld ms", (long long)p75_ms);
}
END_TEST

/* Catches: a kept refusal that does not count, and an early signal that counts for two steps. */
START_TEST(each_step_of_a_name_has_its_own_signals)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "") "," WAIT("w", "", JUDGED) "," WAIT("x", "", JUDGED)), "");
    fixture_set(MG_SETTING_SIGNAL, "w=100% at 1ms");
    fixture_set(MG_SETTING_SIGNAL, "x=0%");
    run();
    ck_assert_uint_eq(tally->steps[1].done, ORDERS);
    ck_assert_uint_eq(tally->steps[2].done, 0);
    ck_assert_uint_eq(waits()->timed_out, ORDERS);
    fixture_set(MG_SETTING_REFUSE, "w=100%");
    run();
    ck_assert_uint_eq(waits()->refused, ORDERS);
    ck_assert_uint_eq(waits()->early, ORDERS);
}
END_TEST

/* Catches: a signal that went to a branch which is skipped, and never reaches the other one. */
START_TEST(a_skipped_step_leaves_its_signals_to_the_next_of_that_name)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "") "," WAIT("w", "", ",\"when\":\"payload.x\"") "," WAIT(
                                  "x", "", "") "," STEP("b", "two", "")),
                 "");
    fixture_set(MG_SETTING_WHEN, "w=50%");
    fixture_set(MG_SETTING_SIGNAL, "w=100% at 1ms");
    fixture_set(MG_SETTING_SIGNAL, "x=0%");
    run();
    assert_share(tally->steps[1].skipped, 50);
    ck_assert_uint_eq(tally->steps[2].done, tally->steps[1].skipped);
}
END_TEST

/* Catches: a signal with a payload that is looked up among the choices of another step. */
START_TEST(a_signal_keeps_its_payload_on_its_way_to_another_step)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "") "," WAIT("w", "", JUDGED) "," WAIT("x", CHOICES, JUDGED)),
                 "");
    fixture_set(MG_SETTING_SIGNAL, "w=0%");
    fixture_set(MG_SETTING_SIGNAL, "x=100% at 1ms"); /* it reaches w, which waits before x */
    fixture_set(MG_SETTING_CHOICE, "x=100% No");
    run();
    ck_assert_uint_eq(waits()->refused, ORDERS);
    ck_assert_uint_eq(tally->steps[1].failed, ORDERS);
    fixture_set(MG_SETTING_CHOICE, "x=0% No");
    fixture_set(MG_SETTING_CHOICE, "x=100% Yes");
    run();
    ck_assert_uint_eq(tally->steps[1].done, ORDERS);
}
END_TEST

/* Catches: one signal that is enough where two are needed, and a second one that is drawn at the same time.
 */
START_TEST(a_step_that_needs_two_waits_for_the_later_one)
{
    fixture_open(AROUND(",\"of\":2", JUDGED), "");
    fixture_set(MG_SETTING_SIGNAL, "ok=100% in 10m..50m");
    run();
    ck_assert_uint_eq(waits()->done, ORDERS);
    int64_t p50_ms = mg_quantiles_at(&waits()->time_ms, 50);
    ck_assert_msg(p50_ms > 36 * MINUTE && p50_ms < 40 * MINUTE, "%lld ms", (long long)p50_ms);
    fixture_set(MG_SETTING_REFUSE, "ok=50%");
    run();
    assert_share(waits()->done, 25);
}
END_TEST

/* Catches: a payload that its step's conditions do not judge, and a result that later conditions do not see.
 */
START_TEST(choices_are_judged_and_are_results)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "") "," WAIT("w", CHOICES, JUDGED) "," STEP(
                                  "b", "two", "\"when\":\"results.w.limit > 4\",")),
                 "");
    fixture_profile->payload = mg_slice_of("{}");
    fixture_set(MG_SETTING_SIGNAL, "w=100% in 1m");
    fixture_set(MG_SETTING_CHOICE, "w=20% No");
    fixture_set(MG_SETTING_CHOICE, "w=10% Later");
    fixture_set(MG_SETTING_CHOICE, "w=10% {\"ok\":true,\"limit\":4}");
    fixture_set(MG_SETTING_CHOICE, "w=60% Yes");
    run();
    assert_share(waits()->refused, 20);
    assert_share(waits()->timed_out, 10); /* neither condition holds */
    assert_share(waits()->done, 70);
    assert_share(tally->steps[2].skipped, 10);
    assert_share(tally->steps[2].done, 60);
}
END_TEST

/* Catches: a callback that is never made, so that the end of the work waits for a poll. */
START_TEST(a_service_with_an_address_calls_back)
{
    fixture_open(
        WORKFLOW("", "{\"step\":\"a\",\"service\":\"one\",\"finish_within\":\"3h\",\"poll\":\"1h\",\"do\":{"
                     "\"method\":\"POST\",\"path\":\"/do\",\"body\":{\"to\":\"${/callback_url}\"}},"
                     "\"verify\":{\"method\":\"GET\",\"path\":\"/v\"},\"undo\":\"none\"}"),
        "");
    fixture_set(MG_SETTING_FINISH, "a=10m");
    run();
    ck_assert_uint_eq(tally->ends[MG_ORDER_PROCESSED].count, ORDERS);
    assert_near(mg_quantiles_at(&tally->steps[0].time_ms, 50), 10 * MINUTE);
}
END_TEST

/* ---- lines ---- */

#define SEQUENCE(more) "\"sequence\":{\"key\":\"k/${/payload/k}\"" more "},"

/* One order a second over these lines, each order 3 s. */
static void lines_run(const char *definition, int64_t lines)
{
    struct mg_err err;
    fixture_open(definition, "");
    fixture_set(MG_SETTING_TIME, "one=3s");
    fixture_profile->lines = lines;
    ck_assert_int_eq(mg_profile_set_rate(fixture_profile, "1", &err), MG_OK);
}

/* Catches: two orders of a key at one time, an order without a turn, and time in line that is not
 * told. */
START_TEST(orders_of_one_key_run_one_after_the_other)
{
    lines_run(WORKFLOW(SEQUENCE(",\"at_most\":100000"), STEP("a", "one", "")), 1);
    run();
    ck_assert_uint_eq(tally->ends[MG_ORDER_PROCESSED].count, ORDERS);
    ck_assert_uint_eq(tally->services[0].peak, 1);
    ck_assert_int_ge(tally->stopped_ms, 3000 * ORDERS);
    ck_assert_uint_eq(tally->lines.waited, ORDERS - 1);
    assert_near(mg_quantiles_at(&tally->lines.time_ms, 50), 2 * 1000 * ORDERS / 2);
    assert_near((int64_t)tally->lines.longest, 2 * ORDERS / 3);
}
END_TEST

/* Catches: orders of other keys that wait for each other. */
START_TEST(orders_of_other_keys_do_not_wait)
{
    lines_run(WORKFLOW(SEQUENCE(""), STEP("a", "one", "")), 1000000);
    run();
    ck_assert_uint_lt(tally->lines.waited, ORDERS / 100);
    ck_assert_int_lt(mg_quantiles_at(&tally->ends[MG_ORDER_PROCESSED].time_ms, 99), 3100);
}
END_TEST

/* Catches: a line that grows above its bound, and an order that is rejected and counted twice. */
START_TEST(a_full_line_rejects)
{
    lines_run(WORKFLOW(SEQUENCE(",\"at_most\":10"), STEP("a", "one", "")), 1);
    run();
    ck_assert_uint_eq(tally->lines.longest, 10);
    assert_share(tally->rejected, 66);
    ck_assert_uint_eq(tally->ends[MG_ORDER_PROCESSED].count + tally->rejected, ORDERS);
}
END_TEST

/* Catches: an order in error that lets the next one go although its line holds, or holds although it does
 * not. */
START_TEST(an_order_in_error_holds_its_line_or_lets_it_go)
{
    static const char *const DEFINITIONS[] = {
        WORKFLOW(SEQUENCE(",\"at_most\":100000"), STEP("a", "one", "") "," LAST("b", "two", "")),
        WORKFLOW(SEQUENCE(",\"at_most\":100000,\"on_error\":\"release\""),
                 STEP("a", "one", "") "," LAST("b", "two", ""))};
    lines_run(DEFINITIONS[_i], 1);
    fixture_set(MG_SETTING_REFUSE, "b=100%");
    fixture_set(MG_SETTING_REFUSE, "a.undo=100%");
    run();
    bool holds = _i == 0;
    ck_assert_uint_eq(tally->ends[MG_ORDER_ERROR].count, holds ? 1 : ORDERS);
    ck_assert_uint_eq(tally->open, holds ? ORDERS - 1 : 0);
    ck_assert(!holds || tally->causes[0].why == MG_REASON_IN_LINE);
}
END_TEST

/* ---- any settings ---- */

/* Catches: an order that is counted twice or lost, a wait without an end, and chance from elsewhere. */
START_TEST(each_order_has_one_end_and_each_wait_too)
{
    fixture_open(WORKFLOW("\"complete_within\":\"90m\"," SEQUENCE(",\"at_most\":40"),
                          STEP("a", "one", "") "," WAIT("w", CHOICES ",\"of\":2", JUDGED) "," WAIT(
                              "x", ",\"on_timeout\":\"skip\"", "") "," STEP("b", "two", "")),
                 "");
    fixture_profile->lines = 30;
    fixture_set(MG_SETTING_SIGNAL, "w=90% at 1s..70m");
    fixture_set(MG_SETTING_SIGNAL, "x=60% in 1s,p99=2h");
    fixture_set(MG_SETTING_CHOICE, "w=10% No");
    fixture_set(MG_SETTING_FAIL, "one=20%");
    fixture_set(MG_SETTING_REFUSE, "b=10%");
    fixture_set(MG_SETTING_REFUSE, "a.undo=5%");
    fixture_set(MG_SETTING_DOWN, "two=10m..40m");
    uint64_t decisions = 0, late = 0;
    for (int i = 0; i < 2; i++) {
        run();
        uint64_t ends = tally->open + tally->rejected, ended = 0;
        for (int state = 0; state < MG_ORDER_STATE_COUNT; state++) {
            ends += tally->ends[state].count;
        }
        ended = waits()->done + waits()->refused + waits()->timed_out;
        ck_assert_uint_eq(ends, ORDERS);
        ck_assert_uint_gt(tally->rejected, 0);
        ck_assert_uint_gt(waits()->early, 0);
        ck_assert_uint_gt(ended, 0);
        ck_assert_uint_le(ended, waits()->time_ms.count);
        ck_assert_uint_eq(waits()->time_ms.count, waits()->waited);
        ck_assert(i == 0 || (decisions == tally->decisions && late == waits()->late));
        decisions = tally->decisions;
        late = waits()->late;
    }
}
END_TEST

/* Catches: a setting that is missing or makes no sense, and is taken for something. */
START_TEST(settings_of_waits_that_are_missing_or_wrong_are_mistakes)
{
    static const struct {
        const char *definition, *signal, *choice;
        int64_t lines;
        const char *part;
    } WRONG[] = {
        {AROUND("", ""), NULL, NULL, 0, "give --signal \"ok=85% in 2h..2d\""},
        {AROUND("", ",\"done_when\":\"result.a == payload.b\""), "ok=1% in 1s", "w=1% {\"a\":1}", 0,
         "the meaning of a choice of step \"w\" is not clear"},
        {WORKFLOW(SEQUENCE(""), STEP("a", "one", "")), NULL, NULL, 0, "give --lines 200"},
        {CHAIN, NULL, NULL, 1, "has no \"sequence\""},
    };
    struct mg_err err = {MG_OK, ""};
    fixture_open(WRONG[_i].definition, "");
    fixture_profile->lines = WRONG[_i].lines;
    if (WRONG[_i].signal != NULL) {
        fixture_set(MG_SETTING_SIGNAL, WRONG[_i].signal);
    }
    if (WRONG[_i].choice != NULL) {
        fixture_set(MG_SETTING_CHOICE, WRONG[_i].choice);
    }
    ck_assert_int_eq(mg_profile_check(fixture_profile, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, WRONG[_i].part) != NULL, "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simulated waits");
    TCase *tests = tcase_create("waits");
    tcase_add_checked_fixture(tests, NULL, close);
    tcase_add_test(tests, a_signal_comes_in_its_share_and_its_time);
    tcase_add_test(tests, a_signal_after_the_time_out_is_late);
    tcase_add_test(tests, a_wait_that_is_skipped_when_over_lets_the_order_go_on);
    tcase_add_test(tests, a_share_of_the_signals_refuses);
    tcase_add_test(tests, an_early_signal_is_kept_until_its_step_begins);
    tcase_add_test(tests, each_step_of_a_name_has_its_own_signals);
    tcase_add_test(tests, a_skipped_step_leaves_its_signals_to_the_next_of_that_name);
    tcase_add_test(tests, a_signal_keeps_its_payload_on_its_way_to_another_step);
    tcase_add_test(tests, a_step_that_needs_two_waits_for_the_later_one);
    tcase_add_test(tests, choices_are_judged_and_are_results);
    tcase_add_test(tests, a_service_with_an_address_calls_back);
    tcase_add_test(tests, orders_of_one_key_run_one_after_the_other);
    tcase_add_test(tests, orders_of_other_keys_do_not_wait);
    tcase_add_test(tests, a_full_line_rejects);
    tcase_add_loop_test(tests, an_order_in_error_holds_its_line_or_lets_it_go, 0, 2);
    tcase_add_test(tests, each_order_has_one_end_and_each_wait_too);
    tcase_add_loop_test(tests, settings_of_waits_that_are_missing_or_wrong_are_mistakes, 0, 4);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
