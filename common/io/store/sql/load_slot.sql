-- A schedule, one of its slots, and the orders of others that have not ended. An order in error is one of these: an
-- operator has yet to decide about it. Civil times are those of the zone's calendar.
-- In this folder: psql -f load_slot.sql, with the values below.
\set name 'nightly'
\set slot '1774747800000'

WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now, 'epoch'::timestamptz + :'slot'::bigint * interval '1 millisecond' AS slot)
SELECT s.definition, s.version, s.is_paused, floor(extract(epoch FROM s.next_slot) * 1000)::bigint AS next_slot,
    floor(extract(epoch FROM s.next_at) * 1000)::bigint AS next_at, floor(extract(epoch FROM k.now) * 1000)::bigint AS now,
    floor(extract(epoch FROM k.slot AT TIME ZONE s.zone) * 1000)::bigint AS slot_civil,
    floor(extract(epoch FROM k.now AT TIME ZONE s.zone) * 1000)::bigint AS now_civil, r.order_id,
    (
        SELECT string_agg(o.order_id, ' ')
        FROM (
            SELECT p.order_id
            FROM schedule_run e
            JOIN order_process p ON p.order_id = e.order_id
            WHERE e.name = s.name AND e.slot <> k.slot AND p.process_state NOT IN ('processed', 'compensated', 'cancelled')
            ORDER BY e.slot DESC
            LIMIT 16
        ) o
    ) AS open,
    (
        SELECT floor(extract(epoch FROM max(o.updated_at)) * 1000)::bigint
        FROM (
            SELECT p.updated_at, p.process_state
            FROM schedule_run e
            JOIN order_process p ON p.order_id = e.order_id
            WHERE e.name = s.name AND e.slot <> k.slot
            ORDER BY e.slot DESC
            LIMIT 16
        ) o
        WHERE o.process_state IN ('processed', 'compensated', 'cancelled')
    ) AS ended_at,
    EXISTS (SELECT FROM operator_alert a WHERE a.code = 'schedule_missed' AND a.subject = s.name AND a.closed_at IS NULL) AS is_alerted,
    s.fired
FROM clock k
CROSS JOIN schedule s
LEFT JOIN schedule_run r ON r.name = s.name AND r.slot = k.slot
WHERE s.name = :'name'::text;
