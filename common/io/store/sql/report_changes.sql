-- Orders of clients that have another version than the given one. Ids, versions and clients are separated by blanks.
-- In this folder: psql -f report_changes.sql, with the values below.
\set order_ids 'o-1 o-2'
\set versions '1 1'
\set clients 'shop shop'

SELECT w.place, p.version, p.process_state AS state
FROM unnest(
    string_to_array(:'order_ids'::text, ' '), string_to_array(:'versions'::text, ' ')::bigint[],
    string_to_array(:'clients'::text, ' ')
) WITH ORDINALITY AS w(order_id, version, client, place)
JOIN order_process p ON p.order_id = w.order_id
WHERE p.version <> w.version AND EXISTS (SELECT FROM orders c WHERE c.order_id = w.order_id AND c.client = w.client::text)
LIMIT 10000;
