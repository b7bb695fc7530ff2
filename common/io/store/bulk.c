/*
 * Start and changes of bulk actions by operators. Each is one transaction, with the line that records
 * operator and reason. Only start and stop walk the list of a bulk action's orders.
 */
#include "io/store/bulk.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "io/store/sql.h"
#include "io/store/store_private.h"

#define IS_OPEN "state IN ('canary', 'running', 'paused')"

/* clang-format off */

/* Serializes starts. Without it, two parallel starts would leave holes in each other's lists, wait for each
 * other's orders, and open too many bulk actions. */
static const struct mg_sql LOCK_BULK = {
    "lock_bulk",
    "SELECT pg_advisory_xact_lock(" MG_SQL_LOCK("4") ")"};
/* clang-format on */
static const struct mg_sql BEGIN_BULK = MG_SQL_OF(begin_bulk);
static const struct mg_sql FILL_BULK = MG_SQL_OF(fill_bulk);
static const struct mg_sql FINISH_BULK = MG_SQL_OF(finish_bulk);
enum { START_ID, START_IS_NEW, START_STATE, START_ORDERS, START_OPEN };
enum { LOCKED, BEGUN, FILLED, STARTED, STATEMENTS };

/* clang-format off */
/* $1 bulk_id, $2 wish, $3 version, $4 reason, $5 by */
static const struct mg_sql CHANGE_BULK = {
    "change_bulk",
    "WITH changed AS (UPDATE bulk SET version = version + 1, state = CASE $2::text WHEN 'pause' THEN 'paused'"
    "   WHEN 'stop' THEN 'stopped' ELSE CASE WHEN is_tried THEN 'running' ELSE 'canary' END END,"
    "   waiting = CASE $2::text WHEN 'stop' THEN 0 ELSE waiting END,"
    "   skipped = skipped + CASE $2::text WHEN 'stop' THEN waiting ELSE 0 END,"
    "   why = CASE $2::text WHEN 'stop' THEN $4::text ELSE why END,"
    "   ended_at = CASE WHEN $2::text = 'stop' AND asked = 0 THEN " MG_SQL_NOW " END"
    "  WHERE bulk_id = $1::text AND version = $3::bigint AND CASE $2::text WHEN 'resume' THEN state = 'paused'"
    "   WHEN 'pause' THEN state IN ('canary', 'running') ELSE " IS_OPEN " END RETURNING *),"
    " stopped AS (UPDATE bulk_order o SET result = 'skipped', ended_at = " MG_SQL_NOW ", text = 'the bulk action was stopped'"
    "  FROM changed c WHERE $2::text = 'stop' AND o.bulk_id = c.bulk_id AND o.n > c.asked_to AND o.result = 'waiting'),"
    " noted AS (INSERT INTO operator_action (by_whom, verb, subject, reason, detail)"
    "  SELECT $5::text, 'bulk ' || $2::text, bulk_id, $4::text, json_build_object('state', state, 'version', version,"
    "   'waiting', waiting, 'asked', asked, 'done', done, 'failed', failed, 'skipped', skipped) FROM changed)"
    " SELECT EXISTS (SELECT FROM bulk WHERE bulk_id = $1::text), (SELECT version FROM changed)"};

/* clang-format on */

/* ---- starting ---- */

static void member_add(struct mg_json_writer *json, const char *name, const char *value)
{
    if (value[0] != '\0') {
        mg_json_member_string(json, name, value);
    }
}

/* Writes the parameter of a statement as text: "6h" ago, or a time. */
static void moment_add(struct mg_json_writer *json, const char *name, const char *number)
{
    char text[MG_TIME_TEXT_SIZE] = "";
    int64_t ms = strtoll(number, NULL, 10);
    if (ms < 0) {
        mg_duration_format(-ms, text, sizeof(text));
    } else if (number[0] != '\0') {
        mg_time_format(ms, text);
    }
    member_add(json, name, text);
}

/* Equal filters give equal text: it finds a bulk action with the same filter. */
static void filter_write(const struct mg_failure_filter *filter, struct mg_buf *ret_text)
{
    struct mg_json_writer json = mg_json_spaced(ret_text);
    mg_json_object_begin(&json);
    member_add(&json, "workflow", filter->workflow);
    member_add(&json, "step", filter->step);
    member_add(&json, "service", filter->services);
    member_add(&json, "error", filter->error);
    moment_add(&json, "since", filter->since);
    moment_add(&json, "until", filter->until);
    if (filter->labels[0] != '\0') {
        mg_json_member_raw(&json, "labels", mg_slice_of(filter->labels));
    }
    mg_json_object_end(&json);
}

struct start_job {
    struct mg_store_job base;
    mg_store_bulk_started_fn *done;
};

static void on_started(void *arg, const struct mg_pg_answer *reply)
{
    struct start_job *job = arg;
    struct mg_bulk_started started = {.state = MG_BULK_DONE};
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, mg_store_error(reply, "start the bulk action", &err));
    } else {
        const struct mg_rows *rows = reply->rows[STARTED];
        struct mg_slice state = mg_rows_value(rows, 0, START_STATE);
        mg_rows_copy(rows, 0, START_ID, started.bulk_id, sizeof(started.bulk_id));
        started.is_new = mg_rows_bool(rows, 0, START_IS_NEW);
        if (state.data != NULL) {
            (void)mg_bulk_state_parse(state.data, state.len, &started.state);
        }
        started.orders = mg_rows_int(rows, 0, START_ORDERS);
        started.open_bulk = mg_rows_int(rows, 0, START_OPEN);
        job->done(job->base.arg, &started, NULL);
    }
}

void mg_store_start_bulk(struct mg_store *store, const struct mg_bulk_start *start,
                         mg_store_bulk_started_fn *done, void *arg)
{
    struct start_job *job = mg_store_job_create(store, sizeof(*job), on_started, arg, NULL);
    job->done = done;
    const struct mg_failure_filter *filter = &start->filter;
    struct mg_buf text;
    mg_buf_init(&text, 8 * MG_FAILURE_FILTER_MAX);
    filter_write(filter, &text);
    struct mg_pg_params params[STATEMENTS];
    const struct mg_sql *const sqls[] = {&LOCK_BULK, &BEGIN_BULK, &FILL_BULK, &FINISH_BULK};
    struct mg_pg_statement statements[STATEMENTS];
    for (int i = LOCKED; i < STATEMENTS; i++) {
        mg_pg_params_init(&params[i]);
        statements[i] = (struct mg_pg_statement){sqls[i], &params[i]};
    }
    for (int i = BEGUN; i < STATEMENTS; i++) {
        mg_pg_add_text(&params[i], mg_slice_of(start->bulk_id));
        mg_pg_add_text(&params[i], mg_slice_of(mg_cause_name(start->verb)));
        mg_pg_add_text(&params[i], mg_buf_slice(&text));
    }
    const char *const parts[] = {filter->workflow, filter->step,  filter->error,
                                 filter->services, filter->since, filter->until};
    for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
        mg_pg_add_text(&params[BEGUN], mg_slice_of(parts[part]));
        mg_pg_add_text(&params[FILLED], mg_slice_of(parts[part]));
        mg_pg_add_text(&params[STARTED], mg_slice_of(parts[part]));
    }
    mg_pg_add_int(&params[FILLED], start->orders_max);
    mg_pg_add_int(&params[STARTED], start->orders_max);
    mg_pg_add_text(&params[BEGUN], mg_slice_of(start->reason));
    mg_pg_add_text(&params[BEGUN], mg_slice_of(start->by));
    mg_pg_add_int(&params[BEGUN], start->canary);
    mg_pg_add_text(&params[BEGUN], mg_slice_of(start->rate_per_s));
    mg_pg_add_int(&params[BEGUN], start->stop_percent);
    mg_pg_add_int(&params[BEGUN], MG_BULK_OPEN_MAX);
    mg_pg_add_int(&params[BEGUN], start->orders_max);
    for (int i = BEGUN; i < STATEMENTS; i++) {
        mg_pg_add_text(&params[i], mg_slice_of(filter->labels));
    }
    if (text.failed) {
        mg_pg_refuse(store->pg, text.is_out_of_memory ? MG_PG_BUSY : MG_PG_DATA, "the filter is too long",
                     mg_store_job_answer, job);
    } else {
        mg_store_send(store, statements, STATEMENTS, mg_store_job_answer, job);
    }
    for (int i = LOCKED; i < STATEMENTS; i++) {
        mg_pg_params_finish(&params[i]);
    }
    mg_buf_finish(&text);
}

/* ---- changing ---- */

const char *mg_bulk_wish_name(enum mg_bulk_wish wish)
{
    static const char *const names[] = {
        [MG_BULK_WISH_PAUSE] = "pause", [MG_BULK_WISH_RESUME] = "resume", [MG_BULK_WISH_STOP] = "stop"};
    return names[wish];
}

struct change_job {
    struct mg_store_job base;
    mg_store_bulk_changed_fn *done;
};

static void on_changed(void *arg, const struct mg_pg_answer *reply)
{
    struct change_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, MG_CHANGE_CONFLICT, 0,
                  mg_store_error(reply, "change the bulk action", &err));
    } else if (!mg_rows_bool(reply->rows[0], 0, 0)) {
        job->done(job->base.arg, MG_CHANGE_NOT_FOUND, 0, NULL);
    } else if (mg_rows_is_null(reply->rows[0], 0, 1)) {
        job->done(job->base.arg, MG_CHANGE_CONFLICT, 0, NULL);
    } else {
        job->done(job->base.arg, MG_CHANGE_DONE, (uint64_t)mg_rows_int(reply->rows[0], 0, 1), NULL);
    }
}

void mg_store_change_bulk(struct mg_store *store, const struct mg_bulk_change *change,
                          mg_store_bulk_changed_fn *done, void *arg)
{
    struct change_job *job = mg_store_job_create(store, sizeof(*job), on_changed, arg, NULL);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(change->bulk_id));
    mg_pg_add_text(&params, mg_slice_of(mg_bulk_wish_name(change->wish)));
    mg_pg_add_int(&params, (int64_t)change->version);
    mg_pg_add_text(&params, mg_slice_of(change->reason));
    mg_pg_add_text(&params, mg_slice_of(change->by));
    mg_store_send_one(store, &CHANGE_BULK, &params, mg_store_job_answer, job);
}
