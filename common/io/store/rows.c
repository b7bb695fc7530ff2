/*
 * Rows to records: the statement that reads whole orders, and the conversion of its rows and of event rows to
 * the records of store.h. All is copied into the caller's arena; the rows are freed when the callback
 * returns.
 */
#include "io/store/private.h"

/* Only the first row of an order has the payload, which may be large and would be repeated for each step. */
/* clang-format off */
const struct mg_sql MG_STORE_LOAD_ORDERS = {
    "load_orders",
    "SELECT i.n, p.order_id, p.process_state, p.goal, p.reason, p.version, p.seq, p.generation,"
    " p.failure_count, " MG_SQL_MS("p.complete_by") ", " MG_SQL_MS("p.wake_at") ", p.workflow, p.workflow_version, p.revision,"
    " p.reply_to, p.correlation_id, p.traceparent, p.is_high, p.wants_step_status, " MG_SQL_MS("p.created_at") ", o.payload, o.digest, o.client,"
    " s.position, s.step, s.service, s.state, s.kind, s.reason, s.maybe, s.is_undo_dispatched, s.is_refused,"
    " s.is_accepted, s.attempt, s.failure_count, s.cool_down_count, s.generation,"
    " " MG_SQL_MS("s.complete_by") ", " MG_SQL_MS("s.due_at") ", " MG_SQL_MS("s.quiet_at") ","
    " " MG_SQL_MS("s.finish_by") ", s.cause, s.result, s.do_digest, s.undo_digest, s.error_code, s.error_text,"
    " s.poll_failure_count"
    " FROM unnest($1::bigint[], $2::text[]) AS i(n, order_id) JOIN order_process p ON p.order_id = i.order_id"
    " LEFT JOIN LATERAL ("
    "  SELECT *, row_number() OVER (ORDER BY position) AS rank FROM order_step WHERE order_id = p.order_id"
    " ) s ON true"
    " LEFT JOIN orders o ON o.order_id = p.order_id AND o.revision = p.revision AND coalesce(s.rank, 1) = 1"};
/* clang-format on */
enum {
    P_N,
    P_ORDER_ID,
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
    P_CREATED_AT,
    P_PAYLOAD,
    P_DIGEST,
    P_CLIENT,
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
    S_ERROR_TEXT,
    S_POLL_FAILURE_COUNT
};

/* In the order of MG_SQL_EVENT_COLUMNS, behind the key. */
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

/* ---- rows to records ---- */

/* Copies a value, or an absent slice for NULL. False: no memory in the arena. */
static bool take(struct mg_arena *arena, const struct mg_rows *rows, int row, int column,
                 struct mg_slice *ret_slice)
{
    struct mg_slice value = mg_rows_value(rows, row, column);
    *ret_slice = (struct mg_slice){NULL, 0};
    if (value.data == NULL) return true;
    *ret_slice = mg_arena_copy(arena, value);
    return ret_slice->data != NULL;
}

/* Parses a word that both the database's CHECK and words.def list; any other word belongs to a newer
 * version. */
#define TAKE_WORD(parse, rows, row, column, ret)                                                             \
    parse(mg_rows_value((rows), (row), (column)).data, mg_rows_value((rows), (row), (column)).len, (ret))

static enum mg_class fill_order(struct mg_arena *arena, const struct mg_rows *rows, int row,
                                struct mg_order_record *record, struct mg_err *err)
{
    struct mg_order *order = &record->order;
    if (!TAKE_WORD(mg_order_state_parse, rows, row, P_STATE, &order->state) ||
        !TAKE_WORD(mg_goal_parse, rows, row, P_GOAL, &order->goal) ||
        !TAKE_WORD(mg_reason_parse, rows, row, P_REASON, &order->reason)) {
        return mg_err_set(err, MG_STALE, "could not read order \"%s\": a newer version wrote it",
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
    record->created_at_ms = mg_rows_int(rows, row, P_CREATED_AT);
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
    record->stored_steps |= UINT64_C(1) << index;
    if (index >= record->order.step_count) record->order.step_count = (int)index + 1;
    if (!TAKE_WORD(mg_step_state_parse, rows, row, S_STATE, &step->state) ||
        !TAKE_WORD(mg_kind_parse, rows, row, S_KIND, &step->kind) ||
        !TAKE_WORD(mg_reason_parse, rows, row, S_REASON, &step->reason)) {
        return mg_err_set(err, MG_STALE, "could not read order \"%s\": a newer version wrote it",
                          record->order_id);
    }
    record->step_names[index] = mg_arena_text(arena, mg_rows_value(rows, row, S_STEP));
    record->services[index] = mg_arena_text(arena, mg_rows_value(rows, row, S_SERVICE));
    step->is_maybe = mg_rows_bool(rows, row, S_MAYBE);
    step->is_undo_dispatched = mg_rows_bool(rows, row, S_UNDO_DISPATCHED);
    step->is_refused = mg_rows_bool(rows, row, S_REFUSED);
    step->is_accepted = mg_rows_bool(rows, row, S_ACCEPTED);
    step->attempt = (uint32_t)mg_rows_int(rows, row, S_ATTEMPT);
    step->failure_count = (uint32_t)mg_rows_int(rows, row, S_FAILURE_COUNT);
    step->poll_failure_count = (uint64_t)mg_rows_int(rows, row, S_POLL_FAILURE_COUNT);
    step->cool_down_count = (uint32_t)mg_rows_int(rows, row, S_COOL_DOWN_COUNT);
    step->generation = (uint32_t)mg_rows_int(rows, row, S_GENERATION);
    step->complete_by_ms = mg_rows_int(rows, row, S_COMPLETE_BY);
    step->due_at_ms = mg_rows_int(rows, row, S_DUE_AT);
    step->quiet_at_ms = mg_rows_int(rows, row, S_QUIET_AT);
    step->finish_by_ms = mg_rows_int(rows, row, S_FINISH_BY);
    more->has_do_digest = mg_rows_bytes(rows, row, S_DO_DIGEST, more->do_digest, MG_SHA256_SIZE);
    more->has_undo_digest = mg_rows_bytes(rows, row, S_UNDO_DIGEST, more->undo_digest, MG_SHA256_SIZE);
    if (record->step_names[index] == NULL || record->services[index] == NULL ||
        !take(arena, rows, row, S_CAUSE, &more->cause) || !take(arena, rows, row, S_RESULT, &more->result) ||
        !take(arena, rows, row, S_ERROR_CODE, &more->error_code) ||
        !take(arena, rows, row, S_ERROR_TEXT, &more->error_text)) {
        return mg_err_set(err, MG_TRANSIENT, "could not read order \"%s\": the batch's memory is full",
                          record->order_id);
    }
    return MG_OK;
}

enum mg_class mg_store_take_event(struct mg_arena *arena, const struct mg_rows *rows, int row,
                                  struct mg_event_record *event, struct mg_err *err)
{
    if (!TAKE_WORD(mg_cause_parse, rows, row, E_CAUSE_KIND, &event->cause_kind)) {
        return mg_err_set(err, MG_STALE, "could not read an event: a newer version wrote it");
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

/* Takes one row; the first row of an order also fills the order. */
static enum mg_class take_row(struct mg_arena *arena, const struct mg_rows *rows, int row,
                              struct mg_loaded *loaded, struct mg_err *err)
{
    struct mg_order_record *record = loaded->record;
    if (record == NULL) {
        record = mg_arena_alloc(arena, sizeof *record);
        if (record == NULL)
            return mg_err_set(err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
        loaded->record = record;
        mg_rows_copy(rows, row, P_ORDER_ID, record->order_id, sizeof record->order_id);
        enum mg_class class = fill_order(arena, rows, row, record, err);
        if (class != MG_OK) return class;
    }
    if (!mg_rows_is_null(rows, row, P_PAYLOAD)) {
        (void)mg_rows_bytes(rows, row, P_DIGEST, record->digest,
                            MG_SHA256_SIZE); /* NOT NULL with a checked length */
        if (!take(arena, rows, row, P_PAYLOAD, &record->payload) ||
            !take(arena, rows, row, P_CLIENT, &record->client)) {
            return mg_err_set(err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
        }
    }
    return mg_rows_is_null(rows, row, S_POSITION) ? MG_OK : fill_step(arena, rows, row, record, err);
}

int mg_store_index_of(const struct mg_rows *rows, int row, int count, struct mg_err *err)
{
    int64_t n = mg_rows_int(rows, row, P_N);
    if (n >= 0 && n < count) return (int)n;
    (void)mg_err_set(err, MG_BUG, "the database answers for one that was not asked for");
    return -1;
}

struct mg_loaded *mg_store_loaded_of(const struct mg_rows *rows, int row, struct mg_loaded *orders, int count,
                                     struct mg_err *err)
{
    int index = mg_store_index_of(rows, row, count, err);
    if (index >= 0) return &orders[index];
    (void)mg_err_prefix(err, "cannot read orders");
    return NULL;
}

enum mg_class mg_store_take_orders(struct mg_arena *arena, const struct mg_rows *rows,
                                   struct mg_loaded *orders, int count, struct mg_err *err)
{
    for (int row = 0; row < mg_rows_count(rows); row++) {
        struct mg_loaded *loaded = mg_store_loaded_of(rows, row, orders, count, err);
        if (loaded == NULL) return MG_BUG;
        if (loaded->is_unreadable) continue;
        enum mg_class class = take_row(arena, rows, row, loaded, err);
        if (class == MG_STALE) { /* does not affect its neighbours */
            *loaded = (struct mg_loaded){.is_unreadable = true};
        } else if (class != MG_OK) {
            return class;
        }
    }
    return MG_OK;
}
