/*
 * The reach of the walks: cells of the tables, and the verdicts of conditions. Only for test_core_walk.c,
 * which is linked so that the tables' readers are those here.
 */
#ifndef MG_TEST_CORE_REACHED_H
#define MG_TEST_CORE_REACHED_H

#include <check.h>

#include "core/transition.h"
#include "core_witness.h"

/* The past of a step whose condition is judged. */
enum walk_age {
    WALK_NEW,     /* no request of it ever went out */
    WALK_REVIVED, /* resumed or restarted after one */
    WALK_AGES
};

/* Shared by the processes of all blocks: Check runs each test in a process of its own. */
static struct reached {
    bool steps[MG_STEP_STATE_COUNT][MG_STEP_EVENT_COUNT];
    bool orders[MG_ORDER_STATE_COUNT][MG_ORDER_EVENT_COUNT];
    bool reasons[MG_REASON_COUNT][WALK_AGES];
} * reached;

const struct mg_cell *__real_mg_step_cell(enum mg_step_state state, enum mg_step_event event);
const struct mg_cell *__wrap_mg_step_cell(enum mg_step_state state, enum mg_step_event event);
const struct mg_cell *__real_mg_order_cell(enum mg_order_state state, enum mg_order_event event);
const struct mg_cell *__wrap_mg_order_cell(enum mg_order_state state, enum mg_order_event event);

const struct mg_cell *__wrap_mg_step_cell(enum mg_step_state state, enum mg_step_event event)
{
    reached->steps[state][event] = true;
    return __real_mg_step_cell(state, event);
}

const struct mg_cell *__wrap_mg_order_cell(enum mg_order_state state, enum mg_order_event event)
{
    reached->orders[state][event] = true;
    return __real_mg_order_cell(state, event);
}

/* Cells that no walk reaches, with the reason why they exist. */
struct rare {
    int state, event;
    const char *why;
};

static const struct rare RARE_STEP_CELLS[] = {
    {MG_STEP_UNDONE, MG_STEP_EVENT_PLAN_UNDO, "an attempt of it turned up that the database had lost"},
    {MG_STEP_UNDONE, MG_STEP_EVENT_CLEAR, "the operator settles such a step as not happened"},
};
static const struct rare RARE_ORDER_CELLS[] = {
    {MG_ORDER_PROCESSED, MG_ORDER_EVENT_RAISE, "the database lost the order's newest part"},
    {MG_ORDER_COMPENSATED, MG_ORDER_EVENT_RAISE, "the database lost the order's newest part"},
    {MG_ORDER_CANCELLED, MG_ORDER_EVENT_RAISE, "the database lost the order's newest part"},
};

static bool is_rare(const struct rare *cells, size_t count, int state, int event)
{
    for (size_t i = 0; i < count; i++) {
        if (cells[i].state == state && cells[i].event == event) {
            return true;
        }
    }
    return false;
}

/* Would catch: a transition that the table allows and that no decision makes, or a reason that no longer
 * holds. */
START_TEST(every_cell_that_allows_a_transition_is_reached_or_rare)
{
    for (int i = 0; i < MG_STEP_STATE_COUNT * MG_STEP_EVENT_COUNT; i++) {
        enum mg_step_state state = (enum mg_step_state)(i / MG_STEP_EVENT_COUNT);
        enum mg_step_event event = (enum mg_step_event)(i % MG_STEP_EVENT_COUNT);
        bool rare = is_rare(RARE_STEP_CELLS, sizeof(RARE_STEP_CELLS) / sizeof(RARE_STEP_CELLS[0]), (int)state,
                            (int)event);
        if (__real_mg_step_cell(state, event)->verdict == MG_GO) {
            ck_assert_msg(reached->steps[state][event] != rare, "%s of a step that is %s is %s",
                          mg_step_event_name(event), mg_step_state_name(state),
                          rare ? "listed as rare, and reached" : "never reached");
        }
    }
    for (int i = 0; i < MG_ORDER_STATE_COUNT * MG_ORDER_EVENT_COUNT; i++) {
        enum mg_order_state state = (enum mg_order_state)(i / MG_ORDER_EVENT_COUNT);
        enum mg_order_event event = (enum mg_order_event)(i % MG_ORDER_EVENT_COUNT);
        bool rare = is_rare(RARE_ORDER_CELLS, sizeof(RARE_ORDER_CELLS) / sizeof(RARE_ORDER_CELLS[0]),
                            (int)state, (int)event);
        if (__real_mg_order_cell(state, event)->verdict == MG_GO) {
            ck_assert_msg(reached->orders[state][event] != rare, "%s of an order that is %s is %s",
                          mg_order_event_name(event), mg_order_state_name(state),
                          rare ? "listed as rare, and reached" : "never reached");
        }
    }
}
END_TEST

/* The verdict that a transition gives a step without a request; MG_REASON_NONE: it gives none. */
static enum mg_reason verdict_of(const struct mg_transition *transition)
{
    bool is_verdict =
        transition->reason == MG_REASON_WHEN_FALSE || transition->reason == MG_REASON_NEEDS_SKIPPED ||
        transition->reason == MG_REASON_SKIP_REFUSED || transition->reason == MG_REASON_REQUIREMENT ||
        transition->reason == MG_REASON_EXPRESSION;
    return transition->step >= 0 && is_verdict ? transition->reason : MG_REASON_NONE;
}

/* A verdict has its cause: the facts of this step, or a step that it needs and that was skipped. */
static bool is_founded(const struct witness *witness, const struct mg_cause *cause,
                       const struct mg_transition *transition)
{
    static const enum mg_fact FACTS[MG_REASON_COUNT] = {[MG_REASON_WHEN_FALSE] = MG_FACT_SKIP,
                                                        [MG_REASON_REQUIREMENT] = MG_FACT_REFUSE,
                                                        [MG_REASON_EXPRESSION] = MG_FACT_ERROR};
    bool is_its_own = cause->kind == MG_CAUSE_FACTS && cause->step == transition->step;
    uint64_t skipped = 0;
    for (int i = 0; i < witness->order.step_count; i++) {
        skipped |= witness->order.steps[i].state == MG_STEP_SKIPPED ? UINT64_C(1) << i : 0;
    }
    for (int i = 0; i < witness->decision.transition_count; i++) { /* it may be undone in the same decision */
        const struct mg_transition *at = &witness->decision.transitions[i];
        skipped |= at->step >= 0 && at->to == MG_STEP_SKIPPED ? UINT64_C(1) << at->step : 0;
    }
    bool lacks_need = (witness->plan.steps[transition->step].needs & skipped) != 0;
    switch ((int)transition->reason) {
    case MG_REASON_NEEDS_SKIPPED:
        return lacks_need && transition->to == MG_STEP_SKIPPED;
    case MG_REASON_SKIP_REFUSED:
        return (lacks_need || (is_its_own && cause->facts.fact == MG_FACT_SKIP)) &&
               witness->is_maybe[transition->step] && transition->to == MG_STEP_FAILED;
    default:
        return is_its_own && cause->facts.fact == FACTS[transition->reason] &&
               (transition->to == MG_STEP_SKIPPED) == (transition->reason == MG_REASON_WHEN_FALSE);
    }
}

/* Holds the verdicts of a decision against their causes, and notes them. A step is skipped by an operator, or
 * by such a verdict. */
static void verdicts_look(struct witness *witness, const struct mg_cause *cause)
{
    for (int i = 0; i < witness->decision.transition_count; i++) {
        const struct mg_transition *transition = &witness->decision.transitions[i];
        enum mg_reason verdict = verdict_of(transition);
        if (verdict == MG_REASON_NONE) {
            WITNESS(witness,
                    transition->step < 0 || transition->to != MG_STEP_SKIPPED ||
                        cause->kind == MG_CAUSE_SKIP || is_timed_out(witness, cause) ||
                        (cause->kind == MG_CAUSE_SETTLE && transition->from == MG_STEP_SKIPPED),
                    "step %d is skipped for %s", transition->step, mg_reason_name(transition->reason));
            continue;
        }
        WITNESS(witness, is_founded(witness, cause, transition), "step %d is %s for %s without a cause",
                transition->step, mg_step_state_name((enum mg_step_state)transition->to),
                mg_reason_name(verdict));
        bool is_old = witness->before.steps[transition->step].attempt > 0;
        reached->reasons[verdict][is_old ? WALK_REVIVED : WALK_NEW] = true;
    }
}

/* Would catch: walks that no longer come to a verdict, so that its laws are held against nothing. */
START_TEST(every_verdict_of_a_condition_is_reached)
{
    static const enum mg_reason VERDICTS[] = {MG_REASON_WHEN_FALSE, MG_REASON_NEEDS_SKIPPED,
                                              MG_REASON_SKIP_REFUSED, MG_REASON_REQUIREMENT,
                                              MG_REASON_EXPRESSION};
    for (size_t i = 0; i < sizeof(VERDICTS) / sizeof(VERDICTS[0]); i++) {
        bool is_of_old_alone = VERDICTS[i] == MG_REASON_SKIP_REFUSED; /* a new step is not maybe */
        ck_assert_msg(reached->reasons[VERDICTS[i]][WALK_REVIVED], "%s of a revived step is never reached",
                      mg_reason_name(VERDICTS[i]));
        ck_assert_msg(reached->reasons[VERDICTS[i]][WALK_NEW] != is_of_old_alone, "%s of a new step",
                      mg_reason_name(VERDICTS[i]));
    }
}
END_TEST

#endif
