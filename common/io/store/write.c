/*
 * The statements that write orders: plain inserts and updates over arrays, in one pipeline and one
 * transaction; statements without rows are left out. Each order is guarded by its version (law 4, version
 * guard). If a guard fails, the statement divides by zero and the transaction is rolled back. store/commit.c
 * then finds the failed guards.
 */
#include <assert.h>
#include <string.h>

#include "core/order.h"
#include "io/store/private.h"

/*
 * The columns of the inputs, as X(number of the parameter, name, SQL type, wire type, conversion). Each input
 * is a set of arrays. The first array is not in these lists: it holds the order's id. For steps the second
 * and third hold the step and its state.
 */
#define ORDER_COLUMNS(X)                                                                                     \
    X(2, process_state, text, TEXT, PLAIN)                                                                   \
    X(3, goal, text, TEXT, PLAIN)                                                                            \
    X(4, reason, text, TEXT, PLAIN)                                                                          \
    X(5, version, bigint, INT, PLAIN)                                                                        \
    X(6, seq, bigint, INT, PLAIN)                                                                            \
    X(7, generation, bigint, INT, PLAIN)                                                                     \
    X(8, failure_count, bigint, INT, PLAIN)                                                                  \
    X(9, locked_by, text, TEXT, PLAIN)                                                                       \
    X(10, complete_by, bigint, INT, TIME)                                                                    \
    X(11, wake_at, bigint, INT, TIME)                                                                        \
    X(12, revision, bigint, INT, PLAIN)                                                                      \
    X(13, reply_to, text, TEXT, PLAIN)                                                                       \
    X(14, correlation_id, text, TEXT, PLAIN)                                                                 \
    X(15, traceparent, text, TEXT, PLAIN)                                                                    \
    X(16, wants_step_status, boolean, BOOL, PLAIN)
/* For an existing order: the version that it must still have. */
#define GUARD_COLUMNS(X) X(17, expected, bigint, INT, PLAIN)
/* For a new order: columns that never change. */
#define BIRTH_COLUMNS(X)                                                                                     \
    X(17, workflow, text, TEXT, PLAIN)                                                                       \
    X(18, workflow_version, bigint, INT, PLAIN)                                                              \
    X(19, is_high, boolean, BOOL, PLAIN)

#define PAYLOAD_COLUMNS(X)                                                                                   \
    X(2, revision, bigint, INT, PLAIN)                                                                       \
    X(3, workflow, text, TEXT, PLAIN)                                                                        \
    X(4, workflow_version, bigint, INT, PLAIN)                                                               \
    X(5, payload, text, TEXT, PLAIN)                                                                         \
    X(6, digest, bytea, BYTES, PLAIN)                                                                        \
    X(7, is_high, boolean, BOOL, PLAIN)                                                                      \
    X(8, client, text, TEXT, PLAIN)

#define STEP_COLUMNS(X)                                                                                      \
    X(4, kind, text, TEXT, PLAIN)                                                                            \
    X(5, reason, text, TEXT, PLAIN)                                                                          \
    X(6, maybe, boolean, BOOL, PLAIN)                                                                        \
    X(7, is_undo_dispatched, boolean, BOOL, PLAIN)                                                           \
    X(8, is_refused, boolean, BOOL, PLAIN)                                                                   \
    X(9, is_accepted, boolean, BOOL, PLAIN)                                                                  \
    X(10, attempt, bigint, INT, PLAIN)                                                                       \
    X(11, failure_count, bigint, INT, PLAIN)                                                                 \
    X(12, cool_down_count, bigint, INT, PLAIN)                                                               \
    X(13, generation, bigint, INT, PLAIN)                                                                    \
    X(14, complete_by, bigint, INT, TIME)                                                                    \
    X(15, due_at, bigint, INT, TIME)                                                                         \
    X(16, quiet_at, bigint, INT, TIME)                                                                       \
    X(17, finish_by, bigint, INT, TIME)                                                                      \
    X(18, cause, text, TEXT, PLAIN)                                                                          \
    X(19, result, text, TEXT, PLAIN)                                                                         \
    X(20, do_digest, bytea, BYTES, PLAIN)                                                                    \
    X(21, undo_digest, bytea, BYTES, PLAIN)                                                                  \
    X(22, error_code, text, TEXT, PLAIN)                                                                     \
    X(23, error_text, text, TEXT, PLAIN)                                                                     \
    X(24, parked_high, boolean, BOOL, PLAIN)                                                                 \
    X(25, poll_failure_count, bigint, INT, PLAIN)
/* For a step without a row. */
#define PLACE_COLUMNS(X)                                                                                     \
    X(26, position, bigint, INT, PLAIN)                                                                      \
    X(27, service, text, TEXT, PLAIN)

#define EVENT_COLUMNS(X)                                                                                     \
    X(2, version, bigint, INT, PLAIN)                                                                        \
    X(3, cause_kind, text, TEXT, PLAIN)                                                                      \
    X(4, cause, text, TEXT, PLAIN)                                                                           \
    X(5, by_whom, text, TEXT, PLAIN)                                                                         \
    X(6, step, text, TEXT, PLAIN)                                                                            \
    X(7, attempt, bigint, INT, PLAIN)                                                                        \
    X(8, reason, text, TEXT, PLAIN)                                                                          \
    X(9, transitions, text, TEXT, JSON)                                                                      \
    X(10, statuses, text, TEXT, JSON)                                                                        \
    X(11, owed, boolean, BOOL, PLAIN)

#define ALERT_COLUMNS(X)                                                                                     \
    X(2, code, text, TEXT, PLAIN)                                                                            \
    X(3, subject, text, TEXT, PLAIN)                                                                         \
    X(4, text, text, TEXT, PLAIN)
/* For an alert that opens. */
#define FAILURE_COLUMNS(X)                                                                                   \
    X(5, workflow, text, TEXT, PLAIN)                                                                        \
    X(6, step, text, TEXT, PLAIN)                                                                            \
    X(7, service, text, TEXT, PLAIN)                                                                         \
    X(8, error_code, text, TEXT, PLAIN)                                                                      \
    X(9, signature, text, TEXT, PLAIN)

/* Indices of the parameters, from 0. */
#define AS_ORDER_INDEX(number, name, ...)   ORDER_##name = (number)-1,
#define AS_PAYLOAD_INDEX(number, name, ...) PAYLOAD_##name = (number)-1,
#define AS_STEP_INDEX(number, name, ...)    STEP_##name = (number)-1,
#define AS_EVENT_INDEX(number, name, ...)   EVENT_##name = (number)-1,
#define AS_ALERT_INDEX(number, name, ...)   ALERT_##name = (number)-1,
enum { ORDER_COLUMNS(AS_ORDER_INDEX) GUARD_COLUMNS(AS_ORDER_INDEX) BIRTH_COLUMNS(AS_ORDER_INDEX) };
enum { PAYLOAD_COLUMNS(AS_PAYLOAD_INDEX) };
enum { STEP_step = 1, STEP_state, STEP_COLUMNS(AS_STEP_INDEX) PLACE_COLUMNS(AS_STEP_INDEX) };
enum { EVENT_COLUMNS(AS_EVENT_INDEX) };
enum { ALERT_COLUMNS(AS_ALERT_INDEX) FAILURE_COLUMNS(AS_ALERT_INDEX) };

#define AS_TYPE(number, name, sql_type, wire_type, ...)    MG_PG_##wire_type,
#define AS_INPUT(number, name, sql_type, ...)              ", unnest($" #number "::" #sql_type "[]) AS " #name
#define AS_NAME(number, name, ...)                         ", " #name
#define AS_VALUE(number, name, sql, wire, conversion)      ", " VALUE_##conversion(#name)
#define AS_ASSIGNMENT(number, name, sql, wire, conversion) ", " #name " = " VALUE_##conversion(#name)
#define VALUE_PLAIN(name)                                  "i." name
#define VALUE_TIME(name)                                   MG_SQL_TIME("i." name)
#define VALUE_JSON(name)                                   "i." name "::json"

/* Arrays in a select list, not in FROM: there PostgreSQL would first store each one as a table, some 8 us for
 * each column and statement. */
#define INPUT(columns) "(SELECT unnest($1::text[]) AS order_id" columns(AS_INPUT) ") AS i"
#define STEP_INPUT(columns)                                                                                    \
    "(SELECT unnest($1::text[]) AS order_id, unnest($2::text[]) AS step, unnest($3::text[]) AS state" columns( \
        AS_INPUT) ") AS i"
/* Parameter `number`, the last, is the required number of rows. */
#define GUARDED(statement, number)                                                                           \
    "WITH written AS (" statement " RETURNING 1) SELECT 1 / (count(*) = $" #number                           \
    "::bigint)::int FROM written"

#define OLD_ORDER_COLUMNS(X) ORDER_COLUMNS(X) GUARD_COLUMNS(X)
#define NEW_ORDER_COLUMNS(X) ORDER_COLUMNS(X) BIRTH_COLUMNS(X)
#define NEW_STEP_COLUMNS(X)  STEP_COLUMNS(X) PLACE_COLUMNS(X)
#define NEW_ALERT_COLUMNS(X) ALERT_COLUMNS(X) FAILURE_COLUMNS(X)

/* In the order of sending: guarded ones first. Alerts are closed before others are opened; for each (code,
 * subject) only the caller's last one is here. */
enum {
    INSERT_ORDERS,
    UPDATE_ORDERS,
    UPDATE_STEPS,
    INSERT_STEPS,
    INSERT_PAYLOADS,
    INSERT_EVENTS,
    CLOSE_ALERTS,
    OPEN_ALERTS
};
static_assert(OPEN_ALERTS + 1 == MG_STORE_WRITE_STATEMENTS, "as many as a write has parameters for");

/* A parked step is asked for when its wait is over and its gate is open. */
#define PARKED_UNTIL "CASE WHEN i.parked_high IS NOT NULL THEN " MG_SQL_TIME("i.due_at") " END"

/*
 * `wake_at` is an index's key, so it is written only if it gets earlier or the order ends; the sweep pushes
 * it forward.
 */
/* clang-format off */
static const struct mg_sql STATEMENTS[MG_STORE_WRITE_STATEMENTS] = {
    [INSERT_ORDERS] = {
        "insert_orders",
        "INSERT INTO order_process (order_id" NEW_ORDER_COLUMNS(AS_NAME) ")"
        " SELECT i.order_id" NEW_ORDER_COLUMNS(AS_VALUE) " FROM " INPUT(NEW_ORDER_COLUMNS)},
    [UPDATE_ORDERS] = {
        "update_orders",
        GUARDED("UPDATE order_process p SET process_state = i.process_state, goal = i.goal, reason = i.reason,"
        " version = i.version, seq = i.seq, generation = i.generation, failure_count = i.failure_count,"
        " locked_by = i.locked_by, complete_by = " MG_SQL_TIME("i.complete_by") ","
        " wake_at = CASE WHEN i.wake_at IS NULL OR p.wake_at IS NULL THEN " MG_SQL_TIME("i.wake_at")
        " ELSE least(p.wake_at, " MG_SQL_TIME("i.wake_at") ") END,"
        " revision = i.revision, reply_to = i.reply_to, correlation_id = i.correlation_id,"
        " traceparent = i.traceparent, wants_step_status = i.wants_step_status, updated_at = " MG_SQL_NOW
        " FROM " INPUT(OLD_ORDER_COLUMNS) " WHERE p.order_id = i.order_id AND p.version = i.expected", 18)},
    [UPDATE_STEPS] = {
        "update_steps",
        GUARDED("UPDATE order_step s SET state = i.state" STEP_COLUMNS(AS_ASSIGNMENT) ", parked_until = " PARKED_UNTIL
        " FROM " STEP_INPUT(STEP_COLUMNS) " WHERE s.order_id = i.order_id AND s.step = i.step", 26)},
    [INSERT_STEPS] = {
        "insert_steps",
        "INSERT INTO order_step (order_id, step, state" NEW_STEP_COLUMNS(AS_NAME) ", parked_until)"
        " SELECT i.order_id, i.step, i.state" NEW_STEP_COLUMNS(AS_VALUE) ", " PARKED_UNTIL " FROM " STEP_INPUT(NEW_STEP_COLUMNS)},
    [INSERT_PAYLOADS] = {
        "insert_payloads",
        "INSERT INTO orders (order_id" PAYLOAD_COLUMNS(AS_NAME) ")"
        " SELECT i.order_id" PAYLOAD_COLUMNS(AS_VALUE) " FROM " INPUT(PAYLOAD_COLUMNS)},
    [INSERT_EVENTS] = {
        "insert_events",
        "INSERT INTO order_event (order_id" EVENT_COLUMNS(AS_NAME) ")"
        " SELECT i.order_id" EVENT_COLUMNS(AS_VALUE) " FROM " INPUT(EVENT_COLUMNS)},
    [CLOSE_ALERTS] = {
        "close_alerts",
        "UPDATE operator_alert a SET closed_at = " MG_SQL_NOW " FROM " INPUT(ALERT_COLUMNS)
        " WHERE a.code = i.code AND a.subject = i.subject AND a.closed_at IS NULL"},
    [OPEN_ALERTS] = {
        "open_alerts",
        "INSERT INTO operator_alert (order_id" NEW_ALERT_COLUMNS(AS_NAME) ")"
        " SELECT i.order_id" NEW_ALERT_COLUMNS(AS_VALUE) " FROM " INPUT(NEW_ALERT_COLUMNS)
        " ON CONFLICT (code, subject) WHERE closed_at IS NULL DO NOTHING"},
};
/* clang-format on */

void mg_store_write_begin(struct mg_store_write *write)
{
    static const enum mg_pg_type OLD_ORDERS[] = {MG_PG_TEXT, OLD_ORDER_COLUMNS(AS_TYPE)},
                                 NEW_ORDERS[] = {MG_PG_TEXT, NEW_ORDER_COLUMNS(AS_TYPE)},
                                 PAYLOADS[] = {MG_PG_TEXT, PAYLOAD_COLUMNS(AS_TYPE)},
                                 OLD_STEPS[] = {MG_PG_TEXT, MG_PG_TEXT, MG_PG_TEXT, STEP_COLUMNS(AS_TYPE)},
                                 NEW_STEPS[] = {MG_PG_TEXT, MG_PG_TEXT, MG_PG_TEXT,
                                                NEW_STEP_COLUMNS(AS_TYPE)},
                                 EVENTS[] = {MG_PG_TEXT, EVENT_COLUMNS(AS_TYPE)},
                                 OLD_ALERTS[] = {MG_PG_TEXT, ALERT_COLUMNS(AS_TYPE)},
                                 NEW_ALERTS[] = {MG_PG_TEXT, NEW_ALERT_COLUMNS(AS_TYPE)};
#define TYPES(array)                                                                                         \
    {                                                                                                        \
        array, sizeof(array) / sizeof(array[0])                                                              \
    }
    static const struct {
        const enum mg_pg_type *types;
        size_t count;
    } INPUTS[MG_STORE_WRITE_STATEMENTS] = {
        [INSERT_ORDERS] = TYPES(NEW_ORDERS), [UPDATE_ORDERS] = TYPES(OLD_ORDERS),
        [UPDATE_STEPS] = TYPES(OLD_STEPS),   [INSERT_STEPS] = TYPES(NEW_STEPS),
        [INSERT_PAYLOADS] = TYPES(PAYLOADS), [INSERT_EVENTS] = TYPES(EVENTS),
        [CLOSE_ALERTS] = TYPES(OLD_ALERTS),  [OPEN_ALERTS] = TYPES(NEW_ALERTS)};
    for (int i = 0; i < MG_STORE_WRITE_STATEMENTS; i++) {
        write->row_counts[i] = 0;
        mg_pg_params_init(&write->params[i]);
        for (size_t j = 0; j < INPUTS[i].count; j++)
            (void)mg_pg_add_array(&write->params[i], INPUTS[i].types[j]);
    }
}

/* ---- the values ---- */

/* The input of one statement, with a new row that begins with the order's id. */
static struct mg_pg_params *row_begin(struct mg_store_write *write, int statement, const char *order_id)
{
    write->row_counts[statement]++;
    mg_pg_push_text(&write->params[statement], 0, mg_slice_of(order_id));
    return &write->params[statement];
}

static struct mg_slice word(const char *text)
{
    return mg_slice_of(text);
}

static struct mg_slice or_empty(struct mg_slice text)
{
    return text.data == NULL ? mg_slice_of("") : text;
}

static struct mg_slice digest(const uint8_t *bytes, bool is_there)
{
    return is_there ? (struct mg_slice){(const char *)bytes, MG_SHA256_SIZE} : (struct mg_slice){NULL, 0};
}

static void push_order(struct mg_store_write *write, const struct mg_order_write *from)
{
    const struct mg_order_record *record = from->record;
    const struct mg_order *order = &record->order;
    bool is_new = from->expected_version == 0;
    struct mg_pg_params *params = row_begin(write, is_new ? INSERT_ORDERS : UPDATE_ORDERS, record->order_id);
    mg_pg_push_text(params, ORDER_process_state, word(mg_order_state_name(order->state)));
    mg_pg_push_text(params, ORDER_goal, word(mg_goal_name(order->goal)));
    mg_pg_push_text(params, ORDER_reason, word(mg_reason_name(order->reason)));
    mg_pg_push_int(params, ORDER_version, (int64_t)order->version);
    mg_pg_push_int(params, ORDER_seq, (int64_t)order->seq);
    mg_pg_push_int(params, ORDER_generation, order->generation);
    mg_pg_push_int(params, ORDER_failure_count, order->failure_count);
    mg_pg_push_text(params, ORDER_locked_by, mg_slice_of(from->locked_by == NULL ? "" : from->locked_by));
    mg_pg_push_time(params, ORDER_complete_by, order->complete_by_ms);
    mg_pg_push_time(params, ORDER_wake_at, order->wake_at_ms);
    mg_pg_push_int(params, ORDER_revision, record->revision);
    mg_pg_push_text(params, ORDER_reply_to, record->reply_to);
    mg_pg_push_text(params, ORDER_correlation_id, record->correlation_id);
    mg_pg_push_text(params, ORDER_traceparent, record->traceparent);
    mg_pg_push_bool(params, ORDER_wants_step_status, record->wants_step_status);
    if (is_new) {
        mg_pg_push_text(params, ORDER_workflow, mg_slice_of(record->workflow));
        mg_pg_push_int(params, ORDER_workflow_version, record->workflow_version);
        mg_pg_push_bool(params, ORDER_is_high, record->is_high);
    } else {
        mg_pg_push_int(params, ORDER_expected, (int64_t)from->expected_version);
    }
}

static void push_payload(struct mg_store_write *write, const struct mg_order_record *record)
{
    struct mg_pg_params *params = row_begin(write, INSERT_PAYLOADS, record->order_id);
    mg_pg_push_int(params, PAYLOAD_revision, record->revision);
    mg_pg_push_text(params, PAYLOAD_workflow, mg_slice_of(record->workflow));
    mg_pg_push_int(params, PAYLOAD_workflow_version, record->workflow_version);
    mg_pg_push_text(params, PAYLOAD_payload, or_empty(record->payload));
    mg_pg_push_text(params, PAYLOAD_digest, digest(record->digest, true));
    mg_pg_push_bool(params, PAYLOAD_is_high, record->is_high);
    mg_pg_push_text(params, PAYLOAD_client, record->client);
}

static void push_step(struct mg_store_write *write, const struct mg_order_record *record, int index)
{
    const struct mg_step *step = &record->order.steps[index];
    const struct mg_step_record *more = &record->steps[index];
    bool is_new = (record->stored_steps >> index & 1) == 0;
    struct mg_pg_params *params = row_begin(write, is_new ? INSERT_STEPS : UPDATE_STEPS, record->order_id);
    mg_pg_push_text(params, STEP_step, mg_slice_of(record->step_names[index]));
    mg_pg_push_text(params, STEP_state, word(mg_step_state_name(step->state)));
    mg_pg_push_text(params, STEP_kind, word(mg_kind_name(step->kind)));
    mg_pg_push_text(params, STEP_reason, word(mg_reason_name(step->reason)));
    mg_pg_push_bool(params, STEP_maybe, step->is_maybe);
    mg_pg_push_bool(params, STEP_is_undo_dispatched, step->is_undo_dispatched);
    mg_pg_push_bool(params, STEP_is_refused, step->is_refused);
    mg_pg_push_bool(params, STEP_is_accepted, step->is_accepted);
    mg_pg_push_int(params, STEP_attempt, step->attempt);
    mg_pg_push_int(params, STEP_failure_count, step->failure_count);
    mg_pg_push_int(params, STEP_cool_down_count, step->cool_down_count);
    mg_pg_push_int(params, STEP_generation, step->generation);
    mg_pg_push_time(params, STEP_complete_by, step->complete_by_ms);
    mg_pg_push_time(params, STEP_due_at, step->due_at_ms);
    mg_pg_push_time(params, STEP_quiet_at, step->quiet_at_ms);
    mg_pg_push_time(params, STEP_finish_by, step->finish_by_ms);
    mg_pg_push_text(params, STEP_cause, more->cause);
    mg_pg_push_text(params, STEP_result, more->result);
    mg_pg_push_text(params, STEP_do_digest, digest(more->do_digest, more->has_do_digest));
    mg_pg_push_text(params, STEP_undo_digest, digest(more->undo_digest, more->has_undo_digest));
    mg_pg_push_text(params, STEP_error_code, more->error_code);
    mg_pg_push_text(params, STEP_error_text, more->error_text);
    if (mg_step_is_parked(step)) {
        mg_pg_push_bool(params, STEP_parked_high, record->is_high);
    } else {
        mg_pg_push_null(params, STEP_parked_high);
    }
    mg_pg_push_int(params, STEP_poll_failure_count, (int64_t)step->poll_failure_count);
    if (is_new) {
        mg_pg_push_int(params, STEP_position, index);
        mg_pg_push_text(params, STEP_service, mg_slice_of(record->services[index]));
    }
}

static void push_event(struct mg_store_write *write, const char *order_id,
                       const struct mg_event_record *event)
{
    struct mg_pg_params *params = row_begin(write, INSERT_EVENTS, order_id);
    mg_pg_push_int(params, EVENT_version, (int64_t)event->version);
    mg_pg_push_text(params, EVENT_cause_kind, word(mg_cause_name(event->cause_kind)));
    mg_pg_push_text(params, EVENT_cause, or_empty(event->cause));
    mg_pg_push_text(params, EVENT_by_whom, or_empty(event->by));
    mg_pg_push_text(params, EVENT_step, event->step);
    mg_pg_push_int(params, EVENT_attempt, event->attempt);
    mg_pg_push_text(params, EVENT_reason, event->reason);
    mg_pg_push_text(params, EVENT_transitions, event->transitions);
    mg_pg_push_text(params, EVENT_statuses, event->statuses);
    mg_pg_push_bool(params, EVENT_owed, event->is_owed);
}

/* Causes merged into one write may open and close the same alert: the last one counts. */
static bool is_overruled(const struct mg_order_write *write, int index)
{
    const struct mg_alert_write *alert = &write->alerts[index];
    for (int i = index + 1; i < write->alert_count; i++) {
        if (write->alerts[i].alert == alert->alert && strcmp(write->alerts[i].subject, alert->subject) == 0)
            return true;
    }
    return false;
}

static void push_alert(struct mg_store_write *write, const struct mg_alert_write *alert)
{
    const char *order_id = alert->order_id != NULL && alert->order_id[0] != '\0' ? alert->order_id : NULL;
    struct mg_pg_params *params = row_begin(write, alert->is_closed ? CLOSE_ALERTS : OPEN_ALERTS, order_id);
    mg_pg_push_text(params, ALERT_code, word(mg_alert_name(alert->alert)));
    mg_pg_push_text(params, ALERT_subject, mg_slice_of(alert->subject));
    mg_pg_push_text(params, ALERT_text, or_empty(alert->text));
    if (!alert->is_closed) {
        static const struct mg_failure NONE;
        const struct mg_failure *failure = alert->failure != NULL ? alert->failure : &NONE;
        mg_pg_push_text(params, ALERT_workflow, failure->workflow);
        mg_pg_push_text(params, ALERT_step, failure->step);
        mg_pg_push_text(params, ALERT_service, failure->service);
        mg_pg_push_text(params, ALERT_error_code, failure->error_code);
        mg_pg_push_text(params, ALERT_signature, failure->signature);
    }
}

void mg_store_write_add(struct mg_store_write *write, const struct mg_order_write *from)
{
    push_order(write, from);
    if (from->expected_version == 0 || from->is_payload_changed) push_payload(write, from->record);
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((from->changed_steps >> i & 1) != 0) push_step(write, from->record, i);
    }
    for (int i = 0; i < from->event_count; i++)
        push_event(write, from->record->order_id, &from->events[i]);
    for (int i = 0; i < from->alert_count; i++) {
        if (!is_overruled(from, i)) push_alert(write, &from->alerts[i]);
    }
}

void mg_store_write_send(struct mg_store *store, struct mg_store_write *write, mg_pg_fn *fn, void *arg)
{
    struct mg_pg_statement statements[MG_STORE_WRITE_STATEMENTS];
    int count = 0;
    for (int i = 0; i < MG_STORE_WRITE_STATEMENTS; i++) {
        if (write->row_counts[i] == 0) continue;
        if (i == UPDATE_ORDERS || i == UPDATE_STEPS) mg_pg_add_int(&write->params[i], write->row_counts[i]);
        statements[count++] = (struct mg_pg_statement){&STATEMENTS[i], &write->params[i]};
    }
    mg_store_send(store, statements, count, fn, arg);
    for (int i = 0; i < MG_STORE_WRITE_STATEMENTS; i++)
        mg_pg_params_finish(&write->params[i]);
}
