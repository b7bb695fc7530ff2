/*
 * Inputs made from others by a few edits: bytes changed, put in, cut out; pieces of one input in another. The
 * same seeds and state give the same inputs in each run.
 */
#ifndef MG_TESTS_MUTATE_H
#define MG_TESTS_MUTATE_H

#include <stdint.h>

#include "base/buf.h"

struct mutator {
    const struct mg_slice *seeds; /* what inputs are made from; at least one, none longer than `len_max` */
    size_t seed_count;
    struct mg_slice marks; /* bytes that mean something to the reader: put in more often than others */
    size_t len_max;        /* of what is made */
    uint64_t state;        /* where the drawing stands; any number begins */
};

/* Makes the next input in `ret_bytes`, which has room for `len_max`; returns its length. */
size_t mutate_next(struct mutator *mutator, char *ret_bytes);

#endif
