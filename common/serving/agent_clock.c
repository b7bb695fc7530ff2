/*
 * The agent's view of time: standstills of the process, and messages as samples of the database's clock
 * (deadline.c).
 */
#include "agent.h"
#include "base/clock.h"
#include "base/log.h"

void mg_agent_turn(struct mg_agent *agent)
{
    int64_t now_ms = mg_clock_boot_ms();
    if (!mg_skew_stood_still(&agent->skew, now_ms)) {
        return;
    }
    agent->awake_since_boot_ms = now_ms;
    for (int i = 0; i < agent->served_count; i++) {
        for (int k = 0; k < MG_LINE_COUNT; k++) {
            struct mg_line *line = &agent->served[i].lines[k];
            line->room_since_ms = line->room_since_ms != INT64_MAX ? now_ms : INT64_MAX;
        }
    }
}

void mg_agent_note_time(struct mg_agent *agent, int64_t boot_ms, int64_t sent_at_ms, enum mg_sample sample)
{
    int64_t back_ms = mg_skew_note(&agent->skew, boot_ms, mg_clock_wall_ms(), sent_at_ms, sample);
    if (back_ms > 0) {
        mg_log(MG_LOG_WARN, "the database's clock jumped back; deadlines follow its new time",
               MG_LOG_NUMBER("by_ms", back_ms));
    }
}
