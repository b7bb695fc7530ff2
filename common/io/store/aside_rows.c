/*
 * Orders that are set aside (table order_aside): no cause of them is taken until they are readmitted. No call
 * here reads a row of the order itself, which may be locked or damaged. The alert `set_aside` is opened and
 * closed by a trigger, for all writers alike.
 */
#include <stdlib.h>

#include "io/store/store_private.h"

/* clang-format off */
static const struct mg_sql SET_ASIDE = {
    "set_aside",
    "INSERT INTO order_aside (order_id, by_whom, reason) VALUES ($1::text, $2::text, $3::text)"
    " ON CONFLICT DO NOTHING RETURNING order_id"};
#define NOTED(verb)                                                                                          \
    ", noted AS (INSERT INTO operator_action (by_whom, verb, subject, reason, detail)"                       \
    "  SELECT $2::text, " verb ", order_id, $3::text, row_to_json(c) FROM changed c)"                        \
    " SELECT order_id FROM changed"
static const struct mg_sql SET_ASIDE_NOTED = {
    "set_aside_noted",
    "WITH changed AS (INSERT INTO order_aside (order_id, by_whom, reason) VALUES ($1::text, $2::text, $3::text)"
    " ON CONFLICT DO NOTHING RETURNING *)" NOTED("'order set-aside'")};
static const struct mg_sql READMIT_NOTED = {
    "readmit_noted",
    "WITH changed AS (DELETE FROM order_aside WHERE order_id = $1::text RETURNING *)" NOTED("'order readmit'")};
static const struct mg_sql READ_ASIDE = {
    "read_aside",
    "SELECT by_whom, reason FROM order_aside WHERE order_id = $1::text"};
static const struct mg_sql LIST_ASIDE = {
    "list_aside",
    "SELECT order_id FROM order_aside ORDER BY order_id COLLATE \"C\" LIMIT $1::bigint"};
/* clang-format on */

struct aside_job {
    struct mg_store_job base;
    mg_store_changed_fn *changed;
    mg_store_aside_fn *read;
    mg_store_asides_fn *listed;
};

static void on_changed(void *arg, const struct mg_pg_answer *reply)
{
    struct aside_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->changed(job->base.arg, false, mg_store_error(reply, "write which orders are set aside", &err));
    } else {
        job->changed(job->base.arg, mg_rows_count(reply->rows[0]) > 0, NULL);
    }
}

static void write_row(struct mg_store *store, const struct mg_sql *sql, const struct mg_aside *aside,
                      mg_store_changed_fn *done, void *arg)
{
    struct aside_job *job = mg_store_job_create(store, sizeof(*job), on_changed, arg, NULL);
    job->changed = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(aside->order_id));
    mg_pg_add_text(&params, mg_slice_of(aside->by));
    mg_pg_add_text(&params, mg_slice_of(aside->reason));
    mg_store_send_one(store, sql, &params, mg_store_job_answer, job);
}

void mg_store_set_aside(struct mg_store *store, const struct mg_aside *aside, mg_store_changed_fn *done,
                        void *arg)
{
    write_row(store, aside->is_operators ? &SET_ASIDE_NOTED : &SET_ASIDE, aside, done, arg);
}

void mg_store_readmit(struct mg_store *store, const struct mg_aside *aside, mg_store_changed_fn *done,
                      void *arg)
{
    write_row(store, &READMIT_NOTED, aside, done, arg);
}

static void on_read(void *arg, const struct mg_pg_answer *reply)
{
    struct aside_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->read(job->base.arg, NULL, NULL,
                  mg_store_error(reply, "read whether the order is set aside", &err));
    } else if (mg_rows_count(reply->rows[0]) == 0) {
        job->read(job->base.arg, NULL, NULL, NULL);
    } else {
        char by[256], reason[1024];
        mg_rows_copy(reply->rows[0], 0, 0, by, sizeof(by));
        mg_rows_copy(reply->rows[0], 0, 1, reason, sizeof(reason));
        job->read(job->base.arg, by, reason, NULL);
    }
}

void mg_store_read_aside(struct mg_store *store, const char *order_id, mg_store_aside_fn *done, void *arg)
{
    struct aside_job *job = mg_store_job_create(store, sizeof(*job), on_read, arg, NULL);
    job->read = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(order_id));
    mg_store_send_one(store, &READ_ASIDE, &params, mg_store_job_answer, job);
}

static void on_listed(void *arg, const struct mg_pg_answer *reply)
{
    struct aside_job *job = arg;
    char(*order_ids)[MG_ORDER_ID_MAX + 1] = NULL;
    struct mg_err err;
    int count = reply->err == NULL ? mg_rows_count(reply->rows[0]) : 0;
    if (count > 0) {
        order_ids = malloc((size_t)count * sizeof(*order_ids));
    }
    if (reply->err != NULL) {
        job->listed(job->base.arg, NULL, 0,
                    mg_store_error(reply, "list the orders that are set aside", &err));
    } else if (order_ids == NULL && count > 0) {
        (void)mg_err_set(&err, MG_TRANSIENT, "could not list the orders that are set aside: no memory");
        job->listed(job->base.arg, NULL, 0, &err);
    } else {
        for (int row = 0; row < count; row++) {
            mg_rows_copy(reply->rows[0], row, 0, order_ids[row], sizeof(order_ids[row]));
        }
        job->listed(job->base.arg, (const char(*)[MG_ORDER_ID_MAX + 1]) order_ids, count, NULL);
    }
    free(order_ids);
}

void mg_store_list_aside(struct mg_store *store, mg_store_asides_fn *done, void *arg)
{
    struct aside_job *job = mg_store_job_create(store, sizeof(*job), on_listed, arg, NULL);
    job->listed = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, MG_ASIDE_LISTED_MAX);
    mg_store_send_one(store, &LIST_ASIDE, &params, mg_store_job_answer, job);
}
