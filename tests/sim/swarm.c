/*
 * Swarm testing (Groce et al., ISSTA 2012): a run with every fault at once mostly shows that nothing works
 * then. A run with a few frequent faults goes deep. So each seed draws its set of faults and the rate of
 * each.
 */
#include <assert.h>

#include "kernel.h"

static const struct {
    bool is_period;
    uint64_t worst; /* a chance in millionths, a period in microseconds */
} FAULTS[SIM_FAULT_COUNT] = {
#define SIM_CHANCE(NAME, most)  {false, (most)},
#define SIM_PERIOD(NAME, least) {true, (least)*UINT64_C(1000000)},
#define SIM_STRUCK(NAME)        {false, 0},
#include "faults.def"
};

void sim_swarm_draw(uint64_t faults, uint64_t ret_rates[SIM_FAULT_COUNT])
{
    static_assert(SIM_FAULT_COUNT <= 64, "faults are bits of one word");
    uint64_t share = 5 + sim_draw(46); /* percentage of faults that this run has */
    for (int i = 0; i < SIM_FAULT_COUNT; i++) {
        bool is_elsewhere = i >= SIM_ROUGH_INGRESS && !sim_is_rough_run();
        ret_rates[i] = 0;
        if (FAULTS[i].worst == 0 || is_elsewhere) {
            continue;
        }
        /* Drawn for every fault, so that dropping one leaves the rates of the others unchanged. */
        bool is_chosen = sim_draw(100) < share;
        uint64_t mildness = UINT64_C(1) << sim_draw(4);
        bool is_there = is_chosen && (faults >> i & 1) != 0;
        ret_rates[i] = !is_there             ? 0
                       : FAULTS[i].is_period ? FAULTS[i].worst * mildness
                                             : FAULTS[i].worst / mildness;
    }
}
