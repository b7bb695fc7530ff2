/* The output of `workflow simulate`: the counts of a simulation, or the ends of an exploration. */
#ifndef MG_CLI_SIMULATE_PRINT_H
#define MG_CLI_SIMULATE_PRINT_H

#include "cli.h"
#include "rehearse/exploration.h"
#include "rehearse/simulation.h"

enum mg_exit_code mg_simulation_print(struct mg_cli *cli, const struct mg_profile *profile,
                                      const struct mg_tally *tally);
enum mg_exit_code mg_exploration_print(struct mg_cli *cli, const struct mg_workflow *workflow,
                                       const struct mg_exploration *exploration);

#endif
