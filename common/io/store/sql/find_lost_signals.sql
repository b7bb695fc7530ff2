-- Kept signals for which an order waits all the same: the look that brings the two together was lost (scheduler/keyed_signals.h). The signals
-- after a key, in the order of keys; then, if as many were read as are read at once, the key of the last one, for the next question. One that
-- came just now is on its way.
-- In this folder: psql -f find_lost_signals.sql, with the values below.
\set after_signal ''
\set after_key ''
\set most '100'
\set read_max 10000
\set kept_days 7
\set young_s 10

WITH kept AS MATERIALIZED (
    SELECT signal, key, signal_id, client, received_at
    FROM signal_by_key
    WHERE taken_by IS NULL AND (signal, key) > (:'after_signal'::text, :'after_key'::text)
    ORDER BY signal, key, received_at
    LIMIT :read_max
),
lost AS (
    SELECT k.signal, k.key, k.signal_id
    FROM kept k
    WHERE k.received_at > clock_timestamp() - :kept_days * interval '1 day' AND k.received_at < clock_timestamp() - :young_s * interval '1 second'
        AND EXISTS (
            SELECT FROM order_step s
            WHERE s.open IS NOT NULL AND (s.open::json ->> 'key') COLLATE "C" = k.signal || '/' || k.key AND s.state = 'waiting'
                AND (s.open::json -> 'from' IS NULL OR EXISTS (SELECT FROM json_array_elements_text(s.open::json -> 'from') t (sender)
                    WHERE t.sender = CASE WHEN k.client IS NULL THEN 'operator' ELSE 'client:' || k.client END))
        )
    LIMIT :'most'::bigint
)
SELECT signal, key, signal_id FROM lost
UNION ALL
(SELECT signal, key, NULL FROM kept WHERE (SELECT count(*) FROM kept) = :read_max ORDER BY signal DESC, key DESC LIMIT 1);
