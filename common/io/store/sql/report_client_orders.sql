-- The statement report_orders for the gateway, whose role may read no step.
-- In this folder: psql -f report_client_orders.sql, with the values of report_orders.sql.
\set waits 'SELECT NULL::text AS waits_step, NULL::text AS waits_service, NULL::text AS waits_reason, NULL::text AS failed_step, NULL::text AS failed_error'
\ir report_orders.sql
