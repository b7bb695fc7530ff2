-- :owed events of processed orders, four each, with statuses owed to :queues queues that are gone, of :clients clients,
-- as after twelve hours of retries. Each queue is tried again at some moment of the next 45 minutes (a sixteenth). Ids
-- as in fill.sql.
BEGIN;
CREATE TEMPORARY TABLE fill ON COMMIT DROP AS
SELECT n, substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-7' || substr(r, 1, 3) || '-8' || substr(r, 4, 3) || '-' || substr(r, 7, 12)
           AS order_id, 'client.c' || n % :queues % :clients || '.gone-' || n % :queues AS queue
  FROM generate_series(1, :owed / 4) n,
       LATERAL (SELECT lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 2592000000 + n::bigint * 2000), 12, '0') AS t,
                       md5(n::text) AS r) x;
INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high)
SELECT order_id, 1, 'bench', 1, '{"note":"' || repeat(md5(n::text), 31) || '"}', sha256(order_id::bytea), false FROM fill;
INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count, locked_by,
                           complete_by, wake_at, workflow, workflow_version, revision, reply_to, correlation_id, is_high,
                           wants_step_status)
SELECT order_id, 'processed', 'processed', 'none', 4, 4, 0, 0, 'bench', now() + interval '3 days', NULL, 'bench', 1, 1, queue,
       order_id, false, true FROM fill;
INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, step, attempt, reason, transitions, statuses, owed,
                         owed_to, at)
SELECT order_id, version, CASE WHEN version = 1 THEN 'submitted' ELSE 'reply' END, order_id || '.' || version, 'bench', NULL, 1,
       NULL, '[{"step":"reserve","from":"running","to":"done","attempt":1,"kind":"do","reason":"none"}]',
       format('[{"v":1,"order_id":"%s","seq":%s,"status":"step_completed","at":"2026-01-01T00:00:00.000Z"}]', order_id, version)::json,
       true, queue, now() - interval '12 hours' + n * interval '1 millisecond'
  FROM fill, generate_series(1, 4) version;
INSERT INTO reply_queue (name, since, tried_at, ask_at, is_open, marks)
SELECT queue, now() - interval '12 hours', now() - random() * interval '20 minutes', now() + random() * interval '45 minutes',
       false, 30 FROM (SELECT DISTINCT queue FROM fill) q;
COMMIT;
