#!/usr/bin/python3
"""local.py SOURCE: deploy/local without servers: the demo's verdict on doctored facts, one wrong number at a time; the
choice of ports; and the end of started processes."""

import copy
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "deploy"))

from local import cluster, exact, orders, processes, verdict  # noqa: E402

WORKFLOW = json.loads((cluster.SAMPLE / "workflows" / "fulfilment.json").read_text(encoding="utf-8"))
# Receives a second and a third signal while it is ending on the first; then prints that it reached its end.
STOPPED_TWICE = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from local import processes
processes.end_on_signals()
try:
    os.kill(os.getpid(), signal.SIGINT)
finally:
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
    print("ended", flush=True)
"""

# Ends by SIGTERM, and prints whether SIGCONT came, too.
ENDS_BY_SIGTERM = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCONT})
print("ready", flush=True)
signal.sigwait({signal.SIGTERM})
print("SIGCONT" if signal.sigtimedwait({signal.SIGCONT}, 1) else "no SIGCONT")
"""

# Takes 150 of 400 ports, and keeps them until its stdin ends.
PORTS_TAKEN = """
import sys
sys.path.insert(0, sys.argv[1])
from local import processes
processes.PORTS = range(20000, 20400)
print(*(processes.free_port() for _ in range(150)), flush=True)
sys.stdin.read()
"""


def body_of(template, line):
    """The request that a remote receives for a step of this order."""
    if isinstance(template, dict):
        return "{" + ",".join(json.dumps(name) + ":" + body_of(value, line) for name, value in template.items()) + "}"
    if isinstance(template, str) and template.startswith("${/payload"):
        return exact.find(line.text, template[2:-1])
    return json.dumps(template)


class Facts:
    """A run of three orders without a fault."""

    def __init__(self):
        self.lines = orders.mixed_lines(3)
        self.states = {line.order_id: line.kind.meant for line in self.lines}
        self.told = dict(self.states)
        self.entries = {name: {} for name in cluster.SERVICES}
        for line in self.lines:
            for step in WORKFLOW["steps"]:
                self.entries[step["service"]][f"{line.order_id}.{step['step']}.do"] = {
                    "state": "done" if line.kind.meant == "processed" else "undone", "effects": 1,
                    "body": body_of(step["do"].get("body"), line)}
        step = WORKFLOW["steps"][0]
        self.key = f"{self.lines[0].order_id}.{step['step']}.do"
        self.ledger = self.entries[step["service"]]
        net = sum(entry["state"] == "done" for entries in self.entries.values() for entry in entries.values())
        self.totals = {"keys": 9, "do_requests": 9, "effects": 9, "undos": 9 - net, "net_effects": net,
                       "keys_with_several_effects": 0}

    def judge(self):
        nothing = {name: 0 for name in self.totals}
        remotes = {name: types.SimpleNamespace(
            entries=lambda name=name: self.entries[name],
            ledger_report=lambda number=number: {"totals": nothing if number else self.totals})
            for number, name in enumerate(cluster.SERVICES)}
        return verdict.judge(self.lines, WORKFLOW, self.states, self.told, remotes)[0]


class Verdict(unittest.TestCase):
    def test_right_facts_pass(self):
        self.assertEqual(Facts().judge(), [])

    def test_every_wrong_number_is_seen(self):
        def lose_a_digit(facts):
            facts.ledger[facts.key]["body"] = facts.ledger[facts.key]["body"].replace("14.00", "14.0")

        changes = {
            "a second effect": lambda facts: facts.ledger[facts.key].update(effects=2),
            "an effect of an order that was undone":
                lambda facts: facts.ledger[f"{facts.lines[2].order_id}.reserve.do"].update(state="done"),
            "nothing at a remote": lambda facts: facts.ledger.pop(facts.key),
            "a digit": lose_a_digit,
            "no body": lambda facts: facts.ledger[facts.key].update(body=None),
            "another state": lambda facts: facts.states.update({facts.lines[0].order_id: "error"}),
            "an order too many": lambda facts: facts.states.update(other="processed"),
            "a client that was told nothing": lambda facts: facts.told.pop(facts.lines[0].order_id),
            "the net effect": lambda facts: facts.totals.update(net_effects=facts.totals["net_effects"] + 1),
            "keys with several effects": lambda facts: facts.totals.update(keys_with_several_effects=1),
        }
        for name, change in changes.items():
            with self.subTest(name):
                facts = Facts()
                before = copy.deepcopy(vars(facts))
                change(facts)
                self.assertNotEqual({**before, "lines": 0}, {**vars(facts), "lines": 0}, "this changes nothing")
                self.assertNotEqual(facts.judge(), [])


class Ports(unittest.TestCase):
    def test_two_programs_are_never_given_the_same_port(self):
        """Neither binds its ports: a server that starts takes seconds to do so."""
        words = [sys.executable, "-c", PORTS_TAKEN, SOURCE / "deploy"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
            given = first.stdout.readline().split()
            second = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=True)
            first.stdin.close()
        self.assertEqual(len(set(given)), 150)
        self.assertEqual(set(given) & set(second.stdout.split()), set())


class Ending(unittest.TestCase):
    def test_a_process_that_was_never_started_can_be_ended(self):
        process = processes.Process("nobody", ["/bin/false"], "/dev/null")
        self.assertIsNone(process.terminate())
        process.kill()

    def test_only_a_paused_process_is_continued(self):
        """Would catch: a SIGCONT within LeakSanitizer's check, which then hangs until the process is killed, unchecked."""
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            for is_paused, told in ((False, "no SIGCONT"), (True, "SIGCONT")):
                process = processes.Process("child", [sys.executable, "-c", ENDS_BY_SIGTERM], log).start()
                processes.wait_until(lambda: log.read_text(encoding="ascii").endswith("ready\n"), "it blocks its signals")
                if is_paused:
                    process.pause()
                    processes.wait_until(lambda pid=process.pid: processes.state_of(pid) == "T", "it is stopped")
                self.assertEqual(process.terminate(), 0)
                self.assertEqual(log.read_text(encoding="ascii").splitlines()[-1], told)

    def test_a_second_signal_does_not_interrupt_the_ending(self):
        done = subprocess.run([sys.executable, "-c", STOPPED_TWICE, SOURCE / "deploy"], capture_output=True, text=True,
                              timeout=30, check=False)
        self.assertEqual((done.returncode, done.stdout), (128 + signal.SIGINT, "ended\n"), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
