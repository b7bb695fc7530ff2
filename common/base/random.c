/*
 * Random numbers only: the simulator replaces this file, while identities (id.c) stay shared.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/id.h"

/* Numbers of one system call; getrandom(2) gives up to 256 bytes whole or not at all. */
#define RANDOM_AT_ONCE 32

uint64_t mg_random_u64(void)
{
    static _Thread_local uint64_t numbers[RANDOM_AT_ONCE];
    static _Thread_local int left;

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
