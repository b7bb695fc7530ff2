-- An operator's change of a schedule in this version: its pause, or its next slots after one. The line that records the
-- operator is written with it. No row: it has another version, or there is no such schedule.
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
written AS (
    UPDATE schedule s
    SET is_paused = :'verb'::text = 'pause', upcoming = CASE :'verb'::text WHEN 'pause' THEN s.upcoming ELSE g.slots END,
        next_slot = CASE :'verb'::text WHEN 'pause' THEN s.next_slot ELSE g.slots[1] END,
        next_at = CASE :'verb'::text WHEN 'pause' THEN s.next_at ELSE g.next_at END, version = s.version + 1, by_whom = :'by'::text,
        reason = :'reason'::text, changed_at = clock_timestamp()
    FROM given g
    WHERE s.name = :'name'::text AND s.version = :'version'::bigint
    RETURNING s.version
),
noted AS (
    INSERT INTO operator_action (by_whom, verb, subject, reason, detail)
    SELECT :'by'::text, 'schedule ' || :'verb'::text, :'name'::text, :'reason'::text, json_build_object('version', version)
    FROM written
)
SELECT version FROM written;
