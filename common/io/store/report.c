/*
 * Reports for the operator's tool: named queries, each in a file of sql/ that has its name. The type of a
 * column is the form of its values in JSON (mg_rows_type): so a moment is formatted there, and a text that
 * holds JSON is cast. Times are RFC 3339 in UTC. No order's path uses them. Each is bounded by a limit, by
 * one order or by the number of services.
 */
#include <assert.h>
#include <string.h>

#include "io/store/sql.h"
#include "io/store/store_private.h"

_Static_assert(MG_STEPS_COUNTED_ORDERS == MG_SQL_report_workflow_steps_orders_max, "the same");
_Static_assert(MG_SERVICE_INSTANCES_MAX == MG_SQL_report_control_agents_max, "the same");
_Static_assert((int)MG_ORDERS_STATE == MG_SQL_report_orders_state &&
                   (int)MG_ORDERS_WORKFLOW == MG_SQL_report_orders_workflow &&
                   (int)MG_ORDERS_SINCE == MG_SQL_report_orders_since &&
                   (int)MG_ORDERS_UNTIL == MG_SQL_report_orders_until &&
                   (int)MG_ORDERS_CURSOR == MG_SQL_report_orders_cursor &&
                   (int)MG_ORDERS_LIMIT == MG_SQL_report_orders_limit &&
                   (int)MG_ORDERS_LABELS == MG_SQL_report_orders_labels &&
                   (int)MG_ORDERS_CLIENT == MG_SQL_report_orders_client &&
                   (int)MG_ORDERS_PARAMS == MG_SQL_report_orders_params &&
                   (int)MG_ORDERS_PARAMS == MG_SQL_report_client_orders_params,
               "the same");
_Static_assert((int)MG_AWAITING_SIGNAL == MG_SQL_report_awaiting_signal &&
                   (int)MG_AWAITING_WORKFLOW == MG_SQL_report_awaiting_workflow &&
                   (int)MG_AWAITING_ORDER == MG_SQL_report_awaiting_order_id &&
                   (int)MG_AWAITING_CURSOR == MG_SQL_report_awaiting_cursor &&
                   (int)MG_AWAITING_LIMIT == MG_SQL_report_awaiting_limit &&
                   (int)MG_AWAITING_PAYLOAD_MAX == MG_SQL_report_awaiting_payload_max &&
                   (int)MG_AWAITING_PARAMS == MG_SQL_report_awaiting_params,
               "the same");

/* The report of a file. */
#define REPORT(name)                                                                                         \
    {                                                                                                        \
        MG_SQL_OF(name), MG_SQL_##name##_params                                                              \
    }

/* ---- reports of the columns of columns.def ---- */

#define ISO(time) "to_char(" time " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"

/* clang-format off */

/* An archived order as it was then: type json keeps bytes, so values come out unchanged. While an order of
 * this id is in the tables, the archive is not read. */
#define ARCHIVED                                                                                             \
    "(SELECT archived_on, dossier FROM order_archive WHERE order_id = $1::text"                              \
    " AND NOT EXISTS (SELECT FROM order_process p WHERE p.order_id = $1::text)"                              \
    " ORDER BY archived_on DESC LIMIT 1) a"

/* A column of a report, and of the type that the archived report reads from the dossier's JSON. */
#define SHOWN(name, type, written, loaded, listed, ...)       ", " SHOWN_##listed(type, #name, #name)
#define SHOWN_P(name, type, written, loaded, listed, ...)     ", " SHOWN_##listed(type, "p." #name, #name)
#define SHOWN_LIST(type, column, name)                        SHOWN_##type(column, name)
#define SHOWN_JSON(type, column, name)                        "makegood_json(" column ") AS " name
#define SHOWN_text(column, name)                              column
#define SHOWN_bigint(column, name)                            column
#define SHOWN_boolean(column, name)                           column
#define SHOWN_timestamptz(column, name)                       ISO(column) " AS " name
#define ARCHIVED_AS(name, type, written, loaded, listed, ...) ", " #name " " ARCHIVED_##listed(type)
#define ARCHIVED_LIST(type)                                   ARCHIVED_##type
#define ARCHIVED_JSON(type)                                   "json"
#define ARCHIVED_text                                         "text"
#define ARCHIVED_bigint                                       "bigint"
#define ARCHIVED_boolean                                      "boolean"
#define ARCHIVED_timestamptz                                  "text"

static const struct {
    struct mg_sql sql;
    int param_count;
} REPORTS[MG_REPORT_COUNT] = {
    [MG_REPORT_ORDER] = {{
        "report_order",
        "SELECT p.order_id, p.process_state AS state" MG_ORDER_COLUMNS(MG_LISTED, SHOWN_P) ","
        " " ISO("o.received_at") " AS received_at, encode(o.digest, 'hex') AS digest, makegood_json(o.payload) AS payload, o.client,"
        " (SELECT coalesce(json_object_agg(l.name, l.value ORDER BY l.name), '{}') FROM order_label l"
        "  WHERE l.order_id = p.order_id) AS labels,"
        " CASE WHEN p.process_state = 'processed' THEN l.status->'output' END AS output,"
        " CASE WHEN p.process_state = 'error' THEN l.status->>'reason' END AS status_reason"
        " FROM order_process p LEFT JOIN orders o ON o.order_id = p.order_id AND o.revision = p.revision"
        " LEFT JOIN LATERAL makegood_shown_status(p.order_id, p.process_state) AS l(status) ON true"
        " WHERE p.order_id = $1::text"}, 1},
    [MG_REPORT_ORDER_STEPS] = {{
        "report_order_steps",
        "SELECT position" MG_STEP_COLUMNS(MG_LISTED, SHOWN)
        " FROM order_step WHERE order_id = $1::text ORDER BY position"}, 1},
    [MG_REPORT_ORDER_EVENTS] = {{
        "report_order_events",
        "SELECT * FROM ("
        "  SELECT version" MG_EVENT_COLUMNS(MG_LISTED, SHOWN)
        "   FROM order_event WHERE order_id = $1::text ORDER BY version DESC LIMIT 10000"
        " ) AS newest ORDER BY version"}, 1},
    [MG_REPORT_ARCHIVED_ORDER] = {{
        "report_archived_order",
        "SELECT $1::text AS order_id, p.*, r.*, coalesce(a.dossier->'labels', '{}') AS labels,"
        " nullif((a.dossier->'output')::text, 'null')::json AS output, NULL::text AS status_reason, a.archived_on FROM " ARCHIVED ","
        " json_to_record(a.dossier->'order') AS p (state text" MG_ORDER_COLUMNS(MG_LISTED, ARCHIVED_AS) ")"
        " LEFT JOIN LATERAL (SELECT received_at, digest, payload, client FROM json_to_recordset(a.dossier->'revisions')"
        "   AS r (revision bigint, received_at text, digest text, payload json, client text)"
        "  WHERE r.revision = p.revision) r ON true"}, 1},
    [MG_REPORT_ARCHIVED_STEPS] = {{
        "report_archived_steps",
        "SELECT s.* FROM " ARCHIVED ", json_to_recordset(a.dossier->'steps') AS s (position bigint"
        MG_STEP_COLUMNS(MG_LISTED, ARCHIVED_AS) ") ORDER BY s.position"}, 1},
    [MG_REPORT_ARCHIVED_EVENTS] = {{
        "report_archived_events",
        "SELECT e.* FROM " ARCHIVED ", json_to_recordset(a.dossier->'events') AS e (version bigint"
        MG_EVENT_COLUMNS(MG_LISTED, ARCHIVED_AS) ") ORDER BY e.version"}, 1},
    [MG_REPORT_ARCHIVED_DOSSIER] = {{
        "report_archived_dossier",
        "SELECT dossier, archived_on FROM " ARCHIVED}, 1},
    [MG_REPORT_LEADER] = {{
        "report_leader",
        "SELECT name, epoch, holder, " ISO("seen_at") " AS seen_at, " ISO("swept_at") " AS swept_at,"
        " floor(extract(epoch FROM " MG_SQL_NOW " - seen_at) * 1000)::bigint AS age_ms,"
        " " MG_SQL_HELD_BY("1", "seen_at") " AS held_by"
        " FROM supervisor_leader"}, 0},
    [MG_REPORT_ORDERS] = REPORT(report_orders),
    [MG_REPORT_CLIENT_ORDERS] = REPORT(report_client_orders),
    [MG_REPORT_FIND] = REPORT(report_find),
    [MG_REPORT_PAGE_OPEN] = REPORT(report_page_open),
    [MG_REPORT_PAGE_PARKED] = REPORT(report_page_parked),
    [MG_REPORT_PAGE_DUE] = REPORT(report_page_due),
    [MG_REPORT_ORDER_OF_CLIENT] = REPORT(report_order_of_client),
    [MG_REPORT_ARCHIVED_ORDER_OF_CLIENT] = REPORT(report_archived_order_of_client),
    [MG_REPORT_ARCHIVED_STATUSES_OF_CLIENT] = REPORT(report_archived_statuses_of_client),
    [MG_REPORT_SUBMISSIONS_MEET] = REPORT(report_submissions_meet),
    [MG_REPORT_STATUSES_OF_CLIENT] = REPORT(report_statuses_of_client),
    [MG_REPORT_CHANGES] = REPORT(report_changes),
    [MG_REPORT_VERSIONS] = REPORT(report_versions),
    [MG_REPORT_FAILURES] = REPORT(report_failures),
    [MG_REPORT_FAILURE_GROUPS] = REPORT(report_failure_groups),
    [MG_REPORT_FAILURES_LOOKED_AT] = REPORT(report_failures_looked_at),
    [MG_REPORT_DOSSIER] = REPORT(report_dossier),
    [MG_REPORT_CALLS] = REPORT(report_calls),
    [MG_REPORT_ORDER_SINCE] = REPORT(report_order_since),
    [MG_REPORT_STEPS_OF_CLIENT] = REPORT(report_steps_of_client),
    [MG_REPORT_ORDER_ASIDE] = REPORT(report_order_aside),
    [MG_REPORT_WAITING] = REPORT(report_waiting),
    [MG_REPORT_AWAITING] = REPORT(report_awaiting),
    [MG_REPORT_ORDER_OWED] = REPORT(report_order_owed),
    [MG_REPORT_OWED] = REPORT(report_owed),
    [MG_REPORT_RETENTION] = REPORT(report_retention),
    [MG_REPORT_ALERTS] = REPORT(report_alerts),
    [MG_REPORT_ALERT_CAUSES] = REPORT(report_alert_causes),
    [MG_REPORT_ACTIONS] = REPORT(report_actions),
    [MG_REPORT_SCHEDULES] = REPORT(report_schedules),
    [MG_REPORT_SCHEDULE] = REPORT(report_schedule),
    [MG_REPORT_SCHEDULE_RUNS] = REPORT(report_schedule_runs),
    [MG_REPORT_SCHEDULE_HEALTH] = REPORT(report_schedule_health),
    [MG_REPORT_WORKFLOWS] = REPORT(report_workflows),
    [MG_REPORT_WORKFLOW] = REPORT(report_workflow),
    [MG_REPORT_WORKFLOW_STEPS] = REPORT(report_workflow_steps),
    [MG_REPORT_SERVICES] = REPORT(report_services),
    [MG_REPORT_SERVICE_MINUTES] = REPORT(report_service_minutes),
    [MG_REPORT_ORDER_MINUTES] = REPORT(report_order_minutes),
    [MG_REPORT_CONTROL] = REPORT(report_control),
    [MG_REPORT_CONTROLLED] = REPORT(report_controlled),
    [MG_REPORT_KEPT_SERVICES] = REPORT(report_kept_services),
    [MG_REPORT_PROCESSES] = REPORT(report_processes),
    [MG_REPORT_COUNTS] = REPORT(report_counts),
    [MG_REPORT_FIGURES] = REPORT(report_figures),
    [MG_REPORT_OLDEST] = REPORT(report_oldest),
    [MG_REPORT_ACCEPTED] = REPORT(report_accepted),
    [MG_REPORT_STUCK] = REPORT(report_stuck),
    [MG_REPORT_BULK_CHOICE] = REPORT(report_bulk_choice),
    [MG_REPORT_BULK_LIST] = REPORT(report_bulk_list),
    [MG_REPORT_BULK] = REPORT(report_bulk),
    [MG_REPORT_BULK_ORDERS] = REPORT(report_bulk_orders),
    [MG_REPORT_BULK_RUNNER] = REPORT(report_bulk_runner),
    [MG_REPORT_LINE_TURNS] = REPORT(report_line_turns),
    [MG_REPORT_LINE_FIGURES] = REPORT(report_line_figures),
    [MG_REPORT_LINE] = REPORT(report_line),
    [MG_REPORT_UNNEEDED_ALERTS] = REPORT(report_unneeded_alerts),
    [MG_REPORT_SETTINGS] = REPORT(report_settings),
    [MG_REPORT_COLLATION] = REPORT(report_collation),
};
/* clang-format on */

struct report_job {
    struct mg_store_job base;
    mg_store_rows_fn *done;
    enum mg_report report;
    int param_count;
    size_t params_size;
    char params[]; /* each with its NUL */
};

static void on_rows(void *arg, const struct mg_pg_answer *reply)
{
    struct report_job *job = arg;
    struct mg_err err;
    mg_reads_note(job->base.store, job->report, REPORTS[job->report].sql.name,
                  (struct mg_slice){job->params, job->params_size}, job->param_count, reply);
    if (reply->err != NULL) {
        job->done(job->base.arg, NULL, mg_store_error(reply, "read the report", &err));
    } else {
        job->done(job->base.arg, reply->rows[0], NULL);
    }
}

const char *mg_store_report_sql(enum mg_report report)
{
    assert(report >= 0 && report < MG_REPORT_COUNT);
    return REPORTS[report].sql.text;
}

void mg_store_report(struct mg_store *store, enum mg_report report, const char *const *params,
                     int param_count, mg_store_rows_fn *done, void *arg)
{
    assert(report >= 0 && report < MG_REPORT_COUNT && param_count == REPORTS[report].param_count);
    size_t size = 0;
    for (int i = 0; i < param_count; i++) {
        size += strlen(params[i]) + 1;
    }
    struct report_job *job = mg_store_job_create(store, sizeof(*job) + size, on_rows, arg, NULL);
    job->report = report;
    job->param_count = param_count;
    job->done = done;
    struct mg_pg_params values;
    mg_pg_params_init(&values);
    for (int i = 0; i < param_count; i++) {
        struct mg_slice value = mg_slice_of(params[i]);
        mg_pg_add_text(&values, value);
        memcpy(job->params + job->params_size, value.data, value.len + 1);
        job->params_size += value.len + 1;
    }
    mg_store_send_one(store, &REPORTS[report].sql, &values, mg_store_job_answer, job);
}
