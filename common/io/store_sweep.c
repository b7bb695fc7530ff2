/*
 * The supervisor's look at what is due: one statement that finds, says what to ask, and pushes wake_at
 * forward. It changes no order: wake_at is a hint, and whether a deadline has passed is decided by the
 * scheduler's compare-and-set.
 *
 * Rows that somebody is writing are skipped by the sweep; rows that were written while the statement ran are
 * left for the next sweep, because their steps would be of another moment. So a wake_at is only moved by one
 * who saw the order whole.
 *
 * Steps that wait for the gate of their service are asked about by service (store_parked.c). A sweep meets
 * them once, and leaves them out of the wake_at that it sets.
 */
#include <stdlib.h>

#include "io/store_private.h"

/* An open order that waits for a person alone (a doubted step) is looked at again after this. */
#define LOOK_AGAIN "interval '60 seconds'"
/* One that waits for gates alone, in case that nothing else moves it: a million of them are a dozen a second.
 */
#define LOOK_AT_PARKED "interval '1 day'"
/* What the brake holds back: soon, but behind what else is due. */
#define HELD_BACK "interval '1 second'"
/* $1 epoch, $2 holder, $3 limit, $4 ask again, $5 grace after, $6 grace before (all ms), $7 limit of overdue
 */
/* clang-format off */
static const struct mg_sql SWEEP = {
    "sweep",
    "WITH clock AS MATERIALIZED (SELECT " MG_SQL_NOW " AS now),"
    /* The row lock of this update is the fence: a take-over under way is waited for, and then nothing is swept. */
    " leader AS ("
    "  UPDATE supervisor_leader SET seen_at = c.now, swept_at = greatest(swept_at, c.now) FROM clock c"
    "  WHERE name = 'supervisor' AND epoch = $1::bigint AND holder = $2::text RETURNING name),"
    /* All that are woken may be a million: they take what others leave, and a quarter at least. */
    " timely AS MATERIALIZED ("
    "  SELECT order_id, version FROM order_process"
    "  WHERE wake_at > " MG_SQL_WOKEN " AND wake_at <= (SELECT now FROM clock) AND EXISTS (SELECT FROM leader)"
    "  ORDER BY wake_at LIMIT $3::bigint FOR NO KEY UPDATE SKIP LOCKED),"
    " woken AS MATERIALIZED ("
    "  SELECT order_id, version FROM order_process"
    "  WHERE wake_at <= " MG_SQL_WOKEN " AND EXISTS (SELECT FROM leader) ORDER BY wake_at"
    "  LIMIT greatest($3::bigint - (SELECT count(*) FROM timely), ($3::bigint + 3) / 4) FOR NO KEY UPDATE SKIP LOCKED),"
    " locked AS MATERIALIZED ("
    "  SELECT order_id, version, false AS is_woken FROM timely UNION ALL SELECT order_id, version, true FROM woken),"
    /* The same version in the statement's snapshot, from which the steps are read, too. */
    " candidate AS MATERIALIZED ("
    "  SELECT p.order_id, p.version, p.seq, p.process_state, p.is_high, l.is_woken, CASE WHEN p.goal = 'processed'"
    "   AND p.process_state IN ('pending', 'processing') THEN p.complete_by END AS complete_by"
    "  FROM locked l JOIN order_process p ON p.order_id = l.order_id AND p.version = l.version),"
    " open_step AS MATERIALIZED ("
    "  SELECT s.order_id, s.step, s.attempt, s.state, s.state IN ('running', 'undo_running') AS is_running,"
    "   CASE WHEN s.state IN ('running', 'undo_running') THEN s.complete_by ELSE s.due_at END AS deadline,"
    "   c.is_woken, s.parked_high IS NOT NULL AND s.state NOT IN ('running', 'undo_running') AS is_parked"
    "  FROM candidate c JOIN order_step s ON s.order_id = c.order_id"
    "  WHERE s.state IN ('running', 'undo_running') OR (s.state NOT IN ('done', 'failed', 'skipped', 'undone',"
    "   'undo_failed') AND c.process_state IN ('pending', 'processing', 'compensating'))),"
    " found AS MATERIALIZED ("
    "  SELECT order_id, CASE WHEN is_running THEN 'overdue' ELSE 'due' END AS ask, step, attempt, deadline,"
    "   is_woken FROM open_step WHERE NOT is_parked AND (deadline <= (SELECT now FROM clock)"
    "   OR (is_woken AND NOT is_running AND deadline IS NOT NULL))"
    "  UNION ALL"
    "  SELECT order_id, 'expired', '', 0, complete_by, is_woken FROM candidate"
    "  WHERE complete_by <= (SELECT now FROM clock)"
    "  UNION ALL"
    "  SELECT order_id, 'nudge', '', 0, NULL, is_woken FROM candidate c"
    "  WHERE c.process_state IN ('pending', 'processing', 'compensating')"
    "   AND (c.complete_by IS NULL OR c.complete_by > (SELECT now FROM clock)) AND NOT EXISTS ("
    "   SELECT FROM open_step s WHERE s.order_id = c.order_id"
    "   AND (s.is_running OR s.deadline IS NOT NULL OR s.state = 'unknown'))),"
    /* More asks than the limit might not go out. Who was woken would not be due again by itself: it stays woken. */
    " crowd AS MATERIALIZED ("
    "  SELECT DISTINCT order_id FROM (SELECT order_id, is_woken, count(*) OVER by_order AS asks,"
    "    dense_rank() OVER by_order AS place FROM found WINDOW by_order AS (ORDER BY is_woken, order_id)) f"
    "  WHERE is_woken AND asks > $3::bigint AND place > 1),"
    " graced AS MATERIALIZED ("
    "  SELECT *, ask IN ('overdue', 'expired') AS is_braked, ask IN ('overdue', 'expired') AND $6::bigint > 0"
    "   AND deadline > " MG_SQL_TIME("$5::bigint") " AND deadline <= " MG_SQL_TIME("$6::bigint")
    "   AS is_graced FROM found WHERE order_id NOT IN (SELECT order_id FROM crowd)),"
    " judged AS MATERIALIZED ("
    "  SELECT *, is_braked AND NOT is_graced AND row_number() OVER ("
    "   PARTITION BY is_braked AND NOT is_graced ORDER BY deadline) > $7::bigint AS is_held_back"
    "  FROM graced),"
    " next AS MATERIALIZED ("
    "  SELECT c.order_id, coalesce(least("
    "    (SELECT min(s.deadline) FROM open_step s"
    "     WHERE s.order_id = c.order_id AND s.deadline > k.now AND NOT s.is_parked),"
    "    CASE WHEN c.complete_by > k.now THEN c.complete_by END,"
    "    (SELECT min(k.now + CASE WHEN j.is_held_back THEN " HELD_BACK
    "      ELSE $4::bigint * interval '1 millisecond' END) FROM judged j WHERE j.order_id = c.order_id)),"
    "   k.now + CASE WHEN EXISTS (SELECT FROM open_step s WHERE s.order_id = c.order_id AND s.is_parked)"
    "    THEN " LOOK_AT_PARKED " ELSE " LOOK_AGAIN " END) AS wake_at"
    "  FROM candidate c CROSS JOIN clock k WHERE c.order_id NOT IN (SELECT order_id FROM crowd)),"
    " pushed AS ("
    "  UPDATE order_process p SET wake_at = n.wake_at FROM next n WHERE p.order_id = n.order_id),"
    /* Of a scheduler that does not mark what it parks. */
    " marked AS ("
    "  UPDATE order_step s SET parked_high = c.is_high, parked_until = k.now + $4::bigint * interval '1 millisecond'"
    "  FROM judged j JOIN candidate c USING (order_id) CROSS JOIN clock k"
    "  WHERE j.ask = 'due' AND s.order_id = j.order_id AND s.step = j.step AND s.parked_high IS NULL"
    "   AND " MG_SQL_WAITS_FOR_GATE("s") "),"
    " asked AS ("
    "  SELECT c.order_id, j.ask, j.step, j.attempt, c.version, c.seq, j.deadline,"
    "   j.ask = 'nudge' AND c.process_state <> 'pending' AS is_stuck"
    "  FROM judged j JOIN candidate c USING (order_id) WHERE NOT j.is_graced AND NOT j.is_held_back)"
    " SELECT EXISTS (SELECT FROM leader), " MG_SQL_MS("k.now") ","
    "  (SELECT count(*) FROM judged WHERE is_braked AND NOT is_graced), (SELECT count(*) FROM locked),"
    "  a.order_id, a.ask, a.step, a.attempt, a.version, a.seq, " MG_SQL_MS("a.deadline") ", a.is_stuck"
    /* Deadlines first: where there is no room for all, waits stay behind. */
    " FROM clock k LEFT JOIN asked a ON true ORDER BY a.ask NOT IN ('overdue', 'expired'), a.deadline"};
/* clang-format on */
enum {
    COLUMN_IS_LEADER,
    COLUMN_NOW,
    COLUMN_OVERDUE,
    COLUMN_LOCKED,
    COLUMN_ORDER_ID,
    COLUMN_ASK,
    COLUMN_STEP,
    COLUMN_ATTEMPT,
    COLUMN_VERSION,
    COLUMN_SEQ,
    COLUMN_DEADLINE,
    COLUMN_IS_STUCK
};

struct sweep_job {
    struct mg_store_job base;
    int limit;
    struct mg_due *dues;
    mg_store_sweep_fn *done;
    void *arg;
};

static void finish_sweep(struct mg_store_job *base)
{
    free(((struct sweep_job *)base)->dues);
}

static bool fill_due(const struct mg_rows *rows, int row, struct mg_due *due)
{
    struct mg_slice ask = mg_rows_value(rows, row, COLUMN_ASK);
    if (ask.data == NULL || !mg_cause_parse(ask.data, ask.len, &due->ask)) return false;
    mg_rows_copy(rows, row, COLUMN_ORDER_ID, due->order_id, sizeof due->order_id);
    mg_rows_copy(rows, row, COLUMN_STEP, due->step, sizeof due->step);
    due->attempt = (uint32_t)mg_rows_int(rows, row, COLUMN_ATTEMPT);
    due->version = (uint64_t)mg_rows_int(rows, row, COLUMN_VERSION);
    due->seq = (uint64_t)mg_rows_int(rows, row, COLUMN_SEQ);
    due->due_at_ms = mg_rows_int(rows, row, COLUMN_DEADLINE);
    due->is_stuck = mg_rows_bool(rows, row, COLUMN_IS_STUCK);
    return true;
}

static void on_swept(void *arg, const struct mg_pg_answer *reply)
{
    struct sweep_job *job = arg;
    mg_store_job_detach(&job->base);
    struct mg_err err;
    if (reply->err == NULL) {
        const struct mg_rows *rows = reply->rows[0];
        int count = mg_rows_count(rows);
        job->dues = calloc((size_t)count, sizeof *job->dues);
        if (job->dues == NULL) {
            (void)mg_err_set(&err, MG_TRANSIENT, "could not sweep: no memory");
            job->done(job->arg, NULL, &err);
        } else {
            struct mg_sweep_answer answer = {
                .is_leader = mg_rows_bool(rows, 0, COLUMN_IS_LEADER),
                .now_ms = mg_rows_int(rows, 0, COLUMN_NOW),
                .dues = job->dues,
                .overdue_total = mg_rows_int(rows, 0, COLUMN_OVERDUE),
                .is_full = mg_rows_int(rows, 0, COLUMN_LOCKED) >= job->limit,
            };
            for (int row = 0; row < count; row++) {
                if (fill_due(rows, row, &job->dues[answer.due_count])) answer.due_count++;
            }
            job->done(job->arg, &answer, NULL);
        }
    } else {
        job->done(job->arg, NULL, mg_store_error(reply, "sweep", &err));
    }
    mg_store_job_destroy(&job->base);
}

void mg_store_sweep(struct mg_store *store, const struct mg_sweep_options *options, mg_store_sweep_fn *done,
                    void *arg)
{
    struct sweep_job *job = mg_store_job_create(store, sizeof *job, finish_sweep);
    job->limit = options->limit;
    job->done = done;
    job->arg = arg;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)options->epoch);
    mg_pg_add_text(&params, mg_slice_of(options->holder));
    mg_pg_add_int(&params, options->limit);
    mg_pg_add_int(&params, options->ask_again_ms);
    mg_pg_add_int(&params, options->grace_after_ms);
    mg_pg_add_int(&params, options->grace_before_ms);
    mg_pg_add_int(&params, options->overdue_limit);
    mg_store_send_one(store, &SWEEP, &params, on_swept, job);
}

/* ---- waking ---- */

/* $1 epoch, $2 holder, $3 limit */
/* clang-format off */
static const struct mg_sql WAKE = {
    "wake",
    /* Only when the last are woken it is forgotten how far the clock was ahead: till then the next leader, if
     * this one ends, sees it by this row and goes on waking. */
    "WITH leader AS ("
    "  UPDATE supervisor_leader SET seen_at = " MG_SQL_NOW ", swept_at = CASE WHEN $3::bigint > (SELECT count(*)"
    "   FROM (SELECT FROM order_process WHERE wake_at > " MG_SQL_WOKEN " LIMIT $3::bigint) o)"
    "   THEN " MG_SQL_NOW " ELSE swept_at END"
    "  WHERE name = 'supervisor' AND epoch = $1::bigint AND holder = $2::text RETURNING name),"
    " asleep AS MATERIALIZED ("
    "  SELECT order_id FROM order_process WHERE wake_at > " MG_SQL_WOKEN " AND EXISTS (SELECT FROM leader)"
    "  ORDER BY wake_at DESC LIMIT $3::bigint),"
    /* Skipped, one that is being written would sleep on. Locked as writers lock: by id. */
    " locked AS MATERIALIZED ("
    "  SELECT order_id FROM order_process WHERE order_id = ANY (ARRAY(SELECT order_id FROM asleep))"
    "  AND wake_at > " MG_SQL_WOKEN " ORDER BY order_id COLLATE \"C\" FOR NO KEY UPDATE),"
    " woken AS ("
    "  UPDATE order_process SET wake_at = " MG_SQL_WOKEN
    "   WHERE order_id = ANY (ARRAY(SELECT order_id FROM locked)))"
    " SELECT EXISTS (SELECT FROM leader), (SELECT count(*) FROM asleep) >= $3::bigint"};
/* clang-format on */

struct wake_job {
    struct mg_store_job base;
    mg_store_wake_fn *done;
    void *arg;
};

static void on_woken(void *arg, const struct mg_pg_answer *reply)
{
    struct wake_job *job = arg;
    mg_store_job_detach(&job->base);
    struct mg_err err;
    if (reply->err == NULL) {
        job->done(job->arg, mg_rows_bool(reply->rows[0], 0, 0), mg_rows_bool(reply->rows[0], 0, 1), NULL);
    } else {
        job->done(job->arg, false, false, mg_store_error(reply, "wake the open orders", &err));
    }
    mg_store_job_destroy(&job->base);
}

void mg_store_wake(struct mg_store *store, uint64_t epoch, const char *holder, int limit,
                   mg_store_wake_fn *done, void *arg)
{
    struct wake_job *job = mg_store_job_create(store, sizeof *job, NULL);
    job->done = done;
    job->arg = arg;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)epoch);
    mg_pg_add_text(&params, mg_slice_of(holder));
    mg_pg_add_int(&params, limit);
    mg_store_send_one(store, &WAKE, &params, on_woken, job);
}
