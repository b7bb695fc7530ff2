/* The statements of common/io/store/write.c and commit.c: an order's rows, guarded by its version. */
#include <assert.h>
#include <string.h>

#include "io/store/columns.def"
#include "json/json.h"
#include "store_tables.h"

#define AS_NAME(name, ...) #name,

/* ---- values ---- */

static bool has_failed(const struct sim_input *input)
{
    return input->transaction->sqlstate[0] != '\0';
}

/* Refuses a word that its domain does not list, as PostgreSQL does. */
static void take_word(struct sim_input *input, bool is_known)
{
    if (!is_known) {
        sim_transaction_fail(input->transaction, "23514", "value for domain violates its check");
    }
}

static void take_chars(struct mg_slice value, char *ret_text, size_t size)
{
    assert(value.len < size);
    memcpy(ret_text, value.data, value.len);
    ret_text[value.len] = '\0';
}

static bool is_natural(struct sim_input *input, int64_t number, int64_t least)
{
    if (number < least) {
        sim_transaction_fail(input->transaction, "23514", "new row violates a check constraint");
    }
    return number >= least;
}

static bool is_there(struct sim_input *input, struct mg_slice value)
{
    if (value.data == NULL) {
        sim_transaction_fail(input->transaction, "23502", "null value violates not-null constraint");
    }
    return value.data != NULL;
}

static bool is_json(struct sim_input *input, struct mg_slice value)
{
    static const struct mg_json_limits LIMITS = {64u * 1024 * 1024, 1000, 10000000, true};
    struct mg_err err;
    bool is_good = value.data == NULL || mg_json_check(value, &LIMITS, &err) == MG_OK;
    if (!is_good) {
        sim_transaction_fail(input->transaction, "22P02", "invalid input syntax for type json");
    }
    return is_good;
}

static bool take_digest(struct sim_input *input, struct mg_slice value, uint8_t ret_bytes[MG_SHA256_SIZE])
{
    if (value.data == NULL) {
        return false;
    }
    if (value.len != MG_SHA256_SIZE) {
        sim_transaction_fail(input->transaction, "23514", "new row violates a check constraint");
        return false;
    }
    memcpy(ret_bytes, value.data, MG_SHA256_SIZE);
    return true;
}

/* By conversion: a value of the row to its member, if it is good. */
#define TAKE_INT(value, member, with)    member = (__typeof__(member))sim_int(value);
#define TAKE_TIME(value, member, with)   member = sim_int(value);
#define TAKE_BOOL(value, member, with)   member = sim_bool(value);
#define TAKE_WORD(value, member, with)   take_word(input, (with##_parse)((value).data, (value).len, &(member)));
#define TAKE_TEXT(value, member, with)   member = sim_text_keep(value, member);
#define TAKE_DIGEST(value, member, with) with = take_digest(input, value, member);
#define TAKE_STRING(value, member, with) (void)is_there(input, value);
#define TAKE_CHARS(value, member, with)  take_chars(value, member, sizeof(member));
#define TAKE_FLAG(value, member, with)

/* ---- order_process ---- */

#define AS_COLUMN(name, ...) COLUMN_##name,
enum { COLUMN_order_id, MG_ORDER_COLUMNS(MG_EACH, AS_COLUMN) COLUMN_expected };
enum { COLUMN_last_of_both = COLUMN_expected - 1, MG_ORDER_COLUMNS(MG_FIRST, AS_COLUMN) };
static const char *const OLD_ORDER[] = {"order_id", MG_ORDER_COLUMNS(MG_EACH, AS_NAME) "expected"};
static const char *const NEW_ORDER[] = {"order_id", MG_ORDER_COLUMNS(MG_EACH, AS_NAME)
                                                        MG_ORDER_COLUMNS(MG_FIRST, AS_NAME)};
#define TAKE_ORDER(name, type, written, loaded, listed, conversion, member, with)                            \
    TAKE_##conversion(values[COLUMN_##name], member, with)

/* The payload of the order's revision is part of its record. */
static void payload_show(struct sim_order *order)
{
    order->record.payload = order->record.client = (struct mg_slice){NULL, 0};
    for (int i = 0; i < order->payload_count; i++) {
        if (order->payloads[i].revision == order->record.revision) {
            order->record.payload = order->payloads[i].text;
            order->record.client = order->payloads[i].client;
            memcpy(order->record.digest, order->payloads[i].digest, MG_SHA256_SIZE);
        }
    }
}

static bool take_order(struct sim_input *input, struct mg_order_record *record)
{
    const struct mg_slice *values = input->values;
    struct mg_order *order = &record->order;
    MG_ORDER_COLUMNS(MG_EACH, TAKE_ORDER);
    return !has_failed(input) && is_natural(input, (int64_t)order->version, 1) &&
           is_natural(input, (int64_t)order->seq, 0) && is_natural(input, record->revision, 1);
}

static void insert_orders(struct sim_input *input, struct sim_output *output)
{
    (void)output;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_change *change = sim_transaction_change(input->transaction, values[COLUMN_order_id]);
        struct mg_order_record *record = &change->after->record;
        if (change->before != NULL || record->order.version != 0) {
            sim_transaction_fail(input->transaction, "23505",
                                 "duplicate key value violates unique constraint \"order_process_pkey\"");
            return;
        }
        if (!take_order(input, record)) {
            return;
        }
        struct mg_order *order = &record->order;
        MG_ORDER_COLUMNS(MG_FIRST, TAKE_ORDER);
        change->after->updated_at_ms = input->transaction->now_ms;
    }
}

static void guard(struct sim_input *input, struct sim_output *output, int64_t count, int number)
{
    if (has_failed(input)) {
        return;
    }
    if (count != sim_int(sim_scalar(input, number))) {
        sim_transaction_fail(input->transaction, "22012", "division by zero");
        return;
    }
    sim_output_begin(output, 1);
    sim_output_row(output);
    sim_output_int(output, 0, 1);
}

static void update_orders(struct sim_input *input, struct sim_output *output)
{
    int64_t count = 0;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        const struct sim_order *now = sim_tables_find(input->transaction->tables, values[COLUMN_order_id]);
        if (input->transaction->session != NULL && sim_store_is_locked(values[COLUMN_order_id])) {
            sim_transaction_fail(input->transaction, "55P03", "canceling statement due to lock timeout");
            return;
        }
        if (now == NULL || (int64_t)now->record.order.version != sim_int(values[COLUMN_expected])) {
            continue;
        }
        count++;
        struct sim_change *change = sim_transaction_change(input->transaction, values[COLUMN_order_id]);
        struct mg_order *order = &change->after->record.order;
        int64_t old_wake_at_ms = order->wake_at_ms;
        change->expected_version = (uint64_t)sim_int(values[COLUMN_expected]);
        if (!take_order(input, &change->after->record)) {
            return;
        }
        change->after->updated_at_ms = input->transaction->now_ms;
        payload_show(change->after);
        if (order->wake_at_ms != 0 && old_wake_at_ms != 0 && old_wake_at_ms < order->wake_at_ms) {
            order->wake_at_ms = old_wake_at_ms;
        }
    }
    guard(input, output, count, (int)(sizeof(OLD_ORDER) / sizeof(OLD_ORDER[0])) + 1);
}

static const char *const CONFLICTS[] = {"n", "order_id", "expected"};

static void find_conflicts(struct sim_input *input, struct sim_output *output)
{
    enum { N, ORDER_ID, EXPECTED };
    sim_output_begin(output, 1);
    while (sim_input_next(input)) {
        const struct sim_order *order = sim_tables_find(input->transaction->tables, input->values[ORDER_ID]);
        int64_t version = order == NULL ? 0 : (int64_t)order->record.order.version;
        if (version != sim_int(input->values[EXPECTED])) {
            sim_output_row(output);
            sim_output_int(output, 0, sim_int(input->values[N]));
        }
    }
}

/* A simulated process stops only between two of its calls, so no transaction stalls. */
static void end_stalled(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 3);
}

static const char *const ORDERS_ASKED[] = {"n", "order_id"};

static void find_locked(struct sim_input *input, struct sim_output *output)
{
    enum { N, ORDER_ID };
    sim_output_begin(output, 1);
    while (sim_input_next(input)) {
        if (sim_store_is_locked(input->values[ORDER_ID])) {
            sim_output_row(output);
            sim_output_int(output, 0, sim_int(input->values[N]));
        }
    }
}

static void hasten(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 1);
}

/* The server runs no statement of a witness (store_server.c). */
static void roll_back(struct sim_input *input, struct sim_output *output)
{
    (void)output;
    sim_transaction_fail(input->transaction, "22P02", SIM_WITNESS_TEXT);
}

/* No order of the simulator is set aside by an operator. */
static void read_aside(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 2);
}

static void list_aside(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 1);
}

/* ---- order_step ---- */

#define OLD_STEP_COLUMNS(X)       MG_STEP_COLUMNS(MG_KEYS, X) MG_STEP_COLUMNS(MG_EACH, X)
#define AS_STEP_COLUMN(name, ...) STEP_##name,
enum { STEP_order_id, OLD_STEP_COLUMNS(AS_STEP_COLUMN) MG_STEP_COLUMNS(MG_FIRST, AS_STEP_COLUMN) };
static const char *const OLD_STEP[] = {"order_id", OLD_STEP_COLUMNS(AS_NAME)};
static const char *const NEW_STEP[] = {"order_id",
                                       OLD_STEP_COLUMNS(AS_NAME) MG_STEP_COLUMNS(MG_FIRST, AS_NAME)};
#define TAKE_STEP(name, type, written, loaded, listed, conversion, member, with)                             \
    TAKE_##conversion(values[STEP_##name], member, with)

static bool take_step(struct sim_input *input, struct sim_order *order, int index)
{
    const struct mg_slice *values = input->values;
    struct mg_step *step = &order->record.order.steps[index];
    struct mg_step_record *more = &order->record.steps[index];
    MG_STEP_COLUMNS(MG_EACH, TAKE_STEP);
    order->parking[index] = (struct sim_parking){0};
    if (values[STEP_parked_high].data != NULL) {
        order->parking[index] =
            (struct sim_parking){true, sim_bool(values[STEP_parked_high]), step->due_at_ms};
    }
    return !has_failed(input) && is_natural(input, sim_int(values[STEP_attempt]), 0);
}

/* -1: the order has no such row. */
static int step_find(const struct mg_order_record *record, struct mg_slice name)
{
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((record->stored_steps >> i & 1) != 0 && mg_slice_is(name, record->step_names[i])) {
            return i;
        }
    }
    return -1;
}

static void update_steps(struct sim_input *input, struct sim_output *output)
{
    int64_t count = 0;
    while (sim_input_next(input)) {
        struct mg_slice order_id = input->values[STEP_order_id];
        const struct sim_order *now = sim_tables_find(input->transaction->tables, order_id);
        int index = now == NULL ? -1 : step_find(&now->record, input->values[STEP_step]);
        if (index < 0) {
            continue;
        }
        count++;
        struct sim_change *change = sim_transaction_change(input->transaction, order_id);
        change->changed_steps |= UINT64_C(1) << index;
        if (!take_step(input, change->after, index)) {
            return;
        }
    }
    guard(input, output, count, (int)(sizeof(OLD_STEP) / sizeof(OLD_STEP[0])) + 1);
}

static void insert_steps(struct sim_input *input, struct sim_output *output)
{
    (void)output;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_change *change = sim_transaction_change(input->transaction, values[STEP_order_id]);
        struct mg_order_record *record = &change->after->record;
        int64_t index = sim_int(values[STEP_position]);
        if (index < 0 || index >= MG_STEPS_MAX) {
            sim_transaction_fail(input->transaction, "23514", "new row violates a check constraint");
            return;
        }
        if (!is_there(input, values[STEP_step]) || !is_there(input, values[STEP_service])) {
            return;
        }
        if (step_find(record, values[STEP_step]) >= 0) {
            sim_transaction_fail(input->transaction, "23505",
                                 "duplicate key value violates unique constraint \"order_step_pkey\"");
            return;
        }
        assert((record->stored_steps >> index & 1) == 0); /* two names for one place: no such table here */
        record->stored_steps |= UINT64_C(1) << index;
        change->changed_steps |= UINT64_C(1) << index;
        record->step_names[index] = sim_text(values[STEP_step]).data;
        record->services[index] = sim_text(values[STEP_service]).data;
        if (index >= record->order.step_count) {
            record->order.step_count = (int)index + 1;
        }
        if (!take_step(input, change->after, (int)index)) {
            return;
        }
    }
}

/* ---- orders, order_label, order_event, operator_alert ---- */

#define AS_PAYLOAD_COLUMN(name, ...) PAYLOAD_##name,
enum { PAYLOAD_order_id, MG_PAYLOAD_COLUMNS(MG_FIRST, AS_PAYLOAD_COLUMN) };
static const char *const PAYLOADS[] = {"order_id", MG_PAYLOAD_COLUMNS(MG_FIRST, AS_NAME)};

static void insert_payloads(struct sim_input *input, struct sim_output *output)
{
    (void)output;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_change *change = sim_transaction_change(input->transaction, values[PAYLOAD_order_id]);
        struct sim_order *order = change->after;
        struct sim_payload payload = {.revision = sim_int(values[PAYLOAD_revision])};
        for (int i = 0; i < order->payload_count; i++) {
            if (order->payloads[i].revision == payload.revision) {
                sim_transaction_fail(input->transaction, "23505",
                                     "duplicate key value violates unique constraint \"orders_pkey\"");
                return;
            }
        }
        if (!take_digest(input, values[PAYLOAD_digest], payload.digest) ||
            !is_natural(input, payload.revision, 1)) {
            return;
        }
        payload.text = sim_text(values[PAYLOAD_payload]);
        payload.client = sim_text(values[PAYLOAD_client]);
        sim_order_add_payload(order, &payload);
        payload_show(order);
        change->is_payload_changed = change->before != NULL;
    }
}

#define AS_LABEL_COLUMN(name, ...) LABEL_##name,
enum { LABEL_order_id, MG_LABEL_COLUMNS(MG_FIRST, AS_LABEL_COLUMN) };
static const char *const LABELS[] = {"order_id", MG_LABEL_COLUMNS(MG_FIRST, AS_NAME)};

static void insert_labels(struct sim_input *input, struct sim_output *output)
{
    (void)output;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_change *change = sim_transaction_change(input->transaction, values[LABEL_order_id]);
        struct mg_order_record *record = &change->after->record;
        if (values[LABEL_value].len < 1 || values[LABEL_value].len > MG_LABEL_VALUE_MAX) {
            sim_transaction_fail(input->transaction, "23514", "new row violates a check constraint");
            return;
        }
        for (int i = 0; i < record->label_count; i++) {
            if (mg_slice_is(values[LABEL_name], record->labels[i].name)) {
                sim_transaction_fail(input->transaction, "23505",
                                     "duplicate key value violates unique constraint \"order_label_pkey\"");
                return;
            }
        }
        assert(record->label_count < MG_LABELS_MAX);
        change->after->labels[record->label_count++] =
            (struct mg_label){sim_text(values[LABEL_name]).data, sim_text(values[LABEL_value])};
    }
}

#define AS_EVENT_COLUMN(name, ...) EVENT_##name,
enum { EVENT_order_id, MG_EVENT_COLUMNS(MG_FIRST, AS_EVENT_COLUMN) };
static const char *const EVENTS[] = {"order_id", MG_EVENT_COLUMNS(MG_FIRST, AS_NAME)};
#define TAKE_EVENT(name, type, written, loaded, listed, conversion, member, with)                            \
    TAKE_##conversion(values[EVENT_##name], member, with)

static void insert_events(struct sim_input *input, struct sim_output *output)
{
    (void)output;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_change *change = sim_transaction_change(input->transaction, values[EVENT_order_id]);
        struct sim_order *order = change->after;
        struct mg_event_record added = {0}, *event = &added;
        MG_EVENT_COLUMNS(MG_FIRST, TAKE_EVENT);
        if (has_failed(input) || !is_json(input, event->transitions) || !is_json(input, event->statuses) ||
            !is_natural(input, (int64_t)event->version, 1)) {
            return;
        }
        for (int i = 0; i < order->event_count; i++) {
            if (order->events[i].version == event->version) {
                sim_transaction_fail(input->transaction, "23505",
                                     "duplicate key value violates unique constraint \"order_event_pkey\"");
                return;
            }
        }
        sim_order_add_event(order, event, input->transaction->now_ms);
    }
}

#define OLD_ALERT_COLUMNS(X)       MG_ALERT_COLUMNS(MG_KEYS, X) MG_ALERT_COLUMNS(MG_EACH, X)
#define AS_ALERT_COLUMN(name, ...) ALERT_##name,
enum { ALERT_order_id, OLD_ALERT_COLUMNS(AS_ALERT_COLUMN) MG_ALERT_COLUMNS(MG_FIRST, AS_ALERT_COLUMN) };
static const char *const OLD_ALERTS[] = {"order_id", OLD_ALERT_COLUMNS(AS_NAME)};
static const char *const NEW_ALERTS[] = {"order_id",
                                         OLD_ALERT_COLUMNS(AS_NAME) MG_ALERT_COLUMNS(MG_FIRST, AS_NAME)};

static void take_alerts(struct sim_input *input, bool is_closed)
{
    struct sim_transaction *transaction = input->transaction;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_alert alert = {.order_id = values[ALERT_order_id],
                                  .subject = values[ALERT_subject],
                                  .text = values[ALERT_text],
                                  .closed_at_ms = is_closed ? transaction->now_ms : 0};
        if (!is_closed) {
            alert.failure = (struct mg_failure){.workflow = values[ALERT_workflow],
                                                .step = values[ALERT_step],
                                                .service = values[ALERT_service],
                                                .error_code = values[ALERT_error_code]};
        }
        take_word(input, mg_alert_word_parse(values[ALERT_code].data, values[ALERT_code].len, &alert.code));
        if (has_failed(input)) {
            return;
        }
        transaction->alerts =
            sim_grow(transaction->alerts, transaction->alert_count, sizeof(*transaction->alerts));
        transaction->alerts[transaction->alert_count++] = alert;
    }
}

static void close_alerts(struct sim_input *input, struct sim_output *output)
{
    (void)output;
    take_alerts(input, true);
}

static void open_alerts(struct sim_input *input, struct sim_output *output)
{
    (void)output;
    take_alerts(input, false);
}

const struct sim_statement SIM_WRITE_STATEMENTS[] = {
    SIM_STATEMENT("insert_orders", insert_orders, NEW_ORDER, true),
    SIM_STATEMENT("update_orders", update_orders, OLD_ORDER, true),
    SIM_STATEMENT("update_steps", update_steps, OLD_STEP, true),
    SIM_STATEMENT("insert_steps", insert_steps, NEW_STEP, true),
    SIM_STATEMENT("insert_payloads", insert_payloads, PAYLOADS, true),
    SIM_STATEMENT("insert_labels", insert_labels, LABELS, true),
    SIM_STATEMENT("insert_events", insert_events, EVENTS, true),
    SIM_STATEMENT("close_alerts", close_alerts, OLD_ALERTS, true),
    SIM_STATEMENT("open_alerts", open_alerts, NEW_ALERTS, true),
    SIM_STATEMENT("find_conflicts", find_conflicts, CONFLICTS, false),
    SIM_SCALARS("end_stalled", end_stalled, false),
    SIM_STATEMENT("find_locked", find_locked, ORDERS_ASKED, false),
    SIM_SCALARS("hasten", hasten, false),
    SIM_SCALARS("hasten_locks", hasten, false),
    SIM_SCALARS("roll_back", roll_back, false),
    SIM_SCALARS("read_aside", read_aside, false),
    SIM_SCALARS("list_aside", list_aside, false),
    {.name = NULL},
};
