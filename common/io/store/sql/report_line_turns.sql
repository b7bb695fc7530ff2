-- Orders at the head of a line that have not taken their turn some seconds after it came: the message that told them was
-- lost. None that is set aside: no message to it is handled. Reads the rows of such lines only.
-- In this folder: psql -f report_line_turns.sql, with the values below.
\set older_than_ms '3000'
\set limit '100'

SELECT k.order_id, k.generation
FROM sequence_key k
WHERE NOT k.is_called AND NOT EXISTS (SELECT FROM order_aside a WHERE a.order_id = k.order_id)
    AND k.since < clock_timestamp() - :'older_than_ms'::text::bigint * interval '1 millisecond'
ORDER BY k.since
LIMIT :'limit'::text::bigint;
