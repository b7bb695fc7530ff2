"""Table a: each statement of the store × each class of SQLSTATE, for one order and for all; states that no row may have."""

import threading

import psycopg2

import series
import statements
import wire
from engine import Cell

# One code of each class that a server, a pooler or a trigger may give, and those of a class that are handled apart.
CODES = ("08006", "0A000", "21000", "22003", "22P05", "23514", "25006", "26000", "28000", "3D000", "3F000", "40001", "40P01", "42501",
         "42P01", "53100", "53200", "53300", "54000", "55P03", "57014", "57P01", "58030", "P0001", "P0002", "XX000", "XX001")
MOVERS = {"scheduler", "supervisor", "gateway"}  # their statements hold up orders
# Statements that no run meets, each with the reason.
UNRUN = {
    "find_taken": "only a second scheduler takes a signal meanwhile, and a second one would hide that the first stalls",
    "find_overlaps": "only a second scheduler fires the slot meanwhile, and a second one would hide that the first stalls",
    "count_parked": "it comes when ten times as many steps are parked as a queue holds",
    "are_others_whole": "it comes after an order that lost a row; test_damaged.py has that stage",
    **dict.fromkeys(("wake", "wake_keys", "wake_among"), "it comes after the database's clock went back; test_clock.py has that stage"),
    "hasten_locks": "it comes with a command to an order whose rows are locked; test_locked.py has that stage",
    "report_versions": "only the stream of an open page of the console asks it; test_console.py has that stage",
    **dict.fromkeys(("set_aside", "delay_slot", "end_beats", "change_bulk"), "learn.py has no stage for it yet"),
    **dict.fromkeys(("ask_owed_keys", "ask_owed_among", "ask_parked_among", "put_service_states_keys", "put_service_states_among",
                     "write_alerts_freely_keys", "write_alerts_freely_among", "write_alerts_fenced_keys", "write_alerts_fenced_among"),
                    "it comes only while its statement is refused; learn.py does not always meet it"),
    "report_counts": "no program reads it",
    "refuse_signal": "it comes after a signal that its order refuses; test_kept_signals.py has that stage",
}
TABLE_S = 20.0  # of a locked table
ROUND = 12  # orders with a fault of their own, at once
STATES = (("order_step", "state", "running"), ("order_step", "state", "done"), ("order_process", "process_state", "processed"))
JUDGED_S = 12.0  # a scheduler that judges each order by its own words has done so by then


def fail_all(name, code):
    return lambda bench, _one: bench.wire.set({**series.partners(name), (name, ""): code})


def cells(bench, is_alone):
    """Needs learn.py before. A statement that no program has run by then is listed, not built. `is_alone`: the cells of a series, each alone."""
    found = [Cell("a", "every statement", code, "all", begin=fail_all(wire.EVERY, code)) for code in (*CODES, wire.HANG)]
    for name in sorted(statements.names()):
        programs = bench.wire.seen.get(name, set())
        if name in bench.asks and not programs & MOVERS:
            continue  # table g
        if not programs and name not in wire.SESSION and name not in UNRUN:
            found.append(Cell("a", name, "run at all", "-", begin=ask_for_stage))
            continue
        for code in CODES:
            found.append(Cell("a", name, code, "one", rule=(name, code), reason=reason_of_one(bench, name)))
            found.append(Cell("a", name, code, "all", begin=fail_all(name, code), rule=() if is_alone else (name, code),
                              reason=reason_of_all(bench, name)))
    return found + locks() + [named(*state) for state in STATES]


def ask_for_stage(_bench, _one):
    raise AssertionError("no program ran this statement: learn.py lacks what runs it, or UNRUN its reason")


def reason_of_all(bench, name):
    if name in wire.SESSION:
        return "a session begins with it; the row `every statement` has the session end"
    return "" if bench.wire.seen.get(name) else UNRUN.get(name, "")


def reason_of_one(bench, name):
    if name in wire.SESSION:
        return "a session begins with it, without an order"
    return reason_of_all(bench, name) or ("" if name in bench.wire.of_orders else "no execution names an order: it is of all orders, or of none")


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
