/*
 * The allocations of the code under test. While a node's code runs, each is an occasion of NODE_MEMORY and
 * fails where the run strikes it. A node's allocations are kept in a list: at its end the list must be empty.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

/* Ends the run if a node that ended in good order has not freed all. Called after the end of all nodes. */
void sim_memory_check(void);

#endif
