/* Every way of an order: the ends that it reaches, the order of undos, and claims. */
#include <stdio.h>

#include "rehearse/exploration.h"
#include "simulate_fixture.h"

static struct mg_exploration found;

static void close(void)
{
    mg_exploration_finish(&found);
    fixture_close();
}

static void explore(void)
{
    struct mg_err err = {MG_OK, ""};
    ck_assert_msg(mg_explore(fixture_profile, MG_EXPLORE_MAX, &found, &err) == MG_OK, "%s", err.text);
}

static void claim(const char *text)
{
    struct mg_err err = {MG_OK, ""};
    ck_assert_int_eq(mg_profile_add_claim(fixture_profile, mg_slice_of(text), &err), MG_OK);
}

/* The number of ways with this end and these undos: the first letters of their steps. */
static uint64_t ways(enum mg_order_state end, const char *undone)
{
    for (int i = 0; i < found.end_count; i++) {
        const struct mg_explored_end *at = &found.ends[i];
        bool is_it = at->end == end && (size_t)at->undone_count == strlen(undone);
        for (int n = 0; is_it && n < at->undone_count; n++) {
            is_it = fixture_workflow->steps[at->undone[n]].name[0] == undone[n];
        }
        if (is_it) {
            return at->count;
        }
    }
    return 0;
}

/* Catches: a way that is missing or taken twice, and an undo in another order. */
START_TEST(a_chain_has_three_ways_at_each_step)
{
    fixture_open(CHAIN, "");
    explore();
    ck_assert_uint_eq(found.ways, 7);
    ck_assert(!found.is_cut && !found.has_parallel);
    ck_assert_uint_eq(ways(MG_ORDER_PROCESSED, ""), 1);
    ck_assert_uint_eq(ways(MG_ORDER_COMPENSATED, ""), 1); /* a refused */
    ck_assert_uint_eq(ways(MG_ORDER_COMPENSATED, "a"), 2);
    ck_assert_uint_eq(ways(MG_ORDER_COMPENSATED, "ba"), 2);
    ck_assert_uint_eq(ways(MG_ORDER_COMPENSATED, "cba"), 1);
    ck_assert_int_eq(found.end_count, 5);
}
END_TEST

/* Catches: a claim that is called proved although a way breaks it, or broken although none does. */
START_TEST(a_claim_is_proved_or_has_a_counter_example)
{
    fixture_open(WORKFLOW("", LAST("a", "one", "") "," STEP("b", "two", "") "," STEP("c", "three", "")), "");
    claim("end == 'compensated' && stands.a");
    claim("end == 'compensated' && stands.b");
    claim("end == 'processed' && state.b != 'done'");
    explore();
    ck_assert_uint_gt(found.claims[0].count, 0);
    ck_assert_int_eq(found.claims[0].first.end, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(found.claims[0].first.steps[0], MG_STEP_WAY_DONE);
    ck_assert_int_eq(found.claims[0].first.steps[2], MG_STEP_WAY_REFUSED);
    ck_assert_uint_eq(found.claims[1].count, 0);
    ck_assert_uint_eq(found.claims[2].count, 0);
}
END_TEST

/* Catches: a name or a word that no claim has, and a claim that says nothing. */
START_TEST(wrong_claims_are_refused)
{
    static const struct {
        const char *claim, *part;
    } WRONG[] = {
        {"stands.d", "\"stands.d\" is not there; did you mean"},
        {"end == 'compansated'", "did you mean \"compensated\""},
        {"state.a == 'ready'", "never \"ready\""},
        {"payload.x", "payload"},
        {"end", "a condition is expected"},
        {"1 == 1", "says nothing"},
    };
    struct mg_err err = {MG_OK, ""};
    fixture_open(CHAIN, "");
    claim(WRONG[_i].claim);
    ck_assert_int_eq(mg_explore(fixture_profile, MG_EXPLORE_MAX, &found, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, WRONG[_i].part) != NULL, "%s", err.text);
}
END_TEST

/* Catches: two opposite conditions that hold at the same time, or neither. */
START_TEST(opposite_conditions_hold_by_turns)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "\"when\":\"payload.x > 1\",") "," STEP(
                                  "b", "two",
                                  "\"when\":\"!(payload.x > 1)\",") "," STEP("c", "three",
                                                                             "\"when\":\"payload.x > 1\",")),
                 "");
    claim("end == 'processed' && (state.a == 'done') == (state.b == 'done')");
    claim("end == 'processed' && (state.a == 'done') != (state.c == 'done')");
    claim("end == 'processed' && state.a == 'skipped'");
    explore();
    ck_assert_uint_eq(found.claims[0].count, 0);
    ck_assert_uint_eq(found.claims[1].count, 0);
    ck_assert_uint_gt(found.claims[2].count, 0);
}
END_TEST

/* Catches: a failure side by side with other calls that is only ever seen first, or last. */
START_TEST(failures_side_by_side_are_answered_first_and_last)
{
    fixture_open(
        WORKFLOW("", STEP("a", "one", "") "," LAST("b", "two", "\"after\":[\"a\"],") "," STEP(
                         "c", "three", "\"after\":[\"a\"],") "," STEP("d", "four", "\"after\":[\"b\"],")),
        "");
    claim("state.c == 'failed' && state.d == 'undone'");
    claim("state.c == 'failed' && state.b == 'done' && state.d == 'pending'");
    explore();
    ck_assert(found.has_parallel);
    ck_assert_uint_gt(found.claims[0].count, 0);
    ck_assert(!found.claims[0].first.is_failure_first);
    ck_assert_uint_gt(found.claims[1].count, 0);
    ck_assert(found.claims[1].first.is_failure_first);
}
END_TEST

#define WIDE                                                                                                 \
    WORKFLOW("", STEP("a", "one", "\"after\":[],") "," STEP("b", "two", "\"after\":[],") "," STEP(           \
                     "c", "three", "\"after\":[],") "," STEP("d", "four", "\"after\":[],"))

/* Catches: ways of a wide workflow that vary its last steps alone, and say nothing of what was left out. */
START_TEST(too_many_ways_are_those_with_the_fewest_failures)
{
    fixture_open(WIDE, "");
    claim("state.a == 'failed'");
    claim("end == 'compensated' && state.a == 'failed' && state.d == 'failed'");
    struct mg_err err = {MG_OK, ""};
    ck_assert_int_eq(mg_explore(fixture_profile, 20, &found, &err), MG_OK);
    ck_assert(found.is_cut);
    ck_assert_int_eq(found.departures, 1);
    ck_assert_uint_eq(found.ways, 2 * (1 + 4 * 2)); /* failures last and first */
    ck_assert_uint_gt(found.claims[0].count, 0);
    ck_assert_uint_eq(found.claims[1].count, 0);
    mg_exploration_finish(&found);
    explore();
    ck_assert(!found.is_cut);
    ck_assert_int_eq(found.departures, 4);
    ck_assert_uint_eq(found.ways, 2 * 3 * 3 * 3 * 3);
    ck_assert_uint_gt(found.claims[1].count, 0);
    ck_assert_int_eq(found.claims[1].first.steps[1], MG_STEP_WAY_DONE); /* the simplest example */
}
END_TEST

/* Catches: an undo that cannot fail although the profile says that it may be refused. */
START_TEST(a_refused_undo_is_tried_where_the_profile_has_it)
{
    fixture_open(CHAIN, "");
    explore();
    ck_assert_uint_eq(ways(MG_ORDER_ERROR, ""), 0);
    mg_exploration_finish(&found);
    fixture_set(MG_SETTING_REFUSE, "a.undo=1%");
    claim("end == 'error' && !stands.a");
    explore();
    ck_assert_uint_eq(ways(MG_ORDER_ERROR, ""), 2); /* of b refused, and of a unknown */
    ck_assert_uint_eq(ways(MG_ORDER_ERROR, "b"), 2);
    ck_assert_uint_eq(ways(MG_ORDER_ERROR, "cb"), 1);
    ck_assert_uint_eq(found.claims[0].count, 0);
}
END_TEST

/* Catches: a share of nothing or of all that is explored nevertheless, and a payload that is not asked. */
START_TEST(a_share_or_a_payload_decides_a_condition)
{
    static const char DEFINITION[] =
        WORKFLOW("", STEP("a", "one", "\"when\":\"payload.x\",") "," STEP("b", "two", ""));
    fixture_open(DEFINITION, "");
    explore();
    ck_assert_uint_eq(found.ways, 8); /* 3 of a skipped a; 2 + 3 of one that goes */
    mg_exploration_finish(&found);
    fixture_set(MG_SETTING_WHEN, "a=0%");
    explore();
    ck_assert_uint_eq(found.ways, 3);
    mg_exploration_finish(&found);
    fixture_open(DEFINITION, "");
    fixture_profile->payload = mg_slice_of("{\"x\":true}");
    explore();
    ck_assert_uint_eq(found.ways, 5);
}
END_TEST

/* Catches: a wait without an end, and a requirement of a wait that never fails. */
START_TEST(a_requirement_of_a_wait_can_refuse)
{
    fixture_open(WORKFLOW("",
                          STEP("a", "one",
                               "") ",{\"step\":\"b\",\"require\":[{\"that\":\"payload.x\",\"text\":\"x\"}],"
                                   "\"wait\":{\"for\":\"1h\"}}"),
                 "");
    explore();
    ck_assert_uint_eq(ways(MG_ORDER_PROCESSED, ""), 1);
    ck_assert_uint_eq(ways(MG_ORDER_COMPENSATED, "a"), 2);
}
END_TEST

/* Catches: an order that needs an operator, and that is called ended, or its effect gone. */
START_TEST(a_pivot_in_doubt_waits_for_an_operator)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "") "," LAST("b", "two",
                                                            "\"pivot\":true,\"on_unknown\":\"operator\",")),
                 "");
    claim("end == 'waiting' && !stands.b");
    claim("end == 'waiting' && state.b == 'unknown'");
    explore();
    ck_assert_uint_eq(found.claims[0].count, 0);
    ck_assert_uint_eq(found.claims[1].count, 1);
}
END_TEST

#define WAIT(name, wait, more)                                                                               \
    "{\"step\":\"" name "\",\"wait\":{\"signal\":\"ok\",\"within\":\"1h\"" wait "}" more "}"
#define JUDGED ",\"done_when\":\"result.ok == true\",\"refused_when\":\"result.ok == false\""

/* Catches: a way of a signal that is missing, and one that no order can take. */
START_TEST(a_signal_is_early_or_in_time_or_refuses_or_never_comes)
{
    fixture_open(WORKFLOW("", STEP("a", "one", "") "," WAIT("w", "", JUDGED) "," STEP("b", "two", "")), "");
    claim("end == 'processed' && state.w != 'done'");
    claim("end == 'compensated' && (stands.a || stands.b)");
    claim("end == 'compensated' && state.w == 'failed'");
    explore();
    ck_assert_uint_eq(found.ways, 2 + 3 + 3 + 1 + 1); /* of a; of b after either; refused; timed out */
    ck_assert_uint_eq(ways(MG_ORDER_PROCESSED, ""), 2);
    ck_assert_uint_eq(ways(MG_ORDER_COMPENSATED, "a"), 1 + 2 + 2);
    ck_assert_uint_eq(ways(MG_ORDER_COMPENSATED, "ba"), 2);
    ck_assert_uint_eq(found.claims[0].count + found.claims[1].count, 0);
    ck_assert_uint_eq(found.claims[2].count, 2);
    mg_exploration_finish(&found);
    fixture_open(WORKFLOW("", STEP("a", "one", "") "," WAIT("w", ",\"on_timeout\":\"skip\"",
                                                            "") "," STEP("b", "two", "")),
                 "");
    explore();
    ck_assert_uint_eq(found.ways, 2 + 3 + 3 + 3);
    ck_assert_uint_eq(ways(MG_ORDER_PROCESSED, ""), 3);
}
END_TEST

/* Catches: a share of nothing or of all that is explored nevertheless. */
START_TEST(a_share_settles_a_signal_that_never_comes_or_always_in_time)
{
    static const struct {
        const char *signal;
        uint64_t ways;
    } SHARES[] = {{"w=0%", 1}, {"w=100% in 1m..59m", 2}, {"w=100% in 1m..60m", 3}, {"w=50% at 1m", 3}};
    fixture_open(WORKFLOW("", WAIT("w", "", "")), "");
    fixture_set(MG_SETTING_SIGNAL, SHARES[_i].signal);
    explore();
    ck_assert_uint_eq(found.ways, SHARES[_i].ways);
}
END_TEST

/* Catches: a choice that is not tried, or with a payload that later conditions do not see. */
START_TEST(each_choice_of_a_signal_is_tried)
{
    fixture_open(
        WORKFLOW("", WAIT("w", "", JUDGED) "," STEP("b", "two", "\"when\":\"results.w.deep == true\",")), "");
    fixture_profile->payload = mg_slice_of("{}");
    fixture_set(MG_SETTING_CHOICE, "w=50% {\"ok\":true,\"deep\":false}");
    fixture_set(MG_SETTING_CHOICE, "w=30% {\"ok\":true,\"deep\":true}");
    fixture_set(MG_SETTING_CHOICE, "w=10% {\"ok\":false}");
    fixture_set(MG_SETTING_CHOICE, "w=10% {\"ok\":null}");
    claim("end == 'processed' && state.b == 'skipped'");
    claim("end == 'processed' && state.b == 'done'");
    claim("state.w == 'failed'");
    explore();
    ck_assert_uint_eq(found.claims[0].count, 2); /* early, or not */
    ck_assert_uint_eq(found.claims[1].count, 2);
    ck_assert_uint_eq(found.claims[2].count, 2); /* refused, or timed out */
}
END_TEST

/* Catches: a time-out next to calls that is only ever seen after them, or before them. */
START_TEST(a_time_out_next_to_a_call_comes_first_and_last)
{
    fixture_open(WORKFLOW("", LAST("a", "one", "") "," WAIT("w", "", ",\"after\":[]") "," STEP(
                                  "b", "two", "\"after\":[\"a\"],")),
                 "");
    claim("state.w == 'failed' && state.b == 'undone'");
    claim("state.w == 'failed' && state.a == 'done' && state.b == 'pending'");
    claim("state.w == 'pending' && state.a == 'failed'");
    claim("end == 'compensated' && stands.b");
    explore();
    ck_assert(found.has_parallel && !found.is_cut);
    ck_assert(found.claims[0].count > 0 && !found.claims[0].first.is_failure_first);
    ck_assert(found.claims[1].count > 0 && found.claims[1].first.is_failure_first);
    ck_assert_uint_gt(found.claims[2].count, 0);
    ck_assert_uint_eq(found.claims[3].count, 0);
}
END_TEST

/* Catches: a wait that goes on after its order's time, so that the order goes on, too. */
START_TEST(an_order_can_expire_before_its_wait_is_over)
{
    fixture_open(
        WORKFLOW("\"complete_within\":\"90m\",",
                 WAIT("w", ",\"on_timeout\":\"skip\"", ",\"when\":\"payload.x\"") "," WAIT(
                     "x", ",\"on_timeout\":\"skip\"", ",\"when\":\"payload.y\"") "," STEP("b", "two", "")),
        "");
    fixture_set(MG_SETTING_SIGNAL, "w=0%");
    fixture_set(MG_SETTING_SIGNAL, "x=0%");
    claim("end != 'processed' && end != 'compensated'");
    explore();
    ck_assert_uint_eq(found.ways, 3 * 3 + 1); /* of b, unless both waits are to be waited for */
    ck_assert_uint_eq(found.claims[0].count, 0);
    uint64_t expired = 0;
    for (int i = 0; i < found.end_count; i++) {
        expired += found.ends[i].reason == MG_REASON_ORDER_EXPIRED ? found.ends[i].count : 0;
    }
    ck_assert_uint_eq(expired, 1);
}
END_TEST

/* Catches: an order that waits for ever for its turn in a line that it has for itself. */
START_TEST(a_workflow_with_a_sequence_has_the_ways_of_one_without)
{
    fixture_open(WORKFLOW("\"sequence\":{\"key\":\"k/${/payload/k}\"},",
                          STEP("a", "one", "") "," STEP("b", "two", "")),
                 "");
    explore();
    ck_assert_uint_eq(found.ways, 5);
    ck_assert_uint_eq(ways(MG_ORDER_PROCESSED, ""), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exploration");
    TCase *tests = tcase_create("exploration");
    tcase_add_checked_fixture(tests, NULL, close);
    tcase_add_test(tests, a_chain_has_three_ways_at_each_step);
    tcase_add_test(tests, a_claim_is_proved_or_has_a_counter_example);
    tcase_add_loop_test(tests, wrong_claims_are_refused, 0, 6);
    tcase_add_test(tests, opposite_conditions_hold_by_turns);
    tcase_add_test(tests, failures_side_by_side_are_answered_first_and_last);
    tcase_add_test(tests, too_many_ways_are_those_with_the_fewest_failures);
    tcase_add_test(tests, a_refused_undo_is_tried_where_the_profile_has_it);
    tcase_add_test(tests, a_share_or_a_payload_decides_a_condition);
    tcase_add_test(tests, a_requirement_of_a_wait_can_refuse);
    tcase_add_test(tests, a_pivot_in_doubt_waits_for_an_operator);
    tcase_add_test(tests, a_signal_is_early_or_in_time_or_refuses_or_never_comes);
    tcase_add_loop_test(tests, a_share_settles_a_signal_that_never_comes_or_always_in_time, 0, 4);
    tcase_add_test(tests, each_choice_of_a_signal_is_tried);
    tcase_add_test(tests, a_time_out_next_to_a_call_comes_first_and_last);
    tcase_add_test(tests, an_order_can_expire_before_its_wait_is_over);
    tcase_add_test(tests, a_workflow_with_a_sequence_has_the_ways_of_one_without);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
