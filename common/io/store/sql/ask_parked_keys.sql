-- The orders that ask_parked would take.
-- In this folder: psql -f ask_parked_keys.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set ask_again_ms '2000'
\set services '{payment}'
\set is_high '{f}'
\set room '{10}'
\set after_service ''
\set after_is_high '0'
\set keys '{}'

WITH unused AS (
        SELECT :'epoch'::bigint, :'holder'::text, :'ask_again_ms'::bigint, :'after_service'::text, :'after_is_high'::bigint
    )
SELECT DISTINCT s.order_id
FROM unnest(:'services'::text[], :'is_high'::boolean[], :'room'::bigint[]) AS r(service, is_high, room)
CROSS JOIN LATERAL (
    SELECT order_id
    FROM order_step
    WHERE service = r.service AND parked_high = r.is_high
        AND (parked_until <= clock_timestamp() OR parked_until > clock_timestamp() + interval '5 seconds')
        AND order_id <> ALL (:'keys'::text[])
    ORDER BY parked_until
    LIMIT r.room
) s;
