-- The statement ask_parked among the given orders.
-- In this folder: psql -f ask_parked_among.sql, with the values of ask_parked.sql.
\set taken `cat parts/only.sql`
\ir ask_parked.sql
