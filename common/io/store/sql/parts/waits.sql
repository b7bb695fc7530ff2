-- The first step of an open order `s` that waits.
SELECT q.step AS waits_step, q.service AS waits_service, q.reason AS waits_reason
FROM order_step q
WHERE q.order_id = s.order_id AND q.state IN ('waiting', 'unknown', 'undo_waiting')
    AND s.process_state IN ('pending', 'processing', 'compensating')
ORDER BY q.position
LIMIT 1
