/*
 * Rounds of waiting in an order's story: a step goes out, and comes back to wait for its service. Where one
 * is as the one before it, in all but its moment and attempt, both are told in one line.
 */
#ifndef MG_CLI_ROUNDS_H
#define MG_CLI_ROUNDS_H

#include "operator/table.h"

struct rounds {
    int count;  /* equal ones that begin at a row, one behind the other; 0: none begins there */
    int length; /* events of each */
};

struct rounds rounds_find(const struct table *events, int row);

#endif
