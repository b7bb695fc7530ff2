-- An order's oldest owed events. The very first is of any size; later calls read the rest.
-- In this folder: psql -f load_owed_events.sql, with the values below.
\set order_id 'o-1'

SELECT version, statuses
FROM (
    SELECT version, statuses, row_number() OVER w AS nth, sum(coalesce(octet_length(statuses::text), 0)) OVER w AS bytes
    FROM (SELECT version, statuses FROM order_event WHERE order_id = :'order_id'::text AND owed ORDER BY version LIMIT 64) e
    WINDOW w AS (ORDER BY version)
) e
WHERE nth = 1 OR bytes <= 8 * 1024 * 1024
ORDER BY version;
