/*
 * A clock in place of the machine's. Kept: the boot clock and the wall clock, in their units. Not kept:
 * time that passes by itself. A test lets it pass, or sets one of them.
 */
#ifndef MG_TESTS_FAKE_CLOCK_H
#define MG_TESTS_FAKE_CLOCK_H

#include <stdint.h>

#define FAKE_CLOCK_AT_MS INT64_C(1795289406548) /* both begin at 2026-11-21T19:30:06.548Z */

extern struct fake_clock {
    int64_t boot_ms, wall_ms;
} fake_clock;

void fake_clock_pass(int64_t ms); /* on both; no timer fires */

#endif
