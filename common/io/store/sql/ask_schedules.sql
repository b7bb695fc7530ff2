-- The schedules with slots that are due, or come next, the earliest first.
-- In this folder: psql -f ask_schedules.sql, with the values below.
\set epoch '1'
\set holder 'me'
\set most '100'

SELECT EXISTS (
        SELECT FROM supervisor_leader WHERE name = 'supervisor' AND epoch = :'epoch'::bigint AND holder = :'holder'::text
    ) AS is_leader, floor(extract(epoch FROM k.now) * 1000)::bigint AS now, s.name,
    floor(extract(epoch FROM s.next_slot) * 1000)::bigint AS next_slot, floor(extract(epoch FROM s.next_at) * 1000)::bigint AS next_at
FROM (SELECT clock_timestamp() AS now) k
LEFT JOIN (
    SELECT name, next_slot, next_at
    FROM schedule
    WHERE NOT is_paused AND next_at IS NOT NULL
    ORDER BY next_at, name
    LIMIT :'most'::bigint
) s ON true
ORDER BY s.next_at, s.name;
