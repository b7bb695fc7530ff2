/*
 * The machine's clocks only: the simulator replaces this file, while durations as text (duration.c) stay
 * shared.
 */
#include "base/clock.h"

#include <stdlib.h>
#include <time.h>

static struct timespec read_clock(clockid_t id)
{
    struct timespec now;

    /* Both clocks exist on every supported Linux. Without a clock no deadline can be kept. */
    if (clock_gettime(id, &now) != 0) {
        abort();
    }
    return now;
}

int64_t mg_clock_boot_us(void)
{
    struct timespec now = read_clock(CLOCK_BOOTTIME);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t mg_clock_boot_ms(void)
{
    return mg_clock_boot_us() / 1000;
}

int64_t mg_clock_wall_ms(void)
{
    struct timespec now = read_clock(CLOCK_REALTIME);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
