/* See park.h. The database counts, since several schedulers park and a supervisor wakes. It is asked only
 * while a queue is full. */
#include "park.h"

#include "base/clock.h"
#include "base/log.h"
#include "shared.h"

/* The line is at most so many times as long as the queue. So a flood for one service fills no database, and
 * the last of the line waits ten times as long as the last of the queue: its deadlines run meanwhile. */
#define MG_PARK_WINDOWS 10
/* To count ten thousand steps takes some milliseconds. */
#define MG_PARK_ASK_MS 1000
/* An older answer does not count. */
#define MG_PARK_VALID_MS 10000

static void on_counted(void *arg, int64_t parked, bool is_avoided, const struct mg_err *err)
{
    struct mg_park *park = arg;
    park->is_asking = false;
    if (err != NULL) {
        mg_log(MG_LOG_WARN, "could not count the steps parked for a full queue: new orders may wait for it",
               MG_LOG_TEXT("why", err->text));
        return;
    }
    park->answered_boot_ms = mg_clock_boot_ms();
    park->is_avoided = is_avoided;
    park->parked = parked;
    park->has_line = park->has_line && parked + park->since > 0;
    mg_scheduler_wake(park->shared);
}

static int64_t most_of(const struct mg_park *park)
{
    return MG_PARK_WINDOWS * park->shared->options->window;
}

static void count_ask(struct mg_park *park, const char *service, bool is_high, int64_t now_ms)
{
    park->is_asking = true;
    park->asked_boot_ms = now_ms;
    park->parked += park->since;
    park->since = 0;
    mg_store_count_parked(park->shared->store, service, is_high, most_of(park), on_counted, park);
}

bool mg_park_is_at_most(const struct mg_park *park)
{
    return park->is_avoided && park->parked + park->since >= most_of(park);
}

bool mg_park_holds(struct mg_park *park, const char *service, bool is_high)
{
    int64_t now_ms = mg_clock_boot_ms();
    if (!park->is_asking && (park->asked_boot_ms == 0 || now_ms - park->asked_boot_ms >= MG_PARK_ASK_MS)) {
        count_ask(park, service, is_high, now_ms);
    }
    bool is_known = park->answered_boot_ms != 0 && now_ms - park->answered_boot_ms < MG_PARK_VALID_MS;
    park->has_line = is_known && park->is_avoided;
    bool is_held = !park->has_line || mg_park_is_at_most(park);
    park->held_boot_ms = is_held ? now_ms : park->held_boot_ms;
    return is_held;
}
