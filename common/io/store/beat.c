/*
 * The heartbeat of a process: its row in process_state, written every few seconds in the session of its work.
 * So a row that gets old shows a process that is gone, frozen or cut off, or a session that commits nothing.
 */
#include "io/store/store_private.h"

/* Rows of processes that have ended long ago; a day's incidents can still be read. */
#define OLD "interval '1 day'"

/* clang-format off */
static const struct mg_sql BEAT = {
    "beat",
    "WITH old AS MATERIALIZED ("
    "  SELECT kind, instance FROM process_state WHERE seen_at < " MG_SQL_NOW " - " OLD " FOR UPDATE SKIP LOCKED),"
    " gone AS (DELETE FROM process_state p USING old o WHERE p.kind = o.kind AND p.instance = o.instance)"
    " INSERT INTO process_state AS p (kind, instance, started_at, seen_at, in_hand, stands_since, oldest_order, reason,"
    "  orders_aside, orders)"
    " SELECT $1::text, $2::text, c.now - $3::bigint * interval '1 ms', c.now, $4::bigint,"
    "  CASE WHEN $5::bigint > 0 THEN c.now - $5::bigint * interval '1 ms' END, $6::text, $7::text, $8::json,"
    "  CASE WHEN $9::bigint >= 0 THEN ARRAY[$9::bigint, $10::bigint, $11::bigint] END"
    " FROM (SELECT " MG_SQL_NOW " AS now) c"
    " ON CONFLICT (kind, instance) DO UPDATE SET seen_at = excluded.seen_at, in_hand = excluded.in_hand,"
    "  stands_since = excluded.stands_since, oldest_order = excluded.oldest_order, reason = excluded.reason,"
    "  orders_aside = excluded.orders_aside, orders = excluded.orders"};
static const struct mg_sql END_BEATS = {
    "end_beats",
    "DELETE FROM process_state WHERE kind = $1::text AND instance = $2::text"};
/* clang-format on */

static void on_beaten(void *arg, const struct mg_pg_answer *answer)
{
    struct mg_store_done_job *job = arg;
    if (answer->err == NULL) {
        job->base.store->standby[0] = '\0';
    }
    mg_store_done_job_answer(job, answer);
}

void mg_store_beat(struct mg_store *store, const struct mg_beat *beat, mg_store_done_fn *done, void *arg)
{
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(beat->kind));
    mg_pg_add_text(&params, mg_slice_of(beat->instance));
    if (!beat->is_end) {
        mg_pg_add_int(&params, beat->age_ms);
        mg_pg_add_int(&params, beat->in_hand);
        mg_pg_add_int(&params, beat->stands_ms);
        mg_pg_add_text(&params, mg_slice_of(beat->oldest_order));
        mg_pg_add_text(&params, mg_slice_of(beat->reason));
        mg_pg_add_text(&params, beat->orders_aside.len > 0 ? beat->orders_aside : mg_slice_of("[]"));
        mg_pg_add_int(&params, beat->has_orders ? beat->accepted : -1);
        mg_pg_add_int(&params, beat->ended);
        mg_pg_add_int(&params, beat->failed);
    }
    mg_store_send_one(store, beat->is_end ? &END_BEATS : &BEAT, &params, on_beaten,
                      mg_store_done_job_create(store, done, arg));
}
