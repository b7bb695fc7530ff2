/* See signal_rows.h. */
#include "io/store/signal_rows.h"

#include <stdio.h>
#include <string.h>

#include "io/store/sql.h"
#include "io/store/store_private.h"

static const struct mg_sql KEEP_SIGNAL = MG_SQL_OF(keep_signal);
static const struct mg_sql MATCH_SIGNAL = MG_SQL_OF(match_signal);
static const struct mg_sql REFUSE_SIGNAL = MG_SQL_OF(refuse_signal);

struct signal_job {
    struct mg_store_job base;
    char signal[MG_KEPT_TEXT_MAX + 1], key[MG_KEPT_TEXT_MAX + 1]; /* of a match */
    mg_store_keep_fn *kept;
    mg_store_match_fn *matched;
};

static void on_kept(void *arg, const struct mg_pg_answer *reply)
{
    struct signal_job *job = arg;
    char taken_by[MG_ORDER_ID_MAX + 1];
    struct mg_err err;
    if (reply->err != NULL) {
        job->kept(job->base.arg, MG_KEEP_DONE, "", mg_store_error(reply, "keep a signal", &err));
        return;
    }
    mg_rows_copy(reply->rows[0], 0, 1, taken_by, sizeof(taken_by));
    struct mg_slice word = mg_rows_value(reply->rows[0], 0, 0);
    job->kept(job->base.arg,
              mg_slice_is(word, "taken")  ? MG_KEEP_TAKEN
              : mg_slice_is(word, "full") ? MG_KEEP_FULL
                                          : MG_KEEP_DONE,
              taken_by, NULL);
}

void mg_store_keep_signal(struct mg_store *store, const struct mg_kept_signal *signal, mg_store_keep_fn *done,
                          void *arg)
{
    struct signal_job *job = mg_store_job_create(store, sizeof(*job), on_kept, arg, NULL);
    struct mg_pg_params params;
    job->kept = done;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(signal->signal));
    mg_pg_add_text(&params, mg_slice_of(signal->signal_id));
    mg_pg_add_text(&params, mg_slice_of(signal->key));
    mg_pg_add_text(&params, signal->payload);
    mg_pg_add_text(&params, mg_slice_of(signal->by));
    mg_pg_add_text(&params, mg_slice_of(signal->client));
    mg_store_send_one(store, &KEEP_SIGNAL, &params, mg_store_job_answer, job);
}

static void on_matched(void *arg, const struct mg_pg_answer *reply)
{
    enum { ORDER_ID, SIGNAL_ID, PAYLOAD, BY, CLIENT };
    struct signal_job *job = arg;
    char order_id[MG_ORDER_ID_MAX + 1], signal_id[MG_KEPT_TEXT_MAX + 1];
    char by[MG_KEPT_TEXT_MAX + 1], client[MG_KEPT_TEXT_MAX + 1];
    struct mg_err err;
    if (reply->err != NULL || mg_rows_count(reply->rows[0]) == 0) {
        job->matched(job->base.arg, NULL, NULL,
                     reply->err == NULL ? NULL : mg_store_error(reply, "find the order of a signal", &err));
        return;
    }
    const struct mg_rows *rows = reply->rows[0];
    mg_rows_copy(rows, 0, ORDER_ID, order_id, sizeof(order_id));
    mg_rows_copy(rows, 0, SIGNAL_ID, signal_id, sizeof(signal_id));
    mg_rows_copy(rows, 0, BY, by, sizeof(by));
    mg_rows_copy(rows, 0, CLIENT, client, sizeof(client));
    const struct mg_kept_signal signal = {.signal = job->signal,
                                          .signal_id = signal_id,
                                          .key = job->key,
                                          .by = by,
                                          .client =
                                              mg_rows_value(rows, 0, CLIENT).data != NULL ? client : NULL,
                                          .payload = mg_rows_value(rows, 0, PAYLOAD)};
    job->matched(job->base.arg, order_id, &signal, NULL);
}

void mg_store_match_signal(struct mg_store *store, const struct mg_signal_query *query,
                           mg_store_match_fn *done, void *arg)
{
    struct signal_job *job = mg_store_job_create(store, sizeof(*job), on_matched, arg, NULL);
    struct mg_pg_params params;
    job->matched = done;
    (void)snprintf(job->signal, sizeof(job->signal), "%s", query->signal);
    (void)snprintf(job->key, sizeof(job->key), "%s", query->key);
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(query->signal));
    mg_pg_add_text(&params, mg_slice_of(query->key));
    mg_pg_add_text(&params, mg_slice_of(query->signal_id));
    mg_pg_add_text(&params, mg_slice_of(query->order_id));
    mg_store_send_one(store, &MATCH_SIGNAL, &params, mg_store_job_answer, job);
}

void mg_store_refuse_signal(struct mg_store *store, const char *signal, const char *key,
                            const char *signal_id, mg_store_done_fn *done, void *arg)
{
    struct mg_store_done_job *job = mg_store_done_job_create(store, done, arg);
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(signal));
    mg_pg_add_text(&params, mg_slice_of(key));
    mg_pg_add_text(&params, mg_slice_of(signal_id));
    mg_store_send_one(store, &REFUSE_SIGNAL, &params, mg_store_done_job_answer, job);
}
