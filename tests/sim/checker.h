/* What both parts of the checker know (checker.c: while it happens; verdict.c: at the end). */
#ifndef SIM_CHECKER_H
#define SIM_CHECKER_H

#include "orders.h"
#include "wire/workflow.h"

const struct mg_workflow *sim_check_workflow(const char *name); /* as parsed from definitions.c; NULL: none */

#endif
