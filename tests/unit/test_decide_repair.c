/*
 * The decision core under operators' commands and lost state: the limits of settle, restart and resume, and
 * the alerts afterwards. Random walks found most of these cases (test_core_walk.c).
 */

#include "decide_fixture.h"
#include "suite.h"

static bool has_order_alert(enum mg_effect_kind kind, enum mg_alert alert)
{
    for (int i = 0; i < decision.effect_count; i++) {
        if (decision.effects[i].kind == kind && decision.effects[i].alert == alert) {
            return decision.effects[i].step == -1;
        }
    }
    return false;
}

/* a is done; b is refused for good, and so is the undo of a: in error, with one undo to settle. */
static void fail_an_undo(void)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(reply(0, MG_OUTCOME_PERMANENT), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
}

static enum mg_verdict lose_state(int step)
{
    return decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                    .step = step,
                                    .attempt = order.steps[step].attempt + 3,
                                    .reply = {.outcome = MG_OUTCOME_DONE}});
}

/* Catches: an alert that is opened about a step and closed about the order, so that it stays open for
 * ever. */
START_TEST(alert_of_an_order_in_error_is_about_the_order)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    submit();
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert(has_order_alert(MG_EFFECT_ALERT, MG_ALERT_ORDER_ERROR));
    operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE);
    ck_assert(has_order_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_ORDER_ERROR));
}
END_TEST

START_TEST(verify_without_a_request_closes_no_alert)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    overdue(0);
    due(0);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    ck_assert_int_eq(count_effects(MG_EFFECT_CLOSE_ALERT), 0);
}
END_TEST

/* Catches: an order that stays in error after settling has closed its last alert. */
START_TEST(settling_the_last_failed_undo_ends_the_compensation)
{
    fail_an_undo();
    let_be_quiet(0);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_UNDO_FAILED));
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

START_TEST(step_settled_done_while_it_runs_is_undone_only_when_quiet)
{
    submit();
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(1, MG_KIND_DO));
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_PENDING);
    ck_assert(!has_request(0, MG_KIND_UNDO));
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

START_TEST(absence_is_believed_only_when_no_attempt_can_act)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    overdue(0);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_REFUSED);
    ck_assert(order.steps[0].is_maybe);
    context.now_ms = order.steps[0].quiet_at_ms;
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert(!order.steps[0].is_maybe);
}
END_TEST

START_TEST(a_step_that_never_went_out_cannot_be_settled)
{
    submit();
    enum mg_outcome outcome = _i == 0 ? MG_OUTCOME_DONE : MG_OUTCOME_ABSENT;
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 1, outcome), MG_REFUSED);
    ck_assert_int_eq(operate(MG_CAUSE_SKIP, 1, outcome), MG_GO);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 1, outcome), MG_REFUSED);
}
END_TEST

/* Catches: a pending pivot in doubt that no command can settle. */
START_TEST(resumed_pivot_in_doubt_can_be_settled_before_it_goes_out)
{
    plan.complete_within_ms = 5000;
    plan.steps[1].is_pivot = true;
    plan.steps[1].has_undo = false;
    plan.steps[1].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    lose_state(1);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[1].state, MG_STEP_PENDING);
    context.now_ms += 10000;
    decide((struct mg_cause){.kind = MG_CAUSE_EXPIRED, .step = -1});
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 1, _i == 0 ? MG_OUTCOME_DONE : MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(order.state, _i == 0 ? MG_ORDER_PROCESSING : MG_ORDER_COMPENSATING);
}
END_TEST

START_TEST(skipped_step_in_doubt_can_be_found_done)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    overdue(0);
    operate(MG_CAUSE_SKIP, 0, MG_OUTCOME_DONE);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
}
END_TEST

START_TEST(pivot_cannot_be_found_done_once_undoing_has_begun)
{
    plan.steps[1].is_pivot = true;
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 1, MG_OUTCOME_DONE), MG_REFUSED);
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 1, MG_OUTCOME_DONE), MG_REFUSED);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_DUPLICATE);
}
END_TEST

START_TEST(step_of_an_undone_order_cannot_become_done)
{
    submit();
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_DONE), MG_REFUSED);
}
END_TEST

START_TEST(restarted_step_that_was_refused_has_a_new_key)
{
    submit();
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_uint_eq(order.steps[0].generation, 1);
}
END_TEST

/* at_most_once must hold although the order was turned back for a moment, and two pivots answer in turn. */
START_TEST(doubt_while_a_pivot_runs_is_not_forgotten_when_the_order_goes_forward)
{
    for (int i = 0; i < 3; i++) {
        plan.steps[i].after = 0;
        plan.steps[i].is_pivot = i > 0;
    }
    plan.steps[0].is_at_most_once = true;
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE);
    reply(0, MG_OUTCOME_UNKNOWN);
    ck_assert_int_eq(reply(2, MG_OUTCOME_DONE), MG_GO); /* the second pivot, while the first still runs */
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_uint_eq(order.steps[0].attempt, 1);
}
END_TEST

START_TEST(undo_follows_after_and_not_the_steps_place_in_the_definition)
{
    plan.steps[0].after = 2; /* the last of all, and named first */
    plan.steps[1].after = 4;
    plan.steps[1].has_undo = false; /* so that only their distant relation keeps the others in order */
    plan.steps[2].after = 0;
    submit();
    reply(2, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_DONE);
    reply_executed(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE);
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 1);
    reply(0, MG_OUTCOME_DONE);
    ck_assert(has_request(2, MG_KIND_UNDO));
}
END_TEST

/* Lost state during an undo: the alert names every step that is not undone, and no restart may pass over
 * it. */
START_TEST(lost_state_in_the_middle_of_undoing_keeps_the_undos)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_DONE);
    reply(2, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_PENDING);
    reply(1, MG_OUTCOME_TRANSIENT);
    lose_state(2);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_uint_eq(mg_order_not_undone(&plan, &order), 7);
    order.steps[2].is_maybe = false; /* so that only the planned undos are in the way */
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_REFUSED);
}
END_TEST

START_TEST(undone_step_that_turns_up_again_is_undone_again)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    lose_state(0);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE);
    ck_assert(has_request(0, MG_KIND_UNDO));
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

START_TEST(lost_state_replaces_the_reason_of_an_order_in_error)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    submit();
    reply(0, MG_OUTCOME_PERMANENT);
    lose_state(0);
    ck_assert(has_order_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_ORDER_ERROR));
    ck_assert(has_order_alert(MG_EFFECT_ALERT, MG_ALERT_STATE_LOST));
    lose_state(0);
    ck_assert_int_eq(decision.effect_count, 0);
    operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE);
    ck_assert(has_order_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_STATE_LOST));
}
END_TEST

START_TEST(words_of_the_supervisor_that_are_out_of_date_change_nothing)
{
    submit();
    reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO);
    struct mg_cause early = {.kind = MG_CAUSE_DUE, .step = 0, .attempt = 1};
    order.steps[0].due_at_ms = context.now_ms + 5000;
    ck_assert_int_eq(decide(early), MG_STALE_CAUSE);
    struct mg_cause nudge = {.kind = MG_CAUSE_NUDGE, .step = -1, .version = order.version + 1};
    context.now_ms += 10000;
    ck_assert_int_eq(decide(nudge), MG_STALE_CAUSE);
    nudge.version = order.version;
    ck_assert_int_eq(decide(nudge), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

/* Sixty-four steps with failed undos, all resumed at once: the most that a decision can hold. */
START_TEST(largest_order_fits_its_decisions)
{
    plan.step_count = MG_STEPS_MAX;
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        plan.steps[i].after = 0;
    }
    submit();
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), MG_STEPS_MAX);
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        reply(i, MG_OUTCOME_DONE);
    }
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
    ck_assert_int_eq(operate(MG_CAUSE_COMPENSATE, -1, MG_OUTCOME_DONE), MG_GO);
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        reply(i, MG_OUTCOME_PERMANENT);
    }
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), MG_STEPS_MAX);
    ck_assert_int_eq(count_effects(MG_EFFECT_CLOSE_ALERT), MG_STEPS_MAX);
}
END_TEST

/* Guard: of two copies of a request, one may act after the other has answered that nothing happened. */
START_TEST(republished_attempt_is_maybe_after_the_answer_to_one_copy)
{
    submit();
    struct mg_cause again = {.kind = MG_CAUSE_REPUBLISHED, .step = 0, .attempt = 1};
    ck_assert_int_eq(decide(again), MG_GO);
    ck_assert(order.steps[0].is_maybe);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_RUNNING);
    ck_assert_int_eq(decision.effect_count, 0);
    ck_assert_int_eq(decide(again), MG_DUPLICATE);
    ck_assert_int_eq(reply_executed(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO), MG_GO);
    ck_assert(!has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(decide(again), MG_STALE_CAUSE);
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

/* Guard: undo does not overtake do. Two schedulers have sent the request; the broker has refused the first
 * copy and has the second. The model found the defect: an undo at once, and the second copy acted after
 * it. */
START_TEST(refused_copy_proves_nothing_about_the_other_one)
{
    plan.steps[0].on_unknown = _i == 0 ? MG_ON_UNKNOWN_RETRY : MG_ON_UNKNOWN_VERIFY;
    submit();
    int64_t quiet_at_ms = order.steps[0].complete_by_ms + context.quiesce_ms;
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_REPUBLISHED, .step = 0, .attempt = 1}), MG_GO);
    struct mg_cause refused = {.kind = MG_CAUSE_UNPUBLISHABLE,
                               .step = 0,
                               .attempt = 1,
                               .unpublishable = {.executed = MG_EXECUTED_NO}};
    ck_assert_int_eq(decide(refused), MG_GO);
    ck_assert_int_eq(order.steps[0].state, _i == 0 ? MG_STEP_WAITING : MG_STEP_UNKNOWN);
    ck_assert_uint_eq(order.failure_count, 0);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(!has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(order.steps[0].due_at_ms, quiet_at_ms);
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

/* Would catch: repeated questions to a person about a step that only waits for room in its queue. */
START_TEST(a_request_that_is_sent_only_once_has_no_other_copy)
{
    plan.steps[0].is_at_most_once = true;
    submit();
    order.steps[0].is_maybe = true; /* of an attempt that the database had lost */
    struct mg_cause refused = {.kind = MG_CAUSE_UNPUBLISHABLE,
                               .step = 0,
                               .attempt = 1,
                               .unpublishable = {.executed = MG_EXECUTED_NO}};
    ck_assert_int_eq(decide(refused), MG_GO);
    ck_assert(order.steps[0].is_maybe);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
}
END_TEST

static void submit_once(void)
{
    for (int i = 0; i < 3; i++) {
        plan.steps[i].after = 0;
    }
    plan.steps[0].is_at_most_once = true;
    plan.steps[0].retry.attempts = 1;
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    plan.steps[0].has_undo = false;
    submit();
}

/* Would catch: a repair of another step, or a mistaken operator, that sends a step twice that may be sent
 * only once. */
START_TEST(resuming_sends_nothing_twice_that_may_be_sent_only_once)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    submit_once();
    reply(0, MG_OUTCOME_UNKNOWN);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_REFUSED);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(1, MG_KIND_DO));
    ck_assert(!has_request(0, MG_KIND_DO));
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert(!has_request(0, MG_KIND_DO));
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO)); /* a person reports that it has not happened, and wants it */
}
END_TEST

/* Would catch: a step that may be sent once and goes out with each report that it has not happened. */
START_TEST(a_step_sent_at_most_once_fails_when_it_is_settled_as_absent)
{
    submit_once();
    reply(0, MG_OUTCOME_UNKNOWN);
    reply(1, MG_OUTCOME_DONE);
    reply(2, MG_OUTCOME_DONE);
    let_be_quiet(0);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert(!has_request(0, MG_KIND_DO));
    ck_assert_int_eq(order.steps[0].state, MG_STEP_FAILED);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
}
END_TEST

/* b has no undo, and is done before its turn: an operator skips it, or a restart leaves it so. Would catch: a
 * charge at once with its reservation, or without. */
START_TEST(followers_of_a_step_that_stays_done_wait_for_the_steps_before_it)
{
    plan.steps[1].has_undo = false;
    submit();
    if (_i == 0) {
        ck_assert_int_eq(operate(MG_CAUSE_SKIP, 1, MG_OUTCOME_DONE), MG_GO);
    } else {
        reply(0, MG_OUTCOME_DONE);
        reply(1, MG_OUTCOME_DONE);
        reply(2, MG_OUTCOME_PERMANENT);
        reply(0, MG_OUTCOME_DONE); /* its undo */
        ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
        ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
        ck_assert(has_request(0, MG_KIND_DO));
    }
    ck_assert_int_eq(order.steps[1].state, _i == 0 ? MG_STEP_SKIPPED : MG_STEP_DONE);
    ck_assert_int_eq(order.steps[2].state, MG_STEP_PENDING);
    reply(0, MG_OUTCOME_DONE);
    ck_assert(has_request(2, MG_KIND_DO));
}
END_TEST

START_TEST(step_sent_once_that_failed_in_doubt_is_settled_before_its_order_is_resumed)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    submit_once();
    reply_executed(0, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_REFUSED);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

START_TEST(step_sent_once_that_may_have_happened_is_not_sent_again_by_a_restart)
{
    submit_once();
    reply(0, MG_OUTCOME_UNKNOWN);
    reply(2, MG_OUTCOME_PERMANENT);
    reply(1, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_DONE); /* its undo */
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_REFUSED);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

/* Would catch: an order that still needs an operator's command after the operator has removed the
 * obstacle. */
/* Would catch: an order that ends as processed without its output, or a repair that has its steps done again.
 */
START_TEST(order_whose_output_cannot_be_built_waits_for_its_repair)
{
    context.is_output_unrenderable = true;
    submit();
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
        ck_assert_int_eq(reply_executed(i, MG_OUTCOME_DONE, MG_EXECUTED_YES), MG_GO);
    }
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.reason, MG_REASON_UNRENDERABLE);
    ck_assert(has_status(MG_STATUS_ERROR) && !has_status(MG_STATUS_PROCESSED));
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_ORDER_ERROR));
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.seq, 3);
    context.is_output_unrenderable = false;
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
    ck_assert(has_status(MG_STATUS_PROCESSED) && has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_ORDER_ERROR));
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    ck_assert_uint_eq(order.steps[2].attempt, 1);
}
END_TEST

static struct mg_order done_by_its_last_reply(bool is_unrenderable, struct mg_decision *ret_decision)
{
    bool is_open = context.is_output_open;
    setup();
    context.is_output_open = is_open;
    context.is_output_unrenderable = !is_open && is_unrenderable;
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_DONE);
    ck_assert(!decision.asks_output);
    reply(2, MG_OUTCOME_DONE);
    if (is_open) {
        const struct mg_cause cause = {.kind = MG_CAUSE_REPLY, .step = 2};
        ck_assert(decision.asks_output && !has_status(MG_STATUS_PROCESSED));
        ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
        context.is_output_open = false;
        context.is_output_unrenderable = is_unrenderable;
        mg_order_finish(&plan, &context, &cause, &order, &decision);
    }
    *ret_decision = decision;
    return order;
}

/* Catches: an order that ends otherwise, by its state, its statuses or its event row, because its output has
 * to be built first. */
START_TEST(decision_that_asks_for_the_output_ends_as_one_that_knows_of_it)
{
    static struct mg_decision whole, parted;
    bool is_unrenderable = _i == 1;
    context.is_output_open = false;
    const struct mg_order at_once = done_by_its_last_reply(is_unrenderable, &whole);
    ck_assert_int_eq(at_once.state, is_unrenderable ? MG_ORDER_ERROR : MG_ORDER_PROCESSED);
    context.is_output_open = true;
    const struct mg_order later = done_by_its_last_reply(is_unrenderable, &parted);
    ck_assert_mem_eq(&at_once, &later, mg_order_size(&later));
    ck_assert_str_eq(whole.why, parted.why);
    ck_assert_int_eq(whole.effect_count, parted.effect_count);
    ck_assert_int_eq(whole.transition_count, parted.transition_count);
    ck_assert_mem_eq(whole.effects, parted.effects, (size_t)whole.effect_count * sizeof(whole.effects[0]));
    ck_assert_mem_eq(whole.transitions, parted.transitions,
                     (size_t)whole.transition_count * sizeof(whole.transitions[0]));
    ck_assert(!parted.asks_output);
}
END_TEST

/* Catches: an order that can only end without its output, since no expression takes the answer of a
 * service; and a known result that is replaced while anything but the output is made from it. */
START_TEST(result_for_an_output_that_cannot_be_built_comes_from_the_operator)
{
    const struct mg_cause settle = {
        .kind = MG_CAUSE_SETTLE, .step = 1, .settle = {.outcome = MG_OUTCOME_DONE, .has_result = true}};
    context.is_output_unrenderable = true;
    submit();
    reply_executed(0, MG_OUTCOME_DONE, MG_EXECUTED_YES);
    reply_executed(1, MG_OUTCOME_DONE, MG_EXECUTED_YES);
    ck_assert_int_eq(decide(settle), MG_REFUSED); /* the order still goes on */
    reply_executed(2, MG_OUTCOME_DONE, MG_EXECUTED_YES);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(decide(settle), MG_GO); /* the output cannot be built from this one either */
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    context.is_output_unrenderable = false;
    ck_assert_int_eq(decide(settle), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
    ck_assert_int_eq(decide(settle), MG_REFUSED);
}
END_TEST

START_TEST(order_in_error_goes_on_once_nothing_stands_in_its_way)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    submit();
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    enum mg_cause_kind kind = _i == 0 ? MG_CAUSE_SKIP : MG_CAUSE_SETTLE;
    ck_assert_int_eq(operate(kind, 0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_ORDER_ERROR));
    ck_assert(has_request(1, MG_KIND_DO));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_repair");
    TCase *cases = tcase_create("repairs");
    tcase_add_checked_fixture(cases, setup, NULL);
    tcase_add_test(cases, alert_of_an_order_in_error_is_about_the_order);
    tcase_add_test(cases, verify_without_a_request_closes_no_alert);
    tcase_add_test(cases, settling_the_last_failed_undo_ends_the_compensation);
    tcase_add_test(cases, step_settled_done_while_it_runs_is_undone_only_when_quiet);
    tcase_add_test(cases, absence_is_believed_only_when_no_attempt_can_act);
    tcase_add_loop_test(cases, a_step_that_never_went_out_cannot_be_settled, 0, 2);
    tcase_add_loop_test(cases, resumed_pivot_in_doubt_can_be_settled_before_it_goes_out, 0, 2);
    tcase_add_test(cases, skipped_step_in_doubt_can_be_found_done);
    tcase_add_test(cases, pivot_cannot_be_found_done_once_undoing_has_begun);
    tcase_add_test(cases, step_of_an_undone_order_cannot_become_done);
    tcase_add_test(cases, restarted_step_that_was_refused_has_a_new_key);
    tcase_add_test(cases, doubt_while_a_pivot_runs_is_not_forgotten_when_the_order_goes_forward);
    tcase_add_test(cases, undo_follows_after_and_not_the_steps_place_in_the_definition);
    tcase_add_test(cases, lost_state_in_the_middle_of_undoing_keeps_the_undos);
    tcase_add_test(cases, undone_step_that_turns_up_again_is_undone_again);
    tcase_add_test(cases, lost_state_replaces_the_reason_of_an_order_in_error);
    tcase_add_test(cases, words_of_the_supervisor_that_are_out_of_date_change_nothing);
    tcase_add_test(cases, largest_order_fits_its_decisions);
    tcase_add_test(cases, republished_attempt_is_maybe_after_the_answer_to_one_copy);
    tcase_add_loop_test(cases, refused_copy_proves_nothing_about_the_other_one, 0, 2);
    tcase_add_test(cases, a_request_that_is_sent_only_once_has_no_other_copy);
    tcase_add_test(cases, resuming_sends_nothing_twice_that_may_be_sent_only_once);
    tcase_add_test(cases, step_sent_once_that_failed_in_doubt_is_settled_before_its_order_is_resumed);
    tcase_add_test(cases, step_sent_once_that_may_have_happened_is_not_sent_again_by_a_restart);
    tcase_add_test(cases, order_whose_output_cannot_be_built_waits_for_its_repair);
    tcase_add_loop_test(cases, decision_that_asks_for_the_output_ends_as_one_that_knows_of_it, 0, 2);
    tcase_add_test(cases, result_for_an_output_that_cannot_be_built_comes_from_the_operator);
    tcase_add_test(cases, a_step_sent_at_most_once_fails_when_it_is_settled_as_absent);
    tcase_add_loop_test(cases, followers_of_a_step_that_stays_done_wait_for_the_steps_before_it, 0, 2);
    tcase_add_loop_test(cases, order_in_error_goes_on_once_nothing_stands_in_its_way, 0, 2);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
