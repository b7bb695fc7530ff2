-- The steps of an order, with the columns that its client may see: no result, no body, no signal. An order without steps has one
-- row, and its step is NULL. In each row also the columns of report_order_since.sql.
-- In this folder: psql -f report_steps_of_client.sql, with the values below.
\set order_id 'o-1'
\set since `cat parts/order_since.sql`

SELECT t.step, t.service, t.state, t.kind, t.reason, t.maybe, t.is_undo_dispatched, t.is_refused, t.is_accepted, t.attempt,
    t.failure_count, t.cool_down_count, t.generation,
    to_char(t.complete_by AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS complete_by,
    to_char(t.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS due_at,
    to_char(t.quiet_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS quiet_at,
    to_char(t.finish_by AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS finish_by,
    t.error_code, t.error_text, t.error_message,
    to_char(s.since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS since,
    to_char(s.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS changed_at,
    to_char(s.order_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS order_since,
    to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS now
FROM (SELECT) one
LEFT JOIN order_step t ON t.order_id = :'order_id'::text
LEFT JOIN :since s ON s.step IS NOT DISTINCT FROM t.step
ORDER BY t.position;
