-- Faults of schedules: workflows that are not loaded, slots that are late, alerts about slots without an order; of each the
-- number and the first name. And a workflow whose newest version gives services an address for callbacks.
-- In this folder: psql -f report_schedule_health.sql

SELECT count(*) AS schedules, count(*) FILTER (WHERE s.is_paused) AS paused, min(s.name) FILTER (WHERE s.is_paused) AS paused_name,
    count(*) FILTER (WHERE s.is_unloaded) AS unloaded, min(s.name) FILTER (WHERE s.is_unloaded) AS unloaded_name,
    min(s.workflow) FILTER (WHERE s.is_unloaded) AS unloaded_workflow,
    count(*) FILTER (WHERE s.is_late) AS late, min(s.name) FILTER (WHERE s.is_late) AS late_name,
    count(*) FILTER (WHERE s.is_missed) AS missed, min(s.name) FILTER (WHERE s.is_missed) AS missed_name,
    (
        SELECT min(w.name)
        FROM (SELECT DISTINCT ON (name) name, definition FROM workflow ORDER BY name, version DESC) w
        WHERE position('/callback_url' IN w.definition) > 0
    ) AS callback_workflow
FROM (
    SELECT s.name, s.workflow, s.is_paused, NOT EXISTS (SELECT FROM workflow w WHERE w.name = s.workflow) AS is_unloaded,
        NOT s.is_paused AND s.next_at < clock_timestamp() - interval '1 minute' AS is_late,
        EXISTS (
            SELECT FROM operator_alert a WHERE a.code = 'schedule_missed' AND a.subject = s.name AND a.closed_at IS NULL
        ) AS is_missed
    FROM schedule s
) s;
