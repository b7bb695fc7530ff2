/* Steps that wait for a signal, step a here, and the callbacks of services, for step b. */
#include "decide_fixture.h"
#include "suite.h"

#define WITHIN_MS 60000

static void signal_setup(void)
{
    setup();
    plan.steps[0] =
        (struct mg_step_plan){.is_wait = true, .is_signal = true, .has_guard = true, .wait_ms = WITHIN_MS};
    plan.steps[1].finish_within_ms = 30000;
}

static enum mg_verdict facts(enum mg_signal_fact fact)
{
    return decide((struct mg_cause){.kind = MG_CAUSE_FACTS, .facts = {.signal = fact}});
}

static enum mg_verdict signal_come(int step, enum mg_signal_fact fact)
{
    return decide((struct mg_cause){.kind = MG_CAUSE_SIGNAL, .step = step, .signal = {.fact = fact}});
}

/* The step waits, and no signal has come. */
static void wait_open(void)
{
    submit();
    ck_assert_int_eq(facts(MG_SIGNAL_FACT_NONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
}

START_TEST(a_signal_ends_the_wait_and_the_order_goes_on)
{
    wait_open();
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_AWAITING_SIGNAL);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + WITHIN_MS);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert(has_request(1, MG_KIND_DO));
}
END_TEST

START_TEST(a_signal_that_came_before_the_wait_ends_it_in_the_same_decision)
{
    submit();
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_KEPT), MG_GO);
    ck_assert_int_eq(decision.transition_count, 0);
    ck_assert_int_eq(facts(_i == 0 ? MG_SIGNAL_FACT_DONE : MG_SIGNAL_FACT_REFUSED), MG_GO);
    ck_assert_int_eq(order.steps[0].state, _i == 0 ? MG_STEP_DONE : MG_STEP_FAILED);
    ck_assert_int_eq(order.state, _i == 0 ? MG_ORDER_PROCESSING : MG_ORDER_COMPENSATED);
}
END_TEST

START_TEST(a_refusal_fails_the_step_and_sends_nothing)
{
    plan.steps[1].after = 0;
    wait_open();
    plan.steps[2].after = 1; /* only the wait is before it */
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_REFUSED), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_FAILED);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_SIGNAL_REFUSED);
    ck_assert_int_eq(order.goal, MG_GOAL_COMPENSATED);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
}
END_TEST

START_TEST(a_signal_that_does_not_end_the_wait_is_kept_and_moves_nothing)
{
    wait_open();
    uint64_t version = order.version;
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_KEPT), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_uint_eq(order.version, version + 1);
    ck_assert_int_eq(decision.effect_count, 0);
}
END_TEST

START_TEST(a_wait_without_a_signal_in_time_fails_or_is_skipped)
{
    plan.steps[0].is_skipped_when_over = _i == 1;
    wait_open();
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_TIMED_OUT);
    ck_assert_int_eq(order.steps[0].state, _i == 0 ? MG_STEP_FAILED : MG_STEP_SKIPPED);
    ck_assert_int_eq(has_request(1, MG_KIND_DO), _i == 1);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_REFUSED);
}
END_TEST

/* Law 6, database clock: until its time-out is judged a late signal counts. Catches: a wait that another
 * step's message ends, after its time, together with requests that go out. */
START_TEST(the_time_out_is_judged_by_its_own_command_alone)
{
    plan.steps[1].after = 0;
    plan.steps[2].after = 2;
    submit();
    ck_assert_int_eq(facts(MG_SIGNAL_FACT_NONE), MG_GO);
    context.now_ms = order.steps[0].due_at_ms + 5000;
    ck_assert_int_eq(reply(1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
}
END_TEST

START_TEST(a_signal_to_an_order_that_turns_back_is_late)
{
    plan.steps[1].after = 0;
    wait_open();
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_PENDING);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_KEPT), MG_REFUSED);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_REFUSED);
}
END_TEST

START_TEST(a_second_signal_is_late)
{
    wait_open();
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_GO);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_REFUSED), MG_REFUSED);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
}
END_TEST

START_TEST(a_resumed_step_waits_anew_for_its_whole_time)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    wait_open();
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(facts(MG_SIGNAL_FACT_NONE), MG_GO);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + WITHIN_MS);
    ck_assert_uint_eq(order.steps[0].attempt, 2);
}
END_TEST

START_TEST(a_clock_set_forward_leaves_a_wait_the_rest_of_its_time)
{
    wait_open();
    int64_t due_at_ms = order.steps[0].due_at_ms;
    context.spared.after_ms = due_at_ms - 20000;
    context.spared.before_ms = due_at_ms + 3600000;
    context.now_ms = due_at_ms + 3600000;
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + 20000);
}
END_TEST

/* ---- callbacks ---- */

static void work_accept(void)
{
    plan.steps[0] = plan.steps[1]; /* step a is the call */
    plan.steps[0].after = 0;
    submit();
}

START_TEST(a_callback_ends_accepted_work)
{
    work_accept();
    ck_assert_int_eq(reply(0, MG_OUTCOME_ACCEPTED), MG_GO);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert(has_request(1, MG_KIND_DO));
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_REFUSED);
}
END_TEST

/* Law 11, quiesce. Catches: an undo that overtakes a do, because its service has called back
 * before it answered. */
START_TEST(a_callback_before_the_answer_counts_and_its_attempt_may_still_act)
{
    work_accept();
    int64_t complete_by_ms = order.steps[0].complete_by_ms;
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert_int_ge(order.steps[0].quiet_at_ms, complete_by_ms + context.quiesce_ms);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(!has_request(0, MG_KIND_UNDO));
}
END_TEST

START_TEST(a_callback_settles_a_step_in_doubt)
{
    plan.steps[1].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    work_accept();
    ck_assert_int_eq(overdue(0), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_OUTCOME_UNKNOWN));
}
END_TEST

/* 0: of accepted work; 1: of a step in doubt. */
START_TEST(a_callback_moves_no_order_on_whose_time_is_over)
{
    plan.on_expiry = MG_ON_FAILURE_ERROR;
    plan.steps[1].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    work_accept();
    ck_assert_int_eq(_i == 0 ? reply(0, MG_OUTCOME_ACCEPTED) : overdue(0), MG_GO);
    context.now_ms = order.complete_by_ms;
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_EXPIRED}), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
}
END_TEST

START_TEST(a_refusing_callback_proves_that_accepted_work_stands_nowhere)
{
    work_accept();
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_REFUSED), MG_REFUSED); /* its request is out */
    ck_assert_int_eq(reply(0, MG_OUTCOME_ACCEPTED), MG_GO);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_REFUSED), MG_REFUSED); /* a copy may still act */
    let_be_quiet(0);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_REFUSED), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_FAILED);
    ck_assert(!order.steps[0].is_maybe);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

START_TEST(a_callback_to_an_order_that_turns_back_is_late)
{
    work_accept();
    ck_assert_int_eq(reply(0, MG_OUTCOME_ACCEPTED), MG_GO);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_DONE), MG_REFUSED);
}
END_TEST

/* Catches: a callback that is refused for good although its step is only about to be called. */
START_TEST(a_callback_before_its_step_is_called_may_come_again)
{
    submit();
    ck_assert_int_eq(order.steps[1].state, MG_STEP_PENDING);
    ck_assert_int_eq(signal_come(1, MG_SIGNAL_FACT_DONE), MG_STALE_CAUSE);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(signal_come(1, MG_SIGNAL_FACT_DONE), MG_REFUSED);
}
END_TEST

/* Catches: a payment that is settled after its undo, without an alert. */
START_TEST(work_that_is_reported_done_after_its_undo_is_an_alert)
{
    work_accept();
    ck_assert_int_eq(reply(0, MG_OUTCOME_ACCEPTED), MG_GO);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_KEPT), MG_REFUSED); /* it is still to be found out about */
    let_be_quiet(0);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_KEPT), MG_REFUSED); /* its undo is under way */
    ck_assert(order.steps[0].state == MG_STEP_UNDO_RUNNING || due(0) == MG_GO);
    ck_assert_int_eq(reply(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_CANCELLED);
    const struct mg_order before = order;
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_KEPT), MG_GO);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_LATE_CALLBACK));
    ck_assert_int_eq(decision.transition_count, 0);
    ck_assert_int_eq(order.state, before.state);
    ck_assert_int_eq(order.steps[0].state, before.steps[0].state);
}
END_TEST

/* Catches: an alert about work that counts as done, as its poll has told. */
START_TEST(work_that_counts_as_done_is_no_alert)
{
    work_accept();
    ck_assert_int_eq(reply(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(signal_come(0, MG_SIGNAL_FACT_KEPT), MG_REFUSED);
}
END_TEST

/* Catches: work under an earlier key that is done after all, unseen while the work of a new key is out. */
START_TEST(work_under_an_earlier_key_is_an_alert_and_ends_nothing)
{
    work_accept();
    ck_assert_int_eq(reply(0, MG_OUTCOME_ACCEPTED), MG_GO);
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_SIGNAL,
                                              .signal = {MG_SIGNAL_FACT_KEPT, .is_of_earlier = true}}),
                     MG_GO);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_LATE_CALLBACK));
    ck_assert(order.steps[0].is_accepted && order.steps[0].state != MG_STEP_DONE); /* the new work goes on */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_signal");
    TCase *cases = tcase_create("signals");
    tcase_add_checked_fixture(cases, signal_setup, NULL);
    tcase_add_test(cases, a_signal_ends_the_wait_and_the_order_goes_on);
    tcase_add_loop_test(cases, a_signal_that_came_before_the_wait_ends_it_in_the_same_decision, 0, 2);
    tcase_add_test(cases, a_refusal_fails_the_step_and_sends_nothing);
    tcase_add_test(cases, a_signal_that_does_not_end_the_wait_is_kept_and_moves_nothing);
    tcase_add_loop_test(cases, a_wait_without_a_signal_in_time_fails_or_is_skipped, 0, 2);
    tcase_add_test(cases, the_time_out_is_judged_by_its_own_command_alone);
    tcase_add_test(cases, a_signal_to_an_order_that_turns_back_is_late);
    tcase_add_test(cases, a_second_signal_is_late);
    tcase_add_test(cases, a_resumed_step_waits_anew_for_its_whole_time);
    tcase_add_test(cases, a_clock_set_forward_leaves_a_wait_the_rest_of_its_time);
    tcase_add_test(cases, a_callback_ends_accepted_work);
    tcase_add_test(cases, a_callback_before_the_answer_counts_and_its_attempt_may_still_act);
    tcase_add_test(cases, a_callback_settles_a_step_in_doubt);
    tcase_add_loop_test(cases, a_callback_moves_no_order_on_whose_time_is_over, 0, 2);
    tcase_add_test(cases, a_refusing_callback_proves_that_accepted_work_stands_nowhere);
    tcase_add_test(cases, a_callback_to_an_order_that_turns_back_is_late);
    tcase_add_test(cases, a_callback_before_its_step_is_called_may_come_again);
    tcase_add_test(cases, work_that_is_reported_done_after_its_undo_is_an_alert);
    tcase_add_test(cases, work_that_counts_as_done_is_no_alert);
    tcase_add_test(cases, work_under_an_earlier_key_is_an_alert_and_ends_nothing);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
