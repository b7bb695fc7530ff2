"""The targets of faults: private servers, three of each of Makegood's processes, and the sample remotes. Between each process and
each of its servers is a route of the chaos proxy.

A process is started again two seconds after it has ended, as the infrastructure would (systemd, containers). One that ends without
a signal of the nemesis is a finding.
"""

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import time

import pika
import psycopg2

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(REPOSITORY / "deploy"), str(REPOSITORY / "tests" / "e2e")]

from local import cluster, processes, servers  # noqa: E402

import kinds  # noqa: E402
import sender  # noqa: E402

DEAD_FOR_S = 2.0      # how long a killed process stays dead: long enough that others must take over
DISK_MB = 3072        # of the database's own disk, if there is one: twice the room for an hour of orders, for the sake of a standby
ANSWER_S = 60.0       # of the proxy, which only waits for its turn on a busy machine
CONNECT_S = 5.0       # to a server that runs
QUERY_S = 300         # for reading all rows of an hour
SIDE_S = 30           # of a statement of the nemesis
STREAM_ROWS = 5000
LEADING = 0.7         # how often the scheduler chosen as victim is the one that leads
OURS_S = 0.5          # how often the leader's row is looked at
CLUSTER_CONF = "cluster_partition_handling = pause_minority\nnet_ticktime = 10\n"  # by the runbook
PLAIN = "?sslmode=disable&gssencmode=disable"  # the proxy reads the stream
GATEWAYS = 2


def started_at(process):
    """In ticks of the kernel since the machine started."""
    return int(pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[19])


class Proxy:
    """The proxy's process and its routes by name."""

    def __init__(self, program, scratch):
        self.path = scratch / "proxy.socket"
        self.process = processes.Process("proxy", [program, self.path], scratch / "proxy.log")
        self.peer = None
        self.ports, self.protocols = {}, {}

    def start(self):
        self.process.start()
        self.peer = socket.socket(socket.AF_UNIX)
        self.peer.settimeout(ANSWER_S)
        processes.wait_until(lambda: self.peer.connect_ex(str(self.path)) == 0, "the proxy listens", alive=self.process)
        self.answers = self.peer.makefile("r")
        return self

    def tell(self, *words):
        self.peer.sendall((" ".join(str(word) for word in words) + "\n").encode())
        answer = self.answers.readline().split()
        if not answer or answer[0] != "ok":
            raise processes.Failure(f"the proxy answers {' '.join(answer)!r} to {words}")
        return [int(word) for word in answer[1:]]

    def route(self, name, target, protocol):
        """The port of a new route."""
        self.ports[name] = processes.free_port()
        self.protocols[name] = protocol
        self.tell("route", name, self.ports[name], target, protocol)
        return self.ports[name]

    def mode(self, name, way, mode, n=""):
        self.tell("mode", name, way, mode, n)

    def heal(self, name):
        self.mode(name, "both", "pass")

    def close(self, name):
        self.tell("close", name)

    def fired(self, name):
        return self.tell("count", name)[1]

    def target(self, protocol, port):
        """Leads all routes of a protocol to this port from now on, and cuts connections to other targets."""
        for name, mine in self.protocols.items():
            if mine == protocol:
                self.tell("target", name, port)
                self.close(name)


class Clock:
    """The wall clock of one process or server, which can be set wrong."""

    def __init__(self, library, folder, name):
        self.path = folder / f"clock-{name}"
        self.library = library
        self.path.write_bytes(struct.pack("=q", 0))
        self.path.chmod(0o644)

    @property
    def env(self):
        return {"LD_PRELOAD": str(self.library), "CHAOS_CLOCK": str(self.path)} if self.library else {}

    def set_ahead(self, seconds):
        with open(self.path, "r+b") as file:
            file.write(struct.pack("=q", int(seconds * 1000)))


class Postgres(servers.Postgres):
    """A server with room for replication and a clock of its own."""

    def __init__(self, folder, clock):
        super().__init__(folder)
        self.clock = clock

    def create(self):
        super().create()
        self.process.env = self.clock.env
        self.set({"max_wal_size": "256MB"})

    def follow(self, primary):
        """Becomes a standby of `primary`, with a copy of all its data."""
        self.folder.mkdir()
        if self.user is not None:
            shutil.chown(self.folder, self.user, self.user)
        self.password = primary.password
        self.run("pg_basebackup", "-D", self.data, "-R", "-X", "stream", "-c", "fast", "-d", primary.dsn_of("postgres"))
        self.set({"port": self.port, "unix_socket_directories": self.folder})
        self.process = processes.Process(f"postgres-{self.port}", [self.bin / "postgres", "-D", self.data],
                                         primary.process.log_path, user=self.user, cwd="/", env=self.clock.env)
        self.start()
        self.wait_ready()

    def promote(self):
        self.psql("SELECT pg_promote()", "postgres")
        processes.wait_until(lambda: self.psql("SELECT pg_is_in_recovery()", "postgres") == [["f"]], "the standby is primary")

    def all_pids(self):
        return [self.process.pid] + processes.descendants(self.process.pid)


class Rabbit(servers.Rabbit):
    """A node that may belong to a cluster: number k talks to the others as 127.0.0.k, so that it can be cut off by address."""

    def __init__(self, folder, number=None, first=None):
        super().__init__(folder, first=first)
        self.number = number
        if number is not None:
            self.node = f"makegood-{self.port}@127.0.0.{number}"

    @property
    def env(self):
        env = super().env
        if self.number is not None:
            here = f"{{127,0,0,{self.number}}}"
            env["RABBITMQ_USE_LONGNAME"] = "true"
            env["ERL_EPMD_ADDRESS"] = "127.0.0.1,127.0.0.2,127.0.0.3"
            env["RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS"] = (
                f"+sbwt none +sbwtdcpu none +sbwtdio none -kernel inet_dist_use_interface {here} "
                f"inet_dist_connect_options [{{ifaddr,{here}}}]")
        return env

    def create(self):
        super().create()
        if self.number is None:
            return
        with open(self.folder / "rabbitmq.conf", "a", encoding="ascii") as conf:
            conf.write(CLUSTER_CONF)
        if self.first is None:
            self.epmd.argv[-1] = "127.0.0.1,127.0.0.2,127.0.0.3"

    def ctl(self, *words, **options):
        return super().ctl(*(("--longnames",) if self.number is not None else ()), *words, **options)

    def all_pids(self):
        return [self.process.pid] + processes.descendants(self.process.pid)


class Cluster(cluster.Cluster):
    """Makegood, each process with routes of its own (`<process>.broker`, `<process>.database`) and its own clock."""

    def __init__(self, stage, **options):
        self.stage = stage
        self.clocks = {}
        self.gateways = []
        self.tokens_path, self.secrets_path = sender.write_files(stage.scratch)
        super().__init__(stage.scratch, stage.build, stage.postgres.dsn, stage.rabbits[0].url, schedulers=3, agents=3,
                         supervisors=3, workflows=None, options={"scheduler": (
                             "--callback-url", "http://127.0.0.1/v1/callbacks", "--callback-secret-file", self.secrets_path)}, **options)

    @property
    def all(self):
        return super().all + self.gateways

    def start(self):
        super().start()
        self.stage.apply_topology()
        for number in range(1, GATEWAYS + 1):
            gateway = self.make("gateway", f"gateway-{number}")
            gateway.argv = [str(self.bin / "makegood"), "gateway", "--listen", f"127.0.0.1:{gateway.http_port}",
                            "--tokens-file", str(self.tokens_path), "--callback-secret-file", str(self.secrets_path)]
            self.gateways.append(gateway.start())
        for gateway in self.gateways:
            gateway.wait_ready()
        return self

    def make(self, kind, name, *words):
        process = super().make(kind, name, *words)
        stage, number = self.stage, len(self.clocks)
        self.clocks[name] = Clock(stage.clock_library, stage.scratch, name)
        process.env.update(self.clocks[name].env)
        rabbit = stage.rabbits[number % len(stage.rabbits)]
        port = stage.proxy.route(f"{name}.broker", rabbit.port, "amqp")
        process.env["MAKEGOOD_AMQP_URL"] = f"amqp://guest:guest@127.0.0.1:{port}/%2F"
        if kind != "agent":
            port = stage.proxy.route(f"{name}.database", stage.postgres.port, "pg")
            process.env["MAKEGOOD_PG_DSN"] = stage.dsn_at(port)
        return process

    def service_file(self, name):
        path = super().service_file(name)
        route = f"{name}.remote"
        port = self.stage.proxy.ports.get(route) or self.stage.proxy.route(route, self.remotes[name].port, "raw")
        definition = json.loads(path.read_text(encoding="utf-8"))
        definition["url"] = f"http://127.0.0.1:{port}"
        path.write_text(json.dumps(definition), encoding="utf-8")
        return path


class Stage:
    """The whole system, and its upkeep between faults."""

    def __init__(self, build, is_cluster, has_own_network, history):
        self.build = pathlib.Path(build)
        self.scratch = cluster.make_scratch("makegood-chaos-")
        self.history = history
        self.has_own_network = has_own_network
        self.is_cluster = is_cluster
        self.clock_library = self.copy_library()
        self.disk = self.scratch / "disk"
        self.has_own_disk = self.make_disk()
        self.postgres_count = 1
        self.postgres = Postgres(self.disk / "postgres1", Clock(self.clock_library, self.scratch, "database"))
        self.rabbits = [Rabbit(self.scratch / "rabbit1", 1)] if is_cluster else [Rabbit(self.scratch / "rabbit")]
        if is_cluster:
            self.rabbits += [Rabbit(self.scratch / f"rabbit{number}", number, self.rabbits[0]) for number in (2, 3)]
        self.proxy = Proxy(self.build / "bin" / "makegood-chaos-proxy", self.scratch)
        self.cluster = None
        self.load = None
        self.restarts = {}       # process → when it is started again
        self.second = None       # a node next to `rabbit`, and the queue that it shares, while a fault needs it
        self.held = set()        # processes that stay down until a fault releases them
        self.may_die = set()     # names of processes with an end of their own that belongs to a fault
        self.deaths = []         # (name, code) of processes that ended without a signal of the nemesis
        self.epochs = {}         # epoch → holder, as the leader's row was seen
        self.epoch_falls = []
        self.burnt = []          # attempts that were judged because the database's clock was set
        self.unjudged = []       # attempts that no supervisor judged while sweeps were slow
        self.looked_at = 0.0
        self.database = None
        self.struck_at = None
        self.is_blind = False    # the database does not answer: no queries then

    def copy_library(self):
        """To a place where every account can read it. None in a build with sanitizers, which must come first in a process."""
        source = self.build / "bin" / "makegood-chaos-clock.so"
        if "ASAN_OPTIONS" in os.environ or not source.exists():
            return None
        target = self.scratch / "clock.so"
        shutil.copy(source, target)
        target.chmod(0o755)
        return target

    def make_disk(self):
        """Mounts a small disk for the database alone, if this user may mount one."""
        self.disk.mkdir()
        self.disk.chmod(0o711)
        words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0711", "none", str(self.disk)]
        return self.has_own_network and subprocess.run(words, capture_output=True, check=False).returncode == 0

    @property
    def rabbit(self):
        return self.rabbits[0]

    def dsn_at(self, port):
        return f"postgresql://{servers.ROLE}:{self.postgres.password}@127.0.0.1:{port}/{servers.DATABASE}{PLAIN}"

    # --- beginning and end ---------------------------------------------------------------------------------------------

    def start(self):
        self.proxy.start()
        for rabbit in self.rabbits:
            rabbit.create()
            rabbit.start()
        self.postgres.create()
        self.postgres.start()
        self.postgres.wait_ready()
        self.postgres.create_database(servers.DATABASE)
        for rabbit in self.rabbits:
            rabbit.wait_ready()
        for rabbit in self.rabbits[1:]:
            rabbit.join()
        self.cluster = Cluster(self)
        self.proxy.route("client.broker", self.rabbit.port, "amqp")
        self.cluster.start()
        self.load_definitions()
        self.rabbit_settle()
        return self

    def log_of(self, process):
        """The path of its log, unless a fault has led it elsewhere."""
        return str(self.scratch / f"{process.name}.log")

    def rabbit_settle(self):
        """RabbitMQ writes the register of its queues behind their declaration; see Rabbit.settle."""
        for rabbit in self.rabbits:
            rabbit.settle()
        for process in self.cluster.all:
            process.wait_ready(60)

    def load_definitions(self):
        for kind, name, definition in itertools.chain((("workflow", each["workflow"], each) for each in kinds.definitions()),
                                                      (("schedule", each["schedule"], each) for each in kinds.schedules())):
            path = self.scratch / f"{kind}-{name}.json"
            path.write_text(json.dumps(definition), encoding="utf-8")
            self.cluster.tool(kind, "load", path, *(("--reason", "chaos") if kind == "schedule" else ()))

    def plan_schedules_anew(self):
        """What an operator does after the database's clock was ahead: its next slots are far in the future."""
        self.tell_schedules("pause")
        self.tell_schedules("resume")

    def tell_schedules(self, verb):
        for name in kinds.SCHEDULES:
            self.cluster.tool("schedule", verb, name, "--reason", "chaos")

    def open_slots(self):
        """Orders of schedules that have not ended."""
        return self.rows("SELECT 1 FROM order_process WHERE workflow = 'ticked' AND process_state IN ('pending', 'processing', 'compensating') LIMIT 1")

    def has_called(self, order_id, step):
        """Whether the payment has begun the work of this step: one that gives no answer has not."""
        return self.cluster.remotes["payment"].entry(f"{order_id}.{step}.do")["effects"] > 0

    def apply_topology(self):
        words = []
        for name in self.cluster.services:
            words += ["--service", name]
        self.cluster.tool("broker", "apply", *words, *sender.topology_words(), env={"MAKEGOOD_AMQP_URL": self.rabbit.url}, timeout_s=servers.CTL_S)

    def end(self, keep):
        if self.database is not None:
            self.database.close()
        processes.end_all()
        if self.has_own_disk:
            subprocess.run(["umount", "--lazy", str(self.disk)], capture_output=True, check=False)
        if not keep:
            cluster.remove_scratch(self.scratch)

    # --- looking -------------------------------------------------------------------------------------------------------

    def rows(self, sql, *parameters):
        """Rows as dictionaries, read past the proxy."""
        for is_last in (False, True):
            try:
                if self.database is None or self.database.closed:
                    self.database = self.session(QUERY_S)
                    self.database.autocommit = True
                with self.database.cursor() as cursor:
                    cursor.execute(sql, parameters)
                    names = [column.name for column in cursor.description]
                    return [dict(zip(names, row)) for row in cursor.fetchall()]
            except psycopg2.Error:
                self.database = None
                if is_last:
                    raise
        return None

    def stream(self, sql):
        """Rows as dictionaries, some at a time; the table may be larger than the memory."""
        with contextlib.closing(self.session(QUERY_S)) as session, session.cursor("stream") as cursor:
            cursor.itersize = STREAM_ROWS
            cursor.execute(sql)
            names = None
            for row in cursor:
                names = names or [column.name for column in cursor.description]
                yield dict(zip(names, row))

    def session(self, statement_s=SIDE_S):
        """A separate session with the database, past the proxy. No statement in it lasts longer than `statement_s`."""
        return psycopg2.connect(self.postgres.dsn, connect_timeout=int(CONNECT_S),
                                options=f"-c statement_timeout={statement_s}s")

    def amqp(self):
        """A separate connection with the broker, past the proxy, with a time limit on every wait."""
        return pika.BlockingConnection(pika.URLParameters(
            f"{self.rabbit.url}?blocked_connection_timeout=10&socket_timeout={CONNECT_S:g}&stack_timeout={2 * CONNECT_S:g}"))

    def leader(self):
        """The supervisor that leads by its own metrics; any running one if none does."""
        running = [process for process in self.cluster.supervisors if process.is_running()]
        leading = [process for process in running if process.metric("makegood_supervisor_leading") == 1]
        return (leading or running)[0]

    def scheduler(self, dice):
        """Mostly the one that leads: the longest up, to which all messages go while it has room."""
        running = [process for process in self.cluster.schedulers if process.is_running()]
        return min(running, key=started_at) if dice.random() < LEADING else dice.choice(running)

    # --- keeping it going ----------------------------------------------------------------------------------------------

    def strike(self):
        """Marks the time of the fault; its preparation took a while."""
        self.struck_at = time.monotonic()

    def kill(self, process, dead_for_s=DEAD_FOR_S):
        self.strike()
        process.kill()
        self.restarts[process] = time.monotonic() + dead_for_s

    def keep(self):
        """One look: restarts ended processes and records the leader."""
        now = time.monotonic()
        for process in self.cluster.all:
            if process.is_running() or process in self.held:
                continue
            if process not in self.restarts:
                code = process.popen.returncode
                if process.name not in self.may_die:
                    self.deaths.append((process.name, code))
                    self.history.note("death", process=process.name, code=code)
                self.restarts[process] = now + DEAD_FOR_S
            elif now >= self.restarts[process]:
                del self.restarts[process]
                process.start()
        if now - self.looked_at > OURS_S:
            self.looked_at = now
            self.look_at_leader()

    def look_at_leader(self):
        if self.is_blind:
            return
        try:
            row = self.rows("SELECT epoch, holder FROM supervisor_leader")[0]
        except (psycopg2.Error, IndexError):
            return
        if self.epochs and row["epoch"] < max(self.epochs):
            self.epoch_falls.append(row)
        if row["holder"]:  # empty: the leader has laid its lead down on a regular stop
            known = self.epochs.setdefault(row["epoch"], row["holder"])
            if known != row["holder"]:
                self.epoch_falls.append(row)

    def wait_s(self, seconds):
        """Lets time pass; the upkeep goes on."""
        self.wait(lambda: False, seconds)

    def wait(self, condition, timeout_s):
        """Until the condition is true; False if it did not become so in time."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self.keep()
            if condition():
                return True
            time.sleep(processes.POLL_S * 2)  # POLL_S: between two looks
        return False
