/* A clock in place of the machine's, which moves only when a program sets it. */
#ifndef MG_TESTS_STILL_CLOCK_H
#define MG_TESTS_STILL_CLOCK_H

#include <stdint.h>

#define STILL_CLOCK_AT_MS INT64_C(1795289406548) /* it begins at 2026-11-21T19:30:06.548Z */

void still_clock_advance(int64_t ms);

#endif
