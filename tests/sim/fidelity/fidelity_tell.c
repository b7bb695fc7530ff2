/* Answers as text: all of their orders and events, and the leader's findings. */
#include "fidelity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void fidelity_tell_time(FILE *out, const char *name, int64_t at_ms)
{
    if (at_ms == 0) {
        (void)fprintf(out, " %s=-", name);
    } else {
        (void)fprintf(out, " %s=%+" PRId64, name, at_ms - FIDELITY_START_MS);
    }
}

void fidelity_tell_sqlstate(FILE *out, const char *text)
{
    const char *open = strrchr(text, '(');
    (void)fprintf(out, "%.7s", open == NULL ? "?" : open);
}

void fidelity_tell_record(FILE *out, const struct mg_order_record *record)
{
    record_print_order(out, record);
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((record->stored_steps >> i & 1) != 0) {
            (void)fprintf(out, "\n   ");
            record_print_step(out, record, i);
        }
    }
}

void fidelity_tell_event(FILE *out, const struct mg_event_record *event)
{
    (void)fprintf(out, "\n   ");
    record_print_event(out, event);
}

/* ---- the leader's findings ---- */

static int compare_due(const void *a, const void *b)
{
    const struct mg_due *one = a, *two = b;
    if (one->due_at_ms != two->due_at_ms) {
        return one->due_at_ms < two->due_at_ms ? -1 : 1;
    }
    int order = strcmp(one->order_id, two->order_id);
    return order != 0 ? order : (int)one->ask - (int)two->ask;
}

void fidelity_tell_sweep(FILE *out, struct mg_arena *arena, const struct mg_sweep_answer *answer)
{
    (void)fprintf(out, " leader%d overdue%" PRId64 " full%d", answer->is_leader, answer->overdue_total,
                  answer->is_full);
    fidelity_tell_time(out, "now", answer->now_ms);
    struct mg_due *dues = mg_arena_alloc(arena, ((size_t)answer->due_count + 1) * sizeof(*dues));
    memcpy(dues, answer->dues, (size_t)answer->due_count * sizeof(*dues));
    qsort(dues, (size_t)answer->due_count, sizeof(*dues), compare_due);
    for (int i = 0; i < answer->due_count; i++) {
        (void)fprintf(out, "\n  %s %s '%s' a%" PRIu32 " v%" PRIu64 " seq%" PRIu64 " stuck%d",
                      dues[i].order_id, mg_cause_name(dues[i].ask), dues[i].step, dues[i].attempt,
                      dues[i].version, dues[i].seq, dues[i].is_stuck);
        fidelity_tell_time(out, "due_at", dues[i].due_at_ms);
        fidelity_tell_time(out, "set_at", dues[i].set_at_ms);
    }
}

void fidelity_tell_parked(FILE *out, const struct mg_parked_answer *answer)
{
    (void)fprintf(out, " leader%d", answer->is_leader);
    for (int i = 0; i < answer->queue_count; i++) {
        const struct mg_parked_queue *queue = &answer->queues[i];
        (void)fprintf(out, " %s:high%d:open%d:probing%d:%d", queue->service, queue->is_high, queue->is_open,
                      queue->is_probing, queue->asked);
    }
    for (int i = 0; i < answer->due_count; i++) {
        (void)fprintf(out, "\n  %s.%s.%u", answer->dues[i].order_id, answer->dues[i].step,
                      answer->dues[i].attempt);
        fidelity_tell_time(out, "due", answer->dues[i].due_at_ms);
    }
}

void fidelity_tell_owed(FILE *out, struct mg_arena *arena, bool is_leader, const struct mg_due *found,
                        int count)
{
    struct mg_due *dues = mg_arena_alloc(arena, ((size_t)count + 1) * sizeof(*dues));
    memcpy(dues, found, (size_t)count * sizeof(*dues));
    qsort(dues, (size_t)count, sizeof(*dues), compare_due);
    (void)fprintf(out, " leader%d", is_leader);
    for (int i = 0; i < count; i++) {
        (void)fprintf(out, "\n  %s %s v%" PRIu64 " seq%" PRIu64, dues[i].order_id, mg_cause_name(dues[i].ask),
                      dues[i].version, dues[i].seq);
    }
}
