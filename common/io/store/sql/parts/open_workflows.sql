-- The workflows of open orders, a row for each order: of those that wake at some moment, and of those in lines.
(SELECT workflow, workflow_version FROM order_process WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 100000)
UNION ALL
SELECT p.workflow, p.workflow_version
FROM (SELECT order_id FROM sequence_place LIMIT 100000) q
JOIN order_process p ON p.order_id = q.order_id
WHERE p.wake_at IS NULL AND p.reason = 'in_line'
