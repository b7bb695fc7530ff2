/*
 * See slot_fire.h. The database's clock and row judge each command (schedule/slot_judge.c): a supervisor only
 * asks, and two of them, or one that repeats itself, change nothing more. A slot that makes no order is
 * recorded at once, and the schedule goes on with the next one.
 */
#include "slot_fire.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* A slot that waits for an earlier order is asked about again after this time: as often as the supervisor
 * asks for schedules anyway. */
#define QUEUE_LOOK_MS 5000
/* The definition, and the payload made from it. */
#define FIRE_MEMORY_MAX ((size_t)4 * MG_SCHEDULE_MAX_BYTES)

static void fire_back(struct mg_fire *fire)
{
    mg_schedule_destroy(fire->definition);
    fire->definition = NULL;
    fire->is_judged = true;
    mg_inbox_put_back(fire->fires->inbox, fire->work);
    mg_scheduler_wake(fire->fires->shared);
}

/* A supervisor asks again; the command of an operator is left for another time, or another instance. */
static void fire_failed(struct mg_fire *fire, enum mg_end end, const char *why)
{
    struct mg_fires *fires = fire->fires;
    mg_log(mg_once_set(&fires->failure_logged) ? MG_LOG_WARN : MG_LOG_DEBUG, "could not fire a slot",
           MG_LOG_TEXT("schedule", fire->schedule), MG_LOG_TEXT("why", why));
    mg_schedule_destroy(fire->definition);
    fire->definition = NULL;
    enum mg_end settled = fire->source == MG_SLOT_DUE ? MG_END_ACK : end;
    struct mg_work *work = fire->work;
    mg_work_settle(&fires->shared->works, work, settled);
    mg_scheduler_wake(fires->shared);
}

/* ---- ends without an order ---- */

static void skipped_count(struct mg_fires *fires, const struct mg_fire *fire, enum mg_slot_end end)
{
    char labels[MG_NAME_MAX + 64];
    bool is_named = fires->series_count < MG_SKIPPED_SERIES_MAX;
    (void)snprintf(labels, sizeof(labels), "schedule=\"%s\",why=\"%s\"", is_named ? fire->schedule : "other",
                   mg_slot_end_name(end));
    struct mg_metric *series =
        mg_metrics_series(fires->shared->metrics, MG_COUNTER, "makegood_schedule_skipped_total", labels,
                          "slots of schedules that made no order");
    fires->series_count += mg_metric_value(series) == 0;
    mg_metric_add(series, (double)fire->slot.slots);
}

static void missed_alert(const struct mg_fire *fire)
{
    char at[MG_TIME_TEXT_SIZE], text[MG_COMMAND_REASON_MAX + 2 * MG_NAME_MAX + 128];
    mg_time_format(fire->slot_ms, at);
    (void)snprintf(text, sizeof(text),
                   "schedule %s made no order for its slot %s: %s. makegood schedule show %s", fire->schedule,
                   at, fire->text, fire->schedule);
    mg_alert_raise(fire->fires->alerts, MG_ALERT_SCHEDULE_MISSED, fire->schedule, text, false);
}

static void settled_note(struct mg_fire *fire)
{
    enum mg_slot_end end = fire->slot.end;
    if (end == MG_SLOT_END_ORDER) {
        return;
    }
    mg_log(end == MG_SLOT_END_OVERLAP ? MG_LOG_INFO : MG_LOG_WARN, "a slot of a schedule made no order",
           MG_LOG_TEXT("schedule", fire->schedule), MG_LOG_TEXT("why", fire->text));
    skipped_count(fire->fires, fire, end);
    if (end != MG_SLOT_END_OVERLAP) {
        missed_alert(fire);
    }
}

/* Before the batch: the work is in no lane. */
static void on_settled_apart(void *arg, const struct mg_err *err)
{
    struct mg_fire *fire = arg;
    if (err != NULL) {
        fire_failed(fire, MG_END_LEAVE, err->text);
        return;
    }
    settled_note(fire);
    fire_back(fire);
}

static void settle_apart(struct mg_fire *fire, enum mg_slot_end end)
{
    fire->slot.end = end;
    mg_store_settle_slot(fire->fires->shared->store, &fire->slot, on_settled_apart, fire);
}

/* Within the batch: the work is settled meanwhile, and its ack waits. */
static void on_settled(void *arg, const struct mg_err *err)
{
    struct mg_fire *fire = arg;
    struct mg_shared *shared = fire->fires->shared;
    if (err != NULL) {
        mg_log(MG_LOG_WARN, "could not record a slot; its command is redelivered",
               MG_LOG_TEXT("schedule", fire->schedule), MG_LOG_TEXT("why", err->text));
        mg_work_give_up(fire->work);
    } else {
        settled_note(fire);
    }
    mg_work_release(&shared->works, fire->work); /* may free the fire */
    mg_scheduler_wake(shared);
}

void mg_fire_settle(struct mg_fire *fire, enum mg_slot_end end, const char *text)
{
    (void)snprintf(fire->text, sizeof(fire->text), "%s", text);
    fire->slot.end = end;
    fire->slot.order_id = end == MG_SLOT_END_ORDER ? fire->order_id : NULL;
    mg_work_hold(fire->work);
    mg_store_settle_slot(fire->fires->shared->store, &fire->slot, on_settled, fire);
}

void mg_fire_stored(const struct mg_fire *fire)
{
    if (fire->is_alerted) {
        mg_alert_raise(fire->fires->alerts, MG_ALERT_SCHEDULE_MISSED, fire->schedule,
                       "the schedule makes orders again", true);
    }
}

/* ---- a slot that waits ---- */

static void on_delayed(void *arg, const struct mg_err *err)
{
    struct mg_fire *fire = arg;
    if (err != NULL) {
        fire_failed(fire, MG_END_LEAVE, err->text);
    } else {
        fire_back(fire);
    }
}

/* ---- the order ---- */

/* The members of a client's submission. False: no memory, or the payload is too large; it says why. */
static bool submission_make(struct mg_fire *fire, struct mg_err *err)
{
    const struct mg_schedule *definition = fire->definition;
    struct mg_submission *submission = &fire->submission;
    struct mg_buf payload;
    mg_buf_init(&payload, MG_SCHEDULE_MAX_BYTES);
    enum mg_class class = mg_schedule_payload(definition, fire->slot_ms, fire->slot_civil_ms, &payload, err);
    if (class == MG_OK) {
        submission->payload = mg_arena_copy(fire->work->memory, mg_buf_slice(&payload));
        if (submission->payload.data == NULL) {
            class = mg_err_set(err, MG_TRANSIENT, "no memory for the payload");
        }
    }
    mg_buf_finish(&payload);
    if (class != MG_OK) {
        return false;
    }
    (void)snprintf(submission->order_id, sizeof(submission->order_id), "%s", fire->order_id);
    memcpy(submission->workflow, definition->workflow, sizeof(submission->workflow));
    mg_submission_digest(submission->payload, fire->digest);
    return true;
}

/* The earlier orders turn back in the same batch: their works are taken first. False: no memory. */
static bool earlier_cancel(struct mg_fire *fire)
{
    const char *at = fire->open;
    while (*at != '\0') {
        size_t len = strcspn(at, " ");
        struct mg_work *work = mg_inbox_add_internal(fire->fires->inbox, fire->work);
        if (work == NULL) {
            return false;
        }
        work->is_cancel = true;
        (void)snprintf(work->order_id, sizeof(work->order_id), "%.*s", (int)len, at);
        at += len + (at[len] == ' ');
    }
    return true;
}

static void fire_ready(struct mg_fire *fire)
{
    struct mg_err err;
    switch (fire->verdict) {
    case MG_SLOT_STALE:
        fire_back(fire);
        return;
    case MG_SLOT_MISSED:
        settle_apart(fire, MG_SLOT_END_MISSED);
        return;
    case MG_SLOT_OVERLAPS:
        settle_apart(fire, MG_SLOT_END_OVERLAP);
        return;
    case MG_SLOT_WAITS:
        mg_store_delay_slot(fire->fires->shared->store, fire->schedule, fire->slot_ms, fire->slot.version,
                            QUEUE_LOOK_MS, on_delayed, fire);
        return;
    case MG_SLOT_FIRES:
    case MG_SLOT_HAS_ORDER:
        break;
    }
    fire->slot.order_id = fire->order_id;
    bool is_cancelling = fire->verdict == MG_SLOT_FIRES && fire->source != MG_SLOT_BACKFILL &&
                         fire->definition->overlap == MG_OVERLAP_CANCEL;
    if (!submission_make(fire, &err)) {
        fire_failed(fire, MG_END_LEAVE, err.text);
    } else if (is_cancelling && !earlier_cancel(fire)) {
        fire_failed(fire, MG_END_LEAVE, "no memory");
    } else {
        fire_back(fire);
    }
}

/* ---- judging ---- */

static void upcoming_take(struct mg_fire *fire, const int64_t *slots, int count)
{
    fire->slot.is_moved = true;
    fire->slot.upcoming_count = count;
    memcpy(fire->slot.upcoming, slots, (size_t)count * sizeof(*slots));
    fire->slot.next_at_ms = count > 0 ? slots[0] + mg_schedule_jitter_ms(fire->definition, slots[0]) : 0;
    fire_ready(fire);
}

static void on_slots(void *arg, const int64_t *slots, int count, const struct mg_err *err)
{
    struct mg_fire *fire = arg;
    if (err != NULL) {
        fire_failed(fire, MG_END_LEAVE, err->text);
        return;
    }
    upcoming_take(fire, slots, count);
}

static bool is_crowded(const struct mg_fire *fire)
{
    return fire->queued > MG_SLOTS_QUEUED_MAX;
}

/* The moment after which slots are not missed: those of an outage are too late whatever their jitter. */
static int64_t missed_until_ms(const struct mg_fire *fire, const struct mg_slot_row *row)
{
    const struct mg_schedule *definition = fire->definition;
    if (is_crowded(fire)) {
        return row->now_ms -
               (row->now_civil_ms - mg_schedule_queue_end(definition, row->slot_civil_ms, row->now_civil_ms));
    }
    return row->now_ms - definition->catch_up_ms - definition->jitter_ms - 1;
}

/* The slots after this one, or, if it is missed, after all that are missed with it. */
static void upcoming_find(struct mg_fire *fire, const struct mg_slot_row *row)
{
    const struct mg_schedule *definition = fire->definition;
    int64_t after_ms = fire->slot_ms, civil_ms = row->slot_civil_ms, late_ms = missed_until_ms(fire, row);
    if (fire->verdict == MG_SLOT_MISSED && late_ms > after_ms) {
        after_ms = late_ms;
        civil_ms = row->now_civil_ms - (row->now_ms - late_ms);
        fire->slot.slots = mg_schedule_count(definition, row->slot_civil_ms, civil_ms);
        fire->slot.slots = fire->slot.slots > 0 ? fire->slot.slots : 1;
    }
    if (definition->every_ms > 0) {
        int64_t slots[MG_SLOTS_SHOWN];
        upcoming_take(fire, slots, mg_schedule_every(definition, after_ms, slots));
        return;
    }
    int64_t minutes[MG_SLOT_MINUTES_MAX];
    int count = mg_schedule_minutes(definition, civil_ms, minutes);
    mg_store_find_slots(fire->fires->shared->store, definition->zone, minutes, count, after_ms, on_slots,
                        fire);
}

static void missed_write(struct mg_fire *fire, const struct mg_slot_row *row)
{
    char late[32], bound[32];
    int64_t due_at_ms = row->next_at_ms;
    if (fire->definition->overlap == MG_OVERLAP_QUEUE) {
        due_at_ms = fire->slot_ms + mg_schedule_jitter_ms(fire->definition, fire->slot_ms);
        due_at_ms = row->ended_at_ms > due_at_ms ? row->ended_at_ms : due_at_ms;
    }
    mg_duration_format((row->now_ms - due_at_ms) / 1000 * 1000, late, sizeof(late));
    mg_duration_format(fire->definition->catch_up_ms, bound, sizeof(bound));
    (void)snprintf(fire->text, sizeof(fire->text), "it was fired %s late, and catch_up is %s", late, bound);
}

static void text_write(struct mg_fire *fire, const struct mg_slot_row *row)
{
    if (fire->verdict == MG_SLOT_OVERLAPS) {
        (void)snprintf(fire->text, sizeof(fire->text), "order %.*s of an earlier slot has not ended",
                       (int)strcspn(fire->open, " "), fire->open);
    } else if (fire->verdict == MG_SLOT_MISSED && is_crowded(fire)) {
        (void)snprintf(fire->text, sizeof(fire->text),
                       "more than %d slots wait for earlier orders, and the oldest of them give way",
                       MG_SLOTS_QUEUED_MAX);
    } else if (fire->verdict == MG_SLOT_MISSED) {
        missed_write(fire, row);
    }
    fire->slot.text = fire->text;
}

static void row_judge(struct mg_fire *fire, const struct mg_slot_row *row)
{
    bool is_queued = fire->definition->overlap == MG_OVERLAP_QUEUE && fire->source == MG_SLOT_DUE &&
                     row->next_slot_ms == fire->slot_ms;
    fire->queued = is_queued ? mg_schedule_count(fire->definition, row->slot_civil_ms, row->now_civil_ms) : 0;
    const struct mg_slot_facts facts = {.source = fire->source,
                                        .slot_ms = fire->slot_ms,
                                        .now_ms = row->now_ms,
                                        .is_paused = row->is_paused,
                                        .next_slot_ms = row->next_slot_ms,
                                        .next_at_ms = row->next_at_ms,
                                        .has_order = row->has_order,
                                        .is_open = row->open.data != NULL,
                                        .ended_at_ms = row->ended_at_ms,
                                        .queued = fire->queued};
    fire->is_found = true;
    fire->verdict = mg_slot_judge(fire->definition, &facts);
    fire->slot_civil_ms = row->slot_civil_ms;
    fire->is_alerted = row->is_alerted;
    fire->slot.version = row->version;
    fire->slot.fired = row->fired;
    fire->slot.is_exclusive =
        fire->source != MG_SLOT_BACKFILL && fire->definition->overlap != MG_OVERLAP_ALLOW;
    (void)snprintf(fire->open, sizeof(fire->open), "%.*s", (int)row->open.len,
                   row->open.data != NULL ? row->open.data : "");
    text_write(fire, row);
    bool is_moved = fire->verdict != MG_SLOT_STALE && fire->verdict != MG_SLOT_WAITS;
    if (is_moved && row->next_slot_ms == fire->slot_ms) {
        upcoming_find(fire, row);
    } else {
        fire_ready(fire);
    }
}

static void on_row(void *arg, const struct mg_slot_row *row, const struct mg_err *err)
{
    struct mg_fire *fire = arg;
    struct mg_err fault;
    if (err != NULL) {
        fire_failed(fire, MG_END_LEAVE, err->text);
        return;
    }
    mg_once_reset(&fire->fires->failure_logged);
    if (!row->is_found) {
        fire_back(fire);
        return;
    }
    enum mg_class class = mg_schedule_parse(row->definition, NULL, &fire->definition, &fault);
    if (class != MG_OK) { /* a newer version's members, or no memory */
        fire_failed(fire, class == MG_TRANSIENT ? MG_END_LEAVE : MG_END_NEWER, fault.text);
        return;
    }
    row_judge(fire, row);
}

static enum mg_slot_source source_of(const struct mg_work *work, const struct mg_command *command)
{
    if (mg_topology_commander(work->delivery->exchange, NULL) == MG_COMMANDER_SUPERVISOR) {
        return MG_SLOT_DUE;
    }
    return command->is_backfill ? MG_SLOT_BACKFILL : MG_SLOT_RUN;
}

void mg_fires_ask(struct mg_fires *fires, struct mg_work *work, const struct mg_command *command)
{
    mg_arena_destroy(work->memory); /* of an earlier judgement */
    work->memory = mg_arena_create(FIRE_MEMORY_MAX);
    struct mg_fire *fire = work->memory != NULL ? mg_arena_alloc(work->memory, sizeof(*fire)) : NULL;
    if (fire == NULL) {
        mg_work_settle(&fires->shared->works, work, MG_END_LEAVE);
        return;
    }
    work->fire = fire;
    fire->fires = fires;
    fire->work = work;
    fire->source = source_of(work, command);
    fire->slot_ms = command->slot_ms;
    memcpy(fire->schedule, command->schedule, sizeof(fire->schedule));
    memcpy(fire->order_id, command->order_id, sizeof(fire->order_id));
    memcpy(fire->by, command->by, sizeof(fire->by));
    fire->slot = (struct mg_slot_write){
        .schedule = fire->schedule, .slot_ms = fire->slot_ms, .slots = 1, .text = fire->text, .by = fire->by};
    mg_store_load_slot(fires->shared->store, fire->schedule, fire->slot_ms, on_row, fire);
}
