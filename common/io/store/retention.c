/* Retention: set by operators, carried out by the leading supervisor. store/retain.c handles the days. */
#include "io/store/retention.h"

#include <string.h>

#include "io/store/store_private.h"

/* $1 has hot, $2 hot, $3 has keep, $4 keep (ms; 0: none), $5 reason, $6 by */
/* clang-format off */
static const struct mg_sql SET_RETENTION = {
    "set_retention",
    "WITH written AS (UPDATE retention SET"
    "  hot = CASE $1::bigint WHEN 0 THEN hot ELSE nullif($2::bigint, 0) * interval '1 millisecond' END,"
    "  keep = CASE $3::bigint WHEN 0 THEN keep ELSE nullif($4::bigint, 0) * interval '1 millisecond' END,"
    "  reason = $5::text, by_whom = $6::text, set_at = " MG_SQL_NOW " WHERE name = 'orders' RETURNING hot, keep)"
    " INSERT INTO operator_action (by_whom, verb, subject, reason, detail)"
    " SELECT $6::text, 'db vacuum-policy', 'orders', $5::text, row_to_json(w) FROM written w"};

/* $1 epoch, $2 holder, $3 bite */
static const struct mg_sql RETIRE = {
    "retire",
    "SELECT outcome, moved, is_full, is_round, oldest_ms, failure"
    " FROM makegood_retire($1::bigint, $2::text, $3::bigint::integer)"};
/* clang-format on */
enum { COLUMN_OUTCOME, COLUMN_MOVED, COLUMN_IS_FULL, COLUMN_IS_ROUND, COLUMN_OLDEST, COLUMN_FAILURE };

void mg_store_set_retention(struct mg_store *store, const struct mg_retention *wanted, mg_store_done_fn *done,
                            void *arg)
{
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, wanted->has_hot ? 1 : 0);
    mg_pg_add_int(&params, wanted->hot_ms);
    mg_pg_add_int(&params, wanted->has_keep ? 1 : 0);
    mg_pg_add_int(&params, wanted->keep_ms);
    mg_pg_add_text(&params, mg_slice_of(wanted->reason));
    mg_pg_add_text(&params, mg_slice_of(wanted->by));
    mg_store_send_one(store, &SET_RETENTION, &params, mg_store_done_job_answer,
                      mg_store_done_job_create(store, done, arg));
}

struct retire_job {
    struct mg_store_job base;
    mg_store_retire_fn *done;
};

static enum mg_retire_outcome outcome_of(const struct mg_rows *rows)
{
    static const char *const words[] = {[MG_RETIRE_MOVED] = "moved",
                                        [MG_RETIRE_OFF] = "off",
                                        [MG_RETIRE_FENCED] = "fenced",
                                        [MG_RETIRE_NO_PARTITION] = "no_partition"};
    char word[16];
    int outcome = MG_RETIRE_NO_PARTITION;
    mg_rows_copy(rows, 0, COLUMN_OUTCOME, word, sizeof(word));
    while (outcome > MG_RETIRE_MOVED && strcmp(word, words[outcome]) != 0) {
        outcome--;
    }
    return (enum mg_retire_outcome)outcome;
}

static void on_retired(void *arg, const struct mg_pg_answer *reply)
{
    struct retire_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, mg_store_error(reply, "move ended orders to the archive", &err));
    } else {
        const struct mg_rows *rows = reply->rows[0];
        struct mg_retire_answer answer = {.outcome = outcome_of(rows),
                                          .moved = mg_rows_int(rows, 0, COLUMN_MOVED),
                                          .is_full = mg_rows_bool(rows, 0, COLUMN_IS_FULL),
                                          .is_round = mg_rows_bool(rows, 0, COLUMN_IS_ROUND),
                                          .oldest_ms = mg_rows_int(rows, 0, COLUMN_OLDEST)};
        mg_rows_copy(rows, 0, COLUMN_FAILURE, answer.failure, sizeof(answer.failure));
        job->done(job->base.arg, &answer, NULL);
    }
}

void mg_store_retire(struct mg_store *store, uint64_t epoch, const char *holder, int bite,
                     mg_store_retire_fn *done, void *arg)
{
    struct retire_job *job = mg_store_job_create(store, sizeof(*job), on_retired, arg, NULL);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)epoch);
    mg_pg_add_text(&params, mg_slice_of(holder));
    mg_pg_add_int(&params, bite);
    mg_store_send_one(store, &RETIRE, &params, mg_store_job_answer, job);
}
