-- Numbers of open orders, alerts, owed statuses and steps that wait for a signal, each kind counted through an index up to a limit. Of the orders
-- in error only those with a running attempt have a wake_at, so none is counted. Steps that wait are counted only for those
-- that show them: each costs a look at its order.
-- In this folder: psql -f report_figures.sql, with the value below.
\set with_waits 'true'

WITH orders AS MATERIALIZED (
        SELECT process_state, workflow, created_at FROM order_process WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 100000
    ),
    alerts AS MATERIALIZED (
        SELECT code, opened_at FROM operator_alert WHERE closed_at IS NULL ORDER BY code, subject LIMIT 100000
    ),
    owed AS MATERIALIZED (SELECT at FROM order_event WHERE owed ORDER BY owed_to, at LIMIT 100000),
    waits AS MATERIALIZED (
        SELECT order_id, step FROM step_awaiting LIMIT CASE WHEN :'with_waits'::text = 'true' THEN 100000 ELSE 0 END
    )
SELECT 'orders' AS figure, process_state::text AS word, workflow, count(*) AS number,
    CASE WHEN isfinite(min(created_at)) THEN floor(extract(epoch FROM clock_timestamp() - min(created_at)) * 1000)::bigint
        ELSE 0 END AS oldest_ms
FROM orders
WHERE process_state <> 'error'
GROUP BY process_state, workflow
UNION ALL
SELECT 'alerts', code::text, '', count(*),
    CASE WHEN isfinite(min(opened_at)) THEN floor(extract(epoch FROM clock_timestamp() - min(opened_at)) * 1000)::bigint
        ELSE 0 END
FROM alerts
GROUP BY code
UNION ALL
SELECT 'owed', '', '', count(*),
    CASE WHEN isfinite(min(at)) THEN floor(extract(epoch FROM clock_timestamp() - min(at)) * 1000)::bigint ELSE 0 END
FROM owed
UNION ALL
SELECT 'waits', w.step, p.workflow, count(*), 0
FROM waits w
CROSS JOIN LATERAL (SELECT q.workflow FROM order_process q WHERE q.order_id = w.order_id OFFSET 0) p
GROUP BY w.step, p.workflow
LIMIT 10000;
