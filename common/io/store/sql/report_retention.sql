-- The times of retention, and the days of the archive.
-- In this folder: psql -f report_retention.sql
\set archive_days `cat parts/archive_days.sql`

SELECT justify_hours(r.hot) AS hot, (extract(epoch FROM r.hot) * 1000)::bigint AS hot_ms, justify_hours(r.keep) AS keep,
    (extract(epoch FROM r.keep) * 1000)::bigint AS keep_ms, r.by_whom, r.reason,
    to_char(r.set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS set_at, d.ahead, d.oldest_day
FROM retention r,
    (
        SELECT count(*) FILTER (WHERE day >= (clock_timestamp() AT TIME ZONE 'UTC')::date) AS ahead, min(day) AS oldest_day
        FROM (:archive_days) days
    ) d
WHERE r.name = 'orders';
