-- The times of retention, and the days of the archive.
-- In this folder: psql -f report_retention.sql

SELECT justify_hours(r.hot) AS hot, (extract(epoch FROM r.hot) * 1000)::bigint AS hot_ms, justify_hours(r.keep) AS keep,
    (extract(epoch FROM r.keep) * 1000)::bigint AS keep_ms, r.by_whom, r.reason,
    to_char(r.set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS set_at, d.ahead, d.oldest_day
FROM retention r,
    (
        SELECT count(*) FILTER (WHERE day >= (clock_timestamp() AT TIME ZONE 'UTC')::date) AS ahead, min(day) AS oldest_day
        FROM (
            SELECT c.relname AS name, to_date(right(c.relname, 8), 'YYYYMMDD') AS day, i.inhrelid IS NULL AS is_detached,
                coalesce(i.inhdetachpending, false) AS is_pending,
                coalesce(obj_description(c.oid, 'pg_class') = 'makegood db retain drops this', false) AS is_marked
            FROM pg_class c
            LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname ~ '^order_archive_[0-9]{8}$'
        ) days
    ) d
WHERE r.name = 'orders';
