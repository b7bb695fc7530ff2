-- The statuses of a client's order after one of them, of the events from a version on, oldest first. An order without
-- such statuses has one row without a status.
-- In this folder: psql -f report_statuses_of_client.sql, with the values below.
\set client 'shop'
\set order_id 'o-1'
\set seq '0'
\set version '0'
\set limit '100'

SELECT p.process_state AS state, s.version, s.seq, s.status, s.body
FROM order_process p
LEFT JOIN LATERAL (
    SELECT e.version, (t.body->>'seq')::bigint AS seq, t.body->>'status' AS status, t.body
    FROM order_event e, json_array_elements(e.statuses) WITH ORDINALITY AS t(body, nth)
    WHERE e.order_id = p.order_id AND e.version >= :'version'::text::bigint AND (t.body->>'seq')::bigint > :'seq'::text::bigint
    ORDER BY e.version, t.nth
    LIMIT least(:'limit'::text::bigint, 10000)
) s ON true
WHERE p.order_id = :'order_id'::text
    AND EXISTS (SELECT FROM orders c WHERE c.order_id = p.order_id AND c.client = :'client'::text)
ORDER BY s.version, s.seq;
