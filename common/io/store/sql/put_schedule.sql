-- A schedule's definition under its next version, and the line that records the operator. Version 0: there is none yet.
-- No row: another version is there, or as many schedules as there may be.
-- In this folder: psql -f put_schedule.sql, with the values below.
\set name 'nightly'
\set workflow 'settle'
\set zone 'UTC'
\set definition '{}'
\set upcoming '1774834200000'
\set next_at '1774834200000'
\set version '0'
\set reason ''
\set by 'me'
\set schedules_max 1000

WITH given AS MATERIALIZED (
    SELECT ARRAY(
            SELECT 'epoch'::timestamptz + t.ms::bigint * interval '1 millisecond'
            FROM unnest(string_to_array(:'upcoming'::text, ' ')) WITH ORDINALITY AS t(ms, n)
            ORDER BY t.n
        ) AS slots, 'epoch'::timestamptz + nullif(:'next_at'::bigint, 0) * interval '1 millisecond' AS next_at
),
written AS (
    INSERT INTO schedule AS s (name, workflow, zone, definition, upcoming, next_slot, next_at, version, by_whom, reason)
    SELECT :'name'::text, :'workflow'::text, :'zone'::text, :'definition'::text, g.slots, g.slots[1], g.next_at, 1, :'by'::text, :'reason'::text
    FROM given g
    WHERE :'version'::bigint > 0 OR (SELECT count(*) FROM schedule) < :schedules_max
    ON CONFLICT (name) DO UPDATE
    SET workflow = excluded.workflow, zone = excluded.zone, definition = excluded.definition, upcoming = excluded.upcoming,
        next_slot = excluded.next_slot, next_at = excluded.next_at, version = s.version + 1, by_whom = excluded.by_whom,
        reason = excluded.reason, changed_at = clock_timestamp()
    WHERE s.version = :'version'::bigint
    RETURNING version
),
noted AS (
    INSERT INTO operator_action (by_whom, verb, subject, reason, detail)
    SELECT :'by'::text, 'schedule load', :'name'::text, :'reason'::text, json_build_object('version', version)
    FROM written
)
SELECT version FROM written;
