/*
 * The meaning of a reply, a passed deadline or a refused publish for its step: the fence (law 5, attempt
 * fence), the flag maybe (law 10, sticky maybe), and the policy that decides between another attempt, a
 * cool-down, doubt and failure.
 */
#include "core/judge.h"

#include "core/backoff.h"
#include "core/doubt.h"
#include "core/operator.h"
#include "core/plan.h"
#include "core/policy.h"
#include "core/poll.h"
#include "core/quiet.h"
#include "core/undo.h"
#include "core/wait.h"

#define LATE "late: nothing of the step is to be found out about any more"

/* The longest possible wait of this step for its present reason. */
static int64_t wait_max_ms(const struct mg_decider *decider, int index)
{
    const struct mg_retry_plan *retry = mg_policy_retry(decider, index);
    enum mg_reason reason = decider->order.steps[index].reason;
    if (reason == MG_REASON_COOLING_DOWN) {
        return retry->cool_down_ms;
    }
    const struct mg_step *step = &decider->order.steps[index];
    int64_t poll_ms = mg_poll_interval_ms(decider, index);
    /* An undo that finds nothing waits for the work of the do. A copy of it may be accepted meanwhile. */
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    int64_t absent_ms = mg_later(plan->poll_ms, plan->finish_within_ms / MG_ABSENT_SHARE);
    if (reason == MG_REASON_REMOTE_WORKING && (!mg_step_is_backward(step) || mg_step_asks_undone(step))) {
        return mg_step_is_backward(step) ? mg_later(poll_ms, absent_ms) : poll_ms;
    }
    if (reason == MG_REASON_ASKED_TO_WAIT) {
        return MG_RETRY_AFTER_MAX_MS;
    }
    int64_t longest_ms = mg_later(retry->max_backoff_ms, decider->context->park_ms);
    if (step->is_accepted || step->finish_by_ms > 0) {
        longest_ms = mg_later(longest_ms, poll_ms);
    }
    return reason == MG_REASON_REMOTE_WORKING ? mg_later(longest_ms, absent_ms) : longest_ms;
}

/* A wait for an attempt that may still act (law 11, quiesce) ends at the moment of quiet. A poll of accepted
 * work does not wait for the accepted attempt. It may wait for an earlier one: do_accepted() then sets
 * due_at_ms to exactly that moment. */
static int64_t bar_at_ms(struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    bool is_poll = step->is_accepted && step->due_at_ms != step->quiet_at_ms;
    return is_poll ? 0 : mg_quiet_at(decider, index);
}

bool mg_judge_wait_is_too_long(struct mg_decider *decider, int index, int64_t *ret_due_at_ms)
{
    if (decider->plan->steps[index].is_wait) {
        return mg_wait_is_too_long(decider, index, ret_due_at_ms);
    }
    int64_t bar_ms = bar_at_ms(decider, index), now_ms = decider->context->now_ms;
    const struct mg_step *step = &decider->order.steps[index];
    *ret_due_at_ms = mg_later(bar_ms, now_ms);
    return step->due_at_ms > bar_ms && step->due_at_ms - now_ms > wait_max_ms(decider, index);
}

/* The step waits, for longer than until `due_at_ms` if the service has asked for it. */
static enum mg_verdict wait_for(struct mg_decider *decider, int index, enum mg_step_event event,
                                enum mg_reason reason, int64_t due_at_ms)
{
    struct mg_wait wait = mg_policy_wait(decider, index, reason, due_at_ms);
    return mg_decider_step(decider, index, event, wait.reason, wait.due_at_ms);
}

/* The do failed, and another attempt may succeed. */
static enum mg_verdict do_retry(struct mg_decider *decider, int index, enum mg_reason reason)
{
    switch (mg_policy_count_failure(decider, index)) {
    case MG_BUDGET_ATTEMPT:
        return wait_for(decider, index, MG_STEP_EVENT_RETRY, reason, mg_policy_backoff_at_ms(decider, index));
    case MG_BUDGET_COOL_DOWN:
        return wait_for(decider, index, MG_STEP_EVENT_COOL_DOWN, MG_REASON_COOLING_DOWN,
                        decider->context->now_ms + mg_policy_retry(decider, index)->cool_down_ms);
    case MG_BUDGET_SPENT:
        break;
    }
    return mg_decider_step(decider, index, MG_STEP_EVENT_FAIL, MG_REASON_ATTEMPTS_EXHAUSTED, 0);
}

/* The outcome of this attempt is unknown: the definition's on_unknown selects the next action. */
static enum mg_verdict do_doubt(struct mg_decider *decider, int index, enum mg_reason reason)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    step->is_maybe = true;
    bool is_turned_back = decider->order.goal != MG_GOAL_PROCESSED && !(plan->is_pivot && !plan->has_undo) &&
                          !mg_plan_is_pivot_open(decider->plan, &decider->order, index);
    if (is_turned_back) { /* no verify is needed: planning has the step undone */
        return mg_decider_step(decider, index, MG_STEP_EVENT_RETRY, reason, decider->context->now_ms);
    }
    if (plan->on_unknown == MG_ON_UNKNOWN_VERIFY && plan->has_verify) {
        step->failure_count++;
        decider->order.failure_count++;
        return wait_for(decider, index, MG_STEP_EVENT_DOUBT, reason, mg_quiet_due_at(decider, index));
    }
    if (plan->on_unknown == MG_ON_UNKNOWN_RETRY && !plan->is_at_most_once) {
        return do_retry(decider, index, reason);
    }
    decider->order.failure_count++;
    return mg_decider_step(decider, index, MG_STEP_EVENT_DOUBT, MG_REASON_OUTCOME_UNKNOWN, 0);
}

/* The service is away: the step waits, and nothing is counted (law 7, waiting is not failing). A possible
 * effect is handled by the definition's policy as soon as the service is back. */
static enum mg_verdict do_wait(struct mg_decider *decider, int index, enum mg_reason reason,
                               bool may_have_acted)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    if (!may_have_acted || (plan->on_unknown == MG_ON_UNKNOWN_RETRY && !plan->is_at_most_once)) {
        return mg_decider_step(decider, index, MG_STEP_EVENT_PARK, reason, mg_policy_park_until_ms(decider));
    }
    if (plan->on_unknown == MG_ON_UNKNOWN_VERIFY && plan->has_verify) {
        return mg_decider_step(decider, index, MG_STEP_EVENT_DOUBT, reason,
                               mg_later(mg_quiet_at(decider, index), mg_policy_park_until_ms(decider)));
    }
    return do_doubt(decider, index, reason);
}

/* The attempt did nothing. But an earlier one, or another copy of its request, may still act, and would be
 * doubled by a further do. */
static bool may_double(const struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    return mg_doubt_way(decider, index) != MG_WAY_DO && step->quiet_at_ms >= step->complete_by_ms;
}

static enum mg_verdict do_failed(struct mg_decider *decider, int index)
{
    const struct mg_cause_reply *reply = mg_decider_reply(decider);
    struct mg_step *step = &decider->order.steps[index];
    bool is_certain = mg_policy_is_refusal_certain(reply);
    step->is_maybe = step->is_maybe || !is_certain;
    step->is_refused = is_certain;
    bool may_have_acted = !is_certain || may_double(decider, index);
    if (reply->outcome == MG_OUTCOME_PERMANENT || reply->outcome == MG_OUTCOME_ABSENT) {
        decider->order.failure_count++;
        return mg_decider_step(decider, index, MG_STEP_EVENT_FAIL, MG_REASON_REPLY_PERMANENT, 0);
    }
    if (reply->is_service_down) {
        return do_wait(decider, index, mg_policy_down_reason(decider), may_have_acted);
    }
    enum mg_reason reason =
        reply->outcome == MG_OUTCOME_UNKNOWN ? MG_REASON_REPLY_UNKNOWN : MG_REASON_REPLY_TRANSIENT;
    if (may_have_acted) {
        return do_doubt(decider, index, reason);
    }
    if (decider->plan->steps[index].is_at_most_once) {
        decider->order.failure_count++;
        return mg_decider_step(decider, index, MG_STEP_EVENT_FAIL, reason, 0);
    }
    return do_retry(decider, index, reason);
}

/* Accepted work can be polled, but not undone: the attempt has its whole time to begin it. If an earlier
 * attempt may still act, the first poll waits until both are quiet. */
static enum mg_verdict do_accepted(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    bool is_first_open = !mg_quiet_is_reached(decider, index);
    mg_policy_attempt_stays_open(decider, index);
    int64_t poll_at_ms = is_first_open ? step->quiet_at_ms : decider->context->now_ms + plan->poll_ms;
    if (plan->finish_within_ms == 0 || !plan->has_verify) {
        return mg_decider_step(decider, index, MG_STEP_EVENT_COMPLETE, MG_REASON_NONE, 0);
    }
    step->is_maybe = true;
    step->is_accepted = true;
    step->poll_failure_count = 0;
    step->finish_by_ms = decider->context->now_ms + plan->finish_within_ms;
    return mg_poll_again(decider, index, MG_REASON_REMOTE_WORKING, poll_at_ms);
}

static enum mg_verdict do_replied(struct mg_decider *decider, int index)
{
    if (mg_decider_reply(decider)->may_still_act) {
        mg_policy_attempt_stays_open(decider, index);
    }
    switch (mg_decider_reply(decider)->outcome) {
    case MG_OUTCOME_DONE:
        return mg_decider_step(decider, index, MG_STEP_EVENT_COMPLETE, MG_REASON_NONE, 0);
    case MG_OUTCOME_ACCEPTED:
        return do_accepted(decider, index);
    case MG_OUTCOME_ABSENT:
    case MG_OUTCOME_TRANSIENT:
    case MG_OUTCOME_PERMANENT:
    case MG_OUTCOME_UNKNOWN:
        return do_failed(decider, index);
    case MG_OUTCOME_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such outcome");
}

static enum mg_verdict verify_failed(struct mg_decider *decider, int index, enum mg_reason reason)
{
    if (decider->order.steps[index].is_accepted) {
        return mg_poll_failed(decider, index, reason);
    }
    switch (mg_policy_count_failure(decider, index)) {
    case MG_BUDGET_ATTEMPT:
        return mg_poll_again(decider, index, reason, mg_policy_backoff_at_ms(decider, index));
    case MG_BUDGET_COOL_DOWN:
        return mg_poll_again(decider, index, MG_REASON_COOLING_DOWN,
                             decider->context->now_ms + mg_policy_retry(decider, index)->cool_down_ms);
    case MG_BUDGET_SPENT:
        break;
    }
    return mg_decider_step(decider, index, MG_STEP_EVENT_FAIL, MG_REASON_ATTEMPTS_EXHAUSTED, 0);
}

/* Law 11, quiesce: after the 202 its attempt still had all of its time, and the service may show nothing of
 * the work before that is over. */
static bool may_still_come(struct mg_decider *decider, int index)
{
    return decider->order.steps[index].is_accepted &&
           !(mg_poll_was_over(decider, index) && mg_quiet_was_reached(decider, index));
}

static enum mg_verdict verify_absent(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    bool was_accepted = step->is_accepted;
    if (may_still_come(decider, index)) {
        return mg_poll_found_nothing(decider, index);
    }
    if (plan->is_absent_final) {
        step->is_maybe = false;
        step->is_refused = true;
    }
    step->is_accepted = false;
    step->poll_failure_count = 0;
    step->finish_by_ms = 0; /* the next attempt's work has its own time */
    if (plan->is_at_most_once) {
        return mg_decider_step(decider, index, MG_STEP_EVENT_FAIL, MG_REASON_VERIFIED_ABSENT, 0);
    }
    if (was_accepted) { /* accepted and lost: that ends the attempt, which has not been counted */
        return do_retry(decider, index, MG_REASON_VERIFIED_ABSENT);
    }
    if (step->failure_count < plan->retry.attempts) { /* the doubt before this verify is already counted */
        return mg_decider_step(decider, index, MG_STEP_EVENT_RETRY, MG_REASON_VERIFIED_ABSENT,
                               mg_policy_backoff_at_ms(decider, index));
    }
    step->failure_count--; /* do_retry counts it again */
    decider->order.failure_count--;
    return do_retry(decider, index, MG_REASON_VERIFIED_ABSENT);
}

/* Every earlier attempt was quiet before this verify, or the verify polls the one that the service accepted
 * (law 11, quiesce). So the refused work is all that there was. */
static enum mg_verdict verify_refused(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    step->is_maybe = false;
    step->is_refused = true;
    step->is_accepted = false;
    decider->order.failure_count++;
    return mg_decider_step(decider, index, MG_STEP_EVENT_FAIL, MG_REASON_REPLY_PERMANENT, 0);
}

static enum mg_verdict verify_accepted(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    if (step->finish_by_ms == 0) { /* a verify after a doubt found the work in progress */
        mg_doubt_give_time(decider, index);
    }
    if (!step->is_accepted && step->failure_count > 0) {
        step->failure_count--; /* the doubt's count: the attempt has not failed */
    }
    return mg_poll_answered(decider, index);
}

static enum mg_verdict verify_replied(struct mg_decider *decider, int index)
{
    switch (mg_decider_reply(decider)->outcome) {
    case MG_OUTCOME_DONE:
        return mg_decider_step(decider, index, MG_STEP_EVENT_COMPLETE, MG_REASON_NONE, 0);
    case MG_OUTCOME_ACCEPTED:
        return verify_accepted(decider, index);
    case MG_OUTCOME_ABSENT:
        return verify_absent(decider, index);
    case MG_OUTCOME_TRANSIENT:
    case MG_OUTCOME_UNKNOWN:
        if (mg_decider_is_service_down(decider)) {
            return mg_poll_again(decider, index, mg_policy_down_reason(decider),
                                 mg_policy_park_until_ms(decider));
        }
        return verify_failed(decider, index, MG_REASON_REPLY_TRANSIENT);
    case MG_OUTCOME_PERMANENT:
        return mg_decider_reply(decider)->is_work_refused
                   ? verify_refused(decider, index)
                   : verify_failed(decider, index, MG_REASON_REPLY_PERMANENT);
    case MG_OUTCOME_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such outcome");
}

/* The reply's attempt is above the row's: the database has lost its newest commits. The fence is raised to
 * that attempt, and the step becomes maybe, because that attempt was sent. */
static enum mg_verdict state_lost(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    step->attempt = decider->cause->attempt;
    step->is_maybe = true;
    decider->is_changed = true;
    if (mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_STATE_LOST, index) != MG_GO) {
        mg_decider_worsen(decider, MG_REASON_STATE_LOST); /* the order is in error already */
    }
    return mg_decider_end(decider, MG_GO,
                          "the reply is ahead of the row: the database lost the order's newest rows");
}

/* The newest attempt, a do, came to its end without an answer, and a person is to find out about it. */
static bool is_awaited(const struct mg_decider *decider)
{
    const struct mg_cause *cause = decider->cause;
    const struct mg_step *step = &decider->order.steps[cause->step];
    return step->state == MG_STEP_UNKNOWN && step->due_at_ms == 0 && step->kind == MG_KIND_DO &&
           mg_decider_reply(decider)->kind == MG_KIND_DO &&
           mg_decider_reply(decider)->outcome == MG_OUTCOME_DONE && decider->order.goal == MG_GOAL_PROCESSED;
}

/* A person was to find out about a step, and its service has told. An order whose time is over is still the
 * person's to decide about. */
static enum mg_verdict order_go_on(struct mg_decider *decider)
{
    const struct mg_order *order = &decider->order;
    bool is_over = order->state == MG_ORDER_ERROR && order->reason == MG_REASON_ORDER_EXPIRED;
    return is_over ? MG_GO : mg_operator_order_go_on(decider);
}

/* Its answer came late, or out of the dead letters, and answers the person's question. */
static enum mg_verdict done_late(struct mg_decider *decider)
{
    int index = decider->cause->step;
    if (mg_decider_reply(decider)->may_still_act) { /* the attempt's own complete-by is gone */
        mg_quiet_extend(decider, index,
                        decider->context->now_ms + decider->plan->steps[index].complete_within_ms);
    }
    enum mg_verdict verdict = mg_decider_step(decider, index, MG_STEP_EVENT_COMPLETE, MG_REASON_NONE, 0);
    return verdict == MG_GO ? order_go_on(decider) : verdict;
}

enum mg_verdict mg_judge_reply(struct mg_decider *decider)
{
    const struct mg_cause *cause = decider->cause;
    const struct mg_step *step = &decider->order.steps[cause->step];
    if (cause->attempt > step->attempt) {
        return state_lost(decider, cause->step);
    }
    if (cause->attempt < step->attempt) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "a newer attempt has begun");
    }
    if (is_awaited(decider)) {
        return done_late(decider);
    }
    if (mg_undo_awaits_copy(step) && mg_decider_reply(decider)->kind == MG_KIND_UNDO) {
        enum mg_verdict verdict = mg_undo_copy_replied(decider, cause->step);
        return verdict == MG_GO ? mg_operator_order_go_on(decider) : verdict;
    }
    if (!mg_step_is_running(step)) {
        return mg_decider_end(decider, MG_DUPLICATE, "this attempt has been answered or judged");
    }
    if (mg_decider_reply(decider)->kind != step->kind) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the running attempt is of another kind");
    }
    if (mg_step_is_backward(step)) {
        return mg_undo_replied(decider, cause->step);
    }
    switch (step->kind) {
    case MG_KIND_DO:
        return do_replied(decider, cause->step);
    case MG_KIND_VERIFY:
        return verify_replied(decider, cause->step);
    case MG_KIND_UNDO:
    case MG_KIND_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such kind");
}

static enum mg_verdict do_overdue(struct mg_decider *decider, int index)
{
    decider->order.steps[index].is_maybe = true;
    decider->order.steps[index].is_refused = false;
    if (mg_policy_is_service_away(decider, index)) {
        return do_wait(decider, index, decider->context->gate[index], true);
    }
    return do_doubt(decider, index, MG_REASON_EXPIRED);
}

static enum mg_verdict verify_overdue(struct mg_decider *decider, int index)
{
    if (mg_policy_is_service_away(decider, index)) {
        return mg_poll_again(decider, index, decider->context->gate[index], mg_policy_park_until_ms(decider));
    }
    return verify_failed(decider, index, MG_REASON_EXPIRED);
}

/* A clock that was set forward has passed the deadline, and the supervisor may not have detected that step.
 * By its own clock an attempt cannot have more time left than its complete-within. An attempt with more time
 * left began by the new clock and is not spared. */
static bool is_spared(const struct mg_decider *decider, int index)
{
    return mg_spared_has_step(&decider->context->spared, decider->order.steps[index].complete_by_ms,
                              mg_quiet_begun_ms(decider, index));
}

enum mg_verdict mg_judge_overdue(struct mg_decider *decider)
{
    int index = decider->cause->step;
    struct mg_step *step = &decider->order.steps[index];
    if (!mg_step_runs(step, decider->cause->attempt)) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "this attempt has been answered or judged");
    }
    if (step->complete_by_ms > decider->context->now_ms || is_spared(decider, index)) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "the attempt's complete-by has not passed");
    }
    mg_policy_attempt_stays_open(decider, index);
    if (mg_step_is_backward(step)) {
        return mg_undo_overdue(decider, index);
    }
    switch (step->kind) {
    case MG_KIND_DO:
        return do_overdue(decider, index);
    case MG_KIND_VERIFY:
        return verify_overdue(decider, index);
    case MG_KIND_UNDO:
    case MG_KIND_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such kind");
}

/* Law 3, re-creation, may have sent the running do's request again, which made the step maybe. An earlier
 * attempt may have done the same; the two cases cannot be distinguished. */
static bool may_have_copies(const struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    return step->kind == MG_KIND_DO && step->is_maybe && !decider->plan->steps[index].is_at_most_once;
}

/* The broker refused the request (law 2, ack after effects). If the broker may have taken it nevertheless, or
 * has another copy of it, the attempt may still act. */
enum mg_verdict mg_judge_unpublishable(struct mg_decider *decider)
{
    int index = decider->cause->step;
    struct mg_step *step = &decider->order.steps[index];
    if (!mg_step_runs(step, decider->cause->attempt)) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "this attempt has been answered or judged");
    }
    bool may_be_out =
        decider->cause->unpublishable.executed != MG_EXECUTED_NO || may_have_copies(decider, index);
    if (may_be_out) {
        mg_policy_attempt_stays_open(decider, index);
    }
    if (mg_step_is_backward(step)) {
        return mg_undo_unpublishable(decider, index, may_be_out);
    }
    if (step->kind == MG_KIND_VERIFY) {
        return mg_poll_again(decider, index, MG_REASON_UNPUBLISHABLE, mg_policy_park_until_ms(decider));
    }
    step->is_maybe = step->is_maybe || may_be_out;
    return do_wait(decider, index, MG_REASON_UNPUBLISHABLE, may_be_out);
}

/* The request was never sent: it cannot be built, or the same key would carry other bytes (law 8, derived
 * identities). */
enum mg_verdict mg_judge_unsendable(struct mg_decider *decider, enum mg_reason reason)
{
    int index = decider->cause->step;
    struct mg_step *step = &decider->order.steps[index];
    if (!mg_step_runs(step, decider->cause->attempt)) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "this attempt has been answered or judged");
    }
    decider->order.failure_count++;
    if (mg_step_is_backward(step)) {
        mg_policy_undo_given_up(decider, index);
        return mg_decider_step(decider, index, MG_STEP_EVENT_UNDO_FAIL, reason, 0);
    }
    step->is_refused = true;
    enum mg_verdict verdict = mg_decider_step(decider, index, MG_STEP_EVENT_FAIL, reason, 0);
    if (reason == MG_REASON_REQUEST_CHANGED && !mg_order_state_is_terminal(decider->order.state)) {
        return mg_decider_order(decider, MG_ORDER_EVENT_RAISE, reason, index);
    }
    return verdict;
}

/* Law 3, re-creation, sends a running attempt's request again. From here on a reply to one copy proves
 * nothing about the other. */
enum mg_verdict mg_judge_republished(struct mg_decider *decider)
{
    int index = decider->cause->step;
    struct mg_step *step = &decider->order.steps[index];
    int64_t quiet_at_ms = step->quiet_at_ms;
    if (!mg_step_runs(step, decider->cause->attempt)) {
        return mg_decider_end(decider, MG_STALE_CAUSE, "this attempt has been answered or judged");
    }
    if (step->kind == MG_KIND_VERIFY) {
        return mg_decider_end(decider, MG_DUPLICATE, "another copy of the request changes nothing");
    }
    mg_policy_attempt_stays_open(decider, index);
    bool may_have_acted = step->is_maybe || step->kind == MG_KIND_UNDO;
    if (may_have_acted && step->quiet_at_ms == quiet_at_ms) {
        return mg_decider_end(decider, MG_DUPLICATE, "it is known that there is more than one copy");
    }
    step->is_maybe = step->is_maybe || step->kind == MG_KIND_DO;
    decider->is_changed = true;
    return mg_decider_end(decider, MG_GO, "its request goes out once more; either copy may act");
}

static bool has_ended(const struct mg_order *order)
{
    return mg_order_state_is_terminal(order->state) && order->state != MG_ORDER_ERROR;
}

/* The work of the do is still to be found out about. */
static bool is_called_for(const struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    bool is_out = step->state == MG_STEP_RUNNING || step->state == MG_STEP_WAITING ||
                  step->state == MG_STEP_UNKNOWN || (step->state == MG_STEP_FAILED && step->is_maybe);
    return is_out && step->attempt > 0 && !has_ended(&decider->order) &&
           decider->order.goal == MG_GOAL_PROCESSED;
}

/* Its service cannot have been asked yet, or the database has lost that it was. */
static bool is_early(const struct mg_decider *decider, int index)
{
    return decider->order.steps[index].state == MG_STEP_PENDING && !has_ended(&decider->order) &&
           decider->order.goal == MG_GOAL_PROCESSED;
}

/* The work is done, even if its request has no answer. */
static enum mg_verdict callback_done(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    bool is_do_out = step->state == MG_STEP_RUNNING && step->kind == MG_KIND_DO;
    bool is_in_doubt =
        step->state == MG_STEP_FAILED || (step->state == MG_STEP_UNKNOWN && step->due_at_ms == 0);
    int64_t complete_by_ms = step->complete_by_ms;
    enum mg_verdict verdict = mg_decider_step(decider, index, MG_STEP_EVENT_COMPLETE, MG_REASON_NONE, 0);
    if (verdict != MG_GO) {
        return verdict;
    }
    step->is_accepted = false;
    if (is_do_out) { /* law 11, quiesce: its answer no longer counts, and no undo may overtake it */
        mg_quiet_extend(decider, index, complete_by_ms);
    }
    return is_in_doubt ? order_go_on(decider) : MG_GO;
}

/* As verify_refused: the refused work is all that there was, once no other attempt may act. */
static enum mg_verdict callback_refused(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    if (!mg_step_is_polled(step) || !mg_quiet_is_reached(decider, index)) {
        return mg_decider_end(decider, MG_REFUSED, "an attempt may still act; the service calls again later");
    }
    step->is_maybe = false;
    step->is_refused = true;
    step->is_accepted = false;
    decider->order.failure_count++;
    return mg_decider_step(decider, index, MG_STEP_EVENT_LAPSE, MG_REASON_REPLY_PERMANENT, 0);
}

/* The service reports its work as done, and nothing of it counts or is still to be undone: it may have acted
 * after the undo, or after its refusal. Work under an earlier key never counts (law 8, derived identities).
 * That changes nothing by itself; a person is told. */
static enum mg_verdict callback_contradicts(struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    bool is_absent = decider->cause->signal.is_of_earlier || step->state == MG_STEP_UNDONE ||
                     step->state == MG_STEP_SKIPPED || (step->state == MG_STEP_FAILED && !step->is_maybe) ||
                     (step->state == MG_STEP_PENDING && has_ended(&decider->order));
    if (!is_absent || step->attempt == 0) {
        return mg_decider_end(decider, MG_REFUSED, LATE);
    }
    decider->is_changed = true;
    mg_decider_alert(decider, MG_ALERT_LATE_CALLBACK, MG_REASON_NONE, index);
    return mg_decider_end(decider, MG_GO, "late: the step does not count as done, and an alert names it");
}

enum mg_verdict mg_judge_callback(struct mg_decider *decider)
{
    int index = decider->cause->step;
    if (decider->cause->signal.fact == MG_SIGNAL_FACT_KEPT) {
        return callback_contradicts(decider, index);
    }
    if (is_early(decider, index)) {
        return mg_decider_end(decider, MG_STALE_CAUSE,
                              "the step has not been called yet; the service calls again later");
    }
    if (!is_called_for(decider, index)) {
        return mg_decider_end(decider, MG_REFUSED, LATE);
    }
    return decider->cause->signal.fact == MG_SIGNAL_FACT_REFUSED ? callback_refused(decider, index)
                                                                 : callback_done(decider, index);
}
