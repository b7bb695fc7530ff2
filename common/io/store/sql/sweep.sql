-- The supervisor's sweep: finds due orders, decides the ask for each, and pushes wake_at forward (io/store/sweep_due.c).
-- The limits are numbers of orders, of overdue attempts, and of steps. The grace of a deadline begins at another
-- moment if the high clock set it (core/spared.h): high and low are the values of the two clocks.
-- In this folder: psql -f sweep.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set limit '500'
\set ask_again_ms '2000'
\set grace_after_ms '0'
\set grace_before_ms '0'
\set overdue_limit '100'
\set step_limit '2000'
\set high_grace_after_ms '0'
\set high_from_ms '0'
\set high_until_ms '0'
\set low_from_ms '0'
\set low_until_ms '0'
\set gap_after_ms '0'
\set gap_before_ms '0'
\set keys '{}'
\set steps_of_an_order 64
\set unjudged_ms 30000
\set woken `cat parts/woken.sql`
\set lock 'FOR NO KEY UPDATE SKIP LOCKED'
\set due `cat parts/sweep_due.sql`
\if :{?taken}
\else
\set taken `cat parts/all_but.sql`
\endif

WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    -- This update's row lock is the fence: it waits for a take-over under way, and then nothing is swept.
    leader AS (
        UPDATE supervisor_leader
        SET seen_at = c.now, swept_at = greatest(swept_at, c.now)
        FROM clock c
        WHERE name = 'supervisor' AND epoch = :'epoch'::bigint AND holder = :'holder'::text
        RETURNING name
    ),
    :due,
    -- Alternates between both ends, and with the woken, so that a limit of steps leaves out neither the oldest nor
    -- the latest.
    locked AS MATERIALIZED (
        SELECT order_id, version, is_woken, least(2 * up - 1, 2 * (n - up + 1)) * 2 + is_woken::int AS place
        FROM (
            SELECT order_id, version, is_woken, count(*) OVER (PARTITION BY is_woken) AS n,
                row_number() OVER (PARTITION BY is_woken ORDER BY wake_at, order_id COLLATE "C") AS up
            FROM (
                SELECT order_id, version, wake_at, false AS is_woken
                FROM timely
                UNION ALL
                SELECT order_id, version, wake_at, false
                FROM latest
                UNION ALL
                SELECT order_id, version, wake_at, true
                FROM woken
            ) l
        ) t
    ),
    -- The same version in the statement's snapshot, from which the steps are read too.
    met AS MATERIALIZED (
        SELECT p.order_id, p.version, p.seq, p.process_state, p.is_high, l.is_woken, l.place, p.created_at, p.updated_at,
            CASE WHEN p.goal = 'processed' AND p.process_state IN ('pending', 'processing') THEN p.complete_by END
                AS complete_by
        FROM locked l
        JOIN order_process p ON p.order_id = l.order_id AND p.version = l.version
    ),
    -- An order's open steps, or one row without a step, each with the order's columns. A later join by name might
    -- compare all with all, since the planner cannot estimate their number. An order is read whole, so the steps read
    -- may exceed the limit by one order's.
    step_met AS MATERIALIZED (
        SELECT c.*, s.*
        FROM (SELECT * FROM met ORDER BY place) c
        LEFT JOIN LATERAL (
            SELECT s.step, s.attempt, s.service, s.state, s.state IN ('running', 'undo_running') AS is_running,
                CASE WHEN s.state IN ('running', 'undo_running') THEN s.complete_by ELSE s.due_at END AS deadline,
                s.parked_high IS NOT NULL AND s.state NOT IN ('running', 'undo_running') AS is_parked,
                s.state = 'waiting' AND s.reason = 'awaiting_signal' AS awaits_signal
            FROM order_step s
            WHERE s.order_id = c.order_id
                AND (
                    s.state IN ('running', 'undo_running')
                    OR (
                        s.state NOT IN ('done', 'failed', 'skipped', 'undone', 'undo_failed')
                        AND c.process_state IN ('pending', 'processing', 'compensating')
                    )
                    -- Accepted work is polled on while its order waits for an operator.
                    OR (s.state = 'waiting' AND s.is_accepted AND c.process_state = 'error')
                )
        ) s ON true
        ORDER BY c.place
        LIMIT :'step_limit'::bigint + :steps_of_an_order + 1
    ),
    -- The first order without room for all its steps, and those after it, are left for the next sweep.
    beyond AS MATERIALIZED (
        SELECT min(place) AS place
        FROM (
            SELECT place, count(*) AS own, sum(count(*)) OVER (ORDER BY place) AS steps
            FROM step_met
            WHERE (SELECT count(*) FROM step_met) > :'step_limit'::bigint
            GROUP BY place
        ) t
        WHERE steps > own AND steps > :'step_limit'::bigint
    ),
    open_step AS MATERIALIZED (SELECT * FROM step_met WHERE (place >= (SELECT place FROM beyond)) IS NOT TRUE),
    -- Per order a summary of its steps: one pass over all steps, not one for each order.
    candidate AS MATERIALIZED (
        SELECT order_id, version, seq, process_state, is_high, is_woken, complete_by,
            min(deadline) FILTER (WHERE NOT is_parked AND deadline > (SELECT now FROM clock)) AS next_deadline,
            bool_or(is_parked) AS has_parked, min(created_at) AS created_at,
            bool_or(is_running OR deadline IS NOT NULL OR state = 'unknown') AS is_moving
        FROM open_step
        GROUP BY order_id, version, seq, process_state, is_high, is_woken, complete_by
    ),
    found AS MATERIALIZED (
        SELECT order_id, version, seq, process_state, is_high, is_woken,
            CASE WHEN is_running THEN 'overdue' ELSE 'due' END AS ask, step, attempt, service, deadline, updated_at AS set_at,
            awaits_signal
        FROM open_step
        WHERE NOT is_parked AND (deadline <= (SELECT now FROM clock) OR (is_woken AND NOT is_running AND deadline IS NOT NULL))
        UNION ALL
        SELECT order_id, version, seq, process_state, is_high, is_woken,
            CASE WHEN complete_by <= (SELECT now FROM clock) THEN 'expired' ELSE 'nudge' END, '', 0, '',
            CASE WHEN complete_by <= (SELECT now FROM clock) THEN complete_by END, created_at,
            false
        FROM candidate
        WHERE complete_by <= (SELECT now FROM clock)
            OR (process_state IN ('pending', 'processing', 'compensating') AND is_moving IS NOT TRUE)
        UNION ALL
        SELECT order_id, version, seq, process_state, is_high, is_woken, 'nudge', '', 0, '', NULL, created_at, false
        FROM candidate
        -- After this time a graced expiry of an order is not judged soon. Schedulers go on with the order, and need a
        -- cause.
        WHERE is_moving IS NOT TRUE AND complete_by <= (SELECT now FROM clock) - :unjudged_ms * interval '1 millisecond'
            AND (
                :'grace_before_ms'::bigint > 0
                AND complete_by <= ('epoch'::timestamptz + :'grace_before_ms'::bigint * interval '1 millisecond')
                AND complete_by > CASE
                    WHEN created_at BETWEEN ('epoch'::timestamptz + :'high_from_ms'::bigint * interval '1 millisecond')
                            AND ('epoch'::timestamptz + :'high_until_ms'::bigint * interval '1 millisecond')
                        AND created_at NOT BETWEEN ('epoch'::timestamptz + :'low_from_ms'::bigint * interval '1 millisecond')
                            AND ('epoch'::timestamptz + :'low_until_ms'::bigint * interval '1 millisecond')
                    THEN ('epoch'::timestamptz + :'high_grace_after_ms'::bigint * interval '1 millisecond')
                    ELSE ('epoch'::timestamptz + :'grace_after_ms'::bigint * interval '1 millisecond') END
            )
    ),
    -- More asks than the limit might not go out. A woken order would not become due again by itself, so it stays
    -- woken.
    crowd AS MATERIALIZED (
        SELECT DISTINCT order_id
        FROM (
            SELECT order_id, is_woken, count(*) OVER by_order AS asks, dense_rank() OVER by_order AS place
            FROM found
            WHERE EXISTS (SELECT FROM woken)
            WINDOW by_order AS (ORDER BY is_woken, order_id)
        ) f
        WHERE is_woken AND asks > :'limit'::bigint AND place > 1
    ),
    graced AS MATERIALIZED (
        SELECT *, ask IN ('overdue', 'expired') AS is_braked,
            -- Answers and signals that came in time may still wait for the same outage.
            (
                awaits_signal
                AND :'gap_before_ms'::bigint > 0
                AND deadline <= ('epoch'::timestamptz + :'gap_before_ms'::bigint * interval '1 millisecond')
                AND deadline > ('epoch'::timestamptz + :'gap_after_ms'::bigint * interval '1 millisecond')
            )
            OR ask IN ('overdue', 'expired')
                AND (
                    :'grace_before_ms'::bigint > 0
                    AND deadline <= ('epoch'::timestamptz + :'grace_before_ms'::bigint * interval '1 millisecond')
                    AND deadline > CASE
                        WHEN set_at BETWEEN ('epoch'::timestamptz + :'high_from_ms'::bigint * interval '1 millisecond')
                                AND ('epoch'::timestamptz + :'high_until_ms'::bigint * interval '1 millisecond')
                            AND set_at NOT BETWEEN ('epoch'::timestamptz + :'low_from_ms'::bigint * interval '1 millisecond')
                                AND ('epoch'::timestamptz + :'low_until_ms'::bigint * interval '1 millisecond')
                        THEN ('epoch'::timestamptz + :'high_grace_after_ms'::bigint * interval '1 millisecond')
                        ELSE ('epoch'::timestamptz + :'grace_after_ms'::bigint * interval '1 millisecond') END
                ) AS is_graced
        FROM found
        WHERE order_id NOT IN (SELECT order_id FROM crowd)
    ),
    -- The brake gives the services turns, each with its oldest deadline first; the orders themselves are one more. A
    -- service with very many overdue attempts delays only its own.
    ranked AS MATERIALIZED (
        SELECT *,
            CASE WHEN is_braked AND NOT is_graced THEN row_number() OVER (
                PARTITION BY is_braked AND NOT is_graced, service ORDER BY deadline
            ) END AS turn
        FROM graced
    ),
    judged AS MATERIALIZED (
        SELECT *, turn IS NOT NULL AND beyond > 0 AS is_held_back
        FROM (SELECT *, row_number() OVER (ORDER BY turn, deadline) - :'overdue_limit'::bigint AS beyond FROM ranked) r
    ),
    -- An open order that waits only for a person (a doubted step) is looked at each minute; one that waits only for
    -- gates each day, in case nothing else moves it: a million of them are a dozen a second. Asks held back by the
    -- brake wait a second, after other due ones, and once more for each four times the brake's limit before them:
    -- sooner, the order would have no turn, and would only take the places of others. Four sweeps are in that time,
    -- by default.
    next AS MATERIALIZED (
        SELECT n.order_id,
            coalesce(
                min(n.at), min(k.now) + CASE WHEN bool_or(n.has_parked) THEN interval '1 day' ELSE interval '60 seconds' END
            ) AS wake_at
        FROM (
            SELECT order_id, has_parked,
                least(next_deadline, CASE WHEN complete_by > (SELECT now FROM clock) THEN complete_by END) AS at
            FROM candidate
            WHERE order_id NOT IN (SELECT order_id FROM crowd)
            UNION ALL
            SELECT order_id, NULL,
                (SELECT now FROM clock) + CASE
                    WHEN is_held_back THEN interval '1 second' * (
                        1 + (beyond - 1) / (4 * greatest(:'overdue_limit'::bigint, 1))
                    )
                    ELSE :'ask_again_ms'::bigint * interval '1 millisecond' END
            FROM judged
        ) n
        CROSS JOIN clock k
        GROUP BY n.order_id
    ),
    pushed AS (UPDATE order_process p SET wake_at = n.wake_at FROM next n WHERE p.order_id = n.order_id),
    -- Marks steps parked by a scheduler that does not mark them.
    unmarked AS MATERIALIZED (
        SELECT s.order_id, s.step, j.is_high
        FROM judged j
        CROSS JOIN LATERAL (
            SELECT s.order_id, s.step
            FROM order_step s
            WHERE s.order_id = j.order_id AND s.step = j.step AND s.parked_high IS NULL
                AND (
                    s.state IN ('waiting', 'undo_waiting', 'unknown')
                    AND s.reason IN ('no_consumer', 'breaker_open', 'service_paused', 'window_full')
                )
            FOR NO KEY UPDATE SKIP LOCKED
        ) s
        WHERE j.ask = 'due'
    ),
    marked AS (
        UPDATE order_step s
        SET parked_high = u.is_high, parked_until = k.now + :'ask_again_ms'::bigint * interval '1 millisecond'
        FROM unmarked u
        CROSS JOIN clock k
        WHERE s.order_id = u.order_id AND s.step = u.step
    ),
    asked AS (
        SELECT order_id, ask, step, attempt, version, seq, deadline, set_at,
            ask = 'nudge' AND process_state <> 'pending'
                AND order_id NOT IN (SELECT order_id FROM judged WHERE ask = 'expired') AS is_stuck
        FROM judged
        WHERE NOT is_graced AND NOT is_held_back
    )
SELECT EXISTS (SELECT FROM leader), floor(extract(epoch FROM k.now) * 1000)::bigint,
    (SELECT count(*) FROM judged WHERE is_braked AND NOT is_graced),
    (SELECT count(*) FROM locked) >= :'limit'::bigint OR (SELECT place FROM beyond) IS NOT NULL, a.order_id, a.ask, a.step,
    a.attempt, a.version, a.seq, floor(extract(epoch FROM a.deadline) * 1000)::bigint, a.is_stuck,
    floor(extract(epoch FROM a.set_at) * 1000)::bigint
FROM clock k
LEFT JOIN asked a ON true
-- Deadlines first: without room for all, waits stay back.
ORDER BY a.ask NOT IN ('overdue', 'expired'), a.deadline;
