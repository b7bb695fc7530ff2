/*
 * The decision core at its edges: inputs that no walk produces, because a correct run or a checked definition
 * excludes them. Each still needs an answer, and leaves no trace.
 */

#include "base/buf.h"
#include "core/backoff.h"
#include "core/describe.h"
#include "core/key.h"
#include "decide_fixture.h"
#include "suite.h"

static enum mg_verdict tell(enum mg_cause_kind kind, int step, uint32_t attempt)
{
    return decide((struct mg_cause){.kind = kind, .step = step, .attempt = attempt});
}

START_TEST(backoff_stays_within_its_bounds)
{
    ck_assert_int_eq(mg_backoff_ms(0, 10, 0, -1, 12345), 1);
    ck_assert_int_le(mg_backoff_ms(500, 0, 0, -1, 499), 500);
    int64_t huge_ms = INT64_MAX / 2 + 1;
    ck_assert_int_eq(mg_backoff_ms(huge_ms, INT64_MAX, 2, -1, INT64_MAX - 1), INT64_MAX);
}
END_TEST

START_TEST(names_and_ids_have_their_lengths_and_letters)
{
    char text[MG_ORDER_ID_MAX + 1];
    memset(text, 'a', sizeof(text));
    ck_assert(!mg_name_is_valid(text, 0));
    ck_assert(mg_name_is_valid(text, MG_NAME_MAX));
    ck_assert(!mg_name_is_valid(text, MG_NAME_MAX + 1));
    ck_assert(!mg_order_id_is_valid(text, 0));
    ck_assert(mg_order_id_is_valid(text, MG_ORDER_ID_MAX));
    ck_assert(!mg_order_id_is_valid(text, MG_ORDER_ID_MAX + 1));
    ck_assert(mg_order_id_is_valid("Az_09.:-", 8));
    ck_assert(!mg_order_id_is_valid("a[b", 3));
    ck_assert(!mg_order_id_is_valid("a\0b", 3));
}
END_TEST

static void collect(void *arg, const char *text)
{
    mg_buf_append_text(arg, text);
}

START_TEST(tables_are_printed_whole)
{
    struct mg_buf told;
    mg_buf_init(&told, 65536);
    mg_describe_mermaid(collect, &told);
    ck_assert_ptr_nonnull(strstr(told.data, "    processing --> processed: finish\n"));
    ck_assert_ptr_nonnull(strstr(told.data, "    undo_failed --> undo_pending: revive\n"));
    ck_assert_ptr_null(strstr(told.data, "processed --> processing"));
    mg_buf_clear(&told);
    mg_describe_csv(collect, &told);
    int lines = 0;
    for (const char *at = told.data; (at = strstr(at, "\r\n")) != NULL; at += 2) {
        lines++;
    }
    ck_assert_int_eq(lines, 1 + MG_ORDER_STATE_COUNT * MG_ORDER_EVENT_COUNT +
                                MG_STEP_STATE_COUNT * MG_STEP_EVENT_COUNT);
    ck_assert(!told.failed);
    mg_buf_finish(&told);
}
END_TEST

START_TEST(submission_may_shorten_its_time)
{
    mg_order_init(&plan, &context, 5000, &order);
    ck_assert_int_eq(order.complete_by_ms, context.now_ms + 5000);
}
END_TEST

START_TEST(step_that_the_workflow_has_not_is_refused)
{
    submit();
    ck_assert_int_eq(tell(MG_CAUSE_DUE, -1, 1), MG_REFUSED);
    ck_assert_int_eq(tell(MG_CAUSE_DUE, plan.step_count, 1), MG_REFUSED);
}
END_TEST

START_TEST(words_of_no_meaning_are_impossible_and_change_nothing)
{
    submit();
    struct mg_order before = order;
    ck_assert_int_eq(tell(MG_CAUSE_COUNT, 0, 1), MG_IMPOSSIBLE);
    ck_assert_int_eq(reply(0, MG_OUTCOME_COUNT), MG_IMPOSSIBLE);
    ck_assert_mem_eq(&before, &order, sizeof(order));

    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    overdue(0);
    due(0);
    ck_assert_int_eq(order.steps[0].kind, MG_KIND_VERIFY);
    ck_assert_int_eq(reply(0, MG_OUTCOME_COUNT), MG_IMPOSSIBLE);

    ck_assert_int_eq(reply(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(reply(1, MG_OUTCOME_PERMANENT), MG_GO);
    due(0); /* it was in doubt: its undo waits until it is quiet */
    ck_assert_int_eq(order.steps[0].kind, MG_KIND_UNDO);
    ck_assert_int_eq(reply(0, MG_OUTCOME_COUNT), MG_IMPOSSIBLE);

    order.steps[0].kind = MG_KIND_COUNT;
    ck_assert_int_eq(reply(0, MG_OUTCOME_DONE), MG_IMPOSSIBLE);
    ck_assert_int_eq(overdue(0), MG_IMPOSSIBLE);
}
END_TEST

/* Open and yet not forward: no decision makes such an order; one stored in this form is left alone. */
START_TEST(open_order_with_another_goal_is_not_moved)
{
    submit();
    order.goal = MG_GOAL_COMPENSATED;
    ck_assert_int_eq(tell(MG_CAUSE_NUDGE, -1, 0), MG_DUPLICATE);
    context.now_ms = order.complete_by_ms;
    ck_assert_int_eq(tell(MG_CAUSE_EXPIRED, -1, 0), MG_STALE_CAUSE);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
}
END_TEST

START_TEST(order_in_which_nothing_waits_is_not_moving)
{
    submit();
    ck_assert(mg_order_is_moving(&order, context.now_ms));
    ck_assert(mg_order_is_moving(&order, order.complete_by_ms));
    order.steps[0].state = MG_STEP_WAITING;
    ck_assert(!mg_order_is_moving(&order, context.now_ms));
    order.state = MG_ORDER_ERROR;
    ck_assert(mg_order_is_moving(&order, context.now_ms));
}
END_TEST

/* Catches: a step in doubt that waits for a verify missing from its definition. */
START_TEST(doubt_without_a_verify_asks_a_person)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    plan.steps[0].has_verify = false;
    submit();
    context.gate[0] = _i == 0 ? MG_REASON_NONE : MG_REASON_BREAKER_OPEN;
    ck_assert_int_eq(overdue(0), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_OUTCOME_UNKNOWN));
}
END_TEST

/* Catches: a step that must not be sent twice and that is parked, to be sent again. */
START_TEST(at_most_once_is_not_parked_after_it_may_have_acted)
{
    plan.steps[0].is_at_most_once = true;
    submit();
    context.gate[0] = MG_REASON_BREAKER_OPEN;
    ck_assert_int_eq(overdue(0), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_OUTCOME_UNKNOWN));
}
END_TEST

START_TEST(outcomes_that_their_kind_has_no_use_for)
{
    plan.steps[1].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    reply(0, MG_OUTCOME_DONE);
    overdue(1);
    due(1);
    ck_assert_int_eq(order.steps[1].kind, MG_KIND_VERIFY);
    ck_assert_int_eq(reply(1, MG_OUTCOME_UNKNOWN), MG_GO); /* asked again */
    ck_assert_int_eq(order.steps[1].state, MG_STEP_UNKNOWN);
    ck_assert_int_ne(order.steps[1].due_at_ms, 0);
    due(1);
    ck_assert_int_eq(reply(1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(reply(2, MG_OUTCOME_ABSENT), MG_GO); /* a do that finds nothing: a refusal */
    ck_assert_int_eq(order.steps[2].state, MG_STEP_UNDO_RUNNING);
    ck_assert_int_eq(reply(2, MG_OUTCOME_UNKNOWN), MG_GO); /* an undo's doubt: once more */
    ck_assert_int_eq(order.steps[2].state, MG_STEP_UNDO_WAITING);
}
END_TEST

START_TEST(accepted_work_without_a_poll_is_done)
{
    plan.steps[0].finish_within_ms = 60000;
    plan.steps[0].has_verify = false;
    submit();
    ck_assert_int_eq(reply(0, MG_OUTCOME_ACCEPTED), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
}
END_TEST

START_TEST(work_that_verify_finds_under_way_has_the_steps_time)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    overdue(0);
    due(0);
    ck_assert_int_eq(reply(0, MG_OUTCOME_ACCEPTED), MG_GO);
    ck_assert_int_eq(order.steps[0].finish_by_ms, context.now_ms + plan.steps[0].complete_within_ms);
}
END_TEST

/* Guard: the attempt as fence, for the causes that a scheduler makes itself. */
START_TEST(word_about_a_past_attempt_is_stale)
{
    static const enum mg_cause_kind kinds[] = {MG_CAUSE_UNPUBLISHABLE, MG_CAUSE_REPUBLISHED,
                                               MG_CAUSE_UNRENDERABLE, MG_CAUSE_REQUEST_CHANGED};
    submit();
    ck_assert_int_eq(tell(kinds[_i], 0, 2), MG_STALE_CAUSE);
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(tell(kinds[_i], 0, 1), MG_STALE_CAUSE);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
}
END_TEST

START_TEST(second_copy_of_a_verify_changes_nothing)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    overdue(0);
    due(0);
    ck_assert_int_eq(tell(MG_CAUSE_REPUBLISHED, 0, order.steps[0].attempt), MG_DUPLICATE);
}
END_TEST

START_TEST(lost_state_waits_for_a_person_whatever_is_settled)
{
    submit();
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                              .step = 0,
                                              .attempt = order.steps[0].attempt + 3,
                                              .reply = {.outcome = MG_OUTCOME_DONE}}),
                     MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
}
END_TEST

/* Catches: an order that passes its pivot although its first step was undone. */
START_TEST(pivot_is_not_found_done_once_something_is_undone)
{
    plan.steps[1].is_pivot = true;
    plan.steps[1].has_undo = false;
    submit();
    order.state = MG_ORDER_COMPENSATING;
    order.goal = MG_GOAL_COMPENSATED;
    order.steps[0].state = _i == 0 ? MG_STEP_UNDONE : MG_STEP_UNDO_FAILED;
    order.steps[1].state = MG_STEP_FAILED;
    order.steps[1].is_maybe = true;
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 1, MG_OUTCOME_DONE), MG_REFUSED);
}
END_TEST

START_TEST(undone_step_that_turned_up_again_can_be_found_absent)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_DUPLICATE);
    decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                             .step = 0,
                             .attempt = order.steps[0].attempt + 1,
                             .reply = {.outcome = MG_OUTCOME_DONE}});
    ck_assert(order.steps[0].is_maybe);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert(!order.steps[0].is_maybe);
}
END_TEST

/* Catches: a fence that begins anew at 0, so that replies of attempts long over count again. Such a number
 * comes from a wrong agent only. A person must look at the order, and ready steps alongside it stay where
 * they are. */
START_TEST(attempts_number_never_wraps)
{
    plan.steps[1].after = plan.steps[2].after = 0;
    submit();
    order.steps[0].attempt = MG_ATTEMPT_MAX - 1;
    (void)reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE);
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO)); /* one is left */
    ck_assert_uint_eq(order.steps[0].attempt, MG_ATTEMPT_MAX);
    context.gate[0] = context.gate[1] = MG_REASON_WINDOW_FULL;
    (void)reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE);
    (void)reply_executed(1, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO);
    context.gate[0] = context.gate[1] = MG_REASON_NONE;
    ck_assert_int_eq(due(1), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.reason, MG_REASON_ATTEMPTS_EXHAUSTED);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_ORDER_ERROR));
    ck_assert_int_eq(count_effects(MG_EFFECT_ALERT), 1);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    ck_assert_uint_eq(order.steps[0].attempt, MG_ATTEMPT_MAX);
}
END_TEST

START_TEST(undo_that_has_no_attempt_left_calls_a_person)
{
    plan.steps[1].after = plan.steps[2].after = 0;
    submit();
    (void)reply(0, MG_OUTCOME_DONE);
    (void)reply(2, MG_OUTCOME_DONE);
    order.steps[2].attempt = MG_ATTEMPT_MAX;
    (void)reply(1, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.reason, MG_REASON_ATTEMPTS_EXHAUSTED);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0); /* nor that of the first step */
    ck_assert_uint_eq(order.steps[2].attempt, MG_ATTEMPT_MAX);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 2, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
    (void)reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_edges");
    TCase *tcase = tcase_create("edges");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, backoff_stays_within_its_bounds);
    tcase_add_test(tcase, names_and_ids_have_their_lengths_and_letters);
    tcase_add_test(tcase, tables_are_printed_whole);
    tcase_add_test(tcase, submission_may_shorten_its_time);
    tcase_add_test(tcase, step_that_the_workflow_has_not_is_refused);
    tcase_add_test(tcase, words_of_no_meaning_are_impossible_and_change_nothing);
    tcase_add_test(tcase, open_order_with_another_goal_is_not_moved);
    tcase_add_test(tcase, order_in_which_nothing_waits_is_not_moving);
    tcase_add_loop_test(tcase, doubt_without_a_verify_asks_a_person, 0, 2);
    tcase_add_test(tcase, at_most_once_is_not_parked_after_it_may_have_acted);
    tcase_add_test(tcase, outcomes_that_their_kind_has_no_use_for);
    tcase_add_test(tcase, accepted_work_without_a_poll_is_done);
    tcase_add_test(tcase, work_that_verify_finds_under_way_has_the_steps_time);
    tcase_add_loop_test(tcase, word_about_a_past_attempt_is_stale, 0, 4);
    tcase_add_test(tcase, second_copy_of_a_verify_changes_nothing);
    tcase_add_test(tcase, lost_state_waits_for_a_person_whatever_is_settled);
    tcase_add_loop_test(tcase, pivot_is_not_found_done_once_something_is_undone, 0, 2);
    tcase_add_test(tcase, undone_step_that_turned_up_again_can_be_found_absent);
    tcase_add_test(tcase, attempts_number_never_wraps);
    tcase_add_test(tcase, undo_that_has_no_attempt_left_calls_a_person);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
