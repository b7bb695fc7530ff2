-- The second of three statements for lines (move_lines.sql): the last places, in the order of the batch. The key's row is
-- locked, and its tail counts these places already.
-- In this folder: psql -f join_lines.sql, with the values below.
\set ns '{0}'
\set order_ids '{o-1}'
\set generations '{0}'
\set left_generations '{0}'
\set leaves '{f}'
\set begins '{f}'
\set joins '{t}'
\set keys '{customer/1}'
\set moves `cat parts/line_moves.sql`

WITH move AS MATERIALIZED (:moves)
INSERT INTO sequence_place (order_id, generation, key, place)
SELECT m.order_id, m.generation, m.key,
    k.tail - count(*) OVER (PARTITION BY m.key) + row_number() OVER (PARTITION BY m.key ORDER BY m.n)
FROM move m
JOIN sequence_key k ON k.key = m.key
WHERE m.joins;
