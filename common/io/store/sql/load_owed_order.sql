-- The columns that address an order's statuses. Payload and results may be large, and must not delay a status.
-- In this folder: psql -f load_owed_order.sql, with the values below.
\set order_id 'o-1'

SELECT order_id, reply_to, correlation_id, traceparent
FROM order_process
WHERE order_id = :'order_id'::text;
