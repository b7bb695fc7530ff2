-- The calls of a service in each minute of the last hour, the present minute last. Without a service: those of all.
-- In this folder: psql -f report_service_minutes.sql, with the values below.
\set service ''

SELECT s.service, json_agg(coalesce(m.counts[1], 0) ORDER BY t.minute) AS calls,
    json_agg(coalesce(m.counts[2], 0) ORDER BY t.minute) AS failed,
    json_agg(coalesce(m.counts[18], 0) ORDER BY t.minute) AS refused,
    json_agg(m.p95_ms ORDER BY t.minute) AS p95_ms
FROM (
    SELECT DISTINCT subject AS service
    FROM minute_count
    WHERE subject <> '' AND (:'service'::text = '' OR subject = :'service'::text)
) s
CROSS JOIN (
    SELECT date_trunc('minute', c.now) - n * interval '1 minute' AS minute
    FROM (SELECT clock_timestamp() AS now OFFSET 0) c, generate_series(0, 59) AS n
) t
LEFT JOIN minute_count m ON m.subject = s.service AND m.minute = t.minute
GROUP BY s.service
ORDER BY s.service
LIMIT 1000;
