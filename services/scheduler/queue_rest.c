/* See queue_rest.h. */
#include "queue_rest.h"

#include "base/clock.h"

/* An unanswered trial costs a connection, and its order some seconds. */
#define SILENT_FIRST_MS 10000
#define SILENT_FACTOR   2
#define SILENT_MAX_MS   60000
/* A refused or returned message costs a few rows each time. */
#define REFUSED_FIRST_MS 1000
#define REFUSED_FACTOR   2
#define REFUSED_MAX_MS   30000
#define TRIAL_MS         20000 /* longer than any outcome takes */

bool mg_queue_rest_holds(const struct mg_queue_rest *rest)
{
    return rest->ms > 0 && mg_clock_boot_ms() < rest->until_boot_ms;
}

bool mg_queue_rest_stops(const struct mg_queue_rest *rest)
{
    return !rest->is_trial && mg_queue_rest_holds(rest);
}

bool mg_queue_rest_try(struct mg_queue_rest *rest)
{
    bool is_another = rest->is_trial && mg_queue_rest_holds(rest);
    if (rest->ms == 0) {
        return false;
    }
    rest->until_boot_ms = mg_clock_boot_ms() + TRIAL_MS;
    rest->is_trial = true;
    return !is_another;
}

void mg_queue_rest_untry(struct mg_queue_rest *rest)
{
    if (rest->is_trial) {
        rest->until_boot_ms = 0;
        rest->is_trial = false;
    }
}

bool mg_queue_rest_begin(struct mg_queue_rest *rest, bool is_silent)
{
    if (rest->ms > 0 && !rest->is_trial) {
        return false;
    }
    int64_t first_ms = is_silent ? SILENT_FIRST_MS : REFUSED_FIRST_MS;
    int64_t max_ms = is_silent ? SILENT_MAX_MS : REFUSED_MAX_MS;
    int64_t next_ms = rest->ms > 0 ? rest->ms * (is_silent ? SILENT_FACTOR : REFUSED_FACTOR) : first_ms;
    rest->ms = next_ms < max_ms ? next_ms : max_ms;
    rest->until_boot_ms = mg_clock_boot_ms() + rest->ms;
    rest->is_trial = false;
    return true;
}

void mg_queue_rest_end(struct mg_queue_rest *rest)
{
    *rest = (struct mg_queue_rest){.ms = 0};
}
