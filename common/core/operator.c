/*
 * The meaning of an operator's command: resume, restart, settle, skip, compensate, cancel, release. Each
 * names the version that was the basis of the decision, so two operators, or two clicks, cause one change.
 */
#include "core/operator.h"

#include "core/doubt.h"
#include "core/line.h"
#include "core/order.h"
#include "core/plan.h"
#include "core/quiet.h"
#include "core/undo.h"

static int64_t new_complete_by_ms(const struct mg_decider *decider)
{
    return mg_order_complete_by_ms(decider->plan, decider->context, &decider->order);
}

static void step_forget_failures(struct mg_step *step)
{
    step->failure_count = 0;
    step->poll_failure_count = 0;
    step->cool_down_count = 0;
}

/* Law 8, derived identities: an undo gets another key only by the operator's explicit word. No answer proves
 * that its present key did nothing: an earlier try, an accepted undo or another copy may act later. */
static bool is_undo_repeated(const struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    return step->state == MG_STEP_UNDO_FAILED && step->is_undo_dispatched &&
           mg_doubt_is_repeated(decider, index);
}

static void undo_renew_key(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    step->undo_generation++;
    if (mg_step_asks_undone(step)) {
        mg_undo_end_doubt(decider, index);
    }
}

/* Begins anew a step that waits, is in doubt or has failed, forward or back. Law 8, derived identities: a
 * step that provably did not execute gets a new key, so that the service does not repeat a remembered
 * refusal. A step that may have executed keeps its key, so that the service can recognise it, and work that
 * was accepted stays so. Its policy selects the next request (doubt.h). An undo that may have happened is
 * asked about by its verify, with new time if the service works on it. */
static void step_revive(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    enum mg_step_state from = step->state;
    bool is_repeated_undo = is_undo_repeated(decider, index);
    (void)mg_decider_step(decider, index, MG_STEP_EVENT_REVIVE, MG_REASON_OPERATOR, 0);
    step_forget_failures(step);
    /* Its undo may have happened, or it was answered as done. */
    bool was_undoing = from == MG_STEP_UNDO_FAILED;
    bool is_polled_on =
        from == MG_STEP_UNDO_WAITING /* its undo, too */ ||
        (step->is_maybe && step->state == MG_STEP_PENDING && !mg_doubt_is_repeated(decider, index));
    bool is_time_of_do = mg_step_is_to_undo(step) && !mg_step_asks_undone(step); /* plan.c */
    step->is_accepted = step->is_accepted && (is_polled_on || was_undoing);
    step->finish_by_ms = is_time_of_do || (step->is_accepted && is_polled_on) ? step->finish_by_ms : 0;
    if (step->state == MG_STEP_UNDO_PENDING) {
        if (is_repeated_undo) {
            undo_renew_key(decider, index);
        }
        step->due_at_ms = mg_quiet_due_at(decider, index);
        return;
    }
    if (from == MG_STEP_FAILED && step->is_refused && !step->is_maybe && step->attempt > 0) {
        mg_step_renew_key(step);
    }
    step->is_refused = false;
}

/* True for a step that may have been executed and that only a person may have sent again. */
static bool is_for_person(const struct mg_decider *decider, int index)
{
    return mg_doubt_way(decider, index) == MG_WAY_PERSON && !mg_doubt_is_repeated(decider, index);
}

/* True if the step would begin anew. Accepted work is polled in any case, and a wait stays open. */
static bool is_to_revive(const struct mg_step *step)
{
    bool is_between_attempts = step->state == MG_STEP_WAITING && !step->is_accepted && !mg_step_is_open(step);
    return step->state == MG_STEP_FAILED || step->state == MG_STEP_UNKNOWN || is_between_attempts;
}

static bool is_resumable(const struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    bool is_open = is_to_revive(step) && !is_for_person(decider, index);
    if (decider->order.goal != MG_GOAL_PROCESSED) {
        bool is_pivot_in_doubt = plan->is_pivot && !plan->has_undo && step->is_maybe;
        return step->state == MG_STEP_UNDO_FAILED || step->state == MG_STEP_UNDO_WAITING ||
               (is_open && is_pivot_in_doubt);
    }
    return is_open;
}

/* True if a step for a person blocks a resume. One in state `unknown` does not: it waits to be settled
 * meanwhile. */
static bool has_blocking_step(const struct mg_decider *decider)
{
    for (int i = 0; i < decider->order.step_count; i++) {
        const struct mg_step *step = &decider->order.steps[i];
        if (is_to_revive(step) && step->state != MG_STEP_UNKNOWN && is_for_person(decider, i)) {
            return true;
        }
    }
    return false;
}

/* The operator's word to send a do, or an undo that failed, once more stands for one step in doubt, when
 * nothing of it can act any more (law 11, quiesce). MG_GO: it may be sent. */
static enum mg_verdict repeat_check(struct mg_decider *decider)
{
    int index = decider->cause->step;
    const struct mg_step *step = &decider->order.steps[index];
    bool is_forward = decider->order.goal == MG_GOAL_PROCESSED;
    bool is_failed_undo = step->state == MG_STEP_UNDO_FAILED && step->is_undo_dispatched;
    if (!is_forward && !is_failed_undo) {
        return mg_decider_end(
            decider, MG_REFUSED,
            "the order is turned back, and the step's undo has not failed; there is nothing "
            "to repeat");
    }
    if (is_forward && decider->plan->steps[index].is_at_most_once) {
        return mg_decider_end(decider, MG_REFUSED, "the step is sent at most once; settle it");
    }
    if (is_forward && (!step->is_maybe || !(is_to_revive(step) || mg_step_is_polled(step)))) {
        return mg_decider_end(decider, MG_REFUSED, "the step does not wait in doubt; resume the order");
    }
    if (!mg_quiet_is_reached(decider, index)) {
        return mg_decider_end(decider, MG_REFUSED,
                              "an earlier attempt may still act; look again in some seconds");
    }
    return MG_GO;
}

/* A repaired payload changes the request: a step that may have executed must not be sent with it under the
 * old key. */
static bool has_unsettled_step(const struct mg_order *order)
{
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (mg_step_is_running(step) || (step->is_maybe && step->state != MG_STEP_DONE)) {
            return true;
        }
    }
    return false;
}

/* Other bytes need other keys (law 8, derived identities). */
static void renew_keys(struct mg_order *order)
{
    for (int i = 0; i < order->step_count; i++) {
        struct mg_step *step = &order->steps[i];
        if (step->attempt > 0 && step->state == MG_STEP_PENDING) { /* waiting ones have been revived */
            mg_step_renew_key(step);
        }
    }
}

static enum mg_verdict order_resume(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    bool is_forward = order->goal == MG_GOAL_PROCESSED;
    bool was_in_error = order->state == MG_ORDER_ERROR;
    if (mg_order_state_is_terminal(order->state) && !was_in_error) {
        return mg_decider_end(decider, MG_REFUSED, "the order has ended; there is nothing to resume");
    }
    if (decider->cause->resume.is_request_changed && (!is_forward || has_unsettled_step(order))) {
        return mg_decider_end(
            decider, MG_REFUSED,
            "a step may have executed with the old payload; settle it before changing the payload");
    }
    enum mg_verdict may_repeat = decider->cause->resume.is_repeat ? repeat_check(decider) : MG_GO;
    if (may_repeat != MG_GO) {
        return may_repeat;
    }
    if (is_forward && has_blocking_step(decider)) {
        return mg_decider_end(decider, MG_REFUSED,
                              "a step may have happened, and nothing asks its service: settle it, or have it "
                              "done again (resume --step STEP --repeat)");
    }
    for (int i = 0; i < order->step_count; i++) {
        if (is_resumable(decider, i) || mg_doubt_is_repeated(decider, i)) {
            step_revive(decider, i);
        }
    }
    if (!is_forward && mg_plan_is_pivot_stuck(decider)) {
        return mg_decider_end(decider, MG_REFUSED, "the order's pivot may have happened; settle it");
    }
    if (decider->cause->resume.is_request_changed) {
        renew_keys(order);
        decider->is_changed = true;
    }
    if (!was_in_error) {
        return decider->is_changed
                   ? mg_decider_end(decider, MG_GO, "an operator resumes it")
                   : mg_decider_end(decider, MG_REFUSED,
                                    "no step of the order waits to be resumed; settle one in doubt, or have "
                                    "it done again (resume --step STEP --repeat)");
    }
    if (is_forward) {
        order->complete_by_ms = new_complete_by_ms(decider);
        return mg_decider_order(decider, MG_ORDER_EVENT_FORWARD, MG_REASON_OPERATOR, -1);
    }
    return mg_decider_order(decider, MG_ORDER_EVENT_AMEND, MG_REASON_OPERATOR, -1);
}

static enum mg_verdict order_restart(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        bool stands = step->state == MG_STEP_DONE || step->is_maybe || mg_step_is_running(step) ||
                      mg_step_is_to_undo(step) || step->state == MG_STEP_UNDO_FAILED;
        bool would_be_sent_twice = is_for_person(decider, i) && step->state != MG_STEP_DONE;
        bool matters = decider->plan->steps[i].has_undo ||
                       (order->state == MG_ORDER_ERROR && !decider->plan->steps[i].is_wait);
        if (stands && (matters || would_be_sent_twice)) {
            return mg_decider_end(
                decider, MG_REFUSED,
                "a step stands or may stand; compensate the order or settle the step first");
        }
    }
    enum mg_verdict verdict = mg_decider_order(decider, MG_ORDER_EVENT_RESTART, MG_REASON_OPERATOR, -1);
    if (verdict != MG_GO) {
        return verdict;
    }
    order->goal = MG_GOAL_PROCESSED;
    order->generation++;
    order->complete_by_ms = new_complete_by_ms(decider);
    mg_line_join(decider);
    for (int i = 0; i < order->step_count; i++) {
        struct mg_step *step = &order->steps[i];
        struct mg_step old = *step;
        if (step->state == MG_STEP_DONE && !decider->plan->steps[i].is_wait) {
            continue; /* a step without undo stays done and is not executed again */
        }
        (void)mg_decider_step(decider, i, MG_STEP_EVENT_REVIVE, MG_REASON_OPERATOR,
                              0); /* pending ones stay */
        bool is_refused = old.attempt > 0 && !old.is_maybe && !old.is_undo_dispatched;
        *step =
            (struct mg_step){.state = step->state,
                             .kind = old.kind,
                             .is_maybe = old.is_maybe,                     /* and so does the key */
                             .is_undo_dispatched = old.is_undo_dispatched, /* its next do takes a new key */
                             .is_accepted = old.is_accepted && old.is_maybe &&
                                            !(mg_step_is_backward(&old) && old.is_undo_dispatched),
                             .attempt = old.attempt,
                             .generation = old.generation + (is_refused ? 1 : 0),
                             .undo_generation = old.undo_generation,
                             .quiet_at_ms = old.quiet_at_ms};
    }
    return MG_GO;
}

/* An order in error that is turned back goes on by itself as soon as no pivot is in doubt and no failed undo
 * is left. */
static enum mg_verdict undo_go_on(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    bool was_for_step = order->reason == MG_REASON_UNDO_FAILED || order->reason == MG_REASON_OUTCOME_UNKNOWN;
    if (order->state == MG_ORDER_ERROR && order->goal != MG_GOAL_PROCESSED && was_for_step &&
        !mg_plan_has_failed_undo(order) && !mg_plan_is_pivot_stuck(decider)) {
        return mg_decider_order(decider, MG_ORDER_EVENT_AMEND, MG_REASON_OPERATOR, -1);
    }
    return MG_GO;
}

enum mg_verdict mg_operator_order_go_on(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    if (order->goal != MG_GOAL_PROCESSED) {
        return undo_go_on(decider);
    }
    if (order->state != MG_ORDER_ERROR || order->reason == MG_REASON_STATE_LOST) {
        return MG_GO;
    }
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (step->state == MG_STEP_FAILED || (step->state == MG_STEP_UNKNOWN && step->due_at_ms == 0)) {
            return MG_GO;
        }
    }
    order->complete_by_ms = new_complete_by_ms(decider);
    return mg_decider_order(decider, MG_ORDER_EVENT_FORWARD, MG_REASON_OPERATOR, -1);
}

static bool has_undo_begun(const struct mg_order *order)
{
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (mg_step_is_to_undo(step) || step->state == MG_STEP_UNDONE || step->state == MG_STEP_UNDO_FAILED) {
            return true;
        }
    }
    return false;
}

/* The result that the undo of a step needs, from the operator: the undo begins anew with it. */
static enum mg_verdict settle_result(struct mg_decider *decider)
{
    step_revive(decider, decider->cause->step);
    decider->is_changed = true;
    (void)mg_decider_end(decider, MG_GO, "the operator gives the result that the undo needs");
    return undo_go_on(decider);
}

/* Law 8, derived identities: after the first undo its key stands for the result that it carried. */
static bool is_undo_open_to_result(const struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    bool is_waiting = step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING ||
                      step->state == MG_STEP_UNDO_FAILED;
    return is_waiting && !step->is_undo_dispatched && decider->cause->settle.has_result &&
           decider->plan->steps[index].needs_result;
}

/* The result of a step that is done. One that an answer has carried stays: requests and the undo are made
 * from it (law 8, derived identities). Unless nothing is left but an output that cannot be built from it; the
 * handler has compared the undos. */
static enum mg_verdict settle_missing_result(struct mg_decider *decider)
{
    if (!decider->cause->settle.is_result_missing && !mg_order_lacks_output(&decider->order)) {
        return mg_decider_end(decider, MG_REFUSED, "it is done, and the result that it has stays");
    }
    decider->is_changed = true;
    (void)mg_decider_end(decider, MG_GO, "the operator gives the result that it lacked");
    return mg_operator_order_go_on(decider);
}

/* Settles a step as done. Refused if the order can neither go forward with it nor undo it any more. */
static enum mg_verdict settle_done(struct mg_decider *decider)
{
    int index = decider->cause->step;
    const struct mg_order *order = &decider->order;
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    bool is_undone = order->state == MG_ORDER_COMPENSATED || order->state == MG_ORDER_CANCELLED;
    if (is_undone && plan->has_undo) {
        return mg_decider_end(decider, MG_REFUSED,
                              "the order has ended as undone; nothing would undo this step");
    }
    if (mg_decider_lacks_result(decider, index)) {
        return mg_decider_end(decider, MG_REFUSED,
                              "its undo needs its result; settle it with the result (--result)");
    }
    if (is_undo_open_to_result(decider, index)) {
        return settle_result(decider);
    }
    if (plan->is_pivot && order->goal != MG_GOAL_PROCESSED && has_undo_begun(order)) {
        return mg_decider_end(
            decider, MG_REFUSED,
            "the steps before the pivot are being undone; the order cannot go forward again");
    }
    struct mg_step *step = &decider->order.steps[index];
    if (step->state == MG_STEP_DONE && decider->cause->settle.has_result) {
        return settle_missing_result(decider);
    }
    bool was_running = mg_step_is_running(step);
    int64_t complete_by_ms = step->complete_by_ms;
    enum mg_verdict verdict = mg_decider_step(decider, index, MG_STEP_EVENT_COMPLETE, MG_REASON_OPERATOR, 0);
    if (verdict == MG_GO) {
        step->is_accepted = false;
        /* Law 11, quiesce: the attempt's reply no longer counts, and an undo must not overtake it. */
        if (was_running) {
            mg_quiet_extend(decider, index, complete_by_ms);
        }
        return mg_operator_order_go_on(decider);
    }
    return verdict;
}

static enum mg_verdict settle_absent(struct mg_decider *decider)
{
    int index = decider->cause->step;
    struct mg_order *order = &decider->order;
    struct mg_step *step = &order->steps[index];
    if (step->state == MG_STEP_UNDONE && !step->is_maybe) {
        return mg_decider_end(decider, MG_DUPLICATE, "it is undone");
    }
    if (decider->plan->steps[index].is_wait) {
        return mg_decider_end(decider, MG_REFUSED,
                              "a wait has nothing to be absent; settle it as done to end it now, or skip it");
    }
    bool may_act = step->is_maybe || (mg_step_is_backward(step) && step->is_undo_dispatched);
    if (may_act && !mg_quiet_is_reached(decider, index)) { /* law 11, quiesce, binds operators, too */
        return mg_decider_end(decider, MG_REFUSED,
                              "an earlier attempt may still act; look again in some seconds");
    }
    enum mg_verdict verdict = mg_decider_step(decider, index, MG_STEP_EVENT_CLEAR, MG_REASON_OPERATOR, 0);
    if (verdict != MG_GO) {
        return verdict;
    }
    bool was_maybe = step->is_maybe;
    step->is_maybe = false;
    step->is_accepted = false;
    step->is_refused = true;
    step->finish_by_ms = 0;
    step_forget_failures(step);
    if (was_maybe && step->state == MG_STEP_PENDING && decider->plan->steps[index].is_at_most_once) {
        return mg_decider_step(decider, index, MG_STEP_EVENT_LAPSE, MG_REASON_OPERATOR, 0);
    }
    return undo_go_on(decider);
}

static enum mg_verdict step_settle(struct mg_decider *decider)
{
    const struct mg_step *step = &decider->order.steps[decider->cause->step];
    bool is_untouched = step->state == MG_STEP_PENDING || step->state == MG_STEP_SKIPPED;
    if (is_untouched && !step->is_maybe) {
        return mg_decider_end(decider, MG_REFUSED, "no request that may have happened has gone out");
    }
    return decider->cause->settle.outcome == MG_OUTCOME_DONE ? settle_done(decider) : settle_absent(decider);
}

static enum mg_verdict step_skip(struct mg_decider *decider)
{
    if (decider->order.goal != MG_GOAL_PROCESSED) {
        return mg_decider_end(decider, MG_REFUSED, "the order is being undone; there is nothing to skip");
    }
    enum mg_verdict verdict =
        mg_decider_step(decider, decider->cause->step, MG_STEP_EVENT_SKIP, MG_REASON_OPERATOR, 0);
    return verdict == MG_GO ? mg_operator_order_go_on(decider) : verdict;
}

static enum mg_verdict order_turn_back(struct mg_decider *decider, enum mg_goal goal)
{
    struct mg_order *order = &decider->order;
    if (goal == MG_GOAL_CANCELLED && order->state == MG_ORDER_PROCESSED) {
        return mg_decider_end(decider, MG_REFUSED, "the order is processed; compensate it instead");
    }
    if (mg_plan_is_pivot_done(decider->plan, order)) {
        return mg_decider_end(decider, MG_REFUSED, "the order's pivot is done: it can only go forward");
    }
    if (goal == MG_GOAL_CANCELLED && order->state == MG_ORDER_ERROR &&
        order->reason == MG_REASON_STATE_LOST) { /* a client may send it, and knows no more than the rows */
        return mg_decider_end(decider, MG_REFUSED,
                              "the database has lost a part of the order; once it was compared with the "
                              "services, compensate it");
    }
    if (order->state == MG_ORDER_ERROR && order->goal != MG_GOAL_PROCESSED) {
        return mg_decider_end(decider, MG_REFUSED,
                              mg_plan_is_pivot_stuck(decider)
                                  ? "the order's pivot may have happened; settle it"
                                  : "the order is turned back already; resume it, or settle its steps");
    }
    enum mg_verdict verdict = mg_decider_order(decider, MG_ORDER_EVENT_AMEND, MG_REASON_OPERATOR, -1);
    if (verdict == MG_GO) {
        order->goal = goal;
    }
    return verdict;
}

enum mg_verdict mg_operator_decide(struct mg_decider *decider)
{
    const struct mg_cause *cause = decider->cause;
    if (cause->version != 0 && cause->version != decider->order.version) {
        return mg_decider_end(decider, MG_STALE_CAUSE,
                              "the order has changed since the command was decided on");
    }
    if (cause->kind == MG_CAUSE_RESUME) {
        return order_resume(decider);
    }
    if (cause->kind == MG_CAUSE_RESTART) {
        return order_restart(decider);
    }
    if (cause->kind == MG_CAUSE_SETTLE) {
        return step_settle(decider);
    }
    if (cause->kind == MG_CAUSE_SKIP) {
        return step_skip(decider);
    }
    if (cause->kind == MG_CAUSE_COMPENSATE) {
        return order_turn_back(decider, MG_GOAL_COMPENSATED);
    }
    if (cause->kind == MG_CAUSE_RELEASE) {
        return mg_line_release(decider);
    }
    return order_turn_back(decider, MG_GOAL_CANCELLED);
}
