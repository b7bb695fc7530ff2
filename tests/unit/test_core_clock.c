/* The decision core when the database's clock is set, back and forward. */

#include "core/backoff.h"
#include "decide_fixture.h"
#include "suite.h"

static enum mg_verdict tell(enum mg_cause_kind kind, int step, uint32_t attempt)
{
    return decide((struct mg_cause){.kind = kind, .step = step, .attempt = attempt});
}

/* ---- times in the future were set while the database's clock was ahead ---- */

#define HOUR_MS INT64_C(3600000)

static const struct {
    enum mg_reason reason;
    int64_t longest_ms; /* by the fixture's plan */
} WAITS[] = {
    {MG_REASON_SERVICE_PAUSED, 30000},
    {MG_REASON_EXPIRED, 30000},
    {MG_REASON_REMOTE_WORKING, 1000},
    {MG_REASON_COOLING_DOWN, 600000},
    {MG_REASON_REPLY_TRANSIENT, 30000},
    {MG_REASON_REPLY_PERMANENT, 30000},
    {MG_REASON_REPLY_UNKNOWN, 30000},
    {MG_REASON_VERIFIED_ABSENT, 30000},
    {MG_REASON_ASKED_TO_WAIT, MG_RETRY_AFTER_MAX_MS},
};

/* A step that waits until so long after the next cause. */
static struct mg_step *wait_for(enum mg_reason reason, int64_t wait_ms)
{
    submit();
    reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO);
    struct mg_step *step = &order.steps[0];
    ck_assert_int_eq(step->state, MG_STEP_WAITING);
    step->reason = reason;
    step->due_at_ms = context.now_ms + 1000 + wait_ms;
    return step;
}

/* Catches: an order that waits for an hour because the database's clock was ahead by one for a moment; a wait
 * that is cut short against its policy. */
START_TEST(no_wait_is_longer_than_its_policy_allows)
{
    struct mg_step *step = wait_for(WAITS[_i].reason, WAITS[_i].longest_ms);
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_STALE_CAUSE);
    step = wait_for(WAITS[_i].reason, WAITS[_i].longest_ms + 1);
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert_int_eq(step->state, MG_STEP_RUNNING);
    ck_assert_int_eq(step->complete_by_ms, context.now_ms + 10000);
}
END_TEST

/* The answer of an attempt that may still act. */
static void answer_open(int step)
{
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                              .step = step,
                                              .attempt = order.steps[step].attempt,
                                              .reply = {.kind = MG_KIND_DO,
                                                        .outcome = MG_OUTCOME_UNKNOWN,
                                                        .executed = MG_EXECUTED_MAYBE,
                                                        .may_still_act = true,
                                                        .retry_after_ms = -1}}),
                     MG_GO);
}

/* Catches: an undo or a verify that overtakes an attempt which may still act. */
START_TEST(quiet_is_kept_as_far_as_an_attempt_may_take)
{
    struct mg_step *step = wait_for(MG_REASON_EXPIRED, HOUR_MS);
    step->quiet_at_ms = context.now_ms + 3000;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert_int_eq(step->state, MG_STEP_WAITING);
    ck_assert_int_eq(step->due_at_ms, step->quiet_at_ms);
    ck_assert_int_eq(order.wake_at_ms, step->quiet_at_ms);
    step = wait_for(MG_REASON_EXPIRED, 11000 + context.quiesce_ms); /* 10 s is the longest of the fixture */
    step->quiet_at_ms = step->due_at_ms -= 2000;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_STALE_CAUSE);
}
END_TEST

/* Catches: an order that stalls for an hour, because an attempt that may still act ended while the
 * clock was ahead by an hour. */
START_TEST(quiet_is_cut_to_what_an_attempt_may_take)
{
    struct mg_step *step = wait_for(MG_REASON_EXPIRED, HOUR_MS);
    step->quiet_at_ms = step->due_at_ms;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert_int_eq(step->quiet_at_ms, context.now_ms + 10000 + context.quiesce_ms);
    ck_assert_int_eq(step->due_at_ms, step->quiet_at_ms);
    ck_assert_int_eq(order.wake_at_ms, step->quiet_at_ms);
    context.now_ms = step->quiet_at_ms;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert_int_eq(step->state, MG_STEP_RUNNING);
}
END_TEST

/* Catches: the same, where the answer comes after the clock went back: the request carries the earlier
 * clock's time. */
START_TEST(quiet_of_an_answer_is_cut_to_what_an_attempt_may_take)
{
    submit();
    order.steps[0].complete_by_ms += HOUR_MS;
    answer_open(0);
    ck_assert_int_eq(order.steps[0].quiet_at_ms, context.now_ms + 10000 + context.quiesce_ms);
}
END_TEST

/* Catches: accepted work that is not polled for an hour, because the clock went back by one. Its own
 * attempt's complete-by bars no poll. That of an earlier attempt does. */
START_TEST(polls_of_accepted_work_do_not_wait_for_a_clock_that_went_back)
{
    bool is_polled_before = _i == 1, is_first_open = _i == 2;
    plan.steps[0].finish_within_ms = 60000;
    context.now_ms += 2 * HOUR_MS; /* no moment is 0 */
    submit();
    if (is_first_open) {
        order.steps[0].quiet_at_ms = context.now_ms + 2000;
    }
    reply(0, MG_OUTCOME_ACCEPTED);
    if (is_polled_before) {
        due(0);
        reply(0, MG_OUTCOME_ACCEPTED);
    }
    const struct mg_step *step = &order.steps[0];
    ck_assert_int_gt(step->quiet_at_ms, context.now_ms);
    context.now_ms -= HOUR_MS;
    if (is_first_open) { /* and that for no longer than an attempt may take */
        ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
        ck_assert_int_eq(step->due_at_ms, context.now_ms + 10000 + context.quiesce_ms);
        ck_assert_int_eq(step->due_at_ms, step->quiet_at_ms);
        ck_assert(!has_request(0, MG_KIND_VERIFY));
        return;
    }
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert(has_request(0, MG_KIND_VERIFY));
}
END_TEST

/* Catches: an undo that finds nothing and goes out again for an hour, and work that is polled for an hour
 * more, because the clock was ahead by one when the service accepted the work. */
START_TEST(work_that_was_accepted_by_a_clock_ahead_has_no_more_than_its_time)
{
    bool is_undone = _i >= 1, is_high_known = _i == 2;
    plan.steps[0].finish_within_ms = 60000;
    context.now_ms += 2 * HOUR_MS; /* no moment is 0 */
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    context.now_ms -= HOUR_MS;
    context.high_now_ms = is_high_known ? context.now_ms + HOUR_MS : 0;
    if (is_undone) {
        ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
        due(0);
    } else {
        ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, order.steps[0].attempt), MG_GO);
    }
    reply(0, is_undone ? MG_OUTCOME_ABSENT : MG_OUTCOME_ACCEPTED);
    const struct mg_step *step = &order.steps[0];
    ck_assert_int_eq(step->finish_by_ms, context.now_ms + 60000);
    context.now_ms = step->finish_by_ms;
    due(0);
    reply(0, is_undone ? MG_OUTCOME_ABSENT : MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(step->state, is_undone ? MG_STEP_UNDONE : MG_STEP_UNDO_PENDING);
}
END_TEST

/* Catches: accepted work that is given up and undone as soon as the clock is right again, by a scheduler that
 * knows nothing of its time back, because a poll of that time has cut the end of the work. */
START_TEST(work_that_is_polled_while_the_clock_is_back_keeps_its_end)
{
    plan.steps[0].finish_within_ms = 600000;
    context.now_ms += 2 * HOUR_MS;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    int64_t finish_by_ms = order.steps[0].finish_by_ms;
    for (int i = 0; i < 3; i++) {
        context.high_now_ms = context.now_ms + 5000;
        context.now_ms = context.high_now_ms - HOUR_MS;
        ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, order.steps[0].attempt), MG_GO);
        context.high_now_ms += 1000; /* of the decision before */
        reply(0, MG_OUTCOME_ACCEPTED);
        ck_assert_int_eq(order.steps[0].finish_by_ms, finish_by_ms);
        ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
        context.now_ms = context.high_now_ms;
    }
    context.high_now_ms =
        _i == 0 ? 0 : finish_by_ms; /* the clock is right again, or its time is over before */
    context.now_ms = _i == 0 ? context.now_ms : finish_by_ms - HOUR_MS;
    due(0);
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(order.steps[0].state, _i == 0 ? MG_STEP_WAITING : MG_STEP_UNDO_PENDING);
}
END_TEST

/* ---- the database's clock was set forward while time was left ---- */

static void clock_forward(void)
{
    context.spared.after_ms = context.now_ms;
    context.now_ms += HOUR_MS;
    context.spared.before_ms = context.now_ms;
}

/* Catches: an order that stalls, to be turned back, because the clock has passed its complete-by; one
 * that goes on although its time is over by any clock. */
START_TEST(an_order_goes_on_when_the_clock_is_set_past_its_complete_by)
{
    submit();
    clock_forward();
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.steps[1].state, MG_STEP_RUNNING);
    context.spared.after_ms = order.complete_by_ms;
    context.now_ms = order.complete_by_ms;
    reply(1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.steps[2].state, MG_STEP_PENDING);
}
END_TEST

/* Catches: an order that stalls for an hour, because its supervisor has detected a step of the clock,
 * and its scheduler has not. */
START_TEST(an_order_that_no_supervisor_judges_goes_on)
{
    submit();
    reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO);
    context.now_ms = order.complete_by_ms + 20000;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, order.steps[0].attempt), MG_DUPLICATE);
    context.now_ms = order.complete_by_ms + 30000;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, order.steps[0].attempt), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_RUNNING);
}
END_TEST

/* Catches: attempts that a scheduler judges because the clock was set, at the request of a newly started
 * supervisor that has not detected the step; attempts that wait for an hour, because the scheduler detected
 * the step late. */
START_TEST(no_attempt_is_judged_that_the_clock_was_set_past)
{
    submit();
    clock_forward();
    ck_assert_int_eq(tell(MG_CAUSE_OVERDUE, 0, order.steps[0].attempt), MG_STALE_CAUSE);
    context.spared.after_ms = order.steps[0].complete_by_ms - 10001;
    ck_assert_int_eq(tell(MG_CAUSE_OVERDUE, 0, order.steps[0].attempt), MG_GO);
}
END_TEST

/* The clock went back by half a minute 15 s ago, and is right again. */
static void clock_back_and_right(void)
{
    clock_forward();
    context.spared.high_after_ms = context.now_ms;
    context.spared.after_ms = context.now_ms - 30000;
    context.spared.high = (struct mg_high_clock){context.now_ms - HOUR_MS, context.now_ms - 15000,
                                                 context.now_ms - 45000, context.now_ms - 30000};
}

/* Catches: an attempt that has half a minute more because the clock was set back by that and is right again;
 * one that ends because it began while the clock was back. */
START_TEST(an_attempt_of_before_a_step_back_is_judged_once_the_clock_is_right)
{
    bool is_of_low_clock = _i == 1;
    context.now_ms = 4 * HOUR_MS;
    plan.steps[0].complete_within_ms = 50000;
    submit();
    clock_back_and_right();
    order.steps[0].complete_by_ms = context.now_ms - (is_of_low_clock ? 35000 : 50001) + 50000;
    context.spared.before_ms = context.now_ms += 20000;
    context.spared.high_after_ms += 20000;
    context.spared.after_ms += 20000;
    ck_assert_int_eq(tell(MG_CAUSE_OVERDUE, 0, order.steps[0].attempt),
                     is_of_low_clock ? MG_STALE_CAUSE : MG_GO);
}
END_TEST

/* Catches: the same attempt, which ends with time left because the clock was then set an hour ahead. */
START_TEST(an_attempt_of_before_a_step_back_keeps_its_time_beyond_the_right_clock)
{
    context.now_ms = 4 * HOUR_MS;
    plan.steps[0].complete_within_ms = 50000;
    submit();
    clock_back_and_right();
    order.steps[0].complete_by_ms = context.now_ms - 20000 + 50000;
    context.spared.before_ms = context.now_ms += HOUR_MS;
    ck_assert_int_eq(tell(MG_CAUSE_OVERDUE, 0, order.steps[0].attempt), MG_STALE_CAUSE);
    context.spared.high_after_ms += 30000;
    ck_assert_int_eq(tell(MG_CAUSE_OVERDUE, 0, order.steps[0].attempt), MG_GO);
}
END_TEST

/* Catches: an order that turns back although an operator gave it new time while the clock was back: a sweep
 * goes by the moment at which it was created. */
START_TEST(time_that_an_operator_gave_while_the_clock_was_back_counts)
{
    bool is_of_low_clock = _i == 1;
    context.now_ms = 4 * HOUR_MS;
    submit();
    clock_back_and_right();
    order.complete_by_ms = context.now_ms - 5000;
    plan.complete_within_ms = is_of_low_clock ? 30000 : HOUR_MS;
    ck_assert_int_eq(tell(MG_CAUSE_EXPIRED, -1, 0), is_of_low_clock ? MG_STALE_CAUSE : MG_GO);
}
END_TEST

/* Catches: an undo, and a verify, that overtake an attempt because the clock was set past its quiesce. */
START_TEST(a_clock_that_is_set_forward_makes_no_step_quiet)
{
    bool is_verify = _i == 1;
    plan.complete_within_ms = 2 * HOUR_MS;
    plan.steps[0].has_verify = true;
    plan.steps[0].on_unknown = is_verify ? MG_ON_UNKNOWN_VERIFY : MG_ON_UNKNOWN_RETRY;
    plan.steps[0].retry.attempts = is_verify ? 5 : 1;
    plan.steps[0].retry.cool_downs = 0;
    submit();
    answer_open(0);
    const struct mg_step *step = &order.steps[0];
    ck_assert_int_eq(step->state, is_verify ? MG_STEP_UNKNOWN : MG_STEP_UNDO_PENDING);
    ck_assert_int_eq(step->due_at_ms, step->quiet_at_ms);
    clock_forward();
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_DUPLICATE);
    context.spared.after_ms = step->quiet_at_ms;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert(has_request(0, is_verify ? MG_KIND_VERIFY : MG_KIND_UNDO));
}
END_TEST

/* Catches: an undo that waits for an hour, because the clock was an hour back and is right again. */
START_TEST(quiet_takes_no_longer_than_an_attempt_by_the_old_clock_either)
{
    plan.steps[0].retry.attempts = 1;
    plan.steps[0].retry.cool_downs = 0;
    submit();
    answer_open(0);
    const struct mg_step *step = &order.steps[0];
    int64_t quiet_at_ms = step->quiet_at_ms;
    clock_forward();
    context.now_ms = quiet_at_ms;
    context.spared.after_ms -= HOUR_MS;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert(!has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(step->quiet_at_ms, context.spared.after_ms + 10000 + context.quiesce_ms);
    ck_assert_int_eq(step->due_at_ms, step->quiet_at_ms);
    context.spared.after_ms += 9000 + context.quiesce_ms;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_DUPLICATE);
    context.spared.after_ms += 1000;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

/* Catches: a verify that is never sent, because each look at it moves its quiesce on. */
START_TEST(quiet_that_is_cut_stays_cut_for_a_step_that_was_due_before)
{
    plan.complete_within_ms = 2 * HOUR_MS;
    plan.steps[0].has_verify = true;
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    plan.steps[0].retry.attempts = 5;
    submit();
    answer_open(0);
    struct mg_step *step = &order.steps[0];
    ck_assert_int_eq(step->state, MG_STEP_UNKNOWN);
    step->due_at_ms = step->quiet_at_ms - 1;
    clock_forward();
    context.spared.after_ms -= HOUR_MS;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert_int_eq(step->quiet_at_ms, context.spared.after_ms + 10000 + context.quiesce_ms);
    context.spared.after_ms += 10000 + context.quiesce_ms;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, step->attempt), MG_GO);
    ck_assert(has_request(0, MG_KIND_VERIFY));
}
END_TEST

/* Catches: the same, where the order turns back after the step of the clock. */
START_TEST(an_undo_that_is_planned_after_a_step_forward_waits_for_quiet)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    order.steps[0].quiet_at_ms = context.now_ms + 5000;
    clock_forward();
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    reply(1, MG_OUTCOME_PERMANENT);
    reply(2, MG_OUTCOME_PERMANENT);
    ck_assert(!has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(order.steps[0].due_at_ms, order.steps[0].quiet_at_ms);
    context.spared.after_ms = order.steps[0].quiet_at_ms;
    ck_assert_int_eq(tell(MG_CAUSE_DUE, 0, order.steps[0].attempt), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

/* Catches: work of the remote that is given up, or polled without a pause, because the clock was set. */
START_TEST(accepted_work_goes_on_when_the_clock_is_set_past_its_end)
{
    plan.complete_within_ms = 2 * HOUR_MS;
    plan.steps[0].finish_within_ms = 60000;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    clock_forward();
    due(0);
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + 1000);
    context.spared.after_ms = context.spared.before_ms = 0;
    due(0);
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
}
END_TEST

/* Catches: an undo that finds nothing and goes out again at once, for an hour, because the clock was set past
 * the end of the work. */
START_TEST(an_undo_that_finds_nothing_pauses_when_the_clock_is_set_past_the_end_of_the_work)
{
    plan.complete_within_ms = 2 * HOUR_MS;
    plan.steps[0].finish_within_ms = 60000;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
    clock_forward();
    reply(0, MG_OUTCOME_ABSENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + 60000 / 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_clock");
    TCase *tcase = tcase_create("clock");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_loop_test(tcase, no_wait_is_longer_than_its_policy_allows, 0, sizeof(WAITS) / sizeof(WAITS[0]));
    tcase_add_test(tcase, quiet_is_kept_as_far_as_an_attempt_may_take);
    tcase_add_test(tcase, quiet_is_cut_to_what_an_attempt_may_take);
    tcase_add_test(tcase, quiet_of_an_answer_is_cut_to_what_an_attempt_may_take);
    tcase_add_loop_test(tcase, polls_of_accepted_work_do_not_wait_for_a_clock_that_went_back, 0, 3);
    tcase_add_loop_test(tcase, work_that_was_accepted_by_a_clock_ahead_has_no_more_than_its_time, 0, 3);
    tcase_add_loop_test(tcase, work_that_is_polled_while_the_clock_is_back_keeps_its_end, 0, 2);
    tcase_add_test(tcase, an_order_goes_on_when_the_clock_is_set_past_its_complete_by);
    tcase_add_test(tcase, an_order_that_no_supervisor_judges_goes_on);
    tcase_add_test(tcase, no_attempt_is_judged_that_the_clock_was_set_past);
    tcase_add_loop_test(tcase, an_attempt_of_before_a_step_back_is_judged_once_the_clock_is_right, 0, 2);
    tcase_add_test(tcase, an_attempt_of_before_a_step_back_keeps_its_time_beyond_the_right_clock);
    tcase_add_loop_test(tcase, time_that_an_operator_gave_while_the_clock_was_back_counts, 0, 2);
    tcase_add_loop_test(tcase, a_clock_that_is_set_forward_makes_no_step_quiet, 0, 2);
    tcase_add_test(tcase, quiet_takes_no_longer_than_an_attempt_by_the_old_clock_either);
    tcase_add_test(tcase, quiet_that_is_cut_stays_cut_for_a_step_that_was_due_before);
    tcase_add_test(tcase, an_undo_that_is_planned_after_a_step_forward_waits_for_quiet);
    tcase_add_test(tcase, accepted_work_goes_on_when_the_clock_is_set_past_its_end);
    tcase_add_test(tcase, an_undo_that_finds_nothing_pauses_when_the_clock_is_set_past_the_end_of_the_work);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
