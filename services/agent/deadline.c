/* See deadline.h. */
#include "deadline.h"

#include <string.h>

void mg_skew_init(struct mg_skew *skew, int64_t limit_ms, int64_t boot_ms)
{
    memset(skew, 0, sizeof *skew);
    skew->limit_ms = limit_ms;
    skew->ran_at_boot_ms = boot_ms;
    for (int i = 0; i < MG_SKEW_SECONDS; i++) {
        skew->seconds[i].second = -1;
    }
}

struct minute {
    int64_t least_ms;
    int count, fresh_count;
};

static struct minute last_minute(const struct mg_skew *skew, int64_t boot_ms)
{
    struct minute minute = {INT64_MAX, 0, 0};
    int64_t oldest = boot_ms / 1000 - MG_SKEW_SECONDS;
    for (int i = 0; i < MG_SKEW_SECONDS; i++) {
        if (skew->seconds[i].second <= oldest || skew->seconds[i].count == 0) {
            continue;
        }
        minute.count += skew->seconds[i].count;
        minute.fresh_count += skew->seconds[i].fresh_count;
        if (skew->seconds[i].least_ms < minute.least_ms) {
            minute.least_ms = skew->seconds[i].least_ms;
        }
    }
    return minute;
}

void mg_skew_note(struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t sent_at_ms, bool is_fresh)
{
    int64_t second = boot_ms / 1000;
    int slot = (int)(second % MG_SKEW_SECONDS);
    if (skew->seconds[slot].second != second) {
        skew->seconds[slot].second = second;
        skew->seconds[slot].least_ms = INT64_MAX;
        skew->seconds[slot].count = 0;
        skew->seconds[slot].fresh_count = 0;
    }
    int64_t lead_ms = boot_ms - sent_at_ms;
    skew->seconds[slot].count++;
    if (lead_ms < skew->seconds[slot].least_ms) {
        skew->seconds[slot].least_ms = lead_ms;
    }
    skew->seconds[slot].fresh_count += is_fresh ? 1 : 0;
    int64_t ahead_ms;
    if (mg_skew_measure(skew, boot_ms, wall_ms, &ahead_ms)) {
        int64_t limit_ms = skew->limit_ms;
        skew->known_ms = ahead_ms > limit_ms ? limit_ms : ahead_ms < -limit_ms ? -limit_ms : ahead_ms;
    }
}

bool mg_skew_stood_still(struct mg_skew *skew, int64_t boot_ms)
{
    bool has_stood = skew->ran_at_boot_ms < boot_ms - MG_STANDSTILL_MS;
    skew->ran_at_boot_ms = boot_ms;
    return has_stood;
}

bool mg_skew_measure(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t *ret_ahead_ms)
{
    struct minute minute = last_minute(skew, boot_ms);
    if (minute.count == 0) {
        return false;
    }
    int64_t ahead_ms = wall_ms - (boot_ms - minute.least_ms);
    if (ahead_ms > 0 && minute.fresh_count < MG_SKEW_FRESH_MIN) {
        return false; /* perhaps it only waited in the queue */
    }
    *ret_ahead_ms = ahead_ms;
    return true;
}

int64_t mg_skew_now_ms(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms)
{
    struct minute minute = last_minute(skew, boot_ms);
    int64_t by_wall_ms = wall_ms - skew->known_ms;
    if (minute.count == 0) {
        return by_wall_ms;
    }
    int64_t by_requests_ms = boot_ms - minute.least_ms;
    if (minute.fresh_count >= MG_SKEW_FRESH_MIN || by_requests_ms > by_wall_ms) {
        return by_requests_ms;
    }
    return by_wall_ms;
}

int64_t mg_deadline_budget_ms(int64_t left_ms)
{
    if (left_ms <= 0) {
        return 0;
    }
    int64_t margin_ms = left_ms / 4 < MG_DEADLINE_MARGIN_MS ? left_ms / 4 : MG_DEADLINE_MARGIN_MS;
    return left_ms - margin_ms;
}
