"""Signals by the libraries of proto/clients: through the client's own exchange, to a stand-in for the schedulers."""

import decimal
import json

from harness import scenario
from stand_in import StandIn
from test_library import Installed, NOTHING, Program, REFUSED, TIMEOUT
from test_python import import_library


def command_of(order_id, name, signal_id, payload):
    return {"v": 1, "command_id": signal_id, "command": "signal", **order_id, "signal": name, "payload": payload, "by": "client shop"}


def send_all(schedulers, send, refusal_of, is_late):
    """`send(address, name, id, payload)` returns the outcome; `refusal_of` does the same for one that is not taken."""
    assert send({"order_id": "o-1"}, "paid", "evt-1", '{"sum": 14.00}') == "taken"
    exchange, key, properties, command = schedulers.taken[-1]
    assert (exchange, key, properties.message_id, properties.type) == ("makegood.signals.shop", "paid", "evt-1", "command")
    assert command == command_of({"order_id": "o-1"}, "paid", "evt-1", {"sum": 14.0}) and b"14.00" in schedulers.bodies[-1], command
    schedulers.answer = lambda command: {"verdict": "done", "signal": "kept"}
    assert send({"key": "invoice/17"}, "paid", "evt-2", "null") == "kept"
    assert schedulers.taken[-1][3] == command_of({"key": "invoice/17"}, "paid", "evt-2", None)
    schedulers.answer = lambda command: {"verdict": "conflict", "signal": "late", "text": "the order has ended"}
    assert refusal_of({"order_id": "o-1"}, "paid", "evt-3", "1") == "late"
    count = len(schedulers.taken)
    assert refusal_of({"order_id": "o-1"}, "refunded", "evt-4", "1") == "returned", "nobody has given it this name"
    schedulers.answer = lambda command: None
    assert is_late({"order_id": "o-1"}, "paid", "evt-5", "1") and len(schedulers.taken) == count + 1
    schedulers.answer = lambda command: {"verdict": "done", "signal": "taken"}


@scenario(schedulers=0, supervisors=0, agents=0)
def a_signal_by_a_library_is_its_clients_and_its_answer_comes_back(s):
    """Would catch: a library whose signals another exchange takes, whose digits change, or that takes any answer for success."""
    s.cluster.tool("broker", "apply", "--client", "shop", "--signal", "paid")
    library = import_library()
    # One after the other: two clients of a name share its queue, and take answers from each other.
    makers = {"python": lambda: library.Client(s.url, client="shop"), "c": lambda: Program(s, Installed(s), s.url, "shop")}
    for kind, maker in makers.items():
        schedulers = StandIn(s.url)
        try:
            with maker() as client:
                if kind == "python":
                    send_python(library, client, schedulers)
                else:
                    send_c(client, schedulers)
        finally:
            schedulers.end()


def send_python(library, client, schedulers):
    def send(address, name, signal_id, payload, timeout=30.0):
        return client.signal(name, json.loads(payload, parse_float=decimal.Decimal), signal_id=signal_id, timeout=timeout, **address)

    def refusal_of(*words):
        try:
            return send(*words)
        except library.NotTaken as error:
            return error.outcome

    def is_late(*words):
        try:
            return not send(*words, timeout=1.0)
        except TimeoutError:
            return True
    send_all(schedulers, send, refusal_of, is_late)


def send_c(program, schedulers):
    def ask(address, name, signal_id, payload, timeout_ms=30000):
        target = address.get("order_id") or "=" + address["key"]
        code, text = program.ask("signal", timeout_ms, target, name, signal_id, payload)
        return code, text.split(" ", 1)[0]

    def send(*words):
        code, outcome = ask(*words)
        assert code == NOTHING, (code, outcome)
        return outcome

    def refusal_of(*words):
        code, outcome = ask(*words)
        assert code == REFUSED, (code, outcome)
        return outcome
    send_all(schedulers, send, refusal_of, lambda *words: ask(*words, timeout_ms=1000)[0] == TIMEOUT)
