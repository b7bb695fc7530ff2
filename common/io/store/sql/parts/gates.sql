-- The known services, each with its gate as a value of enum mg_reason. An operator's pause outweighs the agents'
-- reports. A breaker open at all agents outweighs unreadiness, since agents with an open breaker may report both. If
-- no ready agent has reported the service well, the gate is open for a probe. Two walks along primary keys: for a
-- union of both tables, without sequential scans, PostgreSQL starts parallel workers at each load. A report expires
-- after 15 seconds (MG_SERVICE_REPORT_VALID_MS).
(
    SELECT service,
        CASE WHEN p.is_paused THEN 'service_paused'
            WHEN a.is_open THEN 'breaker_open'
            WHEN a.is_ready THEN 'none'
            ELSE 'service_paused' END AS gate,
        coalesce(a.is_ready AND NOT a.is_well AND p.is_paused IS NULL, false) AS is_probing
    FROM (
        SELECT service, bool_and(breaker = 'open') AS is_open, bool_or(is_ready AND breaker <> 'open') AS is_ready,
            bool_or(is_ready AND breaker = 'closed') AS is_well
        FROM service_state
        WHERE reported_at > clock_timestamp() - interval '15 seconds'
        GROUP BY service
    ) a
    FULL JOIN (
        SELECT service, is_paused
        FROM service_control
        WHERE is_paused AND (paused_until IS NULL OR paused_until > clock_timestamp())
    ) p USING (service)
)
