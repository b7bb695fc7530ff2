/* done_when and refused_when in the scheduler: the step, its record, its messages and its
 * story. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"

#define DEFINITION(more)                                                                                     \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","        \
    "\"complete_within\":\"10s\",\"retry\":{\"attempts\":2,\"backoff\":\"1ms\",\"max_backoff\":\"1ms\"},"    \
    "\"done_when\":\"result.state == 'SETTLED'\",\"refused_when\":\"result.state == 'DECLINED'\","           \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"}," more "},"                                                \
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"reserve\"],"                                  \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"}]}"
#define VERIFY   "\"verify\":{\"method\":\"GET\",\"path\":\"/r/${/do_key}\"},"
#define UNDO     "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/do_key}\"}"
#define POLLED   DEFINITION("\"finish_within\":\"1h\",\"poll\":\"1s\"," VERIFY UNDO)
#define UNPOLLED DEFINITION("\"on_unknown\":\"operator\"," VERIFY UNDO)
#define DECLINED "{\"state\":\"DECLINED\",\"code\":\"card_declined\",\"message\":\"the card was declined\"}"

static void answer(uint32_t attempt, const char *kind, const char *result)
{
    stage_answer("o1.reserve#%d %s result='%s' over", attempt, kind, result);
}

static void poll_due(uint32_t attempt)
{
    fake_store.ahead_ms += 5000;
    stage_act("due-%u o1 due step=reserve attempt=%u by=s", attempt, attempt);
}

static void begin(const char *definition)
{
    fake_store.definition = definition;
    stage_begin("o1");
}

static bool error_is(const char *code, const char *text)
{
    const struct mg_step_record *record = &fake_store_order("o1")->steps[0];
    return mg_slice_is(record->error_code, code) &&
           (text == NULL ||
            (record->error_text.data != NULL && strstr(record->error_text.data, text) != NULL));
}

START_TEST(an_answer_that_is_not_done_is_polled_until_it_is)
{
    begin(POLLED);
    answer(1, "do", "{\"state\":\"PENDING\"}");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert(error_is("not_done_yet",
                       "not done yet: done_when: result.state == 'SETTLED' was 'PENDING' == 'SETTLED'"));
    poll_due(1);
    answer(2, "verify", "{\"state\":\"PENDING\"}");
    poll_due(2);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    answer(3, "verify", "{\"state\":\"SETTLED\",\"amount\":14.00}");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_ptr_null(fake_store_order("o1")->steps[0].error_code.data);
    ck_assert(
        mg_slice_is(fake_store_order("o1")->steps[0].result, "{\"state\":\"SETTLED\",\"amount\":14.00}"));
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_RUNNING);
}
END_TEST

/* Catches: a refusal that is polled on, an effect that is undone although there is none, words that are lost.
 */
START_TEST(a_refusal_in_a_good_answer_fails_the_step_with_the_words_of_the_service)
{
    begin(POLLED);
    if (_i == 0) {
        answer(1, "do", DECLINED);
    } else {
        answer(1, "do", "{\"state\":\"PENDING\"}");
        poll_due(1);
        answer(2, "verify", DECLINED);
    }
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_FAILED);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATED);
    ck_assert(error_is("refused/card_declined", "refused: refused_when: result.state == 'DECLINED' was"));
    ck_assert(mg_slice_is(fake_store_order("o1")->steps[0].error_message, "the card was declined"));
    ck_assert_ptr_null(fake_store_order("o1")->steps[0].result.data);
    ck_assert_ptr_nonnull(
        strstr(fake_store_order("o1")->failure.data,
               "{\"step\":\"reserve\",\"code\":\"card_declined\",\"text\":\"the card was declined\"}"));
}
END_TEST

START_TEST(an_answer_that_is_not_clear_is_never_taken_for_done)
{
    static const char *const RESULTS[] = {"{}", "null", "\"text\"", "{\"state\":7}", "[]"};
    begin(UNPOLLED);
    answer(1, "do", RESULTS[_i]);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNKNOWN);
    ck_assert(fake_store_order("o1")->order.steps[0].is_maybe);
    ck_assert(error_is("answer_unclear", "the answer is not clear: done_when: "));
}
END_TEST

/* Catches: a person asked to find out about an answer that was there: late, or in the dead letters. */
START_TEST(a_late_answer_settles_a_step_that_waits_for_a_person)
{
    begin(UNPOLLED);
    answer(1, "do", "{}");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNKNOWN);
    answer(1, "do", "{\"state\":\"SETTLED\"}");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING);
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_RUNNING);
}
END_TEST

START_TEST(a_poll_that_is_not_clear_is_repeated)
{
    begin(POLLED);
    answer(1, "do", "{\"state\":\"PENDING\"}");
    poll_due(1);
    answer(2, "verify", "{}");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert(error_is("answer_unclear", "there is no member"));
    poll_due(2);
    answer(3, "verify", "{\"state\":\"SETTLED\"}");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
}
END_TEST

START_TEST(an_unfinished_answer_without_polling_is_unknown)
{
    begin(UNPOLLED);
    answer(1, "do", "{\"state\":\"PENDING\"}");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNKNOWN);
    ck_assert(error_is("not_done_yet", NULL));
}
END_TEST

/* Law 10, sticky maybe: an earlier try of this delivery may have acted. */
START_TEST(a_refusal_after_a_doubtful_try_is_undone)
{
    begin(POLLED);
    stage_answer("o1.reserve#1 maybe result='%s' over", DECLINED);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATING);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDO_RUNNING);
}
END_TEST

/* An agent of an older version would say "executed" without it. Other requests keep their version. */
START_TEST(only_the_do_of_a_step_that_may_be_refused_needs_a_newer_agent)
{
    begin(POLLED);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "{\"v\":3,"));
    answer(1, "do", "{\"state\":\"PENDING\"}");
    poll_due(1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "\"kind\":\"verify\""));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "{\"v\":1,"));
    answer(2, "verify", "{\"state\":\"SETTLED\"}");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "{\"v\":1,"));
}
END_TEST

/* An agent's own words are no word of the definition. */
START_TEST(a_verify_that_an_agent_calls_refused_is_only_a_failed_one)
{
    begin(POLLED);
    answer(1, "do", "{\"state\":\"PENDING\"}");
    poll_due(1);
    stage_answer("o1.reserve#2 verify permanent refused");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert(fake_store_order("o1")->order.steps[0].is_maybe);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_answers");
    TCase *tests = tcase_create("the meaning of answers");
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_test(tests, an_answer_that_is_not_done_is_polled_until_it_is);
    tcase_add_loop_test(tests, a_refusal_in_a_good_answer_fails_the_step_with_the_words_of_the_service, 0, 2);
    tcase_add_loop_test(tests, an_answer_that_is_not_clear_is_never_taken_for_done, 0, 5);
    tcase_add_test(tests, a_late_answer_settles_a_step_that_waits_for_a_person);
    tcase_add_test(tests, a_poll_that_is_not_clear_is_repeated);
    tcase_add_test(tests, an_unfinished_answer_without_polling_is_unknown);
    tcase_add_test(tests, a_refusal_after_a_doubtful_try_is_undone);
    tcase_add_test(tests, only_the_do_of_a_step_that_may_be_refused_needs_a_newer_agent);
    tcase_add_test(tests, a_verify_that_an_agent_calls_refused_is_only_a_failed_one);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
