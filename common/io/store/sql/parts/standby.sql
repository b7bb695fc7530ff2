-- Commits wait for a synchronous standby; NULL: they do not. `s` has the names of the standbys. Each role may read the
-- names of the connected ones, and the waits of its own sessions. The states of standbys are for others (PostgreSQL 15,
-- 28.2.4).
CASE
    WHEN s.names <> '' AND current_setting('synchronous_commit') IN ('on', 'remote_write', 'remote_apply')
        AND (
            NOT EXISTS (
                SELECT
                FROM pg_stat_replication
                WHERE position('*' IN s.names) > 0 OR position(lower(application_name) IN lower(s.names)) > 0
            )
            OR EXISTS (
                SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query_start < clock_timestamp() - interval '3 s'
            )
        )
    THEN 'commits wait for a synchronous standby: bring one of ' || left(s.names, 60)
        || ' back, or take it out of synchronous_standby_names' END
