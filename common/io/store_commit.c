/*
 * Writing orders: one statement that inserts and updates any number of them, each guarded by its version, and
 * lets their steps, events, payloads and alerts follow only where the guard held (law 4). One statement is
 * one transaction: an order is stored whole or not at all.
 *
 * A row that PostgreSQL can never store would undo its neighbours, so a refused batch is halved until it
 * stands alone. A deadlock or a lost race for a lock is run again a few times. A lost session is not: nobody
 * knows what was committed, so the caller must load and decide anew, which the version makes safe.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "core/backoff.h"
#include "io/store_private.h"

/* Deadlocks are rare, since rows are written in the order of their ids; five in a row are something else. */
#define TRIES_MAX    5
#define RETRY_MIN_MS 20
#define RETRY_MAX_MS 500
/* Halving leaves at most one waiting half a level; 2^32 orders are not in one batch. */
#define RANGES_MAX 34

struct range {
    int from, to; /* of `sorted`, half open */
};

struct commit_job {
    struct mg_store_job base;
    struct mg_order_write *writes;
    int *sorted; /* indices of `writes` by order id */
    struct range ranges[RANGES_MAX];
    int range_count;
    uint32_t tries;
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

static void set_poisoned(struct mg_order_write *write, const struct mg_pg_answer *refusal)
{
    write->result = MG_WRITE_POISONED;
    snprintf(write->text, sizeof write->text, "%.*s", (int)sizeof write->text - 1, refusal->err->text);
}

/* True: it can be tried again. */
static bool retry_later(struct commit_job *job)
{
    if (job->tries >= TRIES_MAX) return false;
    if (job->retry == NULL) job->retry = mg_timer_create(job->base.store->loop, on_retry, job);
    if (job->retry == NULL) return false;
    mg_timer_start(job->retry, mg_backoff_ms(RETRY_MIN_MS, RETRY_MAX_MS, job->tries, -1, mg_random_u64()), 0);
    job->tries++;
    return true;
}

static void on_written(void *arg, const struct mg_pg_answer *reply)
{
    struct commit_job *job = arg;
    struct range range = job->ranges[job->range_count - 1];
    struct mg_err err;
    if (reply->fault == MG_PG_RETRY && retry_later(job)) return;
    if (reply->fault != MG_PG_NONE && reply->fault != MG_PG_DATA) {
        answer(job, mg_store_error(reply, "write orders", &err));
        return;
    }
    job->range_count--;
    job->tries = 0;
    if (reply->fault == MG_PG_NONE) {
        for (int i = range.from; i < range.to; i++)
            job->writes[job->sorted[i]].result = MG_WRITE_CONFLICT;
        for (int row = 0; row < mg_rows_count(reply->rows[0]); row++) {
            job->writes[mg_rows_int(reply->rows[0], row, 0)].result = MG_WRITE_DONE;
        }
    } else if (range.to - range.from == 1) {
        set_poisoned(&job->writes[job->sorted[range.from]], reply);
    } else {
        int middle = range.from + (range.to - range.from) / 2;
        assert(job->range_count + 2 <= RANGES_MAX);
        job->ranges[job->range_count++] = (struct range){middle, range.to};
        job->ranges[job->range_count++] = (struct range){range.from, middle};
    }
    run_next(job);
}

static void run_next(struct commit_job *job)
{
    if (job->range_count == 0) {
        answer(job, NULL);
        return;
    }
    struct range range = job->ranges[job->range_count - 1];
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_store_write_begin(&params);
    for (int i = range.from; i < range.to; i++) {
        mg_store_write_add(&params, job->sorted[i], &job->writes[job->sorted[i]]);
    }
    mg_store_send_one(job->base.store, &MG_STORE_WRITE_ORDERS, &params, on_written, job);
}

static void on_retry(void *arg)
{
    run_next(arg);
}

static int compare_by_order_id(const void *a, const void *b, void *arg)
{
    const struct mg_order_write *writes = arg;
    return strcmp(writes[*(const int *)a].record->order_id, writes[*(const int *)b].record->order_id);
}

static void on_no_writes(void *arg, const struct mg_pg_answer *reply)
{
    (void)reply; /* nothing was asked: an empty batch is done */
    answer(arg, NULL);
}

static void on_no_memory(void *arg, const struct mg_pg_answer *reply)
{
    answer(arg, reply->err);
}

void mg_store_commit(struct mg_store *store, struct mg_order_write *writes, int count, mg_store_done_fn *done,
                     void *arg)
{
    struct commit_job *job = mg_store_job_create(store, sizeof *job, finish_job);
    job->writes = writes;
    job->done = done;
    job->arg = arg;
    if (count == 0) {
        mg_pg_refuse(store->pg, MG_PG_BUSY, "", on_no_writes, job);
        return;
    }
    job->sorted = calloc((size_t)count, sizeof *job->sorted);
    if (job->sorted == NULL) {
        mg_pg_refuse(store->pg, MG_PG_BUSY, "could not write orders: no memory", on_no_memory, job);
        return;
    }
    for (int i = 0; i < count; i++) {
        job->sorted[i] = i;
        writes[i].text[0] = '\0';
    }
    /* Every writer takes the rows in this order, so that two batches cannot wait for each other. */
    qsort_r(job->sorted, (size_t)count, sizeof *job->sorted, compare_by_order_id, writes);
    job->ranges[job->range_count++] = (struct range){0, count};
    run_next(job);
}
