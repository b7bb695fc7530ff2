"""The C library of proto/clients/c: built against as a user does, its client follows its orders."""

import json
import os
import socket
import subprocess
import threading
import urllib.parse

from harness import DEADLINE_S, scenario, step
from local import cluster

SOURCES = cluster.REPOSITORY / "proto" / "clients" / "c"
HERE = cluster.REPOSITORY / "tests" / "e2e"
BUILD = os.environ["MAKEGOOD_BUILD"]
WAIT_MS = DEADLINE_S * 1000
NOTHING, INPUT, REFUSED, TIMEOUT = 0, 1, 2, 3  # enum mg_error_code


class Installed:
    """The library in a prefix of its own, and programs that pkg-config alone finds it for."""

    def __init__(self, s):
        self.scratch, self.prefix = s.scratch, s.scratch / "prefix"
        for component in ("library", "library_dev"):
            self.run("cmake", "--install", BUILD, "--component", component, "--prefix", self.prefix)
        folder, = self.prefix.rglob("pkgconfig")
        self.environment = {**os.environ, "PKG_CONFIG_PATH": str(folder), "LD_LIBRARY_PATH": str(folder.parent)}

    def run(self, *words, env=None):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=DEADLINE_S, env=env)
        assert done.returncode == 0, f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def build(self, source):
        program = self.scratch / source.stem
        flags = self.run("pkg-config", "--cflags", "--libs", "makegood", env=self.environment).split()
        self.run("cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", source, *flags, "-o", program)
        return program


class Program:
    """tests/e2e/library_client.c at work."""

    def __init__(self, s, installed, url, *words):
        self.log = open(s.scratch / "library_client.log", "a", encoding="utf-8")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen([installed.build(HERE / "library_client.c"), url, *words], env=installed.environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        try:
            code = self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()
            self.log.close()
        with open(self.log.name, encoding="utf-8") as log:
            assert kind or code == 0, f"it ended with {code}\n{log.read()}"

    def write(self, *words):
        print(*words, file=self.process.stdin, flush=True)

    def read(self):
        code, *rest = self.process.stdout.readline().rstrip("\n").split(" ", 1)
        return int(code), rest[0] if rest else ""

    def ask(self, *words):
        self.write(*words)
        return self.read()

    def submit(self, workflow, payload, order_id="-", priority="normal", timeout_ms=WAIT_MS):
        code, text = self.ask("submit", timeout_ms, order_id, workflow, priority, json.dumps(payload))
        assert code == NOTHING, (code, text)
        return text.split()[0]

    def status(self, verb, order_id, timeout_ms=WAIT_MS):
        """The code of the cause, and the message."""
        code, text = self.ask(verb, timeout_ms, order_id)
        assert code == NOTHING, (code, text)
        cause, message = text.split(" ", 1)
        return cause, json.loads(message)

    def statuses(self, order_id, end):
        """All of them up to the end, which may stand behind a gap."""
        found = []
        while not found or found[-1][1] != end:
            message = self.status("next", order_id)[1]
            found.append((message["seq"], message["status"]))
        return found


class Proxy:
    """Between a client and the broker. While it holds, what the broker sends goes no further."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.broker = (parts.hostname, parts.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{self.listener.getsockname()[1]}").geturl()
        self.free, self.sockets = threading.Event(), []
        self.free.set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, far = self.listener.accept()[0], socket.create_connection(self.broker)
            except OSError:
                return
            self.sockets += [near, far]
            threading.Thread(target=self.copy, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self.copy, args=(far, near, True), daemon=True).start()

    def copy(self, source, target, is_answer):
        try:
            while data := source.recv(65536):
                if is_answer:
                    self.free.wait()
                target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            one.close()

    def cut(self):
        """Ends all connections, with what it holds."""
        for one in self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.sockets = []
        self.free.set()

    def close(self):
        self.listener.close()
        self.cut()


@scenario(services=("inventory", "payment"))
def a_program_built_by_pkg_config_alone_follows_its_orders(s):
    """Would catch: a header, a library or a pkg-config file that lacks a part; statuses that are lost, repeated or in disorder."""
    s.load_workflow("hello", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"])])
    installed = Installed(s)
    shown = installed.run(installed.build(SOURCES / "example_client.c"), s.url, env=installed.environment)
    assert [line.split()[1:] for line in shown.splitlines()] == [["1", "accepted"], ["2", "processed"]], shown

    with Program(s, installed, s.url) as program:
        plain = program.submit("hello", {"n": 1}, priority="high")
        assert program.status("wait", plain)[1]["status"] == "processed"
        assert program.statuses(plain, "processed") == [(1, "accepted"), (2, "processed")]
        assert program.ask("next", 0, plain)[0] == TIMEOUT
        assert program.status("wait", plain)[1]["seq"] == 2  # as often as it is asked
        assert program.submit("hello", {"n": 1}, plain, priority="high") == plain
        assert program.ask("submit", WAIT_MS, plain, "hello", "high", '{"n": 2}')[0] == INPUT

        s.remote("payment").switch("decline", on="do")
        undone = program.submit("hello", {"n": 2})
        assert program.statuses(undone, "compensated") == [(1, "accepted"), (2, "compensating"), (3, "compensated")]
        cause, end = program.status("wait", undone)
        assert cause == end["cause"]["code"] and end["cause"]["step"] == "charge", end

        wrong = program.submit("no-such-workflow", {})
        assert program.statuses(wrong, "rejected") == [(0, "rejected")]
        for payload in ("[]", "{", '{}, "priority": "high"'):
            assert program.ask("submit", WAIT_MS, "-", "hello", "normal", payload)[0] == INPUT
        assert program.ask("forget", wrong)[0] == NOTHING
        assert program.ask("wait", WAIT_MS, wrong)[0] == INPUT


@scenario(services=("inventory",))
def an_order_is_one_though_its_confirm_is_lost(s):
    """Would catch: a lost confirm that is reported as success or failure, a second order, statuses that go to the lost queue."""
    s.load_workflow("one", [step("reserve", "inventory")])
    installed, proxy = Installed(s), Proxy(s.url)
    with Program(s, installed, proxy.url) as program:
        program.submit("one", {"n": 1})
        s.remote("inventory").switch("silent")
        proxy.free.clear()
        program.write("submit", WAIT_MS, "held", "one", "normal", '{"n": 2}')
        s.wait(lambda: s.rows("SELECT 1 FROM orders WHERE order_id = 'held'"), "the broker has passed the order on")
        proxy.cut()
        assert program.read() == (NOTHING, "held ")
        proxy.cut()  # the order is confirmed, and its statuses have no queue any more
        s.remote("inventory").switch("order")
        assert program.status("wait", "held")[1]["status"] == "processed"
        found = program.statuses("held", "processed")
        assert [seq for seq, _ in found] == sorted({seq for seq, _ in found}), found
        assert len(s.rows("SELECT 1 FROM orders")) == 2

        proxy.cut()
        proxy.listener.close()
        code, text = program.ask("submit", 300, "later", "one", "normal", "{}")
        assert code == TIMEOUT and text.startswith("later "), text  # it stays in hand
    proxy.close()
    assert len(s.rows("SELECT 1 FROM orders")) == 2


@scenario(services=("inventory",))
def a_named_client_has_an_exchange_and_a_queue_of_its_own(s):
    """Would catch: a client with narrow rights that the library cannot serve; a missing queue that is not named."""
    s.load_workflow("one", [step("reserve", "inventory")])
    installed = Installed(s)
    with Program(s, installed, s.url, "shop") as program:
        code, text = program.ask("submit", 1000, "early", "one", "normal", "{}")
        assert code == TIMEOUT and "client.shop.statuses" in text, text
        s.cluster.tool("broker", "apply", "--client", "shop")
        assert program.status("wait", "early")[1]["status"] == "processed"
        assert s.rows("SELECT client FROM orders WHERE order_id = 'early'")[0]["client"] == "shop"


@scenario(services=("inventory",))
def a_consumer_of_the_c_library_that_the_broker_cancels_comes_back(s):
    """Would catch: a client that consumes nothing after its queue was made anew."""
    s.load_workflow("one", [step("reserve", "inventory")])
    s.cluster.tool("broker", "apply", "--client", "shop")
    with Program(s, Installed(s), s.url, "shop") as program:
        for order in ("first", "second"):
            assert program.ask("submit", 20000, order, "one", "normal", "{}")[0] == 0
            assert program.status("wait", order)[1]["status"] == "processed"
            s.delete_queue("client.shop.statuses")
            s.cluster.tool("broker", "apply", "--client", "shop")
            s.wait(lambda: s.client.consumers("client.shop.statuses") == 1, "the client consumes again")
