/* The kernel's interface for the run (run.c, main.c). All other files need only sim.h. */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include "sim.h"

/* Faults as bits. */
#define SIM_FAULTS_ALL (~UINT64_C(0))

/* One fault at one place. */
struct sim_strike {
    enum sim_fault fault;
    uint32_t at; /* the number of a chance's occasion, from 1; of a period: the time in ms; 0: none */
};

/* An operator's command for the first order (skip: for its failed step). It is sent as soon as the order is
 * in the given state, and again each second while it stays there. */
struct sim_turn {
    enum mg_cause_kind kind;
    enum mg_order_state while_it_is;
};

/* A run with written faults instead of drawn ones (torture/). All other draws (delays, the nodes to kill)
 * depend on the seed. */
#define SIM_SCRIPT_ORDERS 4
struct sim_script {
    const char *name;
    const char *workflows[SIM_SCRIPT_ORDERS + 1]; /* one per order; ends with NULL */
    struct sim_strike faults[12];                 /* ends with one at 0 */
    struct sim_turn turns[3];
    int turn_count;
    int least_ms; /* the run lasts at least so long */
};

struct sim_options {
    uint64_t seed;
    uint64_t faults; /* faults permitted in this run, as bits */
    int orders;
    bool is_traced; /* the trace goes to stdout */
    bool is_hashed; /* the trace is hashed, which costs a third of the run */
    bool is_rough;  /* a rough run, by any seed */
    /* With a script, neither `faults` nor `orders` count. */
    const struct sim_script *script;
    struct sim_strike strike;  /* one more fault alongside the script's */
    void (*on_struck)(void);   /* called when it strikes; may be NULL */
    void (*on_finished)(void); /* when all nodes have ended in good order */
};

/* The outcome of a run, in memory shared with the process that started it. */
struct sim_result {
    char violated[48], what[512]; /* "": every invariant held */
    uint64_t trace_hash, events;
    int64_t simulated_us;
    int orders;
    uint64_t faults; /* faults with a rate, as bits */
    uint32_t happened[SIM_FAULT_COUNT];
    /* of a script */
    uint32_t occasions[SIM_FAULT_COUNT];         /* occasions of each chance */
    enum mg_order_state ends[SIM_SCRIPT_ORDERS]; /* of each order */
};

void sim_kernel_start(const struct sim_options *options, struct sim_result *result);
/* Runs events in their order until the world's clock shows `until_us`, or `is_over` returns true. */
void sim_kernel_run(int64_t until_us, bool (*is_over)(void));
void sim_kernel_heal(void);   /* no fault happens from here on */
void sim_kernel_finish(void); /* fills in the totals of the result */

/* Called in the world for a node that crashes right after one of its events, or ends its own process. */
void sim_kernel_on_crash(void (*fn)(struct sim_node *node));
/* The script of this run; NULL: faults are drawn. */
const struct sim_script *sim_script(void);

struct sim_node *sim_node_add(enum sim_role role, int number);
/* The node's code runs from here to the next sim_node_leave: for starting and ending it. */
void sim_node_enter(struct sim_node *node);
void sim_node_leave(void);

/* swarm.c: the rate of each fault in this run: of a chance in millionths, of a period the mean distance in
 * us; 0: never. */
void sim_swarm_draw(uint64_t faults, uint64_t ret_rates[SIM_FAULT_COUNT]);

#endif
