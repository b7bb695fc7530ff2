/*
 * The part of a payload that decides which steps of `branch` and `fork` run, and the fate of each step by it.
 * This is written apart from the definition's expressions and from the code that evaluates them, so that the
 * checker depends on neither.
 */
#ifndef SIM_CHOICE_H
#define SIM_CHOICE_H

#include "base/buf.h"
#include "core/words.h"

/* Steps of `branch` and `fork` by their index in the definition. */
enum sim_branch_step {
    SIM_LOOK,
    SIM_FAST,
    SIM_SLOW,
    SIM_WRAP,
    SIM_STAMP,
    SIM_INSURE,
    SIM_JOIN,
    SIM_SEAL,
    SIM_BRANCH_STEPS
};

/* The text of the order's requirement, which its client gets. */
#define SIM_REQUIREMENT "too heavy for any way"

struct sim_choice {
    bool is_branching; /* the order is one of `branch` or `fork`; false: nothing else counts */
    bool is_express, has_zone, has_value;
    int weight, value;
    bool is_gold; /* not in the payload: by the answer to `look` */
};

enum sim_fate {
    SIM_RUNS,
    SIM_SKIPPED_BY_WHEN,
    SIM_SKIPPED_BY_NEED,
    SIM_REFUSED,       /* its requirement is not met */
    SIM_NOT_EVALUATED, /* a value that its condition needs is missing */
};
const char *sim_fate_name(enum sim_fate fate);

bool sim_workflow_branches(const char *name);
/* Decided by the order's number where all orders must go well: in a script, and in a run with one fault. */
void sim_choice_draw(int number, struct sim_choice *ret_choice);
/* Writes the members after the payload's others, with a comma before each. */
void sim_choice_write(const struct sim_choice *choice, char *text, size_t size);
/* Whether the order's own requirement is met. */
bool sim_choice_is_taken(const struct sim_choice *choice);
/* The fate of a step that is about to begin after these skips; bit i: step i was skipped. */
enum sim_fate sim_choice_fate(const struct sim_choice *choice, uint64_t skipped, int step);
/* The fate of a step if no operator interferes. */
enum sim_fate sim_choice_fate_alone(const struct sim_choice *choice, int step);

#endif
