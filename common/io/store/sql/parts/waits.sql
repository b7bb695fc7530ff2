-- The first step of an open order `s` that waits, and the first step that failed of one in error or on its way back.
SELECT w.step AS waits_step, w.service AS waits_service, w.reason AS waits_reason, f.step AS failed_step, f.error_code AS failed_error
FROM (VALUES (true)) one
LEFT JOIN (
    SELECT q.step, q.service, q.reason
    FROM order_step q
    WHERE q.order_id = s.order_id AND q.state IN ('waiting', 'unknown', 'undo_waiting')
        AND s.process_state IN ('pending', 'processing', 'compensating')
    ORDER BY q.position
    LIMIT 1
) w ON true
LEFT JOIN (
    SELECT q.step, q.error_code
    FROM order_step q
    WHERE q.order_id = s.order_id AND q.state IN ('failed', 'undo_failed')
        AND s.process_state IN ('compensating', 'compensated', 'cancelled', 'error')
    ORDER BY q.position
    LIMIT 1
) f ON true
