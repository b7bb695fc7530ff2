/* Deletes a service that nothing names any more; one statement checks and deletes. */

#include "io/store/store_private.h"

#define WHY_SIZE 512

/* May read all open orders: an operator calls it rarely, and "none" must be true for all of them. An order in
 * error is open as long as its alert is. */
/* clang-format off */
static const struct mg_sql FORGET_SERVICE = {
    "forget_service",
    "WITH naming AS MATERIALIZED (SELECT DISTINCT w.name, w.version"
    "  FROM workflow w, makegood_elements(makegood_json(w.definition), 'steps') AS step WHERE step->>'service' = $1::text),"
    " used AS (SELECT 1 AS n, 'the loaded workflow ' || name || ' (version ' || version || ') names it' AS why"
    "   FROM naming JOIN (SELECT name, max(version) AS version FROM workflow GROUP BY name) v USING (name, version)"
    "  UNION ALL SELECT 2, 'the open order ' || p.order_id || ' needs it (workflow ' || n.name || ', version '"
    "   || n.version || ')' FROM naming n JOIN LATERAL (SELECT order_id FROM order_process"
    "   WHERE wake_at IS NOT NULL AND workflow = n.name AND workflow_version = n.version LIMIT 1) p ON true"
    "  UNION ALL SELECT 2, 'the order ' || p.order_id || ' is in line and needs it (workflow ' || n.name || ', version '"
    "   || n.version || ')' FROM naming n JOIN LATERAL (SELECT p.order_id FROM sequence_place q JOIN order_process p"
    "   USING (order_id) WHERE p.workflow = n.name AND p.workflow_version = n.version LIMIT 1) p ON true"
    "  UNION ALL SELECT 3, 'the order ' || order_id || ' failed at it and is still open' FROM operator_alert"
    "   WHERE closed_at IS NULL AND order_id IS NOT NULL AND service = $1::text"
    "  UNION ALL SELECT 4, 'its agent ' || instance || ' has reported less than 10 s ago' FROM service_state"
    "   WHERE service = $1::text AND reported_at BETWEEN " MG_SQL_NOW " - interval '10 seconds'"
    "    AND " MG_SQL_NOW " + interval '10 seconds'),"
    " kept AS MATERIALIZED (SELECT why FROM used ORDER BY n, why LIMIT 1),"
    " control AS (DELETE FROM service_control WHERE service = $1::text AND NOT EXISTS (SELECT FROM kept)"
    "  RETURNING is_paused, paused_until, concurrency, rate_per_s, version),"
    " reports AS (DELETE FROM service_state WHERE service = $1::text AND NOT EXISTS (SELECT FROM kept) RETURNING instance),"
    " alerts AS (UPDATE operator_alert SET closed_at = " MG_SQL_NOW " WHERE code = 'unpublishable' AND subject = $1::text"
    "  AND closed_at IS NULL AND NOT EXISTS (SELECT FROM kept) RETURNING alert_id),"
    " forgotten AS (SELECT (SELECT row_to_json(c) FROM control c) AS control, (SELECT count(*) FROM reports) AS reports,"
    "  (SELECT count(*) FROM alerts) AS alerts),"
    " noted AS (INSERT INTO operator_action (by_whom, verb, subject, reason, detail)"
    "  SELECT $3::text, 'service forget', $1::text, $2::text, row_to_json(f) FROM forgotten f"
    "  WHERE f.control IS NOT NULL OR f.reports + f.alerts > 0)"
    " SELECT (SELECT why FROM kept), control IS NOT NULL OR reports + alerts > 0 FROM forgotten"};
/* clang-format on */

struct forget_job {
    struct mg_store_job base;
    mg_store_forget_fn *done;
};

static void on_forgotten(void *arg, const struct mg_pg_answer *reply)
{
    struct forget_job *job = arg;
    struct mg_err err;
    char why[WHY_SIZE] = "";
    enum mg_forget_result result = MG_FORGET_IN_USE;
    if (reply->err == NULL) {
        mg_rows_copy(reply->rows[0], 0, 0, why, sizeof(why));
        if (why[0] == '\0') {
            result = mg_rows_bool(reply->rows[0], 0, 1) ? MG_FORGET_DONE : MG_FORGET_NOT_FOUND;
        }
    }
    job->done(job->base.arg, result, why,
              reply->err == NULL ? NULL : mg_store_error(reply, "forget the service", &err));
}

void mg_store_forget_service(struct mg_store *store, const char *service, const char *reason, const char *by,
                             mg_store_forget_fn *done, void *arg)
{
    struct forget_job *job = mg_store_job_create(store, sizeof(*job), on_forgotten, arg, NULL);
    struct mg_pg_params params;
    job->done = done;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(service));
    mg_pg_add_text(&params, mg_slice_of(reason));
    mg_pg_add_text(&params, mg_slice_of(by));
    mg_store_send_one(store, &FORGET_SERVICE, &params, mg_store_job_answer, job);
}
