"""`makegood agent test`: agents that keep the protocol, and one wrong agent for each rule."""

import json
import secrets
import subprocess

import answers
from harness import DEADLINE_S, scenario
from local import cluster, processes
from test_library import SOURCES, Installed

HERE = cluster.REPOSITORY / "tests" / "e2e"
RUN_S = 150  # half a minute, and the time-outs of a wrong agent
RULES = ("report", "settings", "answer", "repeat", "verify", "high", "redelivered", "at_most_once", "late", "foreign", "unreadable", "newer",
         "pause", "resume", "limit", "clock", "undo", "replies")
# Rules without evidence next to a broken one.
FOLLOWS = {"report": {"settings", "limit"}, "answer": set(RULES) - {"report", "settings", "replies", "answer"}, "resume": {"limit", "undo"},
           "settings": set()}


def begin(s, url, service, *words):
    """Starts the test of an agent; it waits most of its time."""
    return subprocess.Popen([s.cluster.bin / "makegood", "agent", "test", "--service", service, "-o", "json", *words], text=True,
                            env={**processes.plain_environment(), **s.cluster.env, "MAKEGOOD_AMQP_URL": url}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def end(test):
    out, err = test.communicate(timeout=RUN_S)
    assert out, err
    assert not answers.faults("agent test", out), out
    return test.returncode, {row["rule"]: row for row in json.loads(out)["rules"]}


def of(found, verdict):
    return {rule for rule, row in found.items() if row["verdict"] == verdict}


def host_of_its_own(s, service):
    """A virtual host for one agent and its test: the test plays the schedulers there."""
    name = "e2e_" + secrets.token_hex(6)
    s.servers.rabbit.create_vhost(name)
    url = s.servers.rabbit.url_of(name)
    s.cluster.tool("broker", "apply", "--service", service, env={"MAKEGOOD_AMQP_URL": url})
    return url


class Wrong:
    """An agent in a virtual host of its own, and its test."""

    def __init__(self, s, rule, url=None):
        self.rule, self.url = rule, url or host_of_its_own(s, "parcels")
        self.agent = processes.Process(f"wrong-{rule}", ["/usr/bin/python3", "-B", HERE / "wrong_agent.py", self.url, rule],
                                       s.scratch / f"wrong-{rule}.log").start()
        s.others.append(self.agent)
        self.client = s.new_client_of(self.url)

    def begin(self, s):
        s.wait(lambda: self.client.consumers("agent.parcels.requests") == 1, f"the agent {self.rule} consumes", DEADLINE_S)
        return begin(s, self.url, "parcels")


@scenario(services=("payment",), schedulers=0, supervisors=0, long="each rule is tested, on whole agents and clients")
def an_agent_of_any_language_keeps_the_protocol(s):
    """Would catch: a test that finds fault with makegood-agent, or a rule that the Python or the C library breaks."""
    installed, right = Installed(s), Wrong(s, "none")
    url = host_of_its_own(s, "greeting")
    client = s.new_client_of(url)
    with open(s.scratch / "example_agent.log", "wb") as log, subprocess.Popen(
            [installed.build(SOURCES / "example_agent.c"), url], env=installed.environment, stderr=log) as example:
        try:
            s.wait(lambda: client.consumers("agent.greeting.requests") == 1, "the example in C consumes", DEADLINE_S)
            all_keep_it(s, right, url)
            example.terminate()
            assert example.wait(DEADLINE_S) == 0, log.name
        finally:
            example.kill()


def all_keep_it(s, right, greeting_url):
    tests = (begin(s, s.url, "payment", "--path", "/charges", "--payload", '{"amount": 14.00}'), right.begin(s),
             begin(s, greeting_url, "greeting", "--payload", '{"name": "Ada"}'))
    for test in tests:
        code, found = end(test)
        assert set(found) == set(RULES) and of(found, "kept") == set(RULES) and code == 0, found
    left = [entry for entry in s.remote("payment").entries().values() if entry["state"] == "done"]
    assert not left, left


@scenario(services=("payment",))
def an_agent_beside_schedulers_is_not_tested(s):
    """Would catch: a test that takes the replies of real orders, or that pauses agents at work."""
    s.wait(lambda: s.client.consumers("scheduler.replies") == 1, "a scheduler consumes")
    done = s.cluster.tool("agent", "test", "--service", "payment", check=False)
    assert done.returncode == 4 and "schedulers consume scheduler.replies here" in done.stderr and not done.stdout, done
    done = s.cluster.tool("agent", "test", "--service", "nothing", check=False)
    assert done.returncode == 1 and "makegood broker apply --service nothing" in done.stderr, done


@scenario(services=(), schedulers=0, supervisors=0, agents=0, long="each rule is tested, on whole agents and clients")
def each_wrong_agent_breaks_its_rule_and_no_other(s):
    """Would catch: a broken rule that is not found, and a verdict on a rule that was kept."""
    for some in (RULES[:6], RULES[6:12], RULES[12:]):  # each is a process with its test: the machine bears so many at once
        wrongs = [Wrong(s, rule) for rule in some]
        tests = [wrong.begin(s) for wrong in wrongs]
        for wrong, test in zip(wrongs, tests):
            code, found = end(test)
            wrong.agent.terminate()
            assert of(found, "broken") == {wrong.rule} and code == 1, (wrong.rule, found)
            assert of(found, "not_shown") == FOLLOWS.get(wrong.rule, set()), (wrong.rule, found)


@scenario(services=(), schedulers=0, supervisors=0, agents=0, long="each rule is tested, on whole agents and clients")
def an_agent_that_ends_at_a_rule_breaks_no_later_one(s):
    """Would catch: rules that are called broken, or kept, by an agent that is no longer there."""
    code, found = end(Wrong(s, "dies").begin(s))
    assert of(found, "broken") == {"unreadable"} and code == 1, found
    assert of(found, "not_shown") == {"late", "newer", "pause", "resume", "limit", "clock", "undo"}, found


@scenario(services=(), schedulers=0, supervisors=0, agents=0, long="time-outs and reports pass in real time")
def an_agent_that_floods_its_replies_is_found_and_the_next_one_is_tested(s):
    """Would catch: a flood that ends the test without a verdict, and its rest, taken for replies to real orders by every
    later test; a reply that is too large, reported as an empty one."""
    flood, large = Wrong(s, "floods"), Wrong(s, "large")
    swollen = large.begin(s)
    code, found = end(flood.begin(s))
    assert code == 1 and "replies" in of(found, "broken") and "answered" in found["replies"]["why"], found
    flood.agent.terminate()
    assert "a reply is larger than 1 MiB" in end(swollen)[1]["replies"]["why"]
    large.agent.terminate()
    s.wait(lambda: flood.client.consumers("agent.parcels.requests") == 0, "it has ended", DEADLINE_S)
    for key in ("agent-test-0123456789abcdef.7", "agent-test-0123456789abcdef.8"):  # of a test that was killed
        flood.client.publish(json.dumps({"v": 1, "order_id": key, "step": "test", "attempt": 1, "kind": "do", "outcome": "done", "executed": "yes"}),
                             "scheduler.replies", "makegood.replies.parcels", type="reply")
    code, found = end(Wrong(s, "none", flood.url).begin(s))
    assert of(found, "kept") == set(RULES) and code == 0, found


def report_of(client, instance):
    """Publishes the last report of a process that an earlier test has set to version 5."""
    client.publish(json.dumps({"v": 1, "service": "parcels", "instance": instance, "breaker": "closed", "ready": True, "in_flight": 0,
                               "concurrency": 8, "control_version": 5}), "scheduler.replies", "makegood.replies.parcels", type="service_report")


@scenario(services=(), schedulers=0, supervisors=0, agents=0, long="each rule is tested, on whole agents and clients")
def a_restarted_agent_is_tested_again(s):
    """Would catch: reports of processes that have ended taken for those of the agent, whether they lay in the queue or come while
    the test begins; a test that begins where replies to real orders wait, or takes them away."""
    right = Wrong(s, "none")
    client = right.client
    client.channel.queue_bind(client.queue, "makegood.control.parcels")
    s.wait(lambda: client.depth("scheduler.replies") > 0, "the agent's report waits", DEADLINE_S)
    client.publish("{}", "scheduler.replies", "makegood.replies.parcels", type="reply")
    _, err = (test := right.begin(s)).communicate(timeout=RUN_S)
    assert test.returncode == 4 and "scheduler.replies holds 1 replies to requests of others" in err, err
    s.wait(lambda: client.depth("scheduler.replies") > 0, "the reply waits again", DEADLINE_S)
    client.pump()
    assert not client.messages, client.messages
    left = []
    while (message := client.get("scheduler.replies")) is not None:
        left.append(message[1])
    assert b"{}" in left, left

    right.agent.terminate()
    for i in range(20):
        report_of(client, f"ended:{i}")
    client.publish("{}", "scheduler.replies", "makegood.replies.parcels", type="service_report")
    right.agent.start()
    test = right.begin(s)
    client.wait_message(lambda _body, properties: properties.type == "service_control", "the test sends settings", DEADLINE_S)
    for i in range(6):
        report_of(client, f"ending:{i}")
    code, found = end(test)
    assert of(found, "kept") == set(RULES) and code == 0, found
