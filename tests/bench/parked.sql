-- :parked orders of one step of a paused service, as a sweep has left them: none of them is due before the day after
-- tomorrow. Ids and payloads as in fill.sql.
BEGIN;
CREATE TEMPORARY TABLE fill ON COMMIT DROP AS
SELECT n, substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-7' || substr(r, 1, 3) || '-8' || substr(r, 4, 3) || '-' || substr(r, 7, 12)
           AS order_id
  FROM generate_series(1, :parked) n,
       LATERAL (SELECT lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 2592000000 + n::bigint * 2000), 12, '0') AS t,
                       md5(n::text) AS r) x;
INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high)
SELECT order_id, 1, 'parked', 1, '{"note":"' || repeat(md5(n::text), 31) || '"}', sha256(order_id::bytea), false FROM fill;
INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count, locked_by,
                           complete_by, wake_at, workflow, workflow_version, revision, reply_to, correlation_id, is_high,
                           wants_step_status)
SELECT order_id, 'pending', 'processed', 'none', 1, 1, 0, 0, 'bench', now() + interval '2 days', now() + interval '2 days',
       'parked', 1, 1, NULL, order_id, false, false FROM fill;
INSERT INTO order_step (order_id, step, position, service, state, kind, reason, maybe, is_undo_dispatched, is_refused,
                        is_accepted, attempt, failure_count, cool_down_count, generation, due_at, parked_high, parked_until)
SELECT order_id, 'call', 0, 'parked', 'waiting', 'do', 'service_paused', false, false, false, false, 0, 0, 0, 0,
       now() + n * interval '1 microsecond', false, now() + n * interval '1 microsecond' FROM fill;
INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, step, attempt, reason, transitions, statuses, owed)
SELECT order_id, 1, 'submitted', order_id || '.1', 'bench', NULL, 0, NULL,
       '[{"step":"call","from":"pending","to":"waiting","attempt":0,"kind":"do","reason":"service_paused"}]', NULL, false
  FROM fill;
COMMIT;
