/*
 * Bulk actions and their runner. Each statement except a stop touches, by key, at most as many orders of a
 * bulk action as may be asked for at a time. The runner's epoch fences each write under a row lock.
 */
#include "io/store/bulk.h"

#include <stdlib.h>

#include "io/store/store_private.h"

#define US(time)         "floor(extract(epoch FROM " time ") * 1000000)::bigint"
#define TEXT_OF(macro)   TEXT_AS_IS(macro)
#define TEXT_AS_IS(text) #text

/* clang-format off */

/* The orders that ended last. The text is the only record of a failure of another kind. */
#define FAILED_AMONG(number, condition)                                                                                     \
    "SELECT count(*) AS ended, count(*) FILTER (WHERE e.result = 'failed') AS failed,"                                     \
    "  count(*) FILTER (WHERE e.result = 'failed' AND starts_with(e.text, '" MG_BULK_OTHERWISE "')) AS otherwise"            \
    " FROM (SELECT o.result, o.text FROM bulk_order o"                                                                     \
    "  WHERE o.bulk_id = b.bulk_id AND o.result IN ('done', 'failed') AND " condition                                       \
    "  ORDER BY o.ended_at DESC LIMIT " TEXT_OF(number) ") e"

/* $1 limit. Counts failures among the orders that ended last, whenever they were asked for, so slow failures
 * are included. The number MG_BULK_RECENT is no parameter: for a parameter the planner would assume a tenth
 * of the list, and read and sort all of it. */
static const struct mg_sql LOOK_AT_BULK = {
    "look_at_bulk",
    "SELECT b.bulk_id, b.verb, b.reason, b.by_whom, b.version, b.state, b.is_tried, b.canary, b.stop_percent,"
    "  b.rate_per_s, b.waiting, b.asked, b.done, b.failed, " US("b.next_ask_at") ", " US(MG_SQL_NOW) ","
    "  r.ended, r.failed, r.otherwise, c.otherwise"
    " FROM bulk b"
    " CROSS JOIN LATERAL (" FAILED_AMONG(MG_BULK_RECENT, "true") ") r"
    " CROSS JOIN LATERAL (" FAILED_AMONG(MG_BULK_CANARY_MAX, "NOT b.is_tried") ") c"
    " WHERE b.ended_at IS NULL ORDER BY b.created_at, b.bulk_id LIMIT $1::bigint"};
enum {
    ROW_ID,
    ROW_VERB,
    ROW_REASON,
    ROW_BY,
    ROW_VERSION,
    ROW_STATE,
    ROW_IS_TRIED,
    ROW_CANARY,
    ROW_PERCENT,
    ROW_RATE,
    ROW_WAITING,
    ROW_ASKED,
    ROW_DONE,
    ROW_FAILED,
    ROW_NEXT,
    ROW_NOW,
    ROW_RECENT,
    ROW_RECENT_FAILED,
    ROW_RECENT_OTHERWISE,
    ROW_CANARY_OTHERWISE
};
/* $1 limit of bulk actions. The event after a version has the next version as its key. An order that was
 * already turning back when it failed, and is resumed, has succeeded when it is turned back. Its pivot may
 * still have it processed. An order in error has failed otherwise if its alert has another step or code than
 * its earlier alerts. */
static const struct mg_sql LOOK_AT_ASKED = {
    "look_at_asked",
    "SELECT o.bulk_id, o.n, o.order_id, o.version, p.version, p.process_state, e.cause,"
    "  CASE b.verb WHEN 'resume' THEN o.goal = 'processed' AND p.process_state IN ('compensated', 'cancelled')"
    "   ELSE p.process_state = 'processed' END, f.otherwise"
    " FROM (SELECT bulk_id, verb, created_at FROM bulk WHERE ended_at IS NULL ORDER BY created_at, bulk_id LIMIT $1::bigint) b"
    " JOIN bulk_order o ON o.bulk_id = b.bulk_id AND o.result = 'asked'"
    " LEFT JOIN order_process p ON p.order_id = o.order_id"
    " LEFT JOIN order_event e ON e.order_id = o.order_id AND e.version = o.version + 1"
    " LEFT JOIN LATERAL (SELECT CASE WHEN a.step IS NULL THEN 'the order' ELSE 'step ' || a.step END"
    "    || coalesce(', ' || a.error_code, '') AS otherwise"
    "   FROM operator_alert a WHERE a.order_id = o.order_id AND a.closed_at IS NULL AND a.workflow IS NOT NULL"
    "    AND EXISTS (SELECT FROM operator_alert s WHERE s.order_id = o.order_id AND s.closed_at IS NOT NULL"
    "     AND s.workflow IS NOT NULL)"
    "    AND NOT EXISTS (SELECT FROM operator_alert s WHERE s.order_id = o.order_id AND s.closed_at IS NOT NULL"
    "     AND s.step IS NOT DISTINCT FROM a.step AND s.error_code IS NOT DISTINCT FROM a.error_code)"
    "   ORDER BY a.alert_id DESC LIMIT 1) f ON p.process_state = 'error'"
    " ORDER BY b.created_at, b.bulk_id, o.n"};
enum {
    ORDER_BULK,
    ORDER_N,
    ORDER_ID,
    ORDER_ASKED_VERSION,
    ORDER_VERSION,
    ORDER_STATE,
    ORDER_CAUSE,
    ORDER_IS_TURNED,
    ORDER_OTHERWISE
};

/* $1 epoch, $2 holder, $3 bulk_id, $4 version, $5 to $7 ended orders, $8 state, $9 is_tried, $10 why, $11
 * ask, $12 next */
static const struct mg_sql WRITE_BULK = {
    "write_bulk",
    "WITH fence AS MATERIALIZED (SELECT 1 FROM bulk_runner WHERE name = 'bulk' AND epoch = $1::bigint"
    "  AND holder = $2::text FOR SHARE),"
    " b AS MATERIALIZED (SELECT * FROM bulk WHERE bulk_id = $3::text AND version = $4::bigint"
    "  AND EXISTS (SELECT FROM fence) FOR NO KEY UPDATE),"
    /* Not earlier than the last end. Otherwise, after a step back of the clock, that one would stay the
     * newest and hide new failures. */
    " ended AS (UPDATE bulk_order o SET result = i.result, text = nullif(i.text, ''), ended_at = greatest(" MG_SQL_NOW ","
    "   (SELECT max(ended_at) FROM bulk_order WHERE bulk_id = $3::text AND result IN ('done', 'failed'))"
    "    + interval '1 microsecond')"
    "  FROM unnest($5::bigint[], $6::text[], $7::text[]) AS i(n, result, text)"
    "  WHERE o.bulk_id = $3::text AND o.n = i.n AND o.result = 'asked'"
    "   AND EXISTS (SELECT FROM b) RETURNING o.result),"
    /* A range of the key, since a LIMIT may sort all waiting orders. No order after asked_to has been asked
     * for. */
    " asked AS (UPDATE bulk_order o SET result = 'asked', asked_at = " MG_SQL_NOW " WHERE o.bulk_id = $3::text"
    "  AND o.n > (SELECT asked_to FROM b) AND o.n <= (SELECT asked_to + $11::bigint FROM b)"
    "  AND o.asked_at IS NULL AND o.ended_at IS NULL RETURNING o.n),"
    " stopped AS (UPDATE bulk_order o SET result = 'skipped', ended_at = " MG_SQL_NOW ", text = 'the bulk action stopped'"
    "  FROM b WHERE $8::text = 'stopped' AND b.state <> 'stopped' AND o.bulk_id = b.bulk_id AND o.n > b.asked_to"
    "   AND o.result = 'waiting'),"
    " counted AS MATERIALIZED (SELECT (SELECT count(*) FROM asked) AS asked, count(*) AS ended,"
    "   count(*) FILTER (WHERE result = 'done') AS done, count(*) FILTER (WHERE result = 'failed') AS failed,"
    "   count(*) FILTER (WHERE result = 'skipped') AS skipped FROM ended),"
    " written AS (UPDATE bulk t SET state = $8::text, is_tried = $9::text::boolean,"
    "   version = t.version + CASE WHEN t.state = $8::text THEN 0 ELSE 1 END, why = coalesce($10::text, t.why),"
    "   stopped_itself = t.stopped_itself OR ($8::text = 'stopped' AND t.state <> 'stopped'),"
    "   next_ask_at = 'epoch'::timestamptz + $12::bigint * interval '1 microsecond',"
    "   asked_to = t.asked_to + $11::bigint,"
    "   waiting = CASE $8::text WHEN 'stopped' THEN 0 ELSE t.waiting - c.asked END,"
    "   asked = t.asked + c.asked - c.ended, done = t.done + c.done, failed = t.failed + c.failed,"
    "   skipped = t.skipped + c.skipped + CASE $8::text WHEN 'stopped' THEN t.waiting ELSE 0 END,"
    "   ended_at = CASE WHEN $8::text = 'done' OR ($8::text = 'stopped' AND t.asked + c.asked = c.ended)"
    "    THEN " MG_SQL_NOW " END"
    "  FROM b, counted c WHERE t.bulk_id = b.bulk_id RETURNING t.*),"
    " noted AS (INSERT INTO operator_action (by_whom, verb, subject, reason, detail)"
    "  SELECT $2::text, 'bulk stopped', w.bulk_id, $10::text, json_build_object('state', w.state, 'version', w.version,"
    "   'waiting', w.waiting, 'asked', w.asked, 'done', w.done, 'failed', w.failed, 'skipped', w.skipped)"
    "  FROM written w, b WHERE b.state <> 'stopped' AND $8::text = 'stopped')"
    " SELECT EXISTS (SELECT FROM fence), EXISTS (SELECT FROM written),"
    "  EXISTS (SELECT FROM written w, b WHERE w.stopped_itself AND NOT b.stopped_itself),"
    "  (SELECT asked FROM counted)"};
enum { WRITE_IS_LEADER, WRITE_IS_WRITTEN, WRITE_IS_ALERTED, WRITE_ASKED };

/* $1 epoch, $2 holder */
static const struct mg_sql KEEP_BULK = {
    "keep_bulk",
    "UPDATE bulk_runner SET seen_at = " MG_SQL_NOW " WHERE name = 'bulk' AND epoch = $1::bigint"
    " AND holder = $2::text RETURNING epoch"};
/* clang-format on */

static enum mg_bulk_state state_of(const struct mg_rows *rows, int row, int column)
{
    enum mg_bulk_state state = MG_BULK_DONE; /* unknown word of a newer version: not driven */
    struct mg_slice word = mg_rows_value(rows, row, column);
    if (word.data != NULL) {
        (void)mg_bulk_state_parse(word.data, word.len, &state);
    }
    return state;
}

/* ---- looking ---- */

struct look_job {
    struct mg_store_job base;
    struct mg_bulk_row *rows;
    struct mg_bulk_order_row *orders;
    mg_store_bulk_looked_fn *done;
};

static void finish_look(struct mg_store_job *base)
{
    struct look_job *job = (struct look_job *)base;
    free(job->rows);
    free(job->orders);
}

static bool row_fill(const struct mg_rows *rows, int row, struct mg_bulk_row *to)
{
    char rate[32];
    struct mg_slice verb = mg_rows_value(rows, row, ROW_VERB);
    mg_rows_copy(rows, row, ROW_ID, to->bulk_id, sizeof(to->bulk_id));
    mg_rows_copy(rows, row, ROW_REASON, to->reason, sizeof(to->reason));
    mg_rows_copy(rows, row, ROW_BY, to->by, sizeof(to->by));
    mg_rows_copy(rows, row, ROW_RATE, rate, sizeof(rate));
    to->version = (uint64_t)mg_rows_int(rows, row, ROW_VERSION);
    to->bulk = (struct mg_bulk){.state = state_of(rows, row, ROW_STATE),
                                .is_tried = mg_rows_bool(rows, row, ROW_IS_TRIED),
                                .canary = mg_rows_int(rows, row, ROW_CANARY),
                                .stop_percent = mg_rows_int(rows, row, ROW_PERCENT),
                                .spacing_us = mg_bulk_spacing_us(strtod(rate, NULL)),
                                .waiting = mg_rows_int(rows, row, ROW_WAITING),
                                .asked = mg_rows_int(rows, row, ROW_ASKED),
                                .done = mg_rows_int(rows, row, ROW_DONE),
                                .failed = mg_rows_int(rows, row, ROW_FAILED),
                                .failed_otherwise = mg_rows_int(rows, row, ROW_CANARY_OTHERWISE),
                                .recent = mg_rows_int(rows, row, ROW_RECENT),
                                .recent_failed = mg_rows_int(rows, row, ROW_RECENT_FAILED),
                                .recent_failed_otherwise = mg_rows_int(rows, row, ROW_RECENT_OTHERWISE),
                                .now_us = mg_rows_int(rows, row, ROW_NOW),
                                .next_us = mg_rows_int(rows, row, ROW_NEXT)};
    return verb.data != NULL && mg_cause_parse(verb.data, verb.len, &to->verb);
}

/* Fills the row of an order. False: its bulk action is not among those read, since a commit came between. */
static bool order_fill(const struct mg_rows *rows, int row, const struct mg_bulk_look *taken,
                       struct mg_bulk_order_row *to)
{
    struct mg_slice bulk_id = mg_rows_value(rows, row, ORDER_BULK);
    struct mg_slice state = mg_rows_value(rows, row, ORDER_STATE);
    to->bulk = 0;
    while (to->bulk < taken->count && !mg_slice_is(bulk_id, taken->rows[to->bulk].bulk_id)) {
        to->bulk++;
    }
    to->n = mg_rows_int(rows, row, ORDER_N);
    mg_rows_copy(rows, row, ORDER_ID, to->order_id, sizeof(to->order_id));
    mg_rows_copy(rows, row, ORDER_CAUSE, to->cause, sizeof(to->cause));
    mg_rows_copy(rows, row, ORDER_OTHERWISE, to->otherwise, sizeof(to->otherwise));
    to->order = (struct mg_bulk_order){.version = (uint64_t)mg_rows_int(rows, row, ORDER_ASKED_VERSION),
                                       .order_version = (uint64_t)mg_rows_int(rows, row, ORDER_VERSION),
                                       .is_turned = mg_rows_bool(rows, row, ORDER_IS_TURNED)};
    if (state.data != NULL) {
        (void)mg_order_state_parse(state.data, state.len, &to->order.state);
    }
    return to->bulk < taken->count;
}

static void on_looked(void *arg, const struct mg_pg_answer *reply)
{
    struct look_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, mg_store_error(reply, "read the bulk actions", &err));
        return;
    }
    int row_count = mg_rows_count(reply->rows[0]), order_count = mg_rows_count(reply->rows[1]);
    job->rows = calloc((size_t)row_count + 1, sizeof(*job->rows));
    job->orders = calloc((size_t)order_count + 1, sizeof(*job->orders));
    if (job->rows == NULL || job->orders == NULL) {
        (void)mg_err_set(&err, MG_TRANSIENT, "could not read the bulk actions: no memory");
        job->done(job->base.arg, NULL, &err);
    } else {
        struct mg_bulk_look look = {.rows = job->rows, .orders = job->orders};
        for (int row = 0; row < row_count; row++) {
            look.count += row_fill(reply->rows[0], row, &job->rows[look.count]);
        }
        for (int row = 0; row < order_count; row++) {
            look.order_count += order_fill(reply->rows[1], row, &look, &job->orders[look.order_count]);
        }
        job->done(job->base.arg, &look, NULL);
    }
}

void mg_store_look_at_bulk(struct mg_store *store, mg_store_bulk_looked_fn *done, void *arg)
{
    struct look_job *job = mg_store_job_create(store, sizeof(*job), on_looked, arg, finish_look);
    job->done = done;
    struct mg_pg_params of_rows, of_orders;
    mg_pg_params_init(&of_rows);
    mg_pg_add_int(&of_rows, MG_BULK_OPEN_MAX);
    mg_pg_params_init(&of_orders);
    mg_pg_add_int(&of_orders, MG_BULK_OPEN_MAX);
    struct mg_pg_statement statements[] = {{&LOOK_AT_BULK, &of_rows}, {&LOOK_AT_ASKED, &of_orders}};
    mg_store_send(store, statements, 2, mg_store_job_answer, job);
    mg_pg_params_finish(&of_rows);
    mg_pg_params_finish(&of_orders);
}

/* ---- driving ---- */

struct write_job {
    struct mg_store_job base;
    mg_store_bulk_written_fn *done;
};

static void on_written(void *arg, const struct mg_pg_answer *reply)
{
    struct write_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, mg_store_error(reply, "write the bulk action", &err));
    } else {
        const struct mg_rows *rows = reply->rows[0];
        job->done(job->base.arg,
                  &(struct mg_bulk_written){.is_leader = mg_rows_bool(rows, 0, WRITE_IS_LEADER),
                                            .is_written = mg_rows_bool(rows, 0, WRITE_IS_WRITTEN),
                                            .is_alerted = mg_rows_bool(rows, 0, WRITE_IS_ALERTED),
                                            .asked = mg_rows_int(rows, 0, WRITE_ASKED)},
                  NULL);
    }
}

/* A session that does not lead matches no row. */
static void lead_add(struct mg_pg_params *params, const struct mg_store *store)
{
    mg_pg_add_int(params, store->lead_epoch > 0 ? (int64_t)store->lead_epoch : -1);
    mg_pg_add_text(params, mg_slice_of(store->lead_holder));
}

static void bool_add(struct mg_pg_params *params, bool is_true)
{
    mg_pg_add_text(params, mg_slice_of(is_true ? "true" : "false"));
}

void mg_store_write_bulk(struct mg_store *store, const struct mg_bulk_write *write,
                         mg_store_bulk_written_fn *done, void *arg)
{
    struct write_job *job = mg_store_job_create(store, sizeof(*job), on_written, arg, NULL);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    lead_add(&params, store);
    mg_pg_add_text(&params, mg_slice_of(write->row->bulk_id));
    mg_pg_add_int(&params, (int64_t)write->row->version);
    int n = mg_pg_add_array(&params, MG_PG_INT), result = mg_pg_add_array(&params, MG_PG_TEXT);
    int text = mg_pg_add_array(&params, MG_PG_TEXT);
    for (int i = 0; i < write->ended_count; i++) {
        mg_pg_push_int(&params, n, write->ended[i].n);
        mg_pg_push_text(&params, result, mg_slice_of(mg_bulk_result_name(write->ended[i].result)));
        mg_pg_push_text(&params, text, mg_slice_of(write->ended[i].text));
    }
    mg_pg_add_text(&params, mg_slice_of(mg_bulk_state_name(write->plan.state)));
    bool_add(&params, write->plan.is_tried);
    mg_pg_add_text(&params, mg_slice_of(write->why));
    mg_pg_add_int(&params, write->plan.ask);
    mg_pg_add_int(&params, write->plan.next_us);
    mg_store_send_one(store, &WRITE_BULK, &params, mg_store_job_answer, job);
}

struct keep_job {
    struct mg_store_job base;
    mg_store_changed_fn *done;
};

static void on_kept(void *arg, const struct mg_pg_answer *reply)
{
    struct keep_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, false, mg_store_error(reply, "keep the lead", &err));
    } else {
        job->done(job->base.arg, mg_rows_count(reply->rows[0]) > 0, NULL);
    }
}

void mg_store_keep_bulk(struct mg_store *store, mg_store_changed_fn *done, void *arg)
{
    struct keep_job *job = mg_store_job_create(store, sizeof(*job), on_kept, arg, NULL);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    lead_add(&params, store);
    mg_store_send_one(store, &KEEP_BULK, &params, mg_store_job_answer, job);
}
