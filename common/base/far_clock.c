/* See far_clock.h. */
#include "base/far_clock.h"

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

static void forward_note(struct mg_far_clock *clock, int64_t least_ms, int64_t boot_ms)
{
    if (unset_ms(clock, boot_ms) >= clock->set_to_ms) {
        clock->set_boot_ms = boot_ms;
        clock->set_from_ms = boot_ms + clock->most_ms;
    }
    clock->set_to_ms = boot_ms + least_ms;
}

static void back_note(struct mg_far_clock *clock, int64_t least_ms, int64_t boot_ms)
{
    clock->set_to_ms = earlier(clock->set_to_ms, boot_ms + least_ms);
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

struct mg_spared mg_far_clock_spared(const struct mg_far_clock *clock, int64_t boot_ms, int64_t extra_ms)
{
    struct mg_spared spared = {unset_ms(clock, boot_ms) - extra_ms, clock->set_to_ms + MG_FAR_CLOCK_STALE_MS};
    return clock->set_to_ms != 0 && spared.after_ms < spared.before_ms ? spared : (struct mg_spared){0, 0};
}
