/*
 * Functions of the simulated database besides sim.h, for its comparison with PostgreSQL (fidelity/). The
 * production store (common/io/store) is linked and uses it through io/pg/pg.h; store_tables.h describes
 * its design.
 */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "sim.h"

void sim_store_stop_clock(int64_t now_ms); /* the database's clock; it is stopped */
void sim_store_kill_session(const struct mg_store *store);

#endif
