-- For each step of each workflow the states of that step in the newest orders of the last day.
-- In this folder: psql -f report_workflow_steps.sql
\set orders_max 5000

WITH newest AS MATERIALIZED (
        SELECT order_id
        FROM orders
        WHERE revision = 1 AND received_at > clock_timestamp() - interval '1 day'
        ORDER BY received_at DESC, order_id DESC
        LIMIT :orders_max
    ),
    -- Each order by its key: with a plan for all orders at once the tables would be read whole.
    met AS MATERIALIZED (
        SELECT s.*
        FROM newest n
        JOIN LATERAL (
            SELECT p.workflow, p.workflow_version, t.step, t.position, t.state
            FROM order_process p
            JOIN order_step t ON t.order_id = p.order_id
            WHERE p.order_id = n.order_id
            OFFSET 0
        ) s ON true
    )
SELECT workflow, step, count(*) FILTER (WHERE state = 'done') AS done,
    count(*) FILTER (WHERE state IN ('failed', 'undo_failed')) AS failed, count(*) FILTER (WHERE state = 'unknown') AS unknown,
    count(*) FILTER (WHERE state IN ('waiting', 'undo_pending', 'undo_waiting')) AS waiting,
    count(*) FILTER (WHERE state IN ('running', 'undo_running')) AS running, count(*) FILTER (WHERE state = 'undone') AS undone,
    count(*) FILTER (WHERE state = 'skipped') AS skipped, (SELECT count(*) FROM newest) AS looked_at
FROM met
GROUP BY workflow, step
ORDER BY workflow, (array_agg(position ORDER BY workflow_version DESC))[1], step
LIMIT 10000;
