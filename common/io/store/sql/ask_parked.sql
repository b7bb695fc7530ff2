-- Steps that wait for the gate of their service, by service, the longest parked first, where the gate is open and its
-- queue has room; and the queues with parked steps after the given one.
-- In this folder: psql -f ask_parked.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set ask_again_ms '2000'
\set services '{payment}'
\set is_high '{f}'
\set room '{10}'
\set after_service ''
\set after_is_high '0'
\set keys '{}'
\set queues_max 240
\set gates `cat parts/gates.sql`
\if :{?taken}
\else
\set taken `cat parts/all_but.sql`
\endif

WITH RECURSIVE clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    leader AS MATERIALIZED (
        SELECT name
        FROM supervisor_leader
        WHERE name = 'supervisor' AND epoch = :'epoch'::bigint AND holder = :'holder'::text
        FOR SHARE
    ),
    room AS MATERIALIZED (
        SELECT service, is_high, room
        FROM unnest(:'services'::text[], :'is_high'::boolean[], :'room'::bigint[]) AS r(service, is_high, room)
        WHERE EXISTS (SELECT FROM leader)
    ),
    -- From each queue to the next by one step down the index.
    queue (service, is_high, n) AS (
        (
            SELECT service, parked_high, 1
            FROM order_step
            WHERE parked_high IS NOT NULL AND EXISTS (SELECT FROM leader)
                AND (service, parked_high) > (:'after_service'::text, :'after_is_high'::bigint = 1)
            ORDER BY service, parked_high
            LIMIT 1
        )
        UNION ALL
        SELECT s.service, s.parked_high, q.n + 1
        FROM queue q
        CROSS JOIN LATERAL (
            SELECT service, parked_high
            FROM order_step
            WHERE parked_high IS NOT NULL AND (service, parked_high) > (q.service, q.is_high)
            ORDER BY service, parked_high
            LIMIT 1
        ) s
        WHERE q.n < :queues_max
    ),
    -- Queues with room were returned before, and need not be among those returned now.
    gated AS MATERIALIZED (
        SELECT q.service, q.is_high, coalesce(g.gate = 'none', true) AS is_open, coalesce(g.is_probing, false) AS is_probing
        FROM (SELECT service, is_high FROM queue UNION SELECT service, is_high FROM room) q
        LEFT JOIN :gates g USING (service)
    ),
    -- No step is parked for 5 seconds (--park is 1 s). Such a time comes from a clock that was ahead. Or an earlier
    -- attempt may act until then, and the scheduler leaves the step alone.
    span AS (
        SELECT '-infinity'::timestamptz AS after, now AS until
        FROM clock
        UNION ALL
        SELECT now + interval '5 seconds', 'infinity'
        FROM clock
    ),
    chosen AS MATERIALIZED (
        SELECT s.order_id, s.step, s.state, s.reason
        FROM room r
        JOIN gated g USING (service, is_high)
        CROSS JOIN span
        CROSS JOIN LATERAL (
            SELECT order_id, step, state, reason
            FROM order_step
            WHERE service = g.service AND parked_high = g.is_high AND parked_until > span.after AND parked_until <= span.until
                AND :taken
            ORDER BY parked_until
            LIMIT r.room
            FOR NO KEY UPDATE SKIP LOCKED
        ) s
        WHERE g.is_open
    ),
    -- A waiting step of an ended order is not sent: its mark is removed, like a stale mark. Once the order goes on,
    -- the sweep finds it due and marks it again.
    pushed AS (
        UPDATE order_step s
        SET parked_high = CASE WHEN c.is_waiting THEN parked_high END,
            parked_until = CASE WHEN c.is_waiting THEN k.now + :'ask_again_ms'::bigint * interval '1 millisecond' END
        FROM (
            SELECT c.order_id, c.step,
                (
                    c.state IN ('waiting', 'undo_waiting', 'unknown')
                    AND c.reason IN ('no_consumer', 'breaker_open', 'service_paused', 'window_full')
                )
                    AND p.process_state IN ('pending', 'processing', 'compensating') AS is_waiting
            FROM chosen c
            JOIN order_process p USING (order_id)
        ) c
        CROSS JOIN clock k
        WHERE s.order_id = c.order_id AND s.step = c.step
        RETURNING s.service, s.parked_high, s.order_id, s.step, s.attempt, s.due_at
    ),
    found AS (
        SELECT service, is_high, is_open, is_probing, NULL::text AS order_id, NULL::text AS step, NULL::bigint AS attempt,
            NULL::timestamptz AS due_at
        FROM gated
        JOIN queue USING (service, is_high)
        UNION ALL
        SELECT service, parked_high, true, NULL, order_id, step, attempt, due_at
        FROM pushed
        WHERE parked_high IS NOT NULL
    )
SELECT EXISTS (SELECT FROM leader), t.service, t.is_high, t.is_open, t.is_probing, t.order_id, t.step, t.attempt,
    floor(extract(epoch FROM t.due_at) * 1000)::bigint
FROM clock
LEFT JOIN found t ON true
ORDER BY t.order_id IS NOT NULL, t.due_at, t.order_id, t.step, t.service, t.is_high;
