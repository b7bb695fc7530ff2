"""`makegood client test`: clients that keep the rules, and one wrong client for each rule."""

import json
import os
import secrets
import signal
import subprocess

import answers
import node_library
from harness import DEADLINE_S, scenario
from local import cluster, processes
from test_library import Installed, SOURCES

HERE = cluster.REPOSITORY / "tests" / "e2e"
RUN_S = 200  # half a minute, and the time-outs of a wrong client
RULES = ("submit", "form", "persistent", "mandatory", "confirms", "reply_to", "statuses", "patience", "repeat", "order", "gap", "foreign",
         "unreadable", "members", "word", "rejected", "refused", "returned", "confirm_lost", "cut", "same_bytes", "new_id", "ends")
POST = set(RULES[:7])
LATER = set(RULES) - POST
# Rules without evidence next to a broken one.
FOLLOWS = {"submit": LATER | {"statuses"}, "reply_to": LATER | {"statuses"}, "statuses": LATER, "mandatory": {"returned"},
           "confirms": {"refused", "returned"}}
FAULTS = {"error": "ends"}  # a further fault against a rule: an end after which the client goes on
WRONG = ("/usr/bin/python3", "-B", HERE / "wrong_client.py")
EXAMPLE = ("/usr/bin/python3", "-B", cluster.REPOSITORY / "proto" / "clients" / "python" / "example_client.py")


def place(s):
    """A virtual host of its own."""
    name = "e2e_" + secrets.token_hex(6)
    s.servers.rabbit.create_vhost(name)
    url = s.servers.rabbit.url_of(name)
    s.cluster.tool("broker", "apply", "--client", "shop", env={"MAKEGOOD_AMQP_URL": url})
    return url


def begin(s, url, *command, timeout="20s"):
    """Starts the test of a client; it waits most of its time."""
    return subprocess.Popen([s.cluster.bin / "makegood", "client", "test", "-o", "json", "--timeout", timeout, "--", *command], text=True,
                            env={**processes.plain_environment(), **s.cluster.env, "MAKEGOOD_AMQP_URL": url}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def end(test):
    out, err = test.communicate(timeout=RUN_S)
    assert out, err
    assert not answers.faults("client test", out), out
    return test.returncode, {row["rule"]: row for row in json.loads(out)["rules"]}


def of(found, verdict):
    return {rule for rule, row in found.items() if row["verdict"] == verdict}


@scenario(services=(), schedulers=0, supervisors=0, agents=0, long="each rule is tested, on whole agents and clients")
def a_client_of_any_language_keeps_the_rules(s):
    """Would catch: a rule that the library for Python, C or Node breaks, with a queue of its own or one that is kept; a line that
    is judged with a log's in its middle."""
    installed = Installed(s)
    in_c = ("env", f"LD_LIBRARY_PATH={installed.environment['LD_LIBRARY_PATH']}", installed.build(SOURCES / "example_client.c"))
    in_node = ("node", node_library.install() / "node_modules" / "makegood" / "example_client.js")
    tests = [begin(s, place(s), *words) for words in (EXAMPLE, (*WRONG, "parts", "{url}", "shop"), in_c, in_node)]
    for test in tests:
        code, found = end(test)
        assert set(found) == set(RULES) and of(found, "kept") == set(RULES) and code == 0, found


@scenario(services=())
def a_client_beside_schedulers_is_not_tested(s):
    """Would catch: a test that takes real orders, one that hangs, and a command that outlives it."""
    s.wait(lambda: s.client.consumers("orders.intake") == 1, "a scheduler consumes")
    done = s.cluster.tool("client", "test", "--", *EXAMPLE, check=False)
    assert done.returncode == 4 and "schedulers consume orders.intake here" in done.stderr and not done.stdout, done
    url = place(s)
    done = s.cluster.tool("client", "test", "--", "/nowhere/client", check=False, env={"MAKEGOOD_AMQP_URL": url})
    assert done.returncode == 1 and "could not start /nowhere/client" in done.stderr, done
    done = s.cluster.tool("client", "test", "--", *EXAMPLE, check=False, env={"MAKEGOOD_AMQP_URL": url.replace("amqp://", "amqps://")})
    assert done.returncode == 2 and "begins with amqp://" in done.stderr, done
    mark = s.scratch / "started"
    test = begin(s, url, "/bin/sh", "-c", f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec cat /dev/zero > /dev/null")
    s.wait(mark.exists, "the command runs", DEADLINE_S)
    test.send_signal(signal.SIGTERM)
    _, err = test.communicate(timeout=DEADLINE_S)
    assert test.returncode == 1 and "ended by a signal" in err, err
    assert not os.path.exists(f"/proc/{mark.read_text(encoding='ascii').strip()}"), "the command outlives the test"
    s.new_client_of(url).publish(b"{}", "orders.intake", "makegood.intake")
    test = begin(s, url, *EXAMPLE)
    _, err = test.communicate(timeout=DEADLINE_S)
    assert test.returncode == 4 and "orders.intake holds 1 orders" in err, err


def wrong_try(s, rules):
    """Each client breaks its rule, or that of its fault, and no other."""
    for first in range(0, len(rules), 6):  # each is a process with its test: the machine bears so many at once
        some = rules[first:first + 6]
        tests = [begin(s, place(s), *WRONG, rule, timeout="12s") for rule in some]
        for rule, test in zip(some, tests):
            code, found = end(test)
            assert of(found, "broken") == {FAULTS.get(rule, rule)} and code == 1, (rule, found)
            assert of(found, "not_shown") == FOLLOWS.get(rule, set()), (rule, found)


@scenario(services=(), schedulers=0, supervisors=0, agents=0, long="each rule is tested, on whole agents and clients")
def each_wrong_client_of_the_first_rules_is_found(s):
    """Would catch: a broken rule that is not found, and a verdict on a rule that was kept."""
    wrong_try(s, RULES[:12])


@scenario(services=(), schedulers=0, supervisors=0, agents=0, long="each rule is tested, on whole agents and clients")
def each_wrong_client_of_the_later_rules_is_found(s):
    """Would catch: the same."""
    wrong_try(s, (*RULES[12:], *FAULTS))
