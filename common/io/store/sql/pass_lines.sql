-- The last of three statements for lines (move_lines.sql): gives places up, and finds the orders that have their turn now. As a
-- statement of its own it sees each place that was written before the lock was had. The row of an empty line goes.
-- In this folder: psql -f pass_lines.sql, with the values below.
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
    gone AS (
        DELETE FROM sequence_place p
        USING move m
        WHERE m.leaves AND p.order_id = m.order_id AND p.generation = m.left_generation
        RETURNING p.key, m.n
    ),
    touched AS MATERIALIZED (
        SELECT key, min(n) AS n
        FROM (SELECT key, n FROM gone UNION ALL SELECT key, n FROM move WHERE joins) t
        GROUP BY key
    ),
    head AS MATERIALIZED (
        SELECT t.key, t.n, h.order_id, h.generation
        FROM touched t
        CROSS JOIN LATERAL (
            SELECT p.order_id, p.generation
            FROM sequence_place p
            WHERE p.key = t.key
                AND NOT EXISTS (
                    SELECT FROM move m
                    WHERE m.leaves AND m.order_id = p.order_id AND m.left_generation = p.generation
                )
            ORDER BY p.place
            LIMIT 1
        ) h
    ),
    passed AS (
        UPDATE sequence_key k
        SET order_id = h.order_id, generation = h.generation, is_called = false, since = clock_timestamp()
        FROM head h
        WHERE k.key = h.key AND (k.order_id <> h.order_id OR k.generation <> h.generation)
        RETURNING h.n, k.order_id, k.generation
    ),
    ended AS (DELETE FROM sequence_key k USING touched t WHERE k.key = t.key AND k.length = 0)
SELECT n, order_id, generation FROM passed;
