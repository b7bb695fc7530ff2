-- serves programs from schema 1
-- a plan of statements
--
-- A signal with a key finds the order whose step waits for it, and people find the steps that wait, the longest first. Other
-- steps are in neither index, so that their updates stay as cheap as they were: the only column that these read and that ever
-- changes is null there.

WITH wanted (name, making) AS (VALUES
    ('order_step_key', $$order_step (((open::json) ->> 'key') COLLATE "C") WHERE open IS NOT NULL$$),
    ('order_step_since', $$order_step (((open::json) ->> 'since') COLLATE "C", order_id, position) WHERE open IS NOT NULL$$)),
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
