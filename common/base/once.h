/*
 * A latch for what is reported once for a run of equal events, such as the first of many failures in a row.
 * Starts as all zero.
 */
#ifndef MG_BASE_ONCE_H
#define MG_BASE_ONCE_H

#include <stdbool.h>

struct mg_once {
    bool is_set;
};

/* True the first time, and the first time after each reset. */
static inline bool mg_once_set(struct mg_once *once)
{
    bool is_first = !once->is_set;
    once->is_set = true;
    return is_first;
}

/* Returns whether it was set: the end of a run may be reported, too. */
static inline bool mg_once_reset(struct mg_once *once)
{
    bool was_set = once->is_set;
    once->is_set = false;
    return was_set;
}

#endif
