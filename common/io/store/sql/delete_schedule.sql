-- Deletes a schedule in this version, with the rows of its slots and its alert; its orders stay. Slots of orders that have not ended stay,
-- too: by these, a later schedule of the same name is held back. No row: it has another version, or there is no such schedule.
-- In this folder: psql -f delete_schedule.sql, with the values below.
\set name 'nightly'
\set version '1'
\set reason ''
\set by 'me'

WITH written AS (
    DELETE FROM schedule
    WHERE name = :'name'::text AND version = :'version'::bigint
    RETURNING version, definition
),
forgotten AS (
    DELETE FROM schedule_run r
    USING written
    WHERE r.name = :'name'::text AND NOT EXISTS (
            SELECT FROM order_process p
            WHERE p.order_id = r.order_id AND p.process_state NOT IN ('processed', 'compensated', 'cancelled')
        )
),
closed AS (
    UPDATE operator_alert a
    SET closed_at = clock_timestamp()
    FROM written
    WHERE a.code = 'schedule_missed' AND a.subject = :'name'::text AND a.closed_at IS NULL
),
noted AS (
    INSERT INTO operator_action (by_whom, verb, subject, reason, detail)
    SELECT :'by'::text, 'schedule delete', :'name'::text, :'reason'::text, json_build_object('version', version, 'definition', definition)
    FROM written
)
SELECT version FROM written;
