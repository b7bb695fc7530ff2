-- The reports of the agents.
-- In this folder: psql -f report_services.sql

SELECT service, instance, breaker, is_ready, in_flight, concurrency, reason,
    to_char(reported_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS reported_at,
    floor(extract(epoch FROM clock_timestamp() - reported_at) * 1000)::bigint AS age_ms, calls->>'failing_since' AS failing_since,
    calls#>>'{error,code}' AS error_code, calls#>>'{error,text}' AS error_text, calls#>>'{error,at}' AS error_at,
    calls->>'probe_at' AS probe_at
FROM service_state
ORDER BY service, instance
LIMIT 10000;
