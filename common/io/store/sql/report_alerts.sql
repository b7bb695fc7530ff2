-- Alerts, newest first: 'all' or the open ones. Open alerts may be older than any number of closed ones, so each kind
-- has an index of its own.
-- In this folder: psql -f report_alerts.sql, with the values below.
\set which 'open'
\set limit '50'

SELECT alert_id, code, subject, order_id, text,
    to_char(opened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS opened_at,
    to_char(acked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS acked_at, acked_by,
    to_char(closed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS closed_at
FROM (
    (
        SELECT *
        FROM operator_alert
        WHERE :'which'::text = 'all'
        ORDER BY alert_id DESC
        LIMIT least(:'limit'::text::bigint, 10000)
    )
    UNION ALL (
        SELECT * FROM operator_alert WHERE :'which'::text <> 'all' AND closed_at IS NULL ORDER BY code, subject LIMIT 100000
    )
) a
ORDER BY alert_id DESC
LIMIT least(:'limit'::text::bigint, 10000);
