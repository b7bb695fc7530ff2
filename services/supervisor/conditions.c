/* The looks for the conditions that watch.c judges: the files that look need not call the one that judges. */
#include <stdio.h>

#include "base/clock.h"
#include "supervisor.h"

void mg_supervisor_watch_looked(struct mg_supervisor *supervisor, enum mg_watched watched, const char *text)
{
    struct mg_watched_state *state = &supervisor->watched[watched];
    state->looked_at_boot_ms = mg_clock_boot_ms();
    if (text != NULL) {
        state->seen_at_boot_ms = state->looked_at_boot_ms;
        (void)snprintf(state->text, sizeof(state->text), "%s", text);
    }
}

bool mg_supervisor_is_queue_missing(const struct mg_supervisor *supervisor, char *ret_reason, size_t size)
{
    for (int i = 0; supervisor->is_leader && i < MG_SUPERVISOR_QUEUES; i++) {
        const struct mg_watched_state *state = &supervisor->watched[MG_WATCHED_QUEUE + i];
        if (state->seen_at_boot_ms != 0 && state->seen_at_boot_ms == state->looked_at_boot_ms) {
            (void)snprintf(ret_reason, size, "%s", state->text);
            return true;
        }
    }
    return false;
}
