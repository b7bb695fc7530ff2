/* Operator settings of a service: the row, and the line that records the operator, in one statement. Also
 * such a line alone, for other actions. */
#include "io/store/store_private.h"

/* $3 is the verb; values that it does not cover stay. A missing row has version 0. */
/* clang-format off */
static const struct mg_sql PUT_SETTING = {
    "put_setting",
    "WITH known AS (SELECT WHERE EXISTS (SELECT FROM service_control WHERE service = $1::text)"
    "  OR EXISTS (SELECT FROM service_state WHERE service = $1::text)"
    "  OR EXISTS (SELECT FROM workflow w, makegood_elements(makegood_json(w.definition), 'steps') AS s"
    "   WHERE s->>'service' = $1::text)),"
    " written AS (INSERT INTO service_control AS c (service, is_paused, paused_until, concurrency, rate_per_s,"
    "   version, reason, by_whom)"
    "  SELECT $1::text, $3::text = 'pause', CASE $3::text WHEN 'pause' THEN"
    "    " MG_SQL_NOW " + nullif($4::bigint, 0) * interval '1 millisecond' END,"
    "   nullif($5::text::bigint, 0), nullif($6::text::double precision, 0), 1, $7::text, $8::text"
    "   WHERE EXISTS (SELECT FROM known)"
    "    AND ($2::bigint = 0 OR EXISTS (SELECT FROM service_control WHERE service = $1::text))"
    "  ON CONFLICT (service) DO UPDATE SET"
    "   is_paused = CASE $3::text WHEN 'limit' THEN c.is_paused ELSE excluded.is_paused END,"
    "   paused_until = CASE $3::text WHEN 'limit' THEN c.paused_until ELSE excluded.paused_until END,"
    "   concurrency = CASE WHEN $5::text IS NULL THEN c.concurrency ELSE excluded.concurrency END,"
    "   rate_per_s = CASE WHEN $6::text IS NULL THEN c.rate_per_s ELSE excluded.rate_per_s END,"
    "   version = c.version + 1, reason = excluded.reason, by_whom = excluded.by_whom,"
    "   set_at = " MG_SQL_NOW
    "   WHERE c.version = $2::bigint"
    "  RETURNING is_paused, paused_until, concurrency, rate_per_s, version),"
    " noted AS (INSERT INTO operator_action (by_whom, verb, subject, reason, detail)"
    "  SELECT $8::text, 'service ' || $3::text, $1::text, $7::text, row_to_json(w) FROM written w)"
    " SELECT EXISTS (SELECT FROM known), (SELECT version FROM written)"};
/* clang-format on */

struct setting_job {
    struct mg_store_job base;
    mg_store_setting_fn *done;
};

static void on_setting_put(void *arg, const struct mg_pg_answer *reply)
{
    struct setting_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, MG_CHANGE_CONFLICT, 0,
                  mg_store_error(reply, "write the operator settings", &err));
    } else if (!mg_rows_bool(reply->rows[0], 0, 0)) {
        job->done(job->base.arg, MG_CHANGE_NOT_FOUND, 0, NULL);
    } else if (mg_rows_value(reply->rows[0], 0, 1).data == NULL) {
        job->done(job->base.arg, MG_CHANGE_CONFLICT, 0, NULL);
    } else {
        job->done(job->base.arg, MG_CHANGE_DONE, (uint64_t)mg_rows_int(reply->rows[0], 0, 1), NULL);
    }
}

void mg_store_put_setting(struct mg_store *store, const struct mg_service_setting *setting,
                          mg_store_setting_fn *done, void *arg)
{
    static const char *const verbs[] = {
        [MG_SETTING_PAUSE] = "pause", [MG_SETTING_RESUME] = "resume", [MG_SETTING_LIMIT] = "limit"};
    struct setting_job *job = mg_store_job_create(store, sizeof(*job), on_setting_put, arg, NULL);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(setting->service));
    mg_pg_add_int(&params, (int64_t)setting->version);
    mg_pg_add_text(&params, mg_slice_of(verbs[setting->verb]));
    mg_pg_add_int(&params, setting->pause_ms);
    mg_pg_add_text(&params, mg_slice_of(setting->concurrency));
    mg_pg_add_text(&params, mg_slice_of(setting->rate_per_s));
    mg_pg_add_text(&params, mg_slice_of(setting->reason));
    mg_pg_add_text(&params, mg_slice_of(setting->by));
    mg_store_send_one(store, &PUT_SETTING, &params, mg_store_job_answer, job);
}

/* clang-format off */
static const struct mg_sql NOTE_ACTION = {
    "note_action",
    "INSERT INTO operator_action (by_whom, verb, subject, reason, detail)"
    " VALUES ($1::text, $2::text, $3::text, $4::text, $5::json)"};
/* clang-format on */

void mg_store_note_action(struct mg_store *store, const struct mg_operator_action *action,
                          mg_store_done_fn *done, void *arg)
{
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_text(&params, mg_slice_of(action->by));
    mg_pg_add_text(&params, mg_slice_of(action->verb));
    mg_pg_add_text(&params, mg_slice_of(action->subject));
    mg_pg_add_text(&params, mg_slice_of(action->reason));
    mg_pg_add_text(&params, action->detail);
    mg_store_send_one(store, &NOTE_ACTION, &params, mg_store_done_job_answer,
                      mg_store_done_job_create(store, done, arg));
}
