-- The orders that are due.
timely AS MATERIALIZED (
    SELECT order_id, version, wake_at
    FROM order_process
    WHERE wake_at > :woken AND wake_at <= (SELECT now FROM clock) AND EXISTS (SELECT FROM leader) AND :taken
    ORDER BY wake_at
    LIMIT :'limit'::bigint :lock
),
-- Orders with attempts held back return again and again, before those that became due just now. So if not all have a
-- place, those that became due last get a quarter more.
latest AS MATERIALIZED (
    SELECT order_id, version, wake_at
    FROM order_process
    WHERE wake_at > (SELECT max(wake_at) FROM timely) AND wake_at <= (SELECT now FROM clock)
        AND (SELECT count(*) FROM timely) >= :'limit'::bigint AND :taken
    ORDER BY wake_at DESC
    LIMIT (:'limit'::bigint + 3) / 4 :lock
),
-- A million orders may be woken: they take the places that others leave, and a quarter at least.
woken AS MATERIALIZED (
    SELECT order_id, version, wake_at
    FROM order_process
    WHERE wake_at <= :woken AND EXISTS (SELECT FROM leader) AND :taken
    ORDER BY wake_at
    LIMIT greatest(:'limit'::bigint - (SELECT count(*) FROM timely), (:'limit'::bigint + 3) / 4) :lock
)
