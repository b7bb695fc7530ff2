-- The page of the orders `shown`, with the columns of report_orders, out of the rows `looked` at.
SELECT s.order_id, s.workflow, s.process_state AS state, s.goal, s.reason, s.failure_count,
    to_char(s.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
    to_char(s.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at,
    to_char(s.complete_by AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS complete_by,
    (SELECT q.key FROM sequence_place q WHERE q.order_id = s.order_id ORDER BY q.place DESC LIMIT 1) AS line,
    w.waits_step, w.waits_service, w.waits_reason, w.failed_step, w.failed_error, p.looked_at, p.is_full, p.back_to, p.next
FROM (
    SELECT (SELECT count(*) FROM looked) AS looked_at, (SELECT count(*) = 10000 FROM looked) AS is_full, NULL AS back_to,
        (
            SELECT CASE WHEN count(*) = least(:'limit'::text::bigint, 10000)
                THEN (array_agg(s.order_id ORDER BY s.created_at DESC, s.order_id DESC))[1] END
            FROM shown s
        ) AS next
) p
LEFT JOIN shown s ON true
LEFT JOIN LATERAL (:waits) w ON true
ORDER BY s.created_at, s.order_id
