-- Orders as if they had come through the system: :finished processed ones, and :open ones that wait for a reply until
-- the day after tomorrow. Ids are UUIDs of version 7 spread over the last month, so they are older than any new one, as
-- in use. :workflow is an expression of n; a payload is :repeats times 32 bytes and a few.
BEGIN;
CREATE TEMPORARY TABLE fill ON COMMIT DROP AS
SELECT n, n > :finished AS is_open, :workflow AS workflow,
       substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-7' || substr(r, 1, 3) || '-8' || substr(r, 4, 3) || '-' || substr(r, 7, 12)
           AS order_id
  FROM generate_series(1, :finished + :open) n,
       LATERAL (SELECT lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 2592000000 + n::bigint * 2000), 12, '0') AS t,
                       md5(n::text) AS r) x;
INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high)
SELECT order_id, 1, workflow, 1, '{"note":"' || repeat(md5(n::text), :repeats) || '"}', sha256(order_id::bytea), false FROM fill;
INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count, locked_by,
                           complete_by, wake_at, workflow, workflow_version, revision, reply_to, correlation_id, is_high,
                           wants_step_status)
SELECT order_id, CASE WHEN is_open THEN 'processing' ELSE 'processed' END, 'processed', 'none', CASE WHEN is_open THEN 1 ELSE 4 END,
       CASE WHEN is_open THEN 1 ELSE 2 END, 0, 0, 'bench', now() + interval '3 days',
       CASE WHEN is_open THEN now() + interval '2 days' END, workflow, 1, 1, NULL, order_id, false, false FROM fill;
INSERT INTO order_step (order_id, step, position, service, state, kind, reason, maybe, is_undo_dispatched, is_refused,
                        is_accepted, attempt, failure_count, cool_down_count, generation, complete_by, due_at, cause, result,
                        do_digest)
SELECT order_id, step, position, 'bench', CASE WHEN is_open THEN 'running' ELSE 'done' END, 'do', 'none', false, false, false,
       false, 1, 0, 0, 0, CASE WHEN is_open THEN now() + interval '2 days' END,
       CASE WHEN is_open THEN now() + interval '2 days' END, order_id || '.' || step || '.1.do:reply',
       CASE WHEN NOT is_open THEN '{"id":"remote-1","state":"done"}' END, sha256(order_id::bytea)
  FROM fill, (VALUES ('reserve', 0), ('charge', 1), ('book', 2)) s (step, position) WHERE NOT is_open OR position = 0;
INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, step, attempt, reason, transitions, statuses, owed)
SELECT order_id, version, CASE WHEN version = 1 THEN 'submitted' ELSE 'reply' END, order_id || '.' || version, 'bench', NULL, 1,
       NULL, '[{"step":"reserve","from":"running","to":"done","attempt":1,"kind":"do","reason":"none"}]', NULL, false
  FROM fill, generate_series(1, 4) version WHERE NOT is_open OR version = 1;
COMMIT;
