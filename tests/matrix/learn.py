"""Has each program run its statements once before the cells begin, so that the proxy has the programs of each."""

import json
import urllib.request

import psycopg2

from bench import GONE, TOKEN

REASON = ("--reason", "the matrix learns")
OWED_S = 15.0      # until a supervisor asks for owed statuses
DUE_S = 10.0        # until a request is due, and the sweep has come
LOCKED_S = 4.0     # longer than a lock is waited for
NEVER = "mx-000000000000"  # an order that does not exist: it is looked for in the archive, too
REFUSED = "P0001"  # as a trigger of others: it is no mistake of the caller, and no fault of all


def verbs(order, other):
    """All verbs of the tool that ask or change the store, for an order that has ended."""
    return (("order", "compensate", order, *REASON), ("order", "list"), ("order", "list", "--label", "customer=c"),
            ("order", "list", "--state", "processed"), ("order", "list", "--state", "error"), ("order", "list", "--workflow", "three"),
            ("order", "list", "--group-by", "error"), ("order", "find", other), ("order", "find", "c"), ("order", "show", other),
            ("order", "show", NEVER), ("order", "explain", other), ("order", "explain", NEVER), ("order", "export", other),
            ("order", "export", NEVER), ("order", "set-aside", other, *REASON), ("order", "explain", other),
            ("order", "readmit", other, *REASON), ("workflow", "list"), ("workflow", "show", "three"), ("alert", "list"),
            ("alert", "list", "--all"), ("alert", "ack", "1"), ("service", "list"), ("service", "show", "payment"), ("service", "pause", "payment", *REASON),
            ("service", "resume", "payment", *REASON), ("service", "limit", "payment", "--max-rate", "1000", *REASON),
            ("service", "forget", "nobody", *REASON), ("bulk", "start", "cancel", "--all", "--dry-run", *REASON),
            ("bulk", "start", "cancel", "--all", *REASON), ("bulk", "list"), ("bulk", "show", "1"), ("bulk", "pause", "1"),
            ("bulk", "resume", "1"), ("bulk", "stop", "1"), ("db", "status"), ("db", "vacuum-policy"),
            ("db", "vacuum-policy", "--archive-after", "30d", "--drop-after", "365d"), ("db", "retain"), ("doctor",))


def pages(order):
    """Of the console."""
    return ("orders", "orders?label=customer%3Dc", "orders?state=error", "orders?order=newest", "orders?order=open", f"orders/{order}",
            f"orders/{NEVER}", "failures", "alerts", "services", "workflows", "bulk", "bulk/1", "choice", "find?text=c", f"find?text={order}")


def requests(order):
    """Of the gateway."""
    return ("orders", "orders?label=customer%3Dc", "orders?state=processed", f"orders/{order}", f"orders/{NEVER}")


def learn(bench):
    ids = [bench.post() for _ in range(8)] + [bench.post(reply_to=GONE)]
    assert bench.wait_ended(ids, 30), bench.states()
    for words in verbs(ids[0], ids[1]):
        bench.cluster.tool(*words, check=False)
    for place in pages(ids[1]):
        ask(bench.console.http_port, "/api/v1/" + place, bench.token)
    for place in requests(ids[1]):
        ask(bench.gateway.http_port, "/v1/" + place, TOKEN)
    ask(bench.gateway.http_port, f"/v1/orders/{ids[2]}/cancel", TOKEN, {"reason": "the matrix learns"})
    through_locks(bench)
    bench.post(ids[3])  # delivered twice: its statuses are looked for
    bench.wait(lambda: bench.wire.seen["ask_owed"] and bench.wire.seen["load_owed_order"], OWED_S)
    bench.settle()


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


def ask(port, path, token, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Authorization": f"Bearer {token}",
                                                                               "Content-Type": "application/json"},
                                     data=None if body is None else json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")
    except (OSError, ValueError):
        return None
