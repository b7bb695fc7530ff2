/*
 * Inputs derived from others by a few edits: bytes changed, inserted and cut out, and pieces of one input put
 * into another. The same seeds and state give the same inputs in each run.
 */
#ifndef MG_TESTS_MUTATE_H
#define MG_TESTS_MUTATE_H

#include <stdint.h>

#include "base/buf.h"

struct mutator {
    const struct mg_slice *seeds; /* sources of inputs; at least one, none longer than `len_max` */
    size_t seed_count;
    struct mg_slice marks; /* bytes with a meaning for the reader: inserted more often than others */
    size_t len_max;        /* of an input made */
    uint64_t state;        /* of the random sequence; any number is a valid start */
};

/* Makes the next input in `ret_bytes`, which has room for `len_max`; returns its length. */
size_t mutate_next(struct mutator *mutator, char *ret_bytes);

#endif
