-- The server's own counter of stored orders: one number for a table of any size. It includes payloads that operators
-- repaired.
-- In this folder: psql -f report_accepted.sql

SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS now,
    pg_stat_get_tuples_inserted(to_regclass('orders')) AS accepted;
