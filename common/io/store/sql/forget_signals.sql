-- Deletes signals with a key that are older than any order looks for, taken or not, and counts those that no order has
-- taken, with the oldest of them. No key and no payload is read.
-- In this folder: psql -f forget_signals.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set bite '1000'
\set late_for_ms '86400000'
\set forget_days 8
\set kept_days 7
\set counted_max 10000

WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
    old AS MATERIALIZED (
        SELECT received_at
        FROM signal_by_key
        WHERE received_at < (SELECT now - :forget_days * interval '1 day' FROM clock)
            AND EXISTS (
                SELECT FROM supervisor_leader
                WHERE name = 'supervisor' AND epoch = :'epoch'::bigint AND holder = :'holder'::text
            )
        ORDER BY received_at
        LIMIT :'bite'::bigint
    ),
    gone AS (
        DELETE FROM signal_by_key
        WHERE received_at <= (SELECT max(received_at) FROM old)
        RETURNING taken_by
    ),
    kept AS MATERIALIZED (
        SELECT signal, signal_id, by_whom, received_at
        FROM signal_by_key
        WHERE taken_by IS NULL AND received_at > (SELECT now - :kept_days * interval '1 day' FROM clock)
        LIMIT :counted_max
    )
SELECT (SELECT count(*) FROM gone) AS forgotten, (SELECT count(*) FROM gone WHERE taken_by IS NULL) AS unmatched,
    (SELECT count(*) FROM kept) AS kept, floor(extract(epoch FROM k.now - o.received_at) * 1000)::bigint AS oldest_ms,
    (SELECT count(*) FROM kept WHERE received_at < k.now - :'late_for_ms'::bigint * interval '1 millisecond') AS late, o.signal,
    o.signal_id, o.by_whom
FROM clock k
LEFT JOIN LATERAL (
    SELECT signal, signal_id, by_whom, received_at FROM kept ORDER BY received_at, signal, signal_id LIMIT 1
) o ON true;
