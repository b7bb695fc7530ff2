"""Makegood as the matrix misuses it: private servers, one of each process, a gateway with a webhook, a proxy before the database.

One of each, since a second scheduler would hide that the first stalls. The client is independent of Makegood's code; the
sample remotes de-duplicate and keep a ledger of effects."""

import json
import pathlib
import secrets
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy"), str(HERE.parent / "e2e")]

import pika  # noqa: E402
import psycopg2  # noqa: E402

from harness import Client, step  # noqa: E402
from local import cluster, processes, servers  # noqa: E402
import webhooks  # noqa: E402
import wire  # noqa: E402

BLOCKED = "?blocked_connection_timeout=1"  # a broker with an alarm reads nothing more, and the client would wait for ever
PLAIN = "?sslmode=disable&gssencmode=disable"  # the proxy reads the stream
PATIENT = {"complete_within": "5s", "retry": {"attempts": 1000, "backoff": "100ms", "max_backoff": "1s"}}
ENDS = ("processed", "compensated", "cancelled")
BY_ITSELF_S = 60.0  # until an order has ended that nothing holds up any more
CLIENT = "shop"
GONE = "client.gone.statuses"  # a queue that was never declared: the statuses of an order are owed
TOKEN = "a token of the shop"
SCHEDULES = ("matrix-one", "matrix-two")
REASON = ("--reason", "the matrix")
STANDING_S = 10.0   # of makegood_standstill_seconds: then it is reported
READY_S = 120.0
POST_S = 3.0         # of a post at the gateway: above a lock time-out of the database
CALM_S = 20.0       # until doctor finds nothing wrong any more
DOCTOR_WORDS = 24   # of a line, without its figures


class Bench:
    """`factor`: of all bounds, for a machine with other work. `turns_back`: the last step of each order is refused."""

    def __init__(self, factor, turns_back=False):
        self.factor, self.turns_back = factor, turns_back
        self.scratch = cluster.make_scratch("makegood-matrix-")
        self.servers = servers.Servers(self.scratch)
        self.database = self.client = self.wire = self.cluster = self.api = None
        self.gateway = self.console = self.receiver = None
        self.by_http = False  # orders are posted at the gateway
        self.orders = {}  # id → body, of the present cell
        self.confirmed = set()  # ids of posts that the broker has confirmed
        self.known_alerts, self.known_wrongs = set(), set()
        self.lined, self.signalled = set(), set()  # orders that wait for a signal; orders with a confirmed signal
        self.cookie = {}  # headers of a session of the console
        self.readable, self.open_orders, self.archived = [], [], []  # two of each, for the questions of people and clients
        self.asks = {}  # {statement: [(ask, whether its subject is in a parameter)]}, by learn.py

    # --- beginning and end -----------------------------------------------------------------------------------------

    def start(self):
        self.servers.start()
        self.wire = wire.Wire(self.servers.postgres.port)
        self.api = self.servers.rabbit.open_api()
        dsn = self.servers.postgres.dsn.replace(f":{self.servers.postgres.port}/", f":{self.wire.port}/") + PLAIN
        self.cluster = cluster.Cluster(self.scratch, cluster.build_folder(), dsn, self.servers.rabbit.url, schedulers=1, agents=1,
                                       supervisors=1, workflows=None, env={"MAKEGOOD_AMQP_API": self.api})
        self.cluster.start()
        self.apply()
        self.rows(wire.FAIL)
        self.load_workflows()
        if self.turns_back:
            self.cluster.remotes["carrier"].switch("decline")
        self.start_gateway()
        self.console, self.token, _ = self.cluster.start_console()
        self.client = self.connect()
        self.settle()
        return self

    def load_workflows(self):
        """`three` and `lined` have the same calls. Orders of `lined` also run one at a time in pairs, and wait for a signal by a key, and
        for one that never comes. Two schedules with times of the bench make orders of `slotted`. An order of `failing` with a
        declined payment ends in error."""
        steps, after = [], []
        for name, service in (("reserve", "inventory"), ("charge", "payment"), ("ship", "carrier")):
            steps.append(step(name, service, after=after, **PATIENT))
            steps[-1]["undo"].update(PATIENT)
            after = [name]
        paid = {"step": "paid", "after": ["charge"], "wait": {"signal": "paid", "within": "12h", "key": "payload.key"}}
        late = {"step": "late", "after": ["reserve"], "wait": {"signal": "late", "within": "1s", "on_timeout": "skip", "key": "payload.key"}}
        lined = [*steps[:2], paid, late, {**steps[2], "after": ["paid", "late"]}]
        common = {"version": 1, "complete_within": "24h", "labels": {"customer": "${/payload/customer}"}}
        self.load("workflow", {"workflow": "three", "steps": steps, **common})
        self.load("workflow", {"workflow": "lined", "steps": lined, "sequence": {"key": "${/payload/line}"}, **common})
        self.load("workflow", {"workflow": "failing", "version": 1, "complete_within": "24h", "on_failure": "error", "steps": [step("charge", "payment")]})
        self.load("workflow", {"workflow": "slotted", "version": 1, "complete_within": "24h", "steps": [step("charge", "payment", **PATIENT)]})
        for name in SCHEDULES:
            self.load_schedule(name)

    def load_schedule(self, name):
        self.load("schedule", {"schedule": name, "workflow": "slotted", "cron": "0 0 1 1 *", "zone": "UTC", "overlap": "queue", "catch_up": "1d"}, *REASON)

    def load(self, kind, definition, *words):
        path = self.scratch / f"{definition[kind]}.json"
        path.write_text(json.dumps(definition), encoding="utf-8")
        self.cluster.tool(kind, "load", path, *words)

    def start_gateway(self):
        self.receiver = webhooks.Receiver(webhooks.new_secret())
        tokens, hooks = self.scratch / "gateway-tokens", webhooks.write_files(self.scratch, [
            (CLIENT, self.receiver.url, [self.receiver.secret])])
        cluster.write_tokens(tokens, [("submit,read,cancel", CLIENT, TOKEN)])
        port = processes.free_port()
        argv = [self.cluster.bin / "makegood", "gateway", "--listen", f"127.0.0.1:{port}", "--tokens-file", tokens, "--webhooks-file",
                hooks]
        self.gateway = processes.Process("gateway", argv, self.scratch / "gateway.log", http_port=port,
                                         env={**self.cluster.env, **self.cluster.tool_env})
        self.gateway.start().wait_ready()

    def apply(self):
        words = [word for name in self.cluster.services for word in ("--service", name)]
        self.cluster.tool("broker", "apply", *words, "--client", CLIENT, "--webhook", "--amqp-api", self.api, timeout_s=180)

    def end(self, keep):
        if self.client is not None:
            self.client.close()
        processes.end_all()
        if keep:
            print(f"logs: {self.scratch}")
        else:
            cluster.remove_scratch(self.scratch)

    @property
    def all(self):
        return [*self.cluster.all, self.gateway, self.console]

    def named(self, name):
        return next(process for process in self.all if process.name.startswith(name))

    # --- looking, past the proxy ----------------------------------------------------------------------------------

    def session(self):
        session = psycopg2.connect(self.servers.postgres.dsn)
        session.autocommit = True
        return session

    def rows(self, sql, *parameters):
        for is_last in (False, True):
            try:
                if self.database is None or self.database.closed:
                    self.database = self.session()
                with self.database.cursor() as cursor:
                    cursor.execute(sql, parameters or None)
                    return cursor.fetchall() if cursor.description else []
            except psycopg2.OperationalError:
                self.database = None
                if is_last:
                    raise
        return []

    def two(self, sql):
        """The first two values; empty ones if there are fewer."""
        return [row[0] for row in [*self.rows(sql), ("0",), ("0",)][:2]]

    def doctor(self):
        """{first words: line} of all that doctor finds wrong, beside alerts, which may be of an earlier cell."""
        done = self.cluster.tool("doctor", "--amqp-api", self.api, check=False, timeout_s=120,
                                 env={**self.cluster.tool_env, "MAKEGOOD_PG_DSN": self.servers.postgres.dsn})
        lines = [line for line in done.stdout.splitlines() if line.startswith("WRONG") and not line.startswith("WRONG alerts")]
        return {line[:DOCTOR_WORDS]: line for line in lines}

    def open_alerts(self):
        return {f"{code} {subject}" for code, subject in
                self.rows("SELECT code, subject FROM operator_alert WHERE closed_at IS NULL")}

    def tells(self, is_doctor_asked=True):
        """Which look reports that all is not well: (word, detail), or None."""
        for process in self.all:
            status, text = process.get("/readyz") if process.is_running() and processes.state_of(process.pid) != "T" else (200, "")
            if status == 503:
                return "readyz", f"{process.name}: {text.strip()}"
        fresh = self.open_alerts() - self.known_alerts
        if fresh:
            return "alert", sorted(fresh)[0]
        for process in (*self.cluster.schedulers, *self.cluster.supervisors):
            if process.is_running() and processes.state_of(process.pid) != "T" and process.metric("makegood_standstill_seconds") > STANDING_S:
                return "metric", f"{process.name}: makegood_standstill_seconds"
        wrong = [line for words, line in self.doctor().items() if words not in self.known_wrongs] if is_doctor_asked else []
        return ("doctor", wrong[0]) if wrong else None

    # --- orders ---------------------------------------------------------------------------------------------------

    def new_id(self):
        return "mx-" + secrets.token_hex(6)

    def connect(self):
        return Client(self.servers.rabbit.url + BLOCKED)

    def post_pair(self):
        """Two orders of one line."""
        one, other = self.new_id(), self.new_id()
        return [self.post_lined(one, f"line-{one}"), self.post_lined(other, f"line-{one}")]

    def post_lined(self, order_id, line, has_signal=True, reply_to=None):
        """An order of a line; its signal comes before it, and is kept."""
        self.lined.add(order_id)
        self.orders[order_id] = json.dumps({"order_id": order_id, "workflow": "lined", "payload": {
            "customer": "c", "line": line, "key": order_id}})
        if has_signal:
            self.signal(order_id)
        return self.post(order_id, reply_to)

    def post_failing(self):
        """An order that is in error soon. No check of a cell looks at it."""
        order_id = self.new_id()
        self.publish(json.dumps({"order_id": order_id, "workflow": "failing", "payload": {"behaviour": {"payment": "decline"}}}),
                     message_id=order_id, correlation_id=order_id, reply_to=self.client.queue)
        return order_id

    def signal(self, key):
        """Any number of times: its id is that of its key."""
        body = {"v": 1, "command_id": f"signal-{key}", "command": "signal", "signal": "paid", "key": key, "payload": None, "by": "ann",
                "reason": "paid"}
        if self.publish(json.dumps(body), "scheduler.commands", exchange="makegood.commands", type="command", message_id=f"signal-{key}"):
            self.signalled.add(key)

    def signal_again(self):
        """Those that the broker has not confirmed, as their client does."""
        for order_id in (self.lined & set(self.orders)) - self.signalled:
            self.signal(order_id)

    def make_due(self, name):
        """A schedule's next time is some seconds ago."""
        self.rows("""UPDATE schedule SET next_slot = t, next_at = t, upcoming = ARRAY[t]
                     FROM (SELECT date_trunc('second', clock_timestamp() - interval '1 s') AS t) n WHERE name = %s""", name)

    def publish(self, *words, **fields):
        """Whether the broker has confirmed it."""
        if self.client is None or not self.client.connection.is_open:
            self.client = self.connect()
        try:
            self.client.publish(*words, **fields)
            return True
        except pika.exceptions.AMQPError:
            self.client.close()
            return False

    def post(self, order_id=None, reply_to=None):
        order_id = order_id or self.new_id()
        self.orders.setdefault(order_id, json.dumps({"order_id": order_id, "workflow": "three", "payload": {"customer": "c"}}))
        if self.by_http:
            self.post_by_http(order_id)
            return order_id
        if self.client is None or not self.client.connection.is_open:
            self.client = self.connect()
        if self.publish(self.orders[order_id], message_id=order_id, correlation_id=order_id, reply_to=reply_to or self.client.queue):
            self.confirmed.add(order_id)  # otherwise it is posted again when the misbehaviour has ended
        return order_id

    def post_by_http(self, order_id):
        request = urllib.request.Request(f"http://127.0.0.1:{self.gateway.http_port}/v1/orders", self.orders[order_id].encode(),
                                         {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=POST_S):
                self.confirmed.add(order_id)
        except OSError:
            pass  # refused, or without an answer: it is posted again when the misbehaviour has ended

    def states(self):
        found = self.rows("SELECT order_id, process_state FROM order_process WHERE order_id = ANY(%s)", list(self.orders))
        return {**dict.fromkeys(self.orders, "unknown"), **dict(found)}

    def have_ended(self, order_ids):
        states = self.states()
        return all(states[order_id] in ENDS for order_id in order_ids)

    def wait(self, condition, seconds):
        """True if the condition comes within these seconds, times the factor."""
        try:
            processes.wait_until(condition, "", seconds * self.factor)
            return True
        except processes.Failure:
            return False

    def wait_ended(self, order_ids, seconds):
        return self.wait(lambda: self.have_ended(order_ids), seconds)

    def set_aside(self):
        """The cell's orders that a scheduler has taken out of the way, each with an alert that names it."""
        found = [row[0] for row in self.rows("SELECT order_id FROM order_aside WHERE order_id = ANY(%s)", list(self.orders))]
        for order_id in found:
            assert self.rows("SELECT 1 FROM operator_alert WHERE subject = %s AND closed_at IS NULL", order_id), f"no alert names {order_id}"
        return found

    def readmit(self, order_ids):
        """As an operator does once the cause is mended."""
        for order_id in order_ids:
            self.cluster.tool("order", "readmit", order_id, "--reason", "the matrix has mended it")
        self.cluster.tool("dead", "requeue", "--all", "--reason", "the matrix has mended it")

    def faults_of_effects(self):
        """What the ledgers hold beside one effect of each step of the cell's orders, which is undone if they turn back."""
        faults = []
        wanted = {name: ("undone", 1) if self.turns_back else ("done", 1) for name in ("reserve", "charge", "ship")}
        wanted["ship"] = ("none", 0) if self.turns_back else wanted["ship"]
        for name, service in (("reserve", "inventory"), ("charge", "payment"), ("ship", "carrier")):
            entries = self.cluster.remotes[service].entries()
            for order_id in self.orders:
                entry = entries.get(f"{order_id}.{name}.do", {"state": "none", "effects": 0})
                if (entry["state"], entry["effects"]) != wanted[name]:
                    faults.append(f"{order_id}.{name}: {entry['state']}, {entry['effects']} effects")
        return faults

    def dead_letters(self):
        try:
            return self.client.depth("dead.letters")
        except pika.exceptions.AMQPError:
            self.client.close()
            self.client = self.connect()
            return 0  # the queue is away, and with it all that it held

    def settle_quickly(self):
        """After faults of questions, which no process needs."""
        self.wire.set({})
        for process in self.all:
            process.wait_ready(READY_S * self.factor)
        self.orders, self.confirmed = {}, set()

    def settle(self):
        """Everything is as at the beginning; what stands wrong then is no finding of the next cell."""
        self.wire.set({})
        for process in self.all:
            process.resume()
            if not process.is_running():
                process.start()
        for process in self.all:
            process.wait_ready(READY_S * self.factor)
        self.orders, self.confirmed = {}, set()
        self.wait(lambda: not self.doctor(), CALM_S)
        self.known_alerts, self.known_wrongs = self.open_alerts(), set(self.doctor())


def pause():
    """Between two looks at a condition that has no event."""
    time.sleep(processes.POLL_S)
