-- A page of orders with a step that is parked for a service, the oldest orders first; the columns are those of
-- report_orders. Up to a limit of parked steps are read; is_full: some were not. The cursor is the last order of the page
-- before.
-- In this folder: psql -f report_page_parked.sql, with the values below.
\set service 'payment'
\set cursor ''
\set limit '50'
\set waits `cat parts/waits.sql`

WITH parked AS MATERIALIZED (
        SELECT order_id FROM order_step WHERE service = :'service'::text AND parked_high IS NOT NULL LIMIT 10000
    ),
    shown AS MATERIALIZED (
        SELECT p.*
        FROM (SELECT DISTINCT order_id FROM parked) k
        CROSS JOIN LATERAL (SELECT q.* FROM order_process q WHERE q.order_id = k.order_id OFFSET 0) p
        WHERE :'cursor'::text = ''
            OR (p.created_at, p.order_id) > (
                SELECT a.created_at, a.order_id FROM order_process a WHERE a.order_id = :'cursor'::text
            )
        ORDER BY p.created_at, p.order_id
        LIMIT least(:'limit'::text::bigint, 10000)
    )
SELECT s.order_id, s.workflow, s.process_state AS state, s.goal, s.reason, s.failure_count,
    to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
    to_char(s.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at,
    to_char(s.complete_by AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS complete_by,
    (SELECT q.key FROM sequence_place q WHERE q.order_id = s.order_id ORDER BY q.place DESC LIMIT 1) AS line,
    w.waits_step, w.waits_service, w.waits_reason, p.looked_at, p.is_full, p.back_to, p.next
FROM (
    SELECT (SELECT count(*) FROM parked) AS looked_at, (SELECT count(*) = 10000 FROM parked) AS is_full, NULL AS back_to,
        (
            SELECT CASE WHEN count(*) = least(:'limit'::text::bigint, 10000)
                THEN (array_agg(s.order_id ORDER BY s.created_at DESC, s.order_id DESC))[1] END
            FROM shown s
        ) AS next
) p
LEFT JOIN shown s ON true
LEFT JOIN LATERAL (:waits) w ON true
ORDER BY s.created_at, s.order_id;
