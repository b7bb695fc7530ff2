-- Keeps a signal with a key (io/store/signal_rows.h). The row stays once an order has taken it, so that a second copy is known.
-- One that an order has refused, or that was kept for too long, is kept anew: its sender tries once more.
-- In this folder: psql -f keep_signal.sql, with the values below.
\set signal 'paid'
\set signal_id 'evt_1'
\set key 'ch_17'
\set payload 'null'
\set by 'client:psp'
\set client 'psp'
\set kept_max 10000
\set kept_days 7

WITH known AS (
        SELECT nullif(taken_by, '') AS taken_by,
            taken_by = '' OR (taken_by IS NULL AND received_at <= clock_timestamp() - :kept_days * interval '1 day') AS is_over
        FROM signal_by_key
        WHERE signal = :'signal'::text AND key = :'key'::text AND signal_id = :'signal_id'::text
    ),
    -- Each sender has its own room, and an order that waits needs none.
    room AS (
        SELECT count(*) < :kept_max OR EXISTS (
                SELECT FROM order_step s
                WHERE s.open IS NOT NULL AND s.state = 'waiting'
                    AND (s.open::json ->> 'key') COLLATE "C" = :'signal'::text || '/' || :'key'::text
            ) AS is_there
        FROM (
            SELECT FROM signal_by_key
            WHERE signal = :'signal'::text AND taken_by IS NULL AND client IS NOT DISTINCT FROM :'client'::text
                AND received_at > clock_timestamp() - :kept_days * interval '1 day'
            LIMIT :kept_max
        ) t
    ),
    kept AS (
        INSERT INTO signal_by_key (signal, signal_id, key, payload, by_whom, client)
        SELECT :'signal'::text, :'signal_id'::text, :'key'::text, :'payload'::text, :'by'::text, :'client'::text
        WHERE NOT EXISTS (SELECT FROM known WHERE NOT is_over) AND (SELECT is_there FROM room)
        ON CONFLICT (signal, key, signal_id) DO UPDATE
            SET payload = EXCLUDED.payload, received_at = clock_timestamp(), taken_by = NULL
            WHERE EXISTS (SELECT FROM known WHERE is_over) AND coalesce(signal_by_key.taken_by, '') = ''
        RETURNING signal_id
    )
-- Neither known nor kept, although there is room: a copy has come at the same moment.
SELECT CASE
        WHEN EXISTS (SELECT FROM known WHERE taken_by IS NOT NULL) THEN 'taken'
        WHEN EXISTS (SELECT FROM kept) THEN 'new'
        WHEN EXISTS (SELECT FROM known WHERE NOT is_over) OR (SELECT is_there FROM room) THEN 'known'
        ELSE 'full' END, (SELECT taken_by FROM known);
