/*
 * Table e of the matrix: the cells that test_core_verbs.c has tried, and the reasons of the others. Only for
 * that test.
 */
#ifndef MG_TEST_CORE_TABLE_H
#define MG_TEST_CORE_TABLE_H

#include <check.h>
#include <stdlib.h>

#include "core_cells.h"

static const char *const VERBS[VERB_COUNT] = {"resume",  "resume --set", "resume --repeat",
                                              "restart", "settle done",  "settle absent",
                                              "skip",    "compensate",   "cancel"};

enum policy {
    POLICY_RETRY,
    POLICY_VERIFY,
    POLICY_OPERATOR,
    POLICY_ONCE_VERIFY,
    POLICY_ONCE_OPERATOR,
    POLICY_COUNT
};
static const char *const POLICIES[POLICY_COUNT] = {"retry", "verify", "operator", "at most once, verify",
                                                   "at most once, operator"};

/* Shared by all plans: the number of orders in which each cell was tried. */
static int built[VERB_COUNT][MG_ORDER_STATE_COUNT][MG_STEP_STATE_COUNT][POLICY_COUNT];
static int untrue[VERB_COUNT][MG_ORDER_STATE_COUNT][MG_STEP_STATE_COUNT][POLICY_COUNT];

/* For how many policies an order in a state (row) has its first step in a state (column, in the order of
 * words.def), and why not for the others. */
static const struct {
    char policies[MG_STEP_STATE_COUNT + 1];
    const char *why;
} PAIRS[MG_ORDER_STATE_COUNT] = {
    [MG_ORDER_PENDING] =
        {"000200000000",
         "the first step goes out in the decision that takes or restarts the order, unless it is "
         "in doubt"},
    [MG_ORDER_PROCESSING] = {"055450500000",
                             "a step that fails ends or turns the order in the same decision"},
    [MG_ORDER_PROCESSED] = {"000050500000", "all steps of a processed order are done or skipped"},
    [MG_ORDER_COMPENSATING] =
        {"051250555500", "the first step is undone last, which ends the order; only a pivot goes forward"},
    [MG_ORDER_COMPENSATED] = {"500455500050", "no step of an order that has ended moves or has failed undos"},
    [MG_ORDER_CANCELLED] = {"500455000050", "no step of an order that has ended moves or has failed undos"},
    [MG_ORDER_ERROR] = {"355455500005", "undos end before their order waits for a person"},
};

static bool is_tried(int state, int step_state, int policy)
{
    bool is_any = false;
    for (int verb = 0; verb < VERB_COUNT; verb++) {
        is_any = is_any || built[verb][state][step_state][policy] > 0;
    }
    return is_any;
}

/* Why a cell has no order; NULL: it has. */
static const char *reason_of(int verb, int state, int step_state, int policy)
{
    if (built[verb][state][step_state][policy] > 0) {
        return NULL;
    }
    return untrue[verb][state][step_state][policy] > 0 ? "an operator would not settle truly"
                                                       : PAIRS[state].why;
}

/* Would catch: a walk that no longer comes to a state, so that its cells hold for nothing. */
static void pairs_check(void)
{
    for (int i = 0; i < MG_ORDER_STATE_COUNT * MG_STEP_STATE_COUNT; i++) {
        int state = i / MG_STEP_STATE_COUNT, step_state = i % MG_STEP_STATE_COUNT, count = 0;
        for (int policy = 0; policy < POLICY_COUNT; policy++) {
            count += is_tried(state, step_state, policy);
        }
        ck_assert_msg(PAIRS[state].policies[step_state] - '0' == count,
                      "an order that is %s has a step that is %s for %d policies, and not for %c",
                      mg_order_state_name((enum mg_order_state)state),
                      mg_step_state_name((enum mg_step_state)step_state), count,
                      PAIRS[state].policies[step_state]);
    }
}

static void table_print(int totals[3])
{
    bool is_printed = getenv("MG_VERBS_TABLE") != NULL;
    for (int i = 0; i < VERB_COUNT * MG_ORDER_STATE_COUNT * MG_STEP_STATE_COUNT * POLICY_COUNT; i++) {
        int policy = i % POLICY_COUNT, step_state = i / POLICY_COUNT % MG_STEP_STATE_COUNT;
        int state = i / POLICY_COUNT / MG_STEP_STATE_COUNT % MG_ORDER_STATE_COUNT;
        int verb = i / POLICY_COUNT / MG_STEP_STATE_COUNT / MG_ORDER_STATE_COUNT;
        const char *reason = reason_of(verb, state, step_state, policy);
        totals[0] += reason == NULL;
        totals[1] += reason != NULL && untrue[verb][state][step_state][policy] > 0;
        totals[2] += built[verb][state][step_state][policy];
        if (is_printed) {
            (void)printf("%-8s e %s × %s, %s × %s  %s\n", reason == NULL ? "ok" : "unbuilt", VERBS[verb],
                         mg_order_state_name((enum mg_order_state)state),
                         mg_step_state_name((enum mg_step_state)step_state), POLICIES[policy],
                         reason != NULL ? reason : "");
        }
    }
}

#endif
