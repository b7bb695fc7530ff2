#!/usr/bin/python3
"""How fast the console's pages are, and their cost for the database, with as many orders as years bring.

Every route of the API is requested many times, while pages are open. Each request has other parameters if the route takes any;
otherwise it waits until the kept answer has expired. Then the pages only stay open; then they are closed. Ends with 1 if of a
hundred answers of a route more than one took longer than a page may. Ends with 1 also if the console queries the database for pages
that are closed.
"""

import argparse
import collections
import datetime
import http.client
import json
import os
import pathlib
import random
import socket
import sys
import threading
import time
import urllib.parse

import pika
import psycopg2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy"))

from local import cluster, processes, servers  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
FILLS = (HERE.parent / "bench" / "fill.sql", HERE / "fill.sql")
# The settings of any operator with more than a corner of a machine for PostgreSQL; the same as in tests/bench.
SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "4GB", "shared_preload_libraries": "pg_stat_statements"}
WORKFLOWS = "CASE WHEN n % 100000 = 5 THEN 'rare' WHEN n % 10 = 0 THEN 'billing' ELSE 'fulfilment' END"
REPEATS = 4        # small payloads: more orders per block, more rows for a page
OPEN = FAILED = 20_000
LISTED = 100_000   # orders of the largest bulk action
LETTERS = 100
STREAMS = 20       # half of them show one order each
PAGE_MS = 200
LIST_MS = 150       # a list of the tool, from its start to its end
PERIOD_S = 0.065   # between two requests: a lower rate than the console accepts
# The store's probe (common/io/store/store_probe.c): readiness needs it at all times, whether pages are open or not.
PROBES = ("WITH spilled ", "SELECT set_config('work_mem'")
QUIET_S = 3        # without a query for pages: longer than any silence of the console while a page is open
LOOK_S = 60
ANSWER_S = 30
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def say(text):
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", flush=True)


def pass_time(until):
    while time.monotonic() < until:
        time.sleep(processes.POLL_S)


def table(columns, rows):
    """Columns of minimal width, the first aligned left, numbers right."""
    cells = [columns] + [[f"{cell:,.1f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip())


class Browser:
    """One connection, logged in."""

    def __init__(self, port, cookie=None):
        self.port, self.cookie = port, cookie
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)

    def login(self, token):
        self.connection.request("POST", "/api/v1/login", json.dumps({"token": token}), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = answer.headers["Set-Cookie"].split(";")[0]
        return self

    def ask(self, route):
        """The raw response to GET, not yet read."""
        self.connection.request("GET", "/api/v1/" + route, headers={"Cookie": self.cookie})
        return self.connection.getresponse()

    def get(self, route):
        """(milliseconds, body); body None: no answer. A request that is refused by the rate limit is repeated."""
        while True:
            began = time.monotonic()
            answer = self.ask(route)
            body = answer.read()
            if answer.status in (200, 503):
                return (time.monotonic() - began) * 1000, body if answer.status == 200 else None
            if answer.status != 429:
                raise processes.Failure(f"{route}: {answer.status} {body.decode()}")
            pass_time(time.monotonic() + 1)


class Streams:
    """Open pages, each with a thread that reads its events."""

    def __init__(self, console, cookie, order_ids):
        self.events, self.opened_ms, self.browsers, self.sockets = collections.Counter(), [], [], []
        for number in range(STREAMS):
            browser = Browser(console.http_port, cookie)
            browser.connection.connect()
            self.sockets.append(browser.connection.sock)
            began = time.monotonic()
            answer = browser.ask("live" if number % 2 else f"live?order={order_ids[number]}")
            answer.readline()
            self.opened_ms.append((time.monotonic() - began) * 1000)
            self.browsers.append(browser)
            threading.Thread(target=self.read, args=(answer,), daemon=True).start()

    def read(self, answer):
        try:
            for line in answer:
                if line.startswith(b"event: "):
                    self.events[line[len(b"event: "):].decode().strip()] += 1
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            return  # it was closed

    def close(self):
        for stream in self.sockets:
            stream.shutdown(socket.SHUT_RDWR)


class Route:
    """`paths(k, last)` is the k-th path to request; `last` is the previous answer, parsed, for those that go on behind it."""

    def __init__(self, name, paths):
        self.name, self.paths = name, paths if callable(paths) else lambda k, last: paths
        self.taken_ms, self.last, self.refused, self.rows, self.bytes = [], None, 0, 0, 0

    def ask(self, browser, k):
        taken_ms, body = browser.get(self.paths(k, self.last))
        self.taken_ms.append(taken_ms)
        if body is None:
            self.refused += 1
            return
        self.last = json.loads(body)
        self.rows = max([self.rows] + [len(value) for value in self.last.values() if isinstance(value, list)])
        self.bytes = max(self.bytes, len(body))

    def of(self, share):
        return sorted(self.taken_ms)[min(int(len(self.taken_ms) * share), len(self.taken_ms) - 1)]


def behind(route, **more):
    """Paths of page after page; behind the last comes the first."""
    def paths(k, last):
        query = dict(more, since=f"{40_000 + k}h")
        if last is not None and last.get("next"):
            query["after"] = last["next"]
        return f"{route}?{urllib.parse.urlencode(query)}"
    return paths


class Show:
    def __init__(self, options):
        self.options, self.scratch = options, cluster.make_scratch("makegood-console-")
        self.servers = self.cluster = self.console = self.browser = self.db = None
        self.asked_at = None  # of the newest query for pages that was seen

    # --- the stage ---------------------------------------------------------------------------------------------------

    def start(self):
        self.servers = servers.Servers(self.scratch).start()
        postgres = self.servers.postgres
        postgres.set(SETTINGS)
        postgres.process.terminate()
        postgres.restart()
        self.cluster = cluster.Cluster(self.scratch, cluster.build_folder(), postgres.dsn, self.servers.rabbit.url,
                                       workflows=None)
        self.cluster.prepare()
        self.db = psycopg2.connect(postgres.dsn)
        self.db.autocommit = True
        self.fill()
        self.post_letters()
        self.rows("CREATE EXTENSION pg_stat_statements")
        self.rows("SET pg_stat_statements.track = 'none'")  # excludes the queries of this program
        self.console, _, token = self.cluster.start_console()
        self.browser = Browser(self.console.http_port).login(token)

    def rows(self, sql, *values):
        with self.db.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchall() if cursor.description else []

    def fill(self):
        began = time.monotonic()
        values = {"finished": self.options.orders - OPEN, "open": OPEN, "workflow": WORKFLOWS, "repeats": REPEATS,
                  "failed": FAILED, "listed": min(LISTED, self.options.orders)}
        for path in FILLS:
            sql = path.read_text(encoding="utf-8")
            for name, value in values.items():
                sql = sql.replace(f":{name}", str(value))
            self.rows(sql)
        for sql in ("VACUUM ANALYZE", "CHECKPOINT"):
            self.rows(sql)
        [(mb,)] = self.rows("SELECT pg_database_size(current_database()) / 1048576")
        say(f"{self.options.orders:,} orders, {OPEN:,} of them open, {FAILED:,} in error: {mb:,} MB, filled in "
            f"{time.monotonic() - began:.0f} s")

    def post_letters(self):
        with pika.BlockingConnection(pika.URLParameters(self.servers.rabbit.url)) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            for queue in ("dead.letters", "orders.rejected"):
                for number in range(LETTERS):
                    channel.basic_publish("", queue, json.dumps({"n": number, "text": "x" * 1000}).encode(),
                                          pika.BasicProperties(delivery_mode=2, type="reply", message_id=f"{queue}-{number}"))

    # --- the requests ------------------------------------------------------------------------------------------------

    def routes(self):
        ids = [row[0] for row in self.rows("SELECT order_id FROM order_process ORDER BY hashtext(order_id) LIMIT %s",
                                           self.options.asks)]
        failed = [row[0] for row in self.rows("SELECT order_id FROM operator_alert WHERE code = 'order_error'"
                                              " AND closed_at IS NULL ORDER BY alert_id LIMIT %s", self.options.asks)]
        [(long_story,)] = self.rows("SELECT order_id FROM order_event WHERE version = 1000")
        [(first_s, last_s)] = self.rows("SELECT extract(epoch FROM min(received_at)), extract(epoch FROM max(received_at))"
                                        " FROM orders")
        [(bulk,)] = self.rows("SELECT bulk_id FROM bulk ORDER BY orders DESC LIMIT 1")
        listed = min(LISTED, self.options.orders)
        lot = random.Random(1)

        def since(k):
            return f"since={40_000 + k}h"

        def moment():
            at_s = lot.uniform(float(first_s), float(last_s))
            return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_s)) + f".{lot.randrange(1000):03}Z"

        return [
            Route("me", "me"), Route("overview", "overview"),
            Route("orders", "orders"),
            Route("orders, page after page", behind("orders")),
            Route("orders?workflow", lambda k, _: f"orders?workflow=billing&{since(k)}"),
            Route("orders?workflow, a rare one", behind("orders", workflow="rare")),
            Route("orders?state=processed", lambda k, _: f"orders?state=processed&{since(k)}"),
            Route("orders?state=cancelled, rare", behind("orders", state="cancelled")),
            Route("orders?until", lambda k, _: f"orders?until={moment()}"),
            Route("orders?since&until&workflow", lambda k, _: f"orders?since=40000h&until={moment()}&workflow=billing"),
            Route("orders?state=open", lambda k, _: f"orders?state=open&{since(k)}"),
            Route("orders?state=open, page after page", behind("orders", state="open")),
            Route("orders?state=processing&workflow", lambda k, _: f"orders?state=processing&workflow=billing&{since(k)}"),
            Route("orders?state=error", lambda k, _: f"orders?state=error&{since(k)}"),
            Route("orders?state=error, page after page", behind("orders", state="error")),
            Route("orders?step", lambda k, _: f"orders?step=charge&{since(k)}"),
            Route("orders?error", lambda k, _: f"orders?error=no_route&{since(k)}"),
            Route("orders?error, none", lambda k, _: f"orders?error=unheard-of&{since(k)}"),
            Route("orders?label", lambda k, _: f"orders?label=customer%3D{k}&{since(k)}"),
            Route("orders?label, two", lambda k, _: f"orders?label=country%3DCH,customer%3D{k}&{since(k)}"),
            Route("orders?label, of all orders, page after page", behind("orders", label="country=CH")),
            Route("orders?label&state=cancelled, rare", behind("orders", label="country=CH", state="cancelled")),
            Route("orders?label&state=error", lambda k, _: f"orders?label=customer%3D{k}&state=error&{since(k)}"),
            Route("find, the beginning of an id", lambda k, _: f"find?text={ids[k][:6]}"),
            Route("find, a label", lambda k, _: f"find?text={k}"), Route("find, a label of all orders", "find?text=CH"),
            Route("orders/ID", lambda k, _: f"orders/{ids[k]}"),
            Route("orders/ID, in error", lambda k, _: f"orders/{failed[k]}"),
            Route("orders/ID, of 1,000 events", f"orders/{long_story}"),
            Route("failures", "failures"),
            Route("failures?step", lambda k, _: f"failures?step=charge&{since(k)}"),
            Route("alerts", "alerts"), Route("alerts?all", "alerts?all=1"),
            Route("services", "services"), Route("workflows", "workflows"), Route("bulk", "bulk"),
            Route("bulk/ID", lambda k, _: f"bulk/{bulk}?after={lot.randrange(listed)}"),
            Route("bulk/ID?result", lambda k, _: f"bulk/{bulk}?result=failed&after={k}"),
            Route("choice, of one cause", lambda k, _: "choice?workflow=fulfilment&step=charge&service=payment"
                  f"&error={'declined'[k % 8:]}"),
            Route("dead", "dead"), Route("dead?queue", "dead?queue=orders.rejected"),
        ], [failed[k % len(failed)] for k in range(STREAMS)]

    def ask_all(self, routes):
        next_at = time.monotonic()
        for k in range(self.options.asks):
            for route in routes:
                next_at = max(next_at + PERIOD_S, time.monotonic() - PERIOD_S)
                pass_time(next_at)
                route.ask(self.browser, k)

    # --- the tool ----------------------------------------------------------------------------------------------------

    def tool_lists(self):
        """[(name, milliseconds of each run)] of the tool's lists. A list without a match ends, too, or it raises."""
        lists = [("of all orders", lambda k: ["--limit", "1"]),
                 ("--state error", lambda k: ["--state", "error"]),
                 ("--state cancelled, rare", lambda k: ["--state", "cancelled"]),
                 ("--state processing", lambda k: ["--state", "processing", "--limit", str(k + 1)]),
                 ("--workflow", lambda k: ["--workflow", "billing"]),
                 ("--workflow --state error", lambda k: ["--workflow", "billing", "--state", "error"]),
                 ("--label, of one customer", lambda k: ["--label", f"customer={k}"]),
                 ("--label, of all orders", lambda k: ["--label", "country=CH"]),
                 ("--label, two", lambda k: ["--label", "country=CH", "--label", f"customer={k}"]),
                 ("--label --state error", lambda k: ["--label", f"customer={k}", "--state", "error"]),
                 ("--label --state cancelled, rare", lambda k: ["--label", "country=CH", "--state", "cancelled"]),
                 ("--label --state processing", lambda k: ["--label", "country=CH", "--state", "processing", "--limit", str(k + 1)])]
        taken = [(name, []) for name, _ in lists]
        for k in range(self.options.asks):
            for (_, words), (_, taken_ms) in zip(lists, taken):
                began = time.monotonic()
                self.cluster.tool("order", "list", "-o", "json", *words(k))
                taken_ms.append((time.monotonic() - began) * 1000)
        for words in (("--workflow", "none"), ("--label", "country=CH", "--workflow", "none")):
            began = time.monotonic()
            rare = self.cluster.tool("order", "list", *words)
            say(f"order list {' '.join(words)}, {time.monotonic() - began:.1f} s: {rare.stderr.strip() or 'all were read'}")
        return [(name, sorted(taken_ms)) for name, taken_ms in taken]

    # --- the cost ----------------------------------------------------------------------------------------------------

    def sessions(self):
        """{name: CPU seconds} of the console's sessions, and of itself."""
        found = {}
        for name, pid in self.rows("SELECT application_name, pid FROM pg_stat_activity"
                                   " WHERE application_name LIKE 'makegood%%' UNION ALL SELECT 'itself', %s", self.console.pid):
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            found[name] = (int(fields[11]) + int(fields[12])) * TICK_S
        return found

    def is_quiet(self):
        """No query for pages was seen for QUIET_S. Each is the session's newest until the next one or the next probe."""
        [(query, at, now)] = self.rows("SELECT query, state_change, clock_timestamp() FROM pg_stat_activity"
                                       " WHERE application_name = 'makegood console'")
        if self.asked_at is None or not query.startswith(PROBES):
            self.asked_at = at
        return now - self.asked_at > datetime.timedelta(seconds=QUIET_S)

    def watch(self, until):
        while time.monotonic() < until:
            self.is_quiet()
            time.sleep(processes.POLL_S)

    def cost(self, what, act):
        """Runs the act and prints the console's queries meanwhile."""
        self.rows("SELECT pg_stat_statements_reset()")
        before, began = self.sessions(), time.monotonic()
        act()
        after, took_s = self.sessions(), time.monotonic() - began
        [(calls, ran_ms)] = self.rows("SELECT coalesce(sum(calls), 0)::float, coalesce(sum(total_exec_time), 0)"
                                      " FROM pg_stat_statements")
        shares = [f"{name} {(cpu_s - before.get(name, 0)) / took_s:.2%}" for name, cpu_s in after.items()]
        say(f"{what}, {took_s:.0f} s: {calls / took_s:.1f} statements a second, which ran {ran_ms / took_s / 1000:.2%} of the"
            f" time; of one core: {', '.join(shares)}")

    def tell_statements(self):
        print("\nwhat the database did for them, the dearest first")
        table(("statement", "calls", "mean ms", "max ms", "rows", "pages"), [
            (" ".join(query.split())[:90], calls, mean_ms, max_ms, rows // calls, pages // calls)
            for query, calls, mean_ms, max_ms, rows, pages in self.rows(
                "SELECT query, calls, mean_exec_time, max_exec_time, rows, shared_blks_hit + shared_blks_read"
                " FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 20")])
        print()

    def run(self):
        """True if every bound is kept."""
        self.start()
        routes, looked_at = self.routes()
        streams = Streams(self.console, self.browser.cookie, looked_at)
        load = os.getloadavg()[0]
        say(f"{len(routes)} routes, each {self.options.asks} times, beside {STREAMS} streams; load average {load:.1f} before")
        self.cost("everything is asked for", lambda: self.ask_all(routes))
        say(f"load average {os.getloadavg()[0]:.1f} after; events: {dict(streams.events)}")
        print()
        table(("route", "p50 ms", "p99 ms", "max ms", "rows", "bytes"),
              [(route.name, route.of(0.5), route.of(0.99), max(route.taken_ms), route.rows, route.bytes) for route in routes]
              + [("live, until it begins", sorted(streams.opened_ms)[STREAMS // 2], *2 * [max(streams.opened_ms)], "", "")])
        self.tell_statements()
        self.cost(f"{STREAMS} pages only look on", lambda: pass_time(time.monotonic() + LOOK_S))
        streams.close()
        processes.wait_until(self.is_quiet, "the console has noticed that nobody looks on")
        lists = [(name, taken_ms[len(taken_ms) // 2], taken_ms[min(int(len(taken_ms) * 0.99), len(taken_ms) - 1)], taken_ms[-1])
                 for name, taken_ms in self.tool_lists()]
        table(("order list", "p50 ms", "p99 ms", "max ms"), lists)
        quiet_since = self.asked_at
        self.cost("nobody looks on", lambda: self.watch(time.monotonic() + LOOK_S))
        is_asking = self.asked_at != quiet_since
        slow = [f"{route.name} took {route.of(0.99):.0f} ms" for route in routes if route.of(0.99) > PAGE_MS]
        slow += [f"order list {name} took {p99:.0f} ms" for name, _, p99, _ in lists if p99 > LIST_MS]
        slow += [f"{route.name} was not answered {route.refused} times" for route in routes if route.refused > 0]
        slow += [f"a stream began after {max(streams.opened_ms):.0f} ms"] if max(streams.opened_ms) > PAGE_MS else []
        say(f"too slow at p99: {'; '.join(slow)}" if slow else f"at p99 every route took less than {PAGE_MS} ms, every list of the tool less than {LIST_MS} ms")
        if is_asking:
            say("the console asked the database for pages though nobody looked on")
        return not slow and not is_asking


def main(words):
    parser = argparse.ArgumentParser(prog="tests/console/run", description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=1_000_000, metavar="N", help="in the tables (1000000)")
    parser.add_argument("--asks", type=int, default=200, metavar="N", help="of each route (200)")
    options = parser.parse_args(words)
    if options.orders < OPEN + FAILED:
        parser.error(f"--orders: at least {OPEN + FAILED}")
    processes.end_on_signals()
    show = Show(options)
    try:
        return 0 if show.run() else 1
    except processes.Failure as failure:
        say(f"FAILED: {failure}")
        processes.show_logs(show.scratch)
        return 1
    finally:
        processes.end_all()
        cluster.remove_scratch(show.scratch)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
