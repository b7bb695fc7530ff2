/*
 * Reading orders whole, many at once, in one round: process rows with their steps and payloads, the events of
 * the causes asked for, the services' gates and the clock.
 *
 * An order with its steps comes from one statement, hence from one snapshot. The events come from a later
 * one; an event newer than its order would hide from its cause what it made (law 3), so then the round is run
 * again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/store_private.h"

/* An order would have to be written between two statements of one round, three times running. */
#define ROUNDS_MAX 4
/* A word of an agent runs out after this time without a report (wire/reply.h: MG_SERVICE_REPORT_VALID_MS). */
#define SERVICE_STATE_VALID "interval '15 seconds'"
/* Only the first row of an order carries the payload: it may be large and would be repeated for each step. */
static const struct mg_sql LOAD_ORDERS = {
    "load_orders",
    "SELECT i.n, p.process_state, p.goal, p.reason, p.version, p.seq, p.generation, p.failure_count,"
    " " MG_SQL_MS("p.complete_by") ", " MG_SQL_MS(
        "p.wake_at") ", p.workflow, p.workflow_version, p.revision,"
                     " p.reply_to, p.correlation_id, p.traceparent, p.is_high, p.wants_step_status, "
                     "o.payload, o.digest,"
                     " s.position, s.step, s.service, s.state, s.kind, s.reason, s.maybe, "
                     "s.is_undo_dispatched, s.is_refused,"
                     " s.is_accepted, s.attempt, s.failure_count, s.cool_down_count, "
                     "s.generation, " MG_SQL_MS(
                         "s.complete_by") ","
                                          " " MG_SQL_MS("s.due_at") ", " MG_SQL_MS(
                                              "s.quiet_at") ", " MG_SQL_MS("s.finish_by") ", s.cause, "
                                                                                          "s.result,"
                                                                                          " s.do_digest, "
                                                                                          "s.undo_digest, "
                                                                                          "s.error_code, "
                                                                                          "s.error_text"
                                                                                          " FROM "
                                                                                          "unnest($1::bigint["
                                                                                          "], $2::text[]) AS "
                                                                                          "i(n, order_id) "
                                                                                          "JOIN "
                                                                                          "order_process p "
                                                                                          "ON p.order_id = "
                                                                                          "i.order_id"
                                                                                          " LEFT JOIN "
                                                                                          "LATERAL ("
                                                                                          "  SELECT *, "
                                                                                          "row_number() OVER "
                                                                                          "(ORDER BY "
                                                                                          "position) AS rank "
                                                                                          "FROM order_step "
                                                                                          "WHERE order_id = "
                                                                                          "p.order_id) s ON "
                                                                                          "true"
                                                                                          " LEFT JOIN orders "
                                                                                          "o ON o.order_id = "
                                                                                          "p.order_id AND "
                                                                                          "o.revision = "
                                                                                          "p.revision AND "
                                                                                          "coalesce(s.rank, "
                                                                                          "1) = 1"};
enum {
    P_N,
    P_STATE,
    P_GOAL,
    P_REASON,
    P_VERSION,
    P_SEQ,
    P_GENERATION,
    P_FAILURE_COUNT,
    P_COMPLETE_BY,
    P_WAKE_AT,
    P_WORKFLOW,
    P_WORKFLOW_VERSION,
    P_REVISION,
    P_REPLY_TO,
    P_CORRELATION_ID,
    P_TRACEPARENT,
    P_IS_HIGH,
    P_WANTS_STEP_STATUS,
    P_PAYLOAD,
    P_DIGEST,
    S_POSITION,
    S_STEP,
    S_SERVICE,
    S_STATE,
    S_KIND,
    S_REASON,
    S_MAYBE,
    S_UNDO_DISPATCHED,
    S_REFUSED,
    S_ACCEPTED,
    S_ATTEMPT,
    S_FAILURE_COUNT,
    S_COOL_DOWN_COUNT,
    S_GENERATION,
    S_COMPLETE_BY,
    S_DUE_AT,
    S_QUIET_AT,
    S_FINISH_BY,
    S_CAUSE,
    S_RESULT,
    S_DO_DIGEST,
    S_UNDO_DIGEST,
    S_ERROR_CODE,
    S_ERROR_TEXT
};

#define EVENT_COLUMNS                                                                                        \
    "e.version, e.cause_kind, e.cause, e.by_whom, e.step, e.attempt, e.reason, e.transitions, e.statuses, "  \
    "e.owed"
enum {
    E_KEY,
    E_VERSION,
    E_CAUSE_KIND,
    E_CAUSE,
    E_BY,
    E_STEP,
    E_ATTEMPT,
    E_REASON,
    E_TRANSITIONS,
    E_STATUSES,
    E_OWED
};

static const struct mg_sql LOAD_EVENTS_OF_CAUSES = {
    "load_events_of_causes",
    "SELECT i.n, " EVENT_COLUMNS " FROM unnest($1::bigint[], $2::text[], $3::text[]) AS i(n, order_id, cause)"
    " CROSS JOIN LATERAL ("
    "  SELECT * FROM order_event WHERE order_id = i.order_id AND cause = i.cause ORDER BY version DESC LIMIT "
    "1) e"};

/* An open breaker everywhere outweighs unreadiness: agents with an open breaker may report both. */
static const struct mg_sql LOAD_GATES = {
    "load_gates", "SELECT " MG_SQL_MS("c.now") ", s.service,"
                                               " CASE WHEN s.is_open THEN 'breaker_open' WHEN s.is_ready "
                                               "THEN 'none' ELSE 'service_paused' END"
                                               " FROM (SELECT " MG_SQL_NOW " AS now) c LEFT JOIN ("
                                               "  SELECT service, bool_and(breaker = 'open') AS is_open, "
                                               "bool_or(is_ready AND breaker <> 'open') AS is_ready"
                                               "  FROM service_state WHERE reported_at > " MG_SQL_NOW
                                               " - " SERVICE_STATE_VALID " GROUP BY service) s ON true"};

/* The oldest first; what is not among them is asked for again. */
static const struct mg_sql LOAD_OWED_EVENTS = {"load_owed_events",
                                               "SELECT e.order_id, " EVENT_COLUMNS
                                               " FROM order_event e WHERE e.order_id = $1::text AND e.owed"
                                               " ORDER BY e.version LIMIT 64"};

struct load_job {
    struct mg_store_job base;
    struct mg_arena *arena;
    const struct mg_load *loads;
    int count, rounds;
    struct mg_load_answer answer;
    mg_store_load_fn *done;
    void *arg;
};

struct by_id {
    const char *order_id;
    int index;
};

static void send_round(struct load_job *job);

static void answer_load(struct load_job *job, const struct mg_err *err)
{
    mg_store_job_detach(&job->base);
    job->done(job->arg, err == NULL ? &job->answer : NULL, err);
    mg_store_job_destroy(&job->base);
}

/* ---- rows to records
 * ------------------------------------------------------------------------------------------- */

/* Copies what may be absent. False: no memory in the arena. */
static bool take(struct mg_arena *arena, const struct mg_rows *rows, int row, int column,
                 struct mg_slice *ret_slice)
{
    struct mg_slice value = mg_rows_value(rows, row, column);
    *ret_slice = (struct mg_slice){NULL, 0};
    if (value.data == NULL) return true;
    *ret_slice = mg_arena_copy(arena, value);
    return ret_slice->data != NULL;
}

/* The words that only the database's CHECK lists and words.def have in common; anything else is a newer
 * version's. */
#define TAKE_WORD(parse, rows, row, column, ret)                                                             \
    parse(mg_rows_value((rows), (row), (column)).data, mg_rows_value((rows), (row), (column)).len, (ret))

static enum mg_class fill_order(struct mg_arena *arena, const struct mg_rows *rows, int row,
                                struct mg_order_record *record, struct mg_err *err)
{
    struct mg_order *order = &record->order;
    if (!TAKE_WORD(mg_order_state_parse, rows, row, P_STATE, &order->state) ||
        !TAKE_WORD(mg_goal_parse, rows, row, P_GOAL, &order->goal) ||
        !TAKE_WORD(mg_reason_parse, rows, row, P_REASON, &order->reason)) {
        return mg_err_set(err, MG_TRANSIENT, "could not read order \"%s\": a newer version wrote it",
                          record->order_id);
    }
    order->version = (uint64_t)mg_rows_int(rows, row, P_VERSION);
    order->seq = (uint64_t)mg_rows_int(rows, row, P_SEQ);
    order->generation = (uint32_t)mg_rows_int(rows, row, P_GENERATION);
    order->failure_count = (uint32_t)mg_rows_int(rows, row, P_FAILURE_COUNT);
    order->complete_by_ms = mg_rows_int(rows, row, P_COMPLETE_BY);
    order->wake_at_ms = mg_rows_int(rows, row, P_WAKE_AT);
    mg_rows_copy(rows, row, P_WORKFLOW, record->workflow, sizeof record->workflow);
    record->workflow_version = mg_rows_int(rows, row, P_WORKFLOW_VERSION);
    record->revision = mg_rows_int(rows, row, P_REVISION);
    record->is_high = mg_rows_bool(rows, row, P_IS_HIGH);
    record->wants_step_status = mg_rows_bool(rows, row, P_WANTS_STEP_STATUS);
    if (!take(arena, rows, row, P_REPLY_TO, &record->reply_to) ||
        !take(arena, rows, row, P_CORRELATION_ID, &record->correlation_id) ||
        !take(arena, rows, row, P_TRACEPARENT, &record->traceparent)) {
        return mg_err_set(err, MG_TRANSIENT, "could not read order \"%s\": the batch's memory is full",
                          record->order_id);
    }
    return MG_OK;
}

static enum mg_class fill_step(struct mg_arena *arena, const struct mg_rows *rows, int row,
                               struct mg_order_record *record, struct mg_err *err)
{
    int64_t index = mg_rows_int(rows, row, S_POSITION);
    if (index < 0 || index >= MG_STEPS_MAX) {
        return mg_err_set(err, MG_BUG, "cannot read order \"%s\": step position out of range",
                          record->order_id);
    }
    struct mg_step *step = &record->order.steps[index];
    struct mg_step_record *more = &record->steps[index];
    if (index >= record->order.step_count) record->order.step_count = (int)index + 1;
    if (!TAKE_WORD(mg_step_state_parse, rows, row, S_STATE, &step->state) ||
        !TAKE_WORD(mg_kind_parse, rows, row, S_KIND, &step->kind) ||
        !TAKE_WORD(mg_reason_parse, rows, row, S_REASON, &step->reason)) {
        return mg_err_set(err, MG_TRANSIENT, "could not read order \"%s\": a newer version wrote it",
                          record->order_id);
    }
    mg_rows_copy(rows, row, S_STEP, record->step_names[index], sizeof record->step_names[index]);
    mg_rows_copy(rows, row, S_SERVICE, record->services[index], sizeof record->services[index]);
    step->is_maybe = mg_rows_bool(rows, row, S_MAYBE);
    step->is_undo_dispatched = mg_rows_bool(rows, row, S_UNDO_DISPATCHED);
    step->is_refused = mg_rows_bool(rows, row, S_REFUSED);
    step->is_accepted = mg_rows_bool(rows, row, S_ACCEPTED);
    step->attempt = (uint32_t)mg_rows_int(rows, row, S_ATTEMPT);
    step->failure_count = (uint32_t)mg_rows_int(rows, row, S_FAILURE_COUNT);
    step->cool_down_count = (uint32_t)mg_rows_int(rows, row, S_COOL_DOWN_COUNT);
    step->generation = (uint32_t)mg_rows_int(rows, row, S_GENERATION);
    step->complete_by_ms = mg_rows_int(rows, row, S_COMPLETE_BY);
    step->due_at_ms = mg_rows_int(rows, row, S_DUE_AT);
    step->quiet_at_ms = mg_rows_int(rows, row, S_QUIET_AT);
    step->finish_by_ms = mg_rows_int(rows, row, S_FINISH_BY);
    more->has_do_digest = mg_rows_bytes(rows, row, S_DO_DIGEST, more->do_digest, MG_SHA256_SIZE);
    more->has_undo_digest = mg_rows_bytes(rows, row, S_UNDO_DIGEST, more->undo_digest, MG_SHA256_SIZE);
    if (!take(arena, rows, row, S_CAUSE, &more->cause) || !take(arena, rows, row, S_RESULT, &more->result) ||
        !take(arena, rows, row, S_ERROR_CODE, &more->error_code) ||
        !take(arena, rows, row, S_ERROR_TEXT, &more->error_text)) {
        return mg_err_set(err, MG_TRANSIENT, "could not read order \"%s\": the batch's memory is full",
                          record->order_id);
    }
    return MG_OK;
}

static enum mg_class fill_event(struct mg_arena *arena, const struct mg_rows *rows, int row,
                                struct mg_event_record *event, struct mg_err *err)
{
    if (!TAKE_WORD(mg_cause_parse, rows, row, E_CAUSE_KIND, &event->cause_kind)) {
        return mg_err_set(err, MG_TRANSIENT, "could not read an event: a newer version wrote it");
    }
    event->version = (uint64_t)mg_rows_int(rows, row, E_VERSION);
    event->attempt = (uint32_t)mg_rows_int(rows, row, E_ATTEMPT);
    event->is_owed = mg_rows_bool(rows, row, E_OWED);
    if (!take(arena, rows, row, E_CAUSE, &event->cause) || !take(arena, rows, row, E_BY, &event->by) ||
        !take(arena, rows, row, E_STEP, &event->step) || !take(arena, rows, row, E_REASON, &event->reason) ||
        !take(arena, rows, row, E_TRANSITIONS, &event->transitions) ||
        !take(arena, rows, row, E_STATUSES, &event->statuses)) {
        return mg_err_set(err, MG_TRANSIENT, "could not read an event: the batch's memory is full");
    }
    return MG_OK;
}

/* ---- loading
 * --------------------------------------------------------------------------------------------------- */

static enum mg_class take_orders(struct load_job *job, const struct mg_rows *rows, struct mg_err *err)
{
    for (int row = 0; row < mg_rows_count(rows); row++) {
        int n = (int)mg_rows_int(rows, row, P_N);
        struct mg_order_record *record = job->answer.orders[n].record;
        if (record == NULL) {
            record = mg_arena_alloc(job->arena, sizeof *record);
            if (record == NULL)
                return mg_err_set(err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
            job->answer.orders[n].record = record;
            snprintf(record->order_id, sizeof record->order_id, "%s", job->loads[n].order_id);
            enum mg_class class = fill_order(job->arena, rows, row, record, err);
            if (class != MG_OK) return class;
        }
        if (!mg_rows_is_null(rows, row, P_PAYLOAD)) {
            (void)mg_rows_bytes(rows, row, P_DIGEST, record->digest,
                                MG_SHA256_SIZE); /* NOT NULL with its length checked */
            if (!take(job->arena, rows, row, P_PAYLOAD, &record->payload)) {
                return mg_err_set(err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
            }
        }
        if (mg_rows_is_null(rows, row, S_POSITION)) continue;
        enum mg_class class = fill_step(job->arena, rows, row, record, err);
        if (class != MG_OK) return class;
    }
    return MG_OK;
}

static enum mg_class take_events(struct load_job *job, const struct mg_rows *rows, struct mg_err *err)
{
    for (int row = 0; row < mg_rows_count(rows); row++) {
        struct mg_event_record *event = mg_arena_alloc(job->arena, sizeof *event);
        if (event == NULL)
            return mg_err_set(err, MG_TRANSIENT, "could not read events: the batch's memory is full");
        job->answer.orders[mg_rows_int(rows, row, E_KEY)].event = event;
        enum mg_class class = fill_event(job->arena, rows, row, event, err);
        if (class != MG_OK) return class;
    }
    return MG_OK;
}

static enum mg_class take_gates(struct load_job *job, const struct mg_rows *rows, struct mg_err *err)
{
    enum { NOW, SERVICE, GATE };
    int count = mg_rows_count(rows);
    struct mg_service_row *services = mg_arena_alloc(job->arena, (size_t)count * sizeof *services);
    if (services == NULL)
        return mg_err_set(err, MG_TRANSIENT, "could not read services: the batch's memory is full");
    job->answer.now_ms = mg_rows_int(rows, 0, NOW);
    job->answer.services = services;
    job->answer.service_count = 0;
    for (int row = 0; row < count; row++) {
        if (mg_rows_is_null(rows, row, SERVICE)) continue;
        struct mg_service_row *service = &services[job->answer.service_count++];
        mg_rows_copy(rows, row, SERVICE, service->service, sizeof service->service);
        (void)TAKE_WORD(mg_reason_parse, rows, row, GATE, &service->gate); /* the statement's own constants */
    }
    return MG_OK;
}

static int compare_by_id(const void *a, const void *b)
{
    int order = strcmp(((const struct by_id *)a)->order_id, ((const struct by_id *)b)->order_id);
    return order != 0 ? order : ((const struct by_id *)a)->index - ((const struct by_id *)b)->index;
}

/* Questions sorted by order, so that each order is read once, in the name of the first question about it. */
static struct by_id *sort_questions(struct load_job *job)
{
    struct by_id *sorted = mg_arena_alloc(job->arena, (size_t)job->count * sizeof *sorted);
    if (sorted == NULL) return NULL;
    for (int i = 0; i < job->count; i++)
        sorted[i] = (struct by_id){job->loads[i].order_id, i};
    qsort(sorted, (size_t)job->count, sizeof *sorted, compare_by_id);
    return sorted;
}

static enum mg_class share_records(struct load_job *job, struct mg_err *err)
{
    struct by_id *sorted = job->count == 0 ? NULL : sort_questions(job);
    if (job->count > 0 && sorted == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
    }
    for (int i = 1; i < job->count; i++) {
        if (strcmp(sorted[i].order_id, sorted[i - 1].order_id) != 0) continue;
        job->answer.orders[sorted[i].index].record = job->answer.orders[sorted[i - 1].index].record;
    }
    return MG_OK;
}

static bool is_torn(const struct load_job *job)
{
    for (int i = 0; i < job->count; i++) {
        const struct mg_loaded *loaded = &job->answer.orders[i];
        if (loaded->event == NULL) continue;
        if (loaded->record == NULL || loaded->event->version > loaded->record->order.version) return true;
    }
    return false;
}

static void on_loaded(void *arg, const struct mg_pg_answer *reply)
{
    struct load_job *job = arg;
    struct mg_err err;
    if (reply->fault == MG_PG_RETRY && job->rounds < ROUNDS_MAX) {
        send_round(job);
        return;
    }
    if (reply->err != NULL) {
        answer_load(job, mg_store_error(reply, "read orders", &err));
        return;
    }
    if (take_orders(job, reply->rows[0], &err) != MG_OK || take_events(job, reply->rows[1], &err) != MG_OK ||
        take_gates(job, reply->rows[2], &err) != MG_OK || share_records(job, &err) != MG_OK) {
        answer_load(job, &err);
        return;
    }
    if (!is_torn(job)) {
        answer_load(job, NULL);
    } else if (job->rounds < ROUNDS_MAX) {
        send_round(job);
    } else {
        (void)mg_err_set(&err, MG_TRANSIENT, "could not read orders: they change as fast as they are read");
        answer_load(job, &err);
    }
}

static void on_no_memory(void *arg, const struct mg_pg_answer *reply)
{
    answer_load(arg, reply->err);
}

static void send_round(struct load_job *job)
{
    struct mg_loaded *orders = mg_arena_alloc(job->arena, ((size_t)job->count + 1) * sizeof *orders);
    struct by_id *sorted = job->count == 0 ? NULL : sort_questions(job);
    if (orders == NULL || (job->count > 0 && sorted == NULL)) {
        mg_pg_refuse(job->base.store->pg, MG_PG_BUSY, "could not read orders: the batch's memory is full",
                     on_no_memory, job);
        return;
    }
    job->answer.orders = orders;
    job->rounds++;
    struct mg_pg_params order_params, event_params;
    mg_pg_params_init(&order_params);
    mg_pg_params_init(&event_params);
    int order_n = mg_pg_add_array(&order_params, MG_PG_INT),
        order_id = mg_pg_add_array(&order_params, MG_PG_TEXT);
    int event_n = mg_pg_add_array(&event_params, MG_PG_INT),
        event_id = mg_pg_add_array(&event_params, MG_PG_TEXT);
    int event_cause = mg_pg_add_array(&event_params, MG_PG_TEXT);
    for (int i = 0; i < job->count; i++) {
        const struct mg_load *load = &job->loads[sorted[i].index];
        if (i == 0 || strcmp(sorted[i].order_id, sorted[i - 1].order_id) != 0) {
            mg_pg_push_int(&order_params, order_n, sorted[i].index);
            mg_pg_push_text(&order_params, order_id, mg_slice_of(load->order_id));
        }
        if (load->cause.data == NULL) continue;
        mg_pg_push_int(&event_params, event_n, sorted[i].index);
        mg_pg_push_text(&event_params, event_id, mg_slice_of(load->order_id));
        mg_pg_push_text(&event_params, event_cause, load->cause);
    }
    struct mg_pg_statement statements[] = {
        {&LOAD_ORDERS, &order_params}, {&LOAD_EVENTS_OF_CAUSES, &event_params}, {&LOAD_GATES, NULL}};
    mg_store_send(job->base.store, statements, 3, on_loaded, job);
    mg_pg_params_finish(&order_params);
    mg_pg_params_finish(&event_params);
}

void mg_store_load(struct mg_store *store, struct mg_arena *arena, const struct mg_load *loads, int count,
                   mg_store_load_fn *done, void *arg)
{
    struct load_job *job = mg_store_job_create(store, sizeof *job, NULL);
    job->arena = arena;
    job->loads = loads;
    job->count = count;
    job->done = done;
    job->arg = arg;
    send_round(job);
}

/* ---- owed statuses
 * ---------------------------------------------------------------------------------------------- */

/* Room for an order with 64 events' texts; what does not fit is answered as MG_TRANSIENT and left owed. */
#define OWED_BYTES_MAX (16u * 1024 * 1024)

struct owed_job {
    struct mg_store_job base;
    struct mg_arena *arena;
    mg_store_events_fn *done;
    void *arg;
    char order_id[MG_ORDER_ID_MAX + 1];
};

static void finish_owed(struct mg_store_job *base)
{
    mg_arena_destroy(((struct owed_job *)base)->arena);
}

static void answer_owed(struct owed_job *job, const struct mg_order_record *record,
                        const struct mg_event_record *events, int count, const struct mg_err *err)
{
    mg_store_job_detach(&job->base);
    job->done(job->arg, record, events, count, err);
    mg_store_job_destroy(&job->base);
}

static void on_owed(void *arg, const struct mg_pg_answer *reply)
{
    struct owed_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        answer_owed(job, NULL, NULL, 0, mg_store_error(reply, "read owed statuses", &err));
        return;
    }
    struct mg_loaded loaded = {NULL, NULL};
    struct mg_load load = {.order_id = job->order_id};
    struct load_job as_load = {.arena = job->arena, .loads = &load, .count = 1, .answer.orders = &loaded};
    int count = mg_rows_count(reply->rows[1]);
    struct mg_event_record *events =
        job->arena == NULL ? NULL : mg_arena_alloc(job->arena, ((size_t)count + 1) * sizeof *events);
    if (events == NULL) {
        (void)mg_err_set(&err, MG_TRANSIENT, "could not read owed statuses: no memory");
        answer_owed(job, NULL, NULL, 0, &err);
        return;
    }
    enum mg_class class = take_orders(&as_load, reply->rows[0], &err);
    for (int row = 0; class == MG_OK && row < count; row++) {
        class = fill_event(job->arena, reply->rows[1], row, &events[row], &err);
    }
    if (class != MG_OK) {
        answer_owed(job, NULL, NULL, 0, &err);
    } else {
        answer_owed(job, loaded.record, events, count, NULL);
    }
}

void mg_store_load_owed(struct mg_store *store, const char *order_id, mg_store_events_fn *done, void *arg)
{
    struct owed_job *job = mg_store_job_create(store, sizeof *job, finish_owed);
    job->arena = mg_arena_create(OWED_BYTES_MAX);
    job->done = done;
    job->arg = arg;
    snprintf(job->order_id, sizeof job->order_id, "%s", order_id);
    struct mg_pg_params order_params, event_params;
    mg_pg_params_init(&order_params);
    mg_pg_params_init(&event_params);
    mg_pg_push_int(&order_params, mg_pg_add_array(&order_params, MG_PG_INT), 0);
    mg_pg_push_text(&order_params, mg_pg_add_array(&order_params, MG_PG_TEXT), mg_slice_of(order_id));
    mg_pg_add_text(&event_params, mg_slice_of(order_id));
    struct mg_pg_statement statements[] = {{&LOAD_ORDERS, &order_params}, {&LOAD_OWED_EVENTS, &event_params}};
    mg_store_send(store, statements, 2, on_owed, job);
    mg_pg_params_finish(&order_params);
    mg_pg_params_finish(&event_params);
}
