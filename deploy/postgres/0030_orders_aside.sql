-- serves programs from schema 1
--
-- Orders that wait alone at a scheduler, because the database refuses their rows or another session locks them, and the
-- session or prepared transaction that does.

-- [{"order_id", "for_ms", "reason"}], at most as many as a scheduler keeps aside.
ALTER TABLE process_state ADD COLUMN orders_aside json NOT NULL DEFAULT '[]';

-- The locks on rows of these orders. A row names the transaction that locked it last, and pg_locks those that have not
-- ended; one without a session is prepared. A program of ours is no answer: it may try the order at this moment. By the
-- owner's right, because those that ask may not read all columns.
CREATE FUNCTION makegood_order_locks(order_ids text[])
RETURNS TABLE (order_id text, held_by text) LANGUAGE sql STABLE SECURITY DEFINER AS $$
    SELECT DISTINCT ON (r.order_id) r.order_id, CASE
        WHEN l.pid IS NOT NULL THEN format('session %s (%s, user %s); SELECT pg_terminate_backend(%s) ends it', l.pid,
             coalesce(nullif(a.application_name, ''), 'of no name'), a.usename, l.pid)
        ELSE format('the prepared transaction %L of %s since %s; ROLLBACK PREPARED %L ends it', x.gid, x.owner,
             to_char(x.prepared AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), x.gid) END
    FROM (SELECT o.order_id, o.xmax FROM orders o WHERE o.order_id = ANY ($1)
          UNION ALL SELECT p.order_id, p.xmax FROM order_process p WHERE p.order_id = ANY ($1)
          UNION ALL SELECT s.order_id, s.xmax FROM order_step s WHERE s.order_id = ANY ($1)) r
    JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.transactionid = r.xmax
    LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    LEFT JOIN pg_prepared_xacts x ON x.transaction = r.xmax
    WHERE l.pid IS NULL OR a.application_name NOT LIKE 'makegood-%'
    ORDER BY r.order_id
$$;
REVOKE ALL ON FUNCTION makegood_order_locks(text[]) FROM PUBLIC; -- grants.sql says who may
DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION makegood_order_locks(text[]) SET search_path = %I, pg_temp', current_schema());
END $$;
