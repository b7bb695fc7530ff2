-- The statement ask_owed among the given orders.
-- In this folder: psql -f ask_owed_among.sql, with the values of ask_owed.sql.
\set taken `cat parts/only.sql`
\set oldest `cat parts/owed_among.sql`
\ir ask_owed.sql
