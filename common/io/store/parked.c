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
#include <string.h>

#include "io/store/pass_by.h"
#include "io/store/services.h"

/* No step is parked for this long (--park is 1 s). Such a time comes from a clock that was ahead. Or an
 * earlier attempt may act until then, and the scheduler leaves the step alone. */
#define PARKED_FAR "interval '5 seconds'"

#define QUEUES_MAX "240"
static_assert(MG_PARKED_QUEUES_MAX == 240, "the same");

/* $1 epoch, $2 holder, $3 ask again (ms), $4 services, $5 is high, $6 room, $7 and $8 the queue before the
 * first returned one, $9 orders (store/pass_by.h) */
/* clang-format off */
#define ASK_PARKED(taken) \
    "WITH RECURSIVE clock AS MATERIALIZED (SELECT " MG_SQL_NOW " AS now)," \
    " leader AS MATERIALIZED (" \
    "  SELECT name FROM supervisor_leader WHERE name = 'supervisor' AND epoch = $1::bigint AND holder = $2::text FOR SHARE)," \
    " room AS MATERIALIZED (" \
    "  SELECT service, is_high, room FROM unnest($4::text[], $5::boolean[], $6::bigint[]) AS r(service, is_high, room)" \
    "  WHERE EXISTS (SELECT FROM leader))," \
    /* From each queue to the next by one step down the index. */ \
    " queue (service, is_high, n) AS (" \
    "  (SELECT service, parked_high, 1 FROM order_step WHERE parked_high IS NOT NULL AND EXISTS (SELECT FROM leader)" \
    "    AND (service, parked_high) > ($7::text, $8::bigint = 1) ORDER BY service, parked_high LIMIT 1)" \
    "  UNION ALL" \
    "  SELECT s.service, s.parked_high, q.n + 1 FROM queue q CROSS JOIN LATERAL (" \
    "   SELECT service, parked_high FROM order_step WHERE parked_high IS NOT NULL" \
    "    AND (service, parked_high) > (q.service, q.is_high) ORDER BY service, parked_high LIMIT 1) s" \
    "  WHERE q.n < " QUEUES_MAX ")," \
    /* Queues with room were returned before, and need not be among those returned now. */ \
    " gated AS MATERIALIZED (" \
    "  SELECT q.service, q.is_high, coalesce(g.gate = 'none', true) AS is_open, coalesce(g.is_probing, false) AS is_probing" \
    "  FROM (SELECT service, is_high FROM queue UNION SELECT service, is_high FROM room) q LEFT JOIN " MG_SQL_GATES " g USING (service))," \
    " span AS (SELECT '-infinity'::timestamptz AS after, now AS until FROM clock" \
    "  UNION ALL SELECT now + " PARKED_FAR ", 'infinity' FROM clock)," \
    " chosen AS MATERIALIZED (" \
    "  SELECT s.order_id, s.step, s.state, s.reason FROM room r" \
    "  JOIN gated g USING (service, is_high) CROSS JOIN span CROSS JOIN LATERAL (" \
    "   SELECT order_id, step, state, reason FROM order_step" \
    "   WHERE service = g.service AND parked_high = g.is_high AND parked_until > span.after AND parked_until <= span.until AND " taken \
    "   ORDER BY parked_until LIMIT r.room FOR NO KEY UPDATE SKIP LOCKED) s" \
    "  WHERE g.is_open)," \
    /* A waiting step of an ended order is not sent: its mark is removed, like a stale mark. Once the order \
     * goes on, the sweep finds it due and marks it again. */ \
    " pushed AS (" \
    "  UPDATE order_step s SET" \
    "   parked_high = CASE WHEN c.is_waiting THEN parked_high END," \
    "   parked_until = CASE WHEN c.is_waiting THEN k.now + $3::bigint * interval '1 millisecond' END" \
    "  FROM (SELECT c.order_id, c.step, " MG_SQL_WAITS_FOR_GATE("c") " AND p.process_state IN" \
    "    ('pending', 'processing', 'compensating') AS is_waiting FROM chosen c JOIN order_process p USING (order_id)) c" \
    "  CROSS JOIN clock k WHERE s.order_id = c.order_id AND s.step = c.step" \
    "  RETURNING s.service, s.parked_high, s.order_id, s.step, s.attempt, s.due_at)," \
    " found AS (" \
    "  SELECT service, is_high, is_open, is_probing, NULL::text AS order_id, NULL::text AS step, NULL::bigint AS attempt," \
    "   NULL::timestamptz AS due_at FROM gated JOIN queue USING (service, is_high)" \
    "  UNION ALL" \
    "  SELECT service, parked_high, true, NULL, order_id, step, attempt, due_at FROM pushed WHERE parked_high IS NOT NULL)" \
    " SELECT EXISTS (SELECT FROM leader), t.service, t.is_high, t.is_open, t.is_probing, t.order_id, t.step, t.attempt," \
    "  " MG_SQL_MS("t.due_at") \
    " FROM clock LEFT JOIN found t ON true" \
    " ORDER BY t.order_id IS NOT NULL, t.due_at, t.order_id, t.step, t.service, t.is_high"
static const struct mg_many_sql ASK_PARKED_STEPS = {
    .all = {"ask_parked", ASK_PARKED("order_id <> ALL ($9::text[]) AND " MG_SQL_NOT_ASIDE)},
    .keys = {"ask_parked_keys",
        "WITH unused AS (SELECT $1::bigint, $2::text, $3::bigint, $7::text, $8::bigint)"
        " SELECT DISTINCT s.order_id FROM unnest($4::text[], $5::boolean[], $6::bigint[]) AS r(service, is_high, room)"
        " CROSS JOIN LATERAL (SELECT order_id FROM order_step WHERE service = r.service AND parked_high = r.is_high"
        "  AND (parked_until <= " MG_SQL_NOW " OR parked_until > " MG_SQL_NOW " + " PARKED_FAR ") AND order_id <> ALL ($9::text[])"
        "  ORDER BY parked_until LIMIT r.room) s"},
    .among = {"ask_parked_among", ASK_PARKED("order_id = ANY ($9::text[]) AND " MG_SQL_NOT_ASIDE)},
    .noun = "order",
    .verb = "asked for at an open gate"};
/* clang-format on */
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

/* $1 service, $2 is high, $3 limit. The count reads so many entries of an index at most. A damaged definition
 * counts as one that goes without the service. */
/* clang-format off */
static const struct mg_sql COUNT_PARKED = {
    "count_parked",
    "SELECT (SELECT count(*) FROM (SELECT FROM order_step WHERE service = $1::text AND parked_high = ($2::bigint = 1)"
    "  LIMIT $3::bigint) p),"
    " EXISTS (SELECT FROM workflow w JOIN " MG_SQL_NEWEST_VERSIONS " v USING (name, version) WHERE NOT EXISTS ("
    "  SELECT FROM makegood_elements(makegood_json(w.definition), 'steps') AS s WHERE s->>'service' = $1::text))"};
/* clang-format on */

struct count_job {
    struct mg_store_job base;
    mg_store_parked_count_fn *done;
    void *arg;
};

struct parked_job {
    struct mg_store_job base;
    struct mg_parked_queue *queues;
    struct mg_due *dues;
    mg_store_parked_fn *done;
    void *arg;
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
    job->done(job->arg, &answer, NULL);
}

static void on_asked(void *arg, const struct mg_pg_answer *reply)
{
    struct parked_job *job = arg;
    struct mg_err err;
    mg_store_job_detach(&job->base);
    if (reply->err != NULL) {
        job->done(job->arg, NULL, mg_store_error(reply, "query parked steps", &err));
    } else {
        size_t count = (size_t)mg_rows_count(reply->rows[0]);
        job->queues = calloc(count, sizeof(*job->queues));
        job->dues = calloc(count, sizeof(*job->dues));
        if (job->queues == NULL || job->dues == NULL) {
            (void)mg_err_set(&err, MG_TRANSIENT, "could not ask about parked steps: no memory");
            job->done(job->arg, NULL, &err);
        } else {
            answer_rows(job, reply->rows[0]);
        }
    }
    mg_store_job_destroy(&job->base);
}

void mg_store_ask_parked(struct mg_store *store, const struct mg_parked_options *options,
                         mg_store_parked_fn *done, void *arg)
{
    struct parked_job *job = mg_store_job_create(store, sizeof(*job), finish_parked);
    struct mg_pg_params params;
    job->done = done;
    job->arg = arg;
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
    mg_store_send_many(store, &ASK_PARKED_STEPS, &params, on_asked, job);
}

static void on_counted(void *arg, const struct mg_pg_answer *reply)
{
    struct count_job *job = arg;
    struct mg_err err;
    mg_store_job_detach(&job->base);
    if (reply->err != NULL) {
        job->done(job->arg, 0, false, mg_store_error(reply, "count parked steps", &err));
    } else {
        job->done(job->arg, mg_rows_int(reply->rows[0], 0, 0), mg_rows_bool(reply->rows[0], 0, 1), NULL);
    }
    mg_store_job_destroy(&job->base);
}

void mg_store_count_parked(struct mg_store *store, const char *service, bool is_high, int64_t limit,
                           mg_store_parked_count_fn *done, void *arg)
{
    struct count_job *job = mg_store_job_create(store, sizeof(*job), NULL);
    struct mg_pg_params params;
    job->done = done;
    job->arg = arg;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(service));
    mg_pg_add_int(&params, is_high);
    mg_pg_add_int(&params, limit);
    mg_store_send_one(store, &COUNT_PARKED, &params, on_counted, job);
}
