/*
 * The numbers of each minute (io/store/minutes.h): how many calls a service answers and how quickly, and how
 * many orders are accepted and end. No order waits for them, and no decision depends on them.
 */
#include "io/store/minutes.h"
#include "supervisor.h"

/* As often as agents report. */
#define MINUTES_PERIOD_MS 5000

static void minutes_answered(void *arg, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    (void)mg_supervisor_answered(
        supervisor, &supervisor->is_minutes_asking, &supervisor->minutes_failure_logged,
        "could not count the calls and orders of this minute; they are added later", err);
}

static void minutes_count(void *arg)
{
    struct mg_supervisor *supervisor = arg;
    if (supervisor->is_leader && !supervisor->is_minutes_asking) {
        supervisor->is_minutes_asking = true;
        mg_store_count_minutes(supervisor->counting, supervisor->epoch, supervisor->holder, minutes_answered,
                               supervisor);
    }
}

bool mg_supervisor_minutes_start(struct mg_supervisor *supervisor)
{
    supervisor->is_minutes_asking = false;
    if (supervisor->counting == NULL) {
        return true;
    }
    return mg_supervisor_timer_begin(supervisor, &supervisor->minutes_timer, minutes_count, MINUTES_PERIOD_MS,
                                     MINUTES_PERIOD_MS);
}

void mg_supervisor_minutes_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->minutes_timer);
}
