-- Each service with its settings, its agents and its calls of the last one to two minutes as one row. A service without
-- agents and settings is there if the newest version of a workflow names it. A step that waits names none. Steps that
-- are parked for it are counted through an index, up to a limit.
-- A service is slow if 95 of 100 calls take up to a second or more, and four times what is usual: the middle one of its
-- minutes of the last hour, without the last five. Of fewer than five minutes nothing is usual. `slow_since` is the first
-- of the slow minutes since the last quick one.
-- In this folder: psql -f report_controlled.sql

WITH seen AS (
        SELECT service, count(*) AS agents, bool_and(breaker <> 'closed') AS is_open, bool_or(is_ready) AS is_ready,
            sum(in_flight) AS in_flight, sum(concurrency) AS capacity,
            count(*) FILTER (WHERE breaker <> 'closed') AS breakers_open, array_agg(control_version) AS versions,
            CASE
                WHEN bool_and(breaker <> 'closed')
                    OR NOT bool_or((calls->>'count')::bigint > 0 AND calls->>'failing_since' IS NULL)
                THEN min((calls->>'failing_since')::timestamptz)
            END AS failing_since,
            min((calls->>'probe_at')::timestamptz) AS probe_at,
            (
                array_agg(calls->'error' ORDER BY (calls#>>'{error,at}')::timestamptz DESC)
                    FILTER (WHERE calls->'error' IS NOT NULL)
            )[1] AS error
        FROM service_state
        WHERE reported_at BETWEEN clock_timestamp() - interval '10 seconds' AND clock_timestamp() + interval '10 seconds'
        GROUP BY service
    )
SELECT service,
    CASE WHEN c.is_paused THEN 'paused'
        WHEN s.agents IS NULL AND u.service IS NULL THEN 'not used'
        WHEN s.agents IS NULL THEN 'no agent'
        WHEN s.is_open THEN 'breaker open'
        WHEN s.is_ready THEN 'serving'
        ELSE 'not ready' END AS state,
    to_char(t.since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS since,
    floor(extract(epoch FROM clock_timestamp() - t.since) * 1000)::bigint AS since_ms,
    round((m.counts[1] / m.seconds)::numeric, 1)::double precision AS calls_per_s, makegood_call_ms(m.counts, 0.5) AS p50_ms,
    makegood_call_ms(m.counts, 0.95) AS p95_ms,
    h.usual_ms, CASE WHEN makegood_call_ms(m.counts, 0.95) >= h.slow_ms
        THEN to_char(l.slow_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END AS slow_since,
    round(100.0 * m.counts[2] / nullif(m.counts[1], 0), 1)::double precision AS failed_percent,
    round(100.0 * m.counts[18] / nullif(m.counts[1], 0), 1)::double precision AS refused_percent, s.error->>'code' AS error_code,
    s.error->>'text' AS error_text, s.error->>'at' AS error_at,
    to_char(s.probe_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS probe_at, w.waiting,
    coalesce(s.agents, 0) AS agents,
    (SELECT count(*) FROM unnest(s.versions) AS v WHERE v >= coalesce(c.version, 0)) AS obeying,
    coalesce(s.in_flight, 0) AS in_flight, coalesce(s.capacity, 0) AS capacity, coalesce(s.breakers_open, 0) AS breakers_open,
    c.concurrency, c.rate_per_s, to_char(c.paused_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS paused_until,
    coalesce(c.version, 0) AS version, c.by_whom, c.reason,
    to_char(c.set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS set_at, u.service IS NOT NULL AS is_used
FROM (
    -- Of a pause that is over nothing is left, unless its row has a limit.
    SELECT service, c.is_paused AND NOT o.is_over AS is_paused, concurrency, rate_per_s,
        CASE WHEN NOT o.is_over THEN paused_until END AS paused_until, version, CASE WHEN o.is_told THEN by_whom END AS by_whom,
        CASE WHEN o.is_told THEN reason END AS reason, set_at
    FROM service_control c
    CROSS JOIN LATERAL (SELECT c.is_paused AND coalesce(c.paused_until <= clock_timestamp(), false) AS is_over) p
    CROSS JOIN LATERAL (SELECT p.is_over, NOT p.is_over OR concurrency IS NOT NULL OR rate_per_s IS NOT NULL AS is_told) o
) c
FULL JOIN seen s USING (service)
FULL JOIN (
    SELECT DISTINCT step->>'service' AS service
    FROM (SELECT name, max(version) AS version FROM workflow GROUP BY name) v
    JOIN workflow w USING (name, version), makegood_elements(makegood_json(w.definition), 'steps') AS step
    WHERE step->>'service' IS NOT NULL
) u USING (service)
CROSS JOIN LATERAL (SELECT coalesce(CASE WHEN c.is_paused THEN c.set_at END, s.failing_since) AS since) t
CROSS JOIN LATERAL (
    SELECT count(*) AS waiting
    FROM (
        SELECT
        FROM order_step p
        WHERE p.service = coalesce(c.service, s.service, u.service) AND p.parked_high IS NOT NULL
        LIMIT 10000
    ) parked
) w
LEFT JOIN LATERAL (
    SELECT array_agg(n.count ORDER BY n.n) AS counts,
        extract(epoch FROM clock_timestamp() - date_trunc('minute', clock_timestamp()) + interval '1 minute') AS seconds
    FROM (
        SELECT e.n, sum(e.count)::bigint AS count
        FROM minute_count k, unnest(k.counts) WITH ORDINALITY AS e (count, n)
        WHERE k.subject = coalesce(c.service, s.service, u.service) AND k.minute >= date_trunc('minute', clock_timestamp()) - interval '1 minute'
        GROUP BY e.n
    ) n
) m ON true
LEFT JOIN LATERAL (
    SELECT n.usual_ms, greatest(4 * n.usual_ms, 1000) AS slow_ms
    FROM (
        SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY k.p95_ms) AS usual_ms
        FROM minute_count k
        WHERE k.subject = coalesce(c.service, s.service, u.service) AND k.p95_ms IS NOT NULL
            AND k.minute < date_trunc('minute', clock_timestamp()) - interval '4 minutes'
        HAVING count(*) >= 5
    ) n
) h ON true
LEFT JOIN LATERAL (
    SELECT min(k.minute) AS slow_since
    FROM minute_count k
    WHERE k.subject = coalesce(c.service, s.service, u.service) AND k.p95_ms >= h.slow_ms
        AND NOT EXISTS (
            SELECT FROM minute_count q WHERE q.subject = k.subject AND q.minute > k.minute AND q.p95_ms < h.slow_ms
        )
) l ON true
ORDER BY service
LIMIT 10000;
