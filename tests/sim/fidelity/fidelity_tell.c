/* Answers as text: all of their orders and events, and what the leader finds. */
#include "fidelity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void fidelity_tell_slice(FILE *out, const char *name, struct mg_slice text)
{
    if (text.data == NULL) {
        (void)fprintf(out, " %s=-", name);
    } else {
        (void)fprintf(out, " %s='%.*s'", name, (int)text.len, text.data);
    }
}

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

static void tell_digest(FILE *out, const char *name, const uint8_t *digest, bool is_there)
{
    (void)fprintf(out, " %s=%d:%d:%d", name, is_there, is_there ? digest[0] : 0,
                  is_there ? digest[MG_SHA256_SIZE - 1] : 0);
}

static void tell_step(FILE *out, const struct mg_order_record *record, int index)
{
    const struct mg_step *step = &record->order.steps[index];
    const struct mg_step_record *more = &record->steps[index];
    (void)fprintf(out,
                  "\n    %d %s %s %s %s %s %d%d%d%d %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu32,
                  index, record->step_names[index], record->services[index], mg_step_state_name(step->state),
                  mg_kind_name(step->kind), mg_reason_name(step->reason), step->is_maybe,
                  step->is_undo_dispatched, step->is_refused, step->is_accepted, step->attempt,
                  step->failure_count, step->poll_failure_count, step->cool_down_count, step->generation);
    fidelity_tell_time(out, "complete_by", step->complete_by_ms);
    fidelity_tell_time(out, "due_at", step->due_at_ms);
    fidelity_tell_time(out, "quiet_at", step->quiet_at_ms);
    fidelity_tell_time(out, "finish_by", step->finish_by_ms);
    fidelity_tell_slice(out, "cause", more->cause);
    fidelity_tell_slice(out, "result", more->result);
    fidelity_tell_slice(out, "code", more->error_code);
    fidelity_tell_slice(out, "text", more->error_text);
    tell_digest(out, "do", more->do_digest, more->has_do_digest);
    tell_digest(out, "undo", more->undo_digest, more->has_undo_digest);
}

void fidelity_tell_record(FILE *out, const struct mg_order_record *record)
{
    const struct mg_order *order = &record->order;
    (void)fprintf(out,
                  " %s %s/%" PRId64 " r%" PRId64 " %s %s %s v%" PRIu64 " seq%" PRIu64 " g%" PRIu32
                  " f%" PRIu32 " high%d wants%d steps%d stored%" PRIx64,
                  record->order_id, record->workflow, record->workflow_version, record->revision,
                  mg_order_state_name(order->state), mg_goal_name(order->goal), mg_reason_name(order->reason),
                  order->version, order->seq, order->generation, order->failure_count, record->is_high,
                  record->wants_step_status, order->step_count, record->stored_steps);
    fidelity_tell_time(out, "complete_by", order->complete_by_ms);
    fidelity_tell_time(out, "wake_at", order->wake_at_ms);
    fidelity_tell_slice(out, "payload", record->payload);
    tell_digest(out, "digest", record->digest, record->payload.data != NULL);
    fidelity_tell_slice(out, "reply_to", record->reply_to);
    fidelity_tell_slice(out, "correlation", record->correlation_id);
    fidelity_tell_slice(out, "trace", record->traceparent);
    fidelity_tell_slice(out, "client", record->client);
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((record->stored_steps >> i & 1) != 0) {
            tell_step(out, record, i);
        }
    }
}

void fidelity_tell_event(FILE *out, const struct mg_event_record *event)
{
    (void)fprintf(out, "\n    event v%" PRIu64 " %s a%" PRIu32 " owed%d", event->version,
                  mg_cause_name(event->cause_kind), event->attempt, event->is_owed);
    fidelity_tell_slice(out, "cause", event->cause);
    fidelity_tell_slice(out, "by", event->by);
    fidelity_tell_slice(out, "step", event->step);
    fidelity_tell_slice(out, "reason", event->reason);
    fidelity_tell_slice(out, "transitions", event->transitions);
    fidelity_tell_slice(out, "statuses", event->statuses);
}

/* ---- what the leader finds ---- */

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
