-- The orders that a bulk action of these failures would take.
-- In this folder: psql -f report_bulk_choice.sql, with the values below.
\set workflow ''
\set step ''
\set error ''
\set services ''
\set since ''
\set until ''
\set labels ''
\set failures `cat parts/failures.sql`
\set failure_wanted `cat parts/failure_wanted.sql`
\set rarest `cat parts/rarest.sql`
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\set behind true

SELECT count(*) FILTER (WHERE is_error AND NOT is_lost AND NOT is_taken) AS orders,
    count(*) FILTER (WHERE NOT is_error) AS not_in_error, count(*) FILTER (WHERE is_error AND is_lost) AS of_lost_state,
    count(*) FILTER (WHERE is_error AND NOT is_lost AND is_taken) AS in_other_bulk,
    to_char(min(opened_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS oldest,
    to_char(max(opened_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS newest
FROM (
    SELECT p.order_id, min(f.opened_at) AS opened_at, p.process_state = 'error' AS is_error, p.reason = 'state_lost' AS is_lost,
        EXISTS (SELECT FROM bulk_order o WHERE o.order_id = p.order_id AND o.result IN ('waiting', 'asked')) AS is_taken
    FROM (:failures) f
    JOIN order_process p ON p.order_id = f.order_id
    WHERE :failure_wanted
    GROUP BY p.order_id
) AS chosen;
