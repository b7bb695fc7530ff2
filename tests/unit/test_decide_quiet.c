/* Undo and verify do not overtake a do: the events that they wait for, and those that they do not wait
 * for. */
#include "decide_fixture.h"
#include "suite.h"

static enum mg_verdict reply_open(int step, enum mg_outcome outcome, enum mg_executed executed)
{
    return decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                    .step = step,
                                    .attempt = order.steps[step].attempt,
                                    .reply = {.kind = order.steps[step].kind,
                                              .outcome = outcome,
                                              .executed = executed,
                                              .may_still_act = true,
                                              .retry_after_ms = -1}});
}

/* Guard: undo does not overtake do. A reply may end the attempt for its step and not at the service: its call
 * was given up, or another copy of the request is out. */
static const struct {
    enum mg_outcome outcome;
    enum mg_executed executed;
} OPEN_REPLIES[] = {
    {MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE}, {MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE},
    {MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE}, {MG_OUTCOME_PERMANENT, MG_EXECUTED_NO},
    {MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO},    {MG_OUTCOME_DONE, MG_EXECUTED_YES},
    {MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE},
};

START_TEST(undo_waits_until_no_call_that_was_given_up_can_act)
{
    plan.steps[0].retry.attempts = 1;
    plan.steps[0].finish_within_ms = 60000;
    submit();
    int64_t quiet_at_ms = order.steps[0].complete_by_ms + context.quiesce_ms;
    ck_assert_int_eq(reply_open(0, OPEN_REPLIES[_i].outcome, OPEN_REPLIES[_i].executed), MG_GO);
    if (order.goal == MG_GOAL_PROCESSED) {
        ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
        if (order.steps[1].state == MG_STEP_RUNNING) {
            (void)reply(1, MG_OUTCOME_PERMANENT);
        }
    }
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_PENDING);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_QUIESCING);
    ck_assert(!has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(order.steps[0].due_at_ms, quiet_at_ms);
    ck_assert_int_eq(order.wake_at_ms, quiet_at_ms);
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_int_gt(context.now_ms, quiet_at_ms);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

START_TEST(verify_waits_until_no_call_that_was_given_up_can_act)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    int64_t quiet_at_ms = order.steps[0].complete_by_ms + context.quiesce_ms;
    ck_assert_int_eq(reply_open(0, OPEN_REPLIES[_i].outcome, MG_EXECUTED_MAYBE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_int_eq(order.steps[0].due_at_ms, quiet_at_ms);
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_VERIFY));
}
END_TEST

/* Catches: a wait for nothing. Any answer of the service ends its work on the request. A do that overlaps
 * another one under the same key is the same do. */
START_TEST(an_answered_step_is_undone_and_tried_again_at_once)
{
    submit();
    (void)reply_open(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE);
    ck_assert_int_lt(order.steps[0].due_at_ms, order.steps[0].quiet_at_ms);
    due(0);
    ck_assert(has_request(0, MG_KIND_DO));
    setup();
    plan.steps[1].retry.attempts = 1;
    submit();
    (void)reply(0, MG_OUTCOME_DONE);
    (void)reply_executed(1, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE);
    ck_assert(has_request(1, MG_KIND_UNDO));
    (void)reply(1, MG_OUTCOME_DONE);
    ck_assert(has_request(0, MG_KIND_UNDO));
    (void)reply_open(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE);
    ck_assert_int_lt(order.steps[0].due_at_ms, context.now_ms + 1000); /* its own backoff */
}
END_TEST

/* Catches: accepted work that is undone while the service takes it up; accepted work that is first polled
 * after that time. */
START_TEST(accepted_work_is_asked_about_at_once_and_undone_when_quiet)
{
    plan.steps[0].finish_within_ms = 60000;
    submit();
    int64_t quiet_at_ms = order.steps[0].complete_by_ms + context.quiesce_ms;
    (void)reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + plan.steps[0].poll_ms);
    due(0);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    (void)operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE);
    (void)reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert(!has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(order.steps[0].due_at_ms, quiet_at_ms);
}
END_TEST

/* Catches: a poll's "no such work" taken as final before the call that was given up has arrived. */
START_TEST(accepted_work_with_an_open_call_is_asked_about_when_quiet)
{
    plan.steps[0].finish_within_ms = 60000;
    submit();
    int64_t quiet_at_ms = order.steps[0].complete_by_ms + context.quiesce_ms;
    (void)reply_open(0, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE);
    ck_assert_int_eq(order.steps[0].due_at_ms, quiet_at_ms);
}
END_TEST

/* Catches: an undo that overtakes the second copy of a do after an answer to the first. */
START_TEST(undo_waits_for_a_second_copy_of_what_was_answered)
{
    submit();
    order.steps[0].is_maybe = _i == 1; /* by an attempt before */
    int64_t quiet_at_ms = order.steps[0].complete_by_ms + context.quiesce_ms;
    struct mg_cause again = {.kind = MG_CAUSE_REPUBLISHED, .step = 0, .attempt = 1};
    ck_assert_int_eq(decide(again), MG_GO);
    ck_assert_int_eq(decide(again), MG_DUPLICATE);
    (void)reply(0, MG_OUTCOME_DONE);
    ck_assert(has_request(1, MG_KIND_DO));
    (void)reply(1, MG_OUTCOME_PERMANENT);
    ck_assert(!has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(order.steps[0].due_at_ms, quiet_at_ms);
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_quiet");
    TCase *cases = tcase_create("scenarios");
    tcase_add_checked_fixture(cases, setup, NULL);
    tcase_add_loop_test(cases, undo_waits_until_no_call_that_was_given_up_can_act, 0,
                        sizeof(OPEN_REPLIES) / sizeof(OPEN_REPLIES[0]));
    tcase_add_loop_test(cases, verify_waits_until_no_call_that_was_given_up_can_act, 0, 2);
    tcase_add_test(cases, an_answered_step_is_undone_and_tried_again_at_once);
    tcase_add_test(cases, accepted_work_is_asked_about_at_once_and_undone_when_quiet);
    tcase_add_test(cases, accepted_work_with_an_open_call_is_asked_about_when_quiet);
    tcase_add_loop_test(cases, undo_waits_for_a_second_copy_of_what_was_answered, 0, 2);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
