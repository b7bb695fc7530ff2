/*
 * The consequences of a cause for the whole order: ready steps, its end, turning back, and the order of
 * undos. Planning only moves an order on; a second call changes nothing more.
 */
#include "core/plan.h"

#include "core/doubt.h"
#include "core/order.h"
#include "core/quiet.h"
#include "core/wait.h"

static uint64_t bit(int index)
{
    return UINT64_C(1) << index;
}

static int lowest(uint64_t bits)
{
    int index = 0;
    while ((bits & bit(index)) == 0) {
        index++;
    }
    return index;
}

bool mg_plan_is_pivot_done(const struct mg_plan *plan, const struct mg_order *order)
{
    for (int i = 0; i < order->step_count; i++) {
        if (plan->steps[i].is_pivot && order->steps[i].state == MG_STEP_DONE) {
            return true;
        }
    }
    return false;
}

bool mg_plan_is_pivot_open(const struct mg_plan *plan, const struct mg_order *order, int except)
{
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        bool may_turn_out_done =
            step->state == MG_STEP_RUNNING || (step->is_maybe && !plan->steps[i].has_undo);
        if (plan->steps[i].is_pivot && may_turn_out_done && i != except) {
            return true;
        }
    }
    return false;
}

/* True if compensation must undo the step: it is done or may have happened, and it has an undo. */
static bool needs_undo(const struct mg_plan *plan, const struct mg_order *order, int index)
{
    const struct mg_step *step = &order->steps[index];
    return plan->steps[index].has_undo && (step->state == MG_STEP_DONE || step->is_maybe);
}

void mg_plan_dispatch(struct mg_decider *decider, int index, enum mg_kind kind)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    enum mg_reason gate = decider->context->gate[index];
    int64_t now_ms = decider->context->now_ms;
    if (gate != MG_REASON_NONE) {
        if (!mg_step_is_parked(step)) { /* a parked step needs no write: the supervisor sends due again */
            (void)mg_decider_step(decider, index, MG_STEP_EVENT_PARK, gate,
                                  now_ms + decider->context->park_ms);
        }
        return;
    }
    if (step->attempt >= MG_ATTEMPT_MAX) { /* only a faulty agent's replies raise it that far */
        (void)mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_ATTEMPTS_EXHAUSTED, index);
        return;
    }
    if (kind == MG_KIND_DO && step->is_undo_dispatched) {
        mg_step_renew_key(step);
    }
    step->attempt++;
    step->kind = kind;
    /* An acceptance from here on is that of the undo. Until there is one, the time of the do's work stays. */
    if (kind == MG_KIND_UNDO) {
        step->finish_by_ms = mg_step_asks_undone(step) ? 0 : step->finish_by_ms;
        step->is_undo_dispatched = true;
        step->is_accepted = false;
        step->poll_failure_count = 0;
    }
    int64_t within_ms = kind == MG_KIND_UNDO ? plan->undo_complete_within_ms : plan->complete_within_ms;
    (void)mg_decider_step(decider, index, MG_STEP_EVENT_DISPATCH, MG_REASON_NONE, 0);
    step->complete_by_ms = now_ms + within_ms;
}

void mg_plan_begin(struct mg_decider *decider, int index)
{
    if (decider->plan->steps[index].is_wait) {
        mg_wait_open(decider, index);
    } else if (mg_doubt_way(decider, index) == MG_WAY_DO || mg_doubt_is_repeated(decider, index)) {
        mg_plan_dispatch(decider, index, MG_KIND_DO);
    } else {
        mg_doubt_begin(decider, index);
    }
}

/* A wait that ends at the moment of quiet is due by the possibly cut moment, after a step of the clock (law
 * 11, quiesce). */
static bool is_due(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    if (step->due_at_ms == 0 || step->due_at_ms > decider->context->now_ms) {
        return false;
    }
    if (step->due_at_ms != step->quiet_at_ms) {
        return true;
    }
    bool is_quiet = mg_quiet_is_reached(decider, index);
    step->due_at_ms = step->quiet_at_ms; /* mg_quiet_is_reached may have cut it */
    return is_quiet;
}

/* The next attempt of a step between attempts, the verify of one in doubt, or the end of a wait, if it is
 * due. */
static void wait_end(struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    if (step->state == MG_STEP_WAITING && is_due(decider, index)) {
        if (decider->plan->steps[index].is_wait) {
            mg_wait_end(decider, index);
        } else {
            mg_plan_dispatch(decider, index, step->is_accepted ? MG_KIND_VERIFY : MG_KIND_DO);
        }
    } else if (step->state == MG_STEP_UNKNOWN && is_due(decider, index) &&
               mg_quiet_is_reached(decider, index)) {
        mg_plan_dispatch(decider, index, MG_KIND_VERIFY);
    }
}

/* ---- forward ---- */

static uint64_t steps_in(const struct mg_order *order, enum mg_step_state state)
{
    uint64_t steps = 0;
    for (int i = 0; i < order->step_count; i++) {
        steps |= order->steps[i].state == state ? bit(i) : 0;
    }
    return steps;
}

/* Steps that are done or skipped, with all before them. A step may be so before its turn: an operator skips
 * it, or a restart leaves it done. It then lets nothing through that follows the open ones before it. */
static uint64_t finished_steps(const struct mg_plan *plan, const struct mg_order *order)
{
    uint64_t finished = steps_in(order, MG_STEP_DONE) | steps_in(order, MG_STEP_SKIPPED), before;
    do {
        before = finished;
        for (uint64_t left = finished; left != 0; left &= left - 1) {
            int step = lowest(left);
            finished &= (plan->steps[step].after & ~finished) == 0 ? ~UINT64_C(0) : ~bit(step);
        }
    } while (finished != before); /* bits are only taken away */
    return finished;
}

static int failed_step(const struct mg_order *order)
{
    for (int i = 0; i < order->step_count; i++) {
        if (order->steps[i].state == MG_STEP_FAILED) {
            return i;
        }
    }
    return -1;
}

enum mg_verdict mg_plan_pass_by(struct mg_decider *decider, int index, enum mg_reason reason)
{
    if (decider->order.steps[index].is_maybe) {
        return mg_decider_step(decider, index, MG_STEP_EVENT_LAPSE, MG_REASON_SKIP_REFUSED, 0);
    }
    decider->has_passed_by = true;
    return mg_decider_step(decider, index, MG_STEP_EVENT_SKIP, reason, 0);
}

static bool is_ready(const struct mg_decider *decider, int index, uint64_t finished)
{
    return decider->order.steps[index].state == MG_STEP_PENDING &&
           (decider->plan->steps[index].after & ~finished) == 0;
}

/* Passes by the steps that need a skipped one. This precedes any request: one of them may turn the order
 * back. */
static void steps_pass_by(struct mg_decider *decider, uint64_t finished)
{
    uint64_t skipped = steps_in(&decider->order, MG_STEP_SKIPPED);
    for (int i = 0; i < decider->order.step_count && skipped != 0; i++) {
        if (is_ready(decider, i, finished) && (decider->plan->steps[i].needs & skipped) != 0) {
            (void)mg_plan_pass_by(decider, i, MG_REASON_NEEDS_SKIPPED);
        }
    }
}

static void step_begin(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    if (!plan->has_guard || mg_doubt_is_repeated(decider, index)) {
        mg_plan_begin(decider, index);
    } else if ((decider->asked & bit(index)) == 0) { /* once in a decision */
        decider->asked |= bit(index);
        mg_decider_ask(decider, index);
    }
}

static void step_advance(struct mg_decider *decider, int index, uint64_t finished)
{
    if (is_ready(decider, index, finished)) {
        step_begin(decider, index);
    }
    wait_end(decider, index);
}

static bool is_expired(const struct mg_decider *decider)
{
    int64_t complete_by_ms = decider->order.complete_by_ms;
    return mg_has_passed(decider->context, complete_by_ms) &&
           decider->context->now_ms - complete_by_ms < MG_EXPIRY_COMMAND_MS;
}

void mg_plan_finish(struct mg_decider *decider)
{
    const struct mg_cause *cause = decider->cause;
    bool is_waived = cause->kind == MG_CAUSE_RESUME && cause->resume.is_output_waived;
    if (decider->context->is_output_open) {
        decider->decision->asks_output = true;
        decider->is_changed = true;
    } else if (decider->context->is_output_unrenderable && !is_waived) {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_UNRENDERABLE, -1);
    } else {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_FINISH, MG_REASON_NONE, -1);
    }
}

static uint64_t all_steps(const struct mg_order *order)
{
    return order->step_count == MG_STEPS_MAX ? UINT64_MAX : bit(order->step_count) - 1;
}

/* Moves each step on once. */
static void steps_advance(struct mg_decider *decider, uint64_t finished)
{
    struct mg_order *order = &decider->order;
    for (int i = 0; i < order->step_count && order->state != MG_ORDER_ERROR; i++) {
        step_advance(decider, i, finished);
        if (order->state == MG_ORDER_PENDING && order->steps[i].state == MG_STEP_RUNNING) {
            (void)mg_decider_order(decider, MG_ORDER_EVENT_BEGIN, MG_REASON_NONE, -1);
        }
    }
}

/* A skipped step, and a wait that is over, make others ready at once; each further round has at least one
 * more finished step. */
static void plan_forward(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    do {
        uint64_t finished = finished_steps(decider->plan, order);
        decider->has_passed_by = false;
        if (finished == all_steps(order)) {
            mg_plan_finish(decider);
            return;
        }
        if (is_expired(decider)) {
            return; /* no new work */
        }
        steps_pass_by(decider, finished);
        if (!decider->has_passed_by && failed_step(order) < 0) {
            steps_advance(decider, finished);
        }
    } while (decider->has_passed_by && order->state != MG_ORDER_ERROR && failed_step(order) < 0);
}

/* ---- backward ---- */

static bool is_pivot_in_doubt(const struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    bool is_open = step->state != MG_STEP_DONE && step->state != MG_STEP_RUNNING && step->is_maybe;
    return decider->plan->steps[index].is_pivot && !decider->plan->steps[index].has_undo && is_open;
}

/* True if the step's own policy still brings it to an end. A step that is absent, but not for good, is
 * not sent again on the way back. */
static bool has_way(const struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    enum mg_way way = mg_doubt_way(decider, index);
    if (step->state == MG_STEP_PENDING) {
        return is_ready(decider, index, finished_steps(decider->plan, &decider->order)) &&
               way != MG_WAY_PERSON;
    }
    if (step->state == MG_STEP_WAITING) {
        return step->is_accepted || way == MG_WAY_DO;
    }
    return step->state == MG_STEP_UNKNOWN && step->due_at_ms != 0;
}

bool mg_plan_is_pivot_stuck(const struct mg_decider *decider)
{
    for (int i = 0; i < decider->order.step_count; i++) {
        if (is_pivot_in_doubt(decider, i) && !has_way(decider, i)) {
            return !mg_plan_is_pivot_done(decider->plan, &decider->order);
        }
    }
    return false;
}

/* Undoing around a pivot with an open outcome would be a gamble. While the pivot runs, everything waits for
 * it. If it is in doubt and has no undo, its polls, verifies and attempts go on. If it turns out done, the
 * order goes forward again. If its outcome stays unknown, an operator must decide. True: undoing may
 * continue. */
static bool pivots_allow_undo(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    if (mg_plan_is_pivot_done(decider->plan, order)) { /* one done pivot outweighs all open ones */
        order->goal = MG_GOAL_PROCESSED;
        order->complete_by_ms = 0;
        (void)mg_decider_order(decider, MG_ORDER_EVENT_FORWARD, MG_REASON_NONE, -1);
        return false;
    }
    int doubted = -1;
    bool is_open = false;
    for (int i = 0; i < order->step_count && order->state != MG_ORDER_ERROR; i++) {
        const struct mg_step *step = &order->steps[i];
        if (is_pivot_in_doubt(decider, i) && !has_way(decider, i)) {
            doubted = i;
        } else if (is_pivot_in_doubt(decider, i)) {
            if (step->state == MG_STEP_PENDING) {
                mg_plan_begin(decider, i);
            }
            wait_end(decider, i);
            is_open = true;
        } else if (decider->plan->steps[i].is_pivot && step->state == MG_STEP_RUNNING) {
            is_open = true;
        }
    }
    if (doubted >= 0 && !is_open) {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_OUTCOME_UNKNOWN, doubted);
    }
    return doubted < 0 && !is_open;
}

/* Until then the work of the do may have no effect yet that an undo finds. If the do has no answer, that may
 * have been a 202: its work began before now, or before the moment of quiet. 0: the do leaves no work. */
static int64_t work_end_ms(struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    int64_t within_ms = decider->plan->steps[index].finish_within_ms;
    if (step->state == MG_STEP_DONE) {
        return 0;
    }
    if (step->is_accepted) {
        return step->finish_by_ms;
    }
    return step->is_maybe && within_ms > 0 ? mg_quiet_due_at(decider, index) + within_ms : 0;
}

/* Plans the undo of every step that must be undone; a waiting step that provably did nothing is abandoned. */
static void plan_undos(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    for (int i = 0; i < order->step_count; i++) {
        struct mg_step *step = &order->steps[i];
        bool is_settled = step->state == MG_STEP_PENDING || step->state == MG_STEP_WAITING ||
                          step->state == MG_STEP_UNKNOWN || step->state == MG_STEP_DONE ||
                          step->state == MG_STEP_FAILED || step->state == MG_STEP_SKIPPED ||
                          step->state == MG_STEP_UNDONE; /* maybe again, after lost state */
        if (!is_settled) {
            continue;
        }
        if (needs_undo(decider->plan, order, i)) {
            step->failure_count = 0;
            step->poll_failure_count = 0;
            step->cool_down_count = 0;
            bool is_answered = step->state == MG_STEP_DONE;
            step->finish_by_ms = work_end_ms(decider, i);
            step->is_accepted =
                (is_answered || step->is_accepted) && !step->is_undo_dispatched; /* not an earlier undo's */
            bool is_quiet = mg_quiet_is_reached(decider, i);
            (void)mg_decider_step(decider, i, MG_STEP_EVENT_PLAN_UNDO,
                                  is_quiet ? MG_REASON_ORDER_TURNED_BACK : MG_REASON_QUIESCING,
                                  mg_quiet_due_at(decider, i));
        } else if (step->state == MG_STEP_WAITING) {
            (void)mg_decider_step(decider, i, MG_STEP_EVENT_ABANDON, MG_REASON_ORDER_TURNED_BACK, 0);
        }
    }
}

/* For each step: all steps that follow it, directly or indirectly. */
static void find_followers(const struct mg_plan *plan, uint64_t followers[MG_STEPS_MAX])
{
    for (int i = 0; i < plan->step_count; i++) {
        followers[i] = 0;
    }
    bool has_grown = true;
    while (has_grown) { /* definitions list steps in any order; bits are only added, so the loop ends */
        has_grown = false;
        for (int i = plan->step_count - 1; i >= 0; i--) {
            for (uint64_t left = plan->steps[i].after; left != 0; left &= left - 1) {
                uint64_t *before = &followers[lowest(left)];
                uint64_t more = *before | bit(i) | followers[i];
                has_grown = has_grown || more != *before;
                *before = more;
            }
        }
    }
}

/* Steps that may still act or still have to be undone; the steps before them must wait. */
static uint64_t unresolved_steps(const struct mg_order *order)
{
    uint64_t unresolved = 0;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (mg_step_is_running(step) || step->state == MG_STEP_UNDO_PENDING ||
            step->state == MG_STEP_UNDO_WAITING) {
            unresolved |= bit(i);
        }
    }
    return unresolved;
}

bool mg_plan_has_failed_undo(const struct mg_order *order)
{
    for (int i = 0; i < order->step_count; i++) {
        if (order->steps[i].state == MG_STEP_UNDO_FAILED) {
            return true;
        }
    }
    return false;
}

static void finish_backward(struct mg_decider *decider)
{
    const struct mg_order *order = &decider->order;
    if (mg_plan_has_failed_undo(order)) {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_UNDO_FAILED, -1);
    } else if (order->goal == MG_GOAL_CANCELLED) {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_CALLED_OFF, order->reason, -1);
    } else {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_AMENDED, order->reason, -1);
    }
}

/* The next request of a step that is to be undone: the undo, its verify, or an attempt that learns the result
 * which the undo needs. If neither way leads to the result, it is the undo, which then cannot be built. */
static enum mg_kind next_kind(const struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    if (mg_step_asks_undone(&decider->order.steps[index])) {
        return MG_KIND_VERIFY;
    }
    if (!mg_decider_lacks_result(decider, index)) {
        return MG_KIND_UNDO;
    }
    if (plan->learn == MG_LEARN_VERIFY) {
        return MG_KIND_VERIFY;
    }
    /* Law 8, derived identities: no do goes out under the key of a dispatched undo. Its result was known, and
     * only a database that has lost it can lack it. */
    bool can_repeat = plan->learn == MG_LEARN_REPEAT && !decider->order.steps[index].is_undo_dispatched;
    return can_repeat ? MG_KIND_DO : MG_KIND_UNDO;
}

/* An attempt to learn the result may still act like any do. No undo overtakes it (law 11, quiesce), and no
 * further attempt to learn: so its answer holds for all before it. No undo overtakes another:
 * a service that knows its own state, and not the key, finds the work of the first. A verify of the undo
 * waits only if the outcome is unclear. */
static void undo_advance(struct mg_decider *decider, int index)
{
    const struct mg_step *step = &decider->order.steps[index];
    bool may_be_overtaken = !mg_step_asks_undone(step) || step->finish_by_ms == 0;
    if (may_be_overtaken && !mg_quiet_is_reached(decider, index)) {
        (void)mg_decider_step(decider, index, MG_STEP_EVENT_PARK, MG_REASON_QUIESCING,
                              mg_quiet_due_at(decider, index));
    } else {
        mg_plan_dispatch(decider, index, next_kind(decider, index));
    }
}

static void plan_backward(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    if (!pivots_allow_undo(decider)) {
        return;
    }
    plan_undos(decider);
    uint64_t followers[MG_STEPS_MAX];
    find_followers(decider->plan, followers);
    uint64_t unresolved = unresolved_steps(order);
    for (int i = order->step_count - 1; i >= 0 && order->state != MG_ORDER_ERROR; i--) {
        struct mg_step *step = &order->steps[i];
        bool is_waiting = step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING;
        if (!is_waiting) {
            continue;
        }
        if (followers[i] & unresolved) {
            step->due_at_ms = 0; /* triggered by the end of its followers, not by a clock */
        } else {
            if (step->due_at_ms == 0) {
                step->due_at_ms = mg_quiet_due_at(decider, i);
                decider->is_changed = true;
            }
            if (is_due(decider, i)) {
                undo_advance(decider, i);
            }
        }
    }
    if (unresolved == 0) {
        finish_backward(decider);
    }
}

static bool is_backward(const struct mg_decider *decider)
{
    return decider->order.state == MG_ORDER_COMPENSATING;
}

/* A finally failed step decides the order's direction. After the pivot, or by definition, the order goes to
 * error; otherwise it turns back. True: planning ends here. */
static bool plan_failure(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    int failed = failed_step(order);
    if (failed < 0) {
        return false;
    }
    bool is_pivot_done = mg_plan_is_pivot_done(decider->plan, order);
    if (is_pivot_done || decider->plan->on_failure == MG_ON_FAILURE_ERROR) {
        (void)mg_decider_order(decider, MG_ORDER_EVENT_RAISE, MG_REASON_STEP_FAILED, failed);
        return true;
    }
    order->goal = MG_GOAL_COMPENSATED;
    (void)mg_decider_order(decider, MG_ORDER_EVENT_AMEND, MG_REASON_STEP_FAILED, failed);
    return false;
}

/* Work that a service has accepted goes on while its order waits for an operator, and so does its time. */
static void plan_error(struct mg_decider *decider)
{
    for (int i = 0; i < decider->order.step_count; i++) {
        if (mg_step_is_polled(&decider->order.steps[i])) {
            wait_end(decider, i);
        }
    }
}

static void plan_open(struct mg_decider *decider)
{
    struct mg_order *order = &decider->order;
    if (!is_backward(decider) && plan_failure(decider)) {
        return;
    }
    if (is_backward(decider)) {
        plan_backward(decider);
    }
    if (order->state == MG_ORDER_PENDING ||
        order->state == MG_ORDER_PROCESSING) { /* also after a turn forward */
        if (order->goal == MG_GOAL_PROCESSED && failed_step(order) < 0) {
            plan_forward(decider);
        }
        if (order->goal == MG_GOAL_PROCESSED && failed_step(order) >= 0 &&
            !mg_order_state_is_terminal(order->state) && !plan_failure(decider)) {
            plan_backward(decider); /* a guard refused a step that had become ready */
        }
    }
}

void mg_plan_order(struct mg_decider *decider)
{
    bool is_open = !mg_order_state_is_terminal(decider->order.state);
    if (is_open && !mg_order_is_in_line(&decider->order)) {
        plan_open(decider);
    }
    if (decider->order.state == MG_ORDER_ERROR) { /* or it has just been raised */
        plan_error(decider);
    }
}
