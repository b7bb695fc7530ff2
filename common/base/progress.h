/*
 * Whether work ends while work waits. If work waits and none ends, the process stalls, for any reason:
 * readiness, metric and alert then name it. Waits that are meant (a closed gate, a server that is
 * known to be down) are no work that waits.
 */
#ifndef MG_BASE_PROGRESS_H
#define MG_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A standstill must be told within 15 s, and looks come every second or so. Longer than any single end of
 * work: a lock time-out of 2 s and a statement's of 10 s are answered before. */
#define MG_STANDSTILL_AFTER_MS 12000

/* Starts as all zero. */
struct mg_progress {
    uint64_t ended;        /* count of the last look */
    int64_t since_boot_ms; /* no work has ended since then, and some waits; 0: it moves */
};

/* Call it regularly. `ended`: the total count of work that has ended; `waits`: some work could end now. */
void mg_progress_look(struct mg_progress *progress, uint64_t ended, bool waits, int64_t now_boot_ms);
/* 0: it moves, or the standstill is younger than MG_STANDSTILL_AFTER_MS. */
int64_t mg_progress_stands_ms(const struct mg_progress *progress, int64_t now_boot_ms);

#endif
