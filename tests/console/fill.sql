-- The rows of years, on top of the orders of ../bench/fill.sql. :failed of them are in error for one of eight causes,
-- each with an open alert; ten times as many alerts have been closed since. Some orders ended otherwise; one has many
-- events. There are services with all their agents, and bulk actions, one of :listed orders.
BEGIN;
CREATE TEMPORARY TABLE cause ON COMMIT DROP AS
SELECT * FROM (VALUES (0, 'reserve', 'inventory', 'http_409', 'http_409: order # is held by #'),
                      (1, 'reserve', 'inventory', 'http_503', 'http_503: service unavailable'),
                      (2, 'charge', 'payment', 'declined', 'declined: card # was declined'),
                      (3, 'charge', 'payment', 'http_503', 'http_503: service unavailable'),
                      (4, 'charge', 'payment', 'timeout', 'timeout: no answer within # s'),
                      (5, 'book', 'carrier', 'no_route', 'no_route: nobody goes to #'),
                      (6, 'book', 'carrier', 'http_500', 'http_500: #'),
                      (7, 'book', 'carrier', 'connect', 'connect: connection refused')) c (nr, step, service, error_code, signature);
CREATE TEMPORARY TABLE failed ON COMMIT DROP AS
SELECT row_number() OVER () AS n, order_id, workflow, cause.*
  FROM (SELECT order_id, workflow FROM order_process WHERE wake_at IS NULL ORDER BY hashtext(order_id) LIMIT :failed) o
  JOIN cause ON nr = abs(hashtext(order_id)) % 8;
UPDATE order_process p SET process_state = 'error', reason = 'step_failed', failure_count = 3 FROM failed f WHERE p.order_id = f.order_id;
UPDATE order_step s SET state = 'failed', reason = 'attempts_exhausted', attempt = 3, failure_count = 3, service = f.service,
                        error_code = f.error_code, error_text = repeat(f.signature || ' ', 5), result = NULL
  FROM failed f WHERE s.order_id = f.order_id AND s.step = f.step;
INSERT INTO operator_alert (code, subject, order_id, text, workflow, step, service, error_code, signature, opened_at)
SELECT 'order_error', order_id, order_id, repeat(signature || ' ', 5), workflow, step, service, error_code, signature,
       now() - n * interval '1 minute' FROM failed;
INSERT INTO operator_alert (code, subject, order_id, text, workflow, step, service, error_code, signature, opened_at, closed_at)
SELECT 'order_error', order_id, order_id, repeat(signature || ' ', 5), workflow, step, service, error_code, signature,
       now() - n * interval '10 minutes', now() - n * interval '9 minutes' FROM failed, generate_series(1, 10);
INSERT INTO operator_alert (code, subject, text)
SELECT 'dead_letter', 'queue-' || n, 'messages lie there' FROM generate_series(1, 20) n;

UPDATE order_process SET process_state = 'compensated', goal = 'compensated', reason = 'step_failed'
 WHERE process_state = 'processed' AND wake_at IS NULL AND hashtext(order_id) % 100 = 1;
UPDATE order_process SET process_state = 'cancelled', goal = 'cancelled', reason = 'operator'
 WHERE process_state = 'processed' AND wake_at IS NULL AND hashtext(order_id) % 10000 = 2;

-- Some fifty orders of each customer, and all in one country: a label that names few orders, and one that names all.
INSERT INTO order_label (order_id, name, value, created_at)
SELECT order_id, name, value, created_at FROM order_process,
       LATERAL (VALUES ('customer', (abs(hashtext(order_id)) % 20000)::text), ('country', 'CH')) l (name, value);

INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, step, attempt, transitions, owed)
SELECT order_id, v, 'resume', order_id || '.' || v, 'otto', step, v,
       '[{"step":"charge","from":"failed","to":"running","attempt":7,"kind":"do","reason":"none"}]', false
  FROM failed, generate_series(5, 1000) v WHERE n = 1;
UPDATE order_process SET version = 1000 WHERE order_id = (SELECT order_id FROM failed WHERE n = 1);

INSERT INTO workflow (name, version, definition)
SELECT name, version, '{"workflow": "' || name || '", "steps": []}'
  FROM unnest(ARRAY['fulfilment', 'billing', 'returns', 'rare']) name, generate_series(1, 20) version;
INSERT INTO service_state (service, instance, breaker, is_ready, in_flight, concurrency, reported_at)
SELECT service, service || '-' || n, CASE n WHEN 3 THEN 'open' ELSE 'closed' END, true, n, 16, now() + interval '1 day'
  FROM (SELECT DISTINCT service FROM cause UNION SELECT 'other-' || n FROM generate_series(1, 9) n) s, generate_series(1, 20) n;
INSERT INTO service_control (service, is_paused, concurrency, rate_per_s, version, reason, by_whom)
VALUES ('payment', false, 6, 20, 3, 'it is slow', 'otto'), ('carrier', true, NULL, NULL, 1, 'maintenance', 'otto');
UPDATE supervisor_leader SET epoch = 7, holder = 'supervisor-1', seen_at = now(), swept_at = now();

INSERT INTO bulk (bulk_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent, state, is_tried, orders, done, failed,
                   skipped, asked_to, created_at, ended_at)
SELECT gen_random_uuid(), 'resume', '{"error": "' || n || '"}', 'it is mended', 'otto', 5, 5, 10, 'done', true, listed, listed - 4, 2, 2,
       listed, now() - n * interval '1 hour', now() - n * interval '59 minutes'
  FROM generate_series(1, 60) n, LATERAL (SELECT CASE n WHEN 7 THEN :listed ELSE 300 END AS listed) x;
INSERT INTO bulk_order (bulk_id, n, order_id, version, goal, result, asked_at, ended_at, text)
SELECT bulk_id, row_number() OVER (PARTITION BY bulk_id), order_id, 4, 'processed',
       CASE (row_number() OVER (PARTITION BY bulk_id)) % (b.orders / 2) WHEN 0 THEN 'failed' WHEN 1 THEN 'skipped' ELSE 'done' END,
       now(), now(), NULL
  FROM bulk b, LATERAL (SELECT order_id FROM order_process ORDER BY order_id LIMIT b.orders) o;
COMMIT;
