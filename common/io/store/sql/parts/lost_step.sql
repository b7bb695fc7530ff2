-- A step that one of the newest events of order `p` has changed, and that has no row. Without it the step would be sent
-- again, or never be undone. The bound is that of the statuses (MG_SENT_EVENTS_MAX).
(
    SELECT min(t.step)
    FROM order_event e
    CROSS JOIN json_to_recordset(e.transitions) AS t(step text)
    WHERE e.order_id = p.order_id AND e.version > p.version - 256 AND t.step IS NOT NULL
        AND NOT EXISTS (SELECT FROM order_step x WHERE x.order_id = p.order_id AND x.step = t.step)
)
