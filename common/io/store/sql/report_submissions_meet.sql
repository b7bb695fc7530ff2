-- The orders that submissions meet: of each its id, its workflow and the version of that (0: the newest), separated
-- by blanks. A row for each, in their order.
-- In this folder: psql -f report_submissions_meet.sql, with the values below.
\set order_ids 'o-1 o-2'
\set workflows 'w w'
\set versions '0 1'

SELECT p.process_state AS state, p.client, p.digest,
    (SELECT max(w.version) FROM workflow w WHERE w.name = s.workflow AND s.version IN (0, w.version)) AS workflow_version
FROM unnest(
    string_to_array(:'order_ids'::text, ' '), string_to_array(:'workflows'::text, ' '),
    string_to_array(:'versions'::text, ' ')::bigint[]
) WITH ORDINALITY AS s(order_id, workflow, version, nth)
LEFT JOIN LATERAL (
    SELECT q.process_state, o.client, encode(o.digest, 'hex') AS digest
    FROM order_process q
    LEFT JOIN orders o ON o.order_id = q.order_id AND o.revision = q.revision
    WHERE q.order_id = s.order_id
    OFFSET 0
) p ON true
ORDER BY s.nth;
