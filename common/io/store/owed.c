/*
 * Owed statuses: marked when the broker did not take them, found when a retry is due, read for the retry, and
 * at last given up.
 *
 * Their cost is bounded by queue. reply_queue has a row for each client's queue that did not take a status,
 * and each client has a share of the retries. While a queue takes nothing, one status is tried, and each
 * retry waits longer. Once it takes one, the others follow, many at once. No statement here reads more rows
 * than it returns, however many statuses are owed.
 */
#include <stdlib.h>

#include "io/store/owed.h"
#include "io/store/pass_by.h"
#include "io/store/sql.h"

static const struct mg_sql LOAD_OWED_ORDER = MG_SQL_OF(load_owed_order);
static const struct mg_sql LOAD_OWED_EVENTS = MG_SQL_OF(load_owed_events);

/* Room for these, and for a first one far above the limit. */
#define OWED_BYTES_MAX (16u * 1024 * 1024)

struct owed_job {
    struct mg_store_job base;
    struct mg_arena *arena;
    mg_store_events_fn *done;
};

static void finish_owed(struct mg_store_job *base)
{
    mg_arena_destroy(((struct owed_job *)base)->arena);
}

static bool take_text(struct mg_arena *arena, const struct mg_rows *rows, int row, int column,
                      struct mg_slice *ret_text)
{
    struct mg_slice value = mg_rows_value(rows, row, column);
    *ret_text = value.data == NULL ? value : mg_arena_copy(arena, value);
    return value.data == NULL || ret_text->data != NULL;
}

/* NULL: no memory. */
static struct mg_order_record *take_owed_order(struct mg_arena *arena, const struct mg_rows *rows)
{
    enum { ORDER_ID, REPLY_TO, CORRELATION_ID, TRACEPARENT };
    struct mg_order_record *record = mg_arena_alloc(arena, sizeof(*record));
    if (record == NULL) {
        return NULL;
    }
    mg_rows_copy(rows, 0, ORDER_ID, record->order_id, sizeof(record->order_id));
    bool is_taken = take_text(arena, rows, 0, REPLY_TO, &record->reply_to) &&
                    take_text(arena, rows, 0, CORRELATION_ID, &record->correlation_id) &&
                    take_text(arena, rows, 0, TRACEPARENT, &record->traceparent);
    return is_taken ? record : NULL;
}

static struct mg_event_record *take_owed_events(struct mg_arena *arena, const struct mg_rows *rows)
{
    enum { VERSION, STATUSES };
    int count = mg_rows_count(rows);
    struct mg_event_record *events = mg_arena_alloc(arena, ((size_t)count + 1) * sizeof(*events));
    for (int row = 0; row < count && events != NULL; row++) {
        events[row].version = (uint64_t)mg_rows_int(rows, row, VERSION);
        events[row].is_owed = true;
        if (!take_text(arena, rows, row, STATUSES, &events[row].statuses)) {
            return NULL;
        }
    }
    return events;
}

static void on_owed(void *arg, const struct mg_pg_answer *reply)
{
    struct owed_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, NULL, 0, mg_store_error(reply, "read owed statuses", &err));
        return;
    }
    bool is_found = mg_rows_count(reply->rows[0]) > 0;
    struct mg_order_record *record = NULL;
    struct mg_event_record *events = NULL;
    if (job->arena != NULL) {
        record = is_found ? take_owed_order(job->arena, reply->rows[0]) : NULL;
        events = take_owed_events(job->arena, reply->rows[1]);
    }
    if (events == NULL || (is_found && record == NULL)) {
        (void)mg_err_set(&err, MG_TRANSIENT, "could not read owed statuses: no memory");
        job->done(job->base.arg, NULL, NULL, 0, &err);
    } else {
        job->done(job->base.arg, record, events, mg_rows_count(reply->rows[1]), NULL);
    }
}

void mg_store_load_owed(struct mg_store *store, const char *order_id, mg_store_events_fn *done, void *arg)
{
    struct owed_job *job = mg_store_job_create(store, sizeof(*job), on_owed, arg, finish_owed);
    job->arena = mg_arena_create(OWED_BYTES_MAX);
    job->done = done;
    struct mg_pg_params order_params, event_params;
    mg_pg_params_init(&order_params);
    mg_pg_params_init(&event_params);
    mg_pg_add_text(&order_params, mg_slice_of(order_id));
    mg_pg_add_text(&event_params, mg_slice_of(order_id));
    struct mg_pg_statement statements[] = {{&LOAD_OWED_ORDER, &order_params},
                                           {&LOAD_OWED_EVENTS, &event_params}};
    mg_store_send(store, statements, 2, mg_store_job_answer, job);
    mg_pg_params_finish(&order_params);
    mg_pg_params_finish(&event_params);
}

/* ---- marking ---- */

const struct mg_sql MG_STORE_BY_KEY = MG_SQL_OF(by_key);
static const struct mg_sql BY_KEY_SOON = MG_SQL_OF(by_key_soon);
static const struct mg_sql MARK_OWED = MG_SQL_OF(mark_owed);
static const struct mg_sql GIVE_UP = MG_SQL_OF(give_up);

#define GIVE_UP_BITE 500 /* events of one queue at once: some 10 ms */

struct mark_job {
    struct mg_store_job base;
    struct mg_given_up *given_up;
    int room; /* one for each failed retry; 0: nothing is given up */
    mg_store_marked_fn *done;
};

static void finish_mark(struct mg_store_job *base)
{
    free(((struct mark_job *)base)->given_up);
}

enum { GIVEN_UP_NAME, GIVEN_UP_NUMBER, GIVEN_UP_ALERTS };
enum { STATEMENT_BY_KEY, STATEMENT_MARK, STATEMENT_GIVE_UP, STATEMENT_COUNT };

static void on_marked(void *arg, const struct mg_pg_answer *reply)
{
    struct mark_job *job = arg;
    struct mg_err err;
    const struct mg_rows *rows = reply->err == NULL && job->room > 0 ? reply->rows[STATEMENT_GIVE_UP] : NULL;
    int count = rows != NULL ? mg_rows_count(rows) : 0;
    count = count < job->room ? count : job->room;
    for (int row = 0; row < count; row++) {
        struct mg_given_up *given_up = &job->given_up[row];
        mg_rows_copy(rows, row, GIVEN_UP_NAME, given_up->queue, sizeof(given_up->queue));
        given_up->count = mg_rows_int(rows, row, GIVEN_UP_NUMBER);
        given_up->alerts_open = mg_rows_int(rows, row, GIVEN_UP_ALERTS);
    }
    job->done(job->base.arg, job->given_up, count,
              reply->err == NULL ? NULL : mg_store_error(reply, "mark owed statuses", &err));
}

/* Fills the statements' parameters; returns the number of failed retries. */
static int params_fill(struct mg_pg_params params[STATEMENT_COUNT], const struct mg_owed *marks, int count,
                       int64_t owed_for_ms)
{
    struct mg_pg_params *mark = &params[STATEMENT_MARK], *failed = &params[STATEMENT_GIVE_UP];
    int failed_count = 0;
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        mg_pg_params_init(&params[i]);
    }
    int order_id = mg_pg_add_array(mark, MG_PG_TEXT), version = mg_pg_add_array(mark, MG_PG_INT);
    int owed = mg_pg_add_array(mark, MG_PG_BOOL), is_retry = mg_pg_add_array(mark, MG_PG_BOOL);
    int reply_to = mg_pg_add_array(mark, MG_PG_TEXT);
    int name = mg_pg_add_array(failed, MG_PG_TEXT), failed_order = mg_pg_add_array(failed, MG_PG_TEXT);
    for (int i = 0; i < count; i++) {
        struct mg_slice queue = mg_slice_of(marks[i].reply_to[0] != '\0' ? marks[i].reply_to : NULL);
        mg_pg_push_text(mark, order_id, mg_slice_of(marks[i].order_id));
        mg_pg_push_int(mark, version, (int64_t)marks[i].version);
        mg_pg_push_bool(mark, owed, marks[i].is_owed);
        mg_pg_push_bool(mark, is_retry, marks[i].is_retry);
        mg_pg_push_text(mark, reply_to, queue);
        if (marks[i].is_owed && marks[i].is_retry) {
            mg_pg_push_text(failed, name, queue);
            mg_pg_push_text(failed, failed_order, mg_slice_of(marks[i].order_id));
            failed_count++;
        }
    }
    mg_pg_add_int(failed, owed_for_ms);
    mg_pg_add_int(failed, GIVE_UP_BITE);
    return failed_count;
}

void mg_store_mark_owed(struct mg_store *store, const struct mg_owed *marks, int count, int64_t owed_for_ms,
                        mg_store_marked_fn *done, void *arg)
{
    struct mark_job *job = mg_store_job_create(store, sizeof(*job), on_marked, arg, finish_mark);
    struct mg_pg_params params[STATEMENT_COUNT];
    job->done = done;
    job->room = params_fill(params, marks, count, owed_for_ms);
    job->given_up = calloc((size_t)job->room + 1, sizeof(*job->given_up));
    struct mg_pg_statement statements[STATEMENT_COUNT] = {
        [STATEMENT_BY_KEY] = {&BY_KEY_SOON, &params[STATEMENT_BY_KEY]},
        [STATEMENT_MARK] = {&MARK_OWED, &params[STATEMENT_MARK]},
        [STATEMENT_GIVE_UP] = {&GIVE_UP, &params[STATEMENT_GIVE_UP]},
    };
    if (job->given_up == NULL) {
        mg_pg_refuse(store->pg, MG_PG_BUSY, "no memory", mg_store_job_answer, job);
    } else {
        mg_store_send(store, statements, job->room > 0 ? STATEMENT_COUNT : STATEMENT_GIVE_UP,
                      mg_store_job_answer, job);
    }
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        mg_pg_params_finish(&params[i]);
    }
}

/* ---- finding due retries ---- */

const struct mg_many_sql MG_STORE_ASK_OWED = {.before = &MG_STORE_BY_KEY,
                                              .all = MG_SQL_OF(ask_owed),
                                              .keys = MG_SQL_OF(ask_owed_keys),
                                              .among = MG_SQL_OF(ask_owed_among),
                                              .noun = "order",
                                              .verb = "asked for its owed statuses"};

struct ask_job {
    struct mg_store_job base;
    struct mg_due *dues;
    mg_store_owed_fn *done;
};

static void finish_ask(struct mg_store_job *base)
{
    free(((struct ask_job *)base)->dues);
}

static void on_asked(void *arg, const struct mg_pg_answer *reply)
{
    enum { IS_LEADER, ORDER_ID, VERSION, SEQ };
    struct ask_job *job = arg;
    struct mg_err err;
    const struct mg_rows *rows = reply->err == NULL ? reply->rows[1] : NULL;
    int count = rows != NULL ? mg_rows_count(rows) : 0, filled = 0;
    job->dues = calloc((size_t)count + 1, sizeof(*job->dues));
    for (int row = 0; row < count && job->dues != NULL; row++) {
        if (mg_rows_value(rows, row, ORDER_ID).data == NULL) {
            continue;
        }
        struct mg_due *due = &job->dues[filled++];
        mg_rows_copy(rows, row, ORDER_ID, due->order_id, sizeof(due->order_id));
        due->ask = MG_CAUSE_OWED;
        due->version = (uint64_t)mg_rows_int(rows, row, VERSION);
        due->seq = (uint64_t)mg_rows_int(rows, row, SEQ);
    }
    if (reply->err != NULL) {
        job->done(job->base.arg, false, NULL, 0, mg_store_error(reply, "find owed statuses", &err));
    } else if (job->dues == NULL) {
        (void)mg_err_set(&err, MG_TRANSIENT, "could not find owed statuses: no memory");
        job->done(job->base.arg, false, NULL, 0, &err);
    } else {
        job->done(job->base.arg, mg_rows_bool(rows, 0, IS_LEADER), job->dues, filled, NULL);
    }
}

void mg_store_ask_owed(struct mg_store *store, const struct mg_ask_owed *options, mg_store_owed_fn *done,
                       void *arg)
{
    struct ask_job *job = mg_store_job_create(store, sizeof(*job), on_asked, arg, finish_ask);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)options->epoch);
    mg_pg_add_text(&params, mg_slice_of(options->holder));
    mg_pg_add_int(&params, options->limit);
    mg_pg_add_int(&params, options->ask_again_ms);
    mg_store_send_many(store, &MG_STORE_ASK_OWED, &params, mg_store_job_answer, job);
}
