-- The process that runs bulk actions, and the number of open ones.
-- In this folder: psql -f report_bulk_runner.sql

SELECT holder, epoch, to_char(seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS seen_at,
    CASE WHEN holder <> '' THEN floor(extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint END AS age_ms,
    (SELECT count(*) FROM bulk WHERE ended_at IS NULL) AS open_bulk
FROM bulk_runner;
