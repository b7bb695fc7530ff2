/* Steps that wait for a moment: step a here. */
#include "core/far_clock.h"
#include "core/verbs.h"
#include "decide_fixture.h"
#include "suite.h"

#define WAIT_MS 60000

static void wait_setup(void)
{
    setup();
    plan.steps[0] = (struct mg_step_plan){.is_wait = true, .wait_ms = WAIT_MS};
}

static void until_setup(int64_t from_now_ms)
{
    plan.steps[0] = (struct mg_step_plan){.is_wait = true, .is_until = true, .has_guard = true};
    submit();
    ck_assert_int_eq(decision.effects[decision.effect_count - 1].kind, MG_EFFECT_ASK);
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_FACTS,
                                              .facts = {.until_ms = context.now_ms + 1000 + from_now_ms}}),
                     MG_GO);
}

START_TEST(a_wait_is_open_for_its_time_and_the_order_goes_on)
{
    submit();
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_SLEEPING);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + WAIT_MS);
    ck_assert_int_eq(order.wake_at_ms, order.steps[0].due_at_ms);
    ck_assert(!has_request(0, MG_KIND_DO));
    struct mg_cause early = {.kind = MG_CAUSE_DUE, .attempt = order.steps[0].attempt};
    ck_assert_int_eq(decide(early), MG_STALE_CAUSE);
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert(has_request(1, MG_KIND_DO));
}
END_TEST

/* Catches: an order that stays where it is until the next message, since the end of a wait was no reason to
 * plan again. */
START_TEST(waits_that_are_over_follow_each_other_in_one_decision)
{
    plan.steps[1] = plan.steps[0];
    plan.steps[1].after = 1;
    plan.steps[1].wait_ms = 0;
    submit();
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_int_eq(order.steps[1].state, MG_STEP_DONE);
    ck_assert(has_request(2, MG_KIND_DO));
}
END_TEST

START_TEST(a_moment_that_has_passed_ends_the_wait_at_once)
{
    until_setup(_i == 0 ? -WAIT_MS : WAIT_MS);
    ck_assert_int_eq(order.steps[0].state, _i == 0 ? MG_STEP_DONE : MG_STEP_WAITING);
    ck_assert(has_request(1, MG_KIND_DO) == (_i == 0));
}
END_TEST

/* Law 6, database clock. Catches: a wait that a corrected clock ends early, or holds for a day. */
START_TEST(a_wait_keeps_its_time_when_the_clock_is_set)
{
    submit();
    int64_t jump_ms = _i == 0 ? 3600000 : -3600000;
    context.now_ms += 10000 + jump_ms;
    if (_i == 0) { /* forward, over the moment */
        context.spared.after_ms = context.now_ms - jump_ms;
        context.spared.before_ms = context.now_ms;
    }
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_DUE, .attempt = order.steps[0].attempt}),
                     MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    int64_t left_ms = order.steps[0].due_at_ms - context.now_ms;
    ck_assert_int_le(left_ms, WAIT_MS);
    ck_assert_int_ge(left_ms, WAIT_MS - 12000);
    if (_i == 0) { /* deadlines of the new clock are spared for a moment after the step */
        context.spared.before_ms = order.steps[0].due_at_ms;
        context.spared.after_ms = order.steps[0].due_at_ms - jump_ms;
    }
    ck_assert_int_eq(due(0), MG_GO); /* given its rest only once */
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
}
END_TEST

/* Law 6, database clock: it was an hour back, then right, then two minutes back, then right again. Catches: a
 * wait that began by the third clock, and that the last step ends at once. */
START_TEST(a_wait_that_began_between_two_steps_of_the_clock_is_not_ended_by_the_second)
{
    submit();
    int64_t due_at_ms = order.steps[0].due_at_ms;
    context.now_ms = due_at_ms + 5000; /* two minutes are passed over, and the wait is shorter */
    context.spared.after_ms = context.now_ms - 3600000;
    context.spared.before_ms = context.now_ms + MG_FAR_CLOCK_STALE_MS;
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_DUE, .attempt = order.steps[0].attempt}),
                     MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + WAIT_MS);
    context.spared.after_ms += WAIT_MS;
    ck_assert_int_eq(due(0), MG_GO); /* only once */
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
}
END_TEST

START_TEST(a_moment_is_by_the_clock_whichever_way_it_is_set)
{
    until_setup(WAIT_MS);
    int64_t due_at_ms = order.steps[0].due_at_ms;
    context.now_ms -= 3600000;
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_DUE, .attempt = order.steps[0].attempt}),
                     MG_STALE_CAUSE);
    ck_assert_int_eq(order.steps[0].due_at_ms, due_at_ms);
    context.now_ms = due_at_ms;
    context.spared.after_ms = due_at_ms - 3600000;
    context.spared.before_ms = due_at_ms + 1000;
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
}
END_TEST

/* Catches: a timer that begins anew by each command about another step. */
START_TEST(a_resume_leaves_an_open_wait_as_it_is)
{
    plan.steps[1].after = 0;
    plan.on_failure = MG_ON_FAILURE_ERROR;
    submit();
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    int64_t due_at_ms = order.steps[0].due_at_ms;
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].due_at_ms, due_at_ms);
    ck_assert_uint_eq(order.steps[0].attempt, 1);
}
END_TEST

START_TEST(an_operator_ends_a_wait_or_goes_on_without_it)
{
    submit();
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_REFUSED);
    ck_assert_int_eq(operate(_i == 0 ? MG_CAUSE_SETTLE : MG_CAUSE_SKIP, 0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, _i == 0 ? MG_STEP_DONE : MG_STEP_SKIPPED);
    ck_assert(has_request(1, MG_KIND_DO));
}
END_TEST

START_TEST(an_order_that_turns_back_leaves_its_wait)
{
    submit();
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_CANCELLED);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_PENDING);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_uint_eq(order.steps[0].attempt, 2); /* a DUE of the first opening is stale */
}
END_TEST

/* Catches: an order in error that cannot be restarted, since a wait of it "stands"; one that pays again by
 * the approval of its first run. */
START_TEST(a_wait_that_has_ended_begins_anew_with_a_restart)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    submit();
    due(0);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert(!has_request(1, MG_KIND_DO));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_wait");
    TCase *cases = tcase_create("waits");
    tcase_add_checked_fixture(cases, wait_setup, NULL);
    tcase_add_test(cases, a_wait_is_open_for_its_time_and_the_order_goes_on);
    tcase_add_test(cases, waits_that_are_over_follow_each_other_in_one_decision);
    tcase_add_loop_test(cases, a_moment_that_has_passed_ends_the_wait_at_once, 0, 2);
    tcase_add_loop_test(cases, a_wait_keeps_its_time_when_the_clock_is_set, 0, 2);
    tcase_add_test(cases, a_wait_that_began_between_two_steps_of_the_clock_is_not_ended_by_the_second);
    tcase_add_test(cases, a_moment_is_by_the_clock_whichever_way_it_is_set);
    tcase_add_test(cases, a_resume_leaves_an_open_wait_as_it_is);
    tcase_add_loop_test(cases, an_operator_ends_a_wait_or_goes_on_without_it, 0, 2);
    tcase_add_test(cases, an_order_that_turns_back_leaves_its_wait);
    tcase_add_test(cases, a_wait_that_has_ended_begins_anew_with_a_restart);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
