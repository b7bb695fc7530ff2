/* The statements of common/io/store/load.c, and the other reads: columns in the order of their SQL. */
#include <stdio.h>

#include "io/store/columns.def"
#include "store_tables.h"
#include "wire/status.h"

/* ---- orders (common/io/store/records.c: MG_STORE_LOAD_ORDERS) ---- */

#define AS_ORDER_COLUMN(name, ...)   ORDER_##name,
#define AS_PAYLOAD_COLUMN(name, ...) PAYLOAD_##name,
#define AS_STEP_COLUMN(name, ...)    STEP_##name,
enum {
    ROW_n,
    ORDER_order_id,
    MG_ORDER_COLUMNS(MG_LOADED, AS_ORDER_COLUMN) MG_PAYLOAD_COLUMNS(MG_LOADED, AS_PAYLOAD_COLUMN)
        STEP_position,
    MG_STEP_COLUMNS(MG_LOADED, AS_STEP_COLUMN) ROW_lost_step, /* always NULL: no row is lost here */
    ROW_COLUMN_COUNT
};

/* By conversion: a member as the column of a row. */
#define PUT_INT(column, member, with)    sim_output_int(output, column, (int64_t)(member));
#define PUT_TIME(column, member, with)   sim_output_time(output, column, member);
#define PUT_BOOL(column, member, with)   sim_output_bool(output, column, member);
#define PUT_WORD(column, member, with)   sim_output_word(output, column, with##_name(member));
#define PUT_TEXT(column, member, with)   sim_output_text(output, column, member);
#define PUT_STRING(column, member, with) sim_output_word(output, column, member);
#define PUT_CHARS(column, member, with)  sim_output_word(output, column, member);
#define PUT_DIGEST(column, member, with) put_digest(output, column, member, with);
#define PUT_ORDER(name, type, written, loaded, listed, conversion, member, with)                             \
    PUT_##conversion(ORDER_##name, member, with)
#define PUT_PAYLOAD(name, type, written, loaded, listed, conversion, member, with)                           \
    PUT_##conversion(PAYLOAD_##name, member, with)
#define PUT_STEP(name, type, written, loaded, listed, conversion, member, with)                              \
    PUT_##conversion(STEP_##name, member, with)
#define PUT_EVENT(name, type, written, loaded, listed, conversion, member, with)                             \
    PUT_##conversion(EVENT_##name, member, with)

static void put_digest(struct sim_output *output, int column, const uint8_t *digest, bool is_there)
{
    if (is_there) {
        sim_output_bytes(output, column, digest, MG_SHA256_SIZE);
    }
}

static void put_order(struct sim_output *output, int64_t n, const struct mg_order_record *record)
{
    const struct mg_order *order = &record->order;
    sim_output_row(output);
    sim_output_int(output, ROW_n, n);
    sim_output_word(output, ORDER_order_id, record->order_id);
    MG_ORDER_COLUMNS(MG_LOADED, PUT_ORDER);
}

/* Only in the first row of an order. */
static void put_payload(struct sim_output *output, const struct mg_order_record *record)
{
    const bool has_digest = record->payload.data != NULL;
    MG_PAYLOAD_COLUMNS(MG_LOADED, PUT_PAYLOAD);
}

static void put_step(struct sim_output *output, const struct mg_order_record *record, int index)
{
    const struct mg_step *step = &record->order.steps[index];
    const struct mg_step_record *more = &record->steps[index];
    sim_output_int(output, STEP_position, index);
    MG_STEP_COLUMNS(MG_LOADED, PUT_STEP);
}

static const char *const ORDERS[] = {"n", "order_id"};

static void load_orders(struct sim_input *input, struct sim_output *output)
{
    enum { N, ORDER_ID };
    sim_output_begin(output, ROW_COLUMN_COUNT);
    while (sim_input_next(input)) {
        const struct sim_order *order = sim_tables_find(input->transaction->tables, input->values[ORDER_ID]);
        if (order == NULL) {
            continue;
        }
        const struct mg_order_record *record = &order->record;
        bool is_first = true;
        for (int i = 0; i < MG_STEPS_MAX; i++) {
            if ((record->stored_steps >> i & 1) == 0) {
                continue;
            }
            put_order(output, sim_int(input->values[N]), record);
            put_step(output, record, i);
            if (is_first) {
                put_payload(output, record);
            }
            is_first = false;
        }
        if (is_first) {
            put_order(output, sim_int(input->values[N]), record);
            put_payload(output, record);
        }
    }
}

/* ---- events (MG_SQL_EVENT_COLUMNS) ---- */

#define AS_EVENT_COLUMN(name, ...) EVENT_##name,
enum { EVENT_KEY, MG_EVENT_COLUMNS(MG_LOADED, AS_EVENT_COLUMN) EVENT_COLUMN_COUNT };

/* The columns after the key; the caller sets the key. */
static void put_event(struct sim_output *output, const struct mg_event_record *event)
{
    MG_EVENT_COLUMNS(MG_LOADED, PUT_EVENT);
}

static const char *const CAUSES[] = {"n", "order_id", "cause"};

/* The newest event of each cause. */
static void load_events_of_causes(struct sim_input *input, struct sim_output *output)
{
    enum { N, ORDER_ID, CAUSE };
    sim_output_begin(output, EVENT_COLUMN_COUNT);
    while (sim_input_next(input)) {
        const struct sim_order *order = sim_tables_find(input->transaction->tables, input->values[ORDER_ID]);
        const struct mg_event_record *newest = NULL;
        for (int i = 0; order != NULL && i < order->event_count; i++) {
            if (mg_slice_equal(order->events[i].cause, input->values[CAUSE]) &&
                (newest == NULL || order->events[i].version > newest->version)) {
                newest = &order->events[i];
            }
        }
        if (newest != NULL) {
            sim_output_row(output);
            sim_output_int(output, EVENT_KEY, sim_int(input->values[N]));
            put_event(output, newest);
        }
    }
}

/* The event's stored status of this kind with the highest number, the first of them; absent: none. */
static struct mg_slice sent_by(const struct mg_event_record *event, enum mg_status word)
{
    struct mg_slice sent = {NULL, 0}, body = {"", 0};
    uint64_t seq = 0;
    for (int k = 0; event->statuses.data != NULL && body.data != NULL; k++) {
        struct mg_status_message status;
        struct mg_err err;
        char pointer[16];
        snprintf(pointer, sizeof(pointer), "/%d", k);
        body = mg_json_find(event->statuses, pointer);
        if (body.data != NULL && mg_status_parse(body, &status, &err) == MG_OK && status.status == word &&
            status.seq > seq) {
            sent = body;
            seq = status.seq;
        }
    }
    return sent;
}

/* From the newest event with such a status; $3 limits the number of events read. */
static void load_sent(struct sim_input *input, struct sim_output *output)
{
    enum { N, ORDER_ID };
    enum { OF, ORDER_VERSION, VERSION, STATUS, IS_OWED, COLUMN_COUNT };
    int64_t most = sim_int(sim_scalar(input, 3));
    sim_output_begin(output, COLUMN_COUNT);
    while (sim_input_next(input)) {
        const struct sim_order *order = sim_tables_find(input->transaction->tables, input->values[ORDER_ID]);
        if (order == NULL) {
            continue;
        }
        const struct mg_order *row = &order->record.order;
        const struct mg_event_record *newest = NULL;
        bool is_owing = false;
        for (int i = 0; i < order->event_count; i++) {
            const struct mg_event_record *event = &order->events[i];
            if ((int64_t)event->version <= (int64_t)row->version - most) {
                continue;
            }
            is_owing = is_owing || event->is_owed;
            if ((newest == NULL || event->version > newest->version) &&
                sent_by(event, mg_order_state_status(row->state)).data != NULL) {
                newest = event;
            }
        }
        sim_output_row(output);
        sim_output_int(output, OF, sim_int(input->values[N]));
        sim_output_int(output, ORDER_VERSION, (int64_t)row->version);
        if (newest != NULL) {
            sim_output_int(output, VERSION, (int64_t)newest->version);
            sim_output_text(output, STATUS, sent_by(newest, mg_order_state_status(row->state)));
        }
        sim_output_bool(output, IS_OWED, is_owing);
    }
}

/* $1: the order. The columns that address its statuses. */
static void load_owed_order(struct sim_input *input, struct sim_output *output)
{
    enum { ORDER_ID, REPLY_TO, CORRELATION_ID, TRACEPARENT, COUNT };
    const struct sim_order *order = sim_tables_find(input->transaction->tables, sim_scalar(input, 1));
    sim_output_begin(output, COUNT);
    if (order != NULL) {
        sim_output_row(output);
        sim_output_word(output, ORDER_ID, order->record.order_id);
        sim_output_text(output, REPLY_TO, order->record.reply_to);
        sim_output_text(output, CORRELATION_ID, order->record.correlation_id);
        sim_output_text(output, TRACEPARENT, order->record.traceparent);
    }
}

/* $1: the order. The oldest 64 events; the texts are small here. */
static void load_owed_events(struct sim_input *input, struct sim_output *output)
{
    const struct sim_order *order = sim_tables_find(input->transaction->tables, sim_scalar(input, 1));
    sim_output_begin(output, 2);
    for (int i = 0, count = 0; order != NULL && i < order->event_count && count < 64; i++) {
        if (order->events[i].is_owed) {
            sim_output_row(output);
            sim_output_int(output, 0, (int64_t)order->events[i].version);
            sim_output_text(output, 1, order->events[i].statuses);
            count++;
        }
    }
}

/* ---- services and the clock ---- */

static bool is_counted(const struct sim_input *input, const struct sim_service *service)
{
    return service->reported_at_ms > input->transaction->now_ms - SIM_REPORT_VALID_MS;
}

const char *sim_gate_of(const struct sim_input *input, struct mg_slice service)
{
    const struct sim_tables *tables = input->transaction->tables;
    bool is_known = false, is_open = true, is_ready = false;
    for (int i = 0; i < tables->service_count; i++) {
        const struct sim_service *at = &tables->services[i];
        if (!mg_slice_equal(at->service, service) || !is_counted(input, at)) {
            continue;
        }
        is_known = true;
        bool has_open_breaker = mg_slice_is(at->breaker, "open");
        is_open = is_open && has_open_breaker;
        is_ready = is_ready || (at->is_ready && !has_open_breaker);
    }
    return !is_known ? NULL : is_open ? "breaker_open" : is_ready ? "none" : "service_paused";
}

bool sim_is_probing(const struct sim_input *input, struct mg_slice service)
{
    const struct sim_tables *tables = input->transaction->tables;
    bool is_ready = false, is_well = false;
    for (int i = 0; i < tables->service_count; i++) {
        const struct sim_service *at = &tables->services[i];
        if (mg_slice_equal(at->service, service) && is_counted(input, at)) {
            is_ready = is_ready || (at->is_ready && !mg_slice_is(at->breaker, "open"));
            is_well = is_well || (at->is_ready && mg_slice_is(at->breaker, "closed"));
        }
    }
    return is_ready && !is_well;
}

static void load_gates(struct sim_input *input, struct sim_output *output)
{
    enum { NOW, SERVICE, GATE, IS_PROBING, COUNT };
    const struct sim_tables *tables = input->transaction->tables;
    sim_output_begin(output, COUNT);
    for (int i = 0; i < tables->service_count; i++) {
        bool is_first = is_counted(input, &tables->services[i]);
        for (int k = 0; k < i && is_first; k++) { /* one row per service */
            is_first = !is_counted(input, &tables->services[k]) ||
                       !mg_slice_equal(tables->services[k].service, tables->services[i].service);
        }
        if (is_first) {
            sim_output_row(output);
            sim_output_int(output, NOW, input->transaction->now_ms);
            sim_output_text(output, SERVICE, tables->services[i].service);
            sim_output_word(output, GATE, sim_gate_of(input, tables->services[i].service));
            sim_output_bool(output, IS_PROBING, sim_is_probing(input, tables->services[i].service));
        }
    }
    if (output->row < 0) {
        sim_output_row(output);
        sim_output_int(output, NOW, input->transaction->now_ms);
    }
}

/* ---- workflows ---- */

/* $1 name, $2 version; 0: the newest */
static void get_workflow(struct sim_input *input, struct sim_output *output)
{
    const struct sim_tables *tables = input->transaction->tables;
    const struct sim_workflow *found = NULL;
    int64_t version = sim_int(sim_scalar(input, 2));
    for (int i = 0; i < tables->workflow_count; i++) {
        const struct sim_workflow *at = &tables->workflows[i];
        if (mg_slice_equal(at->name, sim_scalar(input, 1)) && (version == 0 || at->version == version) &&
            (found == NULL || at->version > found->version)) {
            found = at;
        }
    }
    sim_output_begin(output, 2);
    if (found != NULL) {
        sim_output_row(output);
        sim_output_int(output, 0, found->version);
        sim_output_text(output, 1, found->definition);
    }
}

/* The supervisor's keepalive for its session; the result is never read. */
static void report_leader(struct sim_input *input, struct sim_output *output)
{
    (void)input;
    sim_output_begin(output, 0);
}

const struct sim_statement SIM_READ_STATEMENTS[] = {
    SIM_STATEMENT("load_orders", load_orders, ORDERS, false),
    SIM_STATEMENT("load_events_of_causes", load_events_of_causes, CAUSES, false),
    SIM_STATEMENT("load_sent", load_sent, ORDERS, false),
    SIM_SCALARS("load_gates", load_gates, false),
    SIM_SCALARS("load_owed_order", load_owed_order, false),
    SIM_SCALARS("load_owed_events", load_owed_events, false),
    SIM_SCALARS("get_workflow", get_workflow, false),
    SIM_SCALARS("report_leader", report_leader, false),
    {.name = NULL},
};
