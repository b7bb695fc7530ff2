-- An operator's change of a schedule in this version: its pause, or its next slots after one. The line that records the
-- operator is written with it. A slot that a pause leaves out, because its order was not made yet, is recorded as missed. No row:
-- it has another version, or there is no such schedule.
-- In this folder: psql -f change_schedule.sql, with the values below.
\set name 'nightly'
\set verb 'pause'
\set upcoming '1774834200000'
\set next_at '1774834200000'
\set version '1'
\set reason ''
\set by 'me'

WITH given AS MATERIALIZED (
    SELECT ARRAY(
            SELECT 'epoch'::timestamptz + t.ms::bigint * interval '1 millisecond'
            FROM unnest(string_to_array(:'upcoming'::text, ' ')) WITH ORDINALITY AS t(ms, n)
            ORDER BY t.n
        ) AS slots, 'epoch'::timestamptz + nullif(:'next_at'::bigint, 0) * interval '1 millisecond' AS next_at
),
left_out AS MATERIALIZED (
    SELECT s.name, s.next_slot AS slot
    FROM schedule s
    WHERE :'verb'::text = 'pause' AND s.name = :'name'::text AND NOT s.is_paused AND s.next_slot <= clock_timestamp()
),
written AS (
    UPDATE schedule s
    SET is_paused = :'verb'::text = 'pause', upcoming = CASE :'verb'::text WHEN 'pause' THEN s.upcoming ELSE g.slots END,
        next_slot = CASE :'verb'::text WHEN 'pause' THEN s.next_slot ELSE g.slots[1] END,
        next_at = CASE :'verb'::text WHEN 'pause' THEN s.next_at ELSE g.next_at END, version = s.version + 1, by_whom = :'by'::text,
        skipped = s.skipped + (SELECT count(*) FROM left_out),
        reason = :'reason'::text, changed_at = clock_timestamp()
    FROM given g
    WHERE s.name = :'name'::text AND s.version = :'version'::bigint
    RETURNING s.version
),
recorded AS (
    INSERT INTO schedule_run AS r (name, slot, what, slots, text, by_whom)
    SELECT l.name, l.slot, 'missed', 1, 'the schedule was paused before its order was made', :'by'::text
    FROM left_out l
    WHERE EXISTS (SELECT FROM written)
    ON CONFLICT (name, slot) DO NOTHING
),
-- An operator has seen to the schedule.
closed AS (
    UPDATE operator_alert a
    SET closed_at = clock_timestamp()
    FROM written
    WHERE a.code = 'schedule_missed' AND a.subject = :'name'::text AND a.closed_at IS NULL
),
noted AS (
    INSERT INTO operator_action (by_whom, verb, subject, reason, detail)
    SELECT :'by'::text, 'schedule ' || :'verb'::text, :'name'::text, :'reason'::text, json_build_object('version', version)
    FROM written
)
SELECT version FROM written;
