/* See still_clock.h. */
#include "still_clock.h"

#include "base/clock.h"

static int64_t now_ms = STILL_CLOCK_AT_MS;

void still_clock_advance(int64_t ms)
{
    now_ms += ms;
}

int64_t mg_clock_boot_us(void)
{
    return now_ms * 1000;
}

int64_t mg_clock_boot_ms(void)
{
    return now_ms;
}

int64_t mg_clock_wall_ms(void)
{
    return now_ms;
}
