-- serves programs from schema 1
--
-- A gateway shows a client its orders in the archive, too. The dossiers there have payloads and steps, which its role may not
-- read. These functions take the rest out of them: of the last order of an id, if it is the client's and there is none of this
-- id in the tables.

CREATE FUNCTION makegood_archived_of_client(of_client text, wanted text) RETURNS TABLE (archived_on date, dossier json)
    LANGUAGE sql STABLE AS $$
    SELECT a.archived_on, a.dossier FROM (
        SELECT t.archived_on, t.dossier FROM order_archive t
         WHERE t.order_id = wanted AND NOT EXISTS (SELECT FROM order_process p WHERE p.order_id = wanted)
         ORDER BY t.archived_on DESC LIMIT 1) a
     WHERE EXISTS (SELECT FROM json_array_elements(a.dossier->'revisions') r WHERE r->>'client' = of_client)
$$;

-- As the gateway's report of an order in the tables, and the day.
CREATE FUNCTION makegood_archived_order(of_client text, wanted text)
    RETURNS TABLE (order_id text, workflow text, workflow_version bigint, state text, goal text, reason text,
                   failure_count bigint, created_at text, updated_at text, complete_by text, version bigint, labels json,
                   output json, cause json, archived_on text)
    LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT wanted, o.workflow, o.workflow_version, o.state, o.goal, o.reason, o.failure_count, o.created_at, o.updated_at,
           o.complete_by, o.version, coalesce(a.dossier->'labels', '{}'), nullif((a.dossier->'output')::text, 'null')::json,
           nullif(o.failure::text, 'null')::json, a.archived_on::text
      FROM makegood_archived_of_client(of_client, wanted) a,
           json_to_record(a.dossier->'order') AS o (workflow text, workflow_version bigint, state text, goal text, reason text,
               failure_count bigint, created_at text, updated_at text, complete_by text, version bigint, failure json)
$$;

-- Its statuses behind that seq; without one, a single row with its state.
CREATE FUNCTION makegood_archived_statuses(of_client text, wanted text, behind bigint)
    RETURNS TABLE (state text, version bigint, seq bigint, status text, body json)
    LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT a.dossier->'order'->>'state', s.version, s.seq, s.status, s.body
      FROM makegood_archived_of_client(of_client, wanted) a
      LEFT JOIN LATERAL (
        SELECT (e->>'version')::bigint AS version, (b->>'seq')::bigint AS seq, b->>'status' AS status, b AS body
          FROM json_array_elements(a.dossier->'events') e,
               json_array_elements(CASE json_typeof(e->'statuses') WHEN 'array' THEN e->'statuses' END) b
         WHERE (b->>'seq')::bigint > behind) s ON true
     ORDER BY s.seq
$$;

REVOKE ALL ON FUNCTION makegood_archived_of_client(text, text) FROM PUBLIC; -- grants.sql says who may
REVOKE ALL ON FUNCTION makegood_archived_order(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION makegood_archived_statuses(text, text, bigint) FROM PUBLIC;
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION makegood_archived_order(text, text) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION makegood_archived_statuses(text, text, bigint) SET search_path = %I, pg_temp', current_schema());
END $$;
