/*
 * Swarm testing (Groce et al., ISSTA 2012): a run that has every fault at once mostly shows that nothing
 * works then; one that has a few, often, goes deep. So each seed draws which faults there are, and how often
 * each is.
 */
#include <assert.h>

#include "kernel.h"

static const struct {
    bool is_period;
    uint64_t worst; /* a chance's millionths, a period's microseconds */
} FAULTS[SIM_FAULT_COUNT] = {
#define SIM_CHANCE(NAME, most)  {false, (most)},
#define SIM_PERIOD(NAME, least) {true, (least)*UINT64_C(1000000)},
#define SIM_STRUCK(NAME)        {false, 0},
#include "faults.def"
};

void sim_swarm_draw(uint64_t faults, uint64_t ret_rates[SIM_FAULT_COUNT])
{
    static_assert(SIM_FAULT_COUNT <= 64, "faults are bits of one word");
    uint64_t share = 5 + sim_draw(46); /* of a hundred: how many faults this run has */
    for (int i = 0; i < SIM_FAULT_COUNT; i++) {
        ret_rates[i] = 0;
        if (FAULTS[i].worst == 0) {
            continue;
        }
        /* Drawn for every fault, so that dropping one leaves the rates of the others as they are. */
        bool is_chosen = sim_draw(100) < share;
        uint64_t mildness = UINT64_C(1) << sim_draw(4);
        bool is_there = is_chosen && (faults >> i & 1) != 0;
        ret_rates[i] = !is_there             ? 0
                       : FAULTS[i].is_period ? FAULTS[i].worst * mildness
                                             : FAULTS[i].worst / mildness;
    }
}
