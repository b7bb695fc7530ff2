/*
 * Rounds of waiting in an order's story: a step goes out, and comes back to wait for its service, which was
 * called in vain or not at all. Where those of either kind are equal, in all but moment and attempt, and wait
 * for the same, one line tells them all.
 */
#ifndef MG_CLI_ROUNDS_H
#define MG_CLI_ROUNDS_H

#include "operator/table.h"

struct rounds {
    int count;  /* that begin at a row, one behind the other, and are alike; 0: none begins there */
    int events; /* of all */
    int last;   /* the row at which the last one begins */
    int calls;  /* rounds in which the service was called */
    int answer; /* the row of what it said to the first of them */
};

struct rounds rounds_find(const struct table *events, int row);

#endif
