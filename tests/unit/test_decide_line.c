/* Orders that wait in the line of their key. */
#include "decide_fixture.h"
#include "suite.h"

static void line_setup(void)
{
    setup();
    plan.sequence = MG_SEQUENCE_HOLD;
}

static enum mg_verdict turn(uint32_t generation)
{
    return decide((struct mg_cause){.kind = MG_CAUSE_TURN, .step = -1, .turn = {.generation = generation}});
}

static void run_all(void)
{
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(reply(i, MG_OUTCOME_DONE), MG_GO);
    }
}

START_TEST(an_order_in_line_calls_nothing_and_has_no_deadline)
{
    submit();
    ck_assert(has_status(MG_STATUS_ACCEPTED));
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_JOIN), 1);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    ck_assert_int_eq(order.state, MG_ORDER_PENDING);
    ck_assert_int_eq(order.reason, MG_REASON_IN_LINE);
    ck_assert_int_eq(order.complete_by_ms, 0);
    ck_assert_int_eq(order.wake_at_ms, 0);
    ck_assert(mg_order_is_moving(&order, context.now_ms));
}
END_TEST

START_TEST(complete_within_counts_from_the_turn)
{
    submit();
    context.now_ms += 10 * plan.complete_within_ms;
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_EXPIRED, .step = -1}), MG_STALE_CAUSE);
    ck_assert_int_eq(turn(0), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
    ck_assert_int_eq(order.complete_by_ms, context.now_ms + plan.complete_within_ms);
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_BEGIN), 1);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

START_TEST(no_other_cause_takes_an_order_out_of_its_line)
{
    static const enum mg_cause_kind KINDS[] = {MG_CAUSE_NUDGE, MG_CAUSE_REATTACHED, MG_CAUSE_RESUME,
                                               MG_CAUSE_RELEASE};
    submit();
    (void)decide((struct mg_cause){.kind = KINDS[_i], .step = -1});
    ck_assert(mg_order_is_in_line(&order));
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_LEAVE), 0);
}
END_TEST

START_TEST(a_turn_that_comes_twice_changes_nothing)
{
    submit();
    ck_assert_int_eq(turn(0), MG_GO);
    ck_assert_int_eq(turn(0), MG_STALE_CAUSE);
    run_all();
    ck_assert_int_eq(turn(0), MG_STALE_CAUSE);
}
END_TEST

START_TEST(an_order_that_ends_leaves_its_line_once)
{
    submit();
    ck_assert_int_eq(turn(0), MG_GO);
    context.is_output_open = _i == 1;
    run_all();
    if (_i == 1) {
        ck_assert_int_eq(count_effects(MG_EFFECT_LINE_LEAVE), 0);
        context.is_output_open = false;
        struct mg_cause cause = {.kind = MG_CAUSE_REPLY, .step = 2};
        mg_order_finish(&plan, &context, &cause, &order, &decision);
    }
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_LEAVE), 1);
    ck_assert_int_eq(operate(MG_CAUSE_COMPENSATE, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_LEAVE), 0);
}
END_TEST

START_TEST(a_cancelled_order_in_line_ends_and_passes_its_turn_on)
{
    submit();
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_CANCELLED);
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_LEAVE), 1);
    ck_assert_int_eq(turn(0), MG_STALE_CAUSE);
}
END_TEST

/* Catches: a turn of the first place that a restarted order takes for its own. */
START_TEST(a_restarted_order_goes_to_the_end_of_its_line)
{
    submit();
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_JOIN), 1);
    ck_assert(mg_order_is_in_line(&order));
    ck_assert_int_eq(order.complete_by_ms, 0);
    ck_assert_int_eq(turn(0), MG_STALE_CAUSE);
    ck_assert_int_eq(turn(1), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

static void end_in_error(void)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    submit();
    ck_assert_int_eq(turn(0), MG_GO);
    ck_assert_int_eq(reply(0, MG_OUTCOME_PERMANENT), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
}

START_TEST(an_order_in_error_holds_its_line_until_it_is_released)
{
    end_in_error();
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_LEAVE), 0);
    ck_assert_int_eq(operate(MG_CAUSE_RELEASE, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_LEAVE), 1);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_FAILED);
}
END_TEST

START_TEST(an_order_in_error_leaves_a_line_that_its_definition_releases)
{
    plan.sequence = MG_SEQUENCE_RELEASE;
    end_in_error();
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_LEAVE), 1);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

START_TEST(only_an_order_in_error_is_released)
{
    submit();
    ck_assert_int_eq(turn(0), MG_GO);
    ck_assert_int_eq(operate(MG_CAUSE_RELEASE, -1, MG_OUTCOME_DONE), MG_REFUSED);
    plan.sequence = MG_SEQUENCE_NONE;
    plan.on_failure = MG_ON_FAILURE_ERROR;
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(operate(MG_CAUSE_RELEASE, -1, MG_OUTCOME_DONE), MG_REFUSED);
}
END_TEST

START_TEST(an_order_without_a_line_begins_at_once)
{
    plan.sequence = MG_SEQUENCE_NONE;
    submit();
    ck_assert(has_request(0, MG_KIND_DO));
    run_all();
    ck_assert_int_eq(count_effects(MG_EFFECT_LINE_JOIN) + count_effects(MG_EFFECT_LINE_LEAVE), 0);
    ck_assert_int_eq(turn(0), MG_STALE_CAUSE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_line");
    TCase *cases = tcase_create("lines");
    tcase_add_checked_fixture(cases, line_setup, NULL);
    tcase_add_test(cases, an_order_in_line_calls_nothing_and_has_no_deadline);
    tcase_add_test(cases, complete_within_counts_from_the_turn);
    tcase_add_loop_test(cases, no_other_cause_takes_an_order_out_of_its_line, 0, 4);
    tcase_add_test(cases, a_turn_that_comes_twice_changes_nothing);
    tcase_add_loop_test(cases, an_order_that_ends_leaves_its_line_once, 0, 2);
    tcase_add_test(cases, a_cancelled_order_in_line_ends_and_passes_its_turn_on);
    tcase_add_test(cases, a_restarted_order_goes_to_the_end_of_its_line);
    tcase_add_test(cases, an_order_in_error_holds_its_line_until_it_is_released);
    tcase_add_test(cases, an_order_in_error_leaves_a_line_that_its_definition_releases);
    tcase_add_test(cases, only_an_order_in_error_is_released);
    tcase_add_test(cases, an_order_without_a_line_begins_at_once);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
