/*
 * One order and the causes to move it, for scenario tests of the decision core. By default three steps in a
 * row (a, b, c), one second between causes, complete-by after ten.
 */
#ifndef MG_TEST_DECIDE_FIXTURE_H
#define MG_TEST_DECIDE_FIXTURE_H

#include <check.h>
#include <string.h>

#include "core/decide.h"
#include "core/order.h"

static struct mg_plan plan;
static struct mg_context context;
static struct mg_order order;
static struct mg_decision decision;

static inline void setup(void)
{
    memset(&plan, 0, sizeof(plan));
    plan.step_count = 3;
    plan.complete_within_ms = 900000;
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        plan.steps[i] = (struct mg_step_plan){
            .after = i > 0 ? UINT64_C(1) << (i - 1) : 0,
            .complete_within_ms = 10000,
            .undo_complete_within_ms = 10000,
            .poll_ms = 1000,
            .retry = {.attempts = 3, .backoff_ms = 500, .max_backoff_ms = 30000, .cool_down_ms = 600000},
            .undo_retry = {.attempts = 2, .backoff_ms = 500, .max_backoff_ms = 30000, .cool_down_ms = 600000},
            .has_verify = true,
            .has_undo = true,
        };
    }
    memset(&context, 0, sizeof(context));
    context.now_ms = 1000000;
    context.random = 7;
    context.quiesce_ms = 3000;
    context.park_ms = 1000;
}

static inline enum mg_verdict decide(struct mg_cause cause)
{
    context.now_ms += 1000;
    context.random += 1;
    return mg_order_decide(&plan, &context, &cause, &order, &decision);
}

static inline void submit(void)
{
    mg_order_init(&plan, &context, 0, &order);
    ck_assert_int_eq(decide((struct mg_cause){.kind = MG_CAUSE_SUBMITTED, .step = -1}), MG_GO);
}

static inline enum mg_verdict reply_executed(int step, enum mg_outcome outcome, enum mg_executed executed)
{
    return decide((struct mg_cause){
        .kind = MG_CAUSE_REPLY,
        .step = step,
        .attempt = order.steps[step].attempt,
        .reply = {
            .kind = order.steps[step].kind, .outcome = outcome, .executed = executed, .retry_after_ms = -1}});
}

static inline enum mg_verdict reply(int step, enum mg_outcome outcome)
{
    return reply_executed(step, outcome,
                          outcome == MG_OUTCOME_PERMANENT ? MG_EXECUTED_NO : MG_EXECUTED_MAYBE);
}

/* No earlier request of the step can come to its service any more. */
static inline void let_be_quiet(int step)
{
    context.now_ms =
        order.steps[step].quiet_at_ms > context.now_ms ? order.steps[step].quiet_at_ms : context.now_ms;
}

/* Nothing of the work that the service accepted can act any more. */
static inline void let_work_be_over(int step)
{
    let_be_quiet(step);
    context.now_ms =
        order.steps[step].finish_by_ms > context.now_ms ? order.steps[step].finish_by_ms : context.now_ms;
}

static inline enum mg_verdict due(int step)
{
    if (order.steps[step].due_at_ms > context.now_ms) {
        context.now_ms = order.steps[step].due_at_ms;
    }
    return decide(
        (struct mg_cause){.kind = MG_CAUSE_DUE, .step = step, .attempt = order.steps[step].attempt});
}

static inline enum mg_verdict overdue(int step)
{
    if (order.steps[step].complete_by_ms > context.now_ms) {
        context.now_ms = order.steps[step].complete_by_ms;
    }
    return decide(
        (struct mg_cause){.kind = MG_CAUSE_OVERDUE, .step = step, .attempt = order.steps[step].attempt});
}

static inline enum mg_verdict operate(enum mg_cause_kind kind, int step, enum mg_outcome outcome)
{
    struct mg_cause cause = {.kind = kind, .step = step, .version = order.version};
    if (kind == MG_CAUSE_SETTLE) {
        cause.settle.outcome = outcome;
    }
    return decide(cause);
}

/* A resume by the operator's word for this step. */
static inline enum mg_verdict repeat(int step)
{
    return decide((struct mg_cause){
        .kind = MG_CAUSE_RESUME, .step = step, .version = order.version, .resume = {.is_repeat = true}});
}

/* A refusal to the verify of step 0: of its work, or of the question. */
static inline enum mg_verdict verify_refuses(bool is_work_refused)
{
    ck_assert_int_eq(order.steps[0].kind, MG_KIND_VERIFY);
    return decide((struct mg_cause){.kind = MG_CAUSE_REPLY,
                                    .step = 0,
                                    .attempt = order.steps[0].attempt,
                                    .reply = {.kind = MG_KIND_VERIFY,
                                              .outcome = MG_OUTCOME_PERMANENT,
                                              .executed = MG_EXECUTED_NO,
                                              .is_work_refused = is_work_refused,
                                              .retry_after_ms = -1}});
}

static inline int count_effects(enum mg_effect_kind kind)
{
    int count = 0;
    for (int i = 0; i < decision.effect_count; i++) {
        count += decision.effects[i].kind == kind;
    }
    return count;
}

static inline bool has_status(enum mg_status status)
{
    for (int i = 0; i < decision.effect_count; i++) {
        if (decision.effects[i].kind == MG_EFFECT_STATUS && decision.effects[i].status == status) {
            return true;
        }
    }
    return false;
}

static inline bool has_alert(enum mg_effect_kind kind, enum mg_alert alert)
{
    for (int i = 0; i < decision.effect_count; i++) {
        if (decision.effects[i].kind == kind && decision.effects[i].alert == alert) {
            return true;
        }
    }
    return false;
}

static inline bool has_request(int step, enum mg_kind kind)
{
    for (int i = 0; i < decision.effect_count; i++) {
        if (decision.effects[i].kind == MG_EFFECT_REQUEST && decision.effects[i].step == step) {
            return order.steps[step].kind == kind;
        }
    }
    return false;
}

#endif
