-- Statistics do not show owed statuses, which come and go. A plan by statistics might read all of them.
-- In this folder: psql -f by_key.sql

SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
