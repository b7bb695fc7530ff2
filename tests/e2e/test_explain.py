"""The three lines of an order are the same in the tool, the console and the gateway; a step opens to its requests and answers."""

import json
from datetime import datetime

from harness import Order, scenario, step
from test_console import Console
from test_gateway import start

LATER = {"retry": {"attempts": 5, "backoff": "30m", "max_backoff": "30m"}}


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def lines(s, door, console, order_id):
    """What, since, why and next of an order, after a comparison of all that tell them."""
    explained = json.loads(s.cluster.tool("order", "explain", order_id, "-o", "json").stdout)["explanation"]
    shown = json.loads(s.cluster.tool("order", "show", order_id, "-o", "json").stdout)["explanation"]
    read = door.get(order_id, wait=None)["explanation"]
    seen = console.get(f"orders/{order_id}")["explanation"]
    for name in ("what", "since", "why", "codes", "next", "next_at"):
        assert explained[name] == shown[name] == read[name] == seen[name], (name, explained, shown, read, seen)
    return explained


@scenario(services=("inventory", "payment"))
def the_three_lines_of_an_order_are_the_same_everywhere(s):
    """Would catch: an order that waits for one thing in the console and for another in the tool, or whose next attempt is guessed."""
    s.load_workflow("shown", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"], undo=False, **LATER)], complete_within="2h")
    s.load_workflow("stops", [step("charge", "payment", undo=False)], on_failure="error")
    door, console = start(s), Console(s)
    console.login("reader")

    s.remote("payment").switch("unavailable")
    waiting = door.post({"order_id": "o-waits", "workflow": "shown", "payload": {"n": 1}})["order_id"]
    s.wait_step(Order(waiting, None, None), "charge", "waiting")
    told = lines(s, door, console, waiting)
    due_at = console.get(f"orders/{waiting}")["steps"][1]["due_at"]
    assert told["what"] == f"order {waiting} is processing: step charge waits for service payment, after attempt 1 of 5", told
    assert told["next"].startswith(f"sends POST /charges at {due_at}, attempt 2 of 5; if it fails: attempt 3 of 5; if that fails: undo reserve; "
                                   "the client is told compensated"), told
    failed = [event for event in console.get(f"orders/{waiting}")["dossier"]["events"] if event["step"] == "charge"][-1]
    assert told["next_at"] == due_at and told["codes"] == ["reply_transient"], told
    assert abs(moment(told["since"]) - moment(failed["at"])) < 0.002, (told, failed)  # rounded, and cut
    shown = s.cluster.tool("order", "show", waiting).stdout
    assert shown.startswith(f"order {waiting} is processing: step charge waits") and "\nnext: sends POST /charges at " in shown, shown

    s.remote("payment").switch("decline")
    failing = door.post({"order_id": "o-stops", "workflow": "stops", "payload": {"n": 2}})["order_id"]
    s.wait_state(Order(failing, None, None), "error")
    told = lines(s, door, console, failing)
    assert told["what"] == f"order {failing} is in error: step charge has failed" and told["why"].startswith("a step failed (step_failed); payment"), told
    assert told["next"].startswith("it needs an operator: resume") and told["next_at"] is None, told

    calls = json.loads(s.cluster.tool("order", "calls", failing, "charge", "-o", "json").stdout)
    request, attempt = calls["requests"][0], calls["attempts"][0]
    assert (request["method"], request["path"], json.loads(request["body"]), request["is_proved"]) == ("POST", "/charges", {"n": 2}, True), calls
    assert request["idempotency_key"] in request["curl"] and len(calls["attempts"]) == 1, calls
    assert attempt["state"] == "failed" and "422" in attempt["answer"] and attempt["took_ms"] >= 0, calls
    assert console.get(f"calls/{failing}?step=charge") == calls
    console.get(f"calls/{failing}?step=no-such-step", status=404)
    people = s.cluster.tool("order", "calls", failing, "charge").stdout
    assert "POST /charges" in people and "curl -i -X 'POST' \"$URL\"'/charges'" in people, people
    s.expects_open_orders = True
