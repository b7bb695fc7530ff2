/*
 * Steps that wait for the gate of their service. They are asked for by service, the longest parked first, and
 * only while the gate is open and its queue has room. So behind a closed gate a million of them cost as
 * little as one. The sweep leaves them alone.
 *
 * The writer that parks a step marks it (store/write.c), or else the sweep. A scheduler of schema 10 or below
 * moves a step on and leaves the mark; the mark is then removed here.
 */
#include <assert.h>
#include <stdlib.h>

#include "io/store/pass_by.h"
#include "io/store/sql.h"

static_assert(MG_PARKED_QUEUES_MAX == MG_SQL_ask_parked_queues_max, "the same");
static const struct mg_many_sql ASK_PARKED_STEPS = {.all = MG_SQL_OF(ask_parked),
                                                    .keys = MG_SQL_OF(ask_parked_keys),
                                                    .among = MG_SQL_OF(ask_parked_among),
                                                    .noun = "order",
                                                    .verb = "asked for at an open gate"};
enum {
    COLUMN_IS_LEADER,
    COLUMN_SERVICE,
    COLUMN_IS_HIGH,
    COLUMN_IS_OPEN,
    COLUMN_IS_PROBING,
    COLUMN_ORDER_ID,
    COLUMN_STEP,
    COLUMN_ATTEMPT,
    COLUMN_DUE_AT
};

static const struct mg_sql COUNT_PARKED = MG_SQL_OF(count_parked);

struct count_job {
    struct mg_store_job base;
    mg_store_parked_count_fn *done;
};

struct parked_job {
    struct mg_store_job base;
    struct mg_parked_queue *queues;
    struct mg_due *dues;
    mg_store_parked_fn *done;
};

static void finish_parked(struct mg_store_job *base)
{
    free(((struct parked_job *)base)->queues);
    free(((struct parked_job *)base)->dues);
}

static void take_queue(const struct mg_rows *rows, int row, struct mg_parked_queue *queue)
{
    mg_rows_copy(rows, row, COLUMN_SERVICE, queue->service, sizeof(queue->service));
    queue->is_high = mg_rows_bool(rows, row, COLUMN_IS_HIGH);
    queue->is_open = mg_rows_bool(rows, row, COLUMN_IS_OPEN);
    queue->is_probing = mg_rows_bool(rows, row, COLUMN_IS_PROBING);
    queue->asked = 0;
}

static void take_due(const struct mg_rows *rows, int row, struct mg_due *due)
{
    *due = (struct mg_due){.ask = MG_CAUSE_DUE, .is_parked = true};
    mg_rows_copy(rows, row, COLUMN_ORDER_ID, due->order_id, sizeof(due->order_id));
    mg_rows_copy(rows, row, COLUMN_STEP, due->step, sizeof(due->step));
    due->attempt = (uint32_t)mg_rows_int(rows, row, COLUMN_ATTEMPT);
    due->due_at_ms = mg_rows_int(rows, row, COLUMN_DUE_AT);
}

static void count_asked(const struct mg_rows *rows, int row, struct mg_parked_queue *queues, int count)
{
    struct mg_slice service = mg_rows_value(rows, row, COLUMN_SERVICE);
    for (int i = 0; i < count; i++) {
        if (mg_slice_is(service, queues[i].service) &&
            queues[i].is_high == mg_rows_bool(rows, row, COLUMN_IS_HIGH)) {
            queues[i].asked++;
        }
    }
}

/* Rows of queues come before rows of steps. */
static void answer_rows(struct parked_job *job, const struct mg_rows *rows)
{
    int count = mg_rows_count(rows);
    struct mg_parked_answer answer = {
        .is_leader = mg_rows_bool(rows, 0, COLUMN_IS_LEADER), .queues = job->queues, .dues = job->dues};
    for (int row = 0; row < count; row++) {
        if (mg_rows_value(rows, row, COLUMN_ORDER_ID).data != NULL) {
            count_asked(rows, row, job->queues, answer.queue_count);
            take_due(rows, row, &job->dues[answer.due_count++]);
        } else if (mg_rows_value(rows, row, COLUMN_SERVICE).data != NULL) {
            take_queue(rows, row, &job->queues[answer.queue_count++]);
        }
    }
    job->done(job->base.arg, &answer, NULL);
}

static void on_asked(void *arg, const struct mg_pg_answer *reply)
{
    struct parked_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, mg_store_error(reply, "query parked steps", &err));
    } else {
        size_t count = (size_t)mg_rows_count(reply->rows[0]);
        job->queues = calloc(count, sizeof(*job->queues));
        job->dues = calloc(count, sizeof(*job->dues));
        if (job->queues == NULL || job->dues == NULL) {
            (void)mg_err_set(&err, MG_TRANSIENT, "could not ask about parked steps: no memory");
            job->done(job->base.arg, NULL, &err);
        } else {
            answer_rows(job, reply->rows[0]);
        }
    }
}

void mg_store_ask_parked(struct mg_store *store, const struct mg_parked_options *options,
                         mg_store_parked_fn *done, void *arg)
{
    struct parked_job *job = mg_store_job_create(store, sizeof(*job), on_asked, arg, finish_parked);
    struct mg_pg_params params;
    job->done = done;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)options->epoch);
    mg_pg_add_text(&params, mg_slice_of(options->holder));
    mg_pg_add_int(&params, options->ask_again_ms);
    int service = mg_pg_add_array(&params, MG_PG_TEXT), is_high = mg_pg_add_array(&params, MG_PG_BOOL);
    int room = mg_pg_add_array(&params, MG_PG_INT);
    for (int i = 0; i < options->room_count; i++) {
        mg_pg_push_text(&params, service, mg_slice_of(options->rooms[i].service));
        mg_pg_push_bool(&params, is_high, options->rooms[i].is_high);
        mg_pg_push_int(&params, room, options->rooms[i].room);
    }
    mg_pg_add_text(&params, mg_slice_of(options->after.service));
    mg_pg_add_int(&params, options->after.is_high);
    mg_store_send_many(store, &ASK_PARKED_STEPS, &params, mg_store_job_answer, job);
}

static void on_counted(void *arg, const struct mg_pg_answer *reply)
{
    struct count_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, 0, false, mg_store_error(reply, "count parked steps", &err));
    } else {
        job->done(job->base.arg, mg_rows_int(reply->rows[0], 0, 0), mg_rows_bool(reply->rows[0], 0, 1), NULL);
    }
}

void mg_store_count_parked(struct mg_store *store, const char *service, bool is_high, int64_t limit,
                           mg_store_parked_count_fn *done, void *arg)
{
    struct count_job *job = mg_store_job_create(store, sizeof(*job), on_counted, arg, NULL);
    struct mg_pg_params params;
    job->done = done;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(service));
    mg_pg_add_int(&params, is_high);
    mg_pg_add_int(&params, limit);
    mg_store_send_one(store, &COUNT_PARKED, &params, mg_store_job_answer, job);
}
