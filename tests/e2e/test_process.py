"""Services as processes: their notifications to systemd, and their hardening."""

import contextlib
import json
import shutil
import signal
import socket
import urllib.parse

import psycopg2.extensions

from harness import scenario
from local import processes
from refusing import Refusing
from test_console import Console
from test_gateway import write_tokens

ONE = {"schedulers": 0, "agents": 0, "supervisors": 0, "services": ("payment",)}  # the scenario starts the rest itself
WATCHDOG_US = 200_000
SERVERS = ("console", "gateway", "agents")
TURNS = 5  # of the watchdog: another process must send that often before silence counts


class Manager:
    """The end of NOTIFY_SOCKET that systemd has: all assignments, in the order in which they came."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(str(path))
        self.heard = []

    def listen(self):
        """Receives pending assignments and returns all so far."""
        while True:
            try:
                self.heard += self.socket.recv(4096).decode().splitlines()
            except BlockingIOError:
                return self.heard

    def wait(self, s, assignment, since=0):
        """Waits for an assignment that begins so, after the first `since`; returns its place."""
        def place():
            heard = self.listen()
            return next((i + 1 for i in range(since, len(heard)) if heard[i].startswith(assignment)), None)
        try:
            return s.wait(place, f"systemd hears {assignment}")
        except processes.Failure as failure:
            raise AssertionError(f"{failure}; heard: {self.heard}") from None

    def count(self, assignment):
        return self.listen().count(assignment)


def start(s, kind, name, **env):
    """A service with a manager of its own."""
    words = ("--service", s.cluster.service_file("payment")) if kind == "agent" else ()
    process, manager = s.cluster.make(kind, name, *words), Manager(s.scratch / f"notify-{name}")
    process.env.update(env, NOTIFY_SOCKET=str(manager.path))
    {"scheduler": s.cluster.schedulers, "agent": s.cluster.agents, "supervisor": s.cluster.supervisors}[kind].append(process)
    return process.start(), manager


def proc_field(pid, name, begin):
    """The words behind `begin` in a file of /proc/PID."""
    with open(f"/proc/{pid}/{name}", encoding="ascii", errors="replace") as file:
        return next(line[len(begin):].split() for line in file if line.startswith(begin))


@scenario(**ONE, long="processes as systemd, a terminal and a crowd see them")
def systemd_is_notified_how_a_service_begins_reloads_and_ends(s):
    """Would catch: a unit that counts as started too early or never, or that systemd kills in the middle of its drain."""
    for kind in ("scheduler", "agent", "supervisor"):
        process, manager = start(s, kind, f"{kind}-told")
        began = manager.wait(s, "READY=1")
        assert process.get("/healthz")[0] == 200, "READY=1 came before HTTP listened"
        ready = manager.wait(s, "STATUS=ready")
        assert process.is_ready() and began <= ready
        heard = len(manager.heard)
        process.signal(signal.SIGHUP)
        reloading = manager.wait(s, "RELOADING=1", heard)
        manager.wait(s, "MONOTONIC_USEC=", reloading)
        manager.wait(s, "READY=1", reloading)
        assert process.terminate() == 0, process.tail()
        stopping = manager.wait(s, "STOPPING=1")
        manager.wait(s, "EXTEND_TIMEOUT_USEC=", stopping)


def server(s, name, *words, **env):
    """A server of the tool, that begins."""
    port = processes.free_port()
    tokens = s.scratch / f"{name}.tokens"
    write_tokens(tokens, [("reader", "rita", "a token")] if name == "console" else [("read", "shop", "a token")])
    own = (s.scratch / "services",) if name == "agents" else ("--tokens-file", tokens)
    argv = [s.cluster.bin / "makegood", name, *own, "--listen", f"127.0.0.1:{port}", *words]
    process = processes.Process(name, argv, s.scratch / f"{name}.log", http_port=port, env={**s.cluster.env, **s.cluster.tool_env, **env})
    s.others.append(process)
    return process.start()


def servers_begin(s):
    """What the servers of the tool need, beside their options."""
    s.cluster.tool("broker", "apply", "--client", "shop")
    (s.scratch / "services").mkdir()
    shutil.copy(s.cluster.service_file("payment"), s.scratch / "services" / "payment.json")


@scenario(**ONE, long="processes as systemd, a terminal and a crowd see them")
def systemd_is_notified_of_a_server_of_the_tool_as_of_a_service(s):
    """Would catch: a server whose unit never counts as started, or is killed while it reads its files again."""
    servers_begin(s)
    for name in SERVERS:
        manager = Manager(s.scratch / f"notify-{name}")
        process = server(s, name, NOTIFY_SOCKET=str(manager.path), WATCHDOG_USEC=str(WATCHDOG_US))
        manager.wait(s, "READY=1")
        manager.wait(s, "STATUS=ready")
        manager.wait(s, "WATCHDOG=1")
        heard = len(manager.heard)
        process.signal(signal.SIGHUP)
        manager.wait(s, "READY=1", manager.wait(s, "RELOADING=1", heard))
        assert process.terminate() == 0, process.tail()
        manager.wait(s, "EXTEND_TIMEOUT_USEC=", manager.wait(s, "STOPPING=1"))


def own_lines(process):
    """Those of its log that a server of the tool has written itself."""
    with open(process.log_path, encoding="utf-8") as log:
        return [line for line in (json.loads(text) for text in log if text.startswith("{")) if line["service"] == process.name]


@scenario(**ONE, long="processes as systemd, a terminal and a crowd see them")
def servers_of_the_tool_log_and_count_as_services_do(s):
    """Would catch: a server without its level of the log, its instance, or the figures of every process."""
    servers_begin(s)
    for name in SERVERS:
        for words in (("--log-level", "warn"), ()):
            process = server(s, name, "--instance", f"the-{name}", *words, MAKEGOOD_LOG_LEVEL="info")
            process.wait_ready()
            for metric in ("makegood_build_info", "makegood_loop_lag_seconds_count", "process_cpu_seconds_total", "process_open_fds"):
                assert process.series(metric) is not None, (name, metric)
            assert process.terminate() == 0, process.tail()
            said = {line["message"] for line in own_lines(process)}
            assert ({"started", "stopped"} & said) == (set() if words else {"started", "stopped"}), (name, words, said)
        assert {line["instance"] for line in own_lines(process)} == {f"the-{name}"}
        process = server(s, name, "--log-level", "loud")
        assert process.wait_end() == 2 and "--log-level loud: expected debug, info, warn or error" in process.tail()


@scenario(**ONE)
def a_service_that_waits_for_its_servers_counts_as_started_and_names_them(s):
    """Would catch: a unit with a start that times out because the broker is away for longer."""
    nobody = processes.free_port()
    for kind in ("scheduler", "agent", "supervisor"):
        process, manager = start(s, kind, f"{kind}-alone", MAKEGOOD_AMQP_URL=f"amqp://127.0.0.1:{nobody}/")
        manager.wait(s, "READY=1")
        manager.wait(s, "STATUS=not ready: could not connect")
        assert process.is_running() and not process.is_ready()


@scenario(**ONE, long="others of its kind are quick")
def a_refused_service_names_the_wrong_option_at_once(s):
    """Would catch: a wrong password hidden behind the "connection refused" of servers that started later; a log without the
    option's name."""
    nobody, amqp = processes.free_port(), urllib.parse.urlsplit(s.url)
    wrong = amqp._replace(netloc=f"{amqp.username}:wrong@{amqp.hostname}:{amqp.port}").geturl()

    def says(process, *words):
        def has_said():
            with open(process.log_path, encoding="utf-8") as log:
                return any(all(word in line for word in words) for line in log)
        s.wait(has_said, f"the log has {words}")
    for kind in ("scheduler", "supervisor"):
        process, _ = start(s, kind, f"{kind}-pg", MAKEGOOD_PG_DSN=psycopg2.extensions.make_dsn(s.dsn, password="wrong"))
        says(process, "password authentication failed", "MAKEGOOD_PG_DSN")
        assert process.is_running() and not process.is_ready()
    for kind in ("scheduler", "agent", "supervisor"):
        process, _ = start(s, kind, f"{kind}-amqp", MAKEGOOD_AMQP_URL=wrong)
        says(process, "ACCESS_REFUSED", "MAKEGOOD_AMQP_URL")
        assert process.is_running() and not process.is_ready()
    late, _ = start(s, "scheduler", "scheduler-late", MAKEGOOD_PG_DSN=f"postgresql://u:p@127.0.0.1:{nobody}/x?sslmode=disable&gssencmode=disable")
    says(late, "Connection refused", "MAKEGOOD_PG_DSN")
    with Refusing("57P03", "28P01", port=nobody):
        says(late, "28P01", "MAKEGOOD_PG_DSN")


@scenario(**ONE, long="processes as systemd, a terminal and a crowd see them")
def a_process_that_stands_still_no_longer_feeds_the_watchdog(s):
    """Would catch: a watchdog that is fed from outside the loop, or not at all."""
    stuck, silent = start(s, "scheduler", "scheduler-stuck", WATCHDOG_USEC=str(WATCHDOG_US))
    _, other = start(s, "supervisor", "supervisor-well", WATCHDOG_USEC=str(WATCHDOG_US))
    unwatched, without = start(s, "supervisor", "supervisor-unwatched")
    for manager in (silent, other):
        s.wait(lambda manager=manager: manager.count("WATCHDOG=1") >= TURNS, "the watchdog is fed")
    stuck.pause()
    s.wait(lambda: proc_field(stuck.pid, "status", "State:")[0] == "T", "it stands still")
    before, turns = silent.count("WATCHDOG=1"), other.count("WATCHDOG=1")
    s.wait(lambda: other.count("WATCHDOG=1") >= turns + TURNS, "another one goes on")
    assert silent.count("WATCHDOG=1") == before
    stuck.resume()
    s.wait(lambda: silent.count("WATCHDOG=1") > before, "it is fed again")
    assert unwatched.is_running() and without.count("WATCHDOG=1") == 0


@scenario(services=("payment",), options={
    kind: ("--log-level", "debug") for kind in ("scheduler", "agent", "supervisor")},
          long="processes as systemd, a terminal and a crowd see them")
def services_give_up_what_they_never_need(s):
    """Would catch: a core file with orders and passwords, or a service that forgot to be hardened."""
    for process in s.cluster.all:
        assert proc_field(process.pid, "limits", "Max core file size")[:2] == ["0", "0"]
        assert proc_field(process.pid, "status", "NoNewPrivs:") == ["1"]
        with open(process.log_path, encoding="utf-8") as log:
            assert '"hardened","by":"no core files, ' in log.read()


HALF = b"GET /healthz HTTP/1.1\r\nHost: "


def crowd(port, count):
    """Idle connections, every second one with a part of a request."""
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    for one in held[::2]:
        with contextlib.suppress(OSError):  # the server may have closed it
            one.sendall(HALF)
    return held


@scenario(services=("payment",), long="processes as systemd, a terminal and a crowd see them")
def a_crowd_at_the_http_port_makes_no_process_deaf(s):
    """Would catch: a port that 32 connections which end together silence until a restart, or that idle ones fill."""
    for process in (*s.cluster.all, Console(s).process):
        for count in (32, 33, 257, 600):
            held = crowd(process.http_port, count)
            assert process.get("/healthz")[0] == 200, f"{process.name}: {count} connections stay"
            for one in held:
                one.close()
            for path in ("/healthz", "/readyz", "/metrics"):
                assert process.get(path)[0] == 200, f"{process.name}: {count} connections ended together"
