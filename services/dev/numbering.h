/*
 * Versions of definitions that are under development. A loaded version never changes, because open orders
 * refer to it. So a changed file of the same version is loaded under the next free one.
 */
#ifndef MG_DEV_NUMBERING_H
#define MG_DEV_NUMBERING_H

#include <stdbool.h>

#include "base/buf.h"

/* The version to load a file under. `written`: the one in the file; `newest`: the newest that is loaded, 0
 * for none; `is_same`: that one differs in nothing but its version. 0: there is nothing to load. -1: no
 * version is free, since that one has the last; another name has all of them. */
int64_t mg_numbering_next(int64_t written, int64_t newest, bool is_same);

/* Writes the checked definition with another version, and every other byte as it is. */
enum mg_class mg_numbering_write(struct mg_slice text, int64_t version, struct mg_buf *ret_text,
                                 struct mg_err *err) MG_MUSTCHECK;

/* Whether two checked definitions differ in nothing but their versions. False also without memory: then the
 * definition is only loaded once more. */
bool mg_numbering_is_same(struct mg_slice a, struct mg_slice b);

#endif
