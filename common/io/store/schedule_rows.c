/* See schedules.h. */
#include "io/store/schedules.h"

#include <assert.h>
#include <stdio.h>

#include "io/store/sql.h"
#include "io/store/store_private.h"

static_assert(MG_SCHEDULES_MAX == MG_SQL_put_schedule_schedules_max, "the same");
static_assert(MG_SCHEDULES_MAX == MG_SQL_report_schedules_schedules_max, "the same");

#define UPCOMING_SIZE (MG_UPCOMING_MAX * 21) /* a number of 64 bits and a blank */

const struct mg_sql MG_STORE_SETTLE_SLOTS = MG_SQL_OF(settle_slots),
                    MG_STORE_HOLD_SLOTS = MG_SQL_OF(hold_slots);

const char *mg_slot_end_name(enum mg_slot_end end)
{
    static const char *const NAMES[] = {[MG_SLOT_END_ORDER] = "order",
                                        [MG_SLOT_END_OVERLAP] = "overlap",
                                        [MG_SLOT_END_MISSED] = "missed",
                                        [MG_SLOT_END_REFUSED] = "refused"};
    return NAMES[end];
}

static void upcoming_write(const int64_t *slots, int count, char ret_text[UPCOMING_SIZE])
{
    size_t len = 0;
    ret_text[0] = '\0';
    for (int i = 0; i < count; i++) {
        len += (size_t)snprintf(ret_text + len, UPCOMING_SIZE - len, "%s%lld", i > 0 ? " " : "",
                                (long long)slots[i]);
    }
}

/* ---- one slot ---- */

struct slot_job {
    struct mg_store_job base;
    mg_store_slot_fn *done;
};

static void on_slot(void *arg, const struct mg_pg_answer *reply)
{
    enum {
        DEFINITION,
        VERSION,
        IS_PAUSED,
        NEXT_SLOT,
        NEXT_AT,
        NOW,
        SLOT_CIVIL,
        NOW_CIVIL,
        ORDER_ID,
        OPEN,
        ENDED_AT,
        IS_ALERTED,
        FIRED
    };
    struct slot_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, mg_store_error(reply, "read a schedule", &err));
        return;
    }
    const struct mg_rows *rows = reply->rows[0];
    struct mg_slot_row row = {.is_found = mg_rows_count(rows) > 0};
    if (row.is_found) {
        row.definition = mg_rows_value(rows, 0, DEFINITION);
        row.version = (uint64_t)mg_rows_int(rows, 0, VERSION);
        row.is_paused = mg_rows_bool(rows, 0, IS_PAUSED);
        row.next_slot_ms = mg_rows_int(rows, 0, NEXT_SLOT);
        row.next_at_ms = mg_rows_int(rows, 0, NEXT_AT);
        row.now_ms = mg_rows_int(rows, 0, NOW);
        row.slot_civil_ms = mg_rows_int(rows, 0, SLOT_CIVIL);
        row.now_civil_ms = mg_rows_int(rows, 0, NOW_CIVIL);
        row.has_order = !mg_rows_is_null(rows, 0, ORDER_ID);
        row.open = mg_rows_value(rows, 0, OPEN);
        row.ended_at_ms = mg_rows_int(rows, 0, ENDED_AT);
        row.is_alerted = mg_rows_bool(rows, 0, IS_ALERTED);
        row.fired = mg_rows_int(rows, 0, FIRED);
    }
    job->done(job->base.arg, &row, NULL);
}

void mg_store_load_slot(struct mg_store *store, const char *schedule, int64_t slot_ms, mg_store_slot_fn *done,
                        void *arg)
{
    static const struct mg_sql LOAD_SLOT = MG_SQL_OF(load_slot);
    struct slot_job *job = mg_store_job_create(store, sizeof(*job), on_slot, arg, NULL);
    struct mg_pg_params params;
    job->done = done;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(schedule));
    mg_pg_add_int(&params, slot_ms);
    mg_store_send_one(store, &LOAD_SLOT, &params, mg_store_job_answer, job);
}

void mg_store_delay_slot(struct mg_store *store, const char *schedule, int64_t slot_ms, uint64_t version,
                         int64_t delay_ms, mg_store_done_fn *done, void *arg)
{
    static const struct mg_sql DELAY_SLOT = MG_SQL_OF(delay_slot);
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(schedule));
    mg_pg_add_int(&params, slot_ms);
    mg_pg_add_int(&params, (int64_t)version);
    mg_pg_add_int(&params, delay_ms);
    mg_store_send_one(store, &DELAY_SLOT, &params, mg_store_done_job_answer,
                      mg_store_done_job_create(store, done, arg));
}

/* ---- instants ---- */

struct slots_job {
    struct mg_store_job base;
    mg_store_slots_fn *done;
};

static void on_slots(void *arg, const struct mg_pg_answer *reply)
{
    struct slots_job *job = arg;
    struct mg_err err;
    int64_t slots[MG_UPCOMING_MAX];
    int count = 0;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, 0, mg_store_error(reply, "find the slots of a schedule", &err));
        return;
    }
    for (; count < MG_UPCOMING_MAX && count < mg_rows_count(reply->rows[0]); count++) {
        slots[count] = mg_rows_int(reply->rows[0], count, 0);
    }
    job->done(job->base.arg, slots, count, NULL);
}

void mg_store_find_slots(struct mg_store *store, const char *zone, const int64_t *minutes, int count,
                         int64_t after_ms, mg_store_slots_fn *done, void *arg)
{
    static const struct mg_sql FIND_SLOTS = MG_SQL_OF(find_slots);
    struct slots_job *job = mg_store_job_create(store, sizeof(*job), on_slots, arg, NULL);
    struct mg_pg_params params;
    job->done = done;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(zone));
    int array = mg_pg_add_array(&params, MG_PG_INT);
    for (int i = 0; i < count; i++) {
        mg_pg_push_int(&params, array, minutes[i]);
    }
    mg_pg_add_int(&params, after_ms);
    mg_pg_add_int(&params, MG_UPCOMING_MAX);
    mg_store_send_one(store, &FIND_SLOTS, &params, mg_store_job_answer, job);
}

/* ---- ends ---- */

void mg_store_slots_begin(struct mg_pg_params *params)
{
    static const enum mg_pg_type TYPES[MG_SQL_settle_slots_params] = {
        [MG_SQL_settle_slots_names] = MG_PG_TEXT,    [MG_SQL_settle_slots_slots] = MG_PG_INT,
        [MG_SQL_settle_slots_ends] = MG_PG_TEXT,     [MG_SQL_settle_slots_orders] = MG_PG_TEXT,
        [MG_SQL_settle_slots_numbers] = MG_PG_INT,   [MG_SQL_settle_slots_texts] = MG_PG_TEXT,
        [MG_SQL_settle_slots_by] = MG_PG_TEXT,       [MG_SQL_settle_slots_versions] = MG_PG_INT,
        [MG_SQL_settle_slots_upcoming] = MG_PG_TEXT, [MG_SQL_settle_slots_next_at] = MG_PG_INT};
    mg_pg_params_init(params);
    for (int i = 0; i < MG_SQL_settle_slots_params; i++) {
        (void)mg_pg_add_array(params, TYPES[i]);
    }
}

void mg_store_slots_add(struct mg_pg_params *params, const struct mg_slot_write *slot)
{
    char upcoming[UPCOMING_SIZE];
    upcoming_write(slot->upcoming, slot->upcoming_count, upcoming);
    mg_pg_push_text(params, MG_SQL_settle_slots_names, mg_slice_of(slot->schedule));
    mg_pg_push_int(params, MG_SQL_settle_slots_slots, slot->slot_ms);
    mg_pg_push_text(params, MG_SQL_settle_slots_ends, mg_slice_of(mg_slot_end_name(slot->end)));
    mg_pg_push_text(params, MG_SQL_settle_slots_orders, mg_slice_of(slot->order_id));
    mg_pg_push_int(params, MG_SQL_settle_slots_numbers, slot->slots);
    mg_pg_push_text(params, MG_SQL_settle_slots_texts, mg_slice_of(slot->text));
    mg_pg_push_text(params, MG_SQL_settle_slots_by, mg_slice_of(slot->by));
    mg_pg_push_int(params, MG_SQL_settle_slots_versions, (int64_t)slot->version);
    mg_pg_push_text(params, MG_SQL_settle_slots_upcoming, mg_slice_of(slot->is_moved ? upcoming : NULL));
    mg_pg_push_time(params, MG_SQL_settle_slots_next_at, slot->next_at_ms);
}

void mg_store_holds_begin(struct mg_pg_params *params)
{
    mg_pg_params_init(params);
    (void)mg_pg_add_array(params, MG_PG_TEXT);
    (void)mg_pg_add_array(params, MG_PG_INT);
}

void mg_store_holds_add(struct mg_pg_params *params, const struct mg_slot_write *slot)
{
    mg_pg_push_text(params, MG_SQL_hold_slots_names, mg_slice_of(slot->schedule));
    if (slot->is_exclusive) {
        mg_pg_push_int(params, MG_SQL_hold_slots_fired, slot->fired);
    } else {
        mg_pg_push_null(params, MG_SQL_hold_slots_fired);
    }
}

void mg_store_settle_slot(struct mg_store *store, const struct mg_slot_write *slot, mg_store_done_fn *done,
                          void *arg)
{
    struct mg_pg_params params;
    mg_store_slots_begin(&params);
    mg_store_slots_add(&params, slot);
    mg_store_send_one(store, &MG_STORE_SETTLE_SLOTS, &params, mg_store_done_job_answer,
                      mg_store_done_job_create(store, done, arg));
}

/* ---- due slots ---- */

struct due_job {
    struct mg_store_job base;
    mg_store_due_slots_fn *done;
};

static void on_due(void *arg, const struct mg_pg_answer *reply)
{
    enum { IS_LEADER, NOW, NAME, NEXT_SLOT, NEXT_AT };
    struct due_job *job = arg;
    struct mg_err err;
    struct mg_due_slot slots[MG_SCHEDULES_ASKED];
    int count = 0;
    if (reply->err != NULL) {
        job->done(job->base.arg, false, 0, NULL, 0, mg_store_error(reply, "find due schedules", &err));
        return;
    }
    const struct mg_rows *rows = reply->rows[0];
    for (int row = 0; row < mg_rows_count(rows) && count < MG_SCHEDULES_ASKED; row++) {
        if (!mg_rows_is_null(rows, row, NAME)) {
            mg_rows_copy(rows, row, NAME, slots[count].schedule, sizeof(slots[count].schedule));
            slots[count].slot_ms = mg_rows_int(rows, row, NEXT_SLOT);
            slots[count++].due_at_ms = mg_rows_int(rows, row, NEXT_AT);
        }
    }
    job->done(job->base.arg, mg_rows_bool(rows, 0, IS_LEADER), mg_rows_int(rows, 0, NOW), slots, count, NULL);
}

void mg_store_ask_schedules(struct mg_store *store, uint64_t epoch, const char *holder,
                            mg_store_due_slots_fn *done, void *arg)
{
    static const struct mg_sql ASK_SCHEDULES = MG_SQL_OF(ask_schedules);
    struct due_job *job = mg_store_job_create(store, sizeof(*job), on_due, arg, NULL);
    struct mg_pg_params params;
    job->done = done;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)epoch);
    mg_pg_add_text(&params, mg_slice_of(holder));
    mg_pg_add_int(&params, MG_SCHEDULES_ASKED);
    mg_store_send_one(store, &ASK_SCHEDULES, &params, mg_store_job_answer, job);
}

/* ---- the operator's ---- */

struct zone_job {
    struct mg_store_job base;
    mg_store_zone_fn *done;
};

static void on_zone(void *arg, const struct mg_pg_answer *reply)
{
    struct zone_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, false, 0, 0, mg_store_error(reply, "look up a zone", &err));
    } else {
        const struct mg_rows *rows = reply->rows[0];
        job->done(job->base.arg, !mg_rows_is_null(rows, 0, 1), mg_rows_int(rows, 0, 0),
                  mg_rows_int(rows, 0, 1), NULL);
    }
}

void mg_store_look_zone(struct mg_store *store, const char *zone, int64_t at_ms, mg_store_zone_fn *done,
                        void *arg)
{
    static const struct mg_sql LOOK_ZONE = MG_SQL_OF(look_zone);
    struct zone_job *job = mg_store_job_create(store, sizeof(*job), on_zone, arg, NULL);
    struct mg_pg_params params;
    job->done = done;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(zone));
    mg_pg_add_int(&params, at_ms);
    mg_store_send_one(store, &LOOK_ZONE, &params, mg_store_job_answer, job);
}

struct change_job {
    struct mg_store_job base;
    mg_store_setting_fn *done;
};

static void on_change(void *arg, const struct mg_pg_answer *reply)
{
    struct change_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, MG_CHANGE_CONFLICT, 0, mg_store_error(reply, "change the schedule", &err));
    } else if (mg_rows_count(reply->rows[0]) == 0) {
        job->done(job->base.arg, MG_CHANGE_CONFLICT, 0, NULL);
    } else {
        job->done(job->base.arg, MG_CHANGE_DONE, (uint64_t)mg_rows_int(reply->rows[0], 0, 0), NULL);
    }
}

void mg_store_change_schedule(struct mg_store *store, const struct mg_schedule_change *change,
                              mg_store_setting_fn *done, void *arg)
{
    static const struct mg_sql PUT_SCHEDULE = MG_SQL_OF(put_schedule),
                               CHANGE_SCHEDULE = MG_SQL_OF(change_schedule),
                               DELETE_SCHEDULE = MG_SQL_OF(delete_schedule);
    struct change_job *job = mg_store_job_create(store, sizeof(*job), on_change, arg, NULL);
    bool is_load = change->verb == MG_SCHEDULE_LOAD, is_delete = change->verb == MG_SCHEDULE_DELETE;
    char upcoming[UPCOMING_SIZE];
    struct mg_pg_params params;
    job->done = done;
    upcoming_write(change->upcoming, change->upcoming_count, upcoming);
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(change->schedule));
    if (is_load) {
        mg_pg_add_text(&params, mg_slice_of(change->workflow));
        mg_pg_add_text(&params, mg_slice_of(change->zone));
        mg_pg_add_text(&params, change->definition);
    } else if (!is_delete) {
        mg_pg_add_text(&params, mg_slice_of(change->verb == MG_SCHEDULE_PAUSE ? "pause" : "resume"));
    }
    if (!is_delete) {
        mg_pg_add_text(&params, mg_slice_of(upcoming));
        mg_pg_add_int(&params, change->next_at_ms);
    }
    mg_pg_add_int(&params, (int64_t)change->version);
    mg_pg_add_text(&params, mg_slice_of(change->reason));
    mg_pg_add_text(&params, mg_slice_of(change->by));
    mg_store_send_one(store,
                      is_load     ? &PUT_SCHEDULE
                      : is_delete ? &DELETE_SCHEDULE
                                  : &CHANGE_SCHEDULE,
                      &params, mg_store_job_answer, job);
}
