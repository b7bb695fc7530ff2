-- The moment since which an order is where it is: that of its newest event in which the order changed its state, or a step was
-- done, skipped or undone. Attempts and waits are no such event. Only the newest 1,000 events are read; without one among
-- them it is the moment of the oldest of these.
(
    SELECT coalesce(max(e.at) FILTER (WHERE e.is_progress), min(e.at))
    FROM (
        SELECT at,
            EXISTS (
                SELECT FROM json_array_elements(transitions) AS t(change)
                WHERE change->>'step' IS NULL OR change->>'to' IN ('done', 'skipped', 'undone')
            ) AS is_progress
        FROM order_event
        WHERE order_id = :'order_id'::text
        ORDER BY version DESC
        LIMIT 1000
    ) e
)
