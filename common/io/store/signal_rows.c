/* See signal_rows.h. */
#include "io/store/signal_rows.h"

#include <assert.h>
#include <stdio.h>

#include "io/store/sql.h"
#include "io/store/store_private.h"

static const struct mg_sql KEEP_SIGNAL = MG_SQL_OF(keep_signal);
static const struct mg_sql MATCH_SIGNAL = MG_SQL_OF(match_signal);
static const struct mg_sql REFUSE_SIGNAL = MG_SQL_OF(refuse_signal);
static const struct mg_sql FIND_MATCHES = MG_SQL_OF(find_matches);
static const struct mg_sql FORGET_SIGNALS = MG_SQL_OF(forget_signals);
static const struct mg_sql FIND_LOST_SIGNALS = MG_SQL_OF(find_lost_signals);

static_assert(MG_SQL_forget_signals_kept_days == MG_SQL_match_signal_kept_days &&
                  MG_SQL_find_matches_kept_days == MG_SQL_match_signal_kept_days &&
                  MG_SQL_find_lost_signals_kept_days == MG_SQL_match_signal_kept_days,
              "the same");
/* A match is found at the last moment, and its commit follows: the row of such a signal must still be there.
 */
static_assert(MG_SQL_forget_signals_forget_days > MG_SQL_match_signal_kept_days,
              "an order may have it in hand");

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

/* ---- waits that are over ---- */

struct matches_job {
    struct mg_store_job base;
    mg_store_matches_fn *done;
    int count;
    bool is_matched[];
};

static void on_matches(void *arg, const struct mg_pg_answer *reply)
{
    struct matches_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, mg_store_error(reply, "look for signals at the end of a wait", &err));
        return;
    }
    for (int row = 0; row < mg_rows_count(reply->rows[0]); row++) {
        int n = mg_store_index_of(reply->rows[0], row, job->count, &err);
        if (n >= 0) {
            job->is_matched[n] = true;
        }
    }
    job->done(job->base.arg, job->is_matched, NULL);
}

void mg_store_find_matches(struct mg_store *store, const struct mg_wait_over *waits, int count,
                           mg_store_matches_fn *done, void *arg)
{
    enum { N, ORDER_ID, SIGNAL, KEY, ENDS_AT };
    size_t size = sizeof(struct matches_job) + (size_t)count * sizeof(bool);
    struct matches_job *job = mg_store_job_create(store, size, on_matches, arg, NULL);
    struct mg_pg_params params;
    job->done = done;
    job->count = count;
    mg_pg_params_init(&params);
    (void)mg_pg_add_array(&params, MG_PG_INT);
    for (int i = ORDER_ID; i <= KEY; i++) {
        (void)mg_pg_add_array(&params, MG_PG_TEXT);
    }
    (void)mg_pg_add_array(&params, MG_PG_INT);
    for (int i = 0; i < count; i++) {
        mg_pg_push_int(&params, N, i);
        mg_pg_push_text(&params, ORDER_ID, mg_slice_of(waits[i].order_id));
        mg_pg_push_text(&params, SIGNAL, waits[i].signal);
        mg_pg_push_text(&params, KEY, waits[i].key);
        mg_pg_push_int(&params, ENDS_AT, waits[i].ends_at_ms);
    }
    mg_store_send_one(store, &FIND_MATCHES, &params, mg_store_job_answer, job);
}

/* ---- lost looks ---- */

struct lost_job {
    struct mg_store_job base;
    mg_store_lost_fn *done;
};

static void on_lost(void *arg, const struct mg_pg_answer *reply)
{
    enum { SIGNAL, KEY, SIGNAL_ID };
    struct lost_job *job = arg;
    struct mg_lost_signal signals[MG_LOST_SIGNALS_MAX + 1], next = {.signal = ""};
    struct mg_err err;
    int count = 0;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, 0, &next, mg_store_error(reply, "look for lost signals", &err));
        return;
    }
    const struct mg_rows *rows = reply->rows[0];
    for (int row = 0; row < mg_rows_count(rows) && row <= MG_LOST_SIGNALS_MAX; row++) {
        struct mg_lost_signal *signal = mg_rows_is_null(rows, row, SIGNAL_ID) ? &next : &signals[count++];
        mg_rows_copy(rows, row, SIGNAL, signal->signal, sizeof(signal->signal));
        mg_rows_copy(rows, row, KEY, signal->key, sizeof(signal->key));
        mg_rows_copy(rows, row, SIGNAL_ID, signal->signal_id, sizeof(signal->signal_id));
    }
    job->done(job->base.arg, signals, count, &next, NULL);
}

void mg_store_find_lost_signals(struct mg_store *store, const char *after_signal, const char *after_key,
                                mg_store_lost_fn *done, void *arg)
{
    struct lost_job *job = mg_store_job_create(store, sizeof(*job), on_lost, arg, NULL);
    struct mg_pg_params params;
    job->done = done;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(after_signal));
    mg_pg_add_text(&params, mg_slice_of(after_key));
    mg_pg_add_int(&params, MG_LOST_SIGNALS_MAX);
    mg_store_send_one(store, &FIND_LOST_SIGNALS, &params, mg_store_job_answer, job);
}

/* ---- for the supervisor ---- */

struct forget_job {
    struct mg_store_job base;
    mg_store_forget_signals_fn *done;
};

static void on_forgotten(void *arg, const struct mg_pg_answer *reply)
{
    enum { FORGOTTEN, UNMATCHED, KEPT, OLDEST, LATE, SIGNAL, SIGNAL_ID, BY };
    struct forget_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, mg_store_error(reply, "delete old signals", &err));
        return;
    }
    const struct mg_rows *rows = reply->rows[0];
    struct mg_kept_figures figures = {.forgotten = mg_rows_int(rows, 0, FORGOTTEN),
                                      .unmatched = mg_rows_int(rows, 0, UNMATCHED),
                                      .kept = mg_rows_int(rows, 0, KEPT),
                                      .oldest_ms = mg_rows_int(rows, 0, OLDEST),
                                      .late = mg_rows_int(rows, 0, LATE)};
    mg_rows_copy(rows, 0, SIGNAL, figures.signal, sizeof(figures.signal));
    mg_rows_copy(rows, 0, SIGNAL_ID, figures.signal_id, sizeof(figures.signal_id));
    mg_rows_copy(rows, 0, BY, figures.by, sizeof(figures.by));
    job->done(job->base.arg, &figures, NULL);
}

void mg_store_forget_signals(struct mg_store *store, uint64_t epoch, const char *holder, int64_t bite,
                             int64_t late_for_ms, mg_store_forget_signals_fn *done, void *arg)
{
    struct forget_job *job = mg_store_job_create(store, sizeof(*job), on_forgotten, arg, NULL);
    struct mg_pg_params params;
    job->done = done;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)epoch);
    mg_pg_add_text(&params, mg_slice_of(holder));
    mg_pg_add_int(&params, bite);
    mg_pg_add_int(&params, late_for_ms);
    mg_store_send_one(store, &FORGET_SIGNALS, &params, mg_store_job_answer, job);
}
