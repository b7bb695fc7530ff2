-- The orders of a bulk action, with one result or with any, after the one with a number.
-- In this folder: psql -f report_bulk_orders.sql, with the values below.
\set bulk_id 'b-1'
\set result ''
\set after ''
\set limit '50'

SELECT o.n, o.order_id, o.result, p.process_state AS state,
    to_char(o.asked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS asked_at,
    to_char(o.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS ended_at, o.text
FROM (
    SELECT *
    FROM bulk_order
    WHERE bulk_id = :'bulk_id'::text AND n > coalesce(nullif(:'after'::text, '')::bigint, 0)
        AND (:'result'::text = '' OR result = :'result'::text)
    ORDER BY n
    LIMIT least(:'limit'::text::bigint, 10000)
) o
LEFT JOIN order_process p ON p.order_id = o.order_id
ORDER BY o.n;
