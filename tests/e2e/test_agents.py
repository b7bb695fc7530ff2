"""`makegood agents`: a process for each service file of a folder, which follows the folder while orders are on their way."""

import contextlib
import json
import os
import re
import signal
import threading

from harness import scenario, step
from local import processes
from local.cluster import SERVICES
from privileges import OwnAccess

FOLDER = {"schedulers": 1, "agents": 0, "supervisors": 1, "services": SERVICES}  # the folder's agents take the place of the others
WORKFLOW = "patient"  # its steps outlast a start of an agent on a busy machine


class Folder:
    """A folder of service files, and the program that serves it."""

    def __init__(self, s, env=None, **process):
        self.s, self.path = s, s.scratch / "services"
        self.path.mkdir()
        s.load_workflow(WORKFLOW, [step(name, service, complete_within="60s", after=after) for name, service, after in (
            ("reserve", "inventory", ()), ("charge", "payment", ["reserve"]), ("ship", "carrier", ["charge"]))])
        for name in SERVICES:
            self.write(name)
        port = processes.free_port()
        argv = [s.cluster.bin / "makegood", "agents", self.path, "--listen", f"127.0.0.1:{port}"]
        self.process = processes.Process("folder", argv, s.scratch / "folder.log", http_port=port, **process,
                                         env={**s.cluster.env, **(env or s.cluster.env_of("operator", None))})
        s.others.append(self.process)

    def start(self):
        self.process.start().wait_ready()
        return self

    def file(self, name):
        return self.path / f"{name}.json"

    def text(self, name, **fields):
        definition = json.loads(self.s.cluster.service_file(name).read_text(encoding="utf-8"))
        definition.pop("$schema", None)
        return json.dumps({**definition, **fields}, indent=2)

    def write(self, name, **fields):
        """As an editor or a deployment does: a new file takes the place of the old one at once."""
        draft = self.path / f".{name}.new"
        draft.write_text(self.text(name, **fields), encoding="utf-8")
        draft.rename(self.file(name))

    def agents(self):
        """{pid: service} of the agents that run."""
        found = {}
        for pid in processes.descendants(self.process.pid):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="utf-8") as words:
                match = re.search(r"--service\0[^\0]*/(\w+)\.json", words.read())
                if match and processes.is_alive(pid):
                    found[pid] = match[1]
        return found

    def agent(self, name):
        """The one agent of the service; None while there are none or several."""
        pids = [pid for pid, service in self.agents().items() if service == name]
        return pids[0] if len(pids) == 1 else None

    def log(self, message, **fields):
        """The log's lines of the parent with this message and these fields."""
        with open(self.process.log_path, encoding="utf-8") as log:
            lines = [json.loads(line) for line in log if line.startswith("{")]
        return [line for line in lines if line["message"] == message and all(line.get(key) == value for key, value in fields.items())]

    def wait_replaced(self, name, old):
        return self.s.wait(lambda: self.agent(name) not in (None, old) and self.agent(name), f"another agent serves {name} alone")

    def starts(self, name):
        return self.process.series("makegood_agents_starts_total", service=name)


class Stream:
    """Orders, one after the other, until it is left; then each of them has to be processed."""

    def __init__(self, s, payload):
        self.s, self.payload, self.orders, self.is_over = s, payload, [], threading.Event()
        self.client = s.new_client()

    def __enter__(self):
        self.send(20)
        return self

    def send(self, count):
        self.orders += [self.client.submit(WORKFLOW, payload=self.payload) for _ in range(count)]

    def __exit__(self, kind, *_):
        if kind is None:
            self.send(20)
            for order in self.orders:
                self.s.wait_state(order, "processed")


@scenario(**FOLDER, long="alerts, pauses and time-outs pass in real time")
def a_changed_service_file_replaces_its_agent_and_loses_no_request(s):
    """Would catch: an old agent that goes before the new one serves; a request that is lost, or repeated, by the change; other
    services' agents replaced too; a file read while it is written; the old URL still called afterwards."""
    folder = Folder(s).start()
    before = folder.agents()
    old = folder.agent("payment")
    with Stream(s, {"behaviour": {"payment": "slow:400"}}) as stream:
        folder.write("payment", concurrency=7)
        s.wait(lambda: folder.process.series("makegood_agent_concurrency", agent="payment") == 7, "the new file counts")
        stream.send(20)
        folder.wait_replaced("payment", old)
    assert folder.log("a new agent takes over", service="payment"), "the old agent went before the new one served"
    others = {pid for pid, service in before.items() if service != "payment"}
    assert others <= set(folder.agents()), "agents of other services were replaced"
    failures = s.rows("SELECT order_id, step FROM order_step WHERE failure_count > 0")
    assert not failures, f"the change cost attempts: {failures}"
    s.wait(lambda: folder.log("an agent has drained", service="payment"), "the end of the old agent is logged")


@scenario(**FOLDER, long="graces, elections and patience pass in real time")
def a_broken_service_file_keeps_the_old_agent_and_is_reported_once(s):
    """Would catch: an agent ended by a file with a mistake, or by half of a file; a mistake that is not logged, is logged at each
    look, or is not shown by /readyz; a repaired file that is not taken."""
    folder = Folder(s).start()
    old = folder.agent("payment")
    whole = folder.text("payment", concurrency=5)
    with open(folder.file("payment"), "w", encoding="utf-8") as file:  # written in two parts, with a long pause
        file.write(whole[:len(whole) // 2])
        file.flush()
        s.wait(lambda: "payment" in folder.process.get("/readyz")[1], "/readyz tells of the mistake")
        mistakes = folder.log("a service file has a mistake and is not used until it is repaired", service="payment")
        assert len(mistakes) == 1 and re.search(r"payment\.json: line \d+, column \d+: ", mistakes[0]["reason"]), mistakes
        assert mistakes[0]["serves"] == "the old file" and folder.process.get("/readyz")[0] == 200
        assert folder.agent("payment") == old
        looks = folder.process.series("makegood_agents_file_refused", service="payment")
        assert looks == 1, looks
        order = s.client.submit(WORKFLOW)
        s.client.wait_status(order, "processed")
        file.write(whole[len(whole) // 2:])
    s.wait(lambda: folder.process.series("makegood_agent_concurrency", agent="payment") == 5, "the whole file counts")
    folder.wait_replaced("payment", old)
    assert len(folder.log("a service file has a mistake and is not used until it is repaired")) == 1
    wrong = folder.path / "mail.json"
    wrong.write_text(folder.text("carrier"), encoding="utf-8")
    line = s.wait(lambda: folder.log("a service file has a mistake and is not used until it is repaired", service="mail"), "the name")
    assert line[0]["reason"].endswith("describes the service carrier: rename the file to carrier.json"), line
    assert folder.starts("mail") == 0 and folder.process.get("/readyz")[0] == 503
    wrong.unlink()
    folder.process.wait_ready()


@scenario(**FOLDER, long="others of its kind are quick")
def a_service_file_added_starts_an_agent_and_one_removed_drains_it(s):
    """Would catch: a new file that needs a restart; an agent that goes on after its file; calls cut off by the removal; an unreadable
    folder that ends agents."""
    folder = Folder(s)
    folder.file("payment").unlink()
    folder.start()
    order = s.client.submit(WORKFLOW, payload={"behaviour": {"payment": "slow:2500"}})
    s.wait_step(order, "charge", "waiting")
    folder.write("payment")
    s.wait(lambda: s.remote("payment").load()["now"] == 1, "the new agent calls")
    folder.file("payment").unlink()
    s.client.wait_status(order, "processed")
    s.wait(lambda: "payment" not in folder.agents().values(), "the agent of the removed file has ended")
    assert s.step(order, "charge")["failure_count"] == 0, "the removal cost an attempt"
    s.wait(lambda: folder.log("an agent has drained", service="payment"), "the end of the old agent is logged")
    folder.path.rename(s.scratch / "away")
    s.wait(lambda: "unreadable" in folder.process.get("/readyz")[1], "the folder is missed")
    assert sorted(folder.agents().values()) == ["carrier", "inventory"], "an unreadable folder is not an empty one"
    (s.scratch / "away").rename(folder.path)
    folder.process.wait_ready()


@scenario(**FOLDER, long="others of its kind are quick")
def a_killed_agent_of_a_folder_comes_again_and_harms_no_other(s):
    """Would catch: a dead agent that is not replaced, or takes others with it; agents that outlive their parent; an agent that stalls
 for ever."""
    folder = Folder(s).start()
    before = folder.agents()
    old = folder.agent("payment")
    with Stream(s, {"behaviour": {"payment": "slow:200"}}) as stream:
        os.kill(old, signal.SIGKILL)
        new = folder.wait_replaced("payment", old)
        stream.send(20)
    ended = folder.log("an agent has ended; another one is started", service="payment")
    assert [line["signal"] for line in ended] == [int(signal.SIGKILL)], ended
    assert set(before) - {old} <= set(folder.agents()) and new not in before
    pids = set(folder.agents())
    s.ends_badly.add("folder")
    os.kill(folder.process.pid, signal.SIGKILL)  # of the parent alone
    folder.process.popen.wait()
    s.wait(lambda: not any(processes.is_alive(pid) for pid in pids), "the agents drain when their parent is gone")


@scenario(**FOLDER, long="graces, elections and patience pass in real time")
def a_folder_drains_all_its_agents_at_the_end(s):
    """Would catch: a parent that ends before its agents, or cuts calls off."""
    folder = Folder(s).start()
    orders = [s.client.submit(WORKFLOW, payload={"behaviour": {"inventory": "slow:2500"}}) for _ in range(5)]
    s.wait(lambda: s.remote("inventory").load()["now"] > 0, "a call is under way")
    pids = set(folder.agents())
    assert folder.process.terminate() == 0
    assert not any(processes.is_alive(pid) for pid in pids)
    folder.process.start().wait_ready()
    for order in orders:
        s.wait_state(order, "processed")
        calls = s.effect(order, "reserve", "inventory")["do_requests"]
        assert calls == 1, f"a call was cut off, so that it came {calls} times"


@scenario(own_servers=True, access=OwnAccess, **FOLDER, long="servers start anew with the least rights")
def each_agent_of_a_folder_is_its_own_user(s):
    """Would catch: an agent that logs in as another service's user; a user that one agent needs, with rights on all services' queues; a
    secret that no agent re-reads."""
    secrets = s.scratch / "agents"
    for name in SERVICES:
        (secrets / name).mkdir(parents=True)
        (secrets / name / "amqp-url").write_text(s.cluster.access.url_of(f"agent-{name}"), encoding="ascii")
    folder = Folder(s, env={"MAKEGOOD_AMQP_URL_FILE": f"{secrets}/{{service}}/amqp-url"}).start()
    users = s.servers.rabbit.ctl("list_connections", "--formatter", "json", "user", "client_properties")
    users = {row["user"] for row in json.loads(users) if "makegood-agent" in json.dumps(row)}
    assert users == {f"agent-{name}" for name in SERVICES}, users
    folder.process.signal(signal.SIGHUP)
    s.wait(lambda: len(folder.log("SIGHUP: files read again; new connections use them", read="amqp-url (unchanged)")) == len(SERVICES),
           "each agent reads its secrets again")
