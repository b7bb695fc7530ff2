-- The settings of each service, a row for each agent with a fresh report. After a change of the clock no report is
-- fresh for a while; the agents of those services still get the settings.
-- In this folder: psql -f report_control.sql
\set agents_max 256

SELECT service, coalesce(c.version, 0) AS version,
    coalesce((c.is_paused AND (c.paused_until IS NULL OR c.paused_until > clock_timestamp())), false) AS is_paused,
    coalesce(c.concurrency, 0) AS concurrency, coalesce(c.rate_per_s, 0) AS rate_per_s, coalesce(s.instance, '') AS instance,
    coalesce(s.breaker, '') AS breaker, coalesce(s.is_ready, false) AS is_ready, coalesce(s.process, 0) AS process,
    coalesce(s.is_prober, false) AS is_prober, coalesce(s.in_flight > 0, false) AS is_calling,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms
FROM service_control c
-- An agent silent for twice the period of its reports has no share in a limit. A report from the future was written
-- before the clock went back.
FULL JOIN (SELECT DISTINCT service FROM service_state) k USING (service)
-- A limit of agents for each service, and none for all together: no service's agents deprive another's of their
-- settings.
LEFT JOIN (
    SELECT *
    FROM (
        SELECT service, instance, breaker, is_ready, process, is_prober, in_flight,
            row_number() OVER (PARTITION BY service ORDER BY instance COLLATE "C") AS nth
        FROM service_state
        WHERE reported_at BETWEEN clock_timestamp() - interval '10 seconds' AND clock_timestamp() + interval '10 seconds'
    ) fresh
    WHERE nth <= :agents_max
) s USING (service)
ORDER BY service, s.instance COLLATE "C";
