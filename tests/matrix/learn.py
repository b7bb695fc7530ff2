"""Has each program run its statements once before the cells begin, so that the proxy has the programs of each."""

import psycopg2

from bench import GONE, REASON, SCHEDULES
import readers

OWED_S = 15.0      # until a supervisor asks for owed statuses
DUE_S = 10.0        # until a request is due, and the sweep has come
RETIRED_S = 30.0    # the leader looks for ended orders now and then
LOCKED_S = 4.0     # longer than a lock is waited for
REFUSED = "P0001"  # as a trigger of others: it is no mistake of the caller, and no fault of all
PARTS = ("put_service_states", "write_alerts_freely", "write_alerts_fenced", "ask_owed", "ask_parked", "sweep")
OWN = {"beat", "probe_memory", "probe_room"}  # of each process, without a question
PROGRAMS = {"tool": "makegood", "console": "console", "gateway": "gateway"}


def learn(bench):
    archive(bench)
    orders(bench)
    bulks(bench)
    ask_all(bench)
    through_locks(bench)
    in_parts(bench)
    bench.wait(lambda: bench.wire.seen["ask_owed"] and bench.wire.seen["load_owed_order"], OWED_S)
    bench.settle()


def orders(bench):
    """Of each kind: of a client of the gateway, with statuses that are owed, of a line with a signal, of a schedule; one that is posted
    twice, and two that stay open, since their signal never comes."""
    bench.by_http = True
    bench.readable = [bench.post() for _ in range(2)]
    bench.open_orders = [bench.post_lined(bench.new_id(), f"line-{number}", has_signal=False) for number in range(2)]
    confirm(bench)
    bench.by_http = False
    ids = [*bench.readable, *(bench.post() for _ in range(4)), bench.post(reply_to=GONE), *bench.post_pair()]
    bench.make_due(SCHEDULES[0])
    assert bench.wait_ended(ids, 30), bench.states()
    bench.post(ids[3])  # its statuses are looked for
    assert bench.wait(lambda: set(map(bench.states().get, bench.open_orders)) == {"processing"}, 30), bench.states()
    for order_id in bench.open_orders:
        del bench.orders[order_id]


def confirm(bench):
    """Posts again what got no answer in time."""
    def is_confirmed():
        missing = set(bench.orders) - bench.confirmed
        for order_id in missing:
            bench.post(order_id)
        return not missing
    assert bench.wait(is_confirmed, 30), "the gateway confirms no orders"


def archive(bench):
    """Two orders have left the tables; an operator cannot set so short a time for it."""
    bench.by_http = True  # the gateway answers for orders of its own clients
    retention = ("db", "vacuum-policy", "--hot", "30d", "--keep", "365d", *REASON)
    bench.archived = [bench.post() for _ in range(2)]
    confirm(bench)
    assert bench.wait_ended(bench.archived, 30), bench.states()
    bench.cluster.tool(*retention)
    bench.cluster.tool("db", "retain")
    bench.rows("ALTER TABLE retention DROP CONSTRAINT IF EXISTS retention_hot; UPDATE retention SET hot = '1s'")
    assert bench.wait(lambda: len(bench.rows("SELECT 1 FROM order_archive WHERE order_id = ANY(%s)", bench.archived)) == 2, RETIRED_S)
    bench.cluster.tool(*retention)
    bench.rows("ALTER TABLE retention ADD CONSTRAINT retention_hot CHECK (hot >= interval '1 day')")
    bench.orders, bench.by_http = {}, False


def bulks(bench):
    """Two bulk actions over orders in error; the console drives them."""
    failed = [bench.post_failing() for _ in range(4)]
    in_error = "SELECT 1 FROM order_process WHERE order_id = ANY(%s) AND process_state = 'error'"
    assert bench.wait(lambda: len(bench.rows(in_error, failed)) == len(failed), 30), "no orders in error"
    for verb in ("resume", "compensate"):
        bench.cluster.tool("bulk", "start", verb, "--all", *REASON)
        bench.wait(lambda: not bench.rows("SELECT 1 FROM bulk WHERE ended_at IS NULL"), 30)


def asked(bench, each, one):
    """The answer to a question; the console refuses some of those above twenty a second (429), which are asked again."""
    answers = [each.ask(bench, one)]

    def is_taken():
        if answers[-1].text.startswith("429: "):
            answers.append(each.ask(bench, one))
            return False
        return True

    bench.wait(is_taken, 10)
    return answers[-1]


def ask_all(bench):
    """Which statements of its own each question runs, and whether its subject is in a parameter."""
    bench.cookie = readers.sign_in(bench)
    for each in readers.asks():
        one, _ = readers.subjects(bench, each.kind)
        bench.wire.watch(one)
        answer = asked(bench, each, one)
        assert answer.is_good, f"{each}: {answer.text}"
        for (name, program), has_subject in sorted(bench.wire.now.items()):
            if name not in OWN and program == PROGRAMS[each.program] and not any(other.program == each.program for other, _ in bench.asks.get(name, [])):
                bench.asks.setdefault(name, []).append((each, has_subject))


def in_parts(bench):
    """Statements over many rows that are refused: the keys, then those among them (store/pass_by.h)."""
    bench.cluster.tool("service", "pause", "carrier", *REASON)
    order = bench.post()
    bench.wire.set({(name, ""): REFUSED for name in PARTS})
    bench.post(reply_to=GONE)
    bench.wait(lambda: all(bench.wire.seen[f"{name}_keys"] for name in PARTS), OWED_S)
    bench.wire.set({})
    bench.cluster.tool("service", "resume", "carrier", *REASON)
    assert bench.wait_ended([order], 60), bench.states()


def through_locks(bench):
    """An order with rows that another session has locked is found; while its request is due, the sweep is refused, and comes in parts:
    the keys, then those among them (store/pass_by.h)."""
    bench.named("agent-carrier").pause()
    order = bench.post()
    bench.wait(lambda: bench.states()[order] == "processing", 10)
    bench.wire.set({("sweep", ""): REFUSED})
    bench.wait(lambda: bench.wire.seen["sweep_among"], DUE_S)
    bench.wire.set({})
    session = psycopg2.connect(bench.servers.postgres.dsn)
    session.cursor().execute("SELECT 1 FROM order_process WHERE order_id = %s FOR UPDATE", (order,))
    bench.named("agent-carrier").resume()
    bench.wait(lambda: bench.wire.seen["find_locked"], LOCKED_S)
    session.close()
    assert bench.wait_ended([order], 30), bench.states()
