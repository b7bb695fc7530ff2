/*
 * Reports for the operator's tool: named queries. The type of a column is the form of its values in JSON
 * (mg_rows_type): so a moment is formatted here, and a text that holds JSON is cast. Times are RFC 3339 in
 * UTC. No order's path uses them. Each is bounded by a limit, by one order or by the number of services.
 */
#include <assert.h>
#include <string.h>

#include "io/store/failures.h"
#include "io/store/labels.h"
#include "io/store/pages.h"
#include "io/store/private.h"
#include "io/store/retention.h"
#include "io/store/services.h"

/* More rows than a person reads; the tables grow with time, not with open orders. */
#define ROWS_MAX "10000"
/* Two heartbeats of a process or reports of an agent are missing (io/vitals.h, wire/reply.h). */
#define SILENT "interval '10 s'"
/* So long an operator can tell a frozen process from one that was replaced by fewer. */
#define REPLACED "interval '5 minutes'"
/* Number of open rows counted, each kind through an index: some tenths of a second at most. Beyond it an
 * exact number is of no use. */
#define FIGURES_MAX "100000"
/* Overdue orders whose locks are looked at: normally sweeps leave none for seconds. */
#define OVERDUE_LOOKED_AT "100"
#define STEPS_COUNTED     "5000"
_Static_assert(MG_STEPS_COUNTED_ORDERS == 5000, "the same");
#define MS_OF(interval) "(extract(epoch FROM " interval ") * 1000)::bigint"
/* A moment without end has no age. */
#define AGE_MS(time)                                                                                         \
    "CASE WHEN isfinite(" time ") THEN floor(extract(epoch FROM " MG_SQL_NOW " - " time                      \
    ") * 1000)::bigint ELSE 0 END"

/* A number from a table that may be missing: SQL that names a missing table cannot be planned. */
#define SCHEMA(value, table)                                                                                 \
    "(xpath('//v/text()', query_to_xml('SELECT " value " AS v FROM ' || " table                              \
    ", false, true, '')))[1]::text"

/* The version of the collation that the server has now; NULL: none, or an older server than PostgreSQL 15. */
#define COLLATION_ACTUAL                                                                                     \
    "CASE WHEN current_setting('server_version_num')::int >= 150000 THEN"                                    \
    " (xpath('//v/text()', query_to_xml('SELECT pg_database_collation_actual_version(oid) AS v FROM"         \
    " pg_database WHERE datname = current_database()', false, true, '')))[1]::text END"
/* Key columns, in indexes of the visible schema, that are sorted by more than their bytes. */
#define COLLATED_KEYS                                                                                        \
    "(SELECT count(*) FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid, unnest(x.indcollation) k (oid)" \
    " WHERE c.relnamespace = current_schema()::regnamespace"                                                 \
    " AND k.oid NOT IN (0, '\"C\"'::regcollation, '\"POSIX\"'::regcollation))"

#define ISO(time) "to_char(" time " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"

/* A sweep overdue for this long does not come. */
#define SWEEP_BOUND "interval '60 seconds'"
/* A woken order's wake_at does not reveal how long it has waited. Sweeps take it first. So it is passed by
 * only if no sweep runs, and each sweep is recorded in the leader's row. */
#define IS_PASSED_BY                                                                                         \
    "p.wake_at < " MG_SQL_NOW " - " SWEEP_BOUND " AND (p.wake_at <> " MG_SQL_WOKEN                           \
    " OR NOT EXISTS (SELECT FROM supervisor_leader WHERE seen_at >= " MG_SQL_NOW " - " SWEEP_BOUND "))"
/* A pause may end by itself. */
#define IS_PAUSED "(c.is_paused AND (c.paused_until IS NULL OR c.paused_until > " MG_SQL_NOW "))"
/* An open order is moved by a running attempt, by a wait with an end, or by a person alerted of a doubt. The
 * sweep moves it if wake_at is set and sweeps run. */
#define IS_STUCK                                                                                             \
    "p.process_state IN ('pending', 'processing', 'compensating') AND p." MG_SQL_NOT_ASIDE                   \
    " AND (p.wake_at IS NULL"                                                                                \
    " OR (" IS_PASSED_BY ")"                                                                                 \
    " OR (p.process_state <> 'pending' AND NOT EXISTS (SELECT FROM order_step s WHERE s.order_id = "         \
    "p.order_id"                                                                                             \
    "  AND (s.state IN ('running', 'undo_running', 'unknown') OR (s.due_at IS NOT NULL"                      \
    "   AND s.state IN ('pending', 'waiting', 'undo_pending', 'undo_waiting'))))))"

/* clang-format off */

/* The services that new orders need: those of each workflow's newest version, as rows `service`. */
#define SERVICES_OF(workflows)                                                                               \
    "(SELECT DISTINCT step->>'service' AS service"                                                           \
    " FROM " workflows " v JOIN workflow w USING (name, version), makegood_elements(makegood_json(w.definition), 'steps') AS step)"
/* The versions of open orders, within the limit of the figures. */
#define KEPT_VERSIONS                                                                                        \
    "(SELECT DISTINCT workflow AS name, workflow_version AS version FROM (SELECT workflow, workflow_version" \
    "  FROM order_process WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT " FIGURES_MAX ") o)"

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

#define BULK_COLUMNS                                                                                        \
    "b.bulk_id, b.verb, b.state, b.version, b.orders, b.waiting, b.asked, b.done, b.failed, b.skipped,"     \
    " b.is_tried, b.canary, b.rate_per_s, b.stop_percent, makegood_json(b.filter) AS filter, b.by_whom, b.reason, b.why,"             \
    " " ISO("b.created_at") " AS created_at, " ISO("b.ended_at") " AS ended_at"

static const struct {
    struct mg_sql sql;
    int param_count;
} REPORTS[MG_REPORT_COUNT] = {
    [MG_REPORT_ORDERS] = {{
        "report_orders",
        MG_LIST_PAGE(MG_SQL_PAGE_OF_ORDERS)}, 6},
    [MG_REPORT_ORDERS_LABELLED] = {{"report_orders_labelled", MG_LIST_PAGE(MG_SQL_PAGE_OF_LABELLED)}, 7},
    [MG_REPORT_FIND] = {{"report_find", MG_FIND}, 2},
    [MG_REPORT_PAGE_LABELLED] = {{"report_page_labelled", MG_JSON_PAGE(MG_SQL_PAGE_OF_LABELLED)}, 7},
    [MG_REPORT_PAGE_OPEN] = {{"report_page_open", MG_PAGE_OPEN}, 6},
    [MG_REPORT_PAGE_NEWEST] = {{"report_page_newest", MG_JSON_PAGE(MG_SQL_PAGE_OF_ORDERS)}, 6},
    [MG_REPORT_PAGE_OF_CLIENT] = {{"report_page_of_client", MG_SQL_PAGE_OF_CLIENT}, 4},
    [MG_REPORT_PAGE_LABELLED_OF_CLIENT] = {{"report_page_labelled_of_client", MG_SQL_PAGE_OF_CLIENT_LABELLED}, 5},
    [MG_REPORT_ORDER_OF_CLIENT] = {{"report_order_of_client", MG_ORDER_OF_CLIENT}, 2},
    [MG_REPORT_ARCHIVED_ORDER_OF_CLIENT] = {{
        "report_archived_order_of_client",
        "SELECT * FROM makegood_archived_order($1::text, $2::text)"}, 2},
    [MG_REPORT_ARCHIVED_STATUSES_OF_CLIENT] = {{
        "report_archived_statuses_of_client",
        "SELECT * FROM makegood_archived_statuses($1::text, $2::text, $3::text::bigint)"
        " LIMIT least($4::text::bigint, " ROWS_MAX ")"}, 4},
    [MG_REPORT_SUBMISSIONS_MEET] = {{"report_submissions_meet", MG_SUBMISSIONS_MEET}, 3},
    [MG_REPORT_STATUSES_OF_CLIENT] = {{"report_statuses_of_client", MG_STATUSES_OF_CLIENT}, 5},
    [MG_REPORT_CHANGES] = {{
        "report_changes",
        "SELECT w.place, p.version, p.process_state AS state"
        " FROM unnest(string_to_array($1::text, ' '), string_to_array($2::text, ' ')::bigint[], string_to_array($3::text, ' '))"
        "  WITH ORDINALITY AS w(order_id, version, client, place)"
        " JOIN order_process p ON p.order_id = w.order_id"
        " WHERE p.version <> w.version AND " MG_SQL_IS_OF_CLIENT("w", "w.client") " LIMIT " ROWS_MAX}, 3},
    [MG_REPORT_VERSIONS] = {{
        "report_versions",
        "SELECT order_id, version, process_state AS state FROM order_process"
        " WHERE order_id = ANY (string_to_array($1::text, ' ')) LIMIT " ROWS_MAX}, 1},
    [MG_REPORT_FAILURES] = {{
        "report_failures",
        "SELECT f.alert_id, f.order_id, f.workflow, p.process_state AS state, f.step, f.service, f.error,"
        " a.error_code, a.code AS alert, " ISO("f.opened_at") " AS opened_at, a.acked_by, a.text"
        " FROM (SELECT f.* FROM (" MG_SQL_FAILURES("$5", "$6", "$7") ") f"
        "  WHERE " MG_SQL_IS_FAILURE_WANTED("$1", "$2", "$3", "$4", "$9")
        "  ORDER BY f.opened_at DESC, f.alert_id DESC LIMIT least($8::text::bigint, " ROWS_MAX ")) f"
        " JOIN operator_alert a ON a.alert_id = f.alert_id LEFT JOIN order_process p ON p.order_id = f.order_id"
        " ORDER BY f.opened_at DESC, f.alert_id DESC"}, 9},
    [MG_REPORT_FAILURE_GROUPS] = {{
        "report_failure_groups",
        "SELECT f.workflow, f.step, f.service, f.error, count(DISTINCT f.order_id) AS count,"
        " " ISO("min(f.opened_at)") " AS oldest, (array_agg(f.order_id ORDER BY f.opened_at DESC, f.alert_id DESC))[1] AS example"
        " FROM (" MG_SQL_FAILURES("$5", "$6", "''") ") f WHERE " MG_SQL_IS_FAILURE_WANTED("$1", "$2", "$3", "$4", "$8")
        " GROUP BY f.workflow, f.step, f.service, f.error"
        " ORDER BY count(DISTINCT f.order_id) DESC, min(f.opened_at), f.workflow, f.step, f.service, f.error"
        " LIMIT least($7::text::bigint, " ROWS_MAX ")"}, 8},
    [MG_REPORT_FAILURES_LOOKED_AT] = {{
        "report_failures_looked_at",
        "SELECT count(*) AS looked_at, count(*) = " MG_SQL_FAILURES_MAX " AS is_full, " ISO("(min(f.opened_at) + interval '1 millisecond')") " AS oldest,"
        " ($3::text = '' OR " MG_SQL_BEHIND("alert_id", "$3") " IS NOT NULL) AS is_known"
        " FROM (" MG_SQL_FAILURES("$1", "$2", "$3") ") f"}, 3},
    [MG_REPORT_ORDER] = {{
        "report_order",
        "SELECT p.order_id, p.process_state AS state" MG_ORDER_COLUMNS(MG_LISTED, SHOWN_P) ","
        " " ISO("o.received_at") " AS received_at, encode(o.digest, 'hex') AS digest, makegood_json(o.payload) AS payload, o.client,"
        " " MG_SQL_LABELS_OF("p.order_id") " AS labels,"
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
        "   FROM order_event WHERE order_id = $1::text ORDER BY version DESC LIMIT " ROWS_MAX
        " ) AS newest ORDER BY version"}, 1},
    [MG_REPORT_DOSSIER] = {{
        "report_dossier",
        "SELECT d AS dossier FROM makegood_dossier($1::text, true) d WHERE d IS NOT NULL"}, 1},
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
    [MG_REPORT_ORDER_ASIDE] = {{
        "report_order_aside",
        "SELECT " ISO("since") " AS since, by_whom, reason FROM order_aside WHERE order_id = $1::text"}, 1},
    /* Sweeps lock the orders that are due, so they skip locked ones, of which nobody gets a cause. */
    [MG_REPORT_WAITING] = {{
        "report_waiting",
        "WITH clock AS MATERIALIZED (SELECT " MG_SQL_NOW " AS now),"
        " aside AS MATERIALIZED (SELECT a.order_id, p.seen_at - a.for_ms * interval '1 ms' AS since, a.reason"
        "  FROM process_state p, json_to_recordset(p.orders_aside) AS a (order_id text, for_ms bigint, reason text)"
        "  WHERE p.seen_at > (SELECT now FROM clock) - interval '10 s'),"
        " overdue AS MATERIALIZED (SELECT order_id, wake_at AS since FROM order_process"
        "  WHERE wake_at > " MG_SQL_WOKEN " AND wake_at < (SELECT now FROM clock) - interval '5 s' AND " MG_SQL_NOT_ASIDE
        "  ORDER BY wake_at LIMIT " OVERDUE_LOOKED_AT "),"
        " held AS MATERIALIZED (SELECT * FROM makegood_order_locks(ARRAY("
        "  SELECT order_id FROM aside UNION SELECT order_id FROM overdue)))"
        " SELECT w.order_id, " ISO("min(w.since)") " AS since, coalesce(max(w.reason), 'its deadline has passed') AS reason,"
        "  h.held_by FROM (SELECT * FROM aside UNION ALL"
        "   SELECT order_id, since, NULL FROM overdue WHERE order_id IN (SELECT order_id FROM held)) w"
        " LEFT JOIN held h USING (order_id) WHERE $1::text IN ('', w.order_id)"
        " GROUP BY w.order_id, h.held_by ORDER BY min(w.since), w.order_id LIMIT " ROWS_MAX}, 1},
    [MG_REPORT_ORDER_OWED] = {{
        "report_order_owed",
        "SELECT p.reply_to, count(*) FILTER (WHERE e.owed) AS owed, " ISO("min(e.at) FILTER (WHERE e.owed)") " AS owed_since,"
        " count(e.given_up_at) AS given_up, " ISO("max(e.given_up_at)") " AS given_up_at"
        " FROM order_event e JOIN order_process p USING (order_id)"
        " WHERE e.order_id = $1::text AND (e.owed OR e.given_up_at IS NOT NULL) GROUP BY p.reply_to"}, 1},
    [MG_REPORT_OWED] = {{
        "report_owed",
        "SELECT o.number, o.oldest_ms, q.name AS queue, " AGE_MS("q.since") " AS queue_ms, q.number AS queues"
        " FROM (SELECT count(*) AS number, " AGE_MS("min(at)") " AS oldest_ms"
        "   FROM (SELECT at FROM order_event WHERE owed ORDER BY owed_to, at LIMIT " FIGURES_MAX ") e) o"
        "  LEFT JOIN (SELECT name, since, count(*) OVER () AS number FROM (SELECT * FROM reply_queue LIMIT " ROWS_MAX ") n"
        "   ORDER BY since, name LIMIT 1) q ON true"}, 0},
    [MG_REPORT_ARCHIVED_DOSSIER] = {{
        "report_archived_dossier",
        "SELECT dossier, archived_on FROM " ARCHIVED}, 1},
    [MG_REPORT_RETENTION] = {{
        "report_retention",
        "SELECT justify_hours(r.hot) AS hot, " MS_OF("r.hot") " AS hot_ms, justify_hours(r.keep) AS keep,"
        " " MS_OF("r.keep") " AS keep_ms, r.by_whom, r.reason,"
        " " ISO("r.set_at") " AS set_at, d.ahead, d.oldest_day FROM retention r,"
        " (SELECT count(*) FILTER (WHERE day >= (" MG_SQL_NOW " AT TIME ZONE 'UTC')::date) AS ahead,"
        "   min(day) AS oldest_day FROM (" MG_SQL_ARCHIVE_DAYS ") days) d WHERE r.name = 'orders'"}, 0},
    /* Open alerts may be older than any number of closed ones: each kind has an index of its own. */
    [MG_REPORT_ALERTS] = {{
        "report_alerts",
        "SELECT alert_id, code, subject, order_id, text, " ISO("opened_at") " AS opened_at,"
        " " ISO("acked_at") " AS acked_at, acked_by, " ISO("closed_at") " AS closed_at"
        " FROM ((SELECT * FROM operator_alert WHERE $1::text = 'all' ORDER BY alert_id DESC"
        "   LIMIT least($2::text::bigint, " ROWS_MAX "))"
        "  UNION ALL (SELECT * FROM operator_alert WHERE $1::text <> 'all' AND closed_at IS NULL"
        "   ORDER BY code, subject LIMIT " FIGURES_MAX ")) a"
        " ORDER BY alert_id DESC LIMIT least($2::text::bigint, " ROWS_MAX ")"}, 2},
    [MG_REPORT_WORKFLOWS] = {{
        "report_workflows",
        "WITH open AS MATERIALIZED (SELECT workflow, workflow_version FROM order_process"
        "  WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT " FIGURES_MAX "),"
        " counted AS MATERIALIZED (SELECT workflow, workflow_version, count(*) AS open_orders FROM open GROUP BY 1, 2)"
        " SELECT w.name, w.version, " ISO("w.loaded_at") " AS loaded_at, coalesce(c.open_orders, 0) AS open_orders"
        " FROM workflow w LEFT JOIN counted c ON c.workflow = w.name AND c.workflow_version = w.version"
        " ORDER BY w.name, w.version LIMIT " ROWS_MAX}, 0},
    [MG_REPORT_WORKFLOW_STEPS] = {{
        "report_workflow_steps",
        "WITH newest AS MATERIALIZED (SELECT order_id FROM orders"
        "  WHERE revision = 1 AND received_at > " MG_SQL_NOW " - interval '1 day'"
        "  ORDER BY received_at DESC, order_id DESC LIMIT " STEPS_COUNTED "),"
        /* Each order by its key: with a plan for all orders at once the tables would be read whole. */
        " met AS MATERIALIZED (SELECT s.* FROM newest n JOIN LATERAL ("
        "  SELECT p.workflow, p.workflow_version, t.step, t.position, t.state"
        "  FROM order_process p JOIN order_step t ON t.order_id = p.order_id"
        "  WHERE p.order_id = n.order_id OFFSET 0) s ON true)"
        " SELECT workflow, step, count(*) FILTER (WHERE state = 'done') AS done,"
        " count(*) FILTER (WHERE state IN ('failed', 'undo_failed')) AS failed,"
        " count(*) FILTER (WHERE state = 'unknown') AS unknown,"
        " count(*) FILTER (WHERE state IN ('waiting', 'undo_pending', 'undo_waiting')) AS waiting,"
        " count(*) FILTER (WHERE state IN ('running', 'undo_running')) AS running,"
        " count(*) FILTER (WHERE state = 'undone') AS undone,"
        " count(*) FILTER (WHERE state = 'skipped') AS skipped,"
        " (SELECT count(*) FROM newest) AS looked_at"
        " FROM met GROUP BY workflow, step"
        " ORDER BY workflow, (array_agg(position ORDER BY workflow_version DESC))[1], step LIMIT " ROWS_MAX}, 0},
    [MG_REPORT_SERVICES] = {{
        "report_services",
        "SELECT service, instance, breaker, is_ready, in_flight, concurrency, reason,"
        " " ISO("reported_at") " AS reported_at,"
        " floor(extract(epoch FROM " MG_SQL_NOW " - reported_at) * 1000)::bigint AS age_ms"
        " FROM service_state ORDER BY service, instance LIMIT " ROWS_MAX}, 0},
    [MG_REPORT_CONTROL] = {{
        "report_control",
        "SELECT service, coalesce(c.version, 0) AS version, coalesce(" IS_PAUSED ", false) AS is_paused,"
        " coalesce(c.concurrency, 0) AS concurrency, coalesce(c.rate_per_s, 0) AS rate_per_s,"
        " coalesce(s.instance, '') AS instance, coalesce(s.breaker, '') AS breaker,"
        " coalesce(s.is_ready, false) AS is_ready, coalesce(s.process, 0) AS process,"
        " coalesce(s.is_prober, false) AS is_prober, coalesce(s.in_flight > 0, false) AS is_calling,"
        " " MG_SQL_MS(MG_SQL_NOW) " AS now_ms"
        /* After a change of the clock no report is fresh for a while. The agents of those services still get
         * the settings. */
        " FROM service_control c FULL JOIN (SELECT DISTINCT service FROM service_state) k USING (service)"
        /* A limit of agents for each service, and none for all together: no service's agents deprive
         * another's of their settings. */
        " LEFT JOIN (SELECT * FROM (SELECT service, instance, breaker, is_ready, process, is_prober, in_flight,"
        "    row_number() OVER (PARTITION BY service ORDER BY instance COLLATE \"C\") AS nth"
        "   FROM service_state WHERE " MG_SQL_IS_REPLICA_FRESH ") fresh"
        "  WHERE nth <= " MG_SQL_SERVICE_INSTANCES_MAX ") s USING (service)"
        " ORDER BY service, s.instance COLLATE \"C\""}, 0},
    [MG_REPORT_CONTROLLED] = {{
        "report_controlled",
        "WITH seen AS (SELECT service, count(*) AS agents, bool_and(breaker <> 'closed') AS is_open,"
        "  bool_or(is_ready) AS is_ready, sum(in_flight) AS in_flight,"
        "  sum(concurrency) AS capacity, count(*) FILTER (WHERE breaker <> 'closed') AS breakers_open,"
        "  array_agg(control_version) AS versions"
        "  FROM service_state WHERE " MG_SQL_IS_REPLICA_FRESH " GROUP BY service)"
        " SELECT service, CASE WHEN c.is_paused THEN 'paused'"
        "  WHEN s.agents IS NULL AND u.service IS NULL THEN 'not used' WHEN s.agents IS NULL THEN 'no agent'"
        "  WHEN s.is_open THEN 'breaker open' WHEN s.is_ready THEN 'serving' ELSE 'not ready' END AS state,"
        " coalesce(s.agents, 0) AS agents,"
        " (SELECT count(*) FROM unnest(s.versions) AS v WHERE v >= coalesce(c.version, 0)) AS obeying,"
        " coalesce(s.in_flight, 0) AS in_flight, coalesce(s.capacity, 0) AS capacity,"
        " coalesce(s.breakers_open, 0) AS breakers_open, c.concurrency, c.rate_per_s,"
        " " ISO("c.paused_until") " AS paused_until, coalesce(c.version, 0) AS version, c.by_whom, c.reason,"
        " " ISO("c.set_at") " AS set_at, u.service IS NOT NULL AS is_used"
        " FROM (SELECT service, " IS_PAUSED " AS is_paused, concurrency, rate_per_s, paused_until, version,"
        "  by_whom, reason, set_at FROM service_control c) c FULL JOIN seen s USING (service)"
        " FULL JOIN " SERVICES_OF(MG_SQL_NEWEST_VERSIONS) " u USING (service) ORDER BY service LIMIT " ROWS_MAX}, 0},
    [MG_REPORT_KEPT_SERVICES] = {{
        "report_kept_services",
        "SELECT service FROM " SERVICES_OF(KEPT_VERSIONS) " k ORDER BY service LIMIT " ROWS_MAX}, 0},
    [MG_REPORT_LEADER] = {{
        "report_leader",
        "SELECT name, epoch, holder, " ISO("seen_at") " AS seen_at, " ISO("swept_at") " AS swept_at,"
        " floor(extract(epoch FROM " MG_SQL_NOW " - seen_at) * 1000)::bigint AS age_ms,"
        " " MG_SQL_HELD_BY("1", "seen_at") " AS held_by"
        " FROM supervisor_leader"}, 0},
    /* A process that was not seen for a while is replaced by each of its kind that began since then. If any
     * began about then or later, and still fewer live than before, it is a matter of minutes, too. An agent's
     * heartbeat is its report, which a scheduler stores; the last report of one that ends as asked has the
     * reason 'stopping'. */
    [MG_REPORT_PROCESSES] = {{
        "report_processes",
        "WITH c AS MATERIALIZED (SELECT " MG_SQL_NOW " AS now),"
        " seen AS MATERIALIZED (SELECT kind, kind AS peers, instance, started_at, seen_at, in_hand, stands_since,"
        "   oldest_order, reason FROM process_state"
        "  UNION ALL SELECT 'agent', 'agent ' || service, service || '/' || instance,"
        "   timestamptz 'epoch' + process * interval '1 ms', reported_at, in_flight, NULL, '', reason"
        "  FROM service_state, c WHERE reason <> 'stopping' AND reported_at > c.now - interval '1 day'"
        "   AND EXISTS (SELECT FROM process_state s WHERE s.kind = 'scheduler' AND s.seen_at > c.now - " SILENT
        "    AND s.started_at < c.now - " SILENT " AND s.stands_since IS NULL))"
        " SELECT p.kind, p.instance, " ISO("p.seen_at") " AS seen_at,"
        " floor(extract(epoch FROM c.now - p.seen_at) * 1000)::bigint AS age_ms, p.in_hand,"
        " " ISO("p.stands_since") " AS stands_since,"
        " floor(extract(epoch FROM c.now - p.stands_since) * 1000)::bigint AS stands_ms, p.oldest_order, p.reason"
        " FROM c CROSS JOIN seen p"
        " WHERE CASE WHEN p.seen_at > c.now - " SILENT " THEN p.kind <> 'agent'"
        "  ELSE (SELECT count(*) FROM seen o WHERE o.peers = p.peers AND o.started_at > p.seen_at)"
        "    < (SELECT count(*) FROM seen o WHERE o.peers = p.peers"
        "     AND o.seen_at >= p.seen_at AND o.seen_at <= c.now - " SILENT ")"
        "   AND (p.seen_at > c.now - " REPLACED " OR NOT EXISTS (SELECT FROM seen o WHERE o.peers = p.peers"
        "    AND o.seen_at > c.now - " SILENT " AND o.started_at > p.seen_at - " REPLACED ")) END"
        " ORDER BY p.kind, p.instance LIMIT " ROWS_MAX}, 0},
    [MG_REPORT_COUNTS] = {{
        "report_counts",
        "SELECT process_state AS state, count(*) AS orders FROM order_process"
        " GROUP BY process_state ORDER BY process_state"}, 0},
    /* Of the orders in error only those with a running attempt have a wake_at. So none is counted. */
    [MG_REPORT_FIGURES] = {{
        "report_figures",
        "WITH orders AS MATERIALIZED (SELECT process_state, workflow, created_at FROM order_process"
        "  WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT " FIGURES_MAX "),"
        " alerts AS MATERIALIZED (SELECT code, opened_at FROM operator_alert WHERE closed_at IS NULL"
        "  ORDER BY code, subject LIMIT " FIGURES_MAX "),"
        " owed AS MATERIALIZED (SELECT at FROM order_event WHERE owed ORDER BY owed_to, at"
        "  LIMIT " FIGURES_MAX ")"
        " SELECT 'orders' AS figure, process_state::text AS word, workflow, count(*) AS number,"
        "  " AGE_MS("min(created_at)") " AS oldest_ms FROM orders"
        "  WHERE process_state <> 'error' GROUP BY process_state, workflow"
        " UNION ALL SELECT 'alerts', code::text, '', count(*), " AGE_MS("min(opened_at)") " FROM alerts"
        "  GROUP BY code"
        " UNION ALL SELECT 'owed', '', '', count(*), " AGE_MS("min(at)") " FROM owed"
        " LIMIT " ROWS_MAX}, 0},
    [MG_REPORT_OLDEST] = {{
        "report_oldest",
        "WITH orders AS MATERIALIZED (SELECT order_id, workflow, process_state, reason, created_at FROM order_process"
        "  WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT " FIGURES_MAX ")"
        " SELECT order_id, workflow, process_state AS state, reason, " AGE_MS("created_at") " AS age_ms FROM orders"
        "  WHERE process_state <> 'error' ORDER BY created_at, order_id LIMIT least($1::text::bigint, " ROWS_MAX ")"}, 1},
    /* The server's own counter: one number for a table of any size. It includes payloads that operators
     * repaired. */
    [MG_REPORT_ACCEPTED] = {{
        "report_accepted",
        "SELECT " ISO(MG_SQL_NOW) " AS now, pg_stat_get_tuples_inserted(to_regclass('orders')) AS accepted"}, 0},
    [MG_REPORT_STUCK] = {{
        "report_stuck",
        "SELECT p.order_id, p.workflow, p.process_state AS state, p.goal, p.reason,"
        " " ISO("p.wake_at") " AS wake_at, " ISO("p.updated_at") " AS updated_at"
        " FROM order_process p WHERE " IS_STUCK " ORDER BY p.updated_at LIMIT " ROWS_MAX}, 0},
    [MG_REPORT_BULK_CHOICE] = {{
        "report_bulk_choice",
        "SELECT count(*) FILTER (WHERE is_error AND NOT is_lost AND NOT is_taken) AS orders,"
        " count(*) FILTER (WHERE NOT is_error) AS not_in_error, count(*) FILTER (WHERE is_error AND is_lost) AS of_lost_state,"
        " count(*) FILTER (WHERE is_error AND NOT is_lost AND is_taken) AS in_other_bulk,"
        " " ISO("min(opened_at)") " AS oldest, " ISO("max(opened_at)") " AS newest"
        " FROM (SELECT p.order_id, min(f.opened_at) AS opened_at, p.process_state = 'error' AS is_error,"
        "   p.reason = 'state_lost' AS is_lost, " MG_SQL_IS_IN_BULK("p.order_id") " AS is_taken"
        "  FROM (" MG_SQL_FAILURES("$5", "$6", "''") ") f JOIN order_process p ON p.order_id = f.order_id"
        "  WHERE " MG_SQL_IS_FAILURE_WANTED("$1", "$2", "$3", "$4", "$7")
        "  GROUP BY p.order_id) AS chosen"}, 7},
    [MG_REPORT_BULK_LIST] = {{
        "report_bulk_list",
        "SELECT " BULK_COLUMNS " FROM bulk b ORDER BY b.created_at DESC, b.bulk_id DESC"
        " LIMIT least($1::text::bigint, " ROWS_MAX ")"}, 1},
    [MG_REPORT_BULK] = {{
        "report_bulk",
        "SELECT " BULK_COLUMNS " FROM bulk b WHERE b.bulk_id = $1::text"}, 1},
    [MG_REPORT_BULK_ORDERS] = {{
        "report_bulk_orders",
        "SELECT o.n, o.order_id, o.result, p.process_state AS state, " ISO("o.asked_at") " AS asked_at,"
        " " ISO("o.ended_at") " AS ended_at, o.text"
        " FROM (SELECT * FROM bulk_order WHERE bulk_id = $1::text AND n > coalesce(nullif($3::text, '')::bigint, 0)"
        "   AND ($2::text = '' OR result = $2::text) ORDER BY n LIMIT least($4::text::bigint, " ROWS_MAX ")) o"
        " LEFT JOIN order_process p ON p.order_id = o.order_id ORDER BY o.n"}, 4},
    [MG_REPORT_BULK_RUNNER] = {{
        "report_bulk_runner",
        "SELECT holder, epoch, " ISO("seen_at") " AS seen_at,"
        " CASE WHEN holder <> '' THEN floor(extract(epoch FROM " MG_SQL_NOW " - seen_at) * 1000)::bigint END AS age_ms,"
        " (SELECT count(*) FROM bulk WHERE ended_at IS NULL) AS open_bulk FROM bulk_runner"}, 0},
    /* A new alert may be about an order that is being written. */
    [MG_REPORT_UNNEEDED_ALERTS] = {{
        "report_unneeded_alerts",
        "WITH alerts AS MATERIALIZED (SELECT subject FROM operator_alert WHERE code = 'unpublishable'"
        "  AND closed_at IS NULL AND opened_at < " MG_SQL_NOW " - interval '10 seconds'"
        "  ORDER BY subject LIMIT " ROWS_MAX "),"
        " open AS MATERIALIZED (SELECT order_id FROM order_process WHERE wake_at IS NOT NULL"
        "  AND EXISTS (SELECT FROM alerts) ORDER BY wake_at LIMIT " FIGURES_MAX " + 1),"
        " needed AS MATERIALIZED (SELECT DISTINCT s.service FROM open o JOIN order_step s ON s.order_id = o.order_id"
        "  WHERE s.state IN ('running', 'waiting', 'unknown', 'undo_pending', 'undo_running', 'undo_waiting'))"
        " SELECT subject FROM alerts WHERE (SELECT count(*) FROM open) <= " FIGURES_MAX
        " AND subject NOT IN (SELECT service FROM needed)"}, 0},
    /* The schema's version without a direct query of its table: the table may be missing, and this report
     * must still answer. */
    [MG_REPORT_SETTINGS] = {{
        "report_settings",
        "SELECT current_setting('server_version') AS server_version, " ISO(MG_SQL_NOW) " AS now, " MG_SQL_MS(MG_SQL_NOW) " AS now_ms,"
        " current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,"
        " pg_is_in_recovery() AS in_recovery, current_setting('server_encoding') AS encoding,"
        " " MG_SQL_STANDBY " AS standby,"
        " coalesce(" SCHEMA("max(version)",
            "coalesce(to_regclass('makegood_migration'), to_regclass('makegood_schema'))") ", '0')::bigint AS schema_version,"
        " coalesce(" SCHEMA("max(serves_from)", "to_regclass('makegood_migration')") ", '0')::bigint AS serves_from"
        " FROM " MG_SQL_STANDBY_FROM}, 0},
    [MG_REPORT_COLLATION] = {{
        "report_collation",
        "SELECT to_jsonb(d)->>'datcollversion' AS built, " COLLATION_ACTUAL " AS actual, " COLLATED_KEYS " AS keys"
        " FROM pg_database d WHERE datname = current_database()"}, 0},
};
/* clang-format on */

struct report_job {
    struct mg_store_job base;
    mg_store_rows_fn *done;
    void *arg;
    enum mg_report report;
    int param_count;
    size_t params_size;
    char params[]; /* each with its NUL */
};

static void on_rows(void *arg, const struct mg_pg_answer *reply)
{
    struct report_job *job = arg;
    struct mg_err err;
    mg_reads_note(job->base.store, job->report, (struct mg_slice){job->params, job->params_size},
                  job->param_count, reply);
    mg_store_job_detach(&job->base);
    if (reply->err != NULL) {
        job->done(job->arg, NULL, mg_store_error(reply, "read the report", &err));
    } else {
        job->done(job->arg, reply->rows[0], NULL);
    }
    mg_store_job_destroy(&job->base);
}

const char *mg_store_report_name(enum mg_report report)
{
    return REPORTS[report].sql.name;
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
    struct report_job *job = mg_store_job_create(store, sizeof(*job) + size, NULL);
    job->report = report;
    job->param_count = param_count;
    job->done = done;
    job->arg = arg;
    struct mg_pg_params values;
    mg_pg_params_init(&values);
    for (int i = 0; i < param_count; i++) {
        struct mg_slice value = mg_slice_of(params[i]);
        mg_pg_add_text(&values, value);
        memcpy(job->params + job->params_size, value.data, value.len + 1);
        job->params_size += value.len + 1;
    }
    mg_store_send_one(store, &REPORTS[report].sql, &values, on_rows, job);
}
