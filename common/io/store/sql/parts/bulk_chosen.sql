-- Orders with such a failure that a bulk action may take. An order is in one bulk action at a time.
SELECT p.order_id, p.version, p.goal, f.opened_at
FROM (:failures) f
JOIN order_process p ON p.order_id = f.order_id
WHERE :failure_wanted AND p.process_state = 'error' AND p.reason <> 'state_lost'
    AND NOT EXISTS (SELECT FROM bulk_order o WHERE o.order_id = p.order_id AND o.result IN ('waiting', 'asked'))
