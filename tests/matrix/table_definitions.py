"""Table f: each index and each table × a change of its definition by somebody else, while orders run."""

import threading
import time

import psycopg2

from engine import Cell

EXPIRED_S = 17.0  # agents' reports are valid for 15 s: those that come later need the index
HOLD_S = 20.0  # of a lock, as of a maintenance that builds something anew
INDEXES = """SELECT i.indexrelid::regclass::text, i.indrelid::regclass::text, pg_get_indexdef(i.indexrelid), c.conname, c.oid
             FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x')
             WHERE i.indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r')
             ORDER BY 1"""
# A constraint, and the foreign keys that need it.
CONSTRAINTS = """SELECT c.conrelid::regclass::text, c.conname, pg_get_constraintdef(c.oid) FROM pg_constraint c
                 WHERE c.oid = %s OR c.contype = 'f' AND c.conindid = (SELECT conindid FROM pg_constraint WHERE oid = %s)
                 ORDER BY c.contype DESC"""
TABLES = "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY 1"


def dropped(index, table, definition, constraint, oid):
    """begin and end: an index goes by its constraint, and the foreign keys to it with it; they come back in reverse."""
    again = []

    def begin(bench, _one):
        if constraint is None:
            again.append(definition)
            bench.rows(f"DROP INDEX {index}")
        else:
            again.extend(f"ALTER TABLE {on} ADD CONSTRAINT {name} {text}" for on, name, text in bench.rows(CONSTRAINTS, oid, oid))
            bench.rows(f"ALTER TABLE {table} DROP CONSTRAINT {constraint} CASCADE")
        until = time.monotonic() + EXPIRED_S
        bench.wait(lambda: time.monotonic() >= until, EXPIRED_S + 1)

    def end(bench):
        while again:
            bench.rows(again[0])
            again.pop(0)
    return begin, end


def locked(table):
    """As ALTER TABLE holds it, in an open transaction. The bench reads some of these tables, so the lock ends by itself."""
    held = []

    def release():
        while held:
            held.pop().close()

    def begin(bench, _one):
        session = psycopg2.connect(bench.servers.postgres.dsn)
        held.append(session)
        session.cursor().execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        threading.Timer(HOLD_S, release).start()
    return begin, lambda _bench: release()


def cells(bench):
    found = []
    for index, table, definition, constraint, oid in bench.rows(INDEXES):
        begin, end = dropped(index, table, definition, constraint, oid)
        found.append(Cell("f", index, "dropped", "all", begin=begin, end=end))
    for table, in bench.rows(TABLES):
        begin, end = locked(table)
        found.append(Cell("f", table, "table locked", "all", begin=begin, end=end, hold_s=HOLD_S))
    return found
