/* The tables and their transactions. A transaction is all or nothing, since it works on copies of its
 * orders. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store_tables.h"

#define TEXT_BYTES_MAX (size_t)(SIZE_MAX / 2) /* freed at the end of the run */

struct mg_slice sim_text(struct mg_slice text)
{
    static struct mg_arena *texts;
    if (texts == NULL) {
        texts = mg_arena_create(TEXT_BYTES_MAX);
    }
    struct mg_slice copy = mg_arena_copy(texts, text);
    assert((copy.data == NULL) == (text.data == NULL));
    return copy;
}

struct mg_slice sim_text_keep(struct mg_slice text, struct mg_slice old)
{
    bool is_same = (text.data == NULL) == (old.data == NULL) && mg_slice_equal(text, old);
    return is_same ? old : sim_text(text);
}

void *sim_grow(void *array, int count, size_t size)
{
    bool is_full = (count & (count - 1)) == 0; /* the room is a power of two: full at each */
    void *grown = is_full ? realloc(array, (count == 0 ? 1 : 2 * (size_t)count) * size) : array;
    assert(grown != NULL);
    return grown;
}

void *sim_copy_of(const void *array, int count, size_t size)
{
    size_t room = 1;
    while (room < (size_t)count) {
        room *= 2;
    }
    void *copy = count == 0 ? NULL : malloc(room * size);
    assert(count == 0 || copy != NULL);
    if (count > 0) {
        memcpy(copy, array, (size_t)count * size);
    }
    return copy;
}

/* ---- orders ---- */

struct sim_order *sim_order_copy(const struct sim_order *from)
{
    struct sim_order *order = calloc(1, sizeof(*order));
    assert(order != NULL);
    if (from != NULL) {
        *order = *from;
    }
    order->record.labels = order->labels;
    order->events = sim_copy_of(order->events, order->event_count, sizeof(*order->events));
    order->times = sim_copy_of(order->times, order->event_count, sizeof(*order->times));
    order->payloads = sim_copy_of(order->payloads, order->payload_count, sizeof(*order->payloads));
    return order;
}

void sim_order_add_event(struct sim_order *order, const struct mg_event_record *event, int64_t now_ms)
{
    order->events = sim_grow(order->events, order->event_count, sizeof(*order->events));
    order->times = sim_grow(order->times, order->event_count, sizeof(*order->times));
    order->events[order->event_count] = *event;
    order->times[order->event_count++] = (struct sim_event_times){.at_ms = now_ms};
}

void sim_order_add_payload(struct sim_order *order, const struct sim_payload *payload)
{
    order->payloads = sim_grow(order->payloads, order->payload_count, sizeof(*order->payloads));
    order->payloads[order->payload_count++] = *payload;
}

void sim_order_free(struct sim_order *order)
{
    if (order != NULL) {
        free(order->events);
        free(order->times);
        free(order->payloads);
        free(order);
    }
}

static int *head_of(struct sim_tables *tables, struct mg_slice order_id)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < order_id.len; i++) {
        hash = (hash ^ (uint8_t)order_id.data[i]) * 16777619u;
    }
    return &tables->heads[hash % SIM_ORDER_HEADS];
}

static int index_of(const struct sim_tables *tables, struct mg_slice order_id)
{
    union { /* only read */
        const struct sim_tables *from;
        struct sim_tables *to;
    } same = {tables};
    int at = *head_of(same.to, order_id) - 1;
    while (at >= 0 && !mg_slice_is(order_id, tables->orders[at]->record.order_id)) {
        at = tables->orders[at]->next;
    }
    return at;
}

struct sim_order *sim_tables_find(const struct sim_tables *tables, struct mg_slice order_id)
{
    int at = index_of(tables, order_id);
    return at < 0 ? NULL : tables->orders[at];
}

void sim_tables_put(struct sim_tables *tables, struct sim_order *order)
{
    struct mg_slice order_id = mg_slice_of(order->record.order_id);
    int at = index_of(tables, order_id);
    if (at >= 0) {
        order->next = tables->orders[at]->next;
        sim_order_free(tables->orders[at]);
        tables->orders[at] = order;
        return;
    }
    int *head = head_of(tables, order_id);
    tables->orders = sim_grow(tables->orders, tables->order_count, sizeof(struct sim_order *));
    tables->orders[tables->order_count++] = order;
    order->next = *head - 1;
    *head = tables->order_count;
}

/* ---- the set of tables ---- */

struct sim_tables *sim_tables_create(void)
{
    struct sim_tables *tables = calloc(1, sizeof(*tables));
    assert(tables != NULL);
    tables->leader.holder = mg_slice_of("");
    return tables;
}

struct sim_tables *sim_tables_copy(const struct sim_tables *from)
{
    struct sim_tables *tables = sim_tables_create();
    *tables = *from;
    tables->orders = sim_copy_of(from->orders, from->order_count, sizeof(struct sim_order *));
    for (int i = 0; i < from->order_count; i++) {
        tables->orders[i] = sim_order_copy(from->orders[i]);
    }
    tables->alerts = sim_copy_of(from->alerts, from->alert_count, sizeof(*from->alerts));
    tables->reply_queues =
        sim_copy_of(from->reply_queues, from->reply_queue_count, sizeof(*from->reply_queues));
    tables->services = sim_copy_of(from->services, from->service_count, sizeof(*from->services));
    tables->workflows = sim_copy_of(from->workflows, from->workflow_count, sizeof(*from->workflows));
    tables->lines = sim_lines_copy(&from->lines);
    return tables;
}

void sim_tables_destroy(struct sim_tables *tables)
{
    if (tables == NULL) {
        return;
    }
    for (int i = 0; i < tables->order_count; i++) {
        sim_order_free(tables->orders[i]);
    }
    free(tables->orders);
    free(tables->alerts);
    free(tables->reply_queues);
    free(tables->services);
    free(tables->workflows);
    sim_lines_free(&tables->lines);
    free(tables);
}

/* ---- alerts ---- */

struct sim_alert *sim_alert_find_open(struct sim_tables *tables, enum mg_alert code, struct mg_slice subject)
{
    for (int i = tables->alert_count - 1; i >= 0; i--) {
        struct sim_alert *alert = &tables->alerts[i];
        if (alert->closed_at_ms == 0 && alert->code == code && mg_slice_equal(alert->subject, subject)) {
            return alert;
        }
    }
    return NULL;
}

static struct mg_failure failure_copy(const struct mg_failure *failure)
{
    return (struct mg_failure){.workflow = sim_text(failure->workflow),
                               .step = sim_text(failure->step),
                               .service = sim_text(failure->service),
                               .error_code = sim_text(failure->error_code)};
}

bool sim_alert_open(struct sim_tables *tables, const struct sim_alert *alert, int64_t now_ms)
{
    if (sim_alert_find_open(tables, alert->code, alert->subject) != NULL) {
        return false;
    }
    tables->alerts = sim_grow(tables->alerts, tables->alert_count, sizeof(*tables->alerts));
    tables->alerts[tables->alert_count++] = (struct sim_alert){.code = alert->code,
                                                               .subject = sim_text(alert->subject),
                                                               .order_id = sim_text(alert->order_id),
                                                               .text = sim_text(alert->text),
                                                               .failure = failure_copy(&alert->failure),
                                                               .opened_at_ms = now_ms};
    return true;
}

bool sim_alert_close(struct sim_tables *tables, const struct sim_alert *alert, int64_t now_ms)
{
    struct sim_alert *open = sim_alert_find_open(tables, alert->code, alert->subject);
    if (open != NULL) {
        open->closed_at_ms = now_ms;
    }
    return open != NULL;
}

/* ---- transactions ---- */

void sim_transaction_fail(struct sim_transaction *transaction, const char *sqlstate, const char *what)
{
    if (transaction->sqlstate[0] == '\0') {
        memcpy(transaction->sqlstate, sqlstate, sizeof(transaction->sqlstate));
        transaction->what = what;
    }
}

struct sim_change *sim_transaction_change(struct sim_transaction *transaction, struct mg_slice order_id)
{
    /* A statement's rows are sorted by order: it is the one found last, or the one after it. */
    for (int i = 0; i < transaction->change_count; i++) {
        int at = (transaction->change_hint + i) % transaction->change_count;
        if (mg_slice_is(order_id, transaction->changes[at].after->record.order_id)) {
            transaction->change_hint = at;
            return &transaction->changes[at];
        }
    }
    transaction->changes =
        sim_grow(transaction->changes, transaction->change_count, sizeof(*transaction->changes));
    struct sim_change *change = &transaction->changes[transaction->change_count++];
    *change = (struct sim_change){.before = sim_tables_find(transaction->tables, order_id)};
    change->after = sim_order_copy(change->before);
    change->first_event = change->after->event_count;
    assert(order_id.len <= MG_ORDER_ID_MAX);
    memcpy(change->after->record.order_id, order_id.data, order_id.len);
    return change;
}

/* Reports a change to the checker, as the scheduler wrote it. Marks on events are not reported as a change of
 * the order. */
static void change_tell(const struct sim_change *change, const struct sim_transaction *transaction)
{
    if (change->before != NULL &&
        change->before->record.order.version == change->after->record.order.version &&
        change->first_event == change->after->event_count) {
        return;
    }
    struct mg_alert_write alerts[64];
    int alert_count = 0;
    const struct mg_order_record *record = &change->after->record;
    for (int i = 0; i < transaction->alert_count && alert_count < 64; i++) {
        const struct sim_alert *alert = &transaction->alerts[i];
        if (mg_slice_is(alert->order_id, record->order_id)) {
            alerts[alert_count++] = (struct mg_alert_write){.alert = alert->code,
                                                            .is_closed = alert->closed_at_ms != 0,
                                                            .subject = sim_text(alert->subject).data,
                                                            .order_id = record->order_id,
                                                            .text = alert->text,
                                                            .failure = &alert->failure};
        }
    }
    const struct mg_order_write write = {
        .record = record,
        .expected_version = change->expected_version,
        .changed_steps = change->changed_steps,
        .is_payload_changed = change->is_payload_changed,
        .events = &change->after->events[change->first_event],
        .event_count = change->after->event_count - change->first_event,
        .alerts = alerts,
        .alert_count = alert_count,
        .locked_by = "",
        .result = MG_WRITE_DONE,
    };
    sim_check_committed(change->before == NULL ? NULL : &change->before->record, &write);
}

void sim_transaction_end(struct sim_transaction *transaction)
{
    bool is_committed = transaction->sqlstate[0] == '\0';
    for (int i = 0; is_committed && transaction->session != NULL && i < transaction->change_count; i++) {
        change_tell(&transaction->changes[i], transaction);
    }
    for (int i = 0; i < transaction->change_count; i++) {
        if (is_committed) {
            sim_tables_put(transaction->tables, transaction->changes[i].after);
        } else {
            sim_order_free(transaction->changes[i].after);
        }
    }
    for (int i = 0; is_committed && i < transaction->alert_count; i++) {
        const struct sim_alert *alert = &transaction->alerts[i];
        if (alert->closed_at_ms != 0) {
            (void)sim_alert_close(transaction->tables, alert, transaction->now_ms);
        } else {
            (void)sim_alert_open(transaction->tables, alert, transaction->now_ms);
        }
    }
    sim_lines_end(transaction, is_committed);
    free(transaction->changes);
    free(transaction->alerts);
    transaction->changes = NULL;
    transaction->alerts = NULL;
    transaction->change_count = transaction->alert_count = 0;
}
