/*
 * An undo that refers to its own step's result: known results, the request, the report of an undo that fails
 * for want of one, and the operator's remedy.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"

#define LEARNING_IN(attempts, learn, undo_ref)                                                               \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","        \
    "\"complete_within\":\"10s\",\"on_unknown\":\"retry\",\"retry\":{\"attempts\":" attempts                 \
    "},\"learn\":\"" learn "\","                                                                             \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\",\"body\":{\"items\":\"${/payload/items}\"}},"               \
    "\"verify\":{\"method\":\"GET\",\"path\":\"/r/${/do_key}\"},"                                            \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/results/reserve/" undo_ref                             \
    "}\",\"retry\":{\"attempts\":2,\"backoff\":\"1ms\",\"max_backoff\":\"1ms\"}}},"                          \
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"reserve\"],\"complete_within\":\"10s\","      \
    "\"retry\":{\"attempts\":1},"                                                                            \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"}]}"
#define LEARNING(learn, undo_ref) LEARNING_IN("1", learn, undo_ref)

static bool request_has(const char *text)
{
    return strstr(fake_broker_last("request")->body, text) != NULL;
}

/* The result of a reply in the stage is {"ref":7.50}. */
static void reply(const char *step, uint32_t attempt, const char *kind, const char *outcome)
{
    bool is_refusal = strcmp(outcome, "permanent") == 0;
    stage_answer("o1.%s#%u %s %s %s %s over", step, attempt, kind, outcome, is_refusal ? "no" : "maybe",
                 strcmp(outcome, "done") != 0 ? "http_503" : "");
}

static void due(uint32_t attempt)
{
    stage_pass(20000); /* and no attempt can act any more */
    stage_act("due-%u o1 due step=reserve attempt=%u by=s", attempt, attempt);
}

static bool is_of_attempt(uint32_t attempt)
{
    char text[32];
    snprintf(text, sizeof(text), "\"attempt\":%u", attempt);
    return request_has(text);
}

/* The answer of reserve is lost, its only attempt is used up, and the order turns back. */
static void lose_the_answer(const char *definition)
{
    fake_store.definition = definition;
    stage_begin("o1");
    reply("reserve", 1, "do", "transient");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
}

START_TEST(a_known_result_goes_into_the_undo_as_it_came)
{
    fake_store.definition = LEARNING("repeat", "ref");
    stage_begin("o1");
    reply("reserve", 1, "do", "done");
    reply("charge", 1, "do", "permanent");
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/7.50"));
}
END_TEST

/* Catches: a do that is repeated under another key or with other bytes (law 8, derived identities). */
START_TEST(a_lost_result_is_learned_under_the_same_key_and_then_undone)
{
    lose_the_answer(LEARNING("repeat", "ref"));
    ck_assert(request_has("\"kind\":\"do\"") && request_has("\"idempotency_key\":\"o1.reserve.do\""));
    ck_assert(request_has("\"path\":\"/r\",\"body\":{\"items\":"));
    reply("reserve", 2, "do", "done");
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/7.50"));
    reply("reserve", 3, "undo", "done");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDONE);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATED);
}
END_TEST

START_TEST(a_lost_result_is_learned_by_verify)
{
    lose_the_answer(LEARNING("verify", "ref"));
    ck_assert(request_has("\"kind\":\"verify\"") && request_has("/r/o1.reserve.do"));
    reply("reserve", 2, "verify", "done");
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/7.50"));
}
END_TEST

/* Catches: an operator that is shown the lost do's failure, and not why its result could not be learned. */
START_TEST(the_answer_to_a_verify_that_learns_is_recorded)
{
    lose_the_answer(LEARNING("verify", "ref"));
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[0].error_code, "http_503"));
    stage_answer("o1.reserve#2 verify permanent http_403 over");
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[0].error_code, "http_403"));
}
END_TEST

#define JUDGED LEARNING("repeat\",\"done_when\":\"result.state == 'SETTLED'", "ref")

/* Catches: a charge that stands although each answer has its id, because none of them says that it is done.
 */
START_TEST(an_answer_that_is_not_done_has_the_result_nevertheless)
{
    fake_store.definition = JUDGED;
    stage_begin("o1");
    stage_answer("o1.reserve#1 do result='%s' over",
                 _i == 0 ? "{\"ref\":7.50,\"state\":\"PENDING\"}" : "{\"ref\":7.50}");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
    stage_pass(20000); /* the attempt is quiet */
    stage_act("due-1 o1 due step=reserve attempt=1 by=s");
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/7.50"));
}
END_TEST

static void answer(uint32_t attempt, const char *kind, const char *result)
{
    stage_answer("o1.reserve#%d %s result='%s' over", attempt, kind, result);
}

static void wait_for(uint32_t attempt)
{
    stage_pass(20000);
    stage_act("due-%d o1 due step=reserve attempt=%u by=s", attempt == 1 ? 1 : 2, attempt);
}

/* Catches: an id that an answer gave, and that is not kept because the answer before it was as unclear. */
START_TEST(an_open_answer_gives_the_result_that_the_one_before_lacks)
{
    fake_store.definition = LEARNING("verify\",\"done_when\":\"result.state == 'SETTLED'", "ref");
    stage_begin("o1");
    answer(1, "do", "{\"state\":\"PENDING\"}");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
    wait_for(1);
    ck_assert(request_has("\"kind\":\"verify\""));
    answer(2, "verify", "{\"ref\":7.50,\"state\":\"PENDING\"}");
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/7.50"));
}
END_TEST

/* Catches: an id that is lost because a later answer is unclear without it. */
START_TEST(an_open_answer_takes_no_result_away)
{
    fake_store.definition = LEARNING_IN("2", "repeat\",\"done_when\":\"result.state == 'SETTLED'", "ref");
    stage_begin("o1");
    answer(1, "do", "{\"ref\":7.50,\"state\":\"PENDING\"}");
    wait_for(1);
    answer(2, "do", "{\"state\":\"PENDING\"}");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
    wait_for(2);
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/7.50"));
}
END_TEST

/* Catches: a failed undo that leaves the operator without the reason and the remedy. */
START_TEST(an_undo_that_lacks_its_result_names_what_is_missing)
{
    lose_the_answer(LEARNING("repeat", "number"));
    if (_i == 0) { /* answered, and the member is not there */
        reply("reserve", 2, "do", "done");
    } else { /* never answered */
        reply("reserve", 2, "do", "transient");
        fake_store.ahead_ms += 5000; /* its backoff is over */
        stage_act("due-1 o1 due step=reserve attempt=2 by=s");
        reply("reserve", 3, "do", "transient");
    }
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDO_FAILED);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    struct mg_slice text = fake_store_record("o1")->steps[0].error_text;
    char error[1024];
    (void)snprintf(error, sizeof(error), "%.*s", (int)text.len, text.data);
    ck_assert_msg(strstr(error, "${/results/reserve/number}: there is no such value") != NULL, "%s", error);
    ck_assert_msg(strstr(error, "--result JSON") != NULL, "%s", error);
    ck_assert_ptr_nonnull(strstr(error, _i == 0 ? "is not known" : "could not be learned"));
    ck_assert(
        mg_slice_is(fake_store_record("o1")->steps[0].error_code, _i == 0 ? "unrenderable" : "learn_failed"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("alert")->body, "${/results/reserve/number}"));
}
END_TEST

#define WITH_OUTPUT                                                                                             \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","           \
    "\"complete_within\":\"10s\",\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"undo\":{\"method\":\"DELETE\"," \
    "\"path\":\"/r/${/do_key}\",\"retry\":{\"attempts\":2,\"backoff\":\"1ms\",\"max_backoff\":\"1ms\"}}},"      \
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"reserve\"],\"complete_within\":\"10s\","         \
    "\"retry\":{\"attempts\":1},\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"}]}"

/* Catches: the reason of an unreadable result, which a later failure of the step's undo replaces. */
START_TEST(a_failed_undo_leaves_the_reason_of_an_unreadable_result)
{
    fake_store.definition = WITH_OUTPUT;
    stage_begin("o1");
    stage_answer("o1.reserve#1 do result=null,\"truncated\":true over");
    const struct mg_step_record *record = &fake_store_record("o1")->steps[0];
    ck_assert(record->unreadable.len > 0);
    ck_assert(mg_slice_is(record->error_code, "result_unreadable"));
    reply("charge", 1, "do", "permanent");
    reply("reserve", 2, "undo", "transient");
    record = &fake_store_record("o1")->steps[0];
    ck_assert(mg_slice_is(record->error_code, "http_503"));
    ck_assert(record->unreadable.len > 0);
}
END_TEST

/* Catches: a charge that stands, because an answer which says nothing about it was taken for its absence. */
START_TEST(only_a_refusal_of_the_service_itself_proves_absence)
{
    static const struct {
        const char *refusal;
        bool is_proof;
    } CASES[] = {{"unsendable", false},
                 {"http_401", false},
                 {"http_403/forbidden", false},
                 {"http_404", false},
                 {"http_410", false},
                 {"http_407", false},
                 {"http_422", true},
                 {"http_402/declined", true},
                 {"http_4220", false},
                 {"declined status=402 reason=answered", true},
                 {"declined status=403 reason=answered", false},
                 {"declined status=402", false},
                 {"declined reason=answered", false},
                 {"declined status=402 reason=refused", false},
                 {"http_422 status=404 reason=answered", false},
                 {"http_422 reason=timeout", false}};
    lose_the_answer(LEARNING("repeat", "ref"));
    fake_store.ahead_ms += 20000; /* the first attempt is quiet */
    stage_answer("o1.reserve#2 do permanent %s over", CASES[_i].refusal);
    ck_assert_int_eq(stage_step("o1", 0), CASES[_i].is_proof ? MG_STEP_UNDONE : MG_STEP_UNDO_WAITING);
}
END_TEST

/* Catches: an undo of nothing, which the service answers with 404, and a charge that stands. */
START_TEST(an_empty_value_is_no_result)
{
    static const char *const empty[] = {"{\"ref\":null}", "{\"ref\":\"\"}"};
    lose_the_answer(LEARNING("repeat", "ref"));
    stage_answer("o1.reserve#2 do result='%s' over", empty[_i]);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDO_FAILED);
}
END_TEST

static void settle(const char *id, const char *more)
{
    stage_act("%s o1 settle step=reserve by=ann %s to=me", id, more);
}

START_TEST(a_result_from_the_operator_mends_the_undo)
{
    lose_the_answer(LEARNING("repeat", "number"));
    reply("reserve", 2, "do", "done");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    settle("s-1", "outcome=done");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "settle it with the result"));
    settle("s-2", "outcome=done result={\"id\":1}");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"invalid\""));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "${/results/reserve/number}"));
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDO_FAILED);
    settle("s-3", "outcome=done result='{\"number\":\"a b\"}'");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/a%20b"));
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[0].result, "{\"ref\":7.50}"));
    reply("reserve", 3, "undo", "done");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATED);
}
END_TEST

/* Catches: a later step's undo that cannot be built any more, since the result that it was done with is gone.
 */
START_TEST(a_learned_result_leaves_later_steps_theirs)
{
    fake_store.definition = LEARNING("repeat", "number");
    stage_begin("o1");
    reply("reserve", 1, "do", "done"); /* {"ref":7.50} */
    reply("charge", 1, "do", "permanent");
    ck_assert(request_has("\"kind\":\"do\"") && request_has("\"attempt\":2"));
    stage_answer("o1.reserve#2 result={\"number\":5}");
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/5"));
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[0].result, "{\"ref\":7.50}"));
}
END_TEST

/* Catches: a charge that stands, since a service that answered it as done refuses it later. An attempt before
 * that answer was lost, so the step is maybe. */
START_TEST(a_step_that_was_answered_as_done_is_cleared_by_no_refusal)
{
    fake_store.definition = LEARNING_IN("2", "repeat", "number");
    stage_begin("o1");
    reply("reserve", 1, "do", "transient");
    due(1);
    reply("reserve", 2, "do", "done"); /* {"ref":7.50} */
    reply("charge", 1, "do", "permanent");
    due(2);
    ck_assert(request_has("\"kind\":\"do\"") && request_has("\"attempt\":3"));
    fake_store.ahead_ms += 20000;
    stage_answer("o1.reserve#3 permanent http_422 over");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDO_WAITING);
}
END_TEST

/* Catches: a refused settle that leaves its result in the row. */
START_TEST(a_result_that_is_refused_changes_nothing)
{
    fake_store.definition = LEARNING("repeat", "ref");
    stage_begin("o1");
    reply("reserve", 1, "do", "done");
    settle("s-1", "outcome=done result={\"ref\":8}");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"conflict\""));
    reply("charge", 1, "do", "permanent");
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/7.50"));
}
END_TEST

/* Catches: a step without its result that must fail to be undone before an operator can give it. */
START_TEST(a_done_step_is_given_the_result_that_it_lacks)
{
    fake_store.definition = LEARNING("repeat", "number");
    stage_begin("o1");
    reply("reserve", 1, "do", "done"); /* {"ref":7.50} */
    settle("s-1", "outcome=done result={\"id\":8}");
    ck_assert_ptr_nonnull(
        strstr(fake_broker_last("command_result")->body, "lacks what the step's undo needs"));
    settle("s-2", "outcome=done result={\"number\":8}");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[0].result, "{\"number\":8}"));
    settle("s-3", "outcome=done result={\"number\":9}");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "the result that it has stays"));
    reply("charge", 1, "do", "permanent");
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/8"));
}
END_TEST

/* Law 8, derived identities. Catches: a key that would carry other bytes, since a request was made from the
 * lack of the result. */
START_TEST(a_result_that_would_change_a_request_is_refused)
{
    static const char FORMAT[] =
        "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","
        "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"undo\":\"none\"},"
        "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"reserve\"],\"do\":{\"method\":\"POST\","
        "\"path\":\"/c\",\"body\":{\"of\":\"${= has(results.reserve) ? '%s' : 'none'}\"}},"
        "\"undo\":\"none\"}]}";
    char definition[1024];
    (void)snprintf(definition, sizeof(definition), FORMAT, _i == 0 ? "some" : "none");
    fake_store.definition = definition;
    stage_begin("o1");
    stage_answer("o1.reserve#1 result=null");
    ck_assert(request_has("\"of\":\"none\""));
    settle("s-1", "outcome=done result={\"id\":8}");
    const char *answer = fake_broker_last("command_result")->body;
    struct mg_slice result = fake_store_record("o1")->steps[0].result;
    if (_i == 0) {
        ck_assert_msg(strstr(answer, "a request of step charge was made without this result") != NULL, "%s",
                      answer);
        ck_assert_ptr_null(result.data);
    } else {
        ck_assert_msg(strstr(answer, "\"done\"") != NULL, "%s", answer);
        ck_assert(mg_slice_is(result, "{\"id\":8}"));
    }
}
END_TEST

/* The 202 gives the id by which its work is polled. */
START_TEST(accepted_work_is_polled_by_what_its_202_gave)
{
    fake_store.definition =
        "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","
        "\"complete_within\":\"10s\",\"on_unknown\":\"retry\",\"finish_within\":\"10m\",\"poll\":\"1s\","
        "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},"
        "\"verify\":{\"method\":\"GET\",\"path\":\"/r/${/results/reserve/ref}\"},\"undo\":\"none\"}]}";
    stage_begin("o1");
    reply("reserve", 1, "do", "accepted");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    fake_store.ahead_ms += 5000;
    stage_act("due-1 o1 due step=reserve attempt=1 by=s");
    ck_assert(request_has("\"kind\":\"verify\"") && request_has("/r/7.50"));
}
END_TEST

#define FINISH_WITHIN_MS 600000

/* Its work is accepted and polled. */
static const char POLLED[] =
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","
    "\"complete_within\":\"10s\",\"on_unknown\":\"retry\",\"finish_within\":\"10m\",\"poll\":\"1s\",\"learn\":\"verify\","
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"verify\":{\"method\":\"GET\",\"path\":\"/r\"},"
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/results/reserve/ref}\"}},"
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"reserve\"],\"complete_within\":\"10s\","
    "\"retry\":{\"attempts\":1},\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"}]}";

static void verified(uint32_t attempt, const char *outcome)
{
    stage_answer("o1.reserve#%d verify %s yes result=null over", attempt, outcome);
}

static void begin_polled(void)
{
    fake_store.definition = POLLED;
    stage_begin("o1");
    reply("reserve", 1, "do", "accepted");
    due(1);
}

/* Catches: a refund of the charge of before, while the new one stands. The last poll had no body, so the
 * result that the undo needs was kept apart. */
START_TEST(a_restarted_order_is_undone_with_its_new_result)
{
    begin_polled();
    verified(2, "done");
    reply("charge", 1, "do", "permanent");
    due(2);
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/7.50"));
    reply("reserve", 3, "undo", "done");
    stage_act("c-1 o1 restart by=ann to=amq.gen-tool");
    stage_answer("o1.reserve#4 result={\"ref\":8}");
    reply("charge", 2, "do", "permanent");
    ck_assert(request_has("\"kind\":\"undo\"") && request_has("/r/8\""));
}
END_TEST

/* Catches: an undo of work that is proved absent, while the do that was sent anew stands. */
START_TEST(work_that_is_absent_leaves_no_result_to_the_next_do)
{
    begin_polled();
    uint32_t next = 3;
    if (_i == 0) {
        stage_pass(FINISH_WITHIN_MS);
        verified(2, "absent"); /* asked for before the work was over */
        due(2);
        verified(3, "absent");
        due(3);
        next = 4;
    } else {
        verified(2, "accepted");
        settle("s-1", "outcome=absent");
    }
    ck_assert(request_has("\"kind\":\"do\"") && is_of_attempt(next));
    reply("reserve", next, "do", "transient");
    due(next);
    ck_assert(request_has("\"kind\":\"do\"") && is_of_attempt(next + 1));
    stage_answer("o1.reserve#%d result=null", (int)next + 1);
    reply("charge", 1, "do", "permanent");
    due(next + 1);
    ck_assert_msg(request_has("\"kind\":\"verify\"") && is_of_attempt(next + 2), "%s",
                  fake_broker_last("request")->body);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_learn");
    TCase *tests = tcase_create("results that an undo needs");
    tcase_add_test(tests, a_failed_undo_leaves_the_reason_of_an_unreadable_result);
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_loop_test(tests, only_a_refusal_of_the_service_itself_proves_absence, 0, 16);
    tcase_add_loop_test(tests, an_empty_value_is_no_result, 0, 2);
    tcase_add_test(tests, a_known_result_goes_into_the_undo_as_it_came);
    tcase_add_test(tests, a_lost_result_is_learned_under_the_same_key_and_then_undone);
    tcase_add_test(tests, a_lost_result_is_learned_by_verify);
    tcase_add_test(tests, the_answer_to_a_verify_that_learns_is_recorded);
    tcase_add_loop_test(tests, an_answer_that_is_not_done_has_the_result_nevertheless, 0, 2);
    tcase_add_test(tests, an_open_answer_gives_the_result_that_the_one_before_lacks);
    tcase_add_test(tests, an_open_answer_takes_no_result_away);
    tcase_add_loop_test(tests, an_undo_that_lacks_its_result_names_what_is_missing, 0, 2);
    tcase_add_test(tests, a_result_from_the_operator_mends_the_undo);
    tcase_add_test(tests, a_done_step_is_given_the_result_that_it_lacks);
    tcase_add_loop_test(tests, a_result_that_would_change_a_request_is_refused, 0, 2);
    tcase_add_test(tests, a_result_that_is_refused_changes_nothing);
    tcase_add_test(tests, a_step_that_was_answered_as_done_is_cleared_by_no_refusal);
    tcase_add_test(tests, a_learned_result_leaves_later_steps_theirs);
    tcase_add_test(tests, accepted_work_is_polled_by_what_its_202_gave);
    tcase_add_loop_test(tests, work_that_is_absent_leaves_no_result_to_the_next_do, 0, 2);
    tcase_add_test(tests, a_restarted_order_is_undone_with_its_new_result);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
