/*
 * Closes alerts of services with unpublishable requests, if no open order needs the service any more.
 * Their cause stands, but no order waits for it. The alerts found here are closed with the others (watch.c).
 * Schedulers open one again as soon as an order's step has to wait for it.
 */
#include "supervisor.h"

/* Seldom: only an operator reads the result. The report costs nothing while no such alert is open. */
#define LOOK_PERIOD_MS 10000

static void answered(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    bool is_answered = mg_supervisor_answered(
        supervisor, &supervisor->is_unneeded_asking, &supervisor->unneeded_failure_logged,
        "could not query alerts that no order needs; they stay open", err);
    if (supervisor->unneeded_written > 0) {
        return; /* a write is under way that refers to them by their places */
    }
    supervisor->unneeded_count = 0;
    for (int row = 0; is_answered && row < mg_rows_count(rows) && row < MG_SUPERVISOR_UNNEEDED_MAX; row++) {
        mg_supervisor_row_text(rows, row, 0, supervisor->unneeded[supervisor->unneeded_count++],
                               MG_NAME_MAX + 1);
    }
}

static void look(void *arg)
{
    struct mg_supervisor *supervisor = arg;
    if (!supervisor->is_leader || supervisor->is_unneeded_asking) {
        return;
    }
    supervisor->is_unneeded_asking = true;
    mg_store_report(supervisor->counting, MG_REPORT_UNNEEDED_ALERTS, NULL, 0, answered, supervisor);
}

bool mg_supervisor_unneeded_start(struct mg_supervisor *supervisor)
{
    supervisor->unneeded_count = 0;
    if (supervisor->counting == NULL) {
        return true;
    }
    return mg_supervisor_timer_begin(supervisor, &supervisor->unneeded_timer, look, LOOK_PERIOD_MS,
                                     LOOK_PERIOD_MS);
}

void mg_supervisor_unneeded_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_timer_end(supervisor->unneeded_timer);
}
