/*
 * Every way that an order of a workflow can take: each call is done, refused, or stays unknown for ever; each
 * condition holds or not; a signal comes before its step begins, while it waits, or not in time, and refuses
 * it if the step has a `refused_when`. The core decides each way from its submission to its end, without
 * chance. Undos go well, unless the profile has a share in which the undo of a step is refused; then both are
 * tried.
 *
 * Where calls and waits for signals are under way side by side, each way is taken twice: the failures end
 * first, and last.
 *
 * In the plain way each call is done, each condition holds, and each signal comes in time. All others depart
 * from it in one step or more. Those with few departures are taken first, so that an example is a simple one.
 * Of a workflow with too many ways, all with up to a number of departures are taken.
 */
#ifndef MG_REHEARSE_EXPLORATION_H
#define MG_REHEARSE_EXPLORATION_H

#include "profile.h"

#define MG_EXPLORE_MAX      500000 /* ways with failures last, and as many with them first: half a minute */
#define MG_EXPLORE_ENDS_MAX 1024   /* different ends; further ones are counted */

enum mg_way_of_step {
    MG_STEP_WAY_NONE,
    MG_STEP_WAY_DONE,
    MG_STEP_WAY_REFUSED,
    MG_STEP_WAY_UNKNOWN,
    MG_STEP_WAY_SKIPPED,
    MG_STEP_WAY_EARLY, /* done by a signal that came before the step began */
    MG_STEP_WAY_TIMED_OUT
};
const char *mg_way_of_step_name(enum mg_way_of_step way); /* "not reached", "done", … */

/* One way, as an example. */
struct mg_order_way {
    uint8_t steps[MG_STEPS_MAX]; /* enum mg_way_of_step */
    uint64_t refused_undos;      /* bits */
    bool is_failure_first;       /* of calls and waits side by side */
    enum mg_order_state end;     /* not terminal: it waits for an operator */
};

/* Ways with the same end and the same undos. */
struct mg_explored_end {
    enum mg_order_state end;
    enum mg_reason reason;
    uint8_t undone[MG_STEPS_MAX]; /* steps, in the order in which they were undone */
    int undone_count;
    uint64_t count;
    struct mg_order_way first;
};

struct mg_explored_claim {
    struct mg_slice text;
    uint64_t count; /* ways that fulfil it; 0: it never holds */
    struct mg_order_way first;
};

struct mg_exploration {
    uint64_t ways;
    bool is_cut;       /* there are more ways than time: not all with more `departures` are taken */
    int departures;    /* the most of the ways that are taken: all with so many or fewer */
    bool has_parallel; /* some calls or waits for signals were under way side by side */
    struct mg_explored_end *ends;
    int end_count;
    uint64_t other_ends; /* ways with an end beyond MG_EXPLORE_ENDS_MAX */
    struct mg_explored_claim claims[MG_CLAIMS_MAX];
    int claim_count;
};

/* Explores the profile's workflow, in at most so many ways with failures last, and with them first. A payload
 * decides the conditions; without one, or with a share between 0 % and 100 %, both are tried. So a signal
 * that comes in 0 % of the orders, or in all and in time, has one way. Choices are tried each. The caller
 * ends with mg_exploration_finish. MG_BAD_INPUT: a claim is wrong. MG_TRANSIENT: no memory. */
enum mg_class mg_explore(const struct mg_profile *profile, uint64_t ways_max,
                         struct mg_exploration *ret_exploration, struct mg_err *err) MG_MUSTCHECK;
void mg_exploration_finish(struct mg_exploration *exploration);

#endif
