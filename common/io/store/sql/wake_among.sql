-- The statement wake among the given orders.
-- In this folder: psql -f wake_among.sql, with the values of wake.sql.
\set taken `cat parts/only.sql`
\ir wake.sql
