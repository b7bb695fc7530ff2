/* The database's clock: a supervisor follows it by the answers to its questions (core/far_clock.h). */
#include "base/clock.h"
#include "base/log.h"
#include "supervisor.h"

bool mg_supervisor_clock_read(struct mg_supervisor *supervisor, int64_t now_ms, int64_t asked_boot_ms)
{
    int64_t by_ms = mg_far_clock_note(&supervisor->db_clock, now_ms, asked_boot_ms, mg_clock_boot_ms());
    if (by_ms > 0) {
        mg_log(MG_LOG_WARN, "the database's clock jumped forward: deadlines inside the jump keep their time",
               MG_LOG_NUMBER("by_ms", by_ms));
    }
    return by_ms > 0;
}
