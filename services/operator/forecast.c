/* See forecast.h. */
#include "operator/forecast.h"

#include <string.h>

#include "core/decide.h"
#include "core/order.h"

/* Each cause ends a request, a wait or an ask of one step, and a step has few of these when all goes well. A
 * play that goes on for longer is one that this file does not know the end of. */
#define CAUSES_MAX (16 * MG_STEPS_MAX)
/* Waits in a row that only move a step's moment, as for an attempt that may still act. */
#define WAITS_MAX 4

/* A copy of the order, which is led on by causes. */
struct play {
    const struct mg_plan *plan;
    struct mg_context context;
    struct mg_order order;
    struct mg_decision decision;
};

static void play_begin(struct play *play, const struct mg_plan *plan, const struct mg_context *context,
                       const struct mg_order *order)
{
    play->plan = plan;
    play->context = *context;
    memcpy(&play->order, order, mg_order_size(order));
}

static void ending_note(const struct play *play, struct mg_ending *ending)
{
    for (int i = 0; ending != NULL && i < play->decision.transition_count; i++) {
        const struct mg_transition *change = &play->decision.transitions[i];
        if (change->step >= 0 && change->to == MG_STEP_UNDONE && ending->undone_count < MG_STEPS_MAX) {
            ending->undone[ending->undone_count++] = change->step;
        }
    }
}

/* Guards let steps go; a wait that asks for its moment has it now. */
static void facts_give(struct play *play, struct mg_ending *ending)
{
    for (int asked = 0; asked < CAUSES_MAX; asked++) {
        int step = -1;
        for (int i = 0; i < play->decision.effect_count && step < 0; i++) {
            const struct mg_effect *effect = &play->decision.effects[i];
            bool is_open =
                effect->kind == MG_EFFECT_ASK && play->order.steps[effect->step].state == MG_STEP_PENDING;
            step = is_open ? effect->step : -1;
        }
        const struct mg_cause facts = {
            .kind = MG_CAUSE_FACTS,
            .step = step,
            .facts = {.fact = MG_FACT_GO, .until_ms = play->context.now_ms, .signal = MG_SIGNAL_FACT_NONE}};
        if (step < 0 ||
            mg_order_decide(play->plan, &play->context, &facts, &play->order, &play->decision) != MG_GO) {
            return;
        }
        ending_note(play, ending);
    }
}

static bool decide(struct play *play, struct mg_cause cause, struct mg_ending *ending)
{
    if (mg_order_decide(play->plan, &play->context, &cause, &play->order, &play->decision) != MG_GO) {
        return false;
    }
    ending_note(play, ending);
    facts_give(play, ending);
    return true;
}

static bool answer(struct play *play, int step, struct mg_cause_reply reply, struct mg_ending *ending)
{
    const struct mg_step *row = &play->order.steps[step];
    reply.kind = row->kind;
    reply.retry_after_ms = -1;
    return decide(
        play,
        (struct mg_cause){.kind = MG_CAUSE_REPLY, .step = step, .attempt = row->attempt, .reply = reply},
        ending);
}

static bool answer_done(struct play *play, int step, struct mg_ending *ending)
{
    return answer(play, step,
                  (struct mg_cause_reply){.outcome = MG_OUTCOME_DONE, .executed = MG_EXECUTED_YES}, ending);
}

static void clock_set(struct play *play, int64_t at_ms)
{
    play->context.now_ms = at_ms > play->context.now_ms ? at_ms : play->context.now_ms;
}

/* The end of a wait. True: the order has changed. */
static bool wait_end(struct play *play, int step, struct mg_ending *ending)
{
    const struct mg_step *row = &play->order.steps[step];
    clock_set(play, row->due_at_ms);
    return decide(play, (struct mg_cause){.kind = MG_CAUSE_DUE, .step = step, .attempt = row->attempt},
                  ending);
}

/* ---- the end of an order ---- */

/* Of several the last one, as on the way back. */
static int running_step(const struct mg_order *order)
{
    int found = order->step_count - 1;
    while (found >= 0 && !mg_step_is_running(&order->steps[found])) {
        found--;
    }
    return found;
}

/* Of the steps that wait for a moment the first one; -1: none does. */
static int waiting_step(const struct mg_order *order)
{
    int found = -1;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        bool is_waiting = step->state == MG_STEP_WAITING || step->state == MG_STEP_UNKNOWN ||
                          step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING;
        if (is_waiting && step->due_at_ms != 0 &&
            (found < 0 || step->due_at_ms < order->steps[found].due_at_ms)) {
            found = i;
        }
    }
    return found;
}

/* One that waits for a signal gets it. */
static bool signal_give(struct play *play, int step, struct mg_ending *ending)
{
    return decide(
        play,
        (struct mg_cause){.kind = MG_CAUSE_SIGNAL, .step = step, .signal = {.fact = MG_SIGNAL_FACT_DONE}},
        ending);
}

/* From here on every request is answered as done. */
static void play_out(struct play *play, struct mg_ending *ending)
{
    bool is_moving = true;
    for (int i = 0; i < CAUSES_MAX && is_moving && !mg_order_state_is_terminal(play->order.state); i++) {
        int running = running_step(&play->order), waiting = waiting_step(&play->order);
        if (running >= 0) {
            is_moving = answer_done(play, running, ending);
        } else if (waiting >= 0 && play->order.steps[waiting].reason == MG_REASON_AWAITING_SIGNAL) {
            is_moving = signal_give(play, waiting, ending);
        } else {
            is_moving = waiting >= 0 && wait_end(play, waiting, ending);
        }
    }
    ending->state = play->order.state;
    ending->is_known = mg_order_state_is_terminal(play->order.state);
}

/* ---- the next request ---- */

uint32_t mg_forecast_counted(const struct mg_plan *plan, const struct mg_order *order, int step,
                             uint32_t *ret_allowed)
{
    const struct mg_step *row = &order->steps[step];
    bool is_backward = mg_step_is_backward(row);
    bool is_verify = row->kind == MG_KIND_VERIFY && mg_step_is_running(row);
    bool is_counted =
        (mg_step_is_running(row) && !is_verify) || row->state == MG_STEP_DONE || row->state == MG_STEP_UNDONE;
    *ret_allowed = is_backward ? plan->steps[step].undo_retry.attempts : plan->steps[step].retry.attempts;
    uint32_t counted = row->failure_count + (is_counted ? 1 : 0);
    return counted < *ret_allowed ? counted : *ret_allowed;
}

static struct mg_coming_request running_request(const struct play *play, int step)
{
    const struct mg_step *row = &play->order.steps[step];
    struct mg_coming_request request = {.is_known = mg_step_is_running(row), .kind = row->kind};
    request.asks_undone = row->kind == MG_KIND_VERIFY && mg_step_asks_undone(row);
    if (request.is_known && row->kind != MG_KIND_VERIFY) {
        request.number = mg_forecast_counted(play->plan, &play->order, step, &request.allowed);
    }
    return request;
}

/* Leads the step to its next request. False: none goes out by itself. */
static bool request_reach(struct play *play, int step)
{
    for (int waits = 0; waits < WAITS_MAX && !mg_step_is_running(&play->order.steps[step]); waits++) {
        if (play->order.steps[step].due_at_ms == 0 || mg_step_is_open(&play->order.steps[step]) ||
            !wait_end(play, step, NULL)) {
            return false;
        }
    }
    return mg_step_is_running(&play->order.steps[step]);
}

/* ---- the consequences of a failure ---- */

/* The running request fails so that another may follow. */
static void again_find(const struct play *before, int step, bool is_out, struct mg_coming_request *ret)
{
    struct play play = *before;
    const struct mg_step *row = &play.order.steps[step];
    bool is_verify = row->kind == MG_KIND_VERIFY;
    bool is_failed;
    if (is_out && !is_verify) { /* no answer comes */
        clock_set(&play, row->complete_by_ms);
        is_failed = decide(
            &play, (struct mg_cause){.kind = MG_CAUSE_OVERDUE, .step = step, .attempt = row->attempt}, NULL);
    } else {
        enum mg_outcome outcome = is_verify ? MG_OUTCOME_ABSENT : MG_OUTCOME_TRANSIENT;
        is_failed = answer(&play, step,
                           (struct mg_cause_reply){.outcome = outcome, .executed = MG_EXECUTED_NO}, NULL);
    }
    bool is_cooled = is_failed && play.order.steps[step].reason == MG_REASON_COOLING_DOWN;
    bool is_backward = mg_step_is_backward(&before->order.steps[step]);
    if (is_failed && mg_step_is_backward(&play.order.steps[step]) == is_backward &&
        request_reach(&play, step)) {
        *ret = running_request(&play, step);
        ret->is_cooled = is_cooled;
    }
}

/* The service refuses for good. An answered verify comes first, and the do is refused then. */
static void refuse(struct play *play, int step, struct mg_ending *ending)
{
    const struct mg_step *row = &play->order.steps[step];
    bool is_polled = row->is_accepted && row->kind == MG_KIND_VERIFY;
    if (row->kind == MG_KIND_VERIFY && !is_polled && !mg_step_is_backward(row)) {
        (void)answer(play, step,
                     (struct mg_cause_reply){.outcome = MG_OUTCOME_ABSENT, .executed = MG_EXECUTED_NO},
                     ending);
        if (!request_reach(play, step)) { /* nothing is sent again: the absence was the end */
            return;
        }
    }
    (void)answer(play, step,
                 (struct mg_cause_reply){.outcome = MG_OUTCOME_PERMANENT,
                                         .executed = MG_EXECUTED_NO,
                                         .is_work_refused = is_polled},
                 ending);
}

static void endings_find(const struct play *before, int step, struct mg_forecast *ret)
{
    struct play failing = *before, good = *before;
    refuse(&failing, step, &ret->failed);
    play_out(&failing, &ret->failed);
    play_out(&good, &ret->succeeded);
}

/* The service works on accepted work until its time is over. */
static void unfinished_find(const struct play *before, int step, struct mg_forecast *ret)
{
    struct play play = *before;
    const struct mg_step *row = &play.order.steps[step];
    int64_t finish_at_ms = row->finish_by_ms;
    if (!row->is_accepted || finish_at_ms == 0 || row->kind != MG_KIND_VERIFY) {
        return;
    }
    clock_set(&play, finish_at_ms);
    if (answer(&play, step,
               (struct mg_cause_reply){.outcome = MG_OUTCOME_ACCEPTED, .executed = MG_EXECUTED_MAYBE},
               &ret->unfinished)) {
        ret->finish_at_ms = finish_at_ms;
        play_out(&play, &ret->unfinished);
    }
}

static void expiry_find(const struct mg_plan *plan, const struct mg_context *context,
                        const struct mg_order *order, struct mg_forecast *ret)
{
    struct play play;
    if (order->complete_by_ms == 0) {
        return;
    }
    play_begin(&play, plan, context, order);
    clock_set(&play, order->complete_by_ms);
    if (decide(&play, (struct mg_cause){.kind = MG_CAUSE_EXPIRED, .step = -1}, &ret->expired) &&
        (play.order.state != order->state || play.order.goal != order->goal)) {
        ret->expires_at_ms = order->complete_by_ms;
        play_out(&play, &ret->expired);
    }
}

/* ---- the whole ---- */

static void wait_forecast(struct play *play, int step, struct mg_forecast *ret)
{
    const struct mg_step *row = &play->order.steps[step];
    bool is_for_signal = row->reason == MG_REASON_AWAITING_SIGNAL;
    struct play good = *play;
    ret->coming = is_for_signal ? MG_COMING_SIGNAL : MG_COMING_MOMENT;
    ret->at_ms = row->due_at_ms;
    play_out(&good, &ret->succeeded);
    if (is_for_signal && row->due_at_ms != 0 && wait_end(play, step, &ret->failed)) {
        play_out(play, &ret->failed);
    }
}

static void call_forecast(struct play *play, int step, struct mg_forecast *ret)
{
    const struct mg_step *row = &play->order.steps[step];
    bool is_out = mg_step_is_running(row), is_parked = mg_step_is_parked(row);
    if (!is_out && !request_reach(play, step)) {
        return;
    }
    ret->coming = is_out ? MG_COMING_ANSWER : is_parked ? MG_COMING_GATE : MG_COMING_REQUEST;
    ret->at_ms = is_out ? row->complete_by_ms : is_parked ? 0 : play->context.now_ms;
    ret->request = running_request(play, step);
    again_find(play, step, is_out, &ret->again);
    unfinished_find(play, step, ret);
    endings_find(play, step, ret);
}

void mg_forecast_find(const struct mg_plan *plan, const struct mg_context *context,
                      const struct mg_order *order, int step, struct mg_forecast *ret)
{
    struct play play;
    *ret = (struct mg_forecast){.coming = MG_COMING_NOTHING};
    if (mg_order_state_is_terminal(order->state)) {
        return;
    }
    expiry_find(plan, context, order, ret);
    if (mg_order_is_in_line(order)) {
        ret->coming = MG_COMING_TURN;
        return;
    }
    if (step < 0) {
        return;
    }
    play_begin(&play, plan, context, order);
    if (mg_step_is_open(&order->steps[step])) {
        wait_forecast(&play, step, ret);
    } else {
        call_forecast(&play, step, ret);
    }
}

static int64_t moment_of(const struct mg_step *step)
{
    return mg_step_is_running(step) ? step->complete_by_ms : step->due_at_ms;
}

static const enum mg_step_state STUCK[] = {MG_STEP_UNDO_FAILED, MG_STEP_FAILED, MG_STEP_UNKNOWN};
static const enum mg_step_state UNDOS[] = {MG_STEP_UNDO_WAITING, MG_STEP_UNDO_PENDING, MG_STEP_UNDO_RUNNING};
static const enum mg_step_state OTHERS[] = {MG_STEP_UNDO_FAILED, MG_STEP_FAILED, MG_STEP_UNKNOWN,
                                            MG_STEP_WAITING, MG_STEP_RUNNING};

/* It waits for the undo of another step. */
static bool is_held(const struct mg_step *step)
{
    return mg_step_is_to_undo(step) && !mg_step_is_running(step) && step->due_at_ms == 0;
}

/* Of the steps in this state the one that moves first; -1: none. */
static int first_in(const struct mg_order *order, enum mg_step_state state, bool is_of_held)
{
    int found = -1;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        if (step->state == state && is_held(step) == is_of_held &&
            (found < 0 || moment_of(step) < moment_of(&order->steps[found]))) {
            found = i;
        }
    }
    return found;
}

static int first_of(const struct mg_order *order, const enum mg_step_state *ranks, size_t count,
                    bool is_of_held)
{
    int found = -1;
    for (size_t rank = 0; rank < count && found < 0; rank++) {
        found = first_in(order, ranks[rank], is_of_held);
    }
    return found;
}

#define FIRST_OF(order, ranks, is_of_held)                                                                   \
    first_of(order, ranks, sizeof(ranks) / sizeof((ranks)[0]), is_of_held)

int mg_forecast_step(const struct mg_order *order)
{
    int found = order->state == MG_ORDER_ERROR ? FIRST_OF(order, STUCK, false) : -1;
    found = found >= 0 ? found : FIRST_OF(order, UNDOS, false);
    found = found >= 0 ? found : FIRST_OF(order, UNDOS, true);
    return found >= 0 ? found : FIRST_OF(order, OTHERS, false);
}
