/* The kernel as the run drives it (run.c, main.c); everybody else needs sim.h alone. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "sim.h"

/* Faults as bits. */
#define SIM_FAULTS_ALL (~UINT64_C(0))

/* One fault at one place. */
struct sim_strike {
    enum sim_fault fault;
    uint32_t at; /* which of a chance's occasions, from 1; of a period: when, in ms; 0: there is none */
};

/* What an operator says to the first order (skip: of the step that failed) as soon as it is so, and again
 * each second while it stays so. */
struct sim_turn {
    enum mg_cause_kind kind;
    enum mg_order_state while_it_is;
};

/* A run in which faults are not drawn but written down (torture/). What else is drawn (delays, who is
 * killed) is the seed's. */
#define SIM_SCRIPT_ORDERS 4
struct sim_script {
    const char *name;
    const char *workflows[SIM_SCRIPT_ORDERS + 1]; /* of each order; ends with NULL */
    struct sim_strike faults[12];                 /* ends with one at 0 */
    struct sim_turn turns[3];
    int turn_count;
    int least_ms; /* it is not over before */
};

struct sim_options {
    uint64_t seed;
    uint64_t faults; /* those that this run may have at all, as bits */
    int orders;
    bool is_traced; /* to stdout */
    bool is_hashed; /* its trace, which costs a third of the run */
    /* With a script, neither `faults` nor `orders` count. */
    const struct sim_script *script;
    struct sim_strike strike;  /* one more than the script has */
    void (*on_struck)(void);   /* called where it strikes; NULL: nobody asks */
    void (*on_finished)(void); /* when all nodes have ended in good order */
};

/* What became of a run; in memory that the process that started it can see. */
struct sim_result {
    char violated[48], what[512]; /* "": every invariant held */
    uint64_t trace_hash, events;
    int64_t simulated_us;
    int orders;
    uint64_t faults; /* those that had a rate, as bits */
    uint32_t happened[SIM_FAULT_COUNT];
    /* of a script */
    uint32_t occasions[SIM_FAULT_COUNT];         /* how often each chance was asked for */
    enum mg_order_state ends[SIM_SCRIPT_ORDERS]; /* of each order */
};

void sim_kernel_start(const struct sim_options *options, struct sim_result *result);
/* Runs events in their order until the world's clock shows `until_us`, or `is_over` says so. */
void sim_kernel_run(int64_t until_us, bool (*is_over)(void));
void sim_kernel_heal(void);   /* no fault happens from here on */
void sim_kernel_finish(void); /* fills in what the result says of the whole */

/* Called in the world for a node that crashes right after one of its events, or ends its process itself. */
void sim_kernel_on_crash(void (*fn)(struct sim_node *node));
/* The script of this run; NULL: all is drawn. */
const struct sim_script *sim_script(void);

struct sim_node *sim_node_add(enum sim_role role, int number);
/* Its code runs from here to the next sim_node_leave: for starting and ending it. */
void sim_node_enter(struct sim_node *node);
void sim_node_leave(void);

/* swarm.c: how often each fault happens in this run; of a chance a millionth, of a period its mean in us; 0:
 * never. */
void sim_swarm_draw(uint64_t faults, uint64_t ret_rates[SIM_FAULT_COUNT]);

#endif
