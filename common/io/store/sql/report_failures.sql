-- Open failures of orders, newest first, after one of them.
-- In this folder: psql -f report_failures.sql, with the values below.
\set workflow ''
\set step ''
\set error ''
\set services ''
\set since ''
\set until ''
\set after ''
\set limit '50'
\set labels ''
\set failures `cat parts/failures.sql`
\set failure_wanted `cat parts/failure_wanted.sql`
\set rarest `cat parts/rarest.sql`
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\set behind `cat parts/failures_after.sql`

SELECT f.alert_id, f.order_id, f.workflow, p.process_state AS state, f.step, f.service, f.error, a.error_code, a.code AS alert,
    to_char(f.opened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS opened_at, a.acked_by, a.text
FROM (
    SELECT f.*
    FROM (:failures) f
    WHERE :failure_wanted
    ORDER BY f.opened_at DESC, f.alert_id DESC
    LIMIT least(:'limit'::text::bigint, 10000)
) f
JOIN operator_alert a ON a.alert_id = f.alert_id
LEFT JOIN order_process p ON p.order_id = f.order_id
ORDER BY f.opened_at DESC, f.alert_id DESC;
