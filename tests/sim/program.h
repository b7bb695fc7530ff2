/* Shared parts of the simulator's programs (main.c, torture/torture.c): command lines and jobs. */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "sim.h"

/* ---- command lines: an invalid word prints the reason and the usage; the program ends with 2 ---- */

void sim_usage_fail(const char *usage, const char *word, const char *why) __attribute__((noreturn));
uint64_t sim_number_parse(const char *usage, const char *word, uint64_t least);
/* `name` is a fault's, as faults.def has it, in `len` bytes. */
enum sim_fault sim_fault_parse(const char *usage, const char *name, size_t len);
int sim_jobs_parse(const char *usage, const char *word); /* at most SIM_JOBS_MAX */
int sim_jobs_default(void);                              /* one for each processor */

/* ---- jobs: processes, each of which plays a share of the runs ---- */

#define SIM_JOBS_MAX 64

/* Zeroed memory shared by a process and its forks; freed by munmap. */
void *sim_shared_map(size_t size);
/* Calls `run` with each number below `jobs`, each in a process of its own, and waits for all. False: one did
 * not end properly, so its share of runs is incomplete; stderr gives the reason. */
bool sim_jobs_run(int jobs, void (*run)(int job, void *arg), void *arg);

double sim_seconds_now(void); /* by the real clock, from an arbitrary start */

#endif
