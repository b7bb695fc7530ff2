"""Makegood running on this machine: schema and topology made, workflows loaded, N of each service, the sample remotes.

A cluster is given its servers (a PostgreSQL DSN and an AMQP URL); whether they are private ones of servers.py or parts of
shared ones is no matter here.
"""

import hashlib
import json
import os
import pathlib
import secrets
import shutil
import ssl
import subprocess
import tempfile
import urllib.parse
import urllib.request

from .processes import Failure, Process, free_port, plain_environment, wait_until
from .servers import connects

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = REPOSITORY / "deploy" / "sample"
REPORT_S = 120  # of a remote's ledger after some 100,000 orders
SERVICES = ("inventory", "payment", "carrier")  # those that the sample remote plays


def make_scratch(prefix="makegood-"):
    """A folder of our own; others may pass through it, because PostgreSQL runs under its own account below it."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix=prefix))
    scratch.chmod(0o711)
    return scratch


def write_tokens(path, people):
    """A file of the console's tokens; people: (role, name, token)."""
    lines = [f"{role} {name} {hashlib.sha256(token.encode()).hexdigest()}\n" for role, name, token in people]
    path.write_text("# role, name, SHA-256 of the token\n" + "".join(lines), encoding="utf-8")


class Remote:
    """One sample remote service with its ledger."""

    def __init__(self, cluster, service):
        self.service = service
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.context = None  # of TLS, for our own requests
        self.ledger = cluster.scratch / f"ledger-{service}.sqlite"
        self.process = Process(f"remote-{service}",
                               [cluster.bin / "makegood-sample-remote", "--service", service, "--listen",
                                f"127.0.0.1:{self.port}", "--ledger", self.ledger],
                               cluster.scratch / f"remote-{service}.log")

    def start(self):
        self.process.start()
        wait_until(lambda: connects(self.port), f"{self.process.name} listens", alive=self.process)

    def use_tls(self, folder, client):
        """HTTPS from its next start on, with the certificate in `folder`; `client` is the folder of one for our own requests."""
        self.url = f"https://localhost:{self.port}"
        self.process.argv += ["--tls", str(folder)]
        self.context = ssl.create_default_context(cafile=client / "ca.pem")
        self.context.load_cert_chain(client / "cert.pem", client / "key.pem")

    def call(self, method, path, body=None, timeout_s=10):
        request = urllib.request.Request(self.url + path, method=method,
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=timeout_s, context=self.context) as answer:
            return json.loads(answer.read() or b"null")

    def ledger_report(self):
        """What it did: {"totals": …, "entries": [one by key, with state, effects and the bytes that came]}."""
        return self.call("GET", "/ledger", timeout_s=REPORT_S)

    def entries(self):
        return {entry["key"]: entry for entry in self.ledger_report()["entries"]}

    def entry(self, key):
        """The ledger's entry of one idempotency key; one that it has never seen has state `none` and no requests."""
        found = self.call("GET", "/ledger?key=" + urllib.parse.quote(key, safe=""))["entries"]
        return found[0] if found else {"key": key, "state": "none", "effects": 0, "do_requests": 0, "undo_requests": 0}

    def load(self):
        """Calls of the service under way `now`, and the `most` at once since this was last asked."""
        return self.call("POST", "/load", {})

    def switch(self, mode, count=-1, on=None):
        """Makes it behave so, whatever the orders say, until told otherwise ("order")."""
        switch = {"mode": mode, "count": count}
        if on is not None:
            switch["on"] = on
        self.call("PUT", f"/switches/{self.service}", switch)


class OneAccess:
    """How processes come to the servers: here all of them as the same user and role."""

    def __init__(self, dsn, url):
        self.dsn, self.url = dsn, url

    def url_of(self, _user):
        return self.url

    def dsn_of(self, _role):
        return self.dsn


class Cluster:
    """Options: the number of processes of each service, the services called, extra options by service name, the folder of
    workflows (None: none are loaded), the sources of the build, the accounts at the servers (`access`), and whether the
    database has its schema already."""

    def __init__(self, scratch, build, dsn, url, schedulers=2, agents=2, supervisors=2, services=SERVICES,
                 workflows=SAMPLE / "workflows", options=None, edit_service=None, env=None, source=REPOSITORY,
                 access=None, is_migrated=False):
        self.scratch = pathlib.Path(scratch)
        self.bin = self.migrations = None
        self.use(build, source)
        self.access = access or OneAccess(dsn, url)
        self.counts = {"scheduler": schedulers, "agent": agents, "supervisor": supervisors}
        self.services = tuple(services)
        self.workflows = workflows and pathlib.Path(workflows)
        self.options = options or {}
        self.edit_service = edit_service or (lambda name, definition: definition)
        self.env = env or {}
        self.is_migrated = is_migrated
        self.successors = 0
        self.remotes = {name: Remote(self, name) for name in self.services if name in SERVICES}
        self.schedulers, self.supervisors, self.agents = [], [], []  # agents: all, of every service

    def use(self, build, source):
        """What is run or made from now on is of this build."""
        self.bin = pathlib.Path(build) / "bin"
        self.migrations = pathlib.Path(source) / "deploy" / "postgres"

    # --- the operator's tool ---------------------------------------------------------------------------------------

    @property
    def tool_env(self):
        return self.env_of("operator", "operator")

    def env_of(self, user, role):
        """Where the broker and, with a role, the database are."""
        env = {"MAKEGOOD_AMQP_URL": self.access.url_of(user)}
        if role is not None:
            env["MAKEGOOD_PG_DSN"] = self.access.dsn_of(role)
        return env

    def tool(self, *words, check=True, timeout_s=60, stdin=None, env=None):
        """Runs `makegood WORDS`, as the operator or with `env`; returns the finished process. With check, a failure raises
        an exception that carries the reason."""
        environment = plain_environment()
        environment.update(self.env)
        environment.update(env or self.tool_env)
        done = subprocess.run([str(self.bin / "makegood")] + [str(word) for word in words], env=environment, text=True,
                              capture_output=True, timeout=timeout_s, check=False, input=stdin, cwd=self.scratch)
        if check and done.returncode != 0:
            raise Failure(f"makegood {' '.join(map(str, words))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    # --- making it -------------------------------------------------------------------------------------------------

    def prepare(self):
        """Schema, topology and workflows: what an operator does once."""
        deployer = self.env_of("deployer", "owner")
        if not self.is_migrated:
            self.tool("db", "migrate", "--migrations", self.migrations, env=deployer)
        words = []
        for name in self.services:
            words += ["--service", name]
        self.tool("broker", "apply", *words, env=deployer)
        if self.workflows is not None:
            self.tool("workflow", "load", *sorted(self.workflows.glob("*.json")))

    def service_file(self, name):
        """The sample's service file, pointed at this cluster's remote."""
        path = SAMPLE / "services" / f"{name}.json"
        definition = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"service": name}
        definition["url"] = self.remotes[name].url
        definition = self.edit_service(name, definition)
        target = self.scratch / f"service-{name}.json"
        target.write_text(json.dumps(definition, indent=2), encoding="utf-8")
        return target

    def make(self, kind, name, *words):
        port = free_port()
        user = name.rsplit("-", 1)[0]  # agent-payment-1 is one of those that agent-payment is for
        env = {**self.env, **self.env_of(user, None if kind == "agent" else kind)}  # an agent has no role
        argv = [self.bin / f"makegood-{kind}", *words, "--http", f"127.0.0.1:{port}", *self.options.get(kind, ())]
        return Process(name, argv, self.scratch / f"{name}.log", env=env, http_port=port)

    def make_agent(self, service, number):
        return self.make("agent", f"agent-{service}-{number}", "--service", self.service_file(service))

    def remake(self, process):
        """The same process again, of the build that is used now, to run beside it; not started."""
        kind, *words = pathlib.Path(process.argv[0]).name.removeprefix("makegood-"), *process.argv[1:process.argv.index("--http")]
        self.successors += 1
        return self.make(kind, f"{process.name}.{self.successors}", *words)

    def start_console(self):
        """Starts the operator's web page, and returns it with the tokens of one who may act and of one who may read."""
        port, tokens = free_port(), self.scratch / "console-tokens"
        own = {role: secrets.token_urlsafe(24) for role in ("operator", "reader")}
        write_tokens(tokens, [(role, role, token) for role, token in own.items()])
        argv = [self.bin / "makegood", "console", "--listen", f"127.0.0.1:{port}", "--tokens-file", tokens]
        console = Process("console", argv, self.scratch / "console.log", env={**self.env, **self.tool_env}, http_port=port)
        return console.start().wait_ready(), *own.values()

    def start(self):
        """Starts everything and returns when all of it is ready."""
        for remote in self.remotes.values():
            remote.start()
        self.prepare()
        for number in range(1, self.counts["scheduler"] + 1):
            self.schedulers.append(self.make("scheduler", f"scheduler-{number}"))
        for name in self.services:
            for number in range(1, self.counts["agent"] + 1):
                self.agents.append(self.make_agent(name, number))
        for number in range(1, self.counts["supervisor"] + 1):
            self.supervisors.append(self.make("supervisor", f"supervisor-{number}"))
        for process in self.all:
            process.start()
        for process in self.all:
            process.wait_ready()
        return self

    @property
    def all(self):
        return self.schedulers + self.agents + self.supervisors

    def agents_of(self, service):
        return [agent for agent in self.agents if agent.name.startswith(f"agent-{service}-")]

    def stop(self):
        """Asks all to end, together, and returns {name: exit code}; remotes last."""
        running = [process for process in self.all if process.is_running()]
        for process in running:
            process.ask_to_end()
        codes = {process.name: process.wait_end() for process in running}
        for remote in self.remotes.values():
            remote.process.terminate()
        return codes


def remove_scratch(scratch):
    shutil.rmtree(scratch, ignore_errors=True)


def build_folder():
    """Where the executables are: $MAKEGOOD_BUILD, or the demo's build."""
    build = pathlib.Path(os.environ.get("MAKEGOOD_BUILD", REPOSITORY / "build" / "demo"))
    for name in ("makegood", "makegood-scheduler", "makegood-agent", "makegood-supervisor", "makegood-sample-remote"):
        if not os.access(build / "bin" / name, os.X_OK):
            raise Failure(f"there is no {name} in {build}/bin: build it first (deploy/demo and tests/run do)")
    return build
