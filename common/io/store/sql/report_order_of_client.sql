-- One order of a client. An order that an older version stored gets its client by a later revision, so all of its
-- revisions count.
-- In this folder: psql -f report_order_of_client.sql, with the values below.
\set client 'shop'
\set order_id 'o-1'

SELECT p.order_id, p.workflow, p.workflow_version, p.process_state AS state, p.goal, p.reason, p.failure_count,
    to_char(p.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
    to_char(p.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at,
    to_char(p.complete_by AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS complete_by, p.version,
    (
        SELECT coalesce(json_object_agg(l.name, l.value ORDER BY l.name), '{}') FROM order_label l WHERE l.order_id = p.order_id
    ) AS labels,
    CASE WHEN p.process_state = 'processed' THEN makegood_last_status(p.order_id, 'processed')->'output' END AS output,
    p.failure::json AS cause
FROM order_process p
WHERE p.order_id = :'order_id'::text
    AND EXISTS (SELECT FROM orders c WHERE c.order_id = p.order_id AND c.client = :'client'::text);
