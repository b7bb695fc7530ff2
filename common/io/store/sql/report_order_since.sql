-- Since when an order and each of its steps are as they are, and the time now; an order without an event has one row.
-- In this folder: psql -f report_order_since.sql, with the values below.
\set order_id 'o-1'
\set since `cat parts/order_since.sql`

SELECT s.step, to_char(s.since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS since,
    to_char(s.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS changed_at,
    to_char(s.order_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS order_since,
    to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS now
FROM (SELECT) one
LEFT JOIN :since s ON true
ORDER BY s.step;
