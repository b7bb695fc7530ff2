/* The handler of a walk: the facts of guards, and the work that a fold has yet to do. Only for
 * test_core_walk.c. */
#ifndef MG_TEST_CORE_FOLD_H
#define MG_TEST_CORE_FOLD_H

#include "core_witness.h"

static inline struct mg_cause facts_find(struct witness *witness, int step)
{
    static const enum mg_fact facts[] = {MG_FACT_GO, MG_FACT_GO, MG_FACT_GO, MG_FACT_SKIP, MG_FACT_SKIP};
    struct world *world = &witness->world;
    struct mg_cause cause = {.kind = MG_CAUSE_FACTS, .step = step};
    cause.facts.fact = facts[world_pick(world, 5)];
    if (world_fault(world, 15)) {
        cause.facts.fact = world_chance(world, 50) ? MG_FACT_REFUSE : MG_FACT_ERROR;
    }
    if (witness->plan.steps[step].is_signal && witness->has_early_signal[step]) {
        cause.facts.signal = world_chance(world, 70) ? MG_SIGNAL_FACT_DONE : MG_SIGNAL_FACT_REFUSED;
    }
    if (witness->plan.steps[step].is_until) { /* the moment may have passed */
        cause.facts.until_ms = world->now_ms - 5000 + world_pick(world, 30000);
    }
    return cause;
}

/* The requests that one fold sends, and the guards that it has yet to evaluate. */
struct fold {
    uint64_t asked, sent;
    uint32_t attempts[WORLD_STEPS];
};

static inline void effects_add(const struct witness *witness, struct fold *fold)
{
    for (int i = 0; i < witness->order.step_count; i++) {
        if (has_effect(&witness->decision, MG_EFFECT_ASK, i)) {
            fold->asked |= UINT64_C(1) << i;
        }
        if (has_request(&witness->decision, i)) {
            fold->sent |= UINT64_C(1) << i;
            fold->attempts[i] = witness->order.steps[i].attempt;
        }
    }
}

#endif
