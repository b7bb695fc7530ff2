-- Records the ends of slots, and moves their schedules on. A schedule moves only from the slot that the writer has
-- seen, in the version that it has seen: however many writers there are, one moves it. An order of a slot is final;
-- another end gives way to one. Each schedule keeps its newest 200 rows, and those of orders that have not ended: by these, later
-- slots are held back.
-- In this folder: psql -f settle_slots.sql, with the values below.
\set names '{nightly}'
\set slots '{1774747800000}'
\set ends '{missed}'
\set orders '{NULL}'
\set numbers '{1}'
\set texts '{late}'
\set by '{me}'
\set versions '{1}'
\set upcoming '{1774834200000}'
\set next_at '{1774834200000}'

WITH input AS MATERIALIZED (
    SELECT i.name, 'epoch'::timestamptz + i.slot * interval '1 millisecond' AS slot, i.what, i.order_id, i.number, i.text, i.by_whom,
        i.version, i.upcoming, 'epoch'::timestamptz + i.next_at * interval '1 millisecond' AS next_at
    FROM unnest(:'names'::text[], :'slots'::bigint[], :'ends'::text[], :'orders'::text[], :'numbers'::bigint[], :'texts'::text[],
        :'by'::text[], :'versions'::bigint[], :'upcoming'::text[], :'next_at'::bigint[])
        AS i(name, slot, what, order_id, number, text, by_whom, version, upcoming, next_at)
),
moved AS (
    UPDATE schedule s
    SET upcoming = u.slots, next_slot = u.slots[1], next_at = i.next_at,
        skipped = s.skipped + CASE i.what WHEN 'order' THEN 0 ELSE i.number END
    FROM input i
    CROSS JOIN LATERAL (
        SELECT ARRAY(
            SELECT 'epoch'::timestamptz + t.ms::bigint * interval '1 millisecond'
            FROM unnest(string_to_array(i.upcoming, ' ')) WITH ORDINALITY AS t(ms, n)
            ORDER BY t.n
        ) AS slots
    ) u
    WHERE s.name = i.name AND s.version = i.version AND s.next_slot = i.slot AND i.upcoming IS NOT NULL
),
pruned AS (
    DELETE FROM schedule_run r
    USING input i
    WHERE r.name = i.name
        AND r.slot < (SELECT o.slot FROM schedule_run o WHERE o.name = i.name ORDER BY o.slot DESC OFFSET 199 LIMIT 1)
        AND NOT EXISTS (
            SELECT FROM order_process p
            WHERE p.order_id = r.order_id AND p.process_state NOT IN ('processed', 'compensated', 'cancelled')
        )
)
INSERT INTO schedule_run AS r (name, slot, what, order_id, slots, text, by_whom)
SELECT i.name, i.slot, i.what, i.order_id, i.number, i.text, i.by_whom
FROM input i
WHERE EXISTS (SELECT FROM schedule s WHERE s.name = i.name)
ON CONFLICT (name, slot) DO UPDATE
SET what = excluded.what, order_id = excluded.order_id, slots = excluded.slots, text = excluded.text, by_whom = excluded.by_whom,
    at = clock_timestamp()
WHERE r.what <> 'order';
