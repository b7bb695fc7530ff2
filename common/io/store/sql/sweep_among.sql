-- The statement sweep among the given orders.
-- In this folder: psql -f sweep_among.sql, with the values of sweep.sql.
\set taken `cat parts/only.sql`
\ir sweep.sql
