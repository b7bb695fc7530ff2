/* See fake_clock.h. */
#include "fake_clock.h"

#include "base/clock.h"

struct fake_clock fake_clock = {FAKE_CLOCK_AT_MS, FAKE_CLOCK_AT_MS};

void fake_clock_pass(int64_t ms)
{
    fake_clock.boot_ms += ms;
    fake_clock.wall_ms += ms;
}

int64_t mg_clock_boot_us(void)
{
    return fake_clock.boot_ms * 1000;
}

int64_t mg_clock_boot_ms(void)
{
    return fake_clock.boot_ms;
}

int64_t mg_clock_wall_ms(void)
{
    return fake_clock.wall_ms;
}
