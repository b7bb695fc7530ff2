-- Of a queue that takes nothing one status, of others a share of the limit.
SELECT e.order_id, e.version, e.owed_asked_at
FROM queue q
CROSS JOIN LATERAL (
    SELECT order_id, version, owed_asked_at
    FROM order_event
    WHERE owed AND owed_to = q.name AND :taken
    ORDER BY at, order_id, version
    LIMIT CASE WHEN q.is_open THEN greatest(:'limit'::bigint / q.open_count, 1) ELSE 1 END
    FOR NO KEY UPDATE SKIP LOCKED
) e
