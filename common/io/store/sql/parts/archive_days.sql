-- The archive's tables with their days. is_detached: out of the archive. is_pending: being detached. is_marked: detached by
-- mg_store_retain, which has set the comment before (io/store/retention.h).
SELECT c.relname AS name, to_date(right(c.relname, 8), 'YYYYMMDD') AS day, i.inhrelid IS NULL AS is_detached,
    coalesce(i.inhdetachpending, false) AS is_pending,
    coalesce(obj_description(c.oid, 'pg_class') = 'makegood db retain drops this', false) AS is_marked
FROM pg_class c
LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname ~ '^order_archive_[0-9]{8}$'
