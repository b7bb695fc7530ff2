-- The orders for which a signal is kept that came before the end of their wait. A signal is for one order, as in
-- match_signal.sql: no other holds up the end of its wait.
-- In this folder: psql -f find_matches.sql, with the values below.
\set ns '{0}'
\set order_ids '{o-1}'
\set signals '{paid}'
\set keys '{ch_17}'
\set ends '{1774747800000}'
\set kept_days 7

SELECT i.n
FROM unnest(:'ns'::bigint[], :'order_ids'::text[], :'signals'::text[], :'keys'::text[], :'ends'::bigint[])
    AS i(n, order_id, signal, key, ends_at)
CROSS JOIN LATERAL (
    SELECT s.order_id
    FROM signal_by_key k
    JOIN order_step s ON s.open IS NOT NULL AND (s.open::json ->> 'key') COLLATE "C" = i.signal || '/' || i.key
        AND s.state = 'waiting'
    WHERE k.signal = i.signal AND k.key = i.key AND k.taken_by IS NULL
        AND k.received_at > clock_timestamp() - :kept_days * interval '1 day'
        AND (s.open::json -> 'from' IS NULL OR EXISTS (SELECT FROM json_array_elements_text(s.open::json -> 'from') t (sender)
            WHERE t.sender = CASE WHEN k.client IS NULL THEN 'operator' ELSE 'client:' || k.client END))
        AND k.received_at <= 'epoch'::timestamptz + i.ends_at * interval '1 millisecond'
    ORDER BY k.received_at, s.due_at, s.order_id COLLATE "C"
    LIMIT 1
) m
WHERE m.order_id = i.order_id;
