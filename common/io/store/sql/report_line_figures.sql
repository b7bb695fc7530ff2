-- The orders that wait in lines, how long the first of them has waited, and the lines that an order in error,
-- or one that is set aside, has held up for so long, with the order of the longest one.
-- In this folder: psql -f report_line_figures.sql, with the values below.
\set held_for_ms '600000'

WITH waiting AS MATERIALIZED (
        SELECT count(*) AS orders, min(p.joined_at) AS oldest
        FROM sequence_place p
        WHERE NOT EXISTS (
            SELECT FROM sequence_key k WHERE k.order_id = p.order_id AND k.generation = p.generation
        )
    ),
    held AS MATERIALIZED (
        SELECT k.order_id, k.length - 1 AS others
        FROM sequence_key k
        JOIN order_process p ON p.order_id = k.order_id
        WHERE k.length > 1
            AND (p.process_state = 'error' OR EXISTS (SELECT FROM order_aside a WHERE a.order_id = k.order_id))
            AND k.since < clock_timestamp() - :'held_for_ms'::text::bigint * interval '1 millisecond'
    )
SELECT w.orders, floor(extract(epoch FROM clock_timestamp() - w.oldest) * 1000)::bigint AS oldest_ms,
    (SELECT count(*) FROM held) AS held, h.order_id, h.others
FROM waiting w
LEFT JOIN LATERAL (SELECT order_id, others FROM held ORDER BY others DESC, order_id LIMIT 1) h ON true;
