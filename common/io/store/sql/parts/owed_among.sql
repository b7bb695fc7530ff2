-- The statuses of the given orders, of whichever queue.
SELECT order_id, version, owed_asked_at
FROM order_event
WHERE owed AND owed_to IS NOT NULL AND :taken
ORDER BY at, order_id, version
LIMIT 2 * :'limit'::bigint
FOR NO KEY UPDATE SKIP LOCKED
