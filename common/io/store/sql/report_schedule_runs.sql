-- The ends of a schedule's slots, the newest first.
-- In this folder: psql -f report_schedule_runs.sql, with the values below.
\set name 'nightly'
\set limit '20'

SELECT to_char(r.slot AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS slot, r.what AS "end", r.order_id, p.process_state AS state,
    r.slots, r.text, r.by_whom, to_char(r.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
FROM schedule_run r
LEFT JOIN order_process p ON p.order_id = r.order_id
WHERE r.name = :'name'::text
ORDER BY r.slot DESC
LIMIT :'limit'::text::bigint;
