-- The label with the fewest orders. As many as the limit are many.
(
    SELECT w.key AS name, w.value, c.orders
    FROM json_each_text(nullif(:'labels'::text, '')::json) w
    CROSS JOIN LATERAL (
        SELECT count(*) AS orders FROM (SELECT FROM order_label l WHERE l.value = w.value AND l.name = w.key LIMIT 10000) c
    ) c
    ORDER BY c.orders, w.key
    LIMIT 1
)
