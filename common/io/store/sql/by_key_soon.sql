-- The same for marks, which wait in the session of the commits: a row that stays locked shall not hold them up.
-- In this folder: psql -f by_key_soon.sql

SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
    set_config('lock_timeout', '250ms', true);
