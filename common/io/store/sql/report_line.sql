-- A line by its key, its head first; or, by one of its orders, its head and this order. In every row the number of orders
-- in the line.
-- In this folder: psql -f report_line.sql, with the values below.
\set key ''
\set order_id ''
\set limit '1000'

WITH wanted AS MATERIALIZED (
        SELECT :'key'::text AS key WHERE :'key'::text <> ''
        UNION ALL
        SELECT p.key FROM sequence_place p WHERE :'key'::text = '' AND p.order_id = :'order_id'::text
    ),
    line AS MATERIALIZED (
        SELECT p.key, row_number() OVER (ORDER BY p.place) - 1 AS before, count(*) OVER () AS length, p.order_id, p.place,
            p.joined_at
        FROM wanted w
        JOIN sequence_place p ON p.key = w.key
    )
SELECT l.key, l.before, l.order_id, o.workflow, o.process_state AS state, o.reason,
    to_char(l.joined_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS joined_at,
    to_char(o.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at, l.length
FROM line l
JOIN order_process o ON o.order_id = l.order_id
WHERE :'key'::text <> '' OR l.before = 0 OR l.order_id = :'order_id'::text
ORDER BY l.place
LIMIT least(:'limit'::text::bigint, 10000);
