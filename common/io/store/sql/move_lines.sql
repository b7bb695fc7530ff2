-- The first of three statements for the lines of a commit's orders (store/line_rows.c): locks each key's row, in the order of
-- the keys, and counts its places. A key of a new line gets a row. So a join and an end
-- see each other: the second one waits here, and its next statement reads what the first one has written.
-- In this folder: psql -f move_lines.sql, with the values below.
\set ns '{0}'
\set order_ids '{o-1}'
\set generations '{0}'
\set left_generations '{0}'
\set leaves '{f}'
\set begins '{f}'
\set joins '{t}'
\set keys '{customer/1}'
\set moves `cat parts/line_moves.sql`

WITH move AS MATERIALIZED (:moves),
    change AS (
        SELECT key, 1 AS joined, 0 AS gone, false AS is_called FROM move WHERE joins
        UNION ALL
        SELECT p.key, 0, m.leaves::int, m.begins
        FROM move m
        JOIN sequence_place p ON p.order_id = m.order_id
            AND p.generation = CASE WHEN m.leaves THEN m.left_generation ELSE m.generation END
        WHERE m.leaves OR m.begins
    )
INSERT INTO sequence_key AS k (key, tail, length, is_called)
SELECT key, sum(joined), sum(joined) - sum(gone), bool_or(is_called) FROM change GROUP BY key ORDER BY key
ON CONFLICT (key) DO UPDATE SET tail = k.tail + excluded.tail, length = k.length + excluded.length,
    is_called = k.is_called OR excluded.is_called;
