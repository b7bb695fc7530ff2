-- The oldest of the open orders.
-- In this folder: psql -f report_oldest.sql, with the values below.
\set limit '20'

WITH orders AS MATERIALIZED (
        SELECT order_id, workflow, process_state, reason, created_at
        FROM order_process
        WHERE wake_at IS NOT NULL
        ORDER BY wake_at
        LIMIT 100000
    )
SELECT order_id, workflow, process_state AS state, reason,
    CASE WHEN isfinite(created_at) THEN floor(extract(epoch FROM clock_timestamp() - created_at) * 1000)::bigint
        ELSE 0 END AS age_ms
FROM orders
WHERE process_state <> 'error'
ORDER BY created_at, order_id
LIMIT least(:'limit'::text::bigint, 10000);
