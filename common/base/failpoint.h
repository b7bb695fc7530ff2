/*
 * Failpoints: named places between a cause and its ack at which a test has the process killed, as by kill -9,
 * to show that no such place loses or repeats anything. They exist in builds with MG_FAILPOINTS only, which
 * tests/run makes; in others MG_FAILPOINT is nothing.
 *
 * MAKEGOOD_FAILPOINT=name or name:N has this process killed when it comes by for the first or the Nth time; a
 * name that is none ends it at once. One thread passes them: the loop's.
 */
#ifndef MG_BASE_FAILPOINT_H
#define MG_BASE_FAILPOINT_H

#ifdef MG_FAILPOINTS

enum mg_failpoint {
#define MG_FAILPOINT_AT(NAME, processes, what) MG_FAILPOINT_##NAME,
#include "base/failpoint.def"
#undef MG_FAILPOINT_AT
    MG_FAILPOINT_COUNT
};

void mg_failpoint_pass(enum mg_failpoint point);

#define MG_FAILPOINT(NAME) mg_failpoint_pass(MG_FAILPOINT_##NAME)

#else
#define MG_FAILPOINT(NAME) ((void)0)
#endif

#endif
