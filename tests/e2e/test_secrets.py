"""Secrets: planted canary values that must not come out anywhere, and renewed ones that count without a restart."""

import http.server
import json
import secrets as randoms
import signal
import subprocess
import threading
import uuid

import pika
import psycopg2

from harness import scenario, step
from local import processes
from test_bulk import driver, seen_at
from test_console import Console
from test_gateway import Gateway, logged
from test_webhooks import Hooks, wait_told

OWN = {"schedulers": 0, "agents": 0, "supervisors": 0, "services": ("till",)}  # the scenario starts the rest itself


class Safe:
    """Every secret of a scenario, for the search."""

    def __init__(self):
        self.values = set()

    def new(self):
        value = "canary" + randoms.token_hex(10)
        self.values.add(value)
        return value

    def found_in(self, text):
        return sorted(value for value in self.values if value in text)


class Till:
    """A remote service that asks for its token; the request's body selects its behaviour."""

    def __init__(self, token):
        self.token = token
        self.tokens_seen = []
        self.words_said = set()  # (key, word): for behaviour that applies once per key
        till = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # the name is the library's
                till.answer(self)
            do_DELETE = do_POST

            def log_message(self, *_words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, call):
        body = json.loads(call.rfile.read(int(call.headers.get("Content-Length", 0))) or b"{}")
        seen = call.headers.get("Authorization", "")
        self.tokens_seen.append(seen.removeprefix("Bearer "))
        word, key = body.get("want", "done"), call.headers["Idempotency-Key"]
        is_first = (key, word) not in self.words_said
        self.words_said.add((key, word))
        if word == "cut" and is_first:
            call.close_connection = True
            return
        status = 401 if seen != "Bearer " + self.token else {"decline": 422, "fail": 503 if is_first else 201}.get(word, 201)
        text = json.dumps({"status": status}).encode()
        call.send_response(status)
        call.send_header("Content-Type", "application/json")
        call.send_header("Content-Length", str(len(text)))
        call.end_headers()
        call.wfile.write(text)


class Vault:
    """A broker's user, a database's role and a remote's token, with their secrets in files that services read."""

    def __init__(self, s):
        self.s, self.safe = s, Safe()
        self.name = "user" + randoms.token_hex(6)
        self.vhost = s.url.rsplit("/", 1)[1]
        self.files = {name: s.scratch / f"secret-{name}" for name in ("amqp-url", "pg-dsn", "token")}
        self.till = Till(self.safe.new())
        self.broker_password, self.role_password = self.safe.new(), self.safe.new()
        s.servers.rabbit.add_user(self.name, self.broker_password)
        s.servers.rabbit.set_permissions(self.name, ".*", ".*", ".*", self.vhost)
        s.servers.postgres.psql(f"CREATE ROLE {self.name} LOGIN PASSWORD '{self.role_password}' IN ROLE makegood")
        self.write()
        self.agent_env = {"MAKEGOOD_AMQP_URL_FILE": str(self.files["amqp-url"]), "MAKEGOOD_LOG_LEVEL": "debug"}
        self.env = {"MAKEGOOD_PG_DSN_FILE": str(self.files["pg-dsn"]), **self.agent_env}

    def amqp_url(self, password):
        return f"amqp://{self.name}:{password}@127.0.0.1:{self.s.servers.rabbit.port}/{self.vhost}"

    def dsn(self, password):
        return f"postgresql://{self.name}:{password}@127.0.0.1:{self.s.servers.postgres.port}/{self.s.dsn.rsplit('/', 1)[1]}"

    def write(self):
        for name, text in (("amqp-url", self.amqp_url(self.broker_password)), ("pg-dsn", self.dsn(self.role_password)),
                           ("token", f"Bearer {self.till.token}")):
            self.files[name].write_text(text + "\n", encoding="ascii")
            self.files[name].chmod(0o600)

    def make(self, kind, name, *words, env=None):
        process = self.s.cluster.make(kind, name, *words)
        process.env = {**(self.agent_env if kind == "agent" else self.env), **(env or {})}
        return process

    def start(self):
        """One scheduler, one supervisor, one agent for the till, and a workflow of one step there."""
        service = self.s.scratch / "service-till.json"
        service.write_text(json.dumps({"service": "till", "url": self.till.url, "tries": 2, "try_backoff": "10ms",
                                       "headers": {"Authorization": {"file": str(self.files["token"])}}}), encoding="utf-8")
        cluster = self.s.cluster
        cluster.schedulers.append(self.make("scheduler", "scheduler-1"))
        cluster.supervisors.append(self.make("supervisor", "supervisor-1"))
        cluster.agents.append(self.make("agent", "agent-till-1", "--service", service))
        for process in cluster.all:
            process.start()
        for process in cluster.all:
            process.wait_ready()
        self.s.load_workflow("pay", [step("pay", "till", do={"method": "POST", "path": "/pay", "body": "${/payload}"})])

    def change_all(self):
        """Changes every secret: at the servers, at the remote and in the files."""
        self.broker_password, self.role_password, self.till.token = self.safe.new(), self.safe.new(), self.safe.new()
        self.s.servers.rabbit.change_password(self.name, self.broker_password)
        self.s.servers.postgres.psql(f"ALTER ROLE {self.name} PASSWORD '{self.role_password}'")
        self.write()

    def cut_all(self):
        """Ends every connection that the services have open; returns when the database's are gone."""
        pids = [row["pid"] for row in self.s.rows("SELECT pid FROM pg_stat_activity WHERE usename = %s", self.name)]
        assert pids, "the services have no session with this role"
        self.s.servers.rabbit.ctl("close_all_user_connections", self.name, "rotation")
        self.s.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", self.name)
        self.s.wait(lambda: not self.s.rows("SELECT 1 FROM pg_stat_activity WHERE pid = ANY(%s)", pids), "the old sessions end")

    def hang_up(self, process):
        """Sends SIGHUP; returns the log's line about it and the errors before it, once they are there."""
        before = log_lines(process)
        process.signal(signal.SIGHUP)
        def said():
            lines = log_lines(process)[len(before):]
            return lines if any(line["message"].startswith("SIGHUP") for line in lines) else None
        lines = self.s.wait(said, f"{process.name} has read again")
        return (next(line["read"] for line in lines if line["message"].startswith("SIGHUP")),
                [line for line in lines if line["level"] == "error"])

    def pay(self, want="done"):
        return self.s.client.submit("pay", {"want": want})

    def tool(self, *words):
        """All output of a verb, for any exit code."""
        return self.run("makegood", *words)

    def run(self, program, *words, env=None):
        done = subprocess.run([str(self.s.cluster.bin / program), *map(str, words)], text=True, capture_output=True,
                              timeout=60, check=False, cwd=self.s.scratch,
                              env={**processes.plain_environment(), **self.env, **(env or {})})
        return f"--- {program} {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}"


def log_lines(process):
    with open(process.log_path, encoding="utf-8", errors="replace") as log:
        return [json.loads(line) for line in log if line.startswith("{") and line.endswith("\n")]


def proc_text(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read().replace("\0", "\n")


def all_messages(s):
    """Bodies and properties of every message in the queues of the scenario, as text by queue."""
    names = s.servers.rabbit.ctl("list_queues", "--vhost", s.url.rsplit("/", 1)[1], "--no-table-headers", "name").split()
    found = {}
    channel = pika.BlockingConnection(pika.URLParameters(s.url)).channel()
    for name in names:
        if name == s.client.queue:  # exclusive; its messages came to the client
            found[name] = "".join(f"{body} {properties}" for body, properties in s.client.messages)
            continue
        found[name] = ""
        try:
            while True:
                method, properties, body = channel.basic_get(name)  # given back when the connection closes
                if method is None:
                    break
                found[name] += f"{body} {properties}"
        except pika.exceptions.ChannelClosedByBroker as refusal:
            if refusal.reply_code != 405:
                raise
            channel = channel.connection.channel()  # an agent's own queue for control messages
    channel.connection.close()
    return found


def misconfigured(vault):
    """The outputs of programs with secrets that are wrong in every known way."""
    wrong = vault.safe.new()
    texts = []
    for name, text in (("AMQP_URL", f"amqp://{vault.name}:{wrong}@[half/"), ("AMQP_URL", f"amqp://{vault.name}:{wrong}@h:port/"),
                       ("AMQP_URL", f"http://{vault.name}:{wrong}@h/"), ("AMQP_URL", f"amqp://{vault.name}:{wrong}@192.0.2.1/"),
                       ("PG_DSN", f"postgresql://{vault.name}:{wrong}@[half/x"), ("PG_DSN", f"host=h password={wrong} bare"),
                       ("AMQP_URL", f"amqp://{vault.name}:a@{wrong}@127.0.0.1/"),
                       ("PG_DSN", f"postgresql://{vault.name}:a@{wrong}@127.0.0.1/x"), ("PG_DSN", f"postgresql://h:{wrong}"),
                       ("PG_DSN", f"postgresql://{vault.name}:1/{wrong}@127.0.0.1/x"),
                       ("PG_DSN", f"postgresql://{vault.name}:{wrong}%zz@h/x"), ("PG_DSN", f"host=192.0.2.1 password={wrong}")):
        file = vault.s.scratch / "secret-wrong"
        file.write_text(text, encoding="ascii")
        for words in (("--check-config",), ()):
            texts.append(vault.run("makegood-scheduler", *words, env={f"MAKEGOOD_{name}_FILE": str(file)}))
            assert ": 2\n" in texts[-1], texts[-1]
    for word in (f"--amqp-url={vault.amqp_url(wrong)}", f"--pg-dsn={vault.dsn(wrong)}"):
        done = subprocess.run([str(vault.s.cluster.bin / "makegood-supervisor"), word], text=True, capture_output=True, timeout=30,
                              check=False, env=processes.plain_environment())
        assert done.returncode == 2 and "-file FILE" in done.stderr, done
        texts.append(done.stderr)
    return texts


@scenario(**OWN, long="each change waits until a service has noticed it")
def no_secret_comes_out_anywhere(s):
    """Would catch: a password or token in a command line, environment, log, table, message, metric or the tool's output."""
    vault = Vault(s)
    vault.start()
    good = vault.pay()
    s.client.wait_status(good, "processed")
    for want, word in (("cut", "processed"), ("fail", "processed"), ("decline", "compensated")):
        s.client.wait_status(vault.pay(want), word)
    for body in (b"not json", b'{"workflow": "none", "order_id": "x1", "payload": {}}', b'{"workflow": "pay"}'):
        s.client.publish(body, reply_to=s.client.queue, message_id=randoms.token_hex(4))
    s.client.wait_message(lambda body, _: body.get("order_id") == "x1" and body["status"] == "rejected", "a rejection")
    texts = {"wrong configuration": "\n".join(misconfigured(vault))}

    wrong = s.scratch / "secret-wrong-password"
    stranger = {}
    for name, text in (("AMQP_URL", vault.amqp_url(vault.safe.new())), ("PG_DSN", vault.dsn(vault.safe.new()))):
        file = wrong.with_name(f"{wrong.name}-{name}")
        file.write_text(text, encoding="ascii")
        stranger[name] = vault.make("scheduler", f"stranger-{name}", env={f"MAKEGOOD_{name}_FILE": str(file)}).start()
    for name, process in stranger.items():
        s.wait(lambda process=process: "refused" in process.tail(50) or "authentication" in process.tail(50), "it is refused")
        texts[f"{name} refused, /readyz"] = process.get("/readyz")[1]

    vault.change_all()
    for process in s.cluster.all:
        vault.hang_up(process)
    vault.cut_all()
    s.client.wait_status(vault.pay(), "processed")
    agent = s.cluster.agents[0]
    assert vault.till.tokens_seen[0] in vault.safe.values and vault.till.tokens_seen[-1] == vault.till.token

    vault.safe.values.add("Bearer")  # nor any part of the header
    for process in [*s.cluster.all, *stranger.values()]:
        for name in ("cmdline", "environ"):
            texts[f"{process.name} {name}"] = proc_text(process.pid, name)
        texts[f"{process.name} metrics"] = process.get("/metrics")[1]
    for process in stranger.values():
        process.kill()
    agent.pause()
    waiting = vault.pay()
    s.expects_open_orders = True
    s.wait_step(waiting, "pay", "running")
    agent.kill()  # the request goes back into its queue
    s.ends_badly.add(agent.name)
    s.wait(lambda: s.client.depth("agent.till.requests") > 0, "a request waits")
    for words in (("doctor",), ("order", "list"), ("order", "show", good.order_id), ("order", "explain", waiting.order_id),
                  ("alert", "list", "--all"), ("dead", "list"), ("dead", "list", "--queue", "orders.rejected"),
                  ("workflow", "list"), ("broker", "check", "--service", "till"), ("db", "status"),
                  ("order", "list", "--print-config")):
        texts[f"makegood {' '.join(words)}"] = vault.tool(*words)
    for kind in ("scheduler", "supervisor"):
        texts[f"{kind} --print-config"] = vault.run(f"makegood-{kind}", "--print-config")
    for path in s.scratch.glob("*.log"):
        texts[path.name] = path.read_text(encoding="utf-8", errors="replace")
    texts.update({f"queue {name}": text for name, text in all_messages(s).items()})
    texts["database"] = subprocess.run([s.servers.postgres.bin / "pg_dump", "--dbname", s.dsn], capture_output=True, text=True,
                                       check=True, timeout=60).stdout

    for place, word in (("database", good.order_id), ("queue agent.till.requests", waiting.order_id), ("scheduler-1 environ",
                        "MAKEGOOD_PG_DSN_FILE"), ("scheduler-1.log", vault.name), ("stranger-PG_DSN.log", vault.name),
                        ("agent-till-1 metrics", "till"), ("queue orders.rejected", "not json"), ("scheduler-1 cmdline", "--http"),
                        (f"makegood order show {good.order_id}", good.order_id), ("scheduler --print-config", "secret, not shown")):
        assert word in texts[place], f"{place} was not looked into: {word} should be there\n{texts[place][:2000]}"
    leaks = {place: vault.safe.found_in(text) for place, text in texts.items() if vault.safe.found_in(text)}
    assert not leaks, "\n".join(f"{place}: {values}" for place, values in leaks.items())


@scenario(**OWN, long="each change waits until a service has noticed it")
def renewed_secrets_count_without_a_restart(s):
    """Would catch: a password that cannot be changed without a stop of the services that use it."""
    vault = Vault(s)
    vault.start()
    s.client.wait_status(vault.pay(), "processed")
    pids = [process.pid for process in s.cluster.all]
    old = vault.dsn(vault.role_password)
    vault.change_all()
    try:
        psycopg2.connect(old).close()
        raise AssertionError("the old password is still good")
    except psycopg2.OperationalError:
        pass
    for process in s.cluster.all:
        read, errors = vault.hang_up(process)
        expected = ["amqp-url (new)", "headers of till (new)" if "agent" in process.name else "pg-dsn (new)"]
        assert read.split(", ") == expected and not errors, (process.name, read, errors)
    s.client.wait_status(vault.pay(), "processed")  # on the connections that were open
    vault.cut_all()
    s.client.wait_status(vault.pay(), "processed")
    for process in s.cluster.all:
        process.wait_ready()
    assert [process.pid for process in s.cluster.all] == pids
    assert vault.till.tokens_seen[-1] == vault.till.token


@scenario(**OWN, long="each change waits until a service has noticed it")
def a_console_takes_renewed_secrets_without_a_restart(s):
    """Would catch: a part of the console, or its runner of bulk actions, that keeps using the old password."""
    vault = Vault(s)
    vault.start()
    console = Console(s, env=vault.env)
    console.login("reader")
    s.wait(lambda: driver(s) != "", "it drives bulk actions")
    vault.change_all()
    assert vault.hang_up(console.process) == ("amqp-url (new), pg-dsn (new), tokens-file (new)", [])
    for process in s.cluster.all:
        vault.hang_up(process)
    vault.cut_all()
    cut_at = s.rows("SELECT clock_timestamp() AS now")[0]["now"]
    s.wait(lambda: console.ask("GET", "/api/v1/orders")[0] == 200, "it asks the database with the new one")
    s.wait(lambda: console.ask("GET", "/api/v1/dead")[0] == 200, "and the broker")
    s.wait(lambda: seen_at(s) > cut_at, "and drives bulk actions")


@scenario(**OWN, long="each change waits until a service has noticed it")
def a_gateway_takes_renewed_secrets_without_a_restart(s):
    """Would catch: a part of the gateway that keeps using the old password, or a webhook that begins with it."""
    vault = Vault(s)
    vault.start()
    hooks = Hooks(s, "shop", "other")
    hooks.write("shop")
    door = Gateway(s, "--webhooks-file", hooks.path, env=vault.env)
    door.process.wait_ready()
    vault.change_all()
    for read in ("amqp-url (new), pg-dsn (new)", "amqp-url (unchanged), pg-dsn (unchanged)"):
        assert vault.hang_up(door.process) == (read + ", tokens-file (new), webhooks-file (new)", [])
        hooks.write()
    s.wait(lambda: logged(door, "client.other.webhook"), "the new webhook's queue is read")
    for process in s.cluster.all:
        vault.hang_up(process)
    vault.cut_all()
    for client, receiver in hooks.receivers.items():
        order_id = str(uuid.uuid4())
        s.wait(lambda client=client, order_id=order_id: door.ask(
            "POST", "/v1/orders", json.dumps({"order_id": order_id, "workflow": "pay", "payload": {"want": "done"}}), client=client)[0] == 202,
            f"it takes an order of {client}")
        wait_told(s, receiver, [order_id])
        s.wait(lambda client=client: door.ask("GET", "/v1/orders", client=client)[0] == 200, f"it lists the orders of {client}")
    hooks.end()


@scenario(**OWN, long="each change waits until a service has noticed it")
def secrets_that_cannot_be_read_again_leave_the_old_ones_in_use(s):
    """Would catch: a mistake in a secret's file that takes a running service down, or that is not logged."""
    vault = Vault(s)
    vault.start()
    scheduler, agent = s.cluster.schedulers[0], s.cluster.agents[0]
    assert vault.hang_up(scheduler) == ("amqp-url (unchanged), pg-dsn (unchanged)", [])
    vault.files["amqp-url"].write_text("http://" + vault.safe.new(), encoding="ascii")
    vault.files["pg-dsn"].unlink()
    vault.files["token"].write_text("two\nlines", encoding="ascii")
    for process, names in ((scheduler, {"amqp-url": "amqp", "pg-dsn": "No such file"}),
                           (agent, {"amqp-url": "amqp", "headers of till": "one line"})):
        read, errors = vault.hang_up(process)
        assert read == "none" and {line["what"] for line in errors} == set(names), (read, errors)
        for line in errors:
            assert names[line["what"]] in line["reason"] and not vault.safe.found_in(json.dumps(line)), line
    vault.cut_all()
    s.client.wait_status(vault.pay(), "processed")  # with the previous secrets
    for process in s.cluster.all:
        process.wait_ready()
