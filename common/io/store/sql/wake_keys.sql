-- The orders that wake would take.
-- In this folder: psql -f wake_keys.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set limit '500'
\set keys '{}'
\set woken `cat parts/woken.sql`
\set taken `cat parts/all_but.sql`

WITH leader AS MATERIALIZED (
        SELECT FROM supervisor_leader WHERE name = 'supervisor' AND epoch = :'epoch'::bigint AND holder = :'holder'::text
    ),
    asleep AS MATERIALIZED (
        SELECT order_id
        FROM order_process
        WHERE wake_at > :woken AND EXISTS (SELECT FROM leader) AND :taken
        ORDER BY wake_at DESC
        LIMIT :'limit'::bigint
    )
SELECT order_id
FROM asleep;
