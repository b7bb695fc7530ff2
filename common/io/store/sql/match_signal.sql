-- The oldest signal that is kept under a key, and the order that waits for it and takes it of its sender: the one with the
-- earliest time-out. Of the signal or the order that is given, if one is. A wait from before schema 41 names no senders; its order refuses
-- others.
-- In this folder: psql -f match_signal.sql, with the values below.
\set signal 'paid'
\set key 'ch_17'
\set signal_id ''
\set order_id ''
\set kept_days 7

SELECT s.order_id, k.signal_id, k.payload, k.by_whom, k.client
FROM signal_by_key k
JOIN order_step s ON s.open IS NOT NULL AND (s.open::json ->> 'key') COLLATE "C" = :'signal'::text || '/' || :'key'::text
    AND s.state = 'waiting' AND :'order_id'::text IN ('', s.order_id)
WHERE k.signal = :'signal'::text AND k.key = :'key'::text AND k.taken_by IS NULL AND :'signal_id'::text IN ('', k.signal_id)
    AND k.received_at > clock_timestamp() - :kept_days * interval '1 day'
    AND (s.open::json -> 'from' IS NULL OR EXISTS (SELECT FROM json_array_elements_text(s.open::json -> 'from') t (sender)
        WHERE t.sender = CASE WHEN k.client IS NULL THEN 'operator' ELSE 'client:' || k.client END))
ORDER BY k.received_at, s.due_at, s.order_id COLLATE "C"
LIMIT 1;
