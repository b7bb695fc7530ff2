/*
 * The world of test_core_verbs.c: one order of two steps, and their services as plain counts. The first
 * step's service does not de-duplicate: each do has an effect of its own, and an undo takes all of them back.
 * Answers are true. Each change is judged as it happens.
 */
#ifndef MG_TEST_CORE_CELLS_H
#define MG_TEST_CORE_CELLS_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/decide.h"
#include "core/order.h"
#include "core/verbs.h"

#define CELL_STEPS 2

enum cell_verb {
    VERB_RESUME,
    VERB_RESUME_CHANGED, /* with a repaired payload */
    VERB_REPEAT,         /* resume --step --repeat of the first step */
    VERB_RESTART,
    VERB_SETTLE_DONE,
    VERB_SETTLE_ABSENT,
    VERB_SKIP,
    VERB_COMPENSATE,
    VERB_CANCEL,
    VERB_COUNT
};

/* Events of a step: answers to calls, and the world itself. */
enum cell_event {
    EVENT_DONE,         /* it acts and answers so */
    EVENT_DONE_LACKING, /* the same, without the result */
    EVENT_LOST,         /* it acts, and no answer comes: overdue */
    EVENT_LATE,         /* no answer, and it acts at the last moment that quiesce allows for */
    EVENT_SILENT,       /* no answer, and it never acts */
    EVENT_DOUBT_ACTED,
    EVENT_DOUBT,
    EVENT_NO,       /* it certainly did nothing, and may do so later */
    EVENT_REFUSED,  /* for good */
    EVENT_ACCEPTED, /* 202 */
    EVENT_FINISHES, /* the world: accepted work is done, or an accepted undo */
    EVENT_FAILS,    /* the world: such work is gone, or such an undo refused */
    EVENT_DUE,
    EVENT_EXPIRED, /* the order */
    EVENT_COUNT
};

struct cell_service {
    int standing;
    bool is_working, is_late;
    bool is_undoing, is_undo_refused, was_undone;
    int64_t late_at_ms;
};

struct cell {
    struct cell_service services[CELL_STEPS];
    uint64_t known; /* results */
    int64_t now_ms;
    bool was_repeated;     /* an operator had the first step's do sent once more */
    int verbs;             /* that the path to this cell has */
    int parent;            /* of the list; -1: none */
    char label[48];        /* the last cause */
    struct mg_order order; /* last: a stored cell is cut after its steps */
};

struct cell_world {
    struct mg_plan plan;
    struct mg_decision decision;
    struct cell at;
    char failure[400]; /* "": all is as it must be */
};

static inline void cell_fail(struct cell_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void cell_fail(struct cell_world *world, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (world->failure[0] == '\0') {
        (void)vsnprintf(world->failure, sizeof(world->failure), format, args);
    }
    va_end(args);
}

static inline bool cell_may_double(const struct cell_world *world, int step)
{
    const struct mg_step_plan *plan = &world->plan.steps[step];
    bool is_repeatable = plan->on_unknown == MG_ON_UNKNOWN_RETRY && !plan->is_at_most_once;
    return is_repeatable || (step == 0 && world->at.was_repeated);
}

static inline void cell_act(struct cell_world *world, int step)
{
    struct cell_service *service = &world->at.services[step];
    if (service->standing > 0 && !cell_may_double(world, step)) {
        cell_fail(world, "step %d acts twice, and neither its policy nor an operator had it sent again",
                  step);
    }
    service->standing++;
    service->is_working = false;
    service->was_undone = false;
}

static inline void cell_time_pass(struct cell_world *world, int64_t now_ms)
{
    world->at.now_ms = now_ms > world->at.now_ms ? now_ms : world->at.now_ms;
    for (int i = 0; i < CELL_STEPS; i++) {
        struct cell_service *service = &world->at.services[i];
        if (service->is_late && service->late_at_ms <= world->at.now_ms) {
            service->is_late = false;
            cell_act(world, i);
        }
    }
}

static inline bool cell_may_stand(const struct cell_service *service)
{
    return service->standing > 0 || service->is_working || service->is_late;
}

/* ---- invariants of a change ---- */

static inline void cell_order_check(struct cell_world *world, int step)
{
    for (int i = 0; i < step && world->at.order.state == MG_ORDER_PROCESSING;
         i++) { /* each follows the last */
        enum mg_step_state state = world->at.order.steps[i].state;
        if (state != MG_STEP_DONE && state != MG_STEP_SKIPPED) {
            cell_fail(world, "step %d goes out, and step %d before it is %s", step, i,
                      mg_step_state_name(state));
        }
    }
}

static inline void cell_request_check(struct cell_world *world, int step)
{
    const struct mg_step *at = &world->at.order.steps[step];
    const struct cell_service *service = &world->at.services[step];
    const struct mg_step_plan *plan = &world->plan.steps[step];
    cell_order_check(world, step);
    if (at->kind == MG_KIND_DO) {
        bool is_by_policy = plan->on_unknown == MG_ON_UNKNOWN_RETRY && !plan->is_at_most_once;
        if (cell_may_stand(service) && !cell_may_double(world, step)) {
            cell_fail(world, "step %d: a do out of a maybe, and neither policy, proof nor operator sends it",
                      step);
        }
        if (service->is_late && !is_by_policy) {
            cell_fail(world, "step %d: a do is repeated while an earlier one may still act", step);
        }
        return;
    }
    if (service->is_late) {
        cell_fail(world, "step %d: %s overtakes a do", step, mg_kind_name(at->kind));
    }
    bool is_known = !plan->needs_result || (world->at.known >> step & 1) != 0;
    if (at->kind == MG_KIND_UNDO && !is_known) {
        cell_fail(world, "step %d: an undo without the result that it needs", step);
    }
    if (at->state == MG_STEP_UNDO_RUNNING && at->kind == MG_KIND_VERIFY && is_known &&
        !mg_step_asks_undone(at)) {
        cell_fail(world, "step %d: a result is asked for that is known", step);
    }
}

static inline void cell_end_check(struct cell_world *world)
{
    const struct mg_order *order = &world->at.order;
    for (int i = 0; i < CELL_STEPS; i++) {
        const struct cell_service *service = &world->at.services[i];
        enum mg_step_state state = order->steps[i].state;
        bool is_undone = order->state == MG_ORDER_COMPENSATED || order->state == MG_ORDER_CANCELLED;
        if (is_undone && world->plan.steps[i].has_undo && cell_may_stand(service)) {
            cell_fail(world, "the order is %s, and step %d stands (%s)", mg_order_state_name(order->state), i,
                      mg_step_state_name(state));
        }
        bool is_once = service->standing == 1 || (service->standing > 1 && cell_may_double(world, i));
        if (order->state == MG_ORDER_PROCESSED && state == MG_STEP_DONE && !is_once) {
            cell_fail(world, "the order is processed, and step %d stands %d times", i, service->standing);
        }
    }
}

static inline void cell_change_check(struct cell_world *world, const struct mg_order *before)
{
    for (int i = 0; i < world->decision.effect_count; i++) {
        if (world->decision.effects[i].kind == MG_EFFECT_REQUEST) {
            cell_request_check(world, world->decision.effects[i].step);
        }
    }
    for (int i = 0; i < CELL_STEPS; i++) {
        const struct cell_service *service = &world->at.services[i];
        enum mg_step_state was = before->steps[i].state, is = world->at.order.steps[i].state;
        if (is == MG_STEP_DONE && was != is && service->standing == 0) {
            cell_fail(world, "step %d becomes done, and has no effect", i);
        }
        if (is == MG_STEP_UNDONE && was != is && cell_may_stand(service)) {
            cell_fail(world, "step %d becomes undone, and may stand", i);
        }
    }
    cell_end_check(world);
}

/* ---- causes ---- */

static inline enum mg_verdict cell_decide(struct cell_world *world, struct mg_cause cause, bool has_result)
{
    struct cell *at = &world->at;
    const struct mg_order before = at->order;
    uint64_t known = at->known | (has_result && cause.step >= 0 ? UINT64_C(1) << cause.step : 0);
    const struct mg_context context = {.now_ms = at->now_ms,
                                       .random = (uint64_t)at->now_ms,
                                       .quiesce_ms = 3000,
                                       .park_ms = 1000,
                                       .known_results = known};
    enum mg_verdict verdict = mg_order_decide(&world->plan, &context, &cause, &at->order, &world->decision);
    if (verdict == MG_IMPOSSIBLE) {
        cell_fail(world, "%s is impossible: %s", mg_cause_name(cause.kind), world->decision.why);
    }
    if (verdict == MG_GO) {
        at->known = known;
        at->was_repeated = at->was_repeated || (cause.kind == MG_CAUSE_RESUME && cause.resume.is_repeat);
        cell_change_check(world, &before);
        for (int i = 0; i < CELL_STEPS; i++) { /* a result is that of an effect */
            bool is_gone = at->order.steps[i].state == MG_STEP_UNDONE ||
                           (cause.kind == MG_CAUSE_RESTART && at->order.steps[i].state != MG_STEP_DONE);
            at->known &= is_gone ? ~(UINT64_C(1) << i) : ~UINT64_C(0);
        }
    }
    return verdict;
}

static inline void cell_reply(struct cell_world *world, int step, enum mg_outcome outcome,
                              enum mg_executed executed, bool has_result)
{
    const struct mg_step *at = &world->at.order.steps[step];
    bool is_verify = at->kind == MG_KIND_VERIFY;
    (void)cell_decide(
        world,
        (struct mg_cause){.kind = MG_CAUSE_REPLY,
                          .step = step,
                          .attempt = at->attempt,
                          .reply = {.kind = at->kind,
                                    .outcome = outcome,
                                    .executed = executed,
                                    .is_work_refused = is_verify && outcome == MG_OUTCOME_PERMANENT,
                                    .retry_after_ms = -1}},
        has_result);
}

static inline void cell_overdue(struct cell_world *world, int step)
{
    const struct mg_step *at = &world->at.order.steps[step];
    cell_time_pass(world, at->complete_by_ms);
    (void)cell_decide(
        world, (struct mg_cause){.kind = MG_CAUSE_OVERDUE, .step = step, .attempt = at->attempt}, false);
}

/* A verify, of a do or an undo, answered truly. */
static inline void cell_ask(struct cell_world *world, int step)
{
    const struct cell_service *service = &world->at.services[step];
    if (mg_step_asks_undone(&world->at.order.steps[step])) {
        bool is_done = service->was_undone && !cell_may_stand(service);
        enum mg_outcome outcome = service->is_undoing        ? MG_OUTCOME_ACCEPTED
                                  : service->is_undo_refused ? MG_OUTCOME_PERMANENT
                                  : is_done                  ? MG_OUTCOME_DONE
                                                             : MG_OUTCOME_ABSENT;
        cell_reply(world, step, outcome, MG_EXECUTED_NO, false);
    } else if (service->standing > 0) {
        cell_reply(world, step, MG_OUTCOME_DONE, MG_EXECUTED_YES, true);
    } else if (service->is_working) {
        cell_reply(world, step, MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES, false);
    } else {
        cell_reply(world, step, MG_OUTCOME_ABSENT, MG_EXECUTED_NO, false);
    }
}

static inline void cell_take_back(struct cell_service *service)
{
    *service = (struct cell_service){
        .was_undone = true, .is_late = service->is_late, .late_at_ms = service->late_at_ms};
}

/* ---- the operator ---- */

/* An operator settles truly, by a look at the service: a call that acts later is not to be seen there. */
static inline bool cell_can_say(const struct cell_world *world, enum cell_verb verb, int step)
{
    const struct cell_service *service = &world->at.services[step];
    bool is_open = service->is_working || service->is_undoing;
    if (verb == VERB_SETTLE_DONE) {
        return !is_open && service->standing > 0;
    }
    return verb != VERB_SETTLE_ABSENT || (!is_open && service->standing == 0);
}

static inline enum mg_verdict cell_command(struct cell_world *world, enum cell_verb verb, int step)
{
    static const enum mg_cause_kind KINDS[VERB_COUNT] = {
        MG_CAUSE_RESUME, MG_CAUSE_RESUME, MG_CAUSE_RESUME,     MG_CAUSE_RESTART, MG_CAUSE_SETTLE,
        MG_CAUSE_SETTLE, MG_CAUSE_SKIP,   MG_CAUSE_COMPENSATE, MG_CAUSE_CANCEL};
    bool is_of_step =
        verb == VERB_REPEAT || verb == VERB_SETTLE_DONE || verb == VERB_SETTLE_ABSENT || verb == VERB_SKIP;
    struct mg_cause cause = {
        .kind = KINDS[verb], .step = is_of_step ? step : -1, .version = world->at.order.version};
    if (cause.kind == MG_CAUSE_RESUME) {
        cause.resume = (struct mg_cause_resume){.is_request_changed = verb == VERB_RESUME_CHANGED,
                                                .is_repeat = verb == VERB_REPEAT};
    } else if (cause.kind == MG_CAUSE_SETTLE) {
        cause.settle = (struct mg_cause_settle){.outcome = verb == VERB_SETTLE_ABSENT ? MG_OUTCOME_ABSENT
                                                                                      : MG_OUTCOME_DONE,
                                                .has_result = verb == VERB_SETTLE_DONE,
                                                .is_result_missing = (world->at.known >> step & 1) == 0};
    }
    return cell_decide(world, cause, verb == VERB_SETTLE_DONE);
}

#endif
