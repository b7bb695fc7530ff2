/*
 * Facts of a step that no answer and no repair takes away: the result that its undo needs, the conditions
 * under which it counts as done, its undo as it was done, and the shape of the payload.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"

static bool request_has(const char *text)
{
    return strstr(fake_broker_last("request")->body, text) != NULL;
}

static bool answer_has(const char *text)
{
    return strstr(fake_broker_last("command_result")->body, text) != NULL;
}

static void answer(const char *step, uint32_t attempt, const char *kind, const char *outcome,
                   const char *result)
{
    stage_answer("o1.%s#%u %s %s %s result='%s' over", step, attempt, kind, outcome,
                 strcmp(outcome, "permanent") == 0 ? "no http_422" : "yes",
                 result != NULL ? result : "{\"ref\":7.50}");
}

static void command(const char *id, const char *words)
{
    stage_act("%s o1 %s to=tool", id, words);
}

static void begin(const char *definition)
{
    fake_store.definition = definition;
    stage_begin("o1");
}

#define JOB(learn)                                                                                                     \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"job\",\"service\":\"inventory\","                      \
    "\"complete_within\":\"10s\",\"on_unknown\":\"retry\",\"finish_within\":\"1h\",\"poll\":\"1s\",\"learn\":\"" learn \
    "\","                                                                                                              \
    "\"do\":{\"method\":\"POST\",\"path\":\"/jobs\"},"                                                                 \
    "\"verify\":{\"method\":\"GET\",\"path\":\"/jobs/${/results/job/id}\"},"                                           \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/jobs/${/results/job/id}\"}},"                                         \
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"job\"],\"retry\":{\"attempts\":1},"                     \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\",\"body\":{\"state\":\"${/results/job/state}\"}},"                     \
    "\"undo\":\"none\"}]}"

/* Catches: a do that is repeated, or an undo that fails, for want of an id that the 202 had carried and that
 * the last poll lacks. Later steps read the last answer. */
START_TEST(a_result_that_the_undo_needs_is_kept_when_the_last_poll_lacks_it)
{
    begin(JOB("repeat"));
    answer("job", 1, "do", "accepted", "{\"id\":\"j1\"}");
    stage_pass(20000);
    command("due-1", "due step=job attempt=1 by=s");
    ck_assert(request_has("\"kind\":\"verify\"") && request_has("/jobs/j1"));
    answer("job", 2, "verify", "done", "{\"state\":\"finished\"}");
    ck_assert(request_has("\"state\":\"finished\""));
    answer("charge", 1, "do", "permanent", NULL);
    ck_assert_msg(request_has("\"kind\":\"undo\"") && request_has("/jobs/j1"), "%s",
                  fake_broker_last("request")->body);
    answer("job", 3, "undo", "done", NULL);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATED);
}
END_TEST

#define LEARNING                                                                                             \
    "{\"workflow\":\"two\",\"version\":1,\"on_failure\":\"error\",\"steps\":[{\"step\":\"reserve\","         \
    "\"service\":\"inventory\",\"learn\":\"repeat\",\"on_unknown\":\"verify\","                              \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\",\"body\":{\"items\":\"${/payload/items}\"}},"               \
    "\"verify\":{\"method\":\"GET\",\"path\":\"/r/${/do_key}\"},"                                            \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/results/reserve/id}\"}},"                              \
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"reserve\"],\"retry\":{\"attempts\":1},"       \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"}]}"

/* Catches: a change of the payload that makes the learning impossible, so that the charge stands. */
START_TEST(a_repair_keeps_the_do_that_is_to_be_repeated_to_learn_its_result)
{
    begin(LEARNING);
    answer("reserve", 1, "do", "done", _i == 0 ? "null" : "{\"id\":\"r1\"}");
    answer("charge", 1, "do", "permanent", NULL);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    command("c-1", "resume by=ann set=[{\"pointer\":\"/items\",\"value\":[7]}]");
    ck_assert(answer_has(_i == 0 ? "its undo would no longer fit" : "\"done\""));
}
END_TEST

#define SHAPED                                                                                               \
    "{\"workflow\":\"two\",\"version\":1,\"on_failure\":\"error\",\"input\":{\"items\":[\"any\"]},"          \
    "\"require\":[{\"that\":\"size(payload.items) < 3\",\"text\":\"at most two items\"}],"                   \
    "\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\",\"retry\":{\"attempts\":1},"                 \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\",\"body\":{\"items\":\"${/payload/items}\"}},"               \
    "\"undo\":\"none\"}]}"

START_TEST(a_repaired_payload_keeps_the_shape_and_the_requirement_of_its_workflow)
{
    begin(SHAPED);
    answer("reserve", 1, "do", "permanent", NULL);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    command("c-1", "resume by=ann set=[{\"pointer\":\"/items\",\"value\":\"x\"}]");
    ck_assert_msg(answer_has("\"invalid\"") && answer_has("/items"), "%s",
                  fake_broker_last("command_result")->body);
    command("c-2", "resume by=ann set=[{\"pointer\":\"/items\",\"value\":[1,2,3]}]");
    ck_assert_msg(answer_has("\"invalid\"") && answer_has("at most two items"), "%s",
                  fake_broker_last("command_result")->body);
    command("c-3", "resume by=ann set=[{\"pointer\":\"/items\",\"value\":[1]}]");
    ck_assert(answer_has("\"done\"") && request_has("\"items\":[1]"));
}
END_TEST

#define JUDGED                                                                                               \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","        \
    "\"on_unknown\":\"operator\",\"done_when\":\"result.state == 'SETTLED'\","                               \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"undo\":\"none\"}]}"

/* Catches: an agent in another language that passes a 202 on for a step that nobody polls. */
START_TEST(an_accepted_answer_of_a_step_without_polls_is_judged_like_any_other)
{
    begin(JUDGED);
    answer("reserve", 1, "do", "accepted", _i == 0 ? "{\"state\":\"PENDING\"}" : "{\"state\":\"SETTLED\"}");
    ck_assert_int_eq(stage_step("o1", 0), _i == 0 ? MG_STEP_UNKNOWN : MG_STEP_DONE);
}
END_TEST

#define REFUSED                                                                                              \
    "{\"workflow\":\"two\",\"version\":1,\"on_failure\":\"error\",\"steps\":[{\"step\":\"reserve\","         \
    "\"service\":\"inventory\",\"require\":[{\"that\":\"size(payload.items) > 5\",\"text\":\"too few\"}],"   \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"learn\":\"repeat\","                                     \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/results/reserve/id}\"}}]}"

START_TEST(a_step_that_its_guard_refused_is_settled_with_its_result)
{
    begin(REFUSED);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    command("s-1", "settle step=reserve outcome=done by=ann result={\"id\":\"r1\"}");
    ck_assert_msg(answer_has("\"done\""), "%s", fake_broker_last("command_result")->body);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
}
END_TEST

#define GIFT                                                                                                 \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"gift\",\"service\":\"inventory\","           \
    "\"on_unknown\":\"operator\",\"do\":{\"method\":\"POST\",\"path\":\"/g\"},"                              \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/g/${/do_key}\"}},"                                          \
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"gift\"],"                                     \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\"},"                                                          \
    "\"undo\":{\"method\":\"POST\",\"path\":\"/refunds\",\"body\":{\"gift\":\"${= state.gift}\"}}}]}"

/* Catches: a refund that carries another state of a step than the charge was made by. */
START_TEST(a_settle_that_would_change_the_undo_of_a_step_that_is_done_is_refused)
{
    begin(GIFT);
    stage_answer("o1.gift#1 unknown http_500 over");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNKNOWN);
    command("k-1", "skip step=gift by=ann");
    answer("charge", 1, "do", "done", "{}");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    command("s-1", "settle step=gift outcome=done by=ann");
    ck_assert_msg(answer_has("step charge was done without this step"), "%s",
                  fake_broker_last("command_result")->body);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_SKIPPED);
}
END_TEST

#define OPERATOR                                                                                             \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","        \
    "\"on_unknown\":\"operator\",\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"undo\":\"none\"}]}"

START_TEST(a_step_in_doubt_is_done_again_only_by_the_operators_explicit_word)
{
    begin(OPERATOR);
    stage_answer("o1.reserve#1 unknown http_500 over");
    command("r-1", "resume by=ann");
    ck_assert(answer_has("\"conflict\"") && answer_has("--repeat"));
    command("r-2", "resume step=reserve repeat=true by=ann");
    ck_assert(answer_has("\"done\"") && request_has("\"attempt\":2") && request_has("\"kind\":\"do\""));
}
END_TEST

#define DOWN                                                                                                 \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","        \
    "\"on_unknown\":\"retry\",\"retry\":{\"attempts\":2,\"backoff\":\"1s\"},"                                \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"undo\":\"none\"}]}"

/* Catches: attempts used up by the probes of an outage. */
START_TEST(a_failed_probe_of_a_service_that_is_down_costs_no_attempt)
{
    begin(DOWN);
    for (uint32_t attempt = 1; attempt <= 5; attempt++) {
        stage_answer("o1.reserve#%d transient maybe http_503 over probe", attempt);
        ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
        ck_assert_uint_eq(fake_store_order("o1")->order.steps[0].failure_count, 0);
        stage_pass(60000);
        stage_act("due-%u o1 due step=reserve attempt=%u by=s to=tool", attempt, attempt);
        ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_kept");
    TCase *cases = tcase_create("kept");
    tcase_add_checked_fixture(cases, stage_start, stage_finish);
    tcase_add_test(cases, a_result_that_the_undo_needs_is_kept_when_the_last_poll_lacks_it);
    tcase_add_loop_test(cases, a_repair_keeps_the_do_that_is_to_be_repeated_to_learn_its_result, 0, 2);
    tcase_add_test(cases, a_repaired_payload_keeps_the_shape_and_the_requirement_of_its_workflow);
    tcase_add_loop_test(cases, an_accepted_answer_of_a_step_without_polls_is_judged_like_any_other, 0, 2);
    tcase_add_test(cases, a_step_that_its_guard_refused_is_settled_with_its_result);
    tcase_add_test(cases, a_settle_that_would_change_the_undo_of_a_step_that_is_done_is_refused);
    tcase_add_test(cases, a_failed_probe_of_a_service_that_is_down_costs_no_attempt);
    tcase_add_test(cases, a_step_in_doubt_is_done_again_only_by_the_operators_explicit_word);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
