-- The time since which an order is set aside, the operator and the reason.
-- In this folder: psql -f report_order_aside.sql, with the values below.
\set order_id 'o-1'

SELECT to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS since, by_whom, reason
FROM order_aside
WHERE order_id = :'order_id'::text;
