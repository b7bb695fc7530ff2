-- Since when an order is where it is, and the time now.
-- In this folder: psql -f report_order_since.sql, with the values below.
\set order_id 'o-1'
\set since `cat parts/order_since.sql`

SELECT to_char(s.since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS since,
    to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS now
FROM (SELECT :since AS since) s;
