-- A slot that waits for an earlier order of its schedule: it is asked about again after a while. It stays the next one.
-- In this folder: psql -f delay_slot.sql, with the values below.
\set name 'nightly'
\set slot '1774747800000'
\set version '1'
\set delay_ms '5000'

UPDATE schedule
SET next_at = clock_timestamp() + :'delay_ms'::bigint * interval '1 millisecond'
WHERE name = :'name'::text AND version = :'version'::bigint
    AND next_slot = 'epoch'::timestamptz + :'slot'::bigint * interval '1 millisecond';
