/* The duties of a leader, begun and ended together. */
#include "supervisor.h"

static bool duties_start(struct mg_supervisor *supervisor, int64_t now_ms, int64_t swept_at_ms)
{
    mg_supervisor_owed_start(supervisor);
    mg_supervisor_slots_start(supervisor);
    return mg_supervisor_sweep_start(supervisor, now_ms, swept_at_ms) &&
           mg_supervisor_watch_start(supervisor) && mg_supervisor_figures_start(supervisor) &&
           mg_supervisor_relay_start(supervisor) && mg_supervisor_retire_start(supervisor) &&
           mg_supervisor_unneeded_start(supervisor) && mg_supervisor_lines_start(supervisor) &&
           mg_supervisor_signals_start(supervisor) && mg_supervisor_minutes_start(supervisor) &&
           mg_supervisor_processes_start(supervisor);
}

static void duties_stop(struct mg_supervisor *supervisor)
{
    mg_supervisor_sweep_stop(supervisor);
    mg_supervisor_watch_stop(supervisor);
    mg_supervisor_figures_stop(supervisor);
    mg_supervisor_relay_stop(supervisor);
    mg_supervisor_retire_stop(supervisor);
    mg_supervisor_unneeded_stop(supervisor);
    mg_supervisor_lines_stop(supervisor);
    mg_supervisor_signals_stop(supervisor);
    mg_supervisor_minutes_stop(supervisor);
    mg_supervisor_processes_stop(supervisor);
}

const struct mg_supervisor_duties MG_SUPERVISOR_DUTIES = {duties_start, duties_stop};
