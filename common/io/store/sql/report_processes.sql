-- Processes, and agents that report no more although a scheduler takes reports. A process that was not seen for a
-- while is replaced by each of its kind that began since then. If any began about then or later, and still fewer live
-- than before, it is a matter of minutes, too. An agent's heartbeat is its report, which a scheduler stores; the last
-- report of one that ends as asked has the reason 'stopping'.
-- In this folder: psql -f report_processes.sql

WITH c AS MATERIALIZED (SELECT clock_timestamp() AS now),
    seen AS MATERIALIZED (
        SELECT kind, kind AS peers, instance, started_at, seen_at, in_hand, stands_since, oldest_order, reason
        FROM process_state
        UNION ALL
        SELECT 'agent', 'agent ' || service, service || '/' || instance, timestamptz 'epoch' + process * interval '1 ms',
            reported_at, in_flight, NULL, '', reason
        FROM service_state, c
        WHERE reason <> 'stopping' AND reported_at > c.now - interval '1 day'
            AND EXISTS (
                SELECT
                FROM process_state s
                WHERE s.kind = 'scheduler' AND s.seen_at > c.now - interval '10 s' AND s.started_at < c.now - interval '10 s'
                    AND s.stands_since IS NULL
            )
    )
SELECT p.kind, p.instance, to_char(p.seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS seen_at,
    floor(extract(epoch FROM c.now - p.seen_at) * 1000)::bigint AS age_ms, p.in_hand,
    to_char(p.stands_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS stands_since,
    floor(extract(epoch FROM c.now - p.stands_since) * 1000)::bigint AS stands_ms, p.oldest_order, p.reason
FROM c
CROSS JOIN seen p
WHERE CASE
    WHEN p.seen_at > c.now - interval '10 s' THEN p.kind <> 'agent'
    ELSE (SELECT count(*) FROM seen o WHERE o.peers = p.peers AND o.started_at > p.seen_at) < (
        SELECT count(*) FROM seen o WHERE o.peers = p.peers AND o.seen_at >= p.seen_at AND o.seen_at <= c.now - interval '10 s'
    )
        AND (
            p.seen_at > c.now - interval '5 minutes'
            OR NOT EXISTS (
                SELECT
                FROM seen o
                WHERE o.peers = p.peers AND o.seen_at > c.now - interval '10 s'
                    AND o.started_at > p.seen_at - interval '5 minutes'
            )
        ) END
ORDER BY p.kind, p.instance
LIMIT 10000;
