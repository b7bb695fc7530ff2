-- The orders that were accepted, that ended, and that came into state error in each minute of the last hour, the present
-- minute last. One row.
-- In this folder: psql -f report_order_minutes.sql

SELECT json_agg(coalesce(m.counts[1], 0) ORDER BY t.minute) AS accepted,
    json_agg(coalesce(m.counts[2], 0) ORDER BY t.minute) AS ended,
    json_agg(coalesce(m.counts[3], 0) ORDER BY t.minute) AS failed
FROM (
    SELECT date_trunc('minute', c.now) - n * interval '1 minute' AS minute
    FROM (SELECT clock_timestamp() AS now OFFSET 0) c, generate_series(0, 59) AS n
) t
LEFT JOIN minute_count m ON m.subject = '' AND m.minute = t.minute;
