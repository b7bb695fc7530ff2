/* The duties of a leader, begun and ended together. */
#include "supervisor.h"

static bool duties_start(struct supervisor *supervisor, int64_t now_ms, int64_t swept_at_ms)
{
    supervisor_owed_start(supervisor);
    return supervisor_sweep_start(supervisor, now_ms, swept_at_ms) && supervisor_watch_start(supervisor) &&
           supervisor_figures_start(supervisor) && supervisor_relay_start(supervisor) &&
           supervisor_retire_start(supervisor) && supervisor_unneeded_start(supervisor);
}

static void duties_stop(struct supervisor *supervisor)
{
    supervisor_sweep_stop(supervisor);
    supervisor_watch_stop(supervisor);
    supervisor_figures_stop(supervisor);
    supervisor_relay_stop(supervisor);
    supervisor_retire_stop(supervisor);
    supervisor_unneeded_stop(supervisor);
}

const struct supervisor_duties SUPERVISOR_DUTIES = {duties_start, duties_stop};
