/*
 * Deadlines that a database clock which was set forward has passed although they have time left.
 *
 * Two clocks may have set such a deadline. The one before the step forward was low, and by it the deadline
 * has time left. If that clock had been set back before, the clock until then was high. The deadlines of the
 * high clock are judged by the high clock: else they would have as much more time as the clock was set back
 * by. The moment at which a deadline was written distinguishes the two. A moment that both clocks have shown
 * counts as one of the low clock.
 */
#ifndef MG_CORE_SPARED_H
#define MG_CORE_SPARED_H

#include <stdbool.h>
#include <stdint.h>

/* Moments in [from_ms, until_ms] and not in [low_from_ms, low_until_ms] were shown by the high clock. All 0:
 * no such clock is known. */
struct mg_high_clock {
    int64_t from_ms, until_ms, low_from_ms, low_until_ms;
};

/* Deadlines after `after_ms` and up to `before_ms` have time left although the clock has passed them;
 * deadlines of the high clock only after `high_after_ms`. All 0: none. */
struct mg_spared {
    int64_t after_ms, before_ms, high_after_ms;
    struct mg_high_clock high;
};

/* The present value, less the grace, of the clock by which a deadline that was set at `set_at_ms` is judged.
 */
static inline int64_t mg_spared_after_ms(const struct mg_spared *spared, int64_t set_at_ms)
{
    const struct mg_high_clock *high = &spared->high;
    bool is_high = set_at_ms >= high->from_ms && set_at_ms <= high->until_ms &&
                   (set_at_ms < high->low_from_ms || set_at_ms > high->low_until_ms);
    return is_high ? spared->high_after_ms : spared->after_ms;
}

static inline bool mg_spared_has(const struct mg_spared *spared, int64_t deadline_ms, int64_t set_at_ms)
{
    return deadline_ms > mg_spared_after_ms(spared, set_at_ms) && deadline_ms <= spared->before_ms;
}

/* The same for a deadline of a step, which the new clock itself may have begun or given its rest: such a one
 * is not spared again. */
static inline bool mg_spared_has_step(const struct mg_spared *spared, int64_t deadline_ms, int64_t begun_ms)
{
    return mg_spared_has(spared, deadline_ms, begun_ms) && begun_ms <= mg_spared_after_ms(spared, begun_ms);
}

#endif
