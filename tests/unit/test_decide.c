/*
 * The decision core, scenario by scenario. Those in which a person or a lost database has a hand are in
 * test_decide_repair.c.
 */

#include "core/backoff.h"
#include "core/key.h"
#include "decide_fixture.h"
#include "suite.h"

START_TEST(order_goes_step_by_step_to_processed)
{
    submit();
    ck_assert(has_status(MG_STATUS_ACCEPTED));
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
    ck_assert_int_eq(reply(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_request(1, MG_KIND_DO));
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 1);
    ck_assert_int_eq(reply(1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(reply(2, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
    ck_assert(has_status(MG_STATUS_PROCESSED));
    ck_assert_int_eq(order.wake_at_ms, 0);
    ck_assert_uint_eq(order.version, 4);
    ck_assert_uint_eq(order.seq, 2);
}
END_TEST

START_TEST(step_status_is_sent_if_asked_for)
{
    context.wants_step_status = true;
    submit();
    reply(0, MG_OUTCOME_DONE);
    ck_assert(has_status(MG_STATUS_STEP_COMPLETED));
}
END_TEST

/* Guard: the attempt as fence. */
START_TEST(reply_of_an_older_attempt_changes_nothing)
{
    submit();
    overdue(0);
    due(0);
    ck_assert_uint_eq(order.steps[0].attempt, 2);
    struct mg_order before = order;
    struct mg_cause late = {
        .kind = MG_CAUSE_REPLY, .step = 0, .attempt = 1, .reply = {.outcome = MG_OUTCOME_DONE}};
    ck_assert_int_eq(decide(late), MG_STALE_CAUSE);
    ck_assert_mem_eq(&before, &order, sizeof(order));
}
END_TEST

START_TEST(reply_of_another_kind_changes_nothing)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    overdue(0);
    due(0);
    ck_assert_int_eq(order.steps[0].kind, MG_KIND_VERIFY);
    struct mg_cause wrong = {.kind = MG_CAUSE_REPLY,
                             .step = 0,
                             .attempt = order.steps[0].attempt,
                             .reply = {.kind = MG_KIND_DO, .outcome = MG_OUTCOME_DONE}};
    ck_assert_int_eq(decide(wrong), MG_STALE_CAUSE);
}
END_TEST

START_TEST(second_reply_of_an_attempt_is_a_duplicate)
{
    submit();
    struct mg_cause done = {
        .kind = MG_CAUSE_REPLY, .step = 0, .attempt = 1, .reply = {.outcome = MG_OUTCOME_DONE}};
    ck_assert_int_eq(decide(done), MG_GO);
    ck_assert_int_eq(decide(done), MG_DUPLICATE);
}
END_TEST

START_TEST(reply_ahead_of_the_row_proves_lost_state)
{
    submit();
    struct mg_cause ahead = {
        .kind = MG_CAUSE_REPLY, .step = 0, .attempt = 5, .reply = {.outcome = MG_OUTCOME_DONE}};
    ck_assert_int_eq(decide(ahead), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_STATE_LOST));
    ck_assert(order.steps[0].is_maybe);
    ck_assert_uint_eq(order.steps[0].attempt, 5);
}
END_TEST

START_TEST(late_reply_counts_until_the_attempt_is_judged)
{
    submit();
    context.now_ms += 60000;
    ck_assert_int_eq(reply(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
}
END_TEST

START_TEST(command_of_expiry_before_the_deadline_is_stale)
{
    submit();
    struct mg_cause early = {.kind = MG_CAUSE_OVERDUE, .step = 0, .attempt = 1};
    ck_assert_int_eq(decide(early), MG_STALE_CAUSE);
}
END_TEST

START_TEST(expired_attempt_is_maybe_and_is_repeated_under_the_same_key)
{
    submit();
    ck_assert_int_eq(overdue(0), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert(order.steps[0].is_maybe);
    ck_assert_uint_eq(order.failure_count, 1);
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_uint_eq(order.steps[0].attempt, 2);
    ck_assert_uint_eq(order.steps[0].generation, 0);
}
END_TEST

START_TEST(attempts_then_cool_down_then_failure_then_compensation)
{
    plan.steps[1].retry.cool_downs = 1;
    submit();
    reply(0, MG_OUTCOME_DONE);
    for (int round = 0; round < 2; round++) {
        for (int attempt = 0; attempt < 3; attempt++) {
            ck_assert_int_eq(order.steps[1].state, MG_STEP_RUNNING);
            ck_assert_int_eq(reply_executed(1, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO), MG_GO);
            if (round == 0 || attempt < 2) {
                ck_assert_int_eq(order.steps[1].reason == MG_REASON_COOLING_DOWN, attempt == 2);
                due(1);
            }
        }
    }
    ck_assert_int_eq(order.steps[1].state, MG_STEP_FAILED);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    ck_assert(has_status(MG_STATUS_COMPENSATING));
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(reply(0, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDONE);
}
END_TEST

/* Guard: maybe. The first try may have executed, the second was refused: it must be undone all the same. */
START_TEST(refused_after_maybe_is_undone)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(reply_executed(1, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE), MG_GO);
    due(1);
    ck_assert_int_eq(reply_executed(1, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO), MG_GO);
    ck_assert_int_eq(order.steps[1].state, MG_STEP_UNDO_RUNNING);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_PENDING);
    reply(1, MG_OUTCOME_ABSENT);
    ck_assert(has_request(0, MG_KIND_UNDO));
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

START_TEST(provable_refusal_is_not_undone)
{
    submit();
    ck_assert_int_eq(reply(0, MG_OUTCOME_PERMANENT), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_FAILED);
}
END_TEST

/* Guard: quiesce. An undo may not overtake the do it undoes. */
START_TEST(undo_waits_until_an_expired_attempt_can_no_longer_act)
{
    plan.steps[0].retry.attempts = 1;
    submit();
    ck_assert_int_eq(overdue(0), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_PENDING);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    int64_t quiet_at_ms = order.steps[0].due_at_ms;
    ck_assert_int_gt(quiet_at_ms, context.now_ms);
    ck_assert_int_eq(order.wake_at_ms, quiet_at_ms);
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

START_TEST(undo_waits_for_the_running_do)
{
    submit();
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_RUNNING);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
    reply(0, MG_OUTCOME_DONE);
    ck_assert(has_request(0, MG_KIND_UNDO));
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_CANCELLED);
    ck_assert(has_status(MG_STATUS_CANCELLED));
}
END_TEST

START_TEST(unknown_step_is_verified_after_quiesce_and_found_done)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    overdue(0);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_int_eq(order.steps[0].due_at_ms, order.steps[0].quiet_at_ms);
    due(0);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert(has_request(1, MG_KIND_DO));
}
END_TEST

START_TEST(absence_steers_the_retry_and_clears_maybe_only_if_final)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    plan.steps[0].is_absent_final = _i == 1;
    submit();
    overdue(0);
    due(0);
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_int_eq(order.steps[0].is_maybe, _i == 0);
    due(0);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

START_TEST(doubt_without_verify_is_settled_by_the_operator)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_OPERATOR;
    submit();
    reply(0, MG_OUTCOME_UNKNOWN);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_OUTCOME_UNKNOWN));
    ck_assert(mg_order_is_moving(&order, context.now_ms));
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, _i == 0 ? MG_OUTCOME_DONE : MG_OUTCOME_ABSENT), MG_GO);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_OUTCOME_UNKNOWN));
    ck_assert(has_request(_i == 0 ? 1 : 0, MG_KIND_DO));
    ck_assert(!order.steps[0].is_maybe || _i == 0);
}
END_TEST

START_TEST(at_most_once_is_never_sent_twice)
{
    plan.steps[0].is_at_most_once = true;
    plan.steps[0].retry.attempts = 1;
    submit();
    overdue(0);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNKNOWN);
    ck_assert_int_eq(order.steps[0].due_at_ms, 0);
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 0);
}
END_TEST

START_TEST(accepted_work_is_polled_until_done)
{
    plan.steps[0].finish_within_ms = 60000;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    due(0);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    reply(0, MG_OUTCOME_ACCEPTED);
    due(0);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert_uint_eq(order.failure_count, 0);
}
END_TEST

START_TEST(accepted_work_that_never_finishes_is_undone)
{
    plan.steps[0].finish_within_ms = 5000;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    for (int i = 0; i < 20 && order.state == MG_ORDER_PROCESSING; i++) {
        due(0);
        reply(0, MG_OUTCOME_ACCEPTED);
    }
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

/* Guard: waiting is not failing. */
START_TEST(service_that_is_away_costs_no_attempt)
{
    submit();
    struct mg_cause down = {.kind = MG_CAUSE_REPLY,
                            .step = 0,
                            .attempt = 1,
                            .reply = {.outcome = MG_OUTCOME_TRANSIENT,
                                      .executed = MG_EXECUTED_NO,
                                      .is_service_down = true,
                                      .is_service_paused = _i == 1,
                                      .retry_after_ms = -1}};
    enum mg_reason reason = _i == 1 ? MG_REASON_SERVICE_PAUSED : MG_REASON_BREAKER_OPEN;
    ck_assert_int_eq(decide(down), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_int_eq(order.steps[0].reason, reason);
    context.gate[0] = reason;
    for (int i = 0; i < 50; i++) {
        uint64_t version = order.version;
        ck_assert_int_eq(due(0), MG_DUPLICATE);
        ck_assert_uint_eq(order.version, version);
    }
    context.gate[0] = MG_REASON_NONE;
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_uint_eq(order.failure_count, 0);
    context.gate[0] = _i == 1 ? MG_REASON_SERVICE_PAUSED : MG_REASON_NO_CONSUMER;
    ck_assert_int_eq(overdue(0), MG_GO);
    ck_assert_uint_eq(order.steps[0].failure_count, 0);
    ck_assert(order.steps[0].is_maybe);
}
END_TEST

/* Law 7, waiting is not failing. Catches: waits that are over behind a closed gate, and are asked about for
 * ever. */
START_TEST(a_wait_that_is_over_before_a_closed_gate_is_parked_once)
{
    static const enum mg_kind KINDS[] = {MG_KIND_DO, MG_KIND_VERIFY, MG_KIND_UNDO, MG_KIND_VERIFY};
    static const enum mg_step_state STATES[] = {MG_STEP_WAITING, MG_STEP_UNKNOWN, MG_STEP_UNDO_WAITING,
                                                MG_STEP_WAITING};
    plan.steps[0].on_unknown = _i == 1 ? MG_ON_UNKNOWN_VERIFY : MG_ON_UNKNOWN_RETRY;
    plan.steps[0].finish_within_ms = _i == 3 ? 3600000 : 0;
    submit();
    context.gate[0] =
        _i == 1 ? MG_REASON_SERVICE_PAUSED : MG_REASON_NONE; /* a step in doubt is asked about at once */
    reply(0, _i == 2 ? MG_OUTCOME_DONE : _i == 3 ? MG_OUTCOME_ACCEPTED : MG_OUTCOME_TRANSIENT);
    if (_i == 2) {
        reply(1, MG_OUTCOME_PERMANENT);
        reply(0, MG_OUTCOME_TRANSIENT);
    }
    ck_assert_int_eq(order.steps[0].state, STATES[_i]);
    ck_assert_int_eq(mg_step_is_parked(&order.steps[0]), _i == 1);
    context.gate[0] = MG_REASON_SERVICE_PAUSED;
    uint32_t attempt = order.steps[0].attempt, failures = order.steps[0].failure_count;
    if (_i != 1) {
        ck_assert_int_eq(due(0), MG_GO);
        ck_assert_int_eq(decision.transition_count, 1);
    }
    ck_assert_int_eq(order.steps[0].state, STATES[_i]);
    ck_assert(mg_step_is_parked(&order.steps[0]));
    uint64_t version = order.version;
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(due(0), MG_DUPLICATE);
    }
    ck_assert_uint_eq(order.version, version);
    context.gate[0] = MG_REASON_NONE;
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert(has_request(0, KINDS[_i]));
    ck_assert(!mg_step_is_parked(&order.steps[0]));
    ck_assert_uint_eq(order.steps[0].attempt, attempt + 1);
    ck_assert_uint_eq(order.steps[0].failure_count, failures);
}
END_TEST

START_TEST(unpublishable_request_is_parked_and_counts_nothing)
{
    submit();
    struct mg_cause refused = {.kind = MG_CAUSE_UNPUBLISHABLE,
                               .step = 0,
                               .attempt = 1,
                               .unpublishable = {.executed = _i == 0 ? MG_EXECUTED_NO : MG_EXECUTED_MAYBE}};
    ck_assert_int_eq(decide(refused), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_UNPUBLISHABLE);
    ck_assert_uint_eq(order.failure_count, 0);
    ck_assert_int_eq(order.steps[0].is_maybe, _i == 1);
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_uint_eq(order.steps[0].attempt, 2);
}
END_TEST

START_TEST(after_the_pivot_a_failure_calls_a_person_and_is_resumed_forward)
{
    plan.steps[1].is_pivot = true;
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_DONE);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_REFUSED);
    reply(2, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_ORDER_ERROR));
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_ORDER_ERROR));
    ck_assert(has_request(2, MG_KIND_DO));
    ck_assert_uint_eq(order.steps[2].generation, 1);
    reply(2, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSED);
}
END_TEST

START_TEST(pivot_that_turns_out_done_turns_the_order_forward_again)
{
    plan.steps[1].is_pivot = true;
    submit();
    reply(0, MG_OUTCOME_DONE);
    operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    reply(1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_PROCESSING);
    ck_assert(has_request(2, MG_KIND_DO));
}
END_TEST

START_TEST(failed_undo_does_not_stop_the_others_and_is_resumed)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_DONE);
    reply(2, MG_OUTCOME_PERMANENT);
    ck_assert(has_request(1, MG_KIND_UNDO));
    ck_assert_int_eq(reply(1, MG_OUTCOME_PERMANENT), MG_GO);
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_UNDO_FAILED));
    ck_assert(has_request(0, MG_KIND_UNDO));
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_uint_eq(mg_order_not_undone(&plan, &order), 2);
    let_be_quiet(1);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_UNDO_FAILED));
    ck_assert(has_request(1, MG_KIND_UNDO));
    reply(1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

START_TEST(do_after_undo_has_a_new_key)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_status(MG_STATUS_ACCEPTED));
    ck_assert(has_request(0, MG_KIND_DO));
    ck_assert_uint_eq(order.steps[0].generation, 1);
    ck_assert_uint_eq(order.steps[0].attempt, 3);
    ck_assert_uint_eq(order.generation, 1);
}
END_TEST

START_TEST(parallel_steps_one_fails_while_the_other_runs)
{
    plan.steps[1].after = 0;
    plan.steps[2].after = 3;
    submit();
    ck_assert_int_eq(count_effects(MG_EFFECT_REQUEST), 2);
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    ck_assert_int_eq(order.steps[1].state, MG_STEP_RUNNING);
    reply(1, MG_OUTCOME_DONE);
    ck_assert(has_request(1, MG_KIND_UNDO));
    reply(1, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

START_TEST(order_past_its_complete_by_turns_back_once)
{
    plan.complete_within_ms = 5000;
    submit();
    reply(0, MG_OUTCOME_DONE);
    context.now_ms += 10000;
    struct mg_cause expired = {.kind = MG_CAUSE_EXPIRED, .step = -1};
    ck_assert_int_eq(decide(expired), MG_GO);
    ck_assert_int_eq(order.goal, MG_GOAL_COMPENSATED);
    ck_assert_int_eq(decide(expired), MG_STALE_CAUSE);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_DUPLICATE);
    reply(1, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_DONE);
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

START_TEST(command_decided_on_an_older_version_is_a_conflict)
{
    submit();
    struct mg_cause cancel = {.kind = MG_CAUSE_CANCEL, .step = -1, .version = order.version};
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(decide(cancel), MG_STALE_CAUSE);
}
END_TEST

START_TEST(changed_payload_is_refused_while_a_step_may_have_executed)
{
    plan.on_failure = MG_ON_FAILURE_ERROR;
    submit();
    if (_i == 1) {
        reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE);
        due(0);
    }
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    struct mg_cause repair = {.kind = MG_CAUSE_RESUME,
                              .step = -1,
                              .version = order.version,
                              .resume = {.is_request_changed = true}};
    ck_assert_int_eq(decide(repair), _i == 1 ? MG_REFUSED : MG_GO);
    if (_i == 0) {
        ck_assert_uint_ge(order.steps[0].generation, 1);
    }
}
END_TEST

START_TEST(changed_request_under_the_same_key_stops_the_order)
{
    submit();
    struct mg_cause changed = {.kind = MG_CAUSE_REQUEST_CHANGED, .step = 0, .attempt = 1};
    ck_assert_int_eq(decide(changed), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_FAILED);
}
END_TEST

/* An answer with Retry-After. */
static void answered(int step, enum mg_outcome outcome, enum mg_executed executed, int64_t retry_after_ms)
{
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                              .step = step,
                                              .attempt = order.steps[step].attempt,
                                              .reply = {.kind = order.steps[step].kind,
                                                        .outcome = outcome,
                                                        .executed = executed,
                                                        .retry_after_ms = retry_after_ms}}),
                     MG_GO);
}

static void asked(int step, enum mg_executed executed, int64_t retry_after_ms)
{
    answered(step, MG_OUTCOME_TRANSIENT, executed, retry_after_ms);
}

static const struct {
    enum mg_executed executed;
    enum mg_on_unknown on_unknown;
    uint32_t cool_downs;
} ASKED[] = {
    {MG_EXECUTED_NO, MG_ON_UNKNOWN_RETRY, 0},
    {MG_EXECUTED_MAYBE, MG_ON_UNKNOWN_RETRY, 0},
    {MG_EXECUTED_MAYBE, MG_ON_UNKNOWN_VERIFY, 0},
    {MG_EXECUTED_NO, MG_ON_UNKNOWN_RETRY, 1}, /* the cool-down is shorter */
};

/* Catches: attempts that are used up before the moment at which the service will answer. */
START_TEST(a_step_waits_for_as_long_as_the_service_asks)
{
    const int64_t wait_ms = 20 * 60000;
    plan.complete_within_ms = 2 * 3600000;
    plan.steps[0].on_unknown = ASKED[_i].on_unknown;
    plan.steps[0].retry.attempts = ASKED[_i].cool_downs > 0 ? 1 : 2;
    plan.steps[0].retry.cool_downs = ASKED[_i].cool_downs;
    submit();
    asked(0, ASKED[_i].executed, wait_ms);
    const struct mg_step *step = &order.steps[0];
    ck_assert_int_eq(step->due_at_ms, context.now_ms + wait_ms);
    ck_assert_int_eq(step->reason, MG_REASON_ASKED_TO_WAIT);
    uint32_t attempt = step->attempt;
    context.now_ms += wait_ms / 2;
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_DUE, .step = 0, .attempt = attempt}),
                     MG_STALE_CAUSE); /* neither cut as the wait of a clock that was ahead */
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert_int_eq(step->attempt, attempt + 1);
}
END_TEST

/* Catches: a service that prolongs the time of an order. */
START_TEST(an_order_ends_by_its_law_while_its_service_asks_to_wait)
{
    submit();
    asked(0, MG_EXECUTED_NO, 30 * INT64_C(86400000));
    ck_assert_int_eq(order.steps[0].due_at_ms, order.complete_by_ms); /* nor an hour after the end */
    ck_assert_int_le(order.wake_at_ms, order.complete_by_ms);
    context.now_ms = order.complete_by_ms;
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_EXPIRED, .step = -1}), MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(order.reason, MG_REASON_ORDER_EXPIRED);
}
END_TEST

/* Catches: an undo that is given up before the moment at which the service takes it. */
START_TEST(an_undo_waits_for_as_long_as_the_service_asks)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    asked(0, MG_EXECUTED_NO, 3600000);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_ASKED_TO_WAIT);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + 3600000);
}
END_TEST

/* Catches: a moment in place of seconds, by which a step waits for a year without a word. */
START_TEST(a_wait_without_a_time_that_bounds_it_is_an_hour_at_most)
{
    const int64_t year_ms = 365 * INT64_C(86400000);
    plan.complete_within_ms = _i == 0 ? 0 : plan.complete_within_ms;
    submit();
    if (_i == 1) {
        reply(0, MG_OUTCOME_DONE);
        reply(1, MG_OUTCOME_PERMANENT);
    }
    asked(0, MG_EXECUTED_NO, year_ms);
    ck_assert_int_eq(order.steps[0].state, _i == 0 ? MG_STEP_WAITING : MG_STEP_UNDO_WAITING);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_ASKED_TO_WAIT);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + MG_RETRY_AFTER_UNBOUNDED_MS);
}
END_TEST

/* Catches: accepted work that is polled beyond its time, or before the moment that its service names. */
START_TEST(polls_wait_as_long_as_the_service_asks_within_the_time_of_the_work)
{
    plan.steps[0].finish_within_ms = 300000;
    plan.steps[0].poll_ms = 5000;
    submit();
    answered(0, MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES, 20000);
    const struct mg_step *step = &order.steps[0];
    ck_assert_int_eq(step->due_at_ms, context.now_ms + 20000);
    (void)due(0);
    answered(0, MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES, 30000);
    ck_assert_int_eq(step->due_at_ms, context.now_ms + 30000);
    (void)due(0);
    answered(0, MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES, 1000); /* the interval is longer */
    ck_assert_int_eq(step->due_at_ms, context.now_ms + 5000);
    (void)due(0);
    asked(0, MG_EXECUTED_MAYBE, 30 * INT64_C(86400000));
    ck_assert_int_eq(step->due_at_ms, step->finish_by_ms);
}
END_TEST

START_TEST(retry_after_is_honoured_and_clamped)
{
    ck_assert_int_ge(mg_backoff_ms(100, 1000, 0, 5000, 3), 5000);
    ck_assert_int_eq(mg_backoff_ms(100, 1000, 0, INT64_MAX, 3), MG_RETRY_AFTER_MAX_MS);
    for (uint64_t random = 0; random < 5000; random += 7) {
        int64_t wait_ms = mg_backoff_ms(100, 1000, 40, -1, random);
        ck_assert_int_ge(wait_ms, 1);
        ck_assert_int_le(wait_ms, 1000);
        ck_assert_int_le(mg_backoff_ms(100, 1000, 1, -1, random), 200);
    }
}
END_TEST

START_TEST(keys_are_derived_from_order_step_kind_and_generation)
{
    char key[MG_KEY_SIZE];
    mg_key_write("o-1", "charge", MG_KIND_DO, 0, key);
    ck_assert_str_eq(key, "o-1.charge.do");
    mg_key_write("o-1", "charge", MG_KIND_VERIFY, 2, key);
    ck_assert_str_eq(key, "o-1.charge.do.2");
    mg_correlation_write("o-1", "charge", 4294967295u, MG_KIND_UNDO, key);
    ck_assert_str_eq(key, "o-1.charge.4294967295.undo");
    ck_assert(!mg_order_id_is_valid("a b", 3));
    ck_assert(!mg_order_id_is_valid("a\0b", 3));
    ck_assert(mg_name_is_valid("a-1_b", 5));
    ck_assert(!mg_name_is_valid("1a", 2));
}
END_TEST

/* Catches: a charge that is made only to be undone, since a step after it in the definition turns the order
 * back. */
START_TEST(no_request_goes_out_in_a_decision_that_turns_the_order_back)
{
    plan.steps[0].has_guard = true;
    plan.steps[1].after = plan.steps[2].after = plan.steps[2].needs = 1;
    submit();
    order.steps[2].is_maybe = true; /* as after a restart */
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_FACTS, .facts = {.fact = MG_FACT_SKIP}}),
                     MG_GO);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    ck_assert_int_eq(order.steps[1].state, MG_STEP_PENDING);
    ck_assert(!has_request(1, MG_KIND_DO));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide");
    TCase *cases = tcase_create("scenarios");
    tcase_add_checked_fixture(cases, setup, NULL);
    tcase_add_test(cases, order_goes_step_by_step_to_processed);
    tcase_add_test(cases, step_status_is_sent_if_asked_for);
    tcase_add_test(cases, reply_of_an_older_attempt_changes_nothing);
    tcase_add_test(cases, reply_of_another_kind_changes_nothing);
    tcase_add_test(cases, second_reply_of_an_attempt_is_a_duplicate);
    tcase_add_test(cases, reply_ahead_of_the_row_proves_lost_state);
    tcase_add_test(cases, late_reply_counts_until_the_attempt_is_judged);
    tcase_add_test(cases, command_of_expiry_before_the_deadline_is_stale);
    tcase_add_test(cases, expired_attempt_is_maybe_and_is_repeated_under_the_same_key);
    tcase_add_test(cases, attempts_then_cool_down_then_failure_then_compensation);
    tcase_add_test(cases, refused_after_maybe_is_undone);
    tcase_add_test(cases, provable_refusal_is_not_undone);
    tcase_add_test(cases, undo_waits_until_an_expired_attempt_can_no_longer_act);
    tcase_add_test(cases, undo_waits_for_the_running_do);
    tcase_add_test(cases, unknown_step_is_verified_after_quiesce_and_found_done);
    tcase_add_loop_test(cases, absence_steers_the_retry_and_clears_maybe_only_if_final, 0, 2);
    tcase_add_loop_test(cases, doubt_without_verify_is_settled_by_the_operator, 0, 2);
    tcase_add_test(cases, at_most_once_is_never_sent_twice);
    tcase_add_test(cases, accepted_work_is_polled_until_done);
    tcase_add_test(cases, accepted_work_that_never_finishes_is_undone);
    tcase_add_loop_test(cases, service_that_is_away_costs_no_attempt, 0, 2);
    tcase_add_loop_test(cases, a_wait_that_is_over_before_a_closed_gate_is_parked_once, 0, 4);
    tcase_add_loop_test(cases, unpublishable_request_is_parked_and_counts_nothing, 0, 2);
    tcase_add_test(cases, after_the_pivot_a_failure_calls_a_person_and_is_resumed_forward);
    tcase_add_test(cases, pivot_that_turns_out_done_turns_the_order_forward_again);
    tcase_add_test(cases, failed_undo_does_not_stop_the_others_and_is_resumed);
    tcase_add_test(cases, do_after_undo_has_a_new_key);
    tcase_add_test(cases, parallel_steps_one_fails_while_the_other_runs);
    tcase_add_test(cases, order_past_its_complete_by_turns_back_once);
    tcase_add_test(cases, command_decided_on_an_older_version_is_a_conflict);
    tcase_add_loop_test(cases, changed_payload_is_refused_while_a_step_may_have_executed, 0, 2);
    tcase_add_test(cases, changed_request_under_the_same_key_stops_the_order);
    tcase_add_loop_test(cases, a_step_waits_for_as_long_as_the_service_asks, 0,
                        sizeof(ASKED) / sizeof(ASKED[0]));
    tcase_add_test(cases, an_order_ends_by_its_law_while_its_service_asks_to_wait);
    tcase_add_test(cases, an_undo_waits_for_as_long_as_the_service_asks);
    tcase_add_loop_test(cases, a_wait_without_a_time_that_bounds_it_is_an_hour_at_most, 0, 2);
    tcase_add_test(cases, polls_wait_as_long_as_the_service_asks_within_the_time_of_the_work);
    tcase_add_test(cases, retry_after_is_honoured_and_clamped);
    tcase_add_test(cases, keys_are_derived_from_order_step_kind_and_generation);
    tcase_add_test(cases, no_request_goes_out_in_a_decision_that_turns_the_order_back);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
