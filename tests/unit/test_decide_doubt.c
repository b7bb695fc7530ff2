/*
 * The decision core about steps in doubt, for services that do not de-duplicate: whatever begins such a step
 * anew asks its policy first. A do goes out again only by `retry`, after a proof of absence, or by an
 * operator's explicit word. A pivot in doubt is brought to its end before its order gives up.
 */

#include "core/verbs.h"
#include "decide_fixture.h"
#include "suite.h"

static enum mg_verdict resume(void)
{
    return operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE);
}

/* Two steps in parallel. a is in doubt, b is refused for good: in error. */
static void fail_beside_a_doubt(enum mg_on_unknown on_unknown)
{
    plan.step_count = 2;
    plan.on_failure = MG_ON_FAILURE_ERROR;
    plan.steps[1].after = 0;
    plan.steps[0].on_unknown = on_unknown;
    submit();
    overdue(0);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
}

START_TEST(resume_leaves_a_step_beside_the_meant_one_in_doubt)
{
    fail_beside_a_doubt(MG_ON_UNKNOWN_OPERATOR);
    ck_assert_int_eq(resume(), MG_GO);
    ck_assert(has_request(1, MG_KIND_DO));
    ck_assert(!has_request(0, MG_KIND_DO));
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert(!has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_OUTCOME_UNKNOWN));
}
END_TEST

START_TEST(resume_verifies_a_step_in_doubt_once_it_is_quiet)
{
    fail_beside_a_doubt(MG_ON_UNKNOWN_VERIFY);
    context.now_ms = order.steps[0].quiet_at_ms;
    ck_assert_int_eq(resume(), MG_GO);
    ck_assert(has_request(1, MG_KIND_DO));
    ck_assert(has_request(0, MG_KIND_VERIFY));
}
END_TEST

START_TEST(resume_repeats_a_step_under_the_same_key_if_its_service_removes_duplicates)
{
    fail_beside_a_doubt(MG_ON_UNKNOWN_RETRY);
    ck_assert_int_eq(resume(), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_uint_eq(order.steps[0].generation, 0);
}
END_TEST

START_TEST(resume_of_an_order_that_moves_does_not_pass_over_a_verify_that_is_due)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                             .attempt = 1,
                             .reply = {.outcome = MG_OUTCOME_UNKNOWN,
                                       .executed = MG_EXECUTED_MAYBE,
                                       .may_still_act = true,
                                       .retry_after_ms = -1}});
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    (void)resume();
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert(!has_request(0, MG_KIND_DO));
    due(0);
    ck_assert(has_request(0, MG_KIND_VERIFY));
}
END_TEST

/* a is in doubt, and no verify of it is answered: in error, failed and maybe. */
static void fail_to_verify(void)
{
    plan.step_count = 1;
    plan.on_failure = MG_ON_FAILURE_ERROR;
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    overdue(0);
    while (order.steps[0].state != MG_STEP_FAILED) {
        due(0);
        reply(0, MG_OUTCOME_TRANSIENT);
    }
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
}

START_TEST(resume_asks_again_where_verifies_were_used_up)
{
    fail_to_verify();
    ck_assert_int_eq(resume(), MG_GO);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
}
END_TEST

START_TEST(repeat_of_a_named_step_sends_its_do_once_more)
{
    plan.step_count = 1;
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    overdue(0);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_int_eq(repeat(0), MG_REFUSED); /* it may still act */
    ck_assert_int_eq(resume(), MG_REFUSED);
    ck_assert(strstr(decision.why, "--repeat") != NULL);
    context.now_ms = order.steps[0].quiet_at_ms;
    ck_assert_int_eq(repeat(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_uint_eq(order.steps[0].generation, 0);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_OUTCOME_UNKNOWN));
}
END_TEST

START_TEST(repeat_is_refused_for_a_step_that_is_sent_once_and_for_one_that_is_not_in_doubt)
{
    plan.steps[0].is_at_most_once = true;
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    ck_assert_int_eq(repeat(1), MG_REFUSED);
    overdue(0);
    ck_assert_int_eq(repeat(0), MG_REFUSED);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
}
END_TEST

/* The gate of the service is closed at the operator's word: the do goes out when it opens. */
START_TEST(repeat_waits_for_the_gate_of_its_service)
{
    plan.step_count = 1;
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    overdue(0);
    context.now_ms = order.steps[0].quiet_at_ms;
    context.gate[0] = MG_REASON_BREAKER_OPEN;
    ck_assert_int_eq(repeat(0), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    context.gate[0] = MG_REASON_NONE;
    due(0);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

static void accept_work(void)
{
    plan.steps[0].finish_within_ms = 20000;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
}

START_TEST(resume_polls_accepted_work_on_after_its_time)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    plan.steps[0].on_unknown = _i == 0 ? MG_ON_UNKNOWN_OPERATOR : MG_ON_UNKNOWN_RETRY;
    accept_work();
    context.now_ms = order.steps[0].finish_by_ms;
    due(0);
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_FINISH_EXPIRED);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(resume(), MG_GO);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    ck_assert(order.steps[0].is_accepted);
    ck_assert_int_gt(order.steps[0].finish_by_ms, context.now_ms);
    reply(0, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    due(0);
    reply(0, MG_OUTCOME_DONE);
    ck_assert(has_request(1, MG_KIND_DO));
}
END_TEST

START_TEST(accepted_work_is_polled_while_its_order_is_in_error)
{
    plan.step_count = 2;
    plan.on_failure = MG_ON_FAILURE_ERROR;
    plan.steps[1].after = 0;
    plan.steps[0].poll_ms = 5000;
    accept_work();
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.wake_at_ms, order.steps[0].due_at_ms);
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    ck_assert_int_eq(reply(0, MG_OUTCOME_ACCEPTED), MG_GO);
    due(0);
    ck_assert_int_eq(reply(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(resume(), MG_GO);
    ck_assert(has_request(1, MG_KIND_DO));
}
END_TEST

/* A step without undo that may have happened stands over a cancellation. */
static void cancel_in_doubt(enum mg_on_unknown on_unknown)
{
    plan.step_count = 1;
    plan.steps[0].has_undo = false;
    plan.steps[0].on_unknown = on_unknown;
    submit();
    overdue(0);
    operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_CANCELLED);
    ck_assert(order.steps[0].is_maybe);
    context.now_ms = order.steps[0].quiet_at_ms;
}

START_TEST(restart_verifies_a_step_that_may_have_happened)
{
    cancel_in_doubt(MG_ON_UNKNOWN_VERIFY);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_VERIFY));
}
END_TEST

START_TEST(restart_is_refused_until_an_operator_settles_the_doubt)
{
    cancel_in_doubt(MG_ON_UNKNOWN_OPERATOR);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_REFUSED);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

/* The database lost an attempt of a step that had not begun, by its rows. */
START_TEST(lost_attempt_is_not_sent_again_without_its_policy)
{
    plan.steps[1].on_unknown = _i == 0 ? MG_ON_UNKNOWN_OPERATOR : MG_ON_UNKNOWN_VERIFY;
    submit();
    decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                             .step = 1,
                             .attempt = 2,
                             .reply = {.outcome = MG_OUTCOME_DONE, .retry_after_ms = -1}});
    ck_assert_int_eq(order.reason, MG_REASON_STATE_LOST);
    (void)resume();
    reply(0, MG_OUTCOME_DONE);
    ck_assert(!has_request(1, MG_KIND_DO));
    ck_assert_int_eq(has_request(1, MG_KIND_VERIFY), _i == 1);
    ck_assert_int_eq(order.steps[1].state, _i == 0 ? MG_STEP_UNKNOWN : MG_STEP_RUNNING);
    ck_assert_int_eq(has_alert(MG_EFFECT_ALERT, MG_ALERT_OUTCOME_UNKNOWN), _i == 0);
}
END_TEST

/* One of two copies of a request refuses; the other may still act. */
START_TEST(refusal_by_one_copy_sends_no_do_that_another_may_double)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    decide((struct mg_cause){.kind = MG_CAUSE_REPUBLISHED, .step = 0, .attempt = 1});
    reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_int_eq(order.steps[0].due_at_ms, 0);
}
END_TEST

/* ---- the pivot on the way back ---- */

static void setup_pivot(void)
{
    setup();
    plan.step_count = 2;
    plan.steps[1].is_pivot = true;
    plan.steps[1].has_undo = false;
}

static void begin_pivot(enum mg_on_unknown on_unknown)
{
    plan.steps[1].on_unknown = on_unknown;
    submit();
    reply(0, MG_OUTCOME_DONE);
}

static void cancel(void)
{
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
}

START_TEST(pivot_that_is_polled_is_polled_on_after_a_cancel)
{
    plan.steps[1].finish_within_ms = 20000;
    begin_pivot(MG_ON_UNKNOWN_OPERATOR);
    reply(1, MG_OUTCOME_ACCEPTED);
    cancel();
    ck_assert(!has_request(0, MG_KIND_UNDO));
    ck_assert(has_request(1, MG_KIND_VERIFY)); /* due meanwhile */
    reply(1, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    due(1);
    reply(1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
}
END_TEST

START_TEST(pivot_with_a_verify_due_is_verified_after_a_cancel)
{
    plan.steps[1].is_absent_final = true;
    begin_pivot(MG_ON_UNKNOWN_VERIFY);
    overdue(1);
    cancel();
    due(1);
    ck_assert(has_request(1, MG_KIND_VERIFY));
    reply(1, _i == 0 ? MG_OUTCOME_ABSENT : MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, _i == 0 ? MG_ORDER_COMPENSATING : MG_ORDER_PROCESSED);
    ck_assert_int_eq(has_request(0, MG_KIND_UNDO), _i == 0);
}
END_TEST

START_TEST(pivot_that_falls_into_doubt_on_the_way_back_follows_its_policy)
{
    begin_pivot(MG_ON_UNKNOWN_VERIFY);
    cancel();
    overdue(1);
    ck_assert_int_eq(order.steps[1].state, MG_STEP_UNKNOWN);
    due(1);
    ck_assert(has_request(1, MG_KIND_VERIFY));
    reply(1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
}
END_TEST

START_TEST(pivot_between_attempts_has_the_rest_of_them_on_the_way_back)
{
    begin_pivot(MG_ON_UNKNOWN_RETRY);
    overdue(1);
    cancel();
    ck_assert(has_request(1, MG_KIND_DO)); /* due meanwhile */
    overdue(1);
    due(1);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    overdue(1);
    ck_assert_int_eq(order.steps[1].state, MG_STEP_FAILED);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.reason, MG_REASON_OUTCOME_UNKNOWN);
}
END_TEST

/* Without a final absence nobody proves that the pivot has not happened: an operator must. No second do. */
START_TEST(absent_pivot_is_not_sent_again_on_the_way_back)
{
    begin_pivot(MG_ON_UNKNOWN_VERIFY);
    overdue(1);
    cancel();
    due(1);
    reply(1, MG_OUTCOME_ABSENT);
    ck_assert(!has_request(1, MG_KIND_DO));
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.reason, MG_REASON_OUTCOME_UNKNOWN);
}
END_TEST

static void raise_a_pivot_in_doubt(void)
{
    begin_pivot(MG_ON_UNKNOWN_OPERATOR);
    overdue(1);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    context.now_ms = order.steps[1].quiet_at_ms;
}

START_TEST(settled_pivot_moves_its_order_on_by_itself)
{
    raise_a_pivot_in_doubt();
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 1, _i == 0 ? MG_OUTCOME_ABSENT : MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(has_request(0, MG_KIND_UNDO), _i == 0);
    ck_assert_int_eq(order.state, _i == 0 ? MG_ORDER_COMPENSATING : MG_ORDER_PROCESSED);
}
END_TEST

START_TEST(verb_that_would_change_nothing_is_refused_while_a_pivot_is_in_doubt)
{
    static const enum mg_cause_kind kinds[] = {MG_CAUSE_RESUME, MG_CAUSE_CANCEL, MG_CAUSE_COMPENSATE};
    raise_a_pivot_in_doubt();
    ck_assert_int_eq(operate(kinds[_i], -1, MG_OUTCOME_DONE), MG_REFUSED);
}
END_TEST

START_TEST(resume_on_the_way_back_asks_about_a_pivot_after_its_verifies_were_used_up)
{
    begin_pivot(MG_ON_UNKNOWN_VERIFY);
    overdue(1);
    cancel();
    while (order.state != MG_ORDER_ERROR) {
        due(1);
        reply(1, MG_OUTCOME_TRANSIENT);
    }
    ck_assert_int_eq(resume(), MG_GO);
    ck_assert(has_request(1, MG_KIND_VERIFY));
    reply(1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
}
END_TEST

/* ---- verbs, and no dead end ---- */

static struct mg_verbs verbs(void)
{
    struct mg_verbs found;
    mg_verbs_find(&plan, &context, &order, &found);
    return found;
}

START_TEST(only_verbs_that_would_be_taken_are_found)
{
    raise_a_pivot_in_doubt();
    struct mg_verbs found = verbs();
    ck_assert(!found.can_resume && !found.can_restart && !found.can_compensate && !found.can_cancel);
    ck_assert_uint_eq(found.can_settle, 2);
    ck_assert_uint_eq(found.can_absent, 2);
    ck_assert_int_eq(found.absent[1], MG_STEP_PENDING); /* its request would go out again */
    ck_assert_uint_eq(found.can_skip, 0);
    ck_assert_uint_eq(found.can_repeat, 0);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
}
END_TEST

/* Every effect stands, the pivot is done, and the answers lack a value of the output. */
START_TEST(order_with_its_pivot_done_ends_without_an_output_that_cannot_be_built)
{
    context.is_output_unrenderable = true;
    begin_pivot(MG_ON_UNKNOWN_OPERATOR);
    reply_executed(1, MG_OUTCOME_DONE, MG_EXECUTED_YES);
    ck_assert_int_eq(order.reason, MG_REASON_UNRENDERABLE);
    ck_assert(!verbs().can_resume && !verbs().can_compensate && verbs().can_finish);
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_RESUME,
                                              .step = -1,
                                              .version = order.version,
                                              .resume = {.is_output_waived = true}}),
                     MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
    ck_assert(has_status(MG_STATUS_PROCESSED));
}
END_TEST

/* ---- the order's own time ---- */

static void submit_within(int64_t within_ms)
{
    mg_order_init(&plan, &context, within_ms, &order);
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_SUBMITTED, .step = -1}), MG_GO);
}

START_TEST(orders_own_time_stays_its_own)
{
    static const enum mg_cause_kind kinds[] = {MG_CAUSE_RESUME, MG_CAUSE_SETTLE, MG_CAUSE_SKIP};
    const int64_t within_ms = 7200000;
    plan.on_failure = _i < 3 ? MG_ON_FAILURE_ERROR : MG_ON_FAILURE_COMPENSATE;
    submit_within(within_ms);
    reply(0, MG_OUTCOME_PERMANENT);
    enum mg_cause_kind kind = _i < 3 ? kinds[_i] : MG_CAUSE_RESTART;
    ck_assert_int_eq(operate(kind, 0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.complete_by_ms, context.now_ms + within_ms);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_doubt");
    TCase *cases = tcase_create("doubt");
    tcase_add_checked_fixture(cases, setup, NULL);
    tcase_add_test(cases, resume_leaves_a_step_beside_the_meant_one_in_doubt);
    tcase_add_test(cases, resume_verifies_a_step_in_doubt_once_it_is_quiet);
    tcase_add_test(cases, resume_repeats_a_step_under_the_same_key_if_its_service_removes_duplicates);
    tcase_add_test(cases, resume_of_an_order_that_moves_does_not_pass_over_a_verify_that_is_due);
    tcase_add_test(cases, resume_asks_again_where_verifies_were_used_up);
    tcase_add_test(cases, repeat_of_a_named_step_sends_its_do_once_more);
    tcase_add_test(cases, repeat_is_refused_for_a_step_that_is_sent_once_and_for_one_that_is_not_in_doubt);
    tcase_add_test(cases, repeat_waits_for_the_gate_of_its_service);
    tcase_add_loop_test(cases, resume_polls_accepted_work_on_after_its_time, 0, 2);
    tcase_add_test(cases, accepted_work_is_polled_while_its_order_is_in_error);
    tcase_add_test(cases, restart_verifies_a_step_that_may_have_happened);
    tcase_add_test(cases, restart_is_refused_until_an_operator_settles_the_doubt);
    tcase_add_loop_test(cases, lost_attempt_is_not_sent_again_without_its_policy, 0, 2);
    tcase_add_test(cases, refusal_by_one_copy_sends_no_do_that_another_may_double);
    tcase_add_loop_test(cases, orders_own_time_stays_its_own, 0, 4);
    suite_add_tcase(suite, cases);
    TCase *pivots = tcase_create("pivots");
    tcase_add_checked_fixture(pivots, setup_pivot, NULL);
    tcase_add_test(pivots, pivot_that_is_polled_is_polled_on_after_a_cancel);
    tcase_add_loop_test(pivots, pivot_with_a_verify_due_is_verified_after_a_cancel, 0, 2);
    tcase_add_test(pivots, pivot_that_falls_into_doubt_on_the_way_back_follows_its_policy);
    tcase_add_test(pivots, pivot_between_attempts_has_the_rest_of_them_on_the_way_back);
    tcase_add_test(pivots, absent_pivot_is_not_sent_again_on_the_way_back);
    tcase_add_loop_test(pivots, settled_pivot_moves_its_order_on_by_itself, 0, 2);
    tcase_add_loop_test(pivots, verb_that_would_change_nothing_is_refused_while_a_pivot_is_in_doubt, 0, 3);
    tcase_add_test(pivots, only_verbs_that_would_be_taken_are_found);
    tcase_add_test(pivots, order_with_its_pivot_done_ends_without_an_output_that_cannot_be_built);
    tcase_add_test(pivots, resume_on_the_way_back_asks_about_a_pivot_after_its_verifies_were_used_up);
    suite_add_tcase(suite, pivots);
    return run_suite(suite);
}
