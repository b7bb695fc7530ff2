-- serves programs from schema 1
-- a plan of statements
--
-- Ids compare by their bytes, whatever the database's collation: COLLATE "C" at each text column that is a key. Before, an
-- index was sorted by the system's rules. A new C library or ICU brings other rules, and then ids that are there were not
-- found and were stored twice.
--
-- The collation of a column changes in no time if every index of it has the new one already, and else all are built anew under
-- a lock. So an index of a large table gets a twin first, beside all programs; then one short transaction puts all twins in
-- their places. An index with a condition can have no such twin: its twin has none, stands in for it meanwhile, and goes
-- when the index is made again.
--
-- The last act of that transaction ends the sessions of Makegood's programs: those of schema 25 and below could not use the
-- statements that they have prepared.

WITH ours AS (
    SELECT c.oid, c.relname::text AS name, c.relkind = 'p' AS is_divided,
           -- of a smaller one all indexes are built within some hundredths of a second
           c.relkind = 'r' AND pg_relation_size(c.oid) > 8 * 1024 * 1024 AS is_large,
           pg_get_expr(c.relpartbound, c.oid) AS bound
      FROM pg_class c
     WHERE (c.relnamespace = current_schema()::regnamespace AND c.relname = ANY (ARRAY['order_process', 'order_step',
               'order_event', 'orders', 'order_label', 'operator_alert', 'reply_queue', 'workflow', 'service_state',
               'service_control', 'supervisor_leader', 'retention', 'bulk', 'bulk_order', 'bulk_runner', 'order_archive']))
        OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('order_archive'))),
-- Indexes with a condition that are on large tables.
partial (name, keys, condition) AS (VALUES
    ('orders_received', 'received_at, order_id', 'revision = 1'),
    ('order_process_reason', 'created_at, order_id', $$reason <> 'none'$$),
    ('order_step_parked', 'service, parked_high, parked_until', 'parked_high IS NOT NULL'),
    ('order_event_owed_to', 'owed_to, at, order_id, version', 'owed')),
-- Indexes with a key that the database's collation sorts.
collated AS (
    SELECT o.oid, o.name AS owner, i.relname::text AS name, left(i.relname, 54) || '_bytewise' AS twin, x.indisprimary AS is_primary,
           o.is_large AND (x.indpred IS NULL OR i.relname IN (SELECT name FROM partial)) AS has_twin,
           format('CREATE %sINDEX CONCURRENTLY %I ON %I (%s)%s', CASE WHEN x.indisunique THEN 'UNIQUE ' END,
               left(i.relname, 54) || '_bytewise', o.name, k.keys,
               ' WITH (' || array_to_string(i.reloptions, ', ') || ')') AS making
      FROM ours o JOIN pg_index x ON x.indrelid = o.oid JOIN pg_class i ON i.oid = x.indexrelid
      CROSS JOIN LATERAL (SELECT string_agg(format('%I%s', a.attname, CASE WHEN c.oid <> 0 THEN ' COLLATE "C"' END), ', ' ORDER BY n) AS keys,
                                 bool_or(c.oid NOT IN (0, '"C"'::regcollation)) AS is_collated
                            FROM unnest(x.indcollation, x.indkey) WITH ORDINALITY c (oid, attnum, n)
                            JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = c.attnum
                           WHERE n <= x.indnkeyatts) k
     WHERE x.indexprs IS NULL AND k.is_collated AND i.relname NOT LIKE '%\_bytewise'),
made AS (
    SELECT i.relname::text AS name, x.indisvalid AS is_valid FROM ours o JOIN pg_index x ON x.indrelid = o.oid JOIN pg_class i ON i.oid = x.indexrelid),
day AS ( -- of the archive; the check saves reading the day when it is attached again
    SELECT o.*, c.convalidated FROM ours o LEFT JOIN pg_constraint c ON c.conrelid = o.oid AND c.conname = 'makegood_day'
     WHERE o.bound IS NOT NULL),
building (rank, statement) AS (
    SELECT 1, format('DROP INDEX CONCURRENTLY %I', name) FROM made
     WHERE NOT is_valid AND (name LIKE '%\_bytewise' OR name IN (SELECT name FROM partial))
    UNION ALL
    SELECT 2, making FROM collated WHERE has_twin AND twin NOT IN (SELECT name FROM made)
    UNION ALL
    SELECT 3, format('ALTER TABLE %I ADD CONSTRAINT makegood_day CHECK (%s) NOT VALID', name, pg_get_partition_constraintdef(oid))
      FROM day WHERE convalidated IS NULL AND EXISTS (SELECT FROM collated)
    UNION ALL
    SELECT 4, format('ALTER TABLE %I VALIDATE CONSTRAINT makegood_day', name) FROM day
     WHERE convalidated IS NOT TRUE AND EXISTS (SELECT FROM collated)),
changed AS ( -- the columns that are keys
    SELECT o.name, string_agg(format('ALTER COLUMN %I TYPE %s COLLATE "C"', a.attname, format_type(a.atttypid, a.atttypmod)), ', ') AS columns
      FROM ours o JOIN pg_attribute a ON a.attrelid = o.oid
     WHERE a.attcollation NOT IN (0, '"C"'::regcollation) AND EXISTS (
               SELECT FROM pg_index x, unnest(x.indcollation, x.indkey) c (oid, attnum)
                WHERE x.indrelid = o.oid AND c.attnum = a.attnum AND c.oid <> 0)
     GROUP BY o.name),
swapping (rank, statement) AS (
    SELECT 10, 'SET LOCAL lock_timeout = ''200ms''' -- of each table: programs hold them for some milliseconds
    UNION ALL
    SELECT 11, 'LOCK TABLE ' || string_agg(format('%I', name), ', ') || ' IN ACCESS EXCLUSIVE MODE' FROM ours
    UNION ALL
    SELECT 12, 'DROP VIEW pattern_process'
    UNION ALL
    SELECT 12, 'ALTER TABLE reply_queue DROP COLUMN client'
    UNION ALL
    SELECT 12, format('ALTER TABLE order_archive DETACH PARTITION %I', name) FROM day
    UNION ALL
    SELECT 13, CASE WHEN is_primary THEN format('ALTER TABLE %I DROP CONSTRAINT %I', owner, name) ELSE format('DROP INDEX %I', name) END
      FROM collated WHERE has_twin
    UNION ALL
    SELECT 14, format('ALTER TABLE %I %s', name, columns) FROM changed
    UNION ALL
    SELECT 15, CASE WHEN is_primary THEN format('ALTER TABLE %I ADD CONSTRAINT %I PRIMARY KEY USING INDEX %I', owner, name, twin)
                    ELSE format('ALTER INDEX %I RENAME TO %I', twin, name) END
      FROM collated WHERE has_twin AND name NOT IN (SELECT name FROM partial)
    UNION ALL
    SELECT 16, format('ALTER TABLE order_archive ATTACH PARTITION %I %s', name, bound) FROM day
    UNION ALL
    SELECT 17, format('ALTER TABLE %I DROP CONSTRAINT makegood_day', name) FROM day
    UNION ALL
    SELECT 18, 'ALTER TABLE reply_queue ADD COLUMN client text COLLATE "C" NOT NULL'
               ' GENERATED ALWAYS AS (CASE WHEN starts_with(name, ''client.'') THEN split_part(name, ''.'', 2) ELSE '''' END) STORED'
    UNION ALL
    SELECT 19, 'CREATE INDEX reply_queue_client ON reply_queue (client, ask_at, name)'
    UNION ALL
    SELECT 20, 'CREATE VIEW pattern_process AS ' || rtrim(pg_get_viewdef(to_regclass('pattern_process')), ';')
    UNION ALL
    SELECT 21, format('GRANT %s ON pattern_process TO %s', privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
      FROM pg_class c, aclexplode(c.relacl) WHERE c.oid = to_regclass('pattern_process')
    UNION ALL
    SELECT 22, $end$DO $$
        DECLARE
            session record;
        BEGIN
            FOR session IN SELECT a.pid, a.usename, r.rolsuper FROM pg_stat_activity a JOIN pg_roles r ON r.oid = a.usesysid
                            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
                              AND coalesce(a.backend_type, 'client backend') = 'client backend' -- NULL: of another role
                              AND a.application_name NOT IN ('psql', 'pg_dump', 'makegood') -- the tool: another migration, before its lock
                              AND NOT EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory'
                                                 AND l.classid = 19783 AND l.objid = 2) -- another migration, which waits
                              AND has_any_column_privilege(a.usesysid, 'order_process', 'SELECT') LOOP
                IF session.usename <> current_user AND pg_has_role(session.usename, 'MEMBER') THEN
                    EXECUTE format('SET LOCAL ROLE %I', session.usename);
                ELSIF session.usename <> current_user AND session.rolsuper THEN
                    CONTINUE;
                ELSIF session.usename <> current_user THEN
                    RAISE EXCEPTION 'the sessions of user % must end here, and user % may not end them: run roles.sql again as a'
                        ' superuser, or stop the programs for this migration', session.usename, current_user USING ERRCODE = 'object_in_use';
                END IF;
                PERFORM pg_terminate_backend(session.pid);
                RESET ROLE;
            END LOOP;
        END $$$end$),
finishing (rank, statement) AS (
    SELECT 30, format('CREATE INDEX CONCURRENTLY %I ON %s (%s) WHERE %s', p.name, x.indrelid::regclass, p.keys, p.condition)
      FROM partial p JOIN pg_index x ON x.indexrelid = to_regclass(p.name || '_bytewise') WHERE to_regclass(p.name) IS NULL
    UNION ALL
    SELECT 31, format('DROP INDEX CONCURRENTLY %I', p.name || '_bytewise') FROM partial p WHERE to_regclass(p.name || '_bytewise') IS NOT NULL
    UNION ALL
    SELECT 32, 'ANALYZE ' || name FROM ours WHERE is_large AND EXISTS (SELECT FROM partial p WHERE to_regclass(p.name || '_bytewise') IS NOT NULL))
SELECT statement FROM (
    SELECT * FROM building
    UNION ALL
    SELECT 10, 'BEGIN; ' || string_agg(statement, '; ' ORDER BY rank) || '; COMMIT' FROM swapping
     WHERE EXISTS (SELECT FROM changed) AND NOT EXISTS (SELECT FROM building) HAVING count(*) > 0
    UNION ALL
    SELECT * FROM finishing WHERE NOT EXISTS (SELECT FROM changed) AND NOT EXISTS (SELECT FROM building)) todo
 -- a tool of an older version runs this in a transaction, as if it were a file like the others
 WHERE transaction_timestamp() = statement_timestamp()
    OR ('this file is a plan: migrate with the makegood of its own version' || left(current_user, 0))::integer > 0
 ORDER BY rank, statement;
