/*
 * Reads whole orders, many at once, in one round: process rows with steps and payloads, the events of the
 * given causes, the services' gates and the clock. On request it also reads the clients' last status.
 *
 * An order with its steps comes from one statement, hence from one snapshot. The events come from a later
 * one. An event newer than its order would hide its effects from its cause (law 3, re-creation), and the last
 * status may belong to a later state. In both cases the round is repeated. The last status is read in another
 * round, once an order exists: most orders are new and have none.
 *
 * If the database refuses a round, of any SQLSTATE, the orders are halved until the refused one stands
 * alone; if the store then works for others (store/witness.c), the round is repeated without it. Otherwise
 * the whole call fails. An order that was read without some of its rows is damaged if most others are whole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "io/store/sql.h"
#include "io/store/store_private.h"

/* Up to three rounds read more each time; further ones mean that an order was written between two statements
 * of a round. */
#define ROUNDS_MAX 6
/* Halving leaves at most one waiting half per level; a batch has fewer than 2^32 orders. */
#define RANGES_MAX 34
/* From the first refusal on: the callers of all other orders wait for so long because of a few. */
#define SEARCH_MAX_MS 5000
#define PAYLOAD_LOST  "could not read the order: table orders has no row with its payload and revision"
#define EVENT_DAMAGED "damaged: the number of an event is beyond its range"
/* SQLSTATE of lock_timeout: reading waits for locks of whole tables only. */
#define LOCK_NOT_AVAILABLE "55P03"

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
    " FROM (SELECT " MG_SQL_NOW " AS now) c LEFT JOIN " MG_SQL_PART_gates " g ON true"};
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

struct by_id {
    const char *order_id;
    int index;
};

/* Of an order that cannot be read. */
struct refusal {
    char *text; /* NULL: it can */
    enum mg_refusal kind;
    char sqlstate[MG_SQLSTATE_SIZE];
};

/* The search for the refused orders of a round. */
struct search {
    struct by_id *sorted;
    struct range {
        int from, to; /* of `sorted`, half open */
    } ranges[RANGES_MAX];
    int range_count;
    int64_t began_boot_ms; /* 0: nothing was refused yet */
    char text[MG_REFUSAL_TEXT_SIZE], sqlstate[MG_SQLSTATE_SIZE];
    enum mg_refusal kind;
    struct mg_err failure; /* the last refusal, for the whole call */
};

struct load_job {
    struct mg_store_job base;
    struct mg_arena *arena;
    const struct mg_load *loads;
    int count, rounds;
    enum sent_search asks; /* in the current round */
    bool is_sent_torn;     /* an order changed between its row and its last status */
    struct search search;
    struct refusal *refusals; /* by request; NULL: none is refused */
    struct mg_load_answer answer;
    mg_store_load_fn *done;
};

static void send_round(struct load_job *job);

static void answer_load(struct load_job *job, const struct mg_err *err)
{
    for (int i = 0; err == NULL && job->refusals != NULL && i < job->count; i++) {
        if (job->refusals[i].text != NULL) {
            struct mg_loaded *loaded = &job->answer.orders[i];
            *loaded = (struct mg_loaded){.refused = job->refusals[i].text, .refusal = job->refusals[i].kind};
            memcpy(loaded->sqlstate, job->refusals[i].sqlstate, sizeof(loaded->sqlstate));
        }
    }
    mg_store_job_detach(&job->base);
    job->done(job->base.arg, err == NULL ? &job->answer : NULL, err);
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
        } else if (class == MG_PERMANENT) {
            *loaded = (struct mg_loaded){.refused = EVENT_DAMAGED, .refusal = MG_REFUSAL_LASTING};
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

/* An order without its payload would go on with an empty one: a step that needs it fails, and good work is
 * undone. Its events and statuses are not taken. */
static bool is_payload_lost(const struct mg_order_record *record)
{
    return record != NULL && record->payload.data == NULL;
}

static bool is_taken(const struct mg_loaded *loaded)
{
    return !loaded->is_unreadable && loaded->refused == NULL;
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
            loaded->refused = before->refused;
        }
        if (loaded->is_unreadable) {
            *loaded = (struct mg_loaded){.is_unreadable = true};
        } else if (loaded->refused != NULL || is_payload_lost(loaded->record)) {
            const char *refused = loaded->refused != NULL ? loaded->refused : PAYLOAD_LOST;
            *loaded = (struct mg_loaded){.refused = refused, .refusal = MG_REFUSAL_LASTING};
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
        if (!job->loads[sorted[i].index].wants_sent_status || !is_taken(loaded)) {
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
        if (!is_taken(loaded)) {
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

/* ---- searching ---- */

static void on_searched(void *arg, const struct mg_pg_answer *reply);
static void send_part(struct load_job *job, const struct by_id *sorted, int from, int to, mg_pg_fn *fn);

static void fail_for_memory(struct load_job *job)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "could not read orders: the batch's memory is full");
    answer_load(job, &err);
}

static void search_next(struct load_job *job)
{
    struct search *search = &job->search;
    if (search->range_count == 0) {
        send_round(job);
    } else if (mg_clock_boot_ms() - search->began_boot_ms >= SEARCH_MAX_MS) {
        answer_load(job, &search->failure);
    } else {
        struct range range = search->ranges[search->range_count - 1];
        send_part(job, search->sorted, range.from, range.to, on_searched);
    }
}

/* All requests of the order that stands alone. */
static void on_witness(void *arg, const struct mg_pg_answer *reply)
{
    struct load_job *job = arg;
    struct search *search = &job->search;
    if (!mg_store_witness_holds(reply)) {
        struct mg_err err;
        answer_load(job, reply->fault == MG_PG_LOST ? mg_store_error(reply, "read orders", &err)
                                                    : &search->failure);
        return;
    }
    const char *order_id = search->sorted[search->ranges[--search->range_count].from].order_id;
    char *text = mg_arena_text(job->arena, mg_slice_of(search->text));
    if (text == NULL) {
        fail_for_memory(job);
        return;
    }
    for (int i = 0; i < job->count; i++) {
        if (strcmp(job->loads[i].order_id, order_id) == 0) {
            job->refusals[i] = (struct refusal){.text = text, .kind = search->kind};
            memcpy(job->refusals[i].sqlstate, search->sqlstate, sizeof(search->sqlstate));
        }
    }
    search_next(job);
}

static void note_refusal(struct load_job *job, const struct mg_pg_answer *reply)
{
    struct search *search = &job->search;
    if (search->began_boot_ms == 0) {
        search->began_boot_ms = mg_clock_boot_ms();
    }
    (void)mg_store_error(reply, "read orders", &search->failure);
    (void)snprintf(search->text, sizeof(search->text), "%.*s", (int)sizeof(search->text) - 1,
                   reply->err->text);
    (void)snprintf(search->sqlstate, sizeof(search->sqlstate), "%s", reply->sqlstate);
    search->kind =
        mg_store_refusal_of(reply->fault) == MG_REFUSAL_LASTING ? MG_REFUSAL_DAMAGED : MG_REFUSAL_PASSING;
}

static void on_searched(void *arg, const struct mg_pg_answer *reply)
{
    struct load_job *job = arg;
    struct search *search = &job->search;
    struct range range = search->ranges[search->range_count - 1];
    struct mg_err err;
    if (reply->fault == MG_PG_LOST) {
        answer_load(job, mg_store_error(reply, "read orders", &err));
        return;
    }
    if (reply->fault == MG_PG_NONE) { /* the rows are read again with all others, by one clock */
        search->range_count--;
        search_next(job);
        return;
    }
    note_refusal(job, reply);
    if (range.to - range.from == 1) {
        mg_store_witness_send(job->base.store, on_witness, job);
        return;
    }
    int middle = range.from + (range.to - range.from) / 2;
    search->ranges[search->range_count - 1] = (struct range){middle, range.to};
    search->ranges[search->range_count++] = (struct range){range.from, middle};
    search_next(job);
}

static void search_begin(struct load_job *job)
{
    if (job->refusals == NULL) {
        job->refusals = mg_arena_alloc(job->arena, (size_t)job->count * sizeof(*job->refusals));
    }
    job->search.sorted = sort_questions(job);
    if (job->refusals == NULL || job->search.sorted == NULL) {
        fail_for_memory(job);
        return;
    }
    job->search.ranges[job->search.range_count++] = (struct range){0, job->count};
    search_next(job);
}

/* ---- rounds ---- */

/* Without an answer all stays as it is. */
static void on_others(void *arg, const struct mg_pg_answer *reply)
{
    struct load_job *job = arg;
    bool are_others_whole = reply->err == NULL && mg_rows_bool(reply->rows[0], 0, 0);
    for (int i = 0; are_others_whole && i < job->count; i++) {
        struct mg_loaded *loaded = &job->answer.orders[i];
        loaded->refusal = loaded->refused != NULL ? MG_REFUSAL_DAMAGED : loaded->refusal;
    }
    answer_load(job, NULL);
}

/* Judges the orders that were read without some of their rows. */
static void judge(struct load_job *job)
{
    for (int i = 0; i < job->count; i++) {
        if (job->answer.orders[i].refused != NULL) {
            mg_store_send_one(job->base.store, &MG_STORE_ARE_OTHERS_WHOLE, NULL, on_others, job);
            return;
        }
    }
    answer_load(job, NULL);
}

static void on_loaded(void *arg, const struct mg_pg_answer *reply)
{
    struct load_job *job = arg;
    struct mg_err err;
    bool is_for_all = reply->fault == MG_PG_LOST || strcmp(reply->sqlstate, LOCK_NOT_AVAILABLE) == 0;
    if (reply->err != NULL && !is_for_all && job->count > 0 && job->rounds < ROUNDS_MAX) {
        note_refusal(job, reply);
        search_begin(job);
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
        judge(job);
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
    send_part(job, sorted, 0, job->count, on_loaded);
}

/* Asks for these orders, except those that were refused already. */
static void send_part(struct load_job *job, const struct by_id *sorted, int from, int to, mg_pg_fn *fn)
{
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
    for (int i = from; i < to; i++) {
        const struct mg_load *load = &job->loads[sorted[i].index];
        if (job->refusals != NULL && job->refusals[sorted[i].index].text != NULL) {
            continue;
        }
        if (i == from || strcmp(sorted[i].order_id, sorted[i - 1].order_id) != 0) {
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
    struct mg_pg_statement statements[4];
    int count = 0;
    if (fn == on_searched) { /* its rows are not read, and it lacks the gates, which are no order's */
        statements[count++] = (struct mg_pg_statement){&MG_STORE_HASTEN, NULL};
    }
    statements[count++] = (struct mg_pg_statement){&MG_STORE_LOAD_ORDERS, &order_params};
    statements[count++] = (struct mg_pg_statement){&LOAD_EVENTS_OF_CAUSES, &event_params};
    if (fn != on_searched) {
        statements[count++] = (struct mg_pg_statement){&LOAD_GATES, NULL};
    }
    if (job->asks != SEARCH_NOTHING) {
        statements[count++] = (struct mg_pg_statement){&LOAD_SENT, &sent_params};
    }
    mg_store_send(job->base.store, statements, count, fn, job);
    mg_pg_params_finish(&order_params);
    mg_pg_params_finish(&event_params);
    mg_pg_params_finish(&sent_params);
}

void mg_store_load(struct mg_store *store, struct mg_arena *arena, const struct mg_load *loads, int count,
                   mg_store_load_fn *done, void *arg)
{
    struct load_job *job = mg_store_job_create(store, sizeof(*job), NULL, arg, NULL);
    job->arena = arena;
    job->loads = loads;
    job->count = count;
    job->done = done;
    send_round(job);
}
