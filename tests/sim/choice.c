/* See choice.h. */
#include "choice.h"

#include <stdio.h>
#include <string.h>

#include "kernel.h"

#define WEIGHT_REFUSED 9 /* above the order's requirement */
#define WEIGHTS        7
#define WEIGHT_MAX     5 /* of `slow` */
#define WRAPPED_ABOVE  2
#define VALUE_MAX      100 /* of `insure` */

const char *sim_fate_name(enum sim_fate fate)
{
    static const char *const NAMES[] = {"run", "be skipped by its condition", "be skipped by its needs",
                                        "be refused by its requirement", "fail without a value"};
    return NAMES[fate];
}

bool sim_workflow_branches(const char *name)
{
    return strcmp(name, "branch") == 0 || strcmp(name, "fork") == 0;
}

void sim_choice_draw(int number, struct sim_choice *ret_choice)
{
    *ret_choice = (struct sim_choice){.is_branching = true,
                                      .is_express = number % 2 == 0,
                                      .has_zone = true,
                                      .has_value = number % 4 == 1,
                                      .weight = 3,
                                      .value = VALUE_MAX / 2,
                                      .is_gold = number % 4 >= 2};
    if (sim_script() == NULL && !sim_is_alone()) {
        ret_choice->is_express = sim_draw(2) == 0;
        ret_choice->has_zone = sim_draw(8) != 0;
        ret_choice->has_value = sim_draw(2) == 0;
        ret_choice->weight = sim_draw(16) == 0 ? WEIGHT_REFUSED : (int)sim_draw(WEIGHTS);
        ret_choice->value = sim_draw(4) == 0 ? VALUE_MAX + 1 : VALUE_MAX;
        ret_choice->is_gold = sim_draw(2) == 0;
    }
}

void sim_choice_write(const struct sim_choice *choice, char *text, size_t size)
{
    char value[32] = "";
    if (choice->has_value) {
        (void)snprintf(value, sizeof(value), ", \"value\":%d", choice->value);
    }
    (void)snprintf(text, size, ", \"express\":%s, \"weight\":%d.0%s%s", choice->is_express ? "true" : "false",
                   choice->weight, choice->has_zone ? ", \"zone\":\"a\"" : "", value);
}

bool sim_choice_is_taken(const struct sim_choice *choice)
{
    return !choice->is_branching || choice->weight != WEIGHT_REFUSED;
}

static bool has(uint64_t steps, enum sim_branch_step step)
{
    return (steps >> step & 1) != 0;
}

/* Without an answer of `look`, which only an operator skips, only the payload can decide. */
static enum sim_fate fast_fate(const struct sim_choice *choice, uint64_t skipped)
{
    if (!choice->is_express) {
        return SIM_SKIPPED_BY_WHEN;
    }
    return has(skipped, SIM_LOOK) ? SIM_NOT_EVALUATED : SIM_RUNS;
}

static enum sim_fate wrap_fate(const struct sim_choice *choice, uint64_t skipped)
{
    if (has(skipped, SIM_FAST)) {
        return SIM_SKIPPED_BY_NEED;
    }
    if (choice->weight <= WRAPPED_ABOVE) {
        return SIM_SKIPPED_BY_WHEN;
    }
    if (has(skipped, SIM_LOOK)) {
        return SIM_NOT_EVALUATED;
    }
    return choice->is_gold ? SIM_RUNS : SIM_SKIPPED_BY_WHEN;
}

static enum sim_fate slow_fate(const struct sim_choice *choice)
{
    if (choice->is_express) {
        return SIM_SKIPPED_BY_WHEN;
    }
    if (!choice->has_zone) {
        return SIM_NOT_EVALUATED;
    }
    return choice->weight > WEIGHT_MAX ? SIM_REFUSED : SIM_RUNS;
}

static enum sim_fate insure_fate(const struct sim_choice *choice, uint64_t skipped)
{
    if (has(skipped, SIM_SLOW)) {
        return SIM_SKIPPED_BY_NEED;
    }
    if (!choice->has_value) {
        return SIM_SKIPPED_BY_WHEN;
    }
    return choice->value > VALUE_MAX ? SIM_REFUSED : SIM_RUNS;
}

enum sim_fate sim_choice_fate(const struct sim_choice *choice, uint64_t skipped, int step)
{
    switch ((enum sim_branch_step)step) {
    case SIM_FAST:
        return fast_fate(choice, skipped);
    case SIM_SLOW:
        return slow_fate(choice);
    case SIM_WRAP:
        return wrap_fate(choice, skipped);
    case SIM_INSURE:
        return insure_fate(choice, skipped);
    case SIM_SEAL:
        return has(skipped, SIM_WRAP) ? SIM_SKIPPED_BY_NEED : SIM_RUNS;
    case SIM_LOOK:
    case SIM_STAMP:
    case SIM_JOIN:
    case SIM_BRANCH_STEPS:
        break;
    }
    return SIM_RUNS;
}

/* Each step stands behind those that it depends on. */
enum sim_fate sim_choice_fate_alone(const struct sim_choice *choice, int step)
{
    uint64_t skipped = 0;
    enum sim_fate fate = SIM_RUNS;
    for (int i = 0; i <= step; i++) {
        fate = sim_choice_fate(choice, skipped, i);
        bool is_skipped = fate == SIM_SKIPPED_BY_WHEN || fate == SIM_SKIPPED_BY_NEED;
        skipped |= is_skipped ? UINT64_C(1) << i : 0;
    }
    return fate;
}
