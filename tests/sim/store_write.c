/* The statements of common/io/store/write.c and commit.c: an order's rows, guarded by its version. */
#include <assert.h>
#include <string.h>

#include "store_tables.h"
#include "wire/json.h"

#define AS_COLUMN(name) COLUMN_##name,
#define AS_NAME(name)   #name,

/* ---- values ---- */

/* Refuses a word that its domain does not list, as PostgreSQL does. */
#define WORD(input, parse, slice, ret)                                                                       \
    ((slice).data != NULL && (parse)((slice).data, (slice).len, (ret))                                       \
         ? true                                                                                              \
         : (sim_transaction_fail((input)->transaction, "23514", "value for domain violates its check"),      \
            false))

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
    static const struct mg_json_limits LIMITS = {64u * 1024 * 1024, 1000, 10000000};
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

/* ---- order_process ---- */

#define ORDER_COLUMNS(X)                                                                                     \
    X(order_id)                                                                                              \
    X(process_state)                                                                                         \
    X(goal)                                                                                                  \
    X(reason)                                                                                                \
    X(version)                                                                                               \
    X(seq)                                                                                                   \
    X(generation)                                                                                            \
    X(failure_count)                                                                                         \
    X(locked_by)                                                                                             \
    X(complete_by)                                                                                           \
    X(wake_at)                                                                                               \
    X(revision)                                                                                              \
    X(reply_to)                                                                                              \
    X(correlation_id)                                                                                        \
    X(traceparent)                                                                                           \
    X(wants_step_status)
enum {
    ORDER_COLUMNS(AS_COLUMN) COLUMN_expected,
    COLUMN_workflow = COLUMN_expected,
    COLUMN_workflow_version,
    COLUMN_is_high
};
static const char *const OLD_ORDER[] = {ORDER_COLUMNS(AS_NAME) "expected"};
static const char *const NEW_ORDER[] = {ORDER_COLUMNS(AS_NAME) "workflow", "workflow_version", "is_high"};

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
    order->version = (uint64_t)sim_int(values[COLUMN_version]);
    order->seq = (uint64_t)sim_int(values[COLUMN_seq]);
    order->generation = (uint32_t)sim_int(values[COLUMN_generation]);
    order->failure_count = (uint32_t)sim_int(values[COLUMN_failure_count]);
    order->complete_by_ms = sim_int(values[COLUMN_complete_by]);
    record->revision = sim_int(values[COLUMN_revision]);
    record->reply_to = sim_text_keep(values[COLUMN_reply_to], record->reply_to);
    record->correlation_id = sim_text_keep(values[COLUMN_correlation_id], record->correlation_id);
    record->traceparent = sim_text_keep(values[COLUMN_traceparent], record->traceparent);
    record->wants_step_status = sim_bool(values[COLUMN_wants_step_status]);
    return WORD(input, mg_order_state_parse, values[COLUMN_process_state], &order->state) &&
           WORD(input, mg_goal_parse, values[COLUMN_goal], &order->goal) &&
           WORD(input, mg_reason_parse, values[COLUMN_reason], &order->reason) &&
           is_natural(input, (int64_t)order->version, 1) && is_natural(input, (int64_t)order->seq, 0) &&
           is_natural(input, record->revision, 1) && is_there(input, values[COLUMN_locked_by]);
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
        assert(values[COLUMN_workflow].len <= MG_NAME_MAX);
        memcpy(record->workflow, values[COLUMN_workflow].data, values[COLUMN_workflow].len);
        record->workflow_version = sim_int(values[COLUMN_workflow_version]);
        record->is_high = sim_bool(values[COLUMN_is_high]);
        record->created_at_ms = input->transaction->now_ms;
        record->order.wake_at_ms = sim_int(values[COLUMN_wake_at]);
    }
}

static void guard(struct sim_input *input, struct sim_output *output, int64_t count, int number)
{
    if (input->transaction->sqlstate[0] != '\0') {
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
        if (now == NULL || (int64_t)now->record.order.version != sim_int(values[COLUMN_expected])) {
            continue;
        }
        count++;
        struct sim_change *change = sim_transaction_change(input->transaction, values[COLUMN_order_id]);
        struct mg_order *order = &change->after->record.order;
        change->expected_version = (uint64_t)sim_int(values[COLUMN_expected]);
        if (!take_order(input, &change->after->record)) {
            return;
        }
        payload_show(change->after);
        int64_t wake_at_ms = sim_int(values[COLUMN_wake_at]);
        if (wake_at_ms == 0 || order->wake_at_ms == 0 || wake_at_ms < order->wake_at_ms) {
            order->wake_at_ms = wake_at_ms;
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

/* ---- order_step ---- */

#define STEP_COLUMNS(X)                                                                                      \
    X(order_id)                                                                                              \
    X(step)                                                                                                  \
    X(state)                                                                                                 \
    X(kind)                                                                                                  \
    X(reason)                                                                                                \
    X(maybe)                                                                                                 \
    X(is_undo_dispatched)                                                                                    \
    X(is_refused)                                                                                            \
    X(is_accepted)                                                                                           \
    X(attempt)                                                                                               \
    X(failure_count)                                                                                         \
    X(cool_down_count)                                                                                       \
    X(generation)                                                                                            \
    X(complete_by)                                                                                           \
    X(due_at)                                                                                                \
    X(quiet_at)                                                                                              \
    X(finish_by)                                                                                             \
    X(cause)                                                                                                 \
    X(result)                                                                                                \
    X(do_digest)                                                                                             \
    X(undo_digest)                                                                                           \
    X(error_code)                                                                                            \
    X(error_text)                                                                                            \
    X(parked_high)                                                                                           \
    X(poll_failure_count)
#define AS_STEP_COLUMN(name) STEP_##name,
enum { STEP_COLUMNS(AS_STEP_COLUMN) STEP_position, STEP_service };
static const char *const OLD_STEP[] = {STEP_COLUMNS(AS_NAME)};
static const char *const NEW_STEP[] = {STEP_COLUMNS(AS_NAME) "position", "service"};

static bool take_step(struct sim_input *input, struct sim_order *order, int index)
{
    const struct mg_slice *values = input->values;
    struct mg_step *step = &order->record.order.steps[index];
    struct mg_step_record *more = &order->record.steps[index];
    step->is_maybe = sim_bool(values[STEP_maybe]);
    step->is_undo_dispatched = sim_bool(values[STEP_is_undo_dispatched]);
    step->is_refused = sim_bool(values[STEP_is_refused]);
    step->is_accepted = sim_bool(values[STEP_is_accepted]);
    step->attempt = (uint32_t)sim_int(values[STEP_attempt]);
    step->failure_count = (uint32_t)sim_int(values[STEP_failure_count]);
    step->poll_failure_count = (uint64_t)sim_int(values[STEP_poll_failure_count]);
    step->cool_down_count = (uint32_t)sim_int(values[STEP_cool_down_count]);
    step->generation = (uint32_t)sim_int(values[STEP_generation]);
    step->complete_by_ms = sim_int(values[STEP_complete_by]);
    step->due_at_ms = sim_int(values[STEP_due_at]);
    step->quiet_at_ms = sim_int(values[STEP_quiet_at]);
    step->finish_by_ms = sim_int(values[STEP_finish_by]);
    order->parking[index] = (struct sim_parking){0};
    if (values[STEP_parked_high].data != NULL) {
        order->parking[index] =
            (struct sim_parking){true, sim_bool(values[STEP_parked_high]), step->due_at_ms};
    }
    more->cause = sim_text_keep(values[STEP_cause], more->cause);
    more->result = sim_text_keep(values[STEP_result], more->result);
    more->error_code = sim_text_keep(values[STEP_error_code], more->error_code);
    more->error_text = sim_text_keep(values[STEP_error_text], more->error_text);
    more->has_do_digest = take_digest(input, values[STEP_do_digest], more->do_digest);
    more->has_undo_digest = take_digest(input, values[STEP_undo_digest], more->undo_digest);
    return WORD(input, mg_step_state_parse, values[STEP_state], &step->state) &&
           WORD(input, mg_kind_parse, values[STEP_kind], &step->kind) &&
           WORD(input, mg_reason_parse, values[STEP_reason], &step->reason) &&
           is_natural(input, sim_int(values[STEP_attempt]), 0);
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

/* ---- orders, order_event, operator_alert ---- */

static const char *const PAYLOADS[] = {"order_id", "revision", "workflow", "workflow_version",
                                       "payload",  "digest",   "is_high",  "client"};

static void insert_payloads(struct sim_input *input, struct sim_output *output)
{
    enum { ORDER_ID, REVISION, WORKFLOW, WORKFLOW_VERSION, PAYLOAD, DIGEST, IS_HIGH, CLIENT };
    (void)output;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_change *change = sim_transaction_change(input->transaction, values[ORDER_ID]);
        struct sim_order *order = change->after;
        struct sim_payload payload = {.revision = sim_int(values[REVISION])};
        for (int i = 0; i < order->payload_count; i++) {
            if (order->payloads[i].revision == payload.revision) {
                sim_transaction_fail(input->transaction, "23505",
                                     "duplicate key value violates unique constraint \"orders_pkey\"");
                return;
            }
        }
        if (!take_digest(input, values[DIGEST], payload.digest) || !is_natural(input, payload.revision, 1)) {
            return;
        }
        payload.text = sim_text(values[PAYLOAD]);
        payload.client = sim_text(values[CLIENT]);
        sim_order_add_payload(order, &payload);
        payload_show(order);
        change->is_payload_changed = change->before != NULL;
    }
}

static const char *const EVENTS[] = {"order_id", "version", "cause_kind",  "cause",    "by_whom", "step",
                                     "attempt",  "reason",  "transitions", "statuses", "owed"};

static void insert_events(struct sim_input *input, struct sim_output *output)
{
    enum {
        ORDER_ID,
        VERSION,
        CAUSE_KIND,
        CAUSE,
        BY_WHOM,
        STEP,
        ATTEMPT,
        REASON,
        TRANSITIONS,
        STATUSES,
        OWED
    };
    (void)output;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_change *change = sim_transaction_change(input->transaction, values[ORDER_ID]);
        struct sim_order *order = change->after;
        struct mg_event_record event = {.version = (uint64_t)sim_int(values[VERSION]),
                                        .attempt = (uint32_t)sim_int(values[ATTEMPT]),
                                        .cause = sim_text(values[CAUSE]),
                                        .by = sim_text(values[BY_WHOM]),
                                        .step = sim_text(values[STEP]),
                                        .reason = sim_text(values[REASON]),
                                        .transitions = sim_text(values[TRANSITIONS]),
                                        .statuses = sim_text(values[STATUSES]),
                                        .is_owed = sim_bool(values[OWED])};
        if (!is_json(input, event.transitions) || !is_json(input, event.statuses) ||
            !WORD(input, mg_cause_parse, values[CAUSE_KIND], &event.cause_kind) ||
            !is_natural(input, (int64_t)event.version, 1)) {
            return;
        }
        for (int i = 0; i < order->event_count; i++) {
            if (order->events[i].version == event.version) {
                sim_transaction_fail(input->transaction, "23505",
                                     "duplicate key value violates unique constraint \"order_event_pkey\"");
                return;
            }
        }
        sim_order_add_event(order, &event, input->transaction->now_ms);
    }
}

#define ALERT_NAMES "order_id", "code", "subject", "text"
static const char *const OLD_ALERTS[] = {ALERT_NAMES};
static const char *const NEW_ALERTS[] = {ALERT_NAMES, "workflow",   "step",
                                         "service",   "error_code", "signature"};

static void take_alerts(struct sim_input *input, bool is_closed)
{
    enum { ORDER_ID, CODE, SUBJECT, TEXT, WORKFLOW, STEP, SERVICE, ERROR_CODE, SIGNATURE };
    struct sim_transaction *transaction = input->transaction;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_alert alert = {.order_id = values[ORDER_ID],
                                  .subject = values[SUBJECT],
                                  .text = values[TEXT],
                                  .closed_at_ms = is_closed ? transaction->now_ms : 0};
        if (!is_closed) {
            alert.failure = (struct mg_failure){.workflow = values[WORKFLOW],
                                                .step = values[STEP],
                                                .service = values[SERVICE],
                                                .error_code = values[ERROR_CODE],
                                                .signature = values[SIGNATURE]};
        }
        if (!WORD(input, mg_alert_word_parse, values[CODE], &alert.code)) {
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
    SIM_STATEMENT("insert_events", insert_events, EVENTS, true),
    SIM_STATEMENT("close_alerts", close_alerts, OLD_ALERTS, true),
    SIM_STATEMENT("open_alerts", open_alerts, NEW_ALERTS, true),
    SIM_STATEMENT("find_conflicts", find_conflicts, CONFLICTS, false),
    SIM_SCALARS("end_stalled", end_stalled, false),
    {.name = NULL},
};
