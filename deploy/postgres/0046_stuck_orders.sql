-- serves programs from schema 1
-- a plan of statements
--
-- Open orders without a moment, at which nobody would look. Only a fault makes one, so the index is empty, and the report of
-- stuck orders reads no table for them. Its condition ends at wake_at for an order on its way.

WITH wanted (name, making) AS (VALUES
    ('order_process_stuck',
     $$order_process (order_id) WHERE wake_at IS NULL AND process_state IN ('pending', 'processing', 'compensating') AND reason <> 'in_line'$$)),
made AS (
    SELECT i.relname::text AS name, x.indisvalid AS is_valid FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
     WHERE i.relnamespace = current_schema()::regnamespace),
todo (rank, statement) AS (
    SELECT 1, format('DROP INDEX CONCURRENTLY %I', name) FROM made JOIN wanted USING (name) WHERE NOT is_valid
    UNION ALL
    SELECT 2, format('CREATE INDEX CONCURRENTLY %I ON %s', name, making) FROM wanted WHERE name NOT IN (SELECT name FROM made))
SELECT statement FROM todo
 -- a tool of an older version runs this in a transaction, as if it were a file like the others
 WHERE transaction_timestamp() = statement_timestamp()
    OR ('this file is a plan: migrate with the makegood of its own version' || left(current_user, 0))::integer > 0
 ORDER BY rank, statement;
