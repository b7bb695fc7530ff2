/*
 * The statements that write orders: plain inserts and updates over arrays, in one pipeline and one
 * transaction; statements without rows are left out. Each order is guarded by its version (law 4, version
 * guard). If a guard fails, the statement divides by zero and the transaction is rolled back. store/commit.c
 * then finds the failed guards.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "io/store/store_private.h"

/*
 * The columns of each statement's input, which is a set of arrays; the first array, with the orders' ids, is
 * in no list. OLD_… are those for an existing row, NEW_… those for a new one. `expected` is the version that
 * an existing order must still have.
 */
#define OLD_ORDER(X)   MG_ORDER_COLUMNS(MG_EACH, X) X(expected, bigint, EACH)
#define NEW_ORDER(X)   MG_ORDER_COLUMNS(MG_EACH, X) MG_ORDER_COLUMNS(MG_FIRST, X)
#define OLD_STEP(X)    MG_STEP_COLUMNS(MG_KEYS, X) MG_STEP_COLUMNS(MG_EACH, X)
#define NEW_STEP(X)    OLD_STEP(X) MG_STEP_COLUMNS(MG_FIRST, X)
#define NEW_PAYLOAD(X) MG_PAYLOAD_COLUMNS(MG_FIRST, X)
#define NEW_LABEL(X)   MG_LABEL_COLUMNS(MG_FIRST, X)
#define NEW_EVENT(X)   MG_EVENT_COLUMNS(MG_FIRST, X)
#define OLD_ALERT(X)   MG_ALERT_COLUMNS(MG_KEYS, X) MG_ALERT_COLUMNS(MG_EACH, X)
#define NEW_ALERT(X)   OLD_ALERT(X) MG_ALERT_COLUMNS(MG_FIRST, X)

/* Indices of the parameters, from 0. */
#define ORDER_INDEX(name, ...)   ORDER_##name,
#define PAYLOAD_INDEX(name, ...) PAYLOAD_##name,
#define STEP_INDEX(name, ...)    STEP_##name,
#define LABEL_INDEX(name, ...)   LABEL_##name,
#define EVENT_INDEX(name, ...)   EVENT_##name,
#define ALERT_INDEX(name, ...)   ALERT_##name,
enum { ORDER_order_id, OLD_ORDER(ORDER_INDEX) OLD_ORDER_COUNT };
enum { LAST_OF_BOTH = ORDER_expected - 1, MG_ORDER_COLUMNS(MG_FIRST, ORDER_INDEX) NEW_ORDER_COUNT };
enum { PAYLOAD_order_id, NEW_PAYLOAD(PAYLOAD_INDEX) NEW_PAYLOAD_COUNT };
enum { STEP_order_id, NEW_STEP(STEP_INDEX) NEW_STEP_COUNT };
enum { LABEL_order_id, NEW_LABEL(LABEL_INDEX) NEW_LABEL_COUNT };
enum { EVENT_order_id, NEW_EVENT(EVENT_INDEX) NEW_EVENT_COUNT };
enum { ALERT_order_id, NEW_ALERT(ALERT_INDEX) NEW_ALERT_COUNT };

/* By the type of a column: its array's type in SQL and on the wire, and its value from the array's row. */
#define ARRAY_text              "text"
#define ARRAY_bigint            "bigint"
#define ARRAY_boolean           "boolean"
#define ARRAY_bytea             "bytea"
#define ARRAY_timestamptz       "bigint"
#define ARRAY_json              "text"
#define WIRE_text               MG_PG_TEXT
#define WIRE_bigint             MG_PG_INT
#define WIRE_boolean            MG_PG_BOOL
#define WIRE_bytea              MG_PG_BYTES
#define WIRE_timestamptz        MG_PG_INT
#define WIRE_json               MG_PG_TEXT
#define VALUE_text(name)        "i." name
#define VALUE_bigint(name)      "i." name
#define VALUE_boolean(name)     "i." name
#define VALUE_bytea(name)       "i." name
#define VALUE_timestamptz(name) MG_SQL_TIME("i." name)
#define VALUE_json(name)        "i." name "::json"

#define AS_WIRE(name, type, ...)                WIRE_##type,
#define AS_NAME(name, ...)                      ", " #name
#define AS_VALUE(name, type, ...)               ", " VALUE_##type(#name)
#define AS_ASSIGNMENT(name, type, written, ...) ASSIGN_##written(#name, VALUE_##type(#name)) ", "
#define ASSIGN_EACH(name, value)                name " = " value
#define ASSIGN_EARLIER(name, value)                                                                          \
    name " = CASE WHEN i." name " IS NULL OR p." name " IS NULL THEN " value " ELSE least(p." name           \
         ", " value ") END"

/*
 * The numbers of the parameters. NUMBERED takes slots, (macro, …) each, and is macro(number, …) of each, from
 * 2: $1 has the orders' ids. Empty slots fill up the rest.
 */
/* clang-format off */
#define NUMBERED(...) NUMBERED_(__VA_ARGS__)
#define NUMBERED_(c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16, c17, c18, c19, c20,    \
                  c21, c22, c23, c24, c25, c26, c27, c28, c29, c30, c31, c32, c33, c34, c35, c36, c37, c38, \
                  c39, c40, ...)                                                                            \
    AT(2, c2) AT(3, c3) AT(4, c4) AT(5, c5) AT(6, c6) AT(7, c7) AT(8, c8) AT(9, c9) AT(10, c10)             \
    AT(11, c11) AT(12, c12) AT(13, c13) AT(14, c14) AT(15, c15) AT(16, c16) AT(17, c17) AT(18, c18)         \
    AT(19, c19) AT(20, c20) AT(21, c21) AT(22, c22) AT(23, c23) AT(24, c24) AT(25, c25) AT(26, c26)         \
    AT(27, c27) AT(28, c28) AT(29, c29) AT(30, c30) AT(31, c31) AT(32, c32) AT(33, c33) AT(34, c34)         \
    AT(35, c35) AT(36, c36) AT(37, c37) AT(38, c38) AT(39, c39) AT(40, c40)
#define AT(number, slot)             AT_SLOT(number, SLOT_PARTS slot)
#define AT_SLOT(...)                 AT_PARTS(__VA_ARGS__)
#define AT_PARTS(number, macro, ...) macro(number, __VA_ARGS__)
#define SLOT_PARTS(...)              __VA_ARGS__
#define EMPTY                        (NOTHING, -)
#define NOTHING(...)
#define EMPTY_8                      EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, EMPTY
#define EMPTY_40                     EMPTY_8, EMPTY_8, EMPTY_8, EMPTY_8, EMPTY_8

/* Arrays in a select list, not in FROM: there PostgreSQL would first store each one as a table, some 8 us for
 * each column and statement. */
#define INPUT(list)                 "(SELECT unnest($1::text[]) AS order_id" NUMBERED(list(ARRAY_SLOT) EMPTY_40) ") AS i"
#define ARRAY_SLOT(name, type, ...) (ARRAY, name, ARRAY_##type),
#define ARRAY(number, name, type)   ", unnest($" #number "::" type "[]) AS " #name

/* The parameter after the arrays is the required number of rows. */
#define GUARDED(statement, list)                                                                             \
    "WITH written AS (" statement " RETURNING 1) SELECT 1 / (count(*) = $" BEHIND(list)                      \
    "::bigint)::int FROM written"
#define BEHIND(list)                NUMBERED(list(EMPTY_SLOT) (NUMBER, -), EMPTY_40)
#define EMPTY_SLOT(...)             EMPTY,
#define NUMBER(number, ...)         #number
/* clang-format on */

static_assert(OLD_ORDER_COUNT < MG_PG_PARAMS_MAX && NEW_ORDER_COUNT <= MG_PG_PARAMS_MAX &&
                  NEW_PAYLOAD_COUNT <= MG_PG_PARAMS_MAX && NEW_STEP_COUNT <= MG_PG_PARAMS_MAX &&
                  NEW_LABEL_COUNT <= MG_PG_PARAMS_MAX && NEW_EVENT_COUNT <= MG_PG_PARAMS_MAX &&
                  NEW_ALERT_COUNT <= MG_PG_PARAMS_MAX,
              "a parameter for each column, and one for the guard");
static_assert(MG_STORE_WRITE_STATEMENTS + MG_STORE_SLOT_STATEMENTS + 1 <= MG_PG_STATEMENTS_MAX,
              "one call sends them all");
static_assert(MG_PG_PARAMS_MAX == 40, "NUMBERED has as many numbers");

/* In the order of sending: guarded ones first. Alerts are closed before others are opened; for each (code,
 * subject) only the caller's last one is here. */
enum {
    INSERT_ORDERS,
    UPDATE_ORDERS,
    TAKE_SIGNALS,
    UPDATE_STEPS,
    INSERT_STEPS,
    INSERT_PAYLOADS,
    INSERT_LABELS,
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
        "INSERT INTO order_process (order_id" NEW_ORDER(AS_NAME) ")"
        " SELECT i.order_id" NEW_ORDER(AS_VALUE) " FROM " INPUT(NEW_ORDER)},
    [UPDATE_ORDERS] = {
        "update_orders",
        GUARDED("UPDATE order_process p SET " MG_ORDER_COLUMNS(MG_EACH, AS_ASSIGNMENT) "updated_at = " MG_SQL_NOW
        " FROM " INPUT(OLD_ORDER) " WHERE p.order_id = i.order_id AND p.version = i.expected", OLD_ORDER)},
    [TAKE_SIGNALS] = {
        "take_signals",
        "WITH written AS (UPDATE signal_by_key k SET taken_by = i.order_id FROM (SELECT unnest($1::text[]) AS order_id,"
        " unnest($2::text[]) AS signal, unnest($3::text[]) AS key, unnest($4::text[]) AS signal_id) AS i"
        " WHERE k.signal = i.signal AND k.key = i.key AND k.signal_id = i.signal_id AND k.taken_by IS NULL RETURNING 1)"
        " SELECT 1 / (count(*) = $5::bigint)::int FROM written"},
    [UPDATE_STEPS] = {
        "update_steps",
        GUARDED("UPDATE order_step s SET " MG_STEP_COLUMNS(MG_EACH, AS_ASSIGNMENT) "parked_until = " PARKED_UNTIL
        " FROM " INPUT(OLD_STEP) " WHERE s.order_id = i.order_id AND s.step = i.step", OLD_STEP)},
    [INSERT_STEPS] = {
        "insert_steps",
        "INSERT INTO order_step (order_id" NEW_STEP(AS_NAME) ", parked_until)"
        " SELECT i.order_id" NEW_STEP(AS_VALUE) ", " PARKED_UNTIL " FROM " INPUT(NEW_STEP)},
    [INSERT_PAYLOADS] = {
        "insert_payloads",
        "INSERT INTO orders (order_id" NEW_PAYLOAD(AS_NAME) ")"
        " SELECT i.order_id" NEW_PAYLOAD(AS_VALUE) " FROM " INPUT(NEW_PAYLOAD)},
    [INSERT_LABELS] = {
        "insert_labels",
        "INSERT INTO order_label (order_id" NEW_LABEL(AS_NAME) ", created_at)"
        " SELECT i.order_id" NEW_LABEL(AS_VALUE) ","
        " (SELECT p.created_at FROM order_process p WHERE p.order_id = i.order_id) FROM " INPUT(NEW_LABEL)},
    [INSERT_EVENTS] = {
        "insert_events",
        "INSERT INTO order_event (order_id" NEW_EVENT(AS_NAME) ")"
        " SELECT i.order_id" NEW_EVENT(AS_VALUE) " FROM " INPUT(NEW_EVENT)},
    [CLOSE_ALERTS] = {
        "close_alerts",
        "UPDATE operator_alert a SET closed_at = " MG_SQL_NOW " FROM " INPUT(OLD_ALERT)
        " WHERE a.code = i.code AND a.subject = i.subject AND a.closed_at IS NULL"},
    [OPEN_ALERTS] = {
        "open_alerts",
        "INSERT INTO operator_alert (order_id" NEW_ALERT(AS_NAME) ")"
        " SELECT i.order_id" NEW_ALERT(AS_VALUE) " FROM " INPUT(NEW_ALERT)
        " ON CONFLICT (code, subject) WHERE closed_at IS NULL DO NOTHING"},
};
/* clang-format on */

void mg_store_write_begin(struct mg_store_write *write)
{
    static const enum mg_pg_type SIGNALS[] = {MG_PG_TEXT, MG_PG_TEXT, MG_PG_TEXT, MG_PG_TEXT};
    static const enum mg_pg_type OLD_ORDERS[] = {MG_PG_TEXT, OLD_ORDER(AS_WIRE)},
                                 NEW_ORDERS[] = {MG_PG_TEXT, NEW_ORDER(AS_WIRE)},
                                 PAYLOADS[] = {MG_PG_TEXT, NEW_PAYLOAD(AS_WIRE)},
                                 OLD_STEPS[] = {MG_PG_TEXT, OLD_STEP(AS_WIRE)},
                                 NEW_STEPS[] = {MG_PG_TEXT, NEW_STEP(AS_WIRE)},
                                 LABELS[] = {MG_PG_TEXT, NEW_LABEL(AS_WIRE)},
                                 EVENTS[] = {MG_PG_TEXT, NEW_EVENT(AS_WIRE)},
                                 OLD_ALERTS[] = {MG_PG_TEXT, OLD_ALERT(AS_WIRE)},
                                 NEW_ALERTS[] = {MG_PG_TEXT, NEW_ALERT(AS_WIRE)};
#define TYPES(array)                                                                                         \
    {                                                                                                        \
        array, sizeof(array) / sizeof(array[0])                                                              \
    }
    static const struct {
        const enum mg_pg_type *types;
        size_t count;
    } INPUTS[MG_STORE_WRITE_STATEMENTS] = {
        [INSERT_ORDERS] = TYPES(NEW_ORDERS), [UPDATE_ORDERS] = TYPES(OLD_ORDERS),
        [TAKE_SIGNALS] = TYPES(SIGNALS),     [UPDATE_STEPS] = TYPES(OLD_STEPS),
        [INSERT_STEPS] = TYPES(NEW_STEPS),   [INSERT_PAYLOADS] = TYPES(PAYLOADS),
        [INSERT_LABELS] = TYPES(LABELS),     [INSERT_EVENTS] = TYPES(EVENTS),
        [CLOSE_ALERTS] = TYPES(OLD_ALERTS),  [OPEN_ALERTS] = TYPES(NEW_ALERTS)};
    write->slots = NULL;
    for (int i = 0; i < MG_STORE_WRITE_STATEMENTS; i++) {
        write->row_counts[i] = 0;
        mg_pg_params_init(&write->params[i]);
        for (size_t j = 0; j < INPUTS[i].count; j++) {
            (void)mg_pg_add_array(&write->params[i], INPUTS[i].types[j]);
        }
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

static struct mg_slice or_empty(struct mg_slice text)
{
    return text.data == NULL ? mg_slice_of("") : text;
}

static struct mg_slice digest(const uint8_t *bytes, bool is_there)
{
    return is_there ? (struct mg_slice){(const char *)bytes, MG_SHA256_SIZE} : (struct mg_slice){NULL, 0};
}

static void push_flag(struct mg_pg_params *params, int index, bool is_true, bool is_there)
{
    if (is_there) {
        mg_pg_push_bool(params, index, is_true);
    } else {
        mg_pg_push_null(params, index);
    }
}

/* By conversion: the push of a member, with the locals that it names. */
#define PUSH_INT(i, member, with)    mg_pg_push_int(params, i, (int64_t)(member));
#define PUSH_BOOL(i, member, with)   mg_pg_push_bool(params, i, member);
#define PUSH_FLAG(i, member, with)   push_flag(params, i, member, with);
#define PUSH_TIME(i, member, with)   mg_pg_push_time(params, i, member);
#define PUSH_WORD(i, member, with)   mg_pg_push_text(params, i, mg_slice_of(with##_name(member)));
#define PUSH_TEXT(i, member, with)   mg_pg_push_text(params, i, with(member));
#define PUSH_STRING(i, member, with) mg_pg_push_text(params, i, with(mg_slice_of(member)));
#define PUSH_CHARS(i, member, with)  mg_pg_push_text(params, i, mg_slice_of(member));
#define PUSH_DIGEST(i, member, with) mg_pg_push_text(params, i, digest(member, with));
#define OR_NULL(text)                (text)
#define OR_EMPTY(text)               or_empty(text)

#define PUSH_ORDER(name, type, written, loaded, listed, conversion, member, with)                            \
    PUSH_##conversion(ORDER_##name, member, with)
#define PUSH_PAYLOAD(name, type, written, loaded, listed, conversion, member, with)                          \
    PUSH_##conversion(PAYLOAD_##name, member, with)
#define PUSH_STEP(name, type, written, loaded, listed, conversion, member, with)                             \
    PUSH_##conversion(STEP_##name, member, with)
#define PUSH_LABEL(name, type, written, loaded, listed, conversion, member, with)                            \
    PUSH_##conversion(LABEL_##name, member, with)
#define PUSH_EVENT(name, type, written, loaded, listed, conversion, member, with)                            \
    PUSH_##conversion(EVENT_##name, member, with)
#define PUSH_ALERT(name, type, written, loaded, listed, conversion, member, with)                            \
    PUSH_##conversion(ALERT_##name, member, with)

static void push_order(struct mg_store_write *write, const struct mg_order_write *from)
{
    const struct mg_order_record *record = from->record;
    const struct mg_order *order = &record->order;
    bool is_new = from->expected_version == 0;
    struct mg_pg_params *params = row_begin(write, is_new ? INSERT_ORDERS : UPDATE_ORDERS, record->order_id);
    MG_ORDER_COLUMNS(MG_EACH, PUSH_ORDER);
    if (is_new) {
        MG_ORDER_COLUMNS(MG_FIRST, PUSH_ORDER);
    } else {
        mg_pg_push_int(params, ORDER_expected, (int64_t)from->expected_version);
    }
}

static void push_payload(struct mg_store_write *write, const struct mg_order_record *record)
{
    const bool has_digest = true;
    struct mg_pg_params *params = row_begin(write, INSERT_PAYLOADS, record->order_id);
    NEW_PAYLOAD(PUSH_PAYLOAD);
}

static void push_label(struct mg_store_write *write, const char *order_id, const struct mg_label *label)
{
    struct mg_pg_params *params = row_begin(write, INSERT_LABELS, order_id);
    NEW_LABEL(PUSH_LABEL);
}

static void push_step(struct mg_store_write *write, const struct mg_order_record *record, int index)
{
    const struct mg_step *step = &record->order.steps[index];
    const struct mg_step_record *more = &record->steps[index];
    bool is_new = (record->stored_steps >> index & 1) == 0;
    struct mg_pg_params *params = row_begin(write, is_new ? INSERT_STEPS : UPDATE_STEPS, record->order_id);
    OLD_STEP(PUSH_STEP);
    if (is_new) {
        MG_STEP_COLUMNS(MG_FIRST, PUSH_STEP);
    }
}

static void push_signal(struct mg_store_write *write, const char *order_id,
                        const struct mg_taken_signal *signal)
{
    struct mg_pg_params *params = row_begin(write, TAKE_SIGNALS, order_id);
    mg_pg_push_text(params, 1, signal->signal);
    mg_pg_push_text(params, 2, signal->key);
    mg_pg_push_text(params, 3, signal->signal_id);
}

static void push_event(struct mg_store_write *write, const char *order_id,
                       const struct mg_event_record *event)
{
    struct mg_pg_params *params = row_begin(write, INSERT_EVENTS, order_id);
    NEW_EVENT(PUSH_EVENT);
}

/* Causes merged into one write may open and close the same alert: the last one counts. */
static bool is_overruled(const struct mg_order_write *write, int index)
{
    const struct mg_alert_write *alert = &write->alerts[index];
    for (int i = index + 1; i < write->alert_count; i++) {
        if (write->alerts[i].alert == alert->alert && strcmp(write->alerts[i].subject, alert->subject) == 0) {
            return true;
        }
    }
    return false;
}

static void push_alert(struct mg_store_write *write, const struct mg_alert_write *alert)
{
    const char *order_id = alert->order_id != NULL && alert->order_id[0] != '\0' ? alert->order_id : NULL;
    struct mg_pg_params *params = row_begin(write, alert->is_closed ? CLOSE_ALERTS : OPEN_ALERTS, order_id);
    OLD_ALERT(PUSH_ALERT);
    if (!alert->is_closed) {
        static const struct mg_failure NONE;
        const struct mg_failure *failure = alert->failure != NULL ? alert->failure : &NONE;
        MG_ALERT_COLUMNS(MG_FIRST, PUSH_ALERT);
    }
}

/* Few orders have one, and the others pay nothing for its arrays. */
static void push_slot(struct mg_store_write *write, const struct mg_slot_write *slot)
{
    if (write->slots == NULL) {
        write->slots = calloc(1, sizeof(*write->slots));
        if (write->slots == NULL) {
            write->params[INSERT_EVENTS].failed = write->params[INSERT_EVENTS].is_out_of_memory = true;
            return;
        }
        mg_store_holds_begin(&write->slots->holds);
        mg_store_slots_begin(&write->slots->ends);
    }
    mg_store_holds_add(&write->slots->holds, slot);
    mg_store_slots_add(&write->slots->ends, slot);
}

void mg_store_write_add(struct mg_store_write *write, const struct mg_order_write *from)
{
    push_order(write, from);
    if (from->expected_version == 0 || from->is_payload_changed) {
        push_payload(write, from->record);
    }
    for (int i = 0; from->expected_version == 0 && i < from->record->label_count; i++) {
        push_label(write, from->record->order_id, &from->record->labels[i]);
    }
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((from->changed_steps >> i & 1) != 0) {
            push_step(write, from->record, i);
        }
    }
    for (int i = 0; i < from->taken_count; i++) {
        push_signal(write, from->record->order_id, &from->taken[i]);
    }
    for (int i = 0; i < from->event_count; i++) {
        push_event(write, from->record->order_id, &from->events[i]);
    }
    for (int i = 0; i < from->alert_count; i++) {
        if (!is_overruled(from, i)) {
            push_alert(write, &from->alerts[i]);
        }
    }
    if (from->slot != NULL) {
        push_slot(write, from->slot);
    }
}

int mg_store_write_list(struct mg_store_write *write, struct mg_pg_statement *ret_statements)
{
    int count = 0;
    for (int i = 0; i < MG_STORE_WRITE_STATEMENTS; i++) {
        if (write->row_counts[i] == 0) {
            continue;
        }
        if (i == UPDATE_ORDERS || i == UPDATE_STEPS || i == TAKE_SIGNALS) {
            mg_pg_add_int(&write->params[i], write->row_counts[i]);
        }
        ret_statements[count++] = (struct mg_pg_statement){&STATEMENTS[i], &write->params[i]};
    }
    if (write->slots != NULL) {
        ret_statements[count++] = (struct mg_pg_statement){&MG_STORE_HOLD_SLOTS, &write->slots->holds};
        ret_statements[count++] = (struct mg_pg_statement){&MG_STORE_SETTLE_SLOTS, &write->slots->ends};
    }
    return count;
}

void mg_store_write_finish(struct mg_store_write *write)
{
    for (int i = 0; i < MG_STORE_WRITE_STATEMENTS; i++) {
        mg_pg_params_finish(&write->params[i]);
    }
    if (write->slots != NULL) {
        mg_pg_params_finish(&write->slots->holds);
        mg_pg_params_finish(&write->slots->ends);
        free(write->slots);
    }
}
