-- Open orders that nothing will move. An open order is moved by a running attempt, by a wait with an end, or by a
-- person alerted of a doubt. The sweep moves it if wake_at is set and sweeps run. Reads the whole table
-- order_process.
-- In this folder: psql -f report_stuck.sql
\set woken `cat parts/woken.sql`

SELECT p.order_id, p.workflow, p.process_state AS state, p.goal, p.reason,
    to_char(p.wake_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS wake_at,
    to_char(p.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at
FROM order_process p
WHERE p.process_state IN ('pending', 'processing', 'compensating') AND p.order_id NOT IN (SELECT order_id FROM order_aside)
    AND p.reason <> 'in_line'
    AND (
        p.wake_at IS NULL
        OR (
            -- A woken order's wake_at does not show how long it has waited. Sweeps take it first, so it is passed by
            -- only if no sweep runs, and each sweep is recorded in the leader's row.
            p.wake_at < clock_timestamp() - interval '60 seconds'
            AND (
                p.wake_at <> :woken
                OR NOT EXISTS (SELECT FROM supervisor_leader WHERE seen_at >= clock_timestamp() - interval '60 seconds')
            )
        )
        OR (
            p.process_state <> 'pending'
            AND NOT EXISTS (
                SELECT
                FROM order_step s
                WHERE s.order_id = p.order_id
                    AND (
                        s.state IN ('running', 'undo_running', 'unknown')
                        OR (s.due_at IS NOT NULL AND s.state IN ('pending', 'waiting', 'undo_pending', 'undo_waiting'))
                    )
            )
        )
    )
ORDER BY p.updated_at
LIMIT 10000;
