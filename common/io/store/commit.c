/*
 * Writes any number of orders in one transaction, each guarded by its version (law 4, version guard): all are
 * stored or none is.
 *
 * One failed guard undoes all its neighbours. Then a query finds the orders with a failed guard, their
 * callers get the result, and the others are written without them. A row that PostgreSQL can never store also
 * undoes all, but no guard identifies it. So a refused batch is halved until that order stands alone. A guard
 * may fail in the write and hold in the query, because its order has just left for the archive. So an order
 * that stands alone is tried again before it is given up. After a deadlock or a lost race for a lock the
 * write is repeated a few times. After a lost session it is not: the commit may have happened, so the caller
 * must load and decide anew, which the version makes safe. A repetition never uses another session than the
 * first try: after a failover that lost commits, the same version may have other content.
 *
 * A stopped writer may hold a lock in the middle of a write (SIGSTOP, a paused container). libpq gives a long
 * write to the kernel in pieces, and its first statements may have run before the last ones leave. Its
 * transaction stays open while the client sleeps. The server sees an active session, so
 * idle_in_transaction_session_timeout does not apply. statement_timeout ends with each Execute (PostgreSQL
 * 15, 20.11), and the sleeper's kernel still answers keepalives. So a writer that waited in vain ends such
 * sessions before it tries again; their clients see a lost session.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/log.h"
#include "core/backoff.h"
#include "io/store/private.h"

/* Deadlocks are rare, since rows are written in the order of their ids. Five in a row have another cause. */
#define TRIES_MAX    5
#define RETRY_MIN_MS 20
#define RETRY_MAX_MS 500
/* Halving leaves at most one waiting half per level; a batch has fewer than 2^32 orders. */
#define RANGES_MAX 34

/* SQLSTATEs of a failed guard: a statement divides by zero if rows are missing, or a new order's row already
 * exists. */
#define NOT_ALL_ROWS "22012"
#define ROW_EXISTS   "23505"
/* lock_timeout has expired. */
#define LOCK_NOT_AVAILABLE "55P03"

static const struct mg_sql FIND_CONFLICTS = {
    "find_conflicts",
    "SELECT i.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS i(n, order_id, expected)"
    " LEFT JOIN order_process p ON p.order_id = i.order_id WHERE coalesce(p.version, 0) <> i.expected"};

/*
 * Ends sessions of this program's other processes that have waited for their client's next message for 5 s.
 * That is the limit of idle_in_transaction_session_timeout for the sessions that it covers. Messages of one
 * call leave together, except where libpq and the kernel cut them. A role may end its own other sessions
 * (PostgreSQL 15, 9.27.2).
 */
static const struct mg_sql END_STALLED = {
    "end_stalled",
    "SELECT pid::bigint, coalesce(host(client_addr) || ':' || client_port, 'local'), pg_terminate_backend(pid)"
    " FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = current_setting('application_name')"
    " AND usename = current_user AND pid <> pg_backend_pid() AND state = 'active'"
    " AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - interval '5 s'"};

struct range {
    int from, to; /* indices into `sorted`, half open */
};

struct commit_job {
    struct mg_store_job base;
    struct mg_order_write *writes;
    int count;
    int *sorted; /* indices of `writes` by order id */
    struct range ranges[RANGES_MAX];
    int range_count;
    char refusal[sizeof((struct mg_order_write *)0)->text]; /* last refusal of the current range */
    uint32_t tries;
    bool is_locked_out; /* another session held its lock too long */
    uint64_t losses;    /* the store's count of losses at the first try */
    struct mg_timer *retry;
    mg_store_done_fn *done;
    void *arg;
};

static void run_next(struct commit_job *job);
static void on_retry(void *arg);

/* ---- running ---- */

static void finish_job(struct mg_store_job *base)
{
    struct commit_job *job = (struct commit_job *)base;
    mg_timer_destroy(job->retry);
    free(job->sorted);
}

static void answer(struct commit_job *job, const struct mg_err *err)
{
    mg_store_job_detach(&job->base);
    job->done(job->arg, err);
    mg_store_job_destroy(&job->base);
}

/* True: it will be tried again. */
static bool retry_later(struct commit_job *job)
{
    if (job->tries >= TRIES_MAX) {
        return false;
    }
    if (job->retry == NULL) {
        job->retry = mg_timer_create(job->base.store->loop, on_retry, job);
    }
    if (job->retry == NULL) {
        return false;
    }
    mg_timer_start(job->retry, mg_backoff_ms(RETRY_MIN_MS, RETRY_MAX_MS, job->tries, -1, mg_random_u64()), 0);
    job->tries++;
    return true;
}

/* Halves the current range: one of its orders is the cause, but the error does not name it. */
static void split(struct commit_job *job)
{
    struct range range = job->ranges[--job->range_count];
    job->tries = 0;
    if (range.to - range.from == 1) {
        struct mg_order_write *write = &job->writes[job->sorted[range.from]];
        write->result = MG_WRITE_POISONED;
        memcpy(write->text, job->refusal, sizeof(write->text));
    } else {
        int middle = range.from + (range.to - range.from) / 2;
        assert(job->range_count + 2 <= RANGES_MAX);
        job->ranges[job->range_count++] = (struct range){middle, range.to};
        job->ranges[job->range_count++] = (struct range){range.from, middle};
    }
    run_next(job);
}

/* Orders with a failed guard leave the current range; the others stay in order. */
static void on_asked(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    struct range *range = &job->ranges[job->range_count - 1];
    struct mg_err err;
    if (reply->fault == MG_PG_RETRY && retry_later(job)) {
        return;
    }
    if (reply->fault != MG_PG_NONE) {
        answer(job, mg_store_error(reply, "read the versions of orders", &err));
        return;
    }
    for (int row = 0; row < mg_rows_count(reply->rows[0]); row++) {
        int index = mg_store_index_of(reply->rows[0], row, job->count, &err);
        if (index < 0) {
            (void)mg_err_prefix(&err, "cannot determine which orders were written");
            answer(job, &err);
            return;
        }
        job->writes[index].result = MG_WRITE_CONFLICT;
    }
    int left = range->from;
    for (int i = range->from; i < range->to; i++) {
        if (job->writes[job->sorted[i]].result != MG_WRITE_CONFLICT) {
            job->sorted[left++] = job->sorted[i];
        }
    }
    if (left == range->to) {
        /* All guards hold: another cause, or the order in conflict has left for the archive since. */
        if (range->to - range->from > 1 || !retry_later(job)) {
            split(job);
        }
        return;
    }
    range->to = left;
    if (left == range->from) {
        job->range_count--;
    }
    run_next(job);
}

static void ask(struct commit_job *job)
{
    struct range range = job->ranges[job->range_count - 1];
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    int n = mg_pg_add_array(&params, MG_PG_INT), order_id = mg_pg_add_array(&params, MG_PG_TEXT),
        expected = mg_pg_add_array(&params, MG_PG_INT);
    for (int i = range.from; i < range.to; i++) {
        const struct mg_order_write *write = &job->writes[job->sorted[i]];
        mg_pg_push_int(&params, n, job->sorted[i]);
        mg_pg_push_text(&params, order_id, mg_slice_of(write->record->order_id));
        mg_pg_push_int(&params, expected, (int64_t)write->expected_version);
    }
    mg_store_send_one(job->base.store, &FIND_CONFLICTS, &params, on_asked, job);
}

static void on_written(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    struct range range = job->ranges[job->range_count - 1];
    struct mg_err err;
    job->is_locked_out = strcmp(reply->sqlstate, LOCK_NOT_AVAILABLE) == 0;
    if (reply->fault == MG_PG_RETRY && retry_later(job)) {
        return;
    }
    if (reply->fault != MG_PG_NONE && reply->fault != MG_PG_DATA) {
        answer(job, mg_store_error(reply, "write orders", &err));
        return;
    }
    if (reply->fault == MG_PG_NONE) {
        for (int i = range.from; i < range.to; i++) {
            job->writes[job->sorted[i]].result = MG_WRITE_DONE;
        }
        job->range_count--;
        job->tries = 0;
        run_next(job);
        return;
    }
    snprintf(job->refusal, sizeof(job->refusal), "%.*s", (int)sizeof(job->refusal) - 1, reply->err->text);
    bool may_be_conflict =
        strcmp(reply->sqlstate, NOT_ALL_ROWS) == 0 || strcmp(reply->sqlstate, ROW_EXISTS) == 0;
    if (may_be_conflict) {
        ask(job);
    } else {
        split(job);
    }
}

static void run_next(struct commit_job *job)
{
    if (job->range_count == 0) {
        answer(job, NULL);
        return;
    }
    struct range range = job->ranges[job->range_count - 1];
    struct mg_store_write write;
    mg_store_write_begin(&write);
    for (int i = range.from; i < range.to; i++) {
        mg_store_write_add(&write, &job->writes[job->sorted[i]]);
    }
    mg_store_write_send(job->base.store, &write, on_written, job);
}

static void on_stalled_ended(void *arg, const struct mg_pg_answer *reply)
{
    (void)arg;
    if (reply->fault != MG_PG_NONE) {
        return; /* the write behind it reports the error */
    }
    for (int row = 0; row < mg_rows_count(reply->rows[0]); row++) {
        if (!mg_rows_bool(reply->rows[0], row, 2)) {
            continue; /* it had already ended */
        }
        char client[64]; /* an address and a port */
        mg_rows_copy(reply->rows[0], row, 1, client, sizeof(client));
        mg_log(MG_LOG_WARN, "terminated a database session that was stalled during a write",
               MG_LOG_NUMBER("backend", mg_rows_int(reply->rows[0], row, 0)), MG_LOG_TEXT("client", client));
    }
}

static void on_retry(void *arg)
{
    struct commit_job *job = arg;
    struct mg_store *store = job->base.store;
    if (job->losses != store->losses) {
        mg_pg_refuse(store->pg, MG_PG_LOST, "the database session in which it began was lost", on_written,
                     job);
        return;
    }
    if (job->is_locked_out) {
        mg_store_send_one(store, &END_STALLED, NULL, on_stalled_ended, NULL);
    }
    run_next(job);
}

static int compare_by_order_id(const void *a, const void *b, void *arg)
{
    const struct mg_order_write *writes = arg;
    return strcmp(writes[*(const int *)a].record->order_id, writes[*(const int *)b].record->order_id);
}

static void on_no_writes(void *arg, const struct mg_pg_answer *reply)
{
    (void)reply; /* no statement was sent: an empty batch is done */
    answer(arg, NULL);
}

static void on_no_memory(void *arg, const struct mg_pg_answer *reply)
{
    answer(arg, reply->err);
}

void mg_store_commit(struct mg_store *store, struct mg_order_write *writes, int count, mg_store_done_fn *done,
                     void *arg)
{
    struct commit_job *job = mg_store_job_create(store, sizeof(*job), finish_job);
    job->writes = writes;
    job->count = count;
    job->losses = store->losses;
    job->done = done;
    job->arg = arg;
    if (count == 0) {
        mg_pg_refuse(store->pg, MG_PG_BUSY, "", on_no_writes, job);
        return;
    }
    job->sorted = calloc((size_t)count, sizeof(*job->sorted));
    if (job->sorted == NULL) {
        mg_pg_refuse(store->pg, MG_PG_BUSY, "could not write orders: no memory", on_no_memory, job);
        return;
    }
    for (int i = 0; i < count; i++) {
        job->sorted[i] = i;
        writes[i].result = MG_WRITE_DONE;
        writes[i].text[0] = '\0';
    }
    /* Every writer takes the rows in this order, so two batches cannot deadlock. */
    qsort_r(job->sorted, (size_t)count, sizeof(*job->sorted), compare_by_order_id, writes);
    job->ranges[job->range_count++] = (struct range){0, count};
    run_next(job);
}
