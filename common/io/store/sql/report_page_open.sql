-- A page of open orders, oldest first; the columns are those of report_orders. Of all open orders those due first are
-- read, up to a limit; is_full: some were not. The cursor is the last order of the page before.
-- In this folder: psql -f report_page_open.sql, with the values below.
\set state ''
\set workflow ''
\set since ''
\set until ''
\set cursor ''
\set limit '50'
\set since_at `cat parts/since_at.sql`
\set until_at `cat parts/until_at.sql`
\set waits `cat parts/waits.sql`

WITH open AS MATERIALIZED (
        SELECT order_id, workflow, process_state, goal, reason, failure_count, created_at, updated_at, complete_by
        FROM order_process
        WHERE wake_at IS NOT NULL
        ORDER BY wake_at
        LIMIT 10000
    ),
    shown AS MATERIALIZED (
        SELECT *
        FROM open p
        WHERE CASE WHEN :'state'::text = '' THEN p.process_state <> 'error' ELSE p.process_state = :'state'::text END
            AND (:'workflow'::text = '' OR p.workflow = :'workflow'::text) AND p.created_at >= :since_at
            AND p.created_at < :until_at
            AND (
                :'cursor'::text = ''
                OR (p.created_at, p.order_id) > (
                    SELECT a.created_at, a.order_id FROM order_process a WHERE a.order_id = :'cursor'::text
                )
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
    SELECT (SELECT count(*) FROM open) AS looked_at, (SELECT count(*) = 10000 FROM open) AS is_full, NULL AS back_to,
        (
            SELECT CASE WHEN count(*) = least(:'limit'::text::bigint, 10000)
                THEN (array_agg(s.order_id ORDER BY s.created_at DESC, s.order_id DESC))[1] END
            FROM shown s
        ) AS next
) p
LEFT JOIN shown s ON true
LEFT JOIN LATERAL (:waits) w ON true
ORDER BY s.created_at, s.order_id;
