/* The key of an undo: it changes only by the operator's explicit word. */
#include "core/key.h"
#include "decide_fixture.h"
#include "suite.h"

/* Step 0 is done, and its undo is out. */
static void submit_undo(void)
{
    submit();
    reply(0, MG_OUTCOME_DONE);
    reply(1, MG_OUTCOME_PERMANENT);
    ck_assert(has_request(0, MG_KIND_UNDO));
}

/* The undo has failed, and a resume sends it, or asks about it, under its key. */
static void expect_resumed_under_its_key(void)
{
    uint32_t undo_generation = order.steps[0].undo_generation;
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    let_be_quiet(0);
    ck_assert_int_eq(operate(MG_CAUSE_RESUME, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_uint_eq(order.steps[0].undo_generation, undo_generation);
}

/* A further answer to the last request, which has failed: the agent lost its ack, and got it again. */
static enum mg_verdict copy_replies(enum mg_outcome outcome, enum mg_executed executed)
{
    return decide((struct mg_cause){
        .kind = MG_CAUSE_REPLY,
        .step = 0,
        .attempt = order.steps[0].attempt,
        .reply = {.kind = MG_KIND_UNDO, .outcome = outcome, .executed = executed, .retry_after_ms = -1}});
}

/* The service works on the undo, and its verify is due. */
static void submit_accepted_undo(void)
{
    plan.steps[0].has_undo_verify = true;
    plan.steps[0].undo_finish_within_ms = 60000;
    plan.steps[0].undo_poll_ms = 1000;
    submit_undo();
    reply(0, MG_OUTCOME_ACCEPTED);
    ck_assert_int_eq(due(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_VERIFY));
}

/* Law 8, derived identities. Catches: a second refund by a plain resume, in addition to a first one that some
 * answer was taken to exclude. */
START_TEST(a_refused_undo_is_resumed_under_its_key)
{
    submit_undo();
    reply(0, MG_OUTCOME_PERMANENT);
    expect_resumed_under_its_key();
    ck_assert(has_request(0, MG_KIND_UNDO));
}
END_TEST

/* Catches: a refund that a service refuses for ever, since it repeats the refusal that it remembers for the
 * key. */
START_TEST(each_repetition_of_a_refused_undo_has_another_key)
{
    submit_undo();
    for (uint32_t n = 1; n <= 3; n++) {
        reply(0, MG_OUTCOME_PERMANENT);
        let_be_quiet(0);
        ck_assert_int_eq(repeat(0), MG_GO);
        ck_assert(has_request(0, MG_KIND_UNDO));
        ck_assert_uint_eq(mg_key_generation(&order.steps[0], MG_KIND_UNDO), n);
        ck_assert_uint_eq(mg_key_generation(&order.steps[0], MG_KIND_DO), 0);
    }
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
    ck_assert_int_eq(operate(MG_CAUSE_RESTART, -1, MG_OUTCOME_DONE), MG_GO);
    ck_assert_uint_eq(order.steps[0].generation, 1);
    ck_assert_uint_eq(mg_key_generation(&order.steps[0], MG_KIND_UNDO), 4); /* no key comes twice */
}
END_TEST

/* Catches: a second refund, since the first one, of a lost answer, has another key. */
START_TEST(an_undo_in_doubt_is_resumed_under_its_key)
{
    static const enum mg_outcome LAST[] = {MG_OUTCOME_TRANSIENT, MG_OUTCOME_PERMANENT};
    submit_undo();
    overdue(0);
    due(0);
    ck_assert_int_eq(order.steps[0].reason, MG_REASON_QUIESCING); /* before any further undo */
    due(0);
    reply(0, LAST[_i]);
    expect_resumed_under_its_key();
    reply(0, MG_OUTCOME_PERMANENT);
    expect_resumed_under_its_key();
}
END_TEST

/* Catches: a second refund in addition to one that failed after its 202, by a service that tries it once
 * more. */
START_TEST(an_undo_that_its_verify_finds_failed_is_resumed_under_its_key)
{
    submit_accepted_undo();
    ck_assert_int_eq(verify_refuses(true), MG_GO);
    expect_resumed_under_its_key();
}
END_TEST

/* Catches: a second refund alongside one that the service works on. */
START_TEST(an_accepted_undo_whose_polls_fail_is_resumed_under_its_key)
{
    submit_accepted_undo();
    while (reply(0, MG_OUTCOME_TRANSIENT) == MG_GO && order.steps[0].state != MG_STEP_UNDO_FAILED) {
        due(0);
        ck_assert(has_request(0, MG_KIND_VERIFY));
    }
    expect_resumed_under_its_key();
    ck_assert(has_request(0, MG_KIND_VERIFY));
}
END_TEST

/* Catches: a refund of which a person knows that there is none, and that no verb sends anew. */
START_TEST(an_operator_has_a_failed_undo_repeated_under_another_key)
{
    submit_undo();
    ck_assert_int_eq(repeat(0), MG_REFUSED);
    overdue(0);
    ck_assert_int_eq(repeat(0), MG_REFUSED);
    due(0);
    reply(0, MG_OUTCOME_TRANSIENT);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    ck_assert_int_eq(repeat(1), MG_REFUSED);
    let_be_quiet(0);
    ck_assert_int_eq(repeat(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_uint_eq(order.steps[0].undo_generation, 1);
    reply(0, MG_OUTCOME_DONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

/* Law 11, quiesce. Catches: a second refund under another key, while the first one is still under way. */
START_TEST(no_undo_is_repeated_while_an_earlier_one_may_act)
{
    static const enum mg_outcome OUTCOMES[] = {MG_OUTCOME_TRANSIENT, MG_OUTCOME_PERMANENT};
    plan.steps[0].undo_retry.attempts = 1;
    submit_undo();
    (void)decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                   .step = 0,
                                   .attempt = order.steps[0].attempt,
                                   .reply = {.kind = MG_KIND_UNDO,
                                             .outcome = OUTCOMES[_i],
                                             .executed = MG_EXECUTED_MAYBE,
                                             .may_still_act = true,
                                             .retry_after_ms = -1}});
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    ck_assert_int_eq(repeat(0), MG_REFUSED);
    context.now_ms = order.steps[0].quiet_at_ms;
    ck_assert_int_eq(repeat(0), MG_GO);
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_uint_eq(order.steps[0].undo_generation, 1);
}
END_TEST

/* Catches: a second refund by another copy of the request, which one copy's refusal is taken to exclude. */
START_TEST(an_undo_with_a_second_copy_is_resumed_under_its_key)
{
    submit_undo();
    const struct mg_cause copy = {.kind = MG_CAUSE_REPUBLISHED, .attempt = order.steps[0].attempt};
    ck_assert_int_eq(decide(copy), MG_GO);
    ck_assert_int_eq(order.steps[0].quiet_at_ms, order.steps[0].complete_by_ms + context.quiesce_ms);
    ck_assert_int_eq(decide(copy), MG_DUPLICATE);
    reply(0, MG_OUTCOME_PERMANENT);
    expect_resumed_under_its_key();
}
END_TEST

/* Law 11, quiesce. Catches: two refunds, by the request that comes once more since its ack was lost, and by
 * the one under the next key. */
START_TEST(no_undo_has_another_key_while_a_refused_one_may_come_again)
{
    submit_undo();
    int64_t complete_by_ms = order.steps[0].complete_by_ms;
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(repeat(0), MG_REFUSED);
    ck_assert_int_eq(operate(MG_CAUSE_SETTLE, 0, MG_OUTCOME_ABSENT), MG_REFUSED);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    ck_assert_int_eq(order.steps[0].quiet_at_ms, complete_by_ms + context.quiesce_ms);
    let_be_quiet(0);
    ck_assert_int_eq(repeat(0), MG_GO);
    ck_assert_uint_eq(order.steps[0].undo_generation, 1);
}
END_TEST

/* Catches: the answer to such a request dropped, so that the undo which it made is made again. */
START_TEST(a_copy_that_undoes_ends_the_failed_undo)
{
    submit_undo();
    reply(0, MG_OUTCOME_PERMANENT);
    ck_assert_int_eq(copy_replies(MG_OUTCOME_PERMANENT, MG_EXECUTED_NO), MG_DUPLICATE);
    ck_assert_int_eq(copy_replies(MG_OUTCOME_DONE, MG_EXECUTED_YES), MG_GO);
    ck_assert(has_alert(MG_EFFECT_CLOSE_ALERT, MG_ALERT_UNDO_FAILED));
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDONE);
    ck_assert_int_eq(order.state, MG_ORDER_COMPENSATED);
}
END_TEST

/* Law 11, quiesce. Catches: an undo of a restarted order that overtakes one which its agent has given up. */
START_TEST(a_copy_that_undoes_may_act_until_its_time_is_over)
{
    submit_undo();
    reply(0, MG_OUTCOME_PERMANENT);
    let_be_quiet(0);
    struct mg_cause done = {.kind = MG_CAUSE_REPLY, .step = 0, .attempt = order.steps[0].attempt};
    done.reply = (struct mg_cause_reply){.kind = MG_KIND_UNDO,
                                         .outcome = MG_OUTCOME_DONE,
                                         .executed = MG_EXECUTED_YES,
                                         .may_still_act = _i == 1,
                                         .retry_after_ms = -1};
    ck_assert_int_eq(decide(done), MG_GO);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDONE);
    ck_assert_int_eq(order.steps[0].quiet_at_ms > context.now_ms, _i == 1);
}
END_TEST

/* Law 11, quiesce. Catches: a repetition under another key next to a copy that may act, or has acted, which
 * no verify was asked about. */
START_TEST(a_copy_in_doubt_is_waited_for_and_asked_about)
{
    plan.steps[0].has_undo_verify = _i == 1;
    submit_undo();
    reply(0, MG_OUTCOME_PERMANENT);
    let_be_quiet(0);
    ck_assert_int_eq(copy_replies(MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE), MG_GO);
    ck_assert_int_eq(repeat(0), MG_REFUSED);
    expect_resumed_under_its_key();
    ck_assert(has_request(0, _i == 1 ? MG_KIND_VERIFY : MG_KIND_UNDO));
}
END_TEST

/* Catches: a refund called failed of which a copy was accepted, by a definition that takes a 202 for done. */
START_TEST(a_copy_that_is_accepted_ends_the_failed_undo_without_finish_within)
{
    submit_undo();
    reply(0, MG_OUTCOME_PERMANENT);
    plan.steps[0].undo_finish_within_ms = _i == 0 ? 0 : 60000;
    ck_assert_int_eq(copy_replies(MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES), MG_GO);
    ck_assert_int_eq(order.steps[0].state, _i == 0 ? MG_STEP_UNDONE : MG_STEP_UNDO_FAILED);
}
END_TEST

/* Catches: a second refund next to one that its service accepted and begins late: its verify finds nothing
 * until its time is over, and its repetition is refused. */
START_TEST(an_accepted_undo_that_is_never_found_is_resumed_under_its_key)
{
    submit_accepted_undo();
    while (order.steps[0].state != MG_STEP_UNDO_FAILED) {
        (void)reply(0, order.steps[0].kind == MG_KIND_VERIFY ? MG_OUTCOME_ABSENT : MG_OUTCOME_PERMANENT);
        if (order.steps[0].state != MG_STEP_UNDO_FAILED) {
            due(0);
        }
    }
    ck_assert_int_eq(order.steps[0].kind, MG_KIND_UNDO);
    expect_resumed_under_its_key();
}
END_TEST

/* Catches: refunds that a client has sent again, and an alert that it closes, by cancelling again and again.
 */
START_TEST(an_order_that_is_turned_back_is_resumed_by_no_second_cancellation)
{
    static const enum mg_cause_kind KINDS[] = {MG_CAUSE_CANCEL, MG_CAUSE_COMPENSATE};
    submit_undo();
    reply(0, MG_OUTCOME_PERMANENT);
    let_be_quiet(0);
    ck_assert_int_eq(operate(KINDS[_i], -1, MG_OUTCOME_DONE), MG_REFUSED);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(order.steps[0].state, MG_STEP_UNDO_FAILED);
    expect_resumed_under_its_key();
}
END_TEST

/* Law 11, quiesce. Catches: several refunds by a service that finds the charge refunded once it has done so,
 * and does not know the key, behind a proxy that gives each call up. */
START_TEST(no_undo_goes_out_while_one_that_was_given_up_may_act)
{
    submit_undo();
    int64_t complete_by_ms = order.steps[0].complete_by_ms;
    (void)decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                   .step = 0,
                                   .attempt = order.steps[0].attempt,
                                   .reply = {.kind = MG_KIND_UNDO,
                                             .outcome = MG_OUTCOME_TRANSIENT,
                                             .executed = MG_EXECUTED_MAYBE,
                                             .may_still_act = true,
                                             .retry_after_ms = -1}});
    due(0); /* its backoff is over */
    ck_assert(!has_request(0, MG_KIND_UNDO));
    due(0);
    ck_assert(has_request(0, MG_KIND_UNDO));
    ck_assert_int_ge(context.now_ms, complete_by_ms + context.quiesce_ms);
}
END_TEST

/* Catches: an order called cancelled on the word of a client, while a step stands that the database has lost.
 */
START_TEST(an_order_with_a_lost_state_is_cancelled_by_none)
{
    submit();
    (void)decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                   .step = 0,
                                   .attempt = order.steps[0].attempt + 1,
                                   .reply = {.kind = MG_KIND_DO,
                                             .outcome = MG_OUTCOME_DONE,
                                             .executed = MG_EXECUTED_YES,
                                             .retry_after_ms = -1}});
    ck_assert_int_eq(order.reason, MG_REASON_STATE_LOST);
    ck_assert_int_eq(operate(MG_CAUSE_CANCEL, -1, MG_OUTCOME_DONE), MG_REFUSED);
    ck_assert_int_eq(order.state, MG_ORDER_ERROR);
    ck_assert_int_eq(operate(MG_CAUSE_COMPENSATE, -1, MG_OUTCOME_DONE), MG_GO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide_undo");
    TCase *cases = tcase_create("keys");
    tcase_add_checked_fixture(cases, setup, NULL);
    tcase_add_test(cases, a_refused_undo_is_resumed_under_its_key);
    tcase_add_test(cases, each_repetition_of_a_refused_undo_has_another_key);
    tcase_add_loop_test(cases, an_undo_in_doubt_is_resumed_under_its_key, 0, 2);
    tcase_add_test(cases, an_undo_that_its_verify_finds_failed_is_resumed_under_its_key);
    tcase_add_test(cases, an_accepted_undo_whose_polls_fail_is_resumed_under_its_key);
    tcase_add_test(cases, an_operator_has_a_failed_undo_repeated_under_another_key);
    tcase_add_loop_test(cases, no_undo_is_repeated_while_an_earlier_one_may_act, 0, 2);
    tcase_add_test(cases, an_undo_with_a_second_copy_is_resumed_under_its_key);
    tcase_add_test(cases, no_undo_has_another_key_while_a_refused_one_may_come_again);
    tcase_add_test(cases, a_copy_that_undoes_ends_the_failed_undo);
    tcase_add_loop_test(cases, a_copy_that_undoes_may_act_until_its_time_is_over, 0, 2);
    tcase_add_loop_test(cases, a_copy_in_doubt_is_waited_for_and_asked_about, 0, 2);
    tcase_add_loop_test(cases, a_copy_that_is_accepted_ends_the_failed_undo_without_finish_within, 0, 2);
    tcase_add_test(cases, an_accepted_undo_that_is_never_found_is_resumed_under_its_key);
    tcase_add_loop_test(cases, an_order_that_is_turned_back_is_resumed_by_no_second_cancellation, 0, 2);
    tcase_add_test(cases, no_undo_goes_out_while_one_that_was_given_up_may_act);
    tcase_add_test(cases, an_order_with_a_lost_state_is_cancelled_by_none);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
