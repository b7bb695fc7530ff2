/*
 * The supervisor's sweep: one statement that finds due orders, decides the ask for each, and pushes wake_at
 * forward. It changes no order: wake_at is a hint, and the scheduler's compare-and-set decides whether a
 * deadline has passed.
 *
 * The sweep skips rows that are being written. Rows written while the statement ran are left for the next
 * sweep, because their steps would be of another moment. So only a statement that saw the whole order moves
 * its wake_at.
 *
 * Steps that wait for the gate of their service are asked for by service (store/parked.c). A sweep meets them
 * once, and ignores them in the wake_at that it sets.
 */
#include <assert.h>
#include <stdlib.h>

#include "io/store/pass_by.h"

/* Period for an open order that waits only for a person (a doubted step). */
#define LOOK_AGAIN "interval '60 seconds'"
/* Period for an order that waits only for gates, in case nothing else moves it: a million of them are a dozen
 * a second. */
#define LOOK_AT_PARKED "interval '1 day'"
/* Delay of asks held back by the brake: short, but behind other due ones. It is added once more for each
 * SWEEPS_HELD times the brake's limit before it. Sooner, the order would have no turn, and would only take
 * the places of others. */
#define HELD_BACK   "interval '1 second'"
#define SWEEPS_HELD "4" /* sweeps in that time, by default */
/* After this time a graced expiry of an order is not judged soon. Schedulers go on with the order, and need a
 * cause. */
#define UNJUDGED "interval '30 seconds'"
static_assert(MG_EXPIRY_COMMAND_MS == 30000, "the same");
/* An order is read whole, so the steps read may exceed the limit by one order's. */
#define STEPS_OF_AN_ORDER "64"
static_assert(MG_STEPS_MAX == 64, "the same");
/* core/spared.h: the grace begins at another moment if the high clock set the deadline. */
#define GRACE_AFTER(set_at)                                                                                  \
    "CASE WHEN " set_at " BETWEEN " MG_SQL_TIME("$10::bigint") " AND " MG_SQL_TIME(                          \
        "$11::bigint") " AND " set_at                                                                        \
                       " NOT BETWEEN " MG_SQL_TIME("$12::bigint") " AND " MG_SQL_TIME(                       \
                           "$13::bigint") " THEN " MG_SQL_TIME("$9::bigint") " ELSE " MG_SQL_TIME("$5::bigint") " END"
#define IS_GRACED(moment, set_at)                                                                            \
    "($6::bigint > 0 AND " moment " <= " MG_SQL_TIME("$6::bigint") " AND " moment                            \
                                                                   " > " GRACE_AFTER(set_at) ")"
/* $1 epoch, $2 holder, $3 limit, $4 ask again, $5 grace after, $6 grace before (all ms), $7 limit of overdue,
 * $8 limit of steps, $9 grace after of the high clock, $10 to $13 its values and the low ones (ms),
 * $14 orders (store/pass_by.h) */
/* clang-format off */
/* The orders that are due. */
#define SWEEP_ORDERS(taken, lock) \
    " timely AS MATERIALIZED (" \
    "  SELECT order_id, version, wake_at FROM order_process" \
    "  WHERE wake_at > " MG_SQL_WOKEN " AND wake_at <= (SELECT now FROM clock) AND EXISTS (SELECT FROM leader) AND " taken \
    "  ORDER BY wake_at LIMIT $3::bigint " lock ")," \
    /* Orders with attempts held back return again and again, before those that became due just now. So if not \
     * all have a place, those that became due last get a quarter more. */ \
    " latest AS MATERIALIZED (" \
    "  SELECT order_id, version, wake_at FROM order_process" \
    "  WHERE wake_at > (SELECT max(wake_at) FROM timely) AND wake_at <= (SELECT now FROM clock)" \
    "   AND (SELECT count(*) FROM timely) >= $3::bigint AND " taken \
    "  ORDER BY wake_at DESC LIMIT ($3::bigint + 3) / 4 " lock ")," \
    /* A million orders may be woken: they take the places that others leave, and a quarter at least. */ \
    " woken AS MATERIALIZED (" \
    "  SELECT order_id, version, wake_at FROM order_process" \
    "  WHERE wake_at <= " MG_SQL_WOKEN " AND EXISTS (SELECT FROM leader) AND " taken " ORDER BY wake_at" \
    "  LIMIT greatest($3::bigint - (SELECT count(*) FROM timely), ($3::bigint + 3) / 4) " lock "),"
#define SWEEP_CLOCK \
    "WITH clock AS MATERIALIZED (SELECT " MG_SQL_NOW " AS now),"
#define SWEEP_TAIL \
    /* Alternates between both ends, and with the woken, so that a limit of steps leaves out neither the \
     * oldest nor the latest. */ \
    " locked AS MATERIALIZED (" \
    "  SELECT order_id, version, is_woken, least(2 * up - 1, 2 * (n - up + 1)) * 2 + is_woken::int AS place FROM (" \
    "   SELECT order_id, version, is_woken, count(*) OVER (PARTITION BY is_woken) AS n," \
    "    row_number() OVER (PARTITION BY is_woken ORDER BY wake_at, order_id COLLATE \"C\") AS up FROM (" \
    "     SELECT order_id, version, wake_at, false AS is_woken FROM timely UNION ALL" \
    "     SELECT order_id, version, wake_at, false FROM latest UNION ALL" \
    "     SELECT order_id, version, wake_at, true FROM woken) l) t)," \
    /* The same version in the statement's snapshot, from which the steps are read too. */ \
    " met AS MATERIALIZED (" \
    "  SELECT p.order_id, p.version, p.seq, p.process_state, p.is_high, l.is_woken, l.place, p.created_at, p.updated_at, CASE WHEN p.goal = 'processed'" \
    "   AND p.process_state IN ('pending', 'processing') THEN p.complete_by END AS complete_by" \
    "  FROM locked l JOIN order_process p ON p.order_id = l.order_id AND p.version = l.version)," \
    /* An order's open steps, or one row without a step, each with the order's columns. A later join by name \
     * might compare all with all, since the planner cannot estimate their number. */ \
    " step_met AS MATERIALIZED (" \
    "  SELECT c.*, s.* FROM (SELECT * FROM met ORDER BY place) c LEFT JOIN LATERAL (" \
    "   SELECT s.step, s.attempt, s.service, s.state, s.state IN ('running', 'undo_running') AS is_running," \
    "    CASE WHEN s.state IN ('running', 'undo_running') THEN s.complete_by ELSE s.due_at END AS deadline," \
    "    s.parked_high IS NOT NULL AND s.state NOT IN ('running', 'undo_running') AS is_parked" \
    "   FROM order_step s WHERE s.order_id = c.order_id" \
    "    AND (s.state IN ('running', 'undo_running') OR (s.state NOT IN ('done', 'failed', 'skipped', 'undone'," \
    "     'undo_failed') AND c.process_state IN ('pending', 'processing', 'compensating'))" \
    /* Accepted work is polled on while its order waits for an operator. */ \
    "     OR (s.state = 'waiting' AND s.is_accepted AND c.process_state = 'error'))) s ON true" \
    "  ORDER BY c.place LIMIT $8::bigint + " STEPS_OF_AN_ORDER " + 1)," \
    /* The first order without room for all its steps, and those behind it, are left for the next sweep. */ \
    " beyond AS MATERIALIZED (" \
    "  SELECT min(place) AS place FROM (" \
    "   SELECT place, count(*) AS own, sum(count(*)) OVER (ORDER BY place) AS steps FROM step_met" \
    "   WHERE (SELECT count(*) FROM step_met) > $8::bigint GROUP BY place) t WHERE steps > own AND steps > $8::bigint)," \
    " open_step AS MATERIALIZED (" \
    "  SELECT * FROM step_met WHERE (place >= (SELECT place FROM beyond)) IS NOT TRUE)," \
    /* Per order a summary of its steps: one pass over all steps, not one for each order. */ \
    " candidate AS MATERIALIZED (" \
    "  SELECT order_id, version, seq, process_state, is_high, is_woken, complete_by," \
    "   min(deadline) FILTER (WHERE NOT is_parked AND deadline > (SELECT now FROM clock)) AS next_deadline," \
    "   bool_or(is_parked) AS has_parked, min(created_at) AS created_at," \
    "   bool_or(is_running OR deadline IS NOT NULL OR state = 'unknown') AS is_moving" \
    "  FROM open_step GROUP BY order_id, version, seq, process_state, is_high, is_woken, complete_by)," \
    " found AS MATERIALIZED (" \
    "  SELECT order_id, version, seq, process_state, is_high, is_woken," \
    "   CASE WHEN is_running THEN 'overdue' ELSE 'due' END AS ask, step, attempt, service, deadline, updated_at AS set_at" \
    "  FROM open_step WHERE NOT is_parked AND (deadline <= (SELECT now FROM clock)" \
    "   OR (is_woken AND NOT is_running AND deadline IS NOT NULL))" \
    "  UNION ALL" \
    "  SELECT order_id, version, seq, process_state, is_high, is_woken," \
    "   CASE WHEN complete_by <= (SELECT now FROM clock) THEN 'expired' ELSE 'nudge' END, '', 0, ''," \
    "   CASE WHEN complete_by <= (SELECT now FROM clock) THEN complete_by END, created_at" \
    "  FROM candidate WHERE complete_by <= (SELECT now FROM clock)" \
    "   OR (process_state IN ('pending', 'processing', 'compensating') AND is_moving IS NOT TRUE)" \
    "  UNION ALL" \
    "  SELECT order_id, version, seq, process_state, is_high, is_woken, 'nudge', '', 0, '', NULL, created_at" \
    "  FROM candidate WHERE is_moving IS NOT TRUE AND complete_by <= (SELECT now FROM clock) - " UNJUDGED \
    "   AND " IS_GRACED("complete_by", "created_at") ")," \
    /* More asks than the limit might not go out. A woken order would not become due again by itself, so it \
     * stays woken. */ \
    " crowd AS MATERIALIZED (" \
    "  SELECT DISTINCT order_id FROM (SELECT order_id, is_woken, count(*) OVER by_order AS asks," \
    "    dense_rank() OVER by_order AS place FROM found WHERE EXISTS (SELECT FROM woken) WINDOW by_order AS (ORDER BY is_woken, order_id)) f" \
    "  WHERE is_woken AND asks > $3::bigint AND place > 1)," \
    " graced AS MATERIALIZED (" \
    "  SELECT *, ask IN ('overdue', 'expired') AS is_braked," \
    "   ask IN ('overdue', 'expired') AND " IS_GRACED("deadline", "set_at") " AS is_graced FROM found WHERE order_id NOT IN (SELECT order_id FROM crowd))," \
    /* The brake gives the services turns, each with its oldest deadline first; the orders themselves are one \
     * more. A service with very many overdue attempts delays only its own. */ \
    " ranked AS MATERIALIZED (" \
    "  SELECT *, CASE WHEN is_braked AND NOT is_graced THEN row_number() OVER (" \
    "   PARTITION BY is_braked AND NOT is_graced, service ORDER BY deadline) END AS turn FROM graced)," \
    " judged AS MATERIALIZED (" \
    "  SELECT *, turn IS NOT NULL AND beyond > 0 AS is_held_back FROM (" \
    "   SELECT *, row_number() OVER (ORDER BY turn, deadline) - $7::bigint AS beyond FROM ranked) r)," \
    " next AS MATERIALIZED (" \
    "  SELECT n.order_id, coalesce(min(n.at), min(k.now) + CASE WHEN bool_or(n.has_parked) THEN " LOOK_AT_PARKED \
    "   ELSE " LOOK_AGAIN " END) AS wake_at FROM (" \
    "    SELECT order_id, has_parked, least(next_deadline, CASE WHEN complete_by > (SELECT now FROM clock) THEN complete_by END)" \
    "     AS at FROM candidate WHERE order_id NOT IN (SELECT order_id FROM crowd)" \
    "    UNION ALL" \
    "    SELECT order_id, NULL, (SELECT now FROM clock) + CASE WHEN is_held_back THEN " HELD_BACK \
    "      * (1 + (beyond - 1) / (" SWEEPS_HELD " * greatest($7::bigint, 1)))" \
    "     ELSE $4::bigint * interval '1 millisecond' END FROM judged) n CROSS JOIN clock k GROUP BY n.order_id)," \
    " pushed AS (" \
    "  UPDATE order_process p SET wake_at = n.wake_at FROM next n WHERE p.order_id = n.order_id)," \
    /* Marks steps parked by a scheduler that does not mark them. */ \
    " unmarked AS MATERIALIZED (" \
    "  SELECT s.order_id, s.step, j.is_high FROM judged j CROSS JOIN LATERAL (" \
    "   SELECT s.order_id, s.step FROM order_step s WHERE s.order_id = j.order_id AND s.step = j.step" \
    "    AND s.parked_high IS NULL AND " MG_SQL_WAITS_FOR_GATE("s") " FOR NO KEY UPDATE SKIP LOCKED) s" \
    "  WHERE j.ask = 'due')," \
    " marked AS (" \
    "  UPDATE order_step s SET parked_high = u.is_high, parked_until = k.now + $4::bigint * interval '1 millisecond'" \
    "  FROM unmarked u CROSS JOIN clock k WHERE s.order_id = u.order_id AND s.step = u.step)," \
    " asked AS (" \
    "  SELECT order_id, ask, step, attempt, version, seq, deadline, set_at," \
    "   ask = 'nudge' AND process_state <> 'pending'" \
    "    AND order_id NOT IN (SELECT order_id FROM judged WHERE ask = 'expired') AS is_stuck FROM judged WHERE NOT is_graced AND NOT is_held_back)" \
    " SELECT EXISTS (SELECT FROM leader), " MG_SQL_MS("k.now") "," \
    "  (SELECT count(*) FROM judged WHERE is_braked AND NOT is_graced), " \
    "  (SELECT count(*) FROM locked) >= $3::bigint OR (SELECT place FROM beyond) IS NOT NULL," \
    "  a.order_id, a.ask, a.step, a.attempt, a.version, a.seq, " MG_SQL_MS("a.deadline") ", a.is_stuck, " MG_SQL_MS("a.set_at") \
    /* Deadlines first: without room for all, waits stay behind. */ \
    " FROM clock k LEFT JOIN asked a ON true ORDER BY a.ask NOT IN ('overdue', 'expired'), a.deadline"
#define SWEEP(taken) \
    SWEEP_CLOCK \
    /* This update's row lock is the fence: it waits for a take-over under way, and then nothing is swept. */ \
    " leader AS (" \
    "  UPDATE supervisor_leader SET seen_at = c.now, swept_at = greatest(swept_at, c.now) FROM clock c" \
    "  WHERE name = 'supervisor' AND epoch = $1::bigint AND holder = $2::text RETURNING name)," \
    SWEEP_ORDERS(taken, "FOR NO KEY UPDATE SKIP LOCKED") \
    SWEEP_TAIL
const struct mg_many_sql MG_STORE_SWEEP = {
    .all = {"sweep", SWEEP("order_id <> ALL ($14::text[]) AND " MG_SQL_NOT_ASIDE)},
    .keys = {"sweep_keys",
        SWEEP_CLOCK
        " leader AS MATERIALIZED (SELECT FROM supervisor_leader WHERE name = 'supervisor' AND epoch = $1::bigint AND holder = $2::text),"
        SWEEP_ORDERS("order_id <> ALL ($14::text[]) AND " MG_SQL_NOT_ASIDE, "")
        " unused AS (SELECT $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint, $10::bigint, $11::bigint,"
        "  $12::bigint, $13::bigint)"
        " SELECT order_id FROM timely UNION SELECT order_id FROM latest UNION SELECT order_id FROM woken"},
    .among = {"sweep_among", SWEEP("order_id = ANY ($14::text[]) AND " MG_SQL_NOT_ASIDE)},
    .noun = "order",
    .verb = "swept"};
/* clang-format on */
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
    void *arg;
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
    mg_store_job_detach(&job->base);
    struct mg_err err;
    if (reply->err == NULL) {
        const struct mg_rows *rows = reply->rows[0];
        int count = mg_rows_count(rows);
        job->dues = calloc((size_t)count, sizeof(*job->dues));
        if (job->dues == NULL) {
            (void)mg_err_set(&err, MG_TRANSIENT, "could not sweep: no memory");
            job->done(job->arg, NULL, &err);
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
    struct sweep_job *job = mg_store_job_create(store, sizeof(*job), finish_sweep);
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
    mg_pg_add_int(&params, options->step_limit);
    mg_pg_add_int(&params, options->grace_high_after_ms);
    mg_pg_add_int(&params, options->high.from_ms);
    mg_pg_add_int(&params, options->high.until_ms);
    mg_pg_add_int(&params, options->high.low_from_ms);
    mg_pg_add_int(&params, options->high.low_until_ms);
    mg_store_send_many(store, &MG_STORE_SWEEP, &params, on_swept, job);
}

/* ---- waking ---- */

/* $1 epoch, $2 holder, $3 limit, $4 orders (store/pass_by.h) */
/* clang-format off */
#define WAKE_ORDERS(taken) \
    " asleep AS MATERIALIZED (" \
    "  SELECT order_id FROM order_process WHERE wake_at > " MG_SQL_WOKEN " AND EXISTS (SELECT FROM leader) AND " taken \
    "  ORDER BY wake_at DESC LIMIT $3::bigint)"
#define WAKE(taken) \
    /* The lead of the clock is kept until the last order is woken. If this leader ends before, the next one \
     * finds it in this row and continues. */ \
    "WITH leader AS (" \
    "  UPDATE supervisor_leader SET seen_at = " MG_SQL_NOW ", swept_at = CASE WHEN $3::bigint > (SELECT count(*)" \
    "   FROM (SELECT FROM order_process WHERE wake_at > " MG_SQL_WOKEN " AND " taken " LIMIT $3::bigint) o)" \
    "   THEN " MG_SQL_NOW " ELSE swept_at END" \
    "  WHERE name = 'supervisor' AND epoch = $1::bigint AND holder = $2::text RETURNING name)," \
    WAKE_ORDERS(taken) "," \
    /* No SKIP LOCKED: a skipped order that is being written would sleep on. Locked by id, as writers lock. */ \
    " locked AS MATERIALIZED (" \
    "  SELECT order_id FROM order_process WHERE order_id = ANY (ARRAY(SELECT order_id FROM asleep))" \
    "  AND wake_at > " MG_SQL_WOKEN " ORDER BY order_id COLLATE \"C\" FOR NO KEY UPDATE)," \
    " woken AS (" \
    "  UPDATE order_process SET wake_at = " MG_SQL_WOKEN \
    "   WHERE order_id = ANY (ARRAY(SELECT order_id FROM locked)))" \
    " SELECT EXISTS (SELECT FROM leader), (SELECT count(*) FROM asleep) >= $3::bigint"
static const struct mg_many_sql WAKE_OPEN = {
    .all = {"wake", WAKE("order_id <> ALL ($4::text[]) AND " MG_SQL_NOT_ASIDE)},
    .keys = {"wake_keys",
        "WITH leader AS MATERIALIZED (SELECT FROM supervisor_leader WHERE name = 'supervisor' AND epoch = $1::bigint AND holder = $2::text),"
        WAKE_ORDERS("order_id <> ALL ($4::text[]) AND " MG_SQL_NOT_ASIDE)
        " SELECT order_id FROM asleep"},
    .among = {"wake_among", WAKE("order_id = ANY ($4::text[]) AND " MG_SQL_NOT_ASIDE)},
    .noun = "order",
    .verb = "woken"};
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
    struct wake_job *job = mg_store_job_create(store, sizeof(*job), NULL);
    job->done = done;
    job->arg = arg;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, (int64_t)epoch);
    mg_pg_add_text(&params, mg_slice_of(holder));
    mg_pg_add_int(&params, limit);
    mg_store_send_many(store, &WAKE_OPEN, &params, on_woken, job);
}
