/*
 * Random numbers only: the simulator replaces this file, while identities (id.c) stay shared.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/id.h"

/* Numbers of mg_random_fix: SplitMix64 (Steele, Lea, Flood 2014), whose state is a counter. */
#define SPLITMIX_STEP UINT64_C(0x9e3779b97f4a7c15)

static _Thread_local struct {
    bool is_fixed;
    uint64_t state;
} fixed;

void mg_random_fix(uint64_t seed)
{
    fixed.is_fixed = true;
    fixed.state = seed;
}

static uint64_t fixed_next(void)
{
    uint64_t z = fixed.state += SPLITMIX_STEP;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Numbers of one system call; getrandom(2) gives up to 256 bytes whole or not at all. */
#define RANDOM_AT_ONCE 32

uint64_t mg_random_u64(void)
{
    static _Thread_local uint64_t numbers[RANDOM_AT_ONCE];
    static _Thread_local int left;

    if (fixed.is_fixed) {
        return fixed_next();
    }
    if (left == 0) {
        ssize_t got;
        do {
            got = getrandom(numbers, sizeof(numbers), 0);
        } while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof(numbers)) {
            abort();
        }
        left = RANDOM_AT_ONCE;
    }
    return numbers[--left];
}
