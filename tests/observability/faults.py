"""The faults that make Prometheus' rules fire: each a real fault, on a running Makegood.

A fault names its rules. It is begun, kept up while it lasts (`go_on`), and mended as soon as all its rules fire; then they have to
fall silent. Faults of one stage run side by side and do not hide each other; stages follow each other. Every rule of the file
belongs to one fault.
"""

import http.server
import json
import os
import resource
import signal
import struct
import subprocess
import threading
import time
import uuid

import pika

import slow_sweeps
from local import cluster, processes, servers

STOPPED_S, RUNNING_S = 2.0, 2.0  # of a stuttering process; shorter than any heartbeat and any gap in sweeping


def step(name, service, after=(), **fields):
    """A step with the order's payload as its request, at the sample's inventory or another remote behind `service`."""
    return {"step": name, "service": service, "after": list(after), "complete_within": "5s", "undo": "none",
            "do": {"method": "POST", "path": "/reservations", "body": "${/payload}"}, **fields}


class Stutter:
    """Processes that stall and run by turns, as on an overloaded disk or machine."""

    def __init__(self, *roots):
        self.roots, self.is_stopped, self.turn_at, self.stopped = roots, False, 0.0, []

    def go_on(self):
        if time.monotonic() < self.turn_at:
            return
        if self.is_stopped:
            self.resume()
            self.turn_at = time.monotonic() + RUNNING_S
            return
        for root in self.roots:
            if root.is_running():
                self.stopped += [root.pid] + processes.descendants(root.pid)
        self.send(signal.SIGSTOP)
        self.is_stopped, self.turn_at = True, time.monotonic() + STOPPED_S

    def send(self, number):
        for pid in self.stopped:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass  # one of its children has ended meanwhile

    def resume(self):
        self.send(signal.SIGCONT)
        self.stopped, self.is_stopped = [], False


class Fault:
    """One fault. `show` is the running system (observe.py)."""

    rules = ()
    about = ""         # its description, for people
    is_lasting = False  # its rules look back over minutes: others go on while they run out
    orders_come = True  # False: orders cannot be posted meanwhile

    def __init__(self, show):
        self.show, self.cluster, self.servers, self.traffic = show, show.cluster, show.servers, show.traffic

    def begin(self):
        raise NotImplementedError

    def go_on(self):
        """Called repeatedly until the fault is mended."""

    def mend(self):
        raise NotImplementedError

    # --- shared by several --------------------------------------------------------------------------------------------

    def load(self, name, *steps, **fields):
        path = self.show.scratch / f"{name}.json"
        path.write_text(json.dumps({"workflow": name, "version": 1, "complete_within": "1h", "on_failure": "error", "steps": steps,
                                    **fields}), encoding="utf-8")
        self.cluster.tool("workflow", "load", path)

    def post(self, workflow, payload=None, count=1, **properties):
        """The ids of new orders."""
        ids = [str(uuid.uuid4()) for _ in range(count)]
        for order_id in ids:
            text = json.dumps({"order_id": order_id, "workflow": workflow, "payload": payload or {"n": 1}})
            self.wait(lambda text=text: self.traffic.post(text, **properties), f"an order of {workflow} is posted")
        return ids

    def load_schedule(self, name, **fields):
        path = self.show.scratch / f"{name}.schedule.json"
        path.write_text(json.dumps({"schedule": name, "workflow": name, "every": "10s", **fields}), encoding="utf-8")
        self.cluster.tool("schedule", "load", path, "--reason", "a fault")

    def sql(self, text):
        return self.servers.postgres.psql(text)

    def wait(self, condition, what, timeout_s=60):
        return self.show.wait(condition, what, timeout_s)

    def wait_row(self, sql):
        return self.wait(lambda: self.sql(sql), f"there is a row: {sql}", 300)

    def agent(self, service, *words, concurrency=64):
        """Starts a further agent, of a service of its own, behind which the sample's inventory runs."""
        path = self.show.scratch / f"service-{service}.json"
        path.write_text(json.dumps({"service": service, "url": self.cluster.remotes["inventory"].url, "tries": 1,
                                    "concurrency": concurrency}), encoding="utf-8")
        self.cluster.tool("broker", "apply", "--service", service)
        agent = self.cluster.make("agent", f"agent-{service}-1", "--service", path, *words)
        agent.start()
        return agent.wait_ready()

    def ack(self, code):
        for row in self.sql(f"SELECT alert_id FROM operator_alert WHERE code = '{code}' AND closed_at IS NULL"):
            self.cluster.tool("alert", "ack", row[0], "--reason", "seen")


# --- services, orders, figures: side by side ---------------------------------------------------------------------------


class AgentsDie(Fault):
    rules = ("MakegoodPartDown", "MakegoodServiceUnserved")
    about = "the agents of carrier die over their work"

    def begin(self):
        carrier = self.cluster.remotes["carrier"]
        carrier.switch("slow:3000", on="do")
        self.wait(lambda: carrier.load()["now"] >= 4, "calls of carrier are under way")
        for agent in self.cluster.agents_of("carrier"):
            agent.kill()

    def mend(self):
        self.cluster.remotes["carrier"].switch("order")
        self.show.start_again(*self.cluster.agents_of("carrier"))


class ServiceFileIsBroken(Fault):
    rules = ("MakegoodServiceFileRefused",)
    about = "half of a service file lies in a folder of agents"

    def begin(self):
        folder = self.show.scratch / "services"
        folder.mkdir()
        self.file = folder / "crates.json"
        self.text = json.dumps({"service": "crates", "url": self.cluster.remotes["inventory"].url})
        self.file.write_text(self.text, encoding="utf-8")
        self.cluster.tool("broker", "apply", "--service", "crates")
        port = processes.free_port()
        agents = processes.Process("agents", [self.cluster.bin / "makegood", "agents", folder, "--listen", f"127.0.0.1:{port}"],
                                   self.show.scratch / "agents.log", http_port=port, env={**self.cluster.env, **self.cluster.tool_env})
        agents.start()
        self.show.watch_too("agents", agents.wait_ready())
        self.file.write_text(self.text[:len(self.text) // 2], encoding="utf-8")

    def mend(self):
        self.file.write_text(self.text, encoding="utf-8")


class BindingIsLost(Fault):
    rules = ("MakegoodAgentMute",)
    about = "the replies of a service are not bound to their queue any more"

    def begin(self):
        self.mailer = self.agent("mailer")
        self.show.watch_too("agent-mailer", self.mailer)
        connection = pika.BlockingConnection(pika.URLParameters(self.servers.rabbit.url))
        connection.channel().queue_unbind("scheduler.replies", "makegood.replies.mailer", "scheduler.replies")
        connection.close()

    def mend(self):
        self.cluster.tool("broker", "apply", "--service", "mailer")
        self.mailer.wait_ready()


class RemoteIsAway(Fault):
    rules = ("MakegoodBreakerOpen",)
    about = "payment's service is away"

    def begin(self):
        self.cluster.remotes["payment"].process.kill()

    def mend(self):
        self.cluster.remotes["payment"].start()


class OrdersFail(Fault):
    """A declined order stays until the rule about alerts that stay has fired, too."""
    rules = ("MakegoodOrdersInError", "MakegoodAlertOpen")
    about = "orders are declined, and nobody sees to them"
    is_lasting = True

    def begin(self):
        self.load("stops", step("reserve", "inventory"))
        self.post("stops", {"behaviour": "decline"}, 3)

    def mend(self):
        self.cluster.tool("bulk", "start", "compensate", "--workflow", "stops", "--canary", 0, "--rate", 50, "--reason", "not worth it")
        self.show.drive_bulk_actions()


class BulkActionFails(Fault):
    rules = ("MakegoodBulkStopped",)
    about = "orders that were declined are sent again, and are declined again"

    def begin(self):
        self.load("again", step("reserve", "inventory"))
        ids = self.post("again", {"behaviour": "decline"}, 8)
        self.wait_row(f"SELECT 1 FROM order_process WHERE workflow = 'again' AND process_state = 'error' HAVING count(*) = {len(ids)}")
        self.cluster.tool("bulk", "start", "resume", "--workflow", "again", "--canary", 3, "--rate", 50, "--reason", "it is mended")
        self.show.drive_bulk_actions()

    def mend(self):
        self.ack("bulk_stopped")
        self.cluster.tool("bulk", "start", "compensate", "--workflow", "again", "--canary", 0, "--rate", 50, "--reason", "it is not")


class LineIsHeld(Fault):
    rules = ("MakegoodLineHeld",)
    about = "an order in error holds up another one of its key for ten minutes"

    def begin(self):
        self.load("held", step("reserve", "inventory"), sequence={"key": "held"})
        self.post("held", {"behaviour": "decline"})
        self.wait_row("SELECT 1 FROM order_process WHERE workflow = 'held' AND process_state = 'error'")
        self.post("held")
        self.wait_row("SELECT 1 FROM sequence_key WHERE key = 'held' AND length = 2")
        self.sql("UPDATE sequence_key SET since = since - interval '11 minutes' WHERE key = 'held'")

    def mend(self):
        self.cluster.tool("order", "release", self.sql("SELECT order_id FROM sequence_key WHERE key = 'held'"), "--reason", "the other is wanted")


class SignalFindsNobody(Fault):
    rules = ("MakegoodSignalUnmatched",)
    about = "a signal came a day ago with the key of no order"

    def begin(self):
        self.sql("INSERT INTO signal_by_key (signal, signal_id, key, payload, by_whom, received_at)"
                 " VALUES ('paid', 'evt_1', 'nobody', '1', 'client:psp', clock_timestamp() - interval '25 hours')")

    def mend(self):
        self.sql("DELETE FROM signal_by_key")


class ScheduleIsRefused(Fault):
    rules = ("MakegoodScheduleMissed",)
    about = "a schedule names a workflow that is not loaded"

    def begin(self):
        self.load_schedule("refused", workflow="nothing")

    def mend(self):
        self.cluster.tool("schedule", "delete", "refused", "--reason", "it names no workflow")
        self.ack("schedule_missed")


class ScheduleIsDamaged(Fault):
    rules = ("MakegoodScheduleLate",)
    about = "no scheduler can read the definition of a schedule"

    def begin(self):
        self.load_schedule("damaged")
        self.sql("UPDATE schedule SET definition = '{}' WHERE name = 'damaged'")

    def mend(self):
        self.cluster.tool("schedule", "delete", "damaged", "--reason", "it is damaged")


class ArchiveHasNoDay(Fault):
    rules = ("MakegoodRetentionStands",)
    about = "ended orders should leave for an archive that nobody made room in"

    def begin(self):
        self.cluster.tool("db", "vacuum-policy", "--hot", "1d", "--reason", "they fill the disk")

    def mend(self):
        self.cluster.tool("db", "retain")


class NonsenseComes(Fault):
    rules = ("MakegoodDeadLetters",)
    about = "a message is none of ours"

    def begin(self):
        self.traffic.post("not a reply", "makegood.replies", "scheduler.replies", type="reply")

    def mend(self):
        self.cluster.tool("dead", "drop", "--all", "--reason", "nonsense")


class DatabaseRefuses(Fault):
    """By an added constraint: Makegood turns away all values that PostgreSQL itself would refuse."""
    rules = ("MakegoodPoisoned",)
    about = "the database refuses an order"
    is_lasting = True

    def begin(self):
        self.load("refused", step("reserve", "inventory"))
        self.sql("ALTER TABLE order_process ADD CONSTRAINT observe CHECK (workflow <> 'refused') NOT VALID")
        self.order = self.post("refused")[0]

    def mend(self):
        self.sql("ALTER TABLE order_process DROP CONSTRAINT observe")
        self.cluster.tool("dead", "requeue", "--all", "--reason", "the constraint is gone")
        self.wait_row(f"SELECT 1 FROM order_process WHERE order_id = '{self.order}' AND process_state = 'processed'")
        self.ack("poisoned")


class RowIsLocked(Fault):
    rules = ("MakegoodOrdersAside",)
    about = "another session locks the row of an order"

    def begin(self):
        self.load("locked", step("reserve", "inventory"))
        for agent in self.cluster.agents_of("inventory"):
            agent.pause()
        order = self.post("locked")[0]
        self.wait_row(f"SELECT 1 FROM order_step WHERE order_id = '{order}' AND state = 'running'")
        self.lock = subprocess.Popen([self.servers.postgres.bin / "psql", "-X", "-q", "-d", self.servers.postgres.dsn], stdin=subprocess.PIPE,
                                     text=True)
        self.lock.stdin.write(f"BEGIN; SELECT FROM order_process WHERE order_id = '{order}' FOR UPDATE;\n")
        self.lock.stdin.flush()
        self.wait_row("SELECT 1 FROM pg_locks WHERE mode = 'RowShareLock' AND relation = 'order_process'::regclass AND granted")
        for agent in self.cluster.agents_of("inventory"):
            agent.resume()

    def mend(self):
        self.lock.stdin.close()  # psql ends, and its transaction with it
        self.lock.wait()


class RowsLie(Fault):
    """The attempt of a step on the way forward becomes one of an undo. No agent answers it, so it is judged, again and again."""
    rules = ("MakegoodImpossible",)
    about = "somebody changes a row by hand: a step on the way forward runs an undo"
    is_lasting = True

    def begin(self):
        self.load("lies", step("reserve", "inventory", retry={"attempts": 50, "backoff": "200ms", "max_backoff": "1s"}))
        self.order = self.post("lies", {"behaviour": "silent:8"})[0]
        self.wait_row(f"SELECT 1 FROM order_step WHERE order_id = '{self.order}' AND state = 'running'")
        self.falsify("undo")

    def falsify(self, kind):
        """With a new version, so that a scheduler with the order in its cache reads it anew."""
        self.sql(f"WITH process AS (UPDATE order_process SET version = version + 1 WHERE order_id = '{self.order}' RETURNING order_id)"
                 f" UPDATE order_step s SET kind = '{kind}' FROM process WHERE s.order_id = process.order_id")

    def mend(self):
        self.falsify("do")


class RowsForget(Fault):
    """It is mended by the runbook."""
    rules = ("MakegoodInvariantViolation",)
    about = "somebody changes a row by hand: what a step waited for is gone"

    def begin(self):
        self.cluster.tool("broker", "apply", "--service", "nobody")
        self.load("forgets", step("first", "inventory"), step("second", "nobody", ["first"]))
        self.order = self.post("forgets")[0]
        self.wait_row(f"SELECT 1 FROM order_step WHERE order_id = '{self.order}' AND step = 'second' AND state = 'waiting'")
        self.sql(f"WITH process AS (UPDATE order_process SET version = version + 1, wake_at = clock_timestamp()"
                 f" WHERE order_id = '{self.order}' RETURNING order_id)"
                 " UPDATE order_step s SET due_at = NULL FROM process WHERE s.order_id = process.order_id AND s.step = 'second'")

    def mend(self):
        self.cluster.tool("order", "cancel", self.order, "--reason", "nobody serves it")


class AttemptsExpire(Fault):
    """Supervisors judge few at once here (OVERDUE_LIMIT), so that hundreds are many. The agent is stopped before it has them."""
    rules = ("MakegoodMassExpiry", "MakegoodSweepLate", "MakegoodExpirations")
    about = "an agent that has hundreds of requests stalls"
    is_lasting = True
    ORDERS = 600

    def begin(self):
        self.load("hurries", step("reserve", "desk", retry={"attempts": 50, "backoff": "200ms", "max_backoff": "1s"}))
        self.desk = self.agent("desk")
        self.desk.pause()
        self.post("hurries", count=self.ORDERS)

    def mend(self):
        self.desk.resume()


class SweepsAreSlow(Fault):
    rules = ("MakegoodSweepSlow",)
    about = "the database takes four seconds for a sweep"

    def begin(self):
        slow_sweeps.begin(self.servers.postgres, servers.DATABASE, 4)

    def mend(self):
        slow_sweeps.end(self.servers.postgres, servers.DATABASE)


class TableIsLocked(Fault):
    rules = ("MakegoodStandstill",)
    about = "another session locks a table of orders"

    def begin(self):
        self.load("stands", step("reserve", "inventory"))
        self.lock = subprocess.Popen([self.servers.postgres.bin / "psql", "-X", "-q", "-d", self.servers.postgres.dsn], stdin=subprocess.PIPE,
                                     text=True)
        self.lock.stdin.write("BEGIN; LOCK TABLE order_process IN ACCESS EXCLUSIVE MODE;\n")
        self.lock.stdin.flush()
        self.wait_row("SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'order_process'::regclass AND granted")
        self.post("stands")

    def mend(self):
        self.lock.stdin.close()  # psql ends, and its transaction with it
        self.lock.wait()


class ServiceIsSlow(Fault):
    rules = ("MakegoodServiceBehind",)
    about = "a service takes three seconds for each call, one at a time"
    ORDERS = 250

    def begin(self):
        self.load("queues", step("reserve", "till", complete_within="20m"))
        self.till = self.agent("till", concurrency=1)
        self.post("queues", {"behaviour": "slow:3000"}, self.ORDERS)

    def mend(self):
        self.cluster.remotes["inventory"].switch("normal")
        self.wait_row("SELECT 1 FROM order_process WHERE workflow = 'queues' AND process_state <> 'processed' HAVING count(*) = 0")
        self.cluster.remotes["inventory"].switch("order")


class ClientIsGone(Fault):
    rules = ("MakegoodStatusesOwed",)
    about = "the queue that a client wants its statuses in is not there"
    QUEUE = "observe.statuses"

    def begin(self):
        self.load("tells", step("reserve", "inventory"))
        self.post("tells", reply_to=self.QUEUE)

    def mend(self):
        self.traffic.connect()
        self.traffic.channel.queue_declare(self.QUEUE)


class WebhookIsAway(Fault):
    rules = ("MakegoodWebhookFailing",)
    about = "nothing listens at the address of a client's webhook"
    is_lasting = True

    def begin(self):
        self.load("hooked", step("reserve", "inventory"))
        self.cluster.tool("broker", "apply", "--webhook", "--client", "hooked")
        port, target = processes.free_port(), processes.free_port()
        folder = self.show.scratch
        (folder / "hook-secrets").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", encoding="ascii")
        (folder / "hooks").write_text(f"hooked http://127.0.0.1:{target}/ hook-secrets\n", encoding="ascii")
        (folder / "hook-tokens").write_text(f"read hooked {'1' * 64}\n", encoding="ascii")
        gateway = processes.Process(
            "gateway", [self.cluster.bin / "makegood", "gateway", "--listen", f"127.0.0.1:{port}", "--tokens-file", folder / "hook-tokens",
                        "--webhooks-file", folder / "hooks"],
            folder / "gateway.log", http_port=port, env={**self.cluster.env, **self.cluster.tool_env})
        gateway.start()
        self.show.watch_too("gateway", gateway.wait_ready())
        self.target = target
        self.post("hooked", exchange="makegood.intake.hooked", reply_to="client.hooked.webhook")

    def mend(self):
        class Taker(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_words):
                pass

        taker = http.server.ThreadingHTTPServer(("127.0.0.1", self.target), Taker)
        threading.Thread(target=taker.serve_forever, daemon=True).start()


class WebhookHasNoQueue(Fault):
    rules = ("MakegoodWebhookUnread",)
    about = "the queue of a client's webhook is deleted"
    QUEUE = "client.unread.webhook"

    def begin(self):
        self.cluster.tool("broker", "apply", "--webhook", "--client", "unread")
        port, folder = processes.free_port(), self.show.scratch
        (folder / "unread-secrets").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", encoding="ascii")
        (folder / "unread-hooks").write_text("unread http://127.0.0.1:9/ unread-secrets\n", encoding="ascii")
        (folder / "unread-tokens").write_text(f"read unread {'3' * 64}\n", encoding="ascii")
        gateway = processes.Process(
            "gateway-unread", [self.cluster.bin / "makegood", "gateway", "--listen", f"127.0.0.1:{port}", "--tokens-file",
                               folder / "unread-tokens", "--webhooks-file", folder / "unread-hooks"],
            folder / "gateway-unread.log", http_port=port, env={**self.cluster.env, **self.cluster.tool_env})
        gateway.start()
        self.show.watch_too("gateway-unread", gateway.wait_ready())
        self.traffic.connect()
        self.traffic.channel.queue_delete(self.QUEUE)

    def mend(self):
        self.cluster.tool("broker", "apply", "--webhook", "--client", "unread")


class WebhookIsSlow(Fault):
    rules = ("MakegoodWebhookBehind",)
    about = "the target of a client's webhook takes ten seconds for each status, one at a time"
    is_lasting = True
    ORDERS = 60

    def begin(self):
        self.waits = threading.Event()
        fault = self

        class Slow(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                self.rfile.read(int(self.headers["Content-Length"]))
                fault.waits.wait(10)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_words):
                pass

        target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
        threading.Thread(target=target.serve_forever, daemon=True).start()
        self.load("slowhooked", step("reserve", "inventory"))
        self.cluster.tool("broker", "apply", "--webhook", "--client", "slowhooked")
        port, folder = processes.free_port(), self.show.scratch
        (folder / "slow-secrets").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", encoding="ascii")
        (folder / "slow-hooks").write_text(f"slowhooked http://127.0.0.1:{target.server_address[1]}/ slow-secrets concurrency=1\n", encoding="ascii")
        (folder / "slow-tokens").write_text(f"read slowhooked {'2' * 64}\n", encoding="ascii")
        gateway = processes.Process(
            "gateway-slow", [self.cluster.bin / "makegood", "gateway", "--listen", f"127.0.0.1:{port}", "--tokens-file", folder / "slow-tokens",
                             "--webhooks-file", folder / "slow-hooks"],
            folder / "gateway-slow.log", http_port=port, env={**self.cluster.env, **self.cluster.tool_env})
        gateway.start()
        self.show.watch_too("gateway-slow", gateway.wait_ready())
        for _ in range(self.ORDERS):
            self.post("slowhooked", exchange="makegood.intake.slowhooked", reply_to="client.slowhooked.webhook")

    def mend(self):
        self.waits.set()


class ClockIsWrong(Fault):
    rules = ("MakegoodClockSkew",)
    about = "the clock of an agent's machine is a second and a half ahead"
    AHEAD_MS = 1500

    def begin(self):
        library, self.clock = self.show.scratch / "clock.so", self.show.scratch / "clock"
        source = cluster.REPOSITORY / "tests" / "chaos" / "skew.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source, "-ldl"], check=True)
        self.set(self.AHEAD_MS)
        agent = self.cluster.make_agent("inventory", 3)
        agent.env.update(LD_PRELOAD=str(library), CHAOS_CLOCK=str(self.clock))
        agent.start()
        self.show.watch_too("agent-inventory", agent.wait_ready())

    def set(self, ahead_ms):
        """In place: the process has the file mapped."""
        with open(self.clock, "r+b" if self.clock.exists() else "wb") as file:
            file.write(struct.pack("=q", ahead_ms))

    def mend(self):
        self.set(0)


class AnotherDatabase(Fault):
    """Of one database only one leads. Two lead for some seconds if one has stalled or was cut off, and always with two
    databases."""
    rules = ("MakegoodTwoLeaders",)
    about = "a supervisor is started with another database"

    def begin(self):
        self.servers.postgres.create_database("other")
        env = {"MAKEGOOD_AMQP_URL": self.servers.rabbit.url, "MAKEGOOD_PG_DSN": self.servers.postgres.dsn_of("other")}
        self.cluster.tool("db", "migrate", "--migrations", self.cluster.migrations, env=env)
        self.supervisor = self.cluster.make("supervisor", "supervisor-other")
        self.supervisor.env.update(env)
        self.supervisor.start()
        self.show.watch_too("supervisor", self.supervisor.wait_ready())

    def mend(self):
        self.supervisor.terminate()
        self.show.watch_no_more(self.supervisor)


class LoopStandsStill(Fault):
    rules = ("MakegoodLoopLate",)
    about = "an agent stalls for two seconds in four"

    def begin(self):
        self.stutter = Stutter(self.cluster.agents_of("inventory")[1])

    def go_on(self):
        self.stutter.go_on()

    def mend(self):
        self.stutter.resume()


class DescriptorsRunOut(Fault):
    rules = ("MakegoodDescriptorsShort",)
    about = "a supervisor may open few files more than it has open"

    def begin(self):
        self.victim = self.cluster.supervisors[-1]
        self.limits = resource.prlimit(self.victim.pid, resource.RLIMIT_NOFILE)
        seen = int(self.victim.metric("process_open_fds")) - 1  # by Prometheus, which adds one connection of its own
        resource.prlimit(self.victim.pid, resource.RLIMIT_NOFILE, ((seen * 10 - 1) // 8, self.limits[1]))

    def mend(self):
        resource.prlimit(self.victim.pid, resource.RLIMIT_NOFILE, self.limits)


# --- servers that are slow ---------------------------------------------------------------------------------------------


class ServersStutter(Fault):
    rules = ("MakegoodSlowStore", "MakegoodSlowBroker")
    about = "PostgreSQL and RabbitMQ stall for two seconds in four"
    is_lasting = True

    def begin(self):
        self.stutter = Stutter(self.servers.postgres.process, self.servers.rabbit.process)

    def go_on(self):
        self.stutter.go_on()

    def mend(self):
        self.stutter.resume()


class WorkflowsAreMany(Fault):
    """The series have no room until the process is started again."""
    rules = ("MakegoodMetricsOverflow",)
    about = "orders of more workflows come than a process has series for"
    WORKFLOWS = 900  # each has a series of its own for each state of its orders
    WORDS_MAX = 64  # of one command

    def begin(self):
        paths = []
        for n in range(self.WORKFLOWS):
            paths.append(self.show.scratch / f"many-{n}.json")
            paths[-1].write_text(json.dumps({"workflow": f"many-{n}", "version": 1, "complete_within": "1h", "on_failure": "error",
                                             "steps": [step("reserve", "inventory")]}), encoding="utf-8")
        for n in range(0, self.WORKFLOWS, self.WORDS_MAX):
            self.cluster.tool("workflow", "load", *paths[n:n + self.WORDS_MAX])
        for n in range(self.WORKFLOWS):
            self.post(f"many-{n}")

    def mend(self):
        self.wait_row("SELECT 1 FROM order_process WHERE workflow LIKE 'many-%' AND process_state <> 'processed' HAVING count(*) = 0")
        full = [process for process in self.cluster.schedulers + self.cluster.supervisors
                if process.metric("makegood_metrics_overflow_total") > 0]
        for process in full:
            process.terminate()
        self.show.start_again(*full)


# --- messages without a consumer --------------------------------------------------------------------------------------


class SchedulersDie(Fault):
    rules = ("MakegoodNoScheduler", "MakegoodQueueOld", "MakegoodBacklog")
    about = "both schedulers die, and more than ten thousand orders come"
    MESSAGES = 10500

    def begin(self):
        for scheduler in self.cluster.schedulers:
            scheduler.kill()
        text = json.dumps({"order_id": str(uuid.uuid4()), "workflow": "fulfilment", "payload": {"items": [], "total": 1, "currency": "EUR",
                                                                                            "carrier": "", "ship_to": {}}})
        for _ in range(self.MESSAGES):  # one order again and again, by a client that ignores the confirms
            self.traffic.post(text)

    def mend(self):
        self.show.start_again(*self.cluster.schedulers)


class CountingFails(Fault):
    rules = ("MakegoodFiguresMissing",)
    about = "somebody locks a table that is counted, for minutes"

    def begin(self):
        psql = self.servers.postgres.bin / "psql"
        self.locker = processes.Process("locker", [
            psql, "-X", "-d", self.servers.postgres.dsn, "-c",
            "BEGIN; LOCK TABLE operator_alert IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3600)"], self.show.scratch / "locker.log",
            env={"PGAPPNAME": "locker"}).start()

    def mend(self):
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'locker'")
        self.locker.wait_end()


class SupervisorsDie(Fault):
    rules = ("MakegoodNoLeader",)
    about = "both supervisors die"

    def begin(self):
        for supervisor in self.cluster.supervisors:
            supervisor.kill()

    def mend(self):
        self.show.start_again(*self.cluster.supervisors)


class RabbitIsShort(Fault):
    rules = ("RabbitMQAlarm",)
    about = "RabbitMQ has too little memory left"
    orders_come = False

    def begin(self):
        self.servers.rabbit.ctl("set_vm_memory_high_watermark", "0.00001")

    def mend(self):
        self.servers.rabbit.ctl("set_vm_memory_high_watermark", "0.4")


class ServersDie(Fault):
    rules = ("MakegoodBrokerAway", "MakegoodStoreAway")
    about = "RabbitMQ and PostgreSQL die"
    orders_come = False

    def begin(self):
        self.servers.rabbit.kill()
        self.servers.postgres.kill()

    def mend(self):
        self.servers.postgres.restart()
        self.servers.rabbit.restart()


OVERDUE_LIMIT = 2  # of the supervisors; see AttemptsExpire
STAGES = (
    (OrdersFail, AgentsDie, RemoteIsAway, BindingIsLost, ServiceFileIsBroken, BulkActionFails, LineIsHeld, SignalFindsNobody, ScheduleIsRefused, ScheduleIsDamaged, ArchiveHasNoDay, NonsenseComes, RowsLie, RowsForget, AttemptsExpire, ServiceIsSlow,
     ClientIsGone, WebhookIsAway, WebhookHasNoQueue, WebhookIsSlow, ClockIsWrong, AnotherDatabase, LoopStandsStill, DescriptorsRunOut),
    (DatabaseRefuses,),  # dead letters are requeued: so no nonsense may lie next to them
    (ServersStutter,),
    (SweepsAreSlow,),
    (TableIsLocked,),
    (RowIsLocked,),
    (WorkflowsAreMany,),
    (SchedulersDie, CountingFails),
    (SupervisorsDie,),
    (RabbitIsShort,),
    (ServersDie,),
)


def check(rules):
    """Faults in the table above, given the names of all rules."""
    fired = [rule for stage in STAGES for fault in stage for rule in fault.rules]
    yield from (f"no fault makes {rule} fire" for rule in sorted(set(rules) - set(fired)))
    yield from (f"there is no rule {rule}" for rule in sorted(set(fired) - set(rules)))
    yield from (f"{rule} is of several faults" for rule in sorted(set(fired)) if fired.count(rule) > 1)
