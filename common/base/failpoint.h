/*
 * Failpoints: named places between a cause and its ack. A test kills the process there, as by kill -9, and
 * checks that nothing is lost or repeated. They exist only in builds with MG_FAILPOINTS, which tests/run
 * makes; elsewhere MG_FAILPOINT is empty.
 *
 * MAKEGOOD_FAILPOINT=name or name:N kills this process at its first or Nth pass. An unknown name ends the
 * process at once. Only the loop's thread passes failpoints.
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
