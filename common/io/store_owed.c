/* Statuses that are owed to a client: marked when the broker would not take them, read again when the
 * supervisor asks. */
#include "io/store_private.h"

/* The oldest first; what is not among them is asked for again. */
/* clang-format off */
static const struct mg_sql LOAD_OWED_EVENTS = {
    "load_owed_events",
    "SELECT e.order_id, " MG_SQL_EVENT_COLUMNS " FROM order_event e WHERE e.order_id = $1::text AND e.owed"
    " ORDER BY e.version LIMIT 64"};
/* clang-format on */

/* clang-format off */
static const struct mg_sql MARK_OWED = {
    "mark_owed",
    "UPDATE order_event e SET owed = i.owed, owed_asked_at = NULL"
    " FROM (SELECT * FROM unnest($1::text[], $2::bigint[], $3::boolean[]) AS u(order_id, version, owed)"
    "  ORDER BY order_id, version) i"
    " WHERE e.order_id = i.order_id AND e.version = i.version AND e.owed <> i.owed"};
/* clang-format on */

/* Room for an order with 64 events' texts; what does not fit is answered as MG_TRANSIENT and left owed. */
#define OWED_BYTES_MAX (16u * 1024 * 1024)

struct owed_job {
    struct mg_store_job base;
    struct mg_arena *arena;
    mg_store_events_fn *done;
    void *arg;
};

static void finish_owed(struct mg_store_job *base)
{
    mg_arena_destroy(((struct owed_job *)base)->arena);
}

static void answer_owed(struct owed_job *job, const struct mg_order_record *record,
                        const struct mg_event_record *events, int count, const struct mg_err *err)
{
    mg_store_job_detach(&job->base);
    job->done(job->arg, record, events, count, err);
    mg_store_job_destroy(&job->base);
}

static void on_owed(void *arg, const struct mg_pg_answer *reply)
{
    struct owed_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        answer_owed(job, NULL, NULL, 0, mg_store_error(reply, "read owed statuses", &err));
        return;
    }
    struct mg_loaded loaded = {.record = NULL};
    int count = mg_rows_count(reply->rows[1]);
    struct mg_event_record *events =
        job->arena == NULL ? NULL : mg_arena_alloc(job->arena, ((size_t)count + 1) * sizeof *events);
    if (events == NULL) {
        (void)mg_err_set(&err, MG_TRANSIENT, "could not read owed statuses: no memory");
        answer_owed(job, NULL, NULL, 0, &err);
        return;
    }
    enum mg_class class = mg_store_take_orders(job->arena, reply->rows[0], &loaded, 1, &err);
    for (int row = 0; class == MG_OK && row < count; row++) {
        class = mg_store_take_event(job->arena, reply->rows[1], row, &events[row], &err);
    }
    if (class != MG_OK) {
        answer_owed(job, NULL, NULL, 0, &err);
    } else {
        answer_owed(job, loaded.record, events, count, NULL);
    }
}

void mg_store_load_owed(struct mg_store *store, const char *order_id, mg_store_events_fn *done, void *arg)
{
    struct owed_job *job = mg_store_job_create(store, sizeof *job, finish_owed);
    job->arena = mg_arena_create(OWED_BYTES_MAX);
    job->done = done;
    job->arg = arg;
    struct mg_pg_params order_params, event_params;
    mg_pg_params_init(&order_params);
    mg_pg_params_init(&event_params);
    mg_pg_push_int(&order_params, mg_pg_add_array(&order_params, MG_PG_INT), 0);
    mg_pg_push_text(&order_params, mg_pg_add_array(&order_params, MG_PG_TEXT), mg_slice_of(order_id));
    mg_pg_add_text(&event_params, mg_slice_of(order_id));
    struct mg_pg_statement statements[] = {{&MG_STORE_LOAD_ORDERS, &order_params},
                                           {&LOAD_OWED_EVENTS, &event_params}};
    mg_store_send(store, statements, 2, on_owed, job);
    mg_pg_params_finish(&order_params);
    mg_pg_params_finish(&event_params);
}

void mg_store_mark_owed(struct mg_store *store, const struct mg_owed *marks, int count,
                        mg_store_done_fn *done, void *arg)
{
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    int order_id = mg_pg_add_array(&params, MG_PG_TEXT), version = mg_pg_add_array(&params, MG_PG_INT);
    int owed = mg_pg_add_array(&params, MG_PG_BOOL);
    for (int i = 0; i < count; i++) {
        mg_pg_push_text(&params, order_id, mg_slice_of(marks[i].order_id));
        mg_pg_push_int(&params, version, (int64_t)marks[i].version);
        mg_pg_push_bool(&params, owed, marks[i].is_owed);
    }
    mg_store_send_one(store, &MARK_OWED, &params, mg_store_done_job_answer,
                      mg_store_done_job_create(store, done, arg));
}
