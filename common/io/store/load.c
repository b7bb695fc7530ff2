/*
 * Reads whole orders, many at once, in one round: process rows with steps and payloads, the events of the
 * given causes, the services' gates and the clock. On request it also reads the clients' last status.
 *
 * An order with its steps comes from one statement, hence from one snapshot. The events come from a later
 * one. An event newer than its order would hide its effects from its cause (law 3, re-creation), and the last
 * status may belong to a later state. In both cases the round is repeated. The last status is read in another
 * round, once an order exists: most orders are new and have none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/store/private.h"

/* Up to three rounds read more each time; further ones mean that an order was written between two statements
 * of a round. */
#define ROUNDS_MAX 6
/* clang-format off */
static const struct mg_sql LOAD_EVENTS_OF_CAUSES = {
    "load_events_of_causes",
    "SELECT i.n" MG_SQL_EVENT_COLUMNS
    " FROM unnest($1::bigint[], $2::text[], $3::text[]) AS i(n, order_id, cause)"
    " CROSS JOIN LATERAL ("
    "  SELECT * FROM order_event WHERE order_id = i.order_id AND cause = i.cause ORDER BY version DESC LIMIT"
    " 1) e"};
/* clang-format on */

/* clang-format off */
static const struct mg_sql LOAD_GATES = {
    "load_gates",
    "SELECT " MG_SQL_MS("c.now") ", g.service, g.gate, g.is_probing"
    " FROM (SELECT " MG_SQL_NOW " AS now) c LEFT JOIN " MG_SQL_GATES " g ON true"};
/* clang-format on */

/* The status about the order's state, from the newest event that has one; it has the highest number. Each
 * order is read once, from its newest event backwards; $3 limits its events. */
#define SENT_STATUS                                                                                          \
    "CASE WHEN p.process_state IN ('pending', 'processing') THEN 'accepted' ELSE p.process_state END"
/* clang-format off */
static const struct mg_sql LOAD_SENT = {
    "load_sent",
    "SELECT i.n, p.version, e.version, s.status, coalesce(o.owes, false)"
    " FROM unnest($1::bigint[], $2::text[]) AS i(n, order_id) JOIN order_process p ON p.order_id = i.order_id"
    " CROSS JOIN LATERAL ("
    "  SELECT bool_or(owed) AS owes FROM order_event WHERE order_id = i.order_id AND version > p.version - $3::bigint) o"
    " LEFT JOIN LATERAL ("
    "  SELECT version, statuses FROM order_event"
    "  WHERE order_id = i.order_id AND version > p.version - $3::bigint AND statuses IS NOT NULL AND EXISTS ("
    "   SELECT FROM json_array_elements(statuses) AS k(status) WHERE k.status->>'status' = " SENT_STATUS ")"
    "  ORDER BY version DESC LIMIT 1) e ON true"
    " LEFT JOIN LATERAL ("
    "  SELECT k.status FROM json_array_elements(e.statuses) WITH ORDINALITY AS k(status, nth)"
    "  WHERE k.status->>'status' = " SENT_STATUS
    "  ORDER BY (k.status->>'seq')::bigint DESC, k.nth LIMIT 1) s ON true"};
/* clang-format on */

/* Extra data that a round reads besides the orders. */
enum sent_search {
    SEARCH_NOTHING,
    SEARCH_NEAR, /* among the newest events */
    SEARCH_ALL,  /* among all events, if the newest had none */
};

struct load_job {
    struct mg_store_job base;
    struct mg_arena *arena;
    const struct mg_load *loads;
    int count, rounds;
    enum sent_search asks; /* in the current round */
    bool is_sent_torn;     /* an order changed between its row and its last status */
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

/* ---- loading ---- */

static enum mg_class take_events(struct load_job *job, const struct mg_rows *rows, struct mg_err *err)
{
    for (int row = 0; row < mg_rows_count(rows); row++) {
        struct mg_event_record *event = mg_arena_alloc(job->arena, sizeof(*event));
        if (event == NULL) {
            return mg_err_set(err, MG_TRANSIENT, "could not read events: the batch's memory is full");
        }
        struct mg_loaded *loaded = mg_store_loaded_of(rows, row, job->answer.orders, job->count, err);
        if (loaded == NULL) {
            return MG_BUG;
        }
        loaded->event = event;
        enum mg_class class = mg_store_take_event(job->arena, rows, row, event, err);
        if (class == MG_STALE) {
            *loaded = (struct mg_loaded){.is_unreadable = true};
        } else if (class != MG_OK) {
            return class;
        }
    }
    return MG_OK;
}

static enum mg_class take_gates(struct load_job *job, const struct mg_rows *rows, struct mg_err *err)
{
    enum { NOW, SERVICE, GATE, IS_PROBING };
    int count = mg_rows_count(rows);
    struct mg_service_row *services = mg_arena_alloc(job->arena, (size_t)count * sizeof(*services));
    if (services == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read services: the batch's memory is full");
    }
    job->answer.now_ms = mg_rows_int(rows, 0, NOW);
    job->answer.services = services;
    job->answer.service_count = 0;
    for (int row = 0; row < count; row++) {
        if (mg_rows_is_null(rows, row, SERVICE)) {
            continue;
        }
        struct mg_service_row *service = &services[job->answer.service_count++];
        mg_rows_copy(rows, row, SERVICE, service->service, sizeof(service->service));
        struct mg_slice gate = mg_rows_value(rows, row, GATE);
        (void)mg_reason_parse(gate.data, gate.len, &service->gate); /* a constant of the statement */
        service->is_probing = mg_rows_bool(rows, row, IS_PROBING);
    }
    return MG_OK;
}

static int compare_by_id(const void *a, const void *b)
{
    int order = strcmp(((const struct by_id *)a)->order_id, ((const struct by_id *)b)->order_id);
    return order != 0 ? order : ((const struct by_id *)a)->index - ((const struct by_id *)b)->index;
}

/* Requests sorted by order, so that each order is read once, under its first request. */
static struct by_id *sort_questions(struct load_job *job)
{
    struct by_id *sorted = mg_arena_alloc(job->arena, (size_t)job->count * sizeof(*sorted));
    if (sorted == NULL) {
        return NULL;
    }
    for (int i = 0; i < job->count; i++) {
        sorted[i] = (struct by_id){job->loads[i].order_id, i};
    }
    qsort(sorted, (size_t)job->count, sizeof(*sorted), compare_by_id);
    return sorted;
}

static enum mg_class share_records(struct load_job *job, struct mg_err *err)
{
    struct by_id *sorted = job->count == 0 ? NULL : sort_questions(job);
    if (job->count > 0 && sorted == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
    }
    for (int i = 0; i < job->count; i++) {
        struct mg_loaded *loaded = &job->answer.orders[sorted[i].index];
        if (i > 0 && strcmp(sorted[i].order_id, sorted[i - 1].order_id) == 0) {
            const struct mg_loaded *before = &job->answer.orders[sorted[i - 1].index];
            loaded->is_unreadable = loaded->is_unreadable || before->is_unreadable;
            loaded->record = before->record;
        }
        if (loaded->is_unreadable) {
            *loaded = (struct mg_loaded){.is_unreadable = true};
        }
    }
    return MG_OK;
}

/* The last status is read under the first request that wants it; the others of that order share it. */
static void share_sent(struct load_job *job, const struct by_id *sorted)
{
    const struct mg_loaded *first = NULL;
    for (int i = 0; i < job->count; i++) {
        struct mg_loaded *loaded = &job->answer.orders[sorted[i].index];
        if (i > 0 && strcmp(sorted[i].order_id, sorted[i - 1].order_id) != 0) {
            first = NULL;
        }
        if (!job->loads[sorted[i].index].wants_sent_status || loaded->is_unreadable) {
            continue;
        }
        if (first == NULL) {
            first = loaded;
        } else {
            loaded->sent_status = first->sent_status;
            loaded->sent_version = first->sent_version;
            loaded->is_owed = first->is_owed;
        }
    }
}

/* Call it after share_records. */
static enum mg_class take_sent(struct load_job *job, const struct mg_rows *rows, struct mg_err *err)
{
    enum { N, ORDER_VERSION, VERSION, STATUS, IS_OWED };
    for (int row = 0; row < mg_rows_count(rows); row++) {
        struct mg_loaded *loaded = mg_store_loaded_of(rows, row, job->answer.orders, job->count, err);
        if (loaded == NULL) {
            return MG_BUG;
        }
        if (loaded->is_unreadable) {
            continue;
        }
        uint64_t version = loaded->record != NULL ? loaded->record->order.version : 0;
        job->is_sent_torn = job->is_sent_torn || (uint64_t)mg_rows_int(rows, row, ORDER_VERSION) != version;
        loaded->is_owed = mg_rows_bool(rows, row, IS_OWED);
        if (mg_rows_is_null(rows, row, STATUS)) {
            continue;
        }
        loaded->sent_version = (uint64_t)mg_rows_int(rows, row, VERSION);
        loaded->sent_status = mg_arena_copy(job->arena, mg_rows_value(rows, row, STATUS));
        if (loaded->sent_status.data == NULL) {
            return mg_err_set(err, MG_TRANSIENT, "could not read statuses: the batch's memory is full");
        }
    }
    const struct by_id *sorted = job->count == 0 ? NULL : sort_questions(job);
    if (job->count > 0 && sorted == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not read statuses: the batch's memory is full");
    }
    share_sent(job, sorted);
    return MG_OK;
}

static bool is_torn(const struct load_job *job)
{
    for (int i = 0; i < job->count; i++) {
        const struct mg_loaded *loaded = &job->answer.orders[i];
        uint64_t version = loaded->record != NULL ? loaded->record->order.version : 0;
        if (loaded->event != NULL && loaded->event->version > version) {
            return true;
        }
    }
    return job->is_sent_torn;
}

/* The extra data of the next round: an existing order lacks its last status. */
static enum sent_search lacks_sent(const struct load_job *job)
{
    for (int i = 0; i < job->count && job->asks != SEARCH_ALL; i++) {
        const struct mg_loaded *loaded = &job->answer.orders[i];
        if (job->loads[i].wants_sent_status && loaded->record != NULL && loaded->sent_status.data == NULL) {
            return job->asks == SEARCH_NOTHING ? SEARCH_NEAR : SEARCH_ALL;
        }
    }
    return job->asks;
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
    if (mg_store_take_orders(job->arena, reply->rows[0], job->answer.orders, job->count, &err) != MG_OK ||
        take_events(job, reply->rows[1], &err) != MG_OK || take_gates(job, reply->rows[2], &err) != MG_OK ||
        share_records(job, &err) != MG_OK ||
        (job->asks != SEARCH_NOTHING && take_sent(job, reply->rows[3], &err) != MG_OK)) {
        answer_load(job, &err);
        return;
    }
    enum sent_search next = is_torn(job) ? job->asks : lacks_sent(job);
    if (!is_torn(job) && next == job->asks) {
        answer_load(job, NULL);
    } else if (job->rounds < ROUNDS_MAX) {
        job->asks = next;
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
    struct mg_loaded *orders = mg_arena_alloc(job->arena, ((size_t)job->count + 1) * sizeof(*orders));
    struct by_id *sorted = job->count == 0 ? NULL : sort_questions(job);
    if (orders == NULL || (job->count > 0 && sorted == NULL)) {
        mg_pg_refuse(job->base.store->pg, MG_PG_BUSY, "could not read orders: the batch's memory is full",
                     on_no_memory, job);
        return;
    }
    job->answer.orders = orders;
    job->rounds++;
    job->is_sent_torn = false;
    struct mg_pg_params order_params, event_params, sent_params;
    mg_pg_params_init(&order_params);
    mg_pg_params_init(&event_params);
    mg_pg_params_init(&sent_params);
    int order_n = mg_pg_add_array(&order_params, MG_PG_INT),
        order_id = mg_pg_add_array(&order_params, MG_PG_TEXT);
    int event_n = mg_pg_add_array(&event_params, MG_PG_INT),
        event_id = mg_pg_add_array(&event_params, MG_PG_TEXT);
    int event_cause = mg_pg_add_array(&event_params, MG_PG_TEXT);
    int sent_n = mg_pg_add_array(&sent_params, MG_PG_INT),
        sent_id = mg_pg_add_array(&sent_params, MG_PG_TEXT);
    mg_pg_add_int(&sent_params, job->asks == SEARCH_ALL ? INT64_MAX : MG_SENT_EVENTS_MAX);
    bool is_sent_asked = false;
    for (int i = 0; i < job->count; i++) {
        const struct mg_load *load = &job->loads[sorted[i].index];
        if (i == 0 || strcmp(sorted[i].order_id, sorted[i - 1].order_id) != 0) {
            is_sent_asked = false;
            mg_pg_push_int(&order_params, order_n, sorted[i].index);
            mg_pg_push_text(&order_params, order_id, mg_slice_of(load->order_id));
        }
        if (job->asks != SEARCH_NOTHING && load->wants_sent_status && !is_sent_asked) {
            is_sent_asked = true;
            mg_pg_push_int(&sent_params, sent_n, sorted[i].index);
            mg_pg_push_text(&sent_params, sent_id, mg_slice_of(load->order_id));
        }
        if (load->cause.data == NULL) {
            continue;
        }
        mg_pg_push_int(&event_params, event_n, sorted[i].index);
        mg_pg_push_text(&event_params, event_id, mg_slice_of(load->order_id));
        mg_pg_push_text(&event_params, event_cause, load->cause);
    }
    struct mg_pg_statement statements[] = {
        {&MG_STORE_LOAD_ORDERS, &order_params},
        {&LOAD_EVENTS_OF_CAUSES, &event_params},
        {&LOAD_GATES, NULL},
        {&LOAD_SENT, &sent_params},
    };
    mg_store_send(job->base.store, statements, job->asks != SEARCH_NOTHING ? 4 : 3, on_loaded, job);
    mg_pg_params_finish(&order_params);
    mg_pg_params_finish(&event_params);
    mg_pg_params_finish(&sent_params);
}

void mg_store_load(struct mg_store *store, struct mg_arena *arena, const struct mg_load *loads, int count,
                   mg_store_load_fn *done, void *arg)
{
    struct load_job *job = mg_store_job_create(store, sizeof(*job), NULL);
    job->arena = arena;
    job->loads = loads;
    job->count = count;
    job->done = done;
    job->arg = arg;
    send_round(job);
}
