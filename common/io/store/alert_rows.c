/*
 * Alerts without an order's transition: about services, queues, poisoned messages, invariants. Each (code,
 * subject) has one open alert. The unique index decides which of several writers opened it, and only that
 * writer publishes it.
 */
#include <stdlib.h>

#include "io/store/pass_by.h"

/*
 * A leader's alerts are fenced by its epoch ($6, $7) under a row lock (law 9, one leader): a leader that
 * wakes from a pause changes nothing. Sessions that never lead have no right to that lock, and do not need
 * it.
 */
/* clang-format off */
#define WRITE_ALERTS(fence, renewed, is_let_through, taken)                                                               \
    "WITH " fence                                                                                            \
    " input AS MATERIALIZED ("                                                                               \
    "  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[])"                  \
    "   WITH ORDINALITY AS i(code, subject, order_id, text, is_closed, n)"                                   \
    "  WHERE " is_let_through " AND " taken "),"                                                                   \
    renewed                                                                                                  \
    " closed AS ("                                                                                           \
    "  UPDATE operator_alert a SET closed_at = " MG_SQL_NOW " FROM input i"                                  \
    "  WHERE i.is_closed AND a.code = i.code AND a.subject = i.subject AND a.closed_at IS NULL"              \
    "  RETURNING a.code, a.subject, true AS is_closed),"                                                     \
    " opened AS ("                                                                                           \
    "  INSERT INTO operator_alert (code, subject, order_id, text)"                                           \
    "  SELECT i.code, i.subject, i.order_id, i.text FROM input i WHERE NOT i.is_closed ORDER BY i.code,"     \
    " i.subject"                                                                                             \
    "  ON CONFLICT (code, subject) WHERE closed_at IS NULL DO NOTHING"                                       \
    "  RETURNING code, subject, false AS is_closed)"                                                         \
    " SELECT min(i.n) - 1 FROM input i"                                                                      \
    " JOIN (SELECT * FROM closed UNION ALL SELECT * FROM opened) c USING (code, subject, is_closed)"         \
    " GROUP BY code, subject, is_closed"

#define FENCE                                                                                                \
    "fence AS MATERIALIZED ("                                                                                \
    "  SELECT 1 FROM supervisor_leader WHERE name = 'supervisor' AND epoch = $6::bigint"                     \
    "   AND holder = $7::text FOR SHARE),"
/* A leader's alert is a condition that lasts, and its reason may change. */
#define RENEWED                                                                                              \
    " renewed AS ("                                                                                          \
    "  UPDATE operator_alert a SET text = i.text FROM input i"                                               \
    "  WHERE NOT i.is_closed AND a.code = i.code AND a.subject = i.subject AND a.closed_at IS NULL"          \
    "   AND a.text <> i.text),"                                                                              \
    /* A message that could not be stored is repaired or given up when no dead letter is left. The leader    \
     * may not have seen that of a young alert. */                                                           \
    " settled AS ("                                                                                          \
    "  UPDATE operator_alert a SET closed_at = " MG_SQL_NOW " FROM input i"                                  \
    "  WHERE i.is_closed AND i.code = 'dead_letter' AND a.code = 'poisoned' AND a.closed_at IS NULL"         \
    "   AND a.subject NOT IN ('orders.rejected', 'dead.letters')"                                            \
    "   AND a.opened_at < " MG_SQL_NOW " - interval '1 minute'),"
/* The keys (store/pass_by.h) are the last parameter: an alert and its subject. */
#define ALERT_KEY "i.code || '/' || i.subject"
#define ALERT_KEYS(unused, keys)                                                                             \
    "WITH unused AS (SELECT $3::text[], $4::text[], $5::boolean[]" unused ")"                                \
    " SELECT DISTINCT " ALERT_KEY " FROM unnest($1::text[], $2::text[]) AS i(code, subject)"                 \
    " WHERE " ALERT_KEY " <> ALL (" keys "::text[])"
static const struct mg_many_sql WRITE_ALERTS_FREELY = {
    .all = {"write_alerts_freely", WRITE_ALERTS("", "", "true", ALERT_KEY " <> ALL ($6::text[])")},
    .keys = {"write_alerts_freely_keys", ALERT_KEYS("", "$6")},
    .among = {"write_alerts_freely_among", WRITE_ALERTS("", "", "true", ALERT_KEY " = ANY ($6::text[])")},
    .noun = "alert",
    .verb = "written",
    .is_given = true};
static const struct mg_many_sql WRITE_ALERTS_FENCED = {
    .all = {"write_alerts_fenced",
        WRITE_ALERTS(FENCE, RENEWED, "EXISTS (SELECT FROM fence)", ALERT_KEY " <> ALL ($8::text[])")},
    .keys = {"write_alerts_fenced_keys", ALERT_KEYS(", $6::bigint, $7::text", "$8")},
    .among = {"write_alerts_fenced_among",
        WRITE_ALERTS(FENCE, RENEWED, "EXISTS (SELECT FROM fence)", ALERT_KEY " = ANY ($8::text[])")},
    .noun = "alert",
    .verb = "written",
    .is_given = true};
/* clang-format on */

/* These alerts report a single event, so no cause can end: an ack closes them. That includes alerts acked by
 * a tool that did not know their code. */
/* clang-format off */
#define HAPPENED_ONCE "a.code IN ('poisoned', 'bulk_stopped', 'newer_version', 'statuses_given_up', 'schedule_missed', " \
    "'late_callback')"
/* $1 alert, $2 by, $3 reason. The causes are those of report_alert_causes.sql. */
static const struct mg_sql ACK_ALERT = {
    "ack_alert",
    "WITH meant AS MATERIALIZED (SELECT * FROM operator_alert WHERE alert_id = $1::bigint AND closed_at IS NULL),"
    " acked AS ("
    "  UPDATE operator_alert a SET acked_at = " MG_SQL_NOW ", acked_by = $2::text || ': ' || left($3::text, 140),"
    "   closed_at = CASE WHEN " HAPPENED_ONCE " THEN " MG_SQL_NOW " END"
    "  FROM meant m WHERE a.closed_at IS NULL AND a.code = m.code AND (a.acked_at IS NULL OR " HAPPENED_ONCE ")"
    "   AND (a.alert_id = m.alert_id OR (a.workflow = m.workflow AND a.step IS NOT DISTINCT FROM m.step"
    "    AND a.service IS NOT DISTINCT FROM m.service AND a.error_code IS NOT DISTINCT FROM m.error_code))"
    "  RETURNING a.alert_id),"
    " counted AS MATERIALIZED (SELECT count(*) FROM acked),"
    " noted AS (INSERT INTO operator_action (by_whom, verb, subject, reason, detail)"
    "  SELECT $2::text, 'alert ack', m.alert_id::text, $3::text, json_build_object('code', m.code, 'order_id', m.order_id,"
    "   'workflow', m.workflow, 'step', m.step, 'error', m.error_code, 'alerts', c.count)"
    "  FROM meant m, counted c WHERE c.count > 0)"
    " SELECT count FROM counted"};
/* clang-format on */

struct alerts_job {
    struct mg_store_job base;
    bool *is_changed;
    int count;
    mg_store_alerts_fn *done;
};

static void finish_alerts(struct mg_store_job *base)
{
    free(((struct alerts_job *)base)->is_changed);
}

static bool take_changed(struct alerts_job *job, const struct mg_rows *rows, struct mg_err *err)
{
    for (int row = 0; row < mg_rows_count(rows); row++) {
        int index = mg_store_index_of(rows, row, job->count, err);
        if (index < 0) {
            (void)mg_err_prefix(err, "cannot determine which alerts are new");
            return false;
        }
        job->is_changed[index] = true;
    }
    return true;
}

static void on_alerts_written(void *arg, const struct mg_pg_answer *reply)
{
    struct alerts_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, 0, mg_store_error(reply, "write alerts", &err));
    } else if (!take_changed(job, reply->rows[0], &err)) {
        job->done(job->base.arg, NULL, 0, &err);
    } else {
        job->done(job->base.arg, job->is_changed, job->count, NULL);
    }
}

void mg_store_write_alerts(struct mg_store *store, const struct mg_alert_write *alerts, int count,
                           mg_store_alerts_fn *done, void *arg)
{
    struct alerts_job *job = mg_store_job_create(store, sizeof(*job), on_alerts_written, arg, finish_alerts);
    job->count = count;
    job->done = done;
    job->is_changed = calloc((size_t)count + 1, sizeof(*job->is_changed));
    if (job->is_changed == NULL) {
        mg_pg_refuse(store->pg, MG_PG_BUSY, "no memory", mg_store_job_answer, job);
        return;
    }
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    int code = mg_pg_add_array(&params, MG_PG_TEXT), subject = mg_pg_add_array(&params, MG_PG_TEXT);
    int order_id = mg_pg_add_array(&params, MG_PG_TEXT), text = mg_pg_add_array(&params, MG_PG_TEXT);
    int is_closed = mg_pg_add_array(&params, MG_PG_BOOL);
    for (int i = 0; i < count; i++) {
        bool has_order = alerts[i].order_id != NULL && alerts[i].order_id[0] != '\0';
        mg_pg_push_text(&params, code, mg_slice_of(mg_alert_name(alerts[i].alert)));
        mg_pg_push_text(&params, subject, mg_slice_of(alerts[i].subject));
        mg_pg_push_text(&params, order_id,
                        has_order ? mg_slice_of(alerts[i].order_id) : (struct mg_slice){NULL, 0});
        mg_pg_push_text(&params, text, alerts[i].text.data == NULL ? mg_slice_of("") : alerts[i].text);
        mg_pg_push_bool(&params, is_closed, alerts[i].is_closed);
    }
    bool is_fenced = store->options.is_leader_session;
    if (is_fenced) {
        /* A leader session that does not lead matches no row. */
        mg_pg_add_int(&params, store->lead_epoch > 0 ? (int64_t)store->lead_epoch : -1);
        mg_pg_add_text(&params, mg_slice_of(store->lead_holder));
    }
    mg_store_send_many(store, is_fenced ? &WRITE_ALERTS_FENCED : &WRITE_ALERTS_FREELY, &params,
                       mg_store_job_answer, job);
}

struct ack_job {
    struct mg_store_job base;
    mg_store_acked_fn *done;
};

static void on_acked(void *arg, const struct mg_pg_answer *reply)
{
    struct ack_job *job = arg;
    struct mg_err err;
    if (reply->err != NULL) {
        job->done(job->base.arg, 0, mg_store_error(reply, "acknowledge the alert", &err));
    } else {
        job->done(job->base.arg, mg_rows_int(reply->rows[0], 0, 0), NULL);
    }
}

void mg_store_ack_alert(struct mg_store *store, const struct mg_alert_ack *ack, mg_store_acked_fn *done,
                        void *arg)
{
    struct ack_job *job = mg_store_job_create(store, sizeof(*job), on_acked, arg, NULL);
    job->done = done;
    struct mg_pg_params params;
    mg_pg_params_init(&params);
    mg_pg_add_int(&params, ack->alert_id);
    mg_pg_add_text(&params, mg_slice_of(ack->by));
    mg_pg_add_text(&params, mg_slice_of(ack->reason));
    mg_store_send_one(store, &ACK_ALERT, &params, mg_store_job_answer, job);
}
