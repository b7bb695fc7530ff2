-- The newest open failures of orders within a time, with texts for people. Those of earlier versions have no
-- workflow. Alerts without an order's transition (io/store/alert_rows.c, also the supervisor's) are about a queue, a
-- service, a message or the whole system; they name no order and are no failures. These many are counted in a few
-- tenths of a second, and are more than any person reads.
SELECT f.alert_id, f.opened_at, f.order_id, coalesce(f.workflow, 'not known') AS workflow,
    CASE WHEN f.workflow IS NULL THEN 'not known' ELSE f.step END AS step,
    CASE WHEN f.workflow IS NULL THEN 'not known' ELSE f.service END AS service, coalesce(f.error_code, 'not known') AS error
FROM operator_alert f
WHERE f.closed_at IS NULL AND f.order_id IS NOT NULL AND f.opened_at >= :since_at AND f.opened_at < :until_at AND :behind
ORDER BY f.opened_at DESC, f.alert_id DESC
LIMIT 100000
