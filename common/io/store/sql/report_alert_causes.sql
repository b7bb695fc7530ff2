-- Open alerts by cause, unknown causes first. The cause of an order's failure is its code, place and error; any other
-- alert is a cause of its own. One acknowledgement makes a cause known, also for later alerts, as long as the acknowledged
-- alert is open.
-- In this folder: psql -f report_alert_causes.sql, with the value below.
\set limit '50'

WITH causes AS MATERIALIZED (
        SELECT a.code, a.workflow, a.step, a.service, a.error_code, a.alone, count(*) AS count, max(a.alert_id) AS newest_id,
            min(a.opened_at) AS oldest_at, max(a.acked_at) AS acked_at, max(a.acked_by) AS acked_by
        FROM (
            SELECT code, workflow, step, service, error_code, CASE WHEN workflow IS NULL THEN subject END AS alone, alert_id,
                opened_at, acked_at, acked_by
            FROM operator_alert
            WHERE closed_at IS NULL
            ORDER BY code, subject
            LIMIT 100000
        ) a
        GROUP BY a.code, a.workflow, a.step, a.service, a.error_code, a.alone
        ORDER BY max(a.acked_at) IS NOT NULL, count(*) DESC, min(a.opened_at), max(a.alert_id)
        LIMIT least(:'limit'::text::bigint, 10000)
    )
SELECT n.alert_id, c.code, n.subject, n.order_id, c.workflow, c.step, c.service, c.error_code AS error, c.count,
    to_char(c.oldest_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS oldest,
    floor(extract(epoch FROM clock_timestamp() - c.oldest_at) * 1000)::bigint AS oldest_ms,
    to_char(n.opened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS newest,
    to_char(c.acked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS acked_at, c.acked_by, n.text
FROM causes c
CROSS JOIN LATERAL (SELECT * FROM operator_alert o WHERE o.alert_id = c.newest_id OFFSET 0) n
ORDER BY c.acked_at IS NOT NULL, c.count DESC, c.oldest_at, c.newest_id;
