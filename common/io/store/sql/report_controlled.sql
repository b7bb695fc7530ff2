-- Each service with its settings and its agents as one row. A service without agents and settings is there if the
-- newest version of a workflow names it. A step that waits names none.
-- In this folder: psql -f report_controlled.sql

WITH seen AS (
        SELECT service, count(*) AS agents, bool_and(breaker <> 'closed') AS is_open, bool_or(is_ready) AS is_ready,
            sum(in_flight) AS in_flight, sum(concurrency) AS capacity,
            count(*) FILTER (WHERE breaker <> 'closed') AS breakers_open, array_agg(control_version) AS versions
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
    coalesce(s.agents, 0) AS agents,
    (SELECT count(*) FROM unnest(s.versions) AS v WHERE v >= coalesce(c.version, 0)) AS obeying,
    coalesce(s.in_flight, 0) AS in_flight, coalesce(s.capacity, 0) AS capacity, coalesce(s.breakers_open, 0) AS breakers_open,
    c.concurrency, c.rate_per_s, to_char(c.paused_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS paused_until,
    coalesce(c.version, 0) AS version, c.by_whom, c.reason,
    to_char(c.set_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS set_at, u.service IS NOT NULL AS is_used
FROM (
    SELECT service, (c.is_paused AND (c.paused_until IS NULL OR c.paused_until > clock_timestamp())) AS is_paused, concurrency,
        rate_per_s, paused_until, version, by_whom, reason, set_at
    FROM service_control c
) c
FULL JOIN seen s USING (service)
FULL JOIN (
    SELECT DISTINCT step->>'service' AS service
    FROM (SELECT name, max(version) AS version FROM workflow GROUP BY name) v
    JOIN workflow w USING (name, version), makegood_elements(makegood_json(w.definition), 'steps') AS step
    WHERE step->>'service' IS NOT NULL
) u USING (service)
ORDER BY service
LIMIT 10000;
