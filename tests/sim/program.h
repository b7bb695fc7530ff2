/* What the simulator's programs (main.c, torture/torture.c) share: words of a command line, and jobs. */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "sim.h"

/* ---- words: whoever gives one that cannot be is told why, beside the usage; the program ends with 2 ---- */

void sim_usage_fail(const char *usage, const char *word, const char *why) __attribute__((noreturn));
uint64_t sim_number_parse(const char *usage, const char *word, uint64_t least);
/* `name` is a fault's, as faults.def has it, in `len` bytes. */
enum sim_fault sim_fault_parse(const char *usage, const char *name, size_t len);
int sim_jobs_parse(const char *usage, const char *word); /* at most SIM_JOBS_MAX */
int sim_jobs_default(void);                              /* one for each processor */

/* ---- jobs: processes, each of which plays a share of the runs ---- */

#define SIM_JOBS_MAX 64

/* Zeros that a process and those it forks see alike; munmap gives them back. */
void *sim_shared_map(size_t size);
/* Calls `run` with each number below `jobs`, each in a process of its own, and waits for all of them. False:
 * one did not come to its end, so that what it had to play was not played; stderr says how it ended. */
bool sim_jobs_run(int jobs, void (*run)(int job, void *arg), void *arg);

double sim_seconds_now(void); /* by the real clock, from some moment on */

#endif
