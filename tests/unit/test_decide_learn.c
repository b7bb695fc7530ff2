/*
 * An undo that refers to the result of its own do: the result is learned first where no answer has carried
 * it, and nothing is undone or given up on less than a proof (law 10, sticky maybe).
 */
#include "decide_fixture.h"
#include "suite.h"

/* a's undo needs a's result; its retry policy back is two attempts, then the end. */
static void setup_learn(void)
{
    setup();
    context.quiesce_ms = 8000; /* longer than a backoff */
    plan.steps[0].needs_result = true;
    plan.steps[0].learn = MG_LEARN_REPEAT;
}

/* The answer to a's do is lost, and the order is cancelled. Once a is quiet, its next request is out. */
static void turn_back_in_doubt(void)
{
    submit();
    overdue(0);
    operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_PENDING);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    int64_t quiet_at_ms = order.steps[0].quiet_at_ms;
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_int_ge(context.now_ms, quiet_at_ms);
}

/* A reply with a result that has all that the undo refers to. */
static enum mg_verdict reply_with_result(int step, enum mg_outcome outcome)
{
    context.known_results |= UINT64_C(1) << step;
    return reply(step, outcome);
}

static enum mg_verdict settle_with_result(int step)
{
    uint64_t known = context.known_results;
    context.known_results |= UINT64_C(1) << step;
    enum mg_verdict verdict = decide((struct mg_cause){
        .kind = MG_CAUSE_SETTLE,
        .step = step,
        .version = order.version,
        .settle = {
            .outcome = MG_OUTCOME_DONE, .has_result = true, .is_result_missing = (known >> step & 1) == 0}});
    context.known_results = verdict == MG_GO ? context.known_results : known;
    return verdict;
}

START_TEST(undo_with_a_known_result_is_sent_at_once)
{
    submit();
    reply_with_result(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

START_TEST(lost_result_is_learned_by_the_do_under_the_same_key_and_then_undone)
{
    turn_back_in_doubt();
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_RUNNING);
    ck_assert_uint_eq(order.steps[0].generation, 0);
    ck_assert_int_eq(reply_with_result(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(reply(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDONE);
    ck_assert(!order.steps[0].is_refused);
    ck_assert(!order.steps[0].is_maybe);
    ck_assert_int_eq(order.state, MG_ORDER_CANCELLED);
}
END_TEST

START_TEST(lost_result_is_learned_by_verify_and_then_undone)
{
    plan.steps[0].learn = MG_LEARN_VERIFY;
    turn_back_in_doubt();
    ck_assert(has_request(0, MG_KIND_VERIFY));
    ck_assert_int_eq(reply_with_result(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

/* Catches: a charge that stands although each answer has its id, because none of them says that it is done.
 */
START_TEST(an_answer_that_is_not_clear_is_enough_if_it_has_the_result)
{
    plan.steps[0].learn = _i == 0 ? MG_LEARN_REPEAT : MG_LEARN_VERIFY;
    plan.steps[0].undo_retry.attempts = 1;
    turn_back_in_doubt();
    ck_assert_int_eq(reply_with_result(0, MG_OUTCOME_UNKNOWN), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

/* Catches: an undo, or a further attempt to learn, that overtakes the repeated do. It may act as late as any
 * other. */
START_TEST(repeated_do_that_may_still_act_is_overtaken_by_nothing)
{
    turn_back_in_doubt();
    int64_t complete_by_ms = order.steps[0].complete_by_ms;
    overdue(0);
    for (int round = 0; count_effects(MG_EFFECT_REQUEST) == 0; round++) {
        ck_assert_int_lt(round, 3);
        ck_assert_int_eq(due(0), MG_GO);
    }
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_int_ge(context.now_ms, complete_by_ms + context.quiesce_ms);
}
END_TEST

/* The reply speaks for one of two deliveries. */
START_TEST(open_reply_gives_the_result_and_not_the_time)
{
    turn_back_in_doubt();
    int64_t complete_by_ms = order.steps[0].complete_by_ms;
    context.known_results = 1;
    decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                             .attempt = order.steps[0].attempt,
                             .reply = {.kind = MG_KIND_DO,
                                       .outcome = MG_OUTCOME_DONE,
                                       .executed = MG_EXECUTED_YES,
                                       .may_still_act = true,
                                       .retry_after_ms = -1}});
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_PENDING);
    ck_assert_int_eq(order.steps[0].due_at_ms, complete_by_ms + context.quiesce_ms);
}
END_TEST

/* The service replays: had an attempt acted, it would not refuse. */
START_TEST(refusal_of_the_repeated_do_proves_that_nothing_stands)
{
    turn_back_in_doubt();
    ck_assert(order.steps[0].is_maybe);
    ck_assert_int_eq(reply_executed(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDONE);
    ck_assert(!order.steps[0].is_maybe);
    ck_assert_int_eq(order.state, MG_ORDER_CANCELLED);
}
END_TEST

/* Catches: nothing to undo, by an answer alongside which another attempt may still act. */
START_TEST(refusal_proves_nothing_while_an_attempt_may_act)
{
    turn_back_in_doubt();
    if (_i == 0) { /* it says itself that it does not know */
        reply_executed(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE);
    } else { /* another copy of the request is out; from then on until the step is quiet, and after */
        ck_assert_int_eq(
            decide((struct mg_cause){.kind = MG_CAUSE_REPUBLISHED, .attempt = order.steps[0].attempt}),
            MG_GO);
        context.now_ms = _i == 1 ? context.now_ms : order.steps[0].quiet_at_ms;
        reply_executed(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO);
    }
    ck_assert_int_ne(order.steps[0].state, MG_STEP_UNDONE);
    ck_assert(order.steps[0].is_maybe);
}
END_TEST

/* A service that answered done and now refuses contradicts itself: a person decides. */
START_TEST(refusal_clears_no_step_that_was_answered_as_done)
{
    submit();
    reply(0, MG_OUTCOME_DONE); /* the member that the undo needs is missing */
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert(has_request(0, MG_KIND_DO));
    reply_executed(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO);
    due(0);
    reply_executed(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
}
END_TEST

START_TEST(answer_without_the_needed_member_fails_the_undo_at_once)
{
    plan.steps[0].learn = _i == 0 ? MG_LEARN_REPEAT : MG_LEARN_VERIFY;
    turn_back_in_doubt();
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_UNRENDERABLE);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_UNDO_FAILED));
}
END_TEST

/* The policy of the undo: two attempts here, where the do has three. */
START_TEST(learning_ends_with_the_undos_attempts)
{
    plan.steps[0].learn = _i == 0 ? MG_LEARN_REPEAT : MG_LEARN_VERIFY;
    turn_back_in_doubt();
    reply(0, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
    ck_assert_int_eq(due(0), MG_GO);
    reply(0, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_LEARN_FAILED);
}
END_TEST

/* Catches: an undo that is given up early for the failures of learning. */
START_TEST(undo_has_its_own_attempts_after_learning)
{
    turn_back_in_doubt();
    reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO);
    due(0);
    ck_assert_int_eq(reply_with_result(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
    reply(0, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
    due(0);
    reply(0, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
}
END_TEST

START_TEST(only_final_absence_ends_the_undo)
{
    plan.steps[0].learn = MG_LEARN_VERIFY;
    plan.steps[0].is_absent_final = _i == 1;
    turn_back_in_doubt();
    reply(0, MG_OUTCOME_ABSENT);
    ck_assert_int_eq(order.steps[0].state, _i == 1 ? MG_STEP_UNDONE : MG_STEP_UNDO_WAITING);
    ck_assert(order.steps[0].is_maybe == (_i == 0));
    if (_i == 0) { /* and to the end of its attempts */
        due(0);
        reply(0, MG_OUTCOME_ABSENT);
        ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    }
}
END_TEST

/* Guard: the definition's word that the work is refused. Catches: a verify's own refusal that is taken for
 * it, and a step that was answered as done and is cleared by a service that contradicts itself. */
START_TEST(refused_work_needs_no_undo)
{
    plan.steps[0].learn = MG_LEARN_VERIFY;
    turn_back_in_doubt();
    order.steps[0].is_maybe = _i != 2;
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                              .step = 0,
                                              .attempt = order.steps[0].attempt,
                                              .reply = {.kind = MG_KIND_VERIFY,
                                                        .outcome = MG_OUTCOME_PERMANENT,
                                                        .executed = MG_EXECUTED_NO,
                                                        .is_work_refused = _i >= 1,
                                                        .retry_after_ms = -1}}),
                     MG_GO);
    ck_assert_int_eq(order.steps[0].state, _i == 1 ? MG_STEP_UNDONE : MG_STEP_UNDO_WAITING);
    ck_assert(order.steps[0].is_maybe == (_i == 0));
}
END_TEST

START_TEST(learning_waits_for_a_service_that_is_away_and_counts_nothing)
{
    turn_back_in_doubt();
    decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                             .attempt = order.steps[0].attempt,
                             .reply = {.kind = MG_KIND_DO,
                                       .outcome = MG_OUTCOME_TRANSIENT,
                                       .executed = MG_EXECUTED_NO,
                                       .is_service_down = true,
                                       .retry_after_ms = -1}});
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
    ck_assert_uint_eq(order.steps[0].failure_count, 0);
    due(0);
    ck_assert(has_request(0, MG_KIND_DO));
    decide((struct mg_cause){.kind = MG_CAUSE_UNPUBLISHABLE,
                             .attempt = order.steps[0].attempt,
                             .unpublishable = {.executed = MG_EXECUTED_MAYBE}});
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
    ck_assert_uint_eq(order.steps[0].failure_count, 0);
}
END_TEST

/* The service works on the repeated do. Its 202 may carry the result; the undo waits for it as for any do. */
START_TEST(accepted_repeat_is_undone_only_when_quiet)
{
    plan.steps[0].finish_within_ms = 60000;
    turn_back_in_doubt();
    int64_t complete_by_ms = order.steps[0].complete_by_ms;
    ck_assert_int_eq(_i == 0 ? reply(0, MG_OUTCOME_ACCEPTED) : reply_with_result(0, MG_OUTCOME_ACCEPTED),
                     MG_GO);
    ck_assert_int_eq(order.steps[0].state, _i == 0 ? MG_STEP_UNDO_WAITING : MG_STEP_UNDO_PENDING);
    for (int round = 0; count_effects(MG_EFFECT_REQUEST) == 0; round++) {
        ck_assert_int_lt(round, 3);
        ck_assert_int_eq(due(0), MG_GO);
    }
    ck_assert(has_request(0, _i == 0 ? MG_KIND_DO : MG_KIND_UNDO));
    ck_assert_int_ge(context.now_ms, complete_by_ms + context.quiesce_ms);
}
END_TEST

START_TEST(operators_result_has_the_undo_begin_anew)
{
    turn_back_in_doubt();
    reply(0, MG_OUTCOME_DONE); /* lacks it */
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_DONE), MG_REFUSED);
    ck_assert_int_eq(settle_with_result(0), MG_GO);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_UNDO_FAILED));
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    ck_assert(has_request(0, MG_KIND_UNDO));
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_CANCELLED);
}
END_TEST

/* Catches: an undo that overtakes the attempt to learn a result that an operator gives meanwhile. */
START_TEST(operators_result_waits_for_an_attempt_that_may_still_act)
{
    turn_back_in_doubt();
    int64_t complete_by_ms = order.steps[0].complete_by_ms;
    overdue(0);
    ck_assert_int_eq(settle_with_result(0), MG_GO);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_int_ge(context.now_ms, complete_by_ms + context.quiesce_ms);
}
END_TEST

/* Law 8, derived identities: the undo's key has carried the first result. */
START_TEST(result_stands_once_an_undo_has_gone_out)
{
    submit();
    reply_with_result(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(settle_with_result(0), MG_REFUSED);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert(has_request(0, MG_KIND_UNDO));
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    ck_assert_int_eq(settle_with_result(0), MG_REFUSED);
}
END_TEST

/* Catches: a done step whose undo must fail before its result can be given, and a second operator's result.
 */
START_TEST(done_step_is_given_the_result_that_it_lacks)
{
    submit();
    reply(0, MG_OUTCOME_DONE); /* lacks it */
    uint64_t version = order.version;
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_DONE), MG_REFUSED);
    ck_assert_int_eq(settle_with_result(0), MG_GO);
    ck_assert_uint_eq(order.version, version + 1);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    ck_assert_int_eq(settle_with_result(0), MG_REFUSED);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

/* Catches: an order in error for its output that no command but a repair of the payload ends. */
START_TEST(output_is_made_with_the_result_that_was_missing)
{
    plan.steps[0].needs_result = false;
    submit();
    reply(0, MG_OUTCOME_DONE);
    context.is_output_unrenderable = true;
    reply(1, MG_OUTCOME_DONE);
    for (int i = 2; i < order.step_count; i++) {
        reply(i, MG_OUTCOME_DONE);
    }
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    context.is_output_unrenderable = false;
    ck_assert_int_eq(settle_with_result(0), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
}
END_TEST

/* A step that is settled without its result could not be undone. */
START_TEST(step_in_doubt_is_settled_only_with_its_result)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    overdue(0);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_DONE), MG_REFUSED);
    ck_assert_int_eq(settle_with_result(0), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert(has_request(1, MG_KIND_DO));
}
END_TEST

START_TEST(resumed_undo_learns_again)
{
    turn_back_in_doubt();
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_uint_eq(order.steps[0].generation, 0);
}
END_TEST

/* Law 8, derived identities: a service may act again on a key that it has undone. Only a database that lost
 * the result gets here; the undo then fails for want of it. */
START_TEST(no_do_is_repeated_under_the_key_of_a_dispatched_undo)
{
    submit();
    reply_with_result(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert(has_request(0, MG_KIND_UNDO));
    reply(0, MG_OUTCOME_TRANSIENT);
    context.known_results = 0;
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_learn");
    TCase *cases = tcase_create("learning");
    tcase_add_checked_fixture(cases, setup_learn, NULL);
    tcase_add_test(cases, undo_with_a_known_result_is_sent_at_once);
    tcase_add_test(cases, lost_result_is_learned_by_the_do_under_the_same_key_and_then_undone);
    tcase_add_test(cases, lost_result_is_learned_by_verify_and_then_undone);
    tcase_add_loop_test(cases, an_answer_that_is_not_clear_is_enough_if_it_has_the_result, 0, 2);
    tcase_add_test(cases, repeated_do_that_may_still_act_is_overtaken_by_nothing);
    tcase_add_test(cases, open_reply_gives_the_result_and_not_the_time);
    tcase_add_test(cases, refusal_of_the_repeated_do_proves_that_nothing_stands);
    tcase_add_loop_test(cases, refusal_proves_nothing_while_an_attempt_may_act, 0, 3);
    tcase_add_test(cases, refusal_clears_no_step_that_was_answered_as_done);
    tcase_add_loop_test(cases, answer_without_the_needed_member_fails_the_undo_at_once, 0, 2);
    tcase_add_loop_test(cases, learning_ends_with_the_undos_attempts, 0, 2);
    tcase_add_test(cases, undo_has_its_own_attempts_after_learning);
    tcase_add_loop_test(cases, only_final_absence_ends_the_undo, 0, 2);
    tcase_add_loop_test(cases, refused_work_needs_no_undo, 0, 3);
    tcase_add_test(cases, learning_waits_for_a_service_that_is_away_and_counts_nothing);
    tcase_add_loop_test(cases, accepted_repeat_is_undone_only_when_quiet, 0, 2);
    tcase_add_test(cases, operators_result_has_the_undo_begin_anew);
    tcase_add_test(cases, operators_result_waits_for_an_attempt_that_may_still_act);
    tcase_add_test(cases, result_stands_once_an_undo_has_gone_out);
    tcase_add_test(cases, step_in_doubt_is_settled_only_with_its_result);
    tcase_add_test(cases, done_step_is_given_the_result_that_it_lacks);
    tcase_add_test(cases, output_is_made_with_the_result_that_was_missing);
    tcase_add_test(cases, resumed_undo_learns_again);
    tcase_add_test(cases, no_do_is_repeated_under_the_key_of_a_dispatched_undo);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
