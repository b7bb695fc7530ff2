-- Open orders that nothing will move. An open order is moved by a running attempt, by a wait with an end, or by a
-- person alerted of a doubt. The sweep moves it if wake_at is set and sweeps run. Reads indexes (migration 0046), and the
-- steps of at most 5000 orders, those that wake next: some 15 us each. Of the others the sweep tells as they wake.
-- In this folder: psql -f report_stuck.sql
\set woken `cat parts/woken.sql`

WITH next AS MATERIALIZED (
        SELECT order_id
        FROM order_process
        WHERE wake_at IS NOT NULL AND process_state IN ('processing', 'compensating')
        ORDER BY wake_at
        LIMIT 5000
    ),
    unmoved AS MATERIALIZED (
        SELECT n.order_id
        FROM next n
        WHERE NOT EXISTS (
            SELECT
            FROM order_step s
            WHERE s.order_id = n.order_id
                AND (
                    s.state IN ('running', 'undo_running', 'unknown')
                    OR (s.due_at IS NOT NULL AND s.state IN ('pending', 'waiting', 'undo_pending', 'undo_waiting'))
                )
            OFFSET 0
        )
    ),
    -- Orders whose moment is missing or over. A woken order's wake_at does not show how long it has waited. Sweeps take
    -- it first, so it is passed by only if no sweep runs, and each sweep is recorded in the leader's row.
    unwoken AS MATERIALIZED (
        SELECT order_id
        FROM order_process
        WHERE wake_at IS NULL AND process_state IN ('pending', 'processing', 'compensating') AND reason <> 'in_line'
        UNION ALL
        SELECT order_id
        FROM order_process
        WHERE wake_at < statement_timestamp() - interval '60 seconds' AND process_state IN ('pending', 'processing', 'compensating')
            AND (
                wake_at <> :woken
                OR NOT EXISTS (SELECT FROM supervisor_leader WHERE seen_at >= clock_timestamp() - interval '60 seconds')
            )
    )
SELECT p.order_id, p.workflow, p.process_state AS state, p.goal, p.reason,
    to_char(p.wake_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS wake_at,
    to_char(p.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at
FROM (SELECT order_id FROM unwoken UNION SELECT order_id FROM unmoved) u
JOIN order_process p USING (order_id)
WHERE p.order_id NOT IN (SELECT order_id FROM order_aside)
ORDER BY p.updated_at
LIMIT 10000;
