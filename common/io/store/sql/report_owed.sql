-- Owed statuses, and the queue that has taken nothing for the longest time. Beyond these numbers an exact one is of
-- no use. Reads the whole table reply_queue, up to a limit.
-- In this folder: psql -f report_owed.sql

SELECT o.number, o.oldest_ms, q.name AS queue,
    CASE WHEN isfinite(q.since) THEN floor(extract(epoch FROM clock_timestamp() - q.since) * 1000)::bigint
        ELSE 0 END AS queue_ms,
    q.number AS queues
FROM (
    SELECT count(*) AS number,
        CASE WHEN isfinite(min(at)) THEN floor(extract(epoch FROM clock_timestamp() - min(at)) * 1000)::bigint
            ELSE 0 END AS oldest_ms
    FROM (SELECT at FROM order_event WHERE owed ORDER BY owed_to, at LIMIT 100000) e
) o
LEFT JOIN (
    SELECT name, since, count(*) OVER () AS number FROM (SELECT * FROM reply_queue LIMIT 10000) n ORDER BY since, name LIMIT 1
) q ON true;
