/*
 * Chance, and nothing else: the simulator puts its own file in the place of this one, while identities (id.c)
 * stay the same for both.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/id.h"

/* Numbers of one call of the kernel; it gives 256 bytes whole or not at all (getrandom(2)). */
#define RANDOM_AT_ONCE 32

uint64_t mg_random_u64(void)
{
    static _Thread_local uint64_t numbers[RANDOM_AT_ONCE];
    static _Thread_local int left;

    if (left == 0) {
        ssize_t got;
        do
            got = getrandom(numbers, sizeof numbers, 0);
        while (got < 0 && errno == EINTR);
        if (got != (ssize_t)sizeof numbers) abort(); /* up to 256 bytes are given whole or not at all */
        left = RANDOM_AT_ONCE;
    }
    return numbers[--left];
}
