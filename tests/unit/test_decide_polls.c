/* Accepted work: the effect of a failed poll, and events that do not end the work. */
#include "decide_fixture.h"
#include "suite.h"

/* Possible ends of a poll without an answer: the service fails, is unclear, refuses, or no reply comes. */
static enum mg_verdict poll_fails(int way)
{
    static const enum mg_outcome OUTCOMES[] = {MG_OUTCOME_TRANSIENT, MG_OUTCOME_UNKNOWN,
                                               MG_OUTCOME_PERMANENT};
    (void)due(0);
    ck_assert_int_eq(order.steps[0].kind, MG_KIND_VERIFY);
    return way == 3 ? overdue(0) : reply_executed(0, OUTCOMES[way], MG_EXECUTED_MAYBE);
}

/* Guard: accepted work is not ended by a poll. Catches: an order turned back, and its work undone, because
 * the service was away for some seconds now and then. */
START_TEST(accepted_work_is_asked_about_however_often_that_fails)
{
    plan.steps[0].finish_within_ms = 24 * 3600000;
    plan.steps[0].poll_ms = 5000;
    plan.complete_within_ms = 0;
    plan.steps[0].is_at_most_once = _i >= 4;
    plan.steps[0].retry.attempts = _i >= 4 ? 1 : 3;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    int64_t longest_ms = 0;
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(poll_fails(_i % 4), MG_GO);
        ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
        int64_t wait_ms = order.steps[0].due_at_ms - context.now_ms;
        ck_assert_int_ge(wait_ms, 5000);
        ck_assert_int_le(wait_ms, 30000);
        longest_ms = wait_ms > longest_ms ? wait_ms : longest_ms;
        ck_assert_int_eq(has_alert(MG_EFFECT_ALERT, MG_ALERT_POLLS_FAILING), i + 1 == MG_POLL_FAILURES_ALERT);
    }
    ck_assert_int_gt(longest_ms, 20000);
    ck_assert_uint_eq(order.failure_count, 0);
    due(0);
    reply(0, MG_OUTCOME_ACCEPTED); /* a good one ends the row */
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_POLLS_FAILING));
    ck_assert_uint_eq(order.steps[0].poll_failure_count, 0);
    ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + 5000);
    for (int i = 0; i < MG_POLL_FAILURES_ALERT; i++) {
        (void)poll_fails(_i % 4);
    }
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_POLLS_FAILING));
    due(0);
    reply(0, MG_OUTCOME_DONE);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_POLLS_FAILING));
    ck_assert_int_eq(order.steps[0].state, MG_STEP_DONE);
    ck_assert(has_request(1, MG_KIND_DO));
}
END_TEST

/* Catches: work that is polled for ever, because its polls only fail. */
START_TEST(accepted_work_whose_polls_only_fail_ends_when_its_time_is_over)
{
    plan.steps[0].finish_within_ms = 300000;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    int64_t finish_by_ms = order.steps[0].finish_by_ms;
    bool is_told = false;
    for (int i = 0; i < 100 && order.state == MG_ORDER_PROCESSING; i++) {
        ck_assert_int_le(order.steps[0].due_at_ms, finish_by_ms);
        (void)poll_fails(_i);
        is_told = is_told || has_alert(MG_EFFECT_ALERT, MG_ALERT_POLLS_FAILING);
    }
    ck_assert(is_told);
    ck_assert_int_ge(context.now_ms, finish_by_ms);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATING);
    ck_assert(order.steps[0].is_maybe);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_POLLS_FAILING));
    ck_assert_uint_eq(order.failure_count, 1);
}
END_TEST

/* Catches: a refund in progress whose polls fail for days, and nobody is told. */
START_TEST(failing_polls_of_an_accepted_undo_are_reported)
{
    plan.steps[0].undo_finish_within_ms = 24 * 3600000;
    plan.steps[0].undo_poll_ms = 5000;
    plan.steps[0].has_undo_verify = true;
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    reply(2, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_RUNNING);
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
    for (int i = 0; i < 2 * MG_POLL_FAILURES_ALERT; i++) {
        ck_assert_int_eq(poll_fails(_i), MG_GO);
        ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
        ck_assert_int_eq(has_alert(MG_EFFECT_ALERT, MG_ALERT_POLLS_FAILING), i + 1 == MG_POLL_FAILURES_ALERT);
    }
    due(0);
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_POLLS_FAILING));
    for (int i = 0; i < MG_POLL_FAILURES_ALERT; i++) {
        (void)poll_fails(_i);
    }
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_POLLS_FAILING));
    due(0);
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDONE);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_POLLS_FAILING));
}
END_TEST

/* Catches: polls that failed being taken for attempts of the do. */
START_TEST(accepted_work_that_is_gone_is_done_again_whatever_its_polls)
{
    plan.steps[0].finish_within_ms = 600000;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    for (int i = 0; i < MG_POLL_FAILURES_ALERT; i++) {
        (void)poll_fails(0);
    }
    let_work_be_over(0);
    due(0);
    ck_assert_int_ge(context.now_ms, order.steps[0].quiet_at_ms);
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_POLLS_FAILING));
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    ck_assert_int_lt(order.steps[0].due_at_ms, context.now_ms + 1000);
    due(0);
    ck_assert(has_request(0, MG_KIND_DO));
    (void)reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO); /* it has two more attempts */
    ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
    due(0);
    ck_assert(has_request(0, MG_KIND_DO));
}
END_TEST

/* Guard: lost work counts. Catches: a service that answers every do with 202, loses it, and is called again
 * for ever, against the number in `retry`. */
START_TEST(accepted_work_that_is_lost_repeatedly_has_the_attempts_of_retry)
{
    plan.steps[0].finish_within_ms = 600000;
    plan.steps[0].is_absent_final = _i == 1;
    plan.complete_within_ms = 0;
    submit();
    int attempts = 0;
    while (order.state == MG_ORDER_PROCESSING && attempts < 100) {
        attempts++;
        reply(0, MG_OUTCOME_ACCEPTED);
        let_work_be_over(0);
        due(0);
        ck_assert_int_eq(order.steps[0].kind, MG_KIND_VERIFY);
        ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
        if (order.steps[0].state == MG_STEP_WAITING) {
            due(0);
        }
    }
    ck_assert_int_eq(attempts, (int)(plan.steps[0].retry.attempts * (plan.steps[0].retry.cool_downs + 1)));
}
END_TEST

/* Guard: a 202 leaves its work all of its time (law 11, quiesce). Catches: an order that ends, or a do that
 * goes out again, while the work may yet act, because an early verify found nothing. */
START_TEST(accepted_work_is_not_absent_before_its_time_is_over)
{
    plan.steps[0].finish_within_ms = 600000;
    plan.steps[0].poll_ms = 1000;
    plan.steps[0].is_absent_final = true;
    plan.steps[0].is_at_most_once = _i == 1;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    int64_t end_ms = order.steps[0].finish_by_ms;
    ck_assert_int_gt(end_ms, order.steps[0].quiet_at_ms);
    int looks = 0;
    for (; order.steps[0].due_at_ms + 2000 < end_ms; looks++) { /* a second a decision */
        due(0);
        ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
        ck_assert_int_eq(order.steps[0].reason, MG_REASON_REMOTE_WORKING);
        ck_assert_int_eq(order.steps[0].due_at_ms, context.now_ms + 1000);
        ck_assert(order.steps[0].is_maybe);
    }
    ck_assert_int_gt(looks, 0);
    context.now_ms = end_ms;
    due(0);
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_VERIFIED_ABSENT);
    ck_assert(!order.steps[0].is_maybe);
}
END_TEST

/* An answer is as old as its request. Catches: a second charge under another key, since a poll that found
 * nothing was sent before the work was over, and read after. */
START_TEST(a_poll_sent_before_the_work_was_over_proves_no_absence)
{
    plan.steps[0].finish_within_ms = 600000;
    plan.steps[0].is_absent_final = true;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    due(0);
    let_work_be_over(0);
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_REMOTE_WORKING);
    ck_assert(order.steps[0].is_maybe);
    due(0);
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_VERIFIED_ABSENT);
    ck_assert(!order.steps[0].is_maybe);
}
END_TEST

/* Catches: one attempt counted twice, as doubt and as lost work. */
START_TEST(work_that_a_verify_finds_under_way_has_not_failed)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    (void)reply_executed(0, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE);
    ck_assert_uint_eq(order.steps[0].failure_count, 1);
    context.now_ms = order.steps[0].due_at_ms;
    due(0);
    ck_assert_int_eq(reply(0, MG_OUTCOME_ACCEPTED), MG_GO);
    ck_assert_uint_eq(order.steps[0].failure_count, 0);
    let_work_be_over(0);
    due(0);
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_uint_eq(order.steps[0].failure_count, 1);
}
END_TEST

/* The do has no answer, its order is cancelled, and the undo goes out. Returns the end of the work's time. */
static int64_t cancel_a_doubt(void)
{
    plan.steps[0].finish_within_ms = 600000;
    plan.steps[0].poll_ms = 5000;
    plan.complete_within_ms = 0;
    submit();
    (void)reply_executed(0, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE);
    int64_t end_ms = context.now_ms + 600000;
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    if (!has_request(0, MG_KIND_UNDO)) {
        due(0);
    }
    ck_assert(has_request(0, MG_KIND_UNDO));
    return end_ms;
}

/* Undos find nothing until this moment; returns how many went out. */
static int find_nothing_until(int64_t end_ms)
{
    int count = 0;
    while (context.now_ms < end_ms) {
        ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
        ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
        ck_assert_int_eq(order.steps[0].reason, MG_REASON_REMOTE_WORKING);
        ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_DUE, .attempt = order.steps[0].attempt}),
                         MG_STALE_CAUSE); /* a second copy of the cause ends no wait */
        due(0);
        ck_assert(has_request(0, MG_KIND_UNDO));
        count++;
    }
    return count;
}

/* Catches: a charge that its service accepted with a 202 which was lost, and makes after the order is
 * cancelled. */
START_TEST(an_undo_that_finds_nothing_goes_on_while_work_of_a_lost_202_may_begin)
{
    int64_t end_ms = cancel_a_doubt();
    int count = find_nothing_until(end_ms);
    ck_assert_int_gt(count, 2);
    ck_assert_int_lt(count, 100);
    ck_assert_int_eq(reply(0, _i == 0 ? MG_OUTCOME_ABSENT : MG_OUTCOME_DONE), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDONE);
    ck_assert_int_eq(order.state, MG_ORDER_CANCELLED);
}
END_TEST

/* An answer is as old as its request. Catches: a charge that stands in a compensated order: the undo looked
 * before it was made, and the answer was read after the time of the work. */
START_TEST(an_undo_sent_before_the_work_was_over_proves_no_absence)
{
    int64_t end_ms = cancel_a_doubt();
    ck_assert(has_request(0, MG_KIND_UNDO));
    context.now_ms = end_ms;
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_WAITING);
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDONE);
}
END_TEST

/* The same of the undo's own verify. Catches: a second refund next to one that the service has begun since.
 */
START_TEST(a_poll_of_an_undo_sent_before_that_was_over_proves_no_absence)
{
    plan.steps[0].has_undo_verify = true;
    plan.steps[0].undo_finish_within_ms = 600000;
    plan.steps[0].undo_poll_ms = 1000;
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    reply(0, MG_OUTCOME_ACCEPTED);
    due(0);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    let_work_be_over(0);
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_REMOTE_WORKING);
    due(0);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

enum way_anew { ANEW_RESUME_PARKED, ANEW_SETTLE, ANEW_RESUME_FAILED, ANEW_COUNT };

static enum mg_verdict begin_anew(enum way_anew way)
{
    context.known_results = 1;
    struct mg_cause cause = {.kind = MG_CAUSE_RESUME, .step = -1, .version = order.version};
    if (way == ANEW_SETTLE) {
        cause.kind = MG_CAUSE_SETTLE;
        cause.step = 0;
        cause.settle = (struct mg_cause_settle){
            .outcome = MG_OUTCOME_DONE, .has_result = true, .is_result_missing = true};
    }
    return decide(cause);
}

/* Catches: a charge that comes after its order is cancelled, since an operator's verb has made the undo
 * forget until when the accepted work may act. */
START_TEST(an_undo_that_begins_anew_keeps_the_time_of_the_work)
{
    bool has_failed = _i == ANEW_RESUME_FAILED;
    plan.steps[0].needs_result = _i == ANEW_SETTLE || has_failed;
    plan.steps[0].learn = plan.steps[0].needs_result ? MG_LEARN_VERIFY : MG_LEARN_NONE;
    plan.steps[0].finish_within_ms = 600000;
    plan.complete_within_ms = 0;
    submit();
    (void)reply_executed(0, _i == ANEW_RESUME_PARKED ? MG_OUTCOME_UNKNOWN : MG_OUTCOME_ACCEPTED,
                         MG_EXECUTED_MAYBE);
    context.gate[0] = has_failed ? MG_REASON_NONE : MG_REASON_SERVICE_PAUSED;
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_GO);
    if (_i == ANEW_RESUME_PARKED && order.steps[0].state == MG_STEP_UNDO_PENDING) {
        due(0);
    }
    while (has_failed && order.steps[0].state != MG_STEP_UNDO_FAILED) {
        if (order.steps[0].state == MG_STEP_UNDO_WAITING || order.steps[0].state == MG_STEP_UNDO_PENDING) {
            due(0);
        }
        (void)reply(0, MG_OUTCOME_TRANSIENT);
    }
    ck_assert(!order.steps[0].is_undo_dispatched);
    int64_t finish_by_ms = order.steps[0].finish_by_ms;
    ck_assert_int_gt(finish_by_ms, context.now_ms);
    ck_assert_msg(begin_anew((enum way_anew)_i) == MG_GO, "%s", decision.why);
    ck_assert_int_eq(order.steps[0].finish_by_ms, finish_by_ms);
}
END_TEST

/* Catches: a lost answer to the undo, after which the work of the do, which may still begin, is forgotten. */
START_TEST(a_doubt_about_the_undo_keeps_the_time_of_the_work)
{
    plan.steps[0].has_undo_verify = true;
    int64_t end_ms = cancel_a_doubt();
    (void)reply_executed(0, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE);
    ck_assert(has_request(0, MG_KIND_VERIFY));
    ck_assert_int_eq(reply(0, MG_OUTCOME_ABSENT), MG_GO);
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_int_gt(find_nothing_until(end_ms), 2);
}
END_TEST

/* Catches: the alert of failed polls left open by another end of the polling. */
START_TEST(alert_of_failing_polls_closes_with_the_polling)
{
    plan.steps[0].finish_within_ms = 600000;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    for (int i = 0; i < MG_POLL_FAILURES_ALERT; i++) {
        (void)poll_fails(0);
    }
    ck_assert(has_alert(MG_EFFECT_ALERT, MG_ALERT_POLLS_FAILING));
    static const enum mg_cause_kind WORDS[] = {MG_CAUSE_CANCEL, MG_CAUSE_SKIP, MG_CAUSE_SETTLE};
    ck_assert_int_eq(operate(WORDS[_i], WORDS[_i] == MG_CAUSE_CANCEL ? -1 : 0, MG_OUTCOME_DONE), MG_GO);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_POLLS_FAILING));
}
END_TEST

/* Guard: the definition's word that the work is refused. Catches: work that is polled on, and undone,
 * although it has failed for good; and a verify's own refusal (401) that is taken for that word. */
START_TEST(accepted_work_that_was_refused_has_failed_and_is_not_undone)
{
    plan.steps[0].finish_within_ms = 600000;
    submit();
    reply(0, MG_OUTCOME_ACCEPTED);
    (void)due(0);
    ck_assert_int_eq(verify_refuses(_i == 1), MG_GO);
    if (_i == 0) {
        ck_assert_int_eq(order.steps[0].state, MG_STEP_WAITING);
        ck_assert(order.steps[0].is_maybe);
        return;
    }
    ck_assert_int_eq(order.steps[0].state, MG_STEP_FAILED);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_REPLY_PERMANENT);
    ck_assert(!order.steps[0].is_maybe && order.steps[0].is_refused && !order.steps[0].is_accepted);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_uint_eq(order.failure_count, 1);
}
END_TEST

/* The same after an answer that was lost. */
START_TEST(a_doubt_ends_when_a_verify_finds_the_work_refused)
{
    plan.steps[0].on_unknown = MG_ON_UNKNOWN_VERIFY;
    submit();
    ck_assert_int_eq(reply_executed(0, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE), MG_GO);
    ck_assert(order.steps[0].is_maybe);
    ck_assert_int_eq(verify_refuses(true), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_FAILED);
    ck_assert(!order.steps[0].is_maybe);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_polls");
    TCase *cases = tcase_create("scenarios");
    tcase_add_checked_fixture(cases, setup, NULL);
    tcase_add_loop_test(cases, accepted_work_is_asked_about_however_often_that_fails, 0, 8);
    tcase_add_loop_test(cases, accepted_work_whose_polls_only_fail_ends_when_its_time_is_over, 0, 4);
    tcase_add_loop_test(cases, failing_polls_of_an_accepted_undo_are_reported, 0, 4);
    tcase_add_test(cases, accepted_work_that_is_gone_is_done_again_whatever_its_polls);
    tcase_add_loop_test(cases, accepted_work_that_is_lost_repeatedly_has_the_attempts_of_retry, 0, 2);
    tcase_add_loop_test(cases, accepted_work_is_not_absent_before_its_time_is_over, 0, 2);
    tcase_add_test(cases, work_that_a_verify_finds_under_way_has_not_failed);
    tcase_add_loop_test(cases, accepted_work_that_was_refused_has_failed_and_is_not_undone, 0, 2);
    tcase_add_test(cases, a_doubt_ends_when_a_verify_finds_the_work_refused);
    tcase_add_test(cases, a_poll_sent_before_the_work_was_over_proves_no_absence);
    tcase_add_test(cases, an_undo_sent_before_the_work_was_over_proves_no_absence);
    tcase_add_test(cases, a_poll_of_an_undo_sent_before_that_was_over_proves_no_absence);
    tcase_add_loop_test(cases, an_undo_that_finds_nothing_goes_on_while_work_of_a_lost_202_may_begin, 0, 2);
    tcase_add_loop_test(cases, an_undo_that_begins_anew_keeps_the_time_of_the_work, 0, ANEW_COUNT);
    tcase_add_test(cases, a_doubt_about_the_undo_keeps_the_time_of_the_work);
    tcase_add_loop_test(cases, alert_of_failing_polls_closes_with_the_polling, 0, 3);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
