/*
 * The verdict on a slot that is asked for. The database's clock judges (law 6, database clock): the
 * supervisor only asks. After the first time the row has moved on, so further questions change nothing.
 */
#include "schedule/schedule.h"

/* A slot that waits for an earlier order is in time until that has ended: only then it can be fired. */
static enum mg_slot_verdict queue_judge(const struct mg_schedule *schedule, const struct mg_slot_facts *facts)
{
    int64_t due_at_ms = facts->slot_ms + mg_schedule_jitter_ms(schedule, facts->slot_ms);
    int64_t begun_ms = facts->ended_at_ms > due_at_ms ? facts->ended_at_ms : due_at_ms;
    if (facts->queued > MG_SLOTS_QUEUED_MAX) {
        return MG_SLOT_MISSED;
    }
    if (facts->is_open) {
        return MG_SLOT_WAITS;
    }
    return facts->now_ms - begun_ms > schedule->catch_up_ms ? MG_SLOT_MISSED : MG_SLOT_FIRES;
}

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
        if (schedule->overlap == MG_OVERLAP_QUEUE) {
            return queue_judge(schedule, facts);
        }
        if (facts->now_ms - facts->next_at_ms > schedule->catch_up_ms) {
            return MG_SLOT_MISSED;
        }
    }
    bool is_one_at_a_time = schedule->overlap == MG_OVERLAP_SKIP || schedule->overlap == MG_OVERLAP_QUEUE;
    return facts->is_open && is_one_at_a_time ? MG_SLOT_OVERLAPS : MG_SLOT_FIRES;
}
