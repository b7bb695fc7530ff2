/* One run from its seed to its verdict, and many of them. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "kernel.h"

/* Runs in a process of its own, which need not free memory; a crash or a hang is reported as a violation. */
void sim_run(const struct sim_options *options, struct sim_result *ret_result);

/* shrink.c: drops faults and orders that a failing run does not need; prints the rest and the command to run
 * it. */
void sim_shrink(const struct sim_options *options, const struct sim_result *result);

/* main.c */
void sim_print_command(const struct sim_options *options);

#endif
