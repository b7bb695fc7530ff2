-- serves programs from schema 1
-- a plan of statements
--
-- A client's orders and labels by indexes of their own, for the gateway's lists. Orders that no client has proved to be its
-- own are in neither. Labels that were there before 0031 get their clients in bites, so that no transaction is long.

WITH wanted (name, making) AS (VALUES
    ('orders_client', $$orders (client COLLATE "C", received_at, order_id) INCLUDE (revision) WHERE client <> ''$$),
    ('order_label_client', $$order_label (client, value, name, created_at, order_id) WHERE client <> ''$$)),
made AS (
    SELECT i.relname::text AS name, x.indisvalid AS is_valid FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
     WHERE i.relnamespace = current_schema()::regnamespace),
pending AS (
    SELECT l.order_id, row_number() OVER (ORDER BY l.order_id) AS n FROM order_label l
      JOIN orders o ON o.order_id = l.order_id AND o.revision = 1 AND o.client <> '' WHERE l.client IS NULL),
bite AS (SELECT order_id AS first, lead(order_id) OVER (ORDER BY order_id) AS next FROM pending WHERE n % 20000 = 1),
todo (rank, statement) AS (
    SELECT 1, format('DROP INDEX CONCURRENTLY %I', name) FROM made JOIN wanted USING (name) WHERE NOT is_valid
    UNION ALL
    SELECT 2, format('UPDATE order_label l SET client = o.client FROM orders o WHERE o.order_id = l.order_id AND o.revision = 1'
                     ' AND o.client <> '''' AND l.client IS NULL AND l.order_id >= %L%s', first,
                     ' AND l.order_id < ' || quote_literal(next)) FROM bite
    UNION ALL
    SELECT 3, format('CREATE INDEX CONCURRENTLY %I ON %s', name, making) FROM wanted WHERE name NOT IN (SELECT name FROM made))
SELECT statement FROM todo
 -- a tool of an older version runs this in a transaction, as if it were a file like the others
 WHERE transaction_timestamp() = statement_timestamp()
    OR ('this file is a plan: migrate with the makegood of its own version' || left(current_user, 0))::integer > 0
 ORDER BY rank, statement;
