"""Signals that come before their step, to several steps of one name, of senders who may not, and around an outage."""

import json

from harness import scenario, step
from test_signals import send, signal_step

SAYS_YES = {"done_when": "result.ok == true", "refused_when": "result.ok == false"}
YES = {"ok": True}


def of(*senders):
    return {"from": list(senders)}


def early(s, name, *waits, payload=None):
    """An order with a first step that is not over, so that its waits have not begun."""
    s.load_workflow(name, [step("reserve", "inventory"), *waits, step("charge", "payment", after=[wait["step"] for wait in waits])])
    order = s.client.submit(name, payload or {})
    s.wait_step(order, "reserve", "waiting")
    return order


def go_on(s):
    s.cluster.tool("service", "resume", "inventory", "--reason", "seen")


def answers(s, order, *signals):
    """The outcome of each signal: (payload, sender), a client or a person."""
    return [send(s, order, payload=payload, **({"sender": by[7:]} if by.startswith("client:") else {"by": by}))["signal"]
            for payload, by in signals]


@scenario()
def kept_signals_go_to_the_first_step_that_takes_them_of_their_sender(s):
    """Would catch: a signal of the wrong sender, one that is lost with a step that is skipped or done, and one that blocks others."""
    s.cluster.tool("broker", "apply", "--client", "bank", "--signal", "approved")
    s.pause_service("inventory")
    after, two = {"after": ["reserve"]}, {"of": 2, **of("operator"), **SAYS_YES}
    foreign = early(s, "foreign", signal_step("theirs", when="payload.x == 1", **after, **of("client:bank"), **SAYS_YES),
                    signal_step("ours", after=["theirs"], **of("operator"), **SAYS_YES), payload={"x": 2})
    both = early(s, "both", signal_step("first", **after), signal_step("second", after=["first"]))
    beside = early(s, "beside", signal_step("skipped", when="payload.x == 1", **after), signal_step("open"), payload={"x": 2})
    idle = early(s, "idle", signal_step("approve", **after, **SAYS_YES))
    looking = early(s, "looking", signal_step("approve", **after, **two))
    assert answers(s, foreign, (YES, "client:bank")) == ["kept"]
    assert answers(s, both, (1, "ann"), (2, "ann")) == ["kept", "kept"]
    assert answers(s, beside, (YES, "ann")) == ["taken"]
    assert answers(s, idle, *[({"note": n}, "ann") for n in range(12)], (YES, "ann")) == ["counted"] * 12 + ["kept"]
    assert answers(s, looking, ({"note": "a look"}, "ann")) == ["counted"]
    go_on(s)
    for order in (both, beside, idle):
        s.client.wait_status(order, "processed")
    s.wait_step(foreign, "ours", "waiting")
    s.wait_step(looking, "approve", "waiting")
    assert answers(s, looking, (YES, "ann"), (YES, "ann"), (YES, "bob")) == ["counted", "refused", "taken"]
    assert answers(s, foreign, (YES, "client:bank"), (YES, "ann")) == ["refused", "taken"]


@scenario()
def a_signature_counts_for_one_step_and_for_one_life_of_its_order(s):
    """Would catch: one person who signs for two, through a step that timed out, a restart, or a mended payload."""
    people = {"of": 2, **of("operator"), **SAYS_YES}
    s.load_workflow("lines", [signal_step("first", within="3s", on_timeout="skip", **people),
                              signal_step("second", after=["first"], **people), step("charge", "payment", after=["second"])])
    order = s.client.submit("lines", {})
    s.wait_step(order, "first", "waiting")
    assert answers(s, order, (YES, "ann")) == ["counted"]
    s.wait_step(order, "second", "waiting")
    assert answers(s, order, (YES, "ann")) == ["counted"]
    s.cluster.tool("order", "cancel", order.order_id, "--reason", "a wrong signature")
    s.wait_state(order, "cancelled")
    s.cluster.tool("order", "restart", order.order_id, "--reason", "once more")
    s.wait_step(order, "second", "waiting")
    assert answers(s, order, (YES, "bob"), (YES, "ann")) == ["counted", "taken"]
    s.wait_state(order, "processed")

    s.load_workflow("sum", [signal_step("approve", when="payload.total > 500", title="?", **SAYS_YES),
                            step("charge", "payment", after=["approve"])], on_failure="error")
    for total, name in ((501, "signed"), (400, "was skipped")):
        order = s.client.submit("sum", {"total": total, "behaviour": "decline"})
        if total > 500:
            s.wait_step(order, "approve", "waiting")
            assert answers(s, order, (YES, "ann")) == ["taken"]
        s.wait_state(order, "error")
        refused = s.cluster.tool("order", "resume", order.order_id, "--set", "/total=99999", "--reason", "more", check=False)
        assert refused.returncode != 0 and name in refused.stderr, refused
        s.cluster.tool("order", "compensate", order.order_id, "--reason", "the end")


@scenario()
def an_operator_is_no_client_and_no_other_operator(s):
    """Would catch: a signature in a client's name or in nobody's, and an event's id that two people give."""
    s.load_workflow("mixed", [signal_step("approve", of=2, **of("operator", "client:bank")), step("charge", "payment", after=["approve"])])
    order = s.client.submit("mixed", {})
    s.wait_step(order, "approve", "waiting")
    for by in ("client:bank", "service:payment", ""):
        answer = send(s, order, by=by)
        assert answer["verdict"] == "invalid" and "\"by\"" in answer["text"], answer
    outcomes = [send(s, order, signal_id="evt_1", by=by)["signal"] for by in ("ann", "ann", "bob")]
    assert outcomes == ["counted", "duplicate", "taken"], outcomes
    s.client.wait_status(order, "processed")


@scenario()
def a_signal_with_a_key_is_for_the_order_that_takes_it_of_its_sender(s):
    """Would catch: an order of another client that uses up a payment, ids that are one for all keys, and a refusal that is final."""
    for client in ("bank", "psp"):
        s.cluster.tool("broker", "apply", "--client", client, "--signal", "paid")
    for client in ("bank", "psp"):
        s.load_workflow(f"of_{client}", [signal_step("paid", "paid", within=f"{50 if client == 'bank' else 60}s", key="payload.id",
                                                     **of(f"client:{client}")), step("charge", "payment", after=["paid"])])
    def orders(key):
        found = [s.client.submit(f"of_{client}", {"id": key}) for client in ("bank", "psp")]
        for order in found:
            s.wait_step(order, "paid", "waiting")
        return found
    def paid(key, signal_id="1", sender="psp"):
        return send(s, None, signal="paid", key=key, signal_id=signal_id, sender=sender)["signal"]
    bank, psp = orders("a")
    assert paid("a") == "taken"
    s.client.wait_status(psp, "processed")
    assert s.step_state(bank, "paid") == "waiting"
    assert paid("b") == "kept"  # the same id: another key's
    banks, psps = orders("b")
    s.client.wait_status(psps, "processed")
    assert paid("b") == "duplicate"
    assert paid("a", sender="bank") == "taken" and paid("b", sender="bank") == "taken"
    for order in (bank, banks):
        s.client.wait_status(order, "processed")
    assert paid("c") == "kept"
    s.rows("UPDATE signal_by_key SET received_at = now() - interval '8 days' WHERE key = 'c' RETURNING 1")
    banks, psps = orders("c")
    assert s.step_state(psps, "paid") == "waiting"
    assert paid("c") == "taken" and paid("c", sender="bank") == "taken"
    for order in (banks, psps):
        s.client.wait_status(order, "processed")


@scenario(long="alerts, pauses and time-outs pass in real time")
def a_signal_that_was_in_time_is_not_overtaken_by_its_time_out_in_an_outage(s):
    """Would catch: approvals that waited with us for our own end, and time out before they are read."""
    s.cluster.tool("broker", "apply", "--client", "bank", "--signal", "paid")
    s.load_workflow("paid", [signal_step("paid", "paid", within="5s", **of("client:bank")), step("charge", "payment", after=["paid"])])
    orders = [s.client.submit("paid", {}) for _ in range(10)]
    for order in orders:
        s.wait_step(order, "paid", "waiting")
    for process in s.cluster.schedulers + s.cluster.supervisors:
        process.kill()
        s.ends_badly.add(process.name)
    for order in orders:
        body = {"v": 1, "command_id": order.order_id, "command": "signal", "signal": "paid", "order_id": order.order_id, "by": "a bank"}
        s.client.publish(json.dumps(body), "paid", exchange="makegood.signals.bank", type="command", message_id=order.order_id)
    s.wait(lambda: s.rows("SELECT FROM order_step WHERE state = 'waiting' HAVING max(due_at) < clock_timestamp()"), "all time-outs pass")
    for process in s.cluster.supervisors:
        process.start()
    s.wait(lambda: s.cluster.supervisors[0].metric("makegood_supervisor_leading") == 1, "a supervisor leads before a scheduler runs")
    for process in s.cluster.schedulers:
        process.start()
    for order in orders:
        s.client.wait_status(order, "processed")
