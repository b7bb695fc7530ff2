/* See far_clock.h. */
#include "core/far_clock.h"

void mg_far_clock_init(struct mg_far_clock *clock, int64_t wall_ms, int64_t boot_ms)
{
    *clock = (struct mg_far_clock){.offset_ms = wall_ms - boot_ms};
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The present value of the clock if it had not been set forward. */
static int64_t unset_ms(const struct mg_far_clock *clock, int64_t boot_ms)
{
    return clock->set_from_ms + (boot_ms - clock->set_boot_ms);
}

static bool is_high_known(const struct mg_far_clock *clock, int64_t boot_ms)
{
    return clock->high.until_ms != 0 && boot_ms - clock->high.boot_ms < MG_FAR_CLOCK_KEPT_MS;
}

/* The last value that may have been shown by a clock lower than the high one. A lower clock that began beyond
 * the values of the high one, as it was set right, shows none of them. */
static int64_t low_until_ms(const struct mg_far_clock *clock, int64_t boot_ms)
{
    bool is_low = clock->most_ms + MG_FAR_CLOCK_STEP_MS < clock->high.offset_ms &&
                  clock->known_from_ms <= clock->high.until_ms;
    return is_low ? later(clock->high.low_until_ms, boot_ms + clock->most_ms) : clock->high.low_until_ms;
}

static void forward_note(struct mg_far_clock *clock, int64_t least_ms, int64_t boot_ms)
{
    clock->high.low_until_ms = low_until_ms(clock, boot_ms);
    if (unset_ms(clock, boot_ms) >= clock->set_to_ms) {
        clock->set_boot_ms = boot_ms;
        clock->set_from_ms = boot_ms + clock->most_ms;
        clock->set_known_from_ms = clock->known_from_ms;
    }
    clock->known_from_ms = clock->set_to_ms = boot_ms + least_ms;
}

/* The clock before a step back is the high one. If a step forward still counts, it is the clock before that
 * step instead, so that no deadline is judged by a clock higher than its own. A step back from below the high
 * clock, or while deadlines are spared, continues the same stay below it. What the high clock has shown
 * between two such stays may be of an attempt that began in the first, and does not count. */
static void high_note(struct mg_far_clock *clock, int64_t least_ms, int64_t boot_ms)
{
    struct mg_far_high *high = &clock->high;
    bool is_counting = unset_ms(clock, boot_ms) < clock->set_to_ms;
    bool is_below = clock->asked_boot_ms + clock->least_ms < high->until_ms;
    int64_t low_from_ms = clock->asked_boot_ms + least_ms - MG_FAR_CLOCK_STEP_MS;
    if (is_high_known(clock, boot_ms) && (is_counting || is_below)) {
        high->low_until_ms = low_until_ms(clock, boot_ms);
        high->low_from_ms = earlier(high->low_from_ms, low_from_ms);
        return;
    }
    high->boot_ms = boot_ms;
    high->offset_ms = is_counting ? clock->set_from_ms - clock->set_boot_ms : clock->least_ms;
    high->from_ms = is_counting ? clock->set_known_from_ms : clock->known_from_ms;
    high->until_ms = clock->asked_boot_ms + high->offset_ms;
    high->low_from_ms = low_from_ms;
    high->low_until_ms = 0;
}

static void back_note(struct mg_far_clock *clock, int64_t least_ms, int64_t boot_ms)
{
    int64_t now_ms = boot_ms + least_ms;
    bool is_counting = unset_ms(clock, boot_ms) < clock->set_to_ms;
    bool was_lower = is_counting && unset_ms(clock, boot_ms) + MG_FAR_CLOCK_STEP_MS < now_ms;
    high_note(clock, least_ms, boot_ms);
    int64_t from_ms = is_counting ? clock->set_known_from_ms : clock->known_from_ms;
    clock->known_from_ms = was_lower ? now_ms : earlier(from_ms, now_ms);
    clock->set_to_ms = earlier(clock->set_to_ms, now_ms);
    if (unset_ms(clock, boot_ms) >= clock->set_to_ms) {
        clock->set_to_ms = 0;
    }
}

int64_t mg_far_clock_note(struct mg_far_clock *clock, int64_t answer_ms, int64_t asked_boot_ms,
                          int64_t answered_boot_ms)
{
    int64_t least_ms = answer_ms - answered_boot_ms, most_ms = answer_ms - asked_boot_ms;
    int64_t forward_ms = clock->is_read ? least_ms - clock->most_ms : 0;
    int64_t back_ms = clock->is_read ? clock->least_ms - most_ms : 0;
    bool is_forward = forward_ms > MG_FAR_CLOCK_STEP_MS;
    if (is_forward) {
        forward_note(clock, least_ms, answered_boot_ms);
    } else if (back_ms > MG_FAR_CLOCK_STEP_MS) {
        back_note(clock, least_ms, answered_boot_ms);
    }
    if (!clock->is_read || asked_boot_ms - clock->asked_boot_ms > MG_FAR_CLOCK_SILENCE_MS) {
        clock->known_from_ms = answer_ms;
        clock->high.until_ms = 0;
    }
    clock->asked_boot_ms = asked_boot_ms;
    bool is_as_before = clock->is_read && forward_ms <= 0 && back_ms <= 0;
    clock->least_ms = is_as_before ? later(least_ms, clock->least_ms) : least_ms;
    clock->most_ms = is_as_before ? earlier(most_ms, clock->most_ms) : most_ms;
    if (clock->offset_ms < clock->least_ms || clock->offset_ms > clock->most_ms) {
        clock->offset_ms = clock->least_ms;
    }
    clock->is_read = true;
    return is_forward ? forward_ms : 0;
}

int64_t mg_far_clock_now_ms(const struct mg_far_clock *clock, int64_t boot_ms)
{
    return boot_ms + clock->offset_ms;
}

int64_t mg_far_clock_high_now_ms(const struct mg_far_clock *clock, int64_t boot_ms)
{
    bool is_below = mg_far_clock_now_ms(clock, boot_ms) < clock->high.until_ms;
    return is_high_known(clock, boot_ms) && is_below ? boot_ms + clock->high.offset_ms : 0;
}

struct mg_spared mg_far_clock_spared(const struct mg_far_clock *clock, int64_t boot_ms, int64_t extra_ms)
{
    struct mg_spared spared = {.after_ms = unset_ms(clock, boot_ms) - extra_ms,
                               .before_ms = clock->set_to_ms + MG_FAR_CLOCK_STALE_MS};
    if (clock->set_to_ms == 0 || spared.after_ms >= spared.before_ms) {
        return (struct mg_spared){0};
    }
    if (is_high_known(clock, boot_ms)) {
        const struct mg_far_high *high = &clock->high;
        spared.high_after_ms = boot_ms + high->offset_ms - extra_ms;
        spared.high = (struct mg_high_clock){high->from_ms, high->until_ms, high->low_from_ms,
                                             low_until_ms(clock, boot_ms) + MG_FAR_CLOCK_STALE_MS};
    }
    return spared;
}
