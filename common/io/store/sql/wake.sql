-- Wakes the open orders. The lead of the clock is kept until the last order is woken: if this leader ends before, the
-- next one finds it in this row and continues.
-- In this folder: psql -f wake.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set limit '500'
\set keys '{}'
\set woken `cat parts/woken.sql`
\if :{?taken}
\else
\set taken `cat parts/all_but.sql`
\endif

WITH leader AS (
        UPDATE supervisor_leader
        SET seen_at = clock_timestamp(),
            swept_at = CASE
                WHEN :'limit'::bigint > (
                    SELECT count(*) FROM (SELECT FROM order_process WHERE wake_at > :woken AND :taken LIMIT :'limit'::bigint) o
                ) THEN clock_timestamp()
                ELSE swept_at END
        WHERE name = 'supervisor' AND epoch = :'epoch'::bigint AND holder = :'holder'::text
        RETURNING name
    ),
    asleep AS MATERIALIZED (
        SELECT order_id
        FROM order_process
        WHERE wake_at > :woken AND EXISTS (SELECT FROM leader) AND :taken
        ORDER BY wake_at DESC
        LIMIT :'limit'::bigint
    ),
    -- No SKIP LOCKED: a skipped order that is being written would sleep on. Locked by id, as writers lock.
    locked AS MATERIALIZED (
        SELECT order_id
        FROM order_process
        WHERE order_id = ANY (ARRAY(SELECT order_id FROM asleep)) AND wake_at > :woken
        ORDER BY order_id COLLATE "C"
        FOR NO KEY UPDATE
    ),
    woken AS (UPDATE order_process SET wake_at = :woken WHERE order_id = ANY (ARRAY(SELECT order_id FROM locked)))
SELECT EXISTS (SELECT FROM leader), (SELECT count(*) FROM asleep) >= :'limit'::bigint;
