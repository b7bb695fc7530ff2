/* A clock in place of the machine's: it begins with the recording and moves only when a program sets it. */
#ifndef MG_TESTS_BENCH_STILL_CLOCK_H
#define MG_TESTS_BENCH_STILL_CLOCK_H

#include <stdint.h>

void still_clock_advance(int64_t ms);

#endif
