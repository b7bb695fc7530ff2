/* The kernel as the run drives it (run.c, main.c); everybody else needs sim.h alone. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "sim.h"

/* Faults as bits. */
#define SIM_FAULTS_ALL (~UINT64_C(0))

struct sim_options {
    uint64_t seed;
    uint64_t faults; /* those that this run may have at all, as bits */
    int orders;
    bool is_traced; /* to stdout */
    bool is_hashed; /* its trace, which costs a third of the run */
};

/* What became of a run; in memory that the process that started it can see. */
struct sim_result {
    char violated[48], what[512]; /* "": every invariant held */
    uint64_t trace_hash, events;
    int64_t simulated_us;
    int orders;
    uint64_t faults; /* those that had a rate, as bits */
    uint32_t happened[SIM_FAULT_COUNT];
};

void sim_kernel_start(const struct sim_options *options, struct sim_result *result);
/* Runs events in their order until the world's clock shows `until_us`, or `is_over` says so. */
void sim_kernel_run(int64_t until_us, bool (*is_over)(void));
void sim_kernel_heal(void);   /* no fault happens from here on */
void sim_kernel_finish(void); /* fills in what the result says of the whole */

/* Called in the world for a node that crashes right after one of its events. */
void sim_kernel_on_crash(void (*fn)(struct sim_node *node));

struct sim_node *sim_node_add(enum sim_role role, int number);
/* Its code runs from here to the next sim_node_leave: for starting and ending it. */
void sim_node_enter(struct sim_node *node);
void sim_node_leave(void);

/* swarm.c: how often each fault happens in this run; of a chance a millionth, of a period its mean in us; 0:
 * never. */
void sim_swarm_draw(uint64_t faults, uint64_t ret_rates[SIM_FAULT_COUNT]);

#endif
