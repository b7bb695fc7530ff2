/*
 * Leadership: of the supervisors, or of the runners of bulk actions. The advisory lock of this session admits
 * a leader. The authority is a row (of supervisor_leader, of bulk_runner) with its epoch and holder, which
 * fences every act of a leader.
 *
 * A lock is valid only while this session alone has its backend. A pooler that gives each transaction to
 * another backend would leave the lock with another client. Such a pooler answers the handshake itself, with
 * a backend id of its own. So a session is refused before any lock is taken if its backend reports another
 * id. A lock that the next transaction does not find in pg_locks is refused too.
 */
#include <stdio.h>

#include "io/store/store_private.h"

/* Each kind of lead has its own lock. */
#define HELD_HERE(number)                                                                                    \
    "EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = " MG_SQL_LOCK_CLASS              \
    " AND objid = " number                                                                                   \
    " AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"      \
    " AND pid = pg_backend_pid() AND granted)"

/* clang-format off */
static const struct mg_sql IDENTIFY_BACKEND = {
    "",
    "SELECT pg_backend_pid()"};
/* clang-format on */

/* Taking a lock twice in one session would only count it twice. */
/* clang-format off */
#define LEAD(suffix, number, table, row, swept_at)                                                           \
    {{"try_lock" suffix,                                                                                     \
      "SELECT CASE WHEN h.is_held THEN true ELSE pg_try_advisory_lock(" MG_SQL_LOCK(number) ") END, "        \
      MG_SQL_MS(MG_SQL_NOW) ", " MG_SQL_HELD_BY(number, "t.seen_at")                                         \
      " FROM (SELECT " HELD_HERE(number) " AS is_held OFFSET 0) h"                                           \
      " LEFT JOIN " table " t ON t.name = '" row "'"},                                                       \
     {"take_epoch" suffix,                                                                                   \
      "UPDATE " table " SET epoch = epoch + 1, holder = $1::text, seen_at = " MG_SQL_NOW                     \
      " WHERE name = '" row "' AND " HELD_HERE(number) " RETURNING epoch, " MG_SQL_MS(MG_SQL_NOW) ", " swept_at}, \
     {"stop_leading" suffix,                                                                                 \
      "WITH resigned AS (UPDATE " table " SET holder = '' WHERE name = '" row "' AND epoch = $1::bigint"     \
      "  AND holder = $2::text)"                                                                             \
      " SELECT pg_advisory_unlock_all()"}}
static const struct {
    struct mg_sql try_lock, take_epoch, stop_leading;
} LEADS[] = {
    [MG_LEAD_SUPERVISORS] = LEAD("", "1", "supervisor_leader", "supervisor", MG_SQL_MS("swept_at")),
    [MG_LEAD_BULK] = LEAD("_bulk", "3", "bulk_runner", "bulk", "0::bigint"),
};
/* clang-format on */

struct lead_job {
    struct mg_store_job base;
    char holder[128];
    mg_store_lead_fn *done;
};

static void answer(struct lead_job *job, const struct mg_lead_answer *answer)
{
    mg_store_job_detach(&job->base);
    job->done(job->base.arg, answer, NULL);
    mg_store_job_destroy(&job->base);
}

static bool has_failed(struct lead_job *job, const struct mg_pg_answer *reply)
{
    if (reply->err == NULL) {
        return false;
    }
    struct mg_err err;
    mg_store_job_detach(&job->base);
    job->done(job->base.arg, NULL, mg_store_error(reply, "request the lead", &err));
    mg_store_job_destroy(&job->base);
    return true;
}

static void on_epoch(void *arg, const struct mg_pg_answer *reply)
{
    struct lead_job *job = arg;
    if (has_failed(job, reply)) {
        return;
    }
    const struct mg_rows *rows = reply->rows[0];
    if (mg_rows_count(rows) == 0) {
        answer(job,
               &(struct mg_lead_answer){
                   .refusal =
                       "cannot lead: the lock that this session took is not there in its next transaction; "
                       "connect without a pooler, and make the schema complete"});
        return;
    }
    struct mg_store *store = job->base.store;
    store->lead_epoch = (uint64_t)mg_rows_int(rows, 0, 0);
    snprintf(store->lead_holder, sizeof(store->lead_holder), "%s", job->holder);
    answer(job, &(struct mg_lead_answer){.is_leader = true,
                                         .epoch = store->lead_epoch,
                                         .now_ms = mg_rows_int(rows, 0, 1),
                                         .swept_at_ms = mg_rows_int(rows, 0, 2)});
}

static void on_lock(void *arg, const struct mg_pg_answer *reply)
{
    struct lead_job *job = arg;
    if (has_failed(job, reply)) {
        return;
    }
    if (!mg_rows_bool(reply->rows[0], 0, 0)) {
        char held_by[MG_HELD_BY_SIZE];
        mg_rows_copy(reply->rows[0], 0, 2, held_by, sizeof(held_by));
        answer(job,
               &(struct mg_lead_answer){.now_ms = mg_rows_int(reply->rows[0], 0, 1), .held_by = held_by});
        return;
    }
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(job->holder));
    mg_store_send_one(job->base.store, &LEADS[job->base.store->options.lead].take_epoch, &params, on_epoch,
                      job);
}

static void on_backend(void *arg, const struct mg_pg_answer *reply)
{
    struct lead_job *job = arg;
    if (has_failed(job, reply)) {
        return;
    }
    if (mg_rows_int(reply->rows[0], 0, 0) != mg_pg_backend_pid(job->base.store->pg)) {
        answer(job,
               &(struct mg_lead_answer){
                   .refusal =
                       "cannot lead through a connection pooler: the lock needs a session of its own; let "
                       "it reach PostgreSQL itself"});
        return;
    }
    mg_store_send_one(job->base.store, &LEADS[job->base.store->options.lead].try_lock, NULL, on_lock, job);
}

void mg_store_try_lead(struct mg_store *store, const char *holder, mg_store_lead_fn *done, void *arg)
{
    struct lead_job *job = mg_store_job_create(store, sizeof(*job), NULL, arg, NULL);
    snprintf(job->holder, sizeof(job->holder), "%s", holder);
    job->done = done;
    if (!store->options.is_leader_session) {
        /* Without the leader session's time-out a paused leader would keep the lock for ever. */
        mg_pg_refuse(store->pg, MG_PG_WRONG, "this store was not made for leading", on_backend, job);
        return;
    }
    mg_store_send_one(store, &IDENTIFY_BACKEND, NULL, on_backend, job);
}

void mg_store_stop_leading(struct mg_store *store, mg_store_done_fn *done, void *arg)
{
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)store->lead_epoch);
    mg_pg_add_text(&params, mg_slice_of(store->lead_holder));
    store->lead_epoch = 0;
    mg_store_send_one(store, &LEADS[store->options.lead].stop_leading, &params, mg_store_done_job_answer,
                      mg_store_done_job_create(store, done, arg));
}
