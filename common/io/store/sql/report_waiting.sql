-- Orders that wait aside at schedulers, and overdue orders that another session keeps locked; with an order's id that
-- one alone. Sweeps skip locked orders, so those get no cause.
-- In this folder: psql -f report_waiting.sql, with the values below.
\set order_id ''
\set woken `cat parts/woken.sql`

WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    aside AS MATERIALIZED (
        SELECT a.order_id, p.seen_at - a.for_ms * interval '1 ms' AS since, a.reason
        FROM process_state p, json_to_recordset(p.orders_aside) AS a (order_id text, for_ms bigint, reason text)
        WHERE p.seen_at > (SELECT now FROM clock) - interval '10 s'
    ),
    -- Of them only these many are looked at for locks: normally sweeps leave none for seconds.
    overdue AS MATERIALIZED (
        SELECT order_id, wake_at AS since
        FROM order_process
        WHERE wake_at > :woken AND wake_at < (SELECT now FROM clock) - interval '5 s'
            AND order_id NOT IN (SELECT order_id FROM order_aside)
        ORDER BY wake_at
        LIMIT 100
    ),
    held AS MATERIALIZED (
        SELECT * FROM makegood_order_locks(ARRAY(SELECT order_id FROM aside UNION SELECT order_id FROM overdue))
    )
SELECT w.order_id, to_char(min(w.since) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS since,
    coalesce(max(w.reason), 'its deadline has passed') AS reason, h.held_by
FROM (SELECT * FROM aside UNION ALL SELECT order_id, since, NULL FROM overdue WHERE order_id IN (SELECT order_id FROM held)) w
LEFT JOIN held h USING (order_id)
WHERE :'order_id'::text IN ('', w.order_id)
GROUP BY w.order_id, h.held_by
ORDER BY min(w.since), w.order_id
LIMIT 10000;
