/*
 * The statement that writes orders: it inserts and updates any number of them, each guarded by its version,
 * and lets their steps, events, payloads and alerts follow only where the guard held (law 4). One statement
 * is one transaction: an order is stored whole or not at all. Nothing is sent from here.
 */
#include <string.h>

#include "io/store_private.h"

/*
 * The columns of the four inputs, as X(number of the parameter, name, SQL type, wire type). Each input is a
 * bundle of arrays; `n` is the index of the order in the caller's batch and ties them together.
 */
#define ORDER_COLUMNS(X)                                                                                     \
    X(2, order_id, text, TEXT)                                                                               \
    X(3, expected, bigint, INT)                                                                              \
    X(4, process_state, text, TEXT)                                                                          \
    X(5, goal, text, TEXT)                                                                                   \
    X(6, reason, text, TEXT)                                                                                 \
    X(7, version, bigint, INT)                                                                               \
    X(8, seq, bigint, INT)                                                                                   \
    X(9, generation, bigint, INT)                                                                            \
    X(10, failure_count, bigint, INT)                                                                        \
    X(11, locked_by, text, TEXT)                                                                             \
    X(12, complete_by, bigint, INT)                                                                          \
    X(13, wake_at, bigint, INT)                                                                              \
    X(14, revision, bigint, INT)                                                                             \
    X(15, reply_to, text, TEXT)                                                                              \
    X(16, correlation_id, text, TEXT)                                                                        \
    X(17, traceparent, text, TEXT)                                                                           \
    X(18, wants_step_status, boolean, BOOL)                                                                  \
    X(19, workflow, text, TEXT)                                                                              \
    X(20, workflow_version, bigint, INT)                                                                     \
    X(21, is_high, boolean, BOOL)                                                                            \
    X(22, payload, text, TEXT)                                                                               \
    X(23, digest, bytea, BYTES)

#define STEP_COLUMNS(X)                                                                                      \
    X(25, step, text, TEXT, PLAIN)                                                                           \
    X(26, position, bigint, INT, PLAIN)                                                                      \
    X(27, service, text, TEXT, PLAIN)                                                                        \
    X(28, state, text, TEXT, PLAIN)                                                                          \
    X(29, kind, text, TEXT, PLAIN)                                                                           \
    X(30, reason, text, TEXT, PLAIN)                                                                         \
    X(31, maybe, boolean, BOOL, PLAIN)                                                                       \
    X(32, is_undo_dispatched, boolean, BOOL, PLAIN)                                                          \
    X(33, is_refused, boolean, BOOL, PLAIN)                                                                  \
    X(34, is_accepted, boolean, BOOL, PLAIN)                                                                 \
    X(35, attempt, bigint, INT, PLAIN)                                                                       \
    X(36, failure_count, bigint, INT, PLAIN)                                                                 \
    X(37, cool_down_count, bigint, INT, PLAIN)                                                               \
    X(38, generation, bigint, INT, PLAIN)                                                                    \
    X(39, complete_by, bigint, INT, TIME)                                                                    \
    X(40, due_at, bigint, INT, TIME)                                                                         \
    X(41, quiet_at, bigint, INT, TIME)                                                                       \
    X(42, finish_by, bigint, INT, TIME)                                                                      \
    X(43, cause, text, TEXT, PLAIN)                                                                          \
    X(44, result, text, TEXT, PLAIN)                                                                         \
    X(45, do_digest, bytea, BYTES, PLAIN)                                                                    \
    X(46, undo_digest, bytea, BYTES, PLAIN)                                                                  \
    X(47, error_code, text, TEXT, PLAIN)                                                                     \
    X(48, error_text, text, TEXT, PLAIN)

#define EVENT_COLUMNS(X)                                                                                     \
    X(50, version, bigint, INT, PLAIN)                                                                       \
    X(51, cause_kind, text, TEXT, PLAIN)                                                                     \
    X(52, cause, text, TEXT, PLAIN)                                                                          \
    X(53, by_whom, text, TEXT, PLAIN)                                                                        \
    X(54, step, text, TEXT, PLAIN)                                                                           \
    X(55, attempt, bigint, INT, PLAIN)                                                                       \
    X(56, reason, text, TEXT, PLAIN)                                                                         \
    X(57, transitions, text, TEXT, JSON)                                                                     \
    X(58, statuses, text, TEXT, JSON)                                                                        \
    X(59, owed, boolean, BOOL, PLAIN)

#define ALERT_COLUMNS(X)                                                                                     \
    X(61, code, text, TEXT)                                                                                  \
    X(62, subject, text, TEXT)                                                                               \
    X(63, order_id, text, TEXT)                                                                              \
    X(64, text, text, TEXT)                                                                                  \
    X(65, is_closed, boolean, BOOL)

/* Indices of the parameters, from 0. */
#define AS_ORDER_INDEX(number, name, ...) ORDER_##name = (number)-1,
#define AS_STEP_INDEX(number, name, ...)  STEP_##name = (number)-1,
#define AS_EVENT_INDEX(number, name, ...) EVENT_##name = (number)-1,
#define AS_ALERT_INDEX(number, name, ...) ALERT_##name = (number)-1,
enum {
    ORDER_n,
    ORDER_COLUMNS(AS_ORDER_INDEX) STEP_n,
    STEP_COLUMNS(AS_STEP_INDEX) EVENT_n,
    EVENT_COLUMNS(AS_EVENT_INDEX) ALERT_n,
    ALERT_COLUMNS(AS_ALERT_INDEX) PARAM_COUNT
};

#define AS_TYPE(number, name, sql_type, wire_type, ...) [(number)-1] = MG_PG_##wire_type,
static const enum mg_pg_type PARAM_TYPES[PARAM_COUNT] = {[ORDER_n] = MG_PG_INT,
                                                         ORDER_COLUMNS(AS_TYPE)[STEP_n] = MG_PG_INT,
                                                         STEP_COLUMNS(AS_TYPE)[EVENT_n] = MG_PG_INT,
                                                         EVENT_COLUMNS(AS_TYPE)[ALERT_n] = MG_PG_INT,
                                                         ALERT_COLUMNS(AS_TYPE)};

#define AS_PARAM(number, name, sql_type, ...)         ", $" #number "::" #sql_type "[]"
#define AS_NAME(number, name, ...)                    ", " #name
#define AS_VALUE(number, name, sql, wire, conversion) ", " VALUE_##conversion(#name)
#define AS_ASSIGNMENT(number, name, ...)              ", " #name " = excluded." #name
#define VALUE_PLAIN(name)                             "i." name
#define VALUE_TIME(name)                              MG_SQL_TIME("i." name)
#define VALUE_JSON(name)                              "i." name "::json"

#define INPUT(n, columns) "unnest($" #n "::bigint[]" columns(AS_PARAM) ") AS i(n" columns(AS_NAME) ")"

/*
 * `wake_at` is an index's key, so it is written only when it gets earlier or the order ends; the sweep pushes
 * it forward. A commit closes alerts before it opens others; the caller's last word on a (code, subject) is
 * the only one here.
 */
/* clang-format off */
const struct mg_sql MG_STORE_WRITE_ORDERS = {
    "write_orders",
    "WITH input AS MATERIALIZED (SELECT i.* FROM " INPUT(1, ORDER_COLUMNS) "),"
    " updated AS ("
    "  UPDATE order_process p SET process_state = i.process_state, goal = i.goal, reason = i.reason,"
    "   version = i.version, seq = i.seq, generation = i.generation, failure_count = i.failure_count,"
    "   locked_by = i.locked_by, complete_by = " MG_SQL_TIME("i.complete_by") ","
    "   wake_at = CASE WHEN i.wake_at IS NULL OR p.wake_at IS NULL THEN " MG_SQL_TIME("i.wake_at")
    "    ELSE least(p.wake_at, " MG_SQL_TIME("i.wake_at") ") END,"
    "   revision = i.revision, reply_to = i.reply_to, correlation_id = i.correlation_id,"
    "   traceparent = i.traceparent, wants_step_status = i.wants_step_status, updated_at = " MG_SQL_NOW
    "  FROM input i WHERE p.order_id = i.order_id AND p.version = i.expected AND i.expected > 0"
    "  RETURNING i.n),"
    " inserted AS ("
    "  INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation,"
    "   failure_count, locked_by, complete_by, wake_at, workflow, workflow_version, revision, reply_to,"
    "   correlation_id, traceparent, is_high, wants_step_status)"
    "  SELECT i.order_id, i.process_state, i.goal, i.reason, i.version, i.seq, i.generation, i.failure_count,"
    "   i.locked_by, " MG_SQL_TIME("i.complete_by") ", " MG_SQL_TIME("i.wake_at") ","
    "   i.workflow, i.workflow_version, i.revision, i.reply_to, i.correlation_id, i.traceparent, i.is_high,"
    "   i.wants_step_status"
    "  FROM input i WHERE i.expected = 0 ON CONFLICT (order_id) DO NOTHING RETURNING order_id),"
    " written AS MATERIALIZED ("
    "  SELECT i.n, i.order_id FROM input i WHERE i.n IN (SELECT n FROM updated)"
    "  UNION ALL"
    "  SELECT i.n, i.order_id FROM inserted JOIN input i USING (order_id)),"
    " payloads AS ("
    "  INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high)"
    "  SELECT i.order_id, i.revision, i.workflow, i.workflow_version, i.payload, i.digest, i.is_high"
    "  FROM written w JOIN input i USING (n) WHERE i.payload IS NOT NULL),"
    " steps AS ("
    "  INSERT INTO order_step (order_id" STEP_COLUMNS(AS_NAME) ")"
    "  SELECT w.order_id" STEP_COLUMNS(AS_VALUE) " FROM " INPUT(24, STEP_COLUMNS) " JOIN written w USING (n)"
    "  ON CONFLICT (order_id, step) DO UPDATE SET order_id = excluded.order_id" STEP_COLUMNS(AS_ASSIGNMENT)
    "),"
    " events AS ("
    "  INSERT INTO order_event (order_id" EVENT_COLUMNS(AS_NAME) ")"
    "  SELECT w.order_id" EVENT_COLUMNS(AS_VALUE) " FROM " INPUT(49, EVENT_COLUMNS)
    " JOIN written w USING (n)),"
    " alerts AS MATERIALIZED (SELECT i.* FROM " INPUT(60, ALERT_COLUMNS) " JOIN written w USING (n)),"
    " closed AS ("
    "  UPDATE operator_alert a SET closed_at = " MG_SQL_NOW " FROM alerts i"
    "  WHERE i.is_closed AND a.code = i.code AND a.subject = i.subject AND a.closed_at IS NULL),"
    " opened AS ("
    "  INSERT INTO operator_alert (code, subject, order_id, text)"
    "  SELECT i.code, i.subject, i.order_id, i.text FROM alerts i WHERE NOT i.is_closed"
    "  ON CONFLICT (code, subject) WHERE closed_at IS NULL DO NOTHING)"
    " SELECT n FROM written"};
/* clang-format on */

void mg_store_write_begin(struct mg_pg_params *params)
{
    for (int i = 0; i < PARAM_COUNT; i++)
        (void)mg_pg_add_array(params, PARAM_TYPES[i]);
}

/* ---- the values ---- */

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

static void push_order(struct mg_pg_params *params, int n, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    const struct mg_order *order = &record->order;
    bool has_payload = write->expected_version == 0 || write->is_payload_changed;
    mg_pg_push_int(params, ORDER_n, n);
    mg_pg_push_text(params, ORDER_order_id, mg_slice_of(record->order_id));
    mg_pg_push_int(params, ORDER_expected, (int64_t)write->expected_version);
    mg_pg_push_text(params, ORDER_process_state, word(mg_order_state_name(order->state)));
    mg_pg_push_text(params, ORDER_goal, word(mg_goal_name(order->goal)));
    mg_pg_push_text(params, ORDER_reason, word(mg_reason_name(order->reason)));
    mg_pg_push_int(params, ORDER_version, (int64_t)order->version);
    mg_pg_push_int(params, ORDER_seq, (int64_t)order->seq);
    mg_pg_push_int(params, ORDER_generation, order->generation);
    mg_pg_push_int(params, ORDER_failure_count, order->failure_count);
    mg_pg_push_text(params, ORDER_locked_by, mg_slice_of(write->locked_by == NULL ? "" : write->locked_by));
    mg_pg_push_time(params, ORDER_complete_by, order->complete_by_ms);
    mg_pg_push_time(params, ORDER_wake_at, order->wake_at_ms);
    mg_pg_push_int(params, ORDER_revision, record->revision);
    mg_pg_push_text(params, ORDER_reply_to, record->reply_to);
    mg_pg_push_text(params, ORDER_correlation_id, record->correlation_id);
    mg_pg_push_text(params, ORDER_traceparent, record->traceparent);
    mg_pg_push_bool(params, ORDER_wants_step_status, record->wants_step_status);
    mg_pg_push_text(params, ORDER_workflow, mg_slice_of(record->workflow));
    mg_pg_push_int(params, ORDER_workflow_version, record->workflow_version);
    mg_pg_push_bool(params, ORDER_is_high, record->is_high);
    mg_pg_push_text(params, ORDER_payload,
                    has_payload ? or_empty(record->payload) : (struct mg_slice){NULL, 0});
    mg_pg_push_text(params, ORDER_digest, digest(record->digest, true));
}

static void push_step(struct mg_pg_params *params, int n, const struct mg_order_record *record, int index)
{
    const struct mg_step *step = &record->order.steps[index];
    const struct mg_step_record *more = &record->steps[index];
    mg_pg_push_int(params, STEP_n, n);
    mg_pg_push_text(params, STEP_step, mg_slice_of(record->step_names[index]));
    mg_pg_push_int(params, STEP_position, index);
    mg_pg_push_text(params, STEP_service, mg_slice_of(record->services[index]));
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
}

static void push_event(struct mg_pg_params *params, int n, const struct mg_event_record *event)
{
    mg_pg_push_int(params, EVENT_n, n);
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

/* Causes folded into one write may open and close the same alert: the last word counts. */
static bool is_overruled(const struct mg_order_write *write, int index)
{
    const struct mg_alert_write *alert = &write->alerts[index];
    for (int i = index + 1; i < write->alert_count; i++) {
        if (write->alerts[i].alert == alert->alert && strcmp(write->alerts[i].subject, alert->subject) == 0)
            return true;
    }
    return false;
}

static void push_alert(struct mg_pg_params *params, int n, const struct mg_alert_write *alert)
{
    bool has_order = alert->order_id != NULL && alert->order_id[0] != '\0';
    mg_pg_push_int(params, ALERT_n, n);
    mg_pg_push_text(params, ALERT_code, word(mg_alert_name(alert->alert)));
    mg_pg_push_text(params, ALERT_subject, mg_slice_of(alert->subject));
    mg_pg_push_text(params, ALERT_order_id,
                    has_order ? mg_slice_of(alert->order_id) : (struct mg_slice){NULL, 0});
    mg_pg_push_text(params, ALERT_text, or_empty(alert->text));
    mg_pg_push_bool(params, ALERT_is_closed, alert->is_closed);
}

void mg_store_write_add(struct mg_pg_params *params, int n, const struct mg_order_write *write)
{
    push_order(params, n, write);
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((write->changed_steps >> i & 1) != 0) push_step(params, n, write->record, i);
    }
    for (int i = 0; i < write->event_count; i++)
        push_event(params, n, &write->events[i]);
    for (int i = 0; i < write->alert_count; i++) {
        if (!is_overruled(write, i)) push_alert(params, n, &write->alerts[i]);
    }
}
