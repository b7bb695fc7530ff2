-- The orders that go forward, with their own deadline within a time, in ms, the nearest first; the columns are those of
-- report_orders. An order wakes no later than at its deadline. Up to a limit of orders that wake until then are read;
-- is_full: some were not.
-- In this folder: psql -f report_page_due.sql, with the values below.
\set within '600000'
\set limit '50'
\set waits `cat parts/waits.sql`

WITH looked AS MATERIALIZED (
        SELECT p.order_id, p.complete_by, p.complete_by < c.until AND p.process_state IN ('pending', 'processing') AS is_due
        FROM (SELECT clock_timestamp() + :'within'::text::bigint * interval '1 ms' AS until OFFSET 0) c, order_process p
        WHERE p.wake_at < c.until
        ORDER BY p.wake_at
        LIMIT 100000
    ),
    shown AS MATERIALIZED (
        SELECT p.*
        FROM (
            SELECT *
            FROM looked
            WHERE is_due
            ORDER BY complete_by, order_id
            LIMIT least(:'limit'::text::bigint, 10000)
        ) k
        CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = k.order_id OFFSET 0) p
    )
SELECT s.order_id, s.workflow, s.process_state AS state, s.goal, s.reason, s.failure_count,
    to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
    to_char(s.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at,
    to_char(s.complete_by AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS complete_by,
    (SELECT q.key FROM sequence_place q WHERE q.order_id = s.order_id ORDER BY q.place DESC LIMIT 1) AS line,
    w.waits_step, w.waits_service, w.waits_reason, w.failed_step, w.failed_error, p.looked_at, p.is_full, NULL AS back_to, NULL AS next
FROM (SELECT count(*) AS looked_at, count(*) = 100000 AS is_full FROM looked) p
LEFT JOIN shown s ON true
LEFT JOIN LATERAL (:waits) w ON true
ORDER BY s.complete_by, s.order_id;
