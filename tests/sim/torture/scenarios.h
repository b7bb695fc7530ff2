/* The scenarios of torture: each covers a part of the flow that the others do not. */
#ifndef SIM_SCENARIOS_H
#define SIM_SCENARIOS_H

#include "kernel.h"

int sim_scenario_count(void);
const struct sim_script *sim_scenario_at(int index);

#endif
