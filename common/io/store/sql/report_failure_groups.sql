-- The same by cause, most orders first.
-- In this folder: psql -f report_failure_groups.sql, with the values below.
\set workflow ''
\set step ''
\set error ''
\set services ''
\set since ''
\set until ''
\set limit '50'
\set labels ''
\set failures `cat parts/failures.sql`
\set failure_wanted `cat parts/failure_wanted.sql`
\set rarest `cat parts/rarest.sql`
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\set behind true

SELECT f.workflow, f.step, f.service, f.error, count(DISTINCT f.order_id) AS count,
    to_char(min(f.opened_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS oldest,
    (array_agg(f.order_id ORDER BY f.opened_at DESC, f.alert_id DESC))[1] AS example
FROM (:failures) f
WHERE :failure_wanted
GROUP BY f.workflow, f.step, f.service, f.error
ORDER BY count(DISTINCT f.order_id) DESC, min(f.opened_at), f.workflow, f.step, f.service, f.error
LIMIT least(:'limit'::text::bigint, 10000);
