"""Table a: each statement of the store × each class of SQLSTATE, for one order and for all; states that no row may have."""

import random
import threading

import psycopg2

import statements
import wire
from engine import OTHER_SEED, Cell

# One code of each class that a server, a pooler or a trigger may give, and those of a class that are handled apart.
CODES = ("08006", "0A000", "21000", "22003", "22P05", "23514", "25006", "26000", "28000", "3D000", "3F000", "40001", "40P01", "42501",
         "42P01", "53100", "53200", "53300", "54000", "55P03", "57014", "57P01", "58030", "P0001", "P0002", "XX000", "XX001")
MOVERS = {"scheduler", "supervisor", "gateway"}  # their statements hold up orders
TABLE_S = 20.0  # of a locked table
ROUND = 12  # orders with a fault of their own, at once
STATES = (("order_step", "state", "running"), ("order_step", "state", "done"), ("order_process", "process_state", "processed"))
JUDGED_S = 12.0  # a scheduler that judges each order by its own words has done so by then
EACH = 2    # codes of each statement for all orders, in a run; the seed decides which


def fail_all(name, code):
    return lambda bench, _one: bench.wire.set({(name, ""): code})


def cells(bench, seed, is_every):
    """Needs learn.py before. Statements that no program has run by then are listed, not built."""
    dice, found = random.Random(seed), []
    for code in (*CODES, wire.HANG):
        found.append(Cell("a", "every statement", code, "all", begin=fail_all(wire.EVERY, code)))
    for name in sorted(statements.names()):
        programs = bench.wire.seen.get(name, set())
        mine = set(dice.sample(CODES, EACH))
        for code in CODES:
            cell = Cell("a", name, code, "one", rule=(name, code))
            if name in wire.SESSION:
                cell.reason = "a session begins with it, without an order"
            elif name not in bench.wire.of_orders:
                cell.reason = "no execution named an order" if programs else "no program ran it"
            elif not programs & MOVERS:
                cell.reason = "only tool or console run it, and no order waits for them"
            found.append(cell)
            cell = Cell("a", name, code, "all", begin=fail_all(name, code))
            if name in wire.SESSION:
                cell.reason = "a session begins with it; the row `every statement` has the session end"
            elif not programs & MOVERS:
                cell.reason = "only tool or console run it" if programs else "no program ran it"
            elif code not in mine and not is_every:
                cell.reason = OTHER_SEED
            found.append(cell)
    return found + locks() + [named(*state) for state in STATES]


def named(table, column, word):
    """A trigger refuses a state of all orders, and its words name the order: no statement fails as a whole, and no two texts are alike."""
    def begin(bench, _one):
        bench.rows("""CREATE OR REPLACE FUNCTION matrix_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                      RAISE EXCEPTION 'the matrix refuses order %', NEW.order_id; END $$""")
        bench.rows(f"""CREATE TRIGGER matrix_refuse BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW WHEN (NEW.{column} = '{word}')
                       EXECUTE FUNCTION matrix_refuse()""")

    def end(bench):
        bench.rows(f"DROP TRIGGER IF EXISTS matrix_refuse ON {table}")
    return Cell("a", table, f"{word}: P0001 names the row", "all", begin=begin, end=end, needs_telling=True, hold_s=JUDGED_S)


def locks():
    """Locks of another session, and a row that cannot be read: without the proxy."""
    held = []

    def lock(sql):
        def begin(bench, one):
            if "%s" in sql:
                bench.post(one)
                bench.wait(lambda: bench.states()[one] != "unknown", 10)
            session = psycopg2.connect(bench.servers.postgres.dsn)
            session.cursor().execute(sql, (one,) if "%s" in sql else None)
            held.append(session)
            if sql.startswith("LOCK TABLE"):  # the bench reads it, too
                threading.Timer(TABLE_S, release, (bench,)).start()
        return begin

    def release(_bench):
        while held:
            held.pop().close()

    def damage(bench, one):
        """The next step is not done yet: its agent stands still meanwhile."""
        bench.named("agent-payment").pause()
        bench.post(one)
        bench.wait(lambda: bench.states()[one] != "unknown", 10)
        bench.rows("UPDATE order_step SET complete_by = '-infinity' WHERE order_id = %s", one)
        bench.named("agent-payment").resume()

    def mend(bench):
        bench.rows("UPDATE order_step SET complete_by = now() WHERE complete_by = '-infinity'")

    return [
        Cell("a", "order_process", "row locked", "one", begin=lock("SELECT 1 FROM order_process WHERE order_id = %s FOR UPDATE"),
             end=release),
        Cell("a", "order_step", "rows locked", "one", begin=lock("SELECT 1 FROM order_step WHERE order_id = %s FOR UPDATE"), end=release),
        Cell("a", "order_process", "table locked", "all", begin=lock("LOCK TABLE order_process IN ACCESS EXCLUSIVE MODE"), end=release),
        Cell("a", "order_event", "table locked", "all", begin=lock("LOCK TABLE order_event IN ACCESS EXCLUSIVE MODE"), end=release),
        Cell("a", "orders", "table locked", "all", begin=lock("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE"), end=release, by_http=True,
             needs_telling=True, hold_s=TABLE_S),
        Cell("a", "order_step", "unreadable value", "one", begin=damage, end=mend),
    ]
