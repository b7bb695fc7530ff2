-- The oldest of the open orders, each with its first step that waits.
-- In this folder: psql -f report_oldest.sql, with the values below.
\set limit '20'
\set waits `cat parts/waits.sql`

WITH orders AS MATERIALIZED (
        SELECT order_id, workflow, process_state, reason, created_at
        FROM order_process
        WHERE wake_at IS NOT NULL
        ORDER BY wake_at
        LIMIT 100000
    )
SELECT s.order_id, s.workflow, s.process_state AS state, s.reason,
    CASE WHEN isfinite(s.created_at) THEN floor(extract(epoch FROM clock_timestamp() - s.created_at) * 1000)::bigint
        ELSE 0 END AS age_ms,
    w.waits_step, w.waits_service, w.waits_reason
FROM (
    SELECT *
    FROM orders
    WHERE process_state <> 'error'
    ORDER BY created_at, order_id
    LIMIT least(:'limit'::text::bigint, 10000)
) s
LEFT JOIN LATERAL (:waits) w ON true
ORDER BY s.created_at, s.order_id;
