-- The versions of orders. Their ids are separated by blanks.
-- In this folder: psql -f report_versions.sql, with the values below.
\set order_ids 'o-1 o-2'

SELECT order_id, version, process_state AS state
FROM order_process
WHERE order_id = ANY (string_to_array(:'order_ids'::text, ' '))
LIMIT 10000;
