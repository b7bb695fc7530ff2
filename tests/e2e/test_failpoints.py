"""The process is killed at every place between a cause and its ack: nothing is lost, nothing is done twice.

common/base/failpoint.def names the places; a new line there is covered here without further change.
"""

import re
import signal

from harness import scenario, step
from local import cluster

PASSES = (1, 2)  # killed at the first pass, and at the second, when work is already under way
ONCE = ("supervisor_elected",)  # in a process' life
KINDS = ("scheduler", "agent", "supervisor", "runner")  # the last is in test_bulk.py
DEFINED = (cluster.REPOSITORY / "common/base/failpoint.def").read_text(encoding="utf-8")
PLACES = [(name.lower(), processes.split()) for name, processes in re.findall(
    r'^MG_FAILPOINT_AT\((\w+), "([a-z ]+)"', DEFINED, re.M)]

# The behaviours of the orders of one round: together they send every kind of message.
BEHAVIOURS = ((None, "processed"), ({"payment": "decline"}, "compensated"), ({"payment": "unavailable:1"}, "processed"),
              ({"carrier": "decline"}, "compensated"), ({"inventory": "drop"}, "processed"), (None, "processed"))


def load(s):
    for name, within in (("walk", "10m"), ("back", "3s")):
        steps = [step("reserve", "inventory", on_unknown="retry"), step("charge", "payment", after=["reserve"]),
                 step("ship", "carrier", after=["charge"])]
        for each in steps:  # an attempt of the killed agent is redelivered at once, and not by a deadline;
            each["complete_within"] = within  # its undo waits for that of a request that was redelivered (law 11, quiesce)
            each["undo"]["complete_within"] = "10m"
        s.load_workflow(name, steps, complete_within="30m")


def submit(s):
    """One round of orders; the client of the last has stopped consuming, so that its statuses are owed."""
    orders = []
    for number, (behaviour, word) in enumerate(BEHAVIOURS):
        payload = {} if behaviour is None else {"behaviour": behaviour}
        gone = "nobody.listens.here" if number == len(BEHAVIOURS) - 1 else None
        orders.append((s.client.submit("walk" if word == "processed" else "back", payload, reply_to=gone), word))
    return orders


def walk(s, kind, victim):
    places = [name for name, kinds in PLACES if kind in kinds]
    assert len(PLACES) == len(re.findall(r"^MG_FAILPOINT_AT\(", DEFINED, re.M)), "a line of failpoint.def is not read here"
    assert all(set(kinds) <= set(KINDS) for _, kinds in PLACES), "failpoint.def names a process that no test here kills"
    load(s)
    environment, rounds = dict(victim.env), 0
    for name in places:
        for nth in PASSES[:1] if name in ONCE else PASSES:
            victim.kill()
            victim.env = {**environment, "MAKEGOOD_FAILPOINT": f"{name}:{nth}"}
            victim.start()
            orders = submit(s)
            rounds += 1
            s.wait(lambda: not victim.is_running(), f"{victim.name} comes by {name} for the {nth}. time")
            assert victim.popen.returncode == -signal.SIGKILL, f"{victim.name} ended with {victim.popen.returncode}\n{victim.tail()}"
            victim.env = environment
            victim.start()
            for order, word in orders:
                s.wait_state(order, word)
            for order, word in orders[:-1]:
                s.client.wait_status(order, word)
                seqs = [message["seq"] for message in s.client.statuses(order.order_id)]
                assert seqs == list(range(1, len(seqs) + 1)), (name, nth, seqs)
    owed = s.rows("SELECT count(DISTINCT order_id) AS n FROM order_event WHERE owed")[0]["n"]
    assert owed == rounds, f"{owed} of {rounds} orders have statuses that nobody took"
    victim.wait_ready()


@scenario(long="a process is killed at each place between a cause and its ack")
def a_scheduler_killed_anywhere_between_cause_and_ack(s):
    """Would catch: an ack too early, an effect that existed only in the dead process, a cause with effects that are made twice."""
    walk(s, "scheduler", s.cluster.schedulers[0])


@scenario(long="a process is killed at each place between a cause and its ack")
def an_agent_killed_anywhere_between_request_and_ack(s):
    """Would catch: a call without an answer that counts as not made, a reply that is lost with its agent."""
    walk(s, "agent", s.cluster.agents_of("payment")[0])


@scenario(long="a process is killed at each place between a cause and its ack")
def a_supervisor_killed_anywhere_between_election_and_asking(s):
    """Would catch: due work that a dead leader had put off, and that no later sweep asks about."""
    walk(s, "supervisor", s.cluster.supervisors[0])
