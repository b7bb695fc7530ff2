"""Slow sweeps, by a function clock_timestamp() in front of PostgreSQL's own, for new sessions of a database. It is slow only when a
sweep calls it; no other statement takes longer.
"""

CLOCK = """
    CREATE SCHEMA IF NOT EXISTS slow;
    CREATE TABLE IF NOT EXISTS slow.lag (seconds double precision NOT NULL);
    CREATE OR REPLACE FUNCTION slow.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
        IF current_query() LIKE '%open_step AS MATERIALIZED%' THEN
            PERFORM pg_sleep(seconds) FROM slow.lag;
        END IF;
        RETURN pg_catalog.clock_timestamp();
    END $$;
    GRANT USAGE ON SCHEMA slow TO PUBLIC;
    GRANT SELECT ON slow.lag TO PUBLIC"""


def begin(postgres, database, seconds):
    """Supervisors must begin new sessions, since a prepared statement keeps the clock that it found."""
    postgres.psql(CLOCK, database)
    postgres.psql(f"DELETE FROM slow.lag; INSERT INTO slow.lag VALUES ({seconds:g})", database)
    postgres.psql(f'ALTER DATABASE "{database}" SET search_path = slow, public, pg_catalog', database)
    postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'makegood-supervisor' "
                  "AND datname = current_database()", database)


def end(postgres, database):
    """A session that found the slow clock keeps it, but from now on it is quick."""
    if postgres.psql("SELECT to_regclass('slow.lag') IS NOT NULL", database) == [["t"]]:
        postgres.psql("DELETE FROM slow.lag", database)
    postgres.psql(f'ALTER DATABASE "{database}" RESET search_path', database)
