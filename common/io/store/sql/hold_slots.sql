-- Counts the orders that schedules make. One that may overlap no other (fired: the number as its slot was judged) is the only one of its
-- schedule since then, in this commit, too; else this fails, as it does if the schedule is gone. The others are counted alone.
-- In this folder: psql -f hold_slots.sql, with the values below.
\set names '{}'
\set fired '{}'

WITH wanted AS MATERIALIZED (
    SELECT i.name, count(*) AS orders, count(i.fired) AS guarded, min(i.fired) AS fired
    FROM unnest(:'names'::text[], :'fired'::bigint[]) AS i(name, fired)
    GROUP BY i.name
),
counted AS (
    UPDATE schedule s
    SET fired = s.fired + w.orders
    FROM wanted w
    WHERE s.name = w.name AND (w.guarded = 0 OR (w.orders = 1 AND s.fired = w.fired))
    RETURNING 1
)
SELECT 1 / ((SELECT count(*) FROM counted) = (SELECT count(*) FROM wanted))::int;
