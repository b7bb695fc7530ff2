/*
 * The verdict on a slot that is asked for. The database's clock judges (law 6, database clock): the
 * supervisor only asks. After the first time the row has moved on, so further questions change nothing.
 */
#include "schedule/schedule.h"

enum mg_slot_verdict mg_slot_judge(const struct mg_schedule *schedule, const struct mg_slot_facts *facts)
{
    if (facts->has_order) {
        return MG_SLOT_HAS_ORDER;
    }
    if (facts->source != MG_SLOT_DUE && facts->slot_ms > facts->now_ms) {
        return MG_SLOT_STALE;
    }
    if (facts->source == MG_SLOT_BACKFILL) {
        return MG_SLOT_FIRES; /* an operator names the slots, of a time when others may have been open */
    }
    if (facts->source == MG_SLOT_DUE) {
        bool is_next = !facts->is_paused && facts->next_slot_ms == facts->slot_ms && facts->slot_ms != 0;
        if (!is_next || facts->next_at_ms > facts->now_ms) {
            return MG_SLOT_STALE;
        }
        if (facts->now_ms - facts->next_at_ms > schedule->catch_up_ms) {
            return MG_SLOT_MISSED;
        }
    }
    return facts->is_open && schedule->overlap == MG_OVERLAP_SKIP ? MG_SLOT_OVERLAPS : MG_SLOT_FIRES;
}
