"""Agents and clients of the libraries whose process is out of file descriptors or threads while they connect anew."""

import contextlib
import os
import pathlib
import subprocess
import threading

import node_library
import test_library
import test_python
from harness import DEADLINE_S, scenario, step
from local import processes

SHORTAGE_S = 4
ENDS_S = 15      # 5 s for the answer to a close; idle, the agent has nothing to finish
LINES_MAX = 100  # of a log, in that time; pika writes ten for each attempt
USER = 60111    # of an agent: root has no limit of threads


def as_user(command):
    return command if os.geteuid() != 0 else ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command)


@contextlib.contextmanager
def shortage(pid, kind, run_as=as_user):
    """A process at its limit keeps all that it has, and gets nothing more."""
    with open(f"/proc/{pid}/limits", encoding="ascii") as file:
        former = next(line.split()[-3] for line in file if line.startswith("Max open files" if kind == "nofile" else "Max processes"))
    for soft in (1, former):
        subprocess.run(run_as(("prlimit", f"--pid={pid}", f"--{kind}={soft}:")), check=True)
        if soft == 1:
            yield


def live_through(proxy, pid, lines, run_as=as_user):
    """A shortage of each kind, at the moment at which its connection ends."""
    for kind in ("nofile", "nproc"):
        before, used = lines(), cpu_s(pid)
        with shortage(pid, kind, run_as):
            proxy.cut()
            threading.Event().wait(SHORTAGE_S)
        assert lines() - before < LINES_MAX, f"{kind}: {lines() - before} lines"
        assert cpu_s(pid) - used < SHORTAGE_S / 2, f"{kind}: {cpu_s(pid) - used} s"
        yield kind


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def lines_of(path):
    return len(path.read_text(encoding="utf-8", errors="replace").splitlines())


def start(s, url, command, *words):
    """An agent by a library, as a user with a limit of threads."""
    log = s.scratch / "agent.log"
    for folder in (s.scratch, *list(s.scratch.parents)[:-1]):
        folder.chmod(folder.stat().st_mode | (0o777 if folder == s.scratch else 0o011))
    agent = processes.Process("agent", [*as_user(command), url, *words], log)
    s.others.append(agent)
    agent.start()
    s.wait(lambda: s.client.consumers("agent.parcels.requests") == 1, "the agent consumes")
    return agent, log


def load(s):
    s.cluster.tool("broker", "apply", "--service", "parcels")
    s.load_workflow("parcel", [step("deliver", "parcels", do={"method": "POST", "path": "/parcels", "body": "book"})])


def agent_lives_through(s, command, *words):
    load(s)
    proxy = test_library.Proxy(s.url)
    agent, log = start(s, proxy.url, command, *words)
    for _kind in live_through(proxy, agent.pid, lambda: lines_of(log)):
        s.wait(lambda: s.client.consumers("agent.parcels.requests") == 1, "the agent consumes again")
        s.wait_state(s.client.submit("parcel", {}), "processed")
    assert agent.terminate() == 0, agent.tail()
    proxy.close()


@scenario(services=(), long="alerts, pauses and time-outs pass in real time")
def an_agent_by_the_python_library_outlives_a_shortage(s):
    """Would catch: an agent that is off the broker for ever, silent or in a loop without a pause."""
    agent_lives_through(s, test_python.AGENT, s.scratch / "parcels.jsonl")


CLIENT = """import logging, sys
sys.path.insert(0, sys.argv[1])
from makegood import Client
logging.basicConfig(level=logging.INFO)
client = Client(sys.argv[2])
for _ in sys.stdin:
    print(client.wait(client.submit("parcel", timeout=20), 20)["status"], flush=True)
client.close()"""


@scenario(services=(), long="alerts, pauses and time-outs pass in real time")
def a_client_by_the_python_library_outlives_a_shortage(s):
    """Would catch: as above, and posts that all time out."""
    load(s)
    start(s, s.url, test_python.AGENT, s.scratch / "parcels.jsonl")
    proxy, log = test_library.Proxy(s.url), s.scratch / "client.log"
    with log.open("w", encoding="utf-8") as lines:
        client = subprocess.Popen(as_user(("/usr/bin/python3", "-B", "-c", CLIENT, str(test_python.LIBRARY), proxy.url)), text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=lines)

    def submit():
        print(file=client.stdin, flush=True)
        return client.stdout.readline().strip()

    try:
        assert submit() == "processed"
        for _kind in live_through(proxy, client.pid, lambda: lines_of(log)):
            assert submit() == "processed", log.read_text(encoding="utf-8")
        client.stdin.close()
        assert client.wait(DEADLINE_S) == 0
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
        proxy.close()


@scenario(services=())
def calls_of_the_python_library_wait_for_a_thread(s):
    """Would catch: calls that never began and count for ever, and requests that join them."""
    load(s)
    agent, _ = start(s, s.url, test_python.AGENT, s.scratch / "parcels.jsonl")
    with shortage(agent.pid, "nproc"):
        orders = [s.client.submit("parcel", {}) for _ in range(6)]  # more than it calls at once
        s.wait(lambda: "no thread to call" in agent.tail(), "the agent lacks a thread")
    for order in orders:
        s.wait_state(order, "processed")
    assert agent.terminate() == 0, agent.tail()


@scenario(services=("payment",), long="npm installs packages")
def an_agent_and_a_client_by_the_node_library_outlive_a_shortage(s):
    """Would catch: as above, and a client that posts nothing more."""
    folder = node_library.install()
    agent_lives_through(s, ("node", folder / "parcels_agent.js"), s.scratch / "parcels.jsonl")
    start(s, s.url, ("node", folder / "parcels_agent.js"), s.scratch / "parcels.jsonl")
    proxy = test_library.Proxy(s.url)
    with node_library.client(folder, s, proxy.url) as client:
        assert client.wait(client.submit("parcel"), DEADLINE_S)["status"] == "processed"
        for _kind in live_through(proxy, client.process.pid, lambda: lines_of(client.log), tuple):
            assert client.wait(client.submit("parcel"), DEADLINE_S)["status"] == "processed"
    proxy.close()


@scenario(services=(), long="alerts, pauses and time-outs pass in real time")
def an_agent_and_a_client_by_the_c_library_outlive_a_shortage(s):
    """Would catch: as above."""
    installed = test_library.Installed(s)
    command = ["env", f"LD_LIBRARY_PATH={installed.environment['LD_LIBRARY_PATH']}", installed.build(test_library.HERE / "library_agent.c")]
    agent_lives_through(s, command)
    start(s, s.url, command)
    proxy = test_library.Proxy(s.url)
    with test_library.Program(s, installed, proxy.url) as program:
        assert program.status("wait", program.submit("parcel", {}))[1]["status"] == "processed"
        for _kind in live_through(proxy, program.process.pid, lambda: lines_of(pathlib.Path(program.log.name)), tuple):
            assert program.status("wait", program.submit("parcel", {}))[1]["status"] == "processed"
    proxy.close()


@scenario(services=(), own_servers=True, long="RabbitMQ boots twice")
def an_agent_by_the_python_library_ends_under_an_alarm_on_servers_of_its_own(s):
    """The broker reads nothing of a connection that has published. Would catch: an agent that waits for its answer to a close."""
    load(s)
    agent, log = start(s, s.url, test_python.AGENT, s.scratch / "parcels.jsonl")
    s.wait_state(s.client.submit("parcel", {}), "processed")
    s.servers.rabbit.ctl("set_vm_memory_high_watermark", "0.000001")
    try:
        s.wait(lambda: "blocked" in s.servers.rabbit.ctl("list_connections", "state"), "the broker blocks its publishers")
        agent.ask_to_end()
        s.wait(lambda: not agent.is_running(), "the agent has ended", timeout_s=ENDS_S)
    finally:
        s.servers.rabbit.ctl("set_vm_memory_high_watermark", "0.6")
    assert agent.wait_end() == 0 and "stopping" in log.read_text(encoding="utf-8"), agent.tail()
