/*
 * The supervisor's sweep: one statement that finds due orders, decides the ask for each, and pushes wake_at
 * forward. It changes no order: wake_at is a hint, and the scheduler's compare-and-set decides whether a
 * deadline has passed.
 *
 * The sweep skips rows that are being written. Rows written while the statement ran are left for the next
 * sweep, because their steps would be of another moment. So only a statement that saw the whole order moves
 * its wake_at.
 *
 * Steps that wait for the gate of their service are asked for by service (store/parked_rows.c). A sweep meets
 * them once, and ignores them in the wake_at that it sets.
 */
#include <assert.h>
#include <stdlib.h>

#include "io/store/pass_by.h"
#include "io/store/sql.h"

static_assert(MG_EXPIRY_COMMAND_MS == MG_SQL_sweep_unjudged_ms, "the same");
static_assert(MG_STEPS_MAX == MG_SQL_sweep_steps_of_an_order, "the same");
const struct mg_many_sql MG_STORE_SWEEP = {.all = MG_SQL_OF(sweep),
                                           .keys = MG_SQL_OF(sweep_keys),
                                           .among = MG_SQL_OF(sweep_among),
                                           .noun = "order",
                                           .verb = "swept"};
enum {
    COLUMN_IS_LEADER,
    COLUMN_NOW,
    COLUMN_OVERDUE,
    COLUMN_IS_FULL,
    COLUMN_ORDER_ID,
    COLUMN_ASK,
    COLUMN_STEP,
    COLUMN_ATTEMPT,
    COLUMN_VERSION,
    COLUMN_SEQ,
    COLUMN_DEADLINE,
    COLUMN_IS_STUCK,
    COLUMN_SET_AT
};

struct sweep_job {
    struct mg_store_job base;
    struct mg_due *dues;
    mg_store_sweep_fn *done;
};

static void finish_sweep(struct mg_store_job *base)
{
    free(((struct sweep_job *)base)->dues);
}

static bool fill_due(const struct mg_rows *rows, int row, struct mg_due *due)
{
    struct mg_slice ask = mg_rows_value(rows, row, COLUMN_ASK);
    if (ask.data == NULL || !mg_cause_parse(ask.data, ask.len, &due->ask)) {
        return false;
    }
    mg_rows_copy(rows, row, COLUMN_ORDER_ID, due->order_id, sizeof(due->order_id));
    mg_rows_copy(rows, row, COLUMN_STEP, due->step, sizeof(due->step));
    due->attempt = (uint32_t)mg_rows_int(rows, row, COLUMN_ATTEMPT);
    due->version = (uint64_t)mg_rows_int(rows, row, COLUMN_VERSION);
    due->seq = (uint64_t)mg_rows_int(rows, row, COLUMN_SEQ);
    due->due_at_ms = mg_rows_int(rows, row, COLUMN_DEADLINE);
    due->is_stuck = mg_rows_bool(rows, row, COLUMN_IS_STUCK);
    due->set_at_ms = mg_rows_int(rows, row, COLUMN_SET_AT);
    return true;
}

static void on_swept(void *arg, const struct mg_pg_answer *reply)
{
    struct sweep_job *job = arg;
    struct mg_err err;
    if (reply->err == NULL) {
        const struct mg_rows *rows = reply->rows[0];
        int count = mg_rows_count(rows);
        job->dues = calloc((size_t)count, sizeof(*job->dues));
        if (job->dues == NULL) {
            (void)mg_err_set(&err, MG_TRANSIENT, "could not sweep: no memory");
            job->done(job->base.arg, NULL, &err);
        } else {
            struct mg_sweep_answer answer = {
                .is_leader = mg_rows_bool(rows, 0, COLUMN_IS_LEADER),
                .now_ms = mg_rows_int(rows, 0, COLUMN_NOW),
                .dues = job->dues,
                .overdue_total = mg_rows_int(rows, 0, COLUMN_OVERDUE),
                .is_full = mg_rows_bool(rows, 0, COLUMN_IS_FULL),
            };
            for (int row = 0; row < count; row++) {
                if (fill_due(rows, row, &job->dues[answer.due_count])) {
                    answer.due_count++;
                }
            }
            job->done(job->base.arg, &answer, NULL);
        }
    } else {
        job->done(job->base.arg, NULL, mg_store_error(reply, "sweep", &err));
    }
}

void mg_store_sweep(struct mg_store *store, const struct mg_sweep_options *options, mg_store_sweep_fn *done,
                    void *arg)
{
    struct sweep_job *job = mg_store_job_create(store, sizeof(*job), on_swept, arg, finish_sweep);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)options->epoch);
    mg_pg_add_text(&params, mg_slice_of(options->holder));
    mg_pg_add_int(&params, options->limit);
    mg_pg_add_int(&params, options->ask_again_ms);
    mg_pg_add_int(&params, options->grace_after_ms);
    mg_pg_add_int(&params, options->grace_before_ms);
    mg_pg_add_int(&params, options->overdue_limit);
    mg_pg_add_int(&params, options->step_limit);
    mg_pg_add_int(&params, options->grace_high_after_ms);
    mg_pg_add_int(&params, options->high.from_ms);
    mg_pg_add_int(&params, options->high.until_ms);
    mg_pg_add_int(&params, options->high.low_from_ms);
    mg_pg_add_int(&params, options->high.low_until_ms);
    mg_pg_add_int(&params, options->gap_after_ms);
    mg_pg_add_int(&params, options->gap_before_ms);
    mg_store_send_many(store, &MG_STORE_SWEEP, &params, mg_store_job_answer, job);
}

/* ---- waking ---- */

static const struct mg_many_sql WAKE_OPEN = {.all = MG_SQL_OF(wake),
                                             .keys = MG_SQL_OF(wake_keys),
                                             .among = MG_SQL_OF(wake_among),
                                             .noun = "order",
                                             .verb = "woken"};

struct wake_job {
    struct mg_store_job base;
    mg_store_wake_fn *done;
};

static void on_woken(void *arg, const struct mg_pg_answer *reply)
{
    struct wake_job *job = arg;
    struct mg_err err;
    if (reply->err == NULL) {
        job->done(job->base.arg, mg_rows_bool(reply->rows[0], 0, 0), mg_rows_bool(reply->rows[0], 0, 1),
                  NULL);
    } else {
        job->done(job->base.arg, false, false, mg_store_error(reply, "wake the open orders", &err));
    }
}

void mg_store_wake(struct mg_store *store, uint64_t epoch, const char *holder, int limit,
                   mg_store_wake_fn *done, void *arg)
{
    struct wake_job *job = mg_store_job_create(store, sizeof(*job), on_woken, arg, NULL);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)epoch);
    mg_pg_add_text(&params, mg_slice_of(holder));
    mg_pg_add_int(&params, limit);
    mg_store_send_many(store, &WAKE_OPEN, &params, mg_store_job_answer, job);
}
