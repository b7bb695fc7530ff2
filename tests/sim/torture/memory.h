/*
 * The allocations of the code under test. While a node's code runs, each is an occasion of NODE_MEMORY: where
 * the run strikes it fails. What the node has is kept in a list, so that at its end nothing may be left.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

/* All nodes have ended: ends the run if one that ended in good order has not freed all. */
void sim_memory_check(void);

#endif
