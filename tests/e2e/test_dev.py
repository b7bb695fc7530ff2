"""`makegood dev`: one command for all of Makegood, over given servers and over servers of its own."""

import http.server
import itertools
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

from harness import DEADLINE_S, scenario
from local import processes
from local.cluster import REPOSITORY
from local.servers import connects

START_S = 600  # the first boot of RabbitMQ takes ten seconds of a processor
NONE = {"schedulers": 0, "agents": 0, "supervisors": 0, "services": ()}


class Service:
    """A service of one's own: it greets, and declines to greet Bob."""

    def __init__(self):
        self.undone = undone = []
        self.greeted = greeted = []
        self.opened = opened = threading.Event()  # while it is not set, greetings wait
        opened.set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, value):
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_POST(self):  # the name is the library's
                name = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["name"]
                if self.path == "/greetings":
                    greeted.append(name)
                    opened.wait()
                if self.path == "/letters" and name == "Bob":
                    self.answer(422, {"error": "no letters for Bob"})
                else:
                    self.answer(201, {"text": f"Hello, {name}"})

            def do_DELETE(self):
                undone.append(self.path)
                self.answer(200, {})

            def log_message(self, *_words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.opened.set()
        self.server.shutdown()
        self.server.server_close()


def definition(name="hello", version=1, greeting="${/results/greet/text}"):
    return json.dumps({"workflow": name, "version": version, "output": {"text": greeting}, "steps": [
        {"step": "greet", "service": "letters", "complete_within": "10s",
         "do": {"method": "POST", "path": "/greetings", "body": {"name": "${/payload/name}"}},
         "undo": {"method": "DELETE", "path": "/greetings/${/do_key}"}},
        {"step": "write", "service": "letters", "after": ["greet"], "complete_within": "10s",
         "do": {"method": "POST", "path": "/letters", "body": "${/payload}"}, "undo": "none"}]}, indent=2)


class Whole:
    """A program that starts all of Makegood, and ends it by Ctrl-C."""

    def __init__(self, s, name, argv, env=None):
        self.stage = s
        self.process = processes.Process(name, argv, s.scratch / f"{name}.log", env=env)
        s.others.append(self.process)

    def start(self, last="Ctrl-C ends all"):
        self.process.start()
        processes.wait_until(lambda: self.count(last), "it prints the way in", START_S, alive=self.process)
        return self

    @property
    def output(self):
        with open(self.process.log_path, encoding="utf-8") as log:
            return log.read()

    def count(self, text):
        return self.output.count(text)

    def wait_line(self, text, times=1):
        self.stage.wait(lambda: self.count(text) >= times, f"it prints {text!r} {times} times")

    def pids(self):
        """{pid: command} of all that it started."""
        found = {}
        for pid in processes.descendants(self.process.pid):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as line:
                    found[pid] = line.read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                pass  # it has just ended
        return found

    def ports(self):
        """The ports on which it or anything that it started listens."""
        inodes, ports = set(), set()
        for pid in [self.process.pid, *processes.descendants(self.process.pid)]:
            try:
                for entry in os.scandir(f"/proc/{pid}/fd"):
                    inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(entry.path)))
            except OSError:
                pass
        with open("/proc/net/tcp", encoding="ascii") as table:
            for row in [line.split() for line in table.readlines()[1:]]:
                if row[3] == "0A" and row[9] in inodes:
                    ports.add(int(row[1].rsplit(":", 1)[1], 16))
        return ports

    def end(self, number=signal.SIGINT):
        """Ends it by a signal; returns its exit code, after the check that nothing of it is left."""
        pids, ports = self.pids(), self.ports()
        assert len(pids) >= 5 and len(ports) >= 5, (pids, ports)
        self.process.signal(number)
        code = self.process.wait_end(60)
        processes.wait_until(lambda: not [pid for pid in pids if processes.is_alive(pid)], f"all of {pids} has ended")
        assert not [port for port in ports if connects(port)], ports
        return code


class Dev(Whole):
    """A running `makegood dev` in a folder of the scenario's."""

    def __init__(self, s, *words, env=None, name="dev"):
        self.folder = s.scratch
        self.gateway, self.console = processes.free_port(), processes.free_port()
        super().__init__(s, name, [
            s.cluster.bin / "makegood", "dev", "--migrations", REPOSITORY / "deploy" / "postgres", "--state", self.folder / "state",
            "--workflows", self.folder / "workflows", "--gateway", f"127.0.0.1:{self.gateway}", "--console", f"127.0.0.1:{self.console}",
            *words], env)

    def ask(self, path, body=None, headers=None):
        token = (self.folder / "state" / "token").read_text(encoding="ascii")
        request = urllib.request.Request(f"http://127.0.0.1:{self.gateway}{path}", data=body and json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json",
                                                  **(headers or {})})
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            return json.loads(answer.read())

    def is_posted(self, order_id, name, workflow):
        try:
            self.ask("/v1/orders", {"order_id": order_id, "workflow": workflow, "payload": {"name": name}})
            return True
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            return False  # a server is down; a client posts again

    def order(self, order_id, name="Ada", workflow="hello"):
        """Posts an order through the gateway, and returns it with its end."""
        self.stage.wait(lambda: self.is_posted(order_id, name, workflow), f"order {order_id} is posted")
        return self.ask(f"/v1/orders/{order_id}?wait=60s")


def begin(s, *words, env=None):
    (s.scratch / "workflows").mkdir()
    (s.scratch / "workflows" / "hello.json").write_text(definition(), encoding="utf-8")
    service = Service()
    return service, Dev(s, "--service", f"letters={service.url}", *words, env=env)


def tool(s, dev, *words):
    """The output of `makegood WORDS`, with the servers of this dev."""
    script = f'. {dev.folder}/state/env && exec "$@"'
    return subprocess.run(["sh", "-ec", script, "sh", s.cluster.bin / "makegood", *words], capture_output=True, text=True,
                          timeout=DEADLINE_S, check=True).stdout


def replace(path, text):
    """Writes a file as editors do: beside it, then in its place."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.rename(path)


@scenario(**NONE)
def one_command_runs_and_reloads_own_workflows_over_given_servers(s):
    """Would catch: an order that does not get through, a changed workflow that is not loaded or overwrites a version, a broken file
    that takes one away or floods the output, a child that stays dead, a second dev over the first, a process or port left behind."""
    service, dev = begin(s, env={**s.cluster.env, **s.cluster.tool_env})
    dev.start()
    assert f"\nready\n  gateway  http://127.0.0.1:{dev.gateway}\n" in dev.output, dev.output
    assert "starting" not in dev.output, "it started servers of its own beside the given ones"
    assert "hello.json: workflow hello, version 1\n" in dev.output and '"payload": {"name":"…"}' in dev.output, dev.output
    assert dev.order("first")["output"] == {"text": "Hello, Ada"}
    ended = dev.order("declined", "Bob")
    assert ended["state"] == "compensated" and ended["cause"]["step"] == "write", ended
    assert service.undone == ["/greetings/declined.greet.do"], service.undone

    file = s.scratch / "workflows" / "hello.json"
    replace(file, definition(greeting="changed"))
    dev.wait_line("hello.json: workflow hello, version 2 (the file has 1, which is loaded already)")
    numbers = itertools.count()  # an order keeps the version that it began with
    s.wait(lambda: dev.order(f"second-{next(numbers)}")["output"] == {"text": "changed"}, "orders run the changed definition")
    assert [row["version"] for row in s.rows("SELECT version FROM workflow WHERE name = 'hello' ORDER BY 1")] == [1, 2]

    replace(file, definition().replace('"complete_within"', '"complet_within"', 1))
    dev.wait_line("hello.json has mistakes; version 2 stays in use")
    os.utime(file)  # the same mistake again is not printed again
    replace(s.scratch / "workflows" / "more.json", definition("more", version=7))
    dev.wait_line("more.json: workflow more, version 7")
    replace(s.scratch / "workflows" / "last.json", definition("last", version=2**31 - 1))
    dev.wait_line("last.json: workflow last, version 2147483647")
    replace(s.scratch / "workflows" / "last.json", definition("last", version=2**31 - 1, greeting="changed"))
    dev.wait_line("last.json is not loaded: workflow last has version 2147483647, behind which none is free; name the workflow anew")
    mistakes = re.findall(r"workflows/hello\.json:\d+:\d+: /steps/0/complet_within: .*", dev.output)
    assert len(mistakes) == 1 and dev.count("has mistakes") == 1, dev.output
    assert dev.order("third")["output"] == {"text": "changed"}
    replace(s.scratch / "workflows" / "twice.json", definition("more", version=8))
    dev.wait_line("twice.json: workflow more is in more.json, too; keep it in one file")
    replace(file, definition("hello", greeting="changed"))
    dev.wait_line("hello.json: workflow hello, version 2 (", 2)

    asking = {"workflow": "asking", "version": 1, "steps": [{"step": "approve", "wait": {"signal": "approved", "within": "1h", "from": ["client"]}}]}
    replace(s.scratch / "workflows" / "asking.json", json.dumps(asking))
    dev.wait_line("client dev may send signal approved")
    s.wait(lambda: dev.is_posted("asked", "Ada", "asking"), "an order that waits is posted")
    s.wait(lambda: dev.ask("/v1/orders/asked")["state"] == "processing", "it waits")
    assert dev.ask("/v1/orders/asked/signals/approved", {"ok": True}, {"Idempotency-Key": "evt_1"})["signal"] == "taken"
    assert dev.ask("/v1/orders/asked?wait=60s")["state"] == "processed"

    late = Service()
    replace(s.scratch / "workflows" / "late.json", definition("late").replace('"letters"', '"late"'))
    dev.wait_line("late.json: step greet waits, since no agent here serves late; add a service file to the folder services")
    folder = s.scratch / "state" / "services"
    os.mkfifo(folder / "fifo.json")
    (folder / "link.json").symlink_to("fifo.json")
    replace(folder / "late.json", '{"service": "late", "url": 5}')
    dev.wait_line("late.json: line 1, column 28: /url: a number; a string is expected")
    replace(folder / "late.json", json.dumps({"service": "late", "url": late.url}))
    dev.wait_line("late.json: an agent serves late from now on")
    assert dev.order("late", workflow="late")["state"] == "processed"
    replace(folder / "again.json", json.dumps({"service": "late", "url": late.url}))
    dev.wait_line("again.json: an agent serves late already")
    late.close()

    scheduler = next(pid for pid, command in dev.pids().items() if "makegood-scheduler" in command)
    os.kill(scheduler, signal.SIGKILL)
    dev.wait_line("scheduler was ended by signal 9 (Killed); it is started again")
    assert dev.order("fourth")["state"] == "processed"

    other = Dev(s, env={**s.cluster.env, **s.cluster.tool_env}, name="other-dev")
    other.process.start()
    assert other.process.wait_end() == 1 and f"another makegood dev (pid {dev.process.pid}) uses" in other.output, other.output
    assert dev.end() == 0
    assert "ending all that was started" in dev.output
    service.close()


@scenario(**NONE)
def a_service_that_cannot_start_ends_the_whole(s):
    """Would catch: a dev that runs on without an agent, or restarts one for ever whose file is wrong."""
    service, dev = begin(s, "--service", s.scratch / "far.json", env={**s.cluster.env, **s.cluster.tool_env})
    (s.scratch / "far.json").write_text('{"service": "far", "url": "http://far.example.org"}', encoding="utf-8")
    dev.process.start()
    assert dev.process.wait_end(START_S) == 1, dev.output
    assert "agent-far ended with 2\n" in dev.output and "would send orders in plaintext" in dev.output, dev.output
    assert "makegood: a part has ended; logs are in " in dev.output, dev.output
    assert not processes.descendants(dev.process.pid)
    s.ends_badly.add("dev")
    service.close()


@scenario(**NONE, long="RabbitMQ boots twice")
def one_command_starts_servers_of_its_own_and_finds_their_data_again(s):
    """Would catch: servers that outlive the command, data that the next start does not find, a killed server that is not started
    again, a second Ctrl-C that is waited for, a second dev in its folder."""
    service, dev = begin(s)
    dev.start()
    assert dev.order("kept")["state"] == "processed"
    assert os.stat(s.scratch / "state" / "env").st_mode & 0o077 == 0, "others may read the password"
    postgres = next(pid for pid, command in dev.pids().items() if "/bin/postgres -D" in command)
    os.kill(postgres, signal.SIGKILL)
    dev.wait_line("postgres was ended by signal 9 (Killed); it is started again")
    assert dev.order("after-the-kill")["state"] == "processed"
    assert dev.end(signal.SIGTERM) == 0

    again = Dev(s, "--service", f"letters={service.url}", name="again").start()
    assert again.ask("/v1/orders/kept")["state"] == "processed"
    assert "hello.json: workflow hello, version 1\n" in again.output
    pids = again.pids()
    again.process.signal(signal.SIGINT)
    again.wait_line("once more ends it at once")
    again.process.signal(signal.SIGINT)
    again.process.wait_end()
    processes.wait_until(lambda: not [pid for pid in pids if processes.is_alive(pid)], f"all of {pids} is gone")
    s.ends_badly.add("again")
    service.close()


@scenario(**NONE, long="RabbitMQ boots twice")
def the_end_of_a_dev_with_servers_of_its_own_loses_no_order(s):
    """Would catch: servers that end before the parts that need them, an order under way that is lost or called twice, parts and
    servers that outlive a dev that was killed."""
    service, file = Service(), s.scratch / "letters.json"
    file.write_text(json.dumps({"service": "letters", "url": service.url, "try_timeout": "5m"}), encoding="utf-8")
    (s.scratch / "workflows").mkdir()
    (s.scratch / "workflows" / "hello.json").write_text(definition().replace("10s", "10m"), encoding="utf-8")
    dev = Dev(s, "--service", file).start()
    service.opened.clear()
    s.wait(lambda: dev.is_posted("held", "Ada", "hello"), "the order is posted")
    s.wait(lambda: service.greeted, "the service is called")
    pids = {next(pid for pid, command in dev.pids().items() if word in command): word
            for word in ("makegood gateway", "makegood console", "makegood-scheduler", "makegood-supervisor")}
    handles = [os.pidfd_open(pid) for pid in pids]
    dev.process.signal(signal.SIGINT)
    for handle, word in zip(handles, pids.values()):
        assert select.select([handle], [], [], DEADLINE_S)[0], f"{word} does not end"
        os.close(handle)
    shown = tool(s, dev, "order", "show", "held", "-o", "json")  # the agent has its call in hand, so its servers are there
    assert json.loads(shown)["order"]["state"] == "processing", shown
    service.opened.set()
    assert dev.process.wait_end(60) == 0, dev.output

    again = Dev(s, "--service", file, name="again").start()
    assert again.ask("/v1/orders/held?wait=60s")["state"] == "processed"
    assert service.greeted == ["Ada"], service.greeted

    pids = again.pids()  # the kernel ends them
    os.kill(again.process.pid, signal.SIGKILL)
    processes.wait_until(lambda: not [pid for pid in pids if processes.is_alive(pid)], f"all of {pids} has ended", 60)
    s.ends_badly.add("again")
    service.close()


@scenario(**NONE, long="RabbitMQ boots twice")
def a_kept_demo_with_servers_of_its_own_takes_an_order_by_curl(s):
    """Would catch: printed lines that do not work, orders that are not there, servers or a folder left behind."""
    demo = Whole(s, "demo", [sys.executable, REPOSITORY / "deploy" / "local" / "demo.py", "--keep", "--orders", "10"],
                 {"MAKEGOOD_BUILD": os.environ["MAKEGOOD_BUILD"]}).start(last="makegood order show sample")
    assert "10 orders have ended: " in demo.output and "processed" in demo.output, demo.output
    state = re.search(r"\. (\S+)/env &&", demo.output)[1]
    lines = demo.output.split("an order that they take, its end, and its story:\n", 1)[1]
    done = subprocess.run(["bash", "-ec", f". {state}/env\n{lines}"], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0 and '"state": "processed"' in done.stdout, (done, demo.output)
    assert "order sample is processed" in done.stdout, done.stdout
    assert demo.end() == 0
    assert not os.path.exists(os.path.dirname(state)), f"{state} is left behind"


@scenario(**NONE)
def a_taken_port_ends_a_dev_before_it_starts_anything(s):
    """Would catch: servers that are started, only to fail at the last of the ports."""
    service, dev = begin(s, env={**s.cluster.env, **s.cluster.tool_env})
    with socket.create_server(("127.0.0.1", dev.console)):
        dev.process.start()
        assert dev.process.wait_end() == 1 and f"--console 127.0.0.1:{dev.console}: cannot listen there: Address already in use" in dev.output
    assert not (s.scratch / "state").exists()
    s.ends_badly.add("dev")
    service.close()
