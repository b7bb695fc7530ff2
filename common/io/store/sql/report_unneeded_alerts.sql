-- Open alerts of services for which no step of an open order waits. None while more orders are open than are read.
-- In this folder: psql -f report_unneeded_alerts.sql

WITH alerts AS MATERIALIZED (
        SELECT subject
        FROM operator_alert
        WHERE code = 'unpublishable' AND closed_at IS NULL AND opened_at < clock_timestamp() - interval '10 seconds'
        ORDER BY subject
        LIMIT 10000
    ),
    open AS MATERIALIZED (
        SELECT order_id
        FROM order_process
        WHERE wake_at IS NOT NULL AND EXISTS (SELECT FROM alerts)
        ORDER BY wake_at
        LIMIT 100000 + 1
    ),
    needed AS MATERIALIZED (
        SELECT DISTINCT s.service
        FROM open o
        JOIN order_step s ON s.order_id = o.order_id
        WHERE s.state IN ('running', 'waiting', 'unknown', 'undo_pending', 'undo_running', 'undo_waiting')
    )
SELECT subject
FROM alerts
WHERE (SELECT count(*) FROM open) <= 100000 AND subject NOT IN (SELECT service FROM needed);
