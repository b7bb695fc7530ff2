"""What people see of a step that waits for a signal, with the tool."""

import json

from jsonschema import Draft202012Validator

from harness import scenario, step
from test_export import SCHEMA, undescribed
from test_signals import send, signal_step


def listed(s, *words):
    """The answer of `order list --waiting`, and its notes."""
    done = s.cluster.tool("order", "list", *words, "-o", "json")
    return json.loads(done.stdout), done.stderr


@scenario()
def the_tool_shows_who_has_signed_and_what_a_step_waits_for(s):
    """Would catch: a person who cannot find the orders that wait for them, and signals that nobody sees."""
    s.load_workflow("eyes", [step("reserve", "inventory"),
                             signal_step("approve", of=2, within="200s", title="Above the limit", choices={"Yes": {"ok": True}}, after=["reserve"]),
                             signal_step("paid", signal="settled", within="100s", on_timeout="skip", after=["reserve"])],
                    labels={"customer": "${/payload/customer}"})
    order = s.client.submit("eyes", {"customer": "ada"})
    s.wait_step(order, "approve", "waiting")
    assert send(s, order, payload={"ok": 14.00}, by="ann")["signal"] == "counted"

    rows, _ = listed(s, "--waiting", "approved")
    assert [(row["order_id"], row["step"], row["signal"], row["counted"], row["of"], row["signed_by"], row["on_timeout"], row["labels"]) for row in rows] == [
        (order.order_id, "approve", "approved", 1, 2, "ann", "fail", {"customer": "ada"})], rows
    assert rows[0]["title"] == "Above the limit" and rows[0]["choices"] == {"Yes": {"ok": True}} and rows[0]["since"] < rows[0]["until"], rows
    both, _ = listed(s, "--waiting", "*", "--workflow", "eyes")
    assert [row["step"] for row in both] == ["paid", "approve"], both
    first, note = listed(s, "--waiting", "*", "--limit", "1")
    second, _ = listed(s, "--waiting", "*", "--limit", "1", "--after", note.split("--after ")[1].strip())
    assert [first[0]["step"], second[0]["step"]] == ["paid", "approve"], (first, second, note)
    assert listed(s, "--waiting", "approvd")[0] == [] and listed(s, "--waiting", "*", "--workflow", "other")[0] == []
    assert "ann" in s.cluster.tool("order", "list", "--waiting", "approved").stdout
    refused = s.cluster.tool("order", "list", "--waiting", "approved", "--state", "error", check=False)
    assert refused.returncode == 2 and "--waiting goes with" in refused.stderr, refused

    shown = s.cluster.tool("order", "show", order.order_id).stdout
    assert "waits for signal approved until" in shown and "(1 of 2, by ann); then it fails" in shown, shown
    explained = s.cluster.tool("order", "explain", order.order_id).stdout
    assert "step approve waits for signal approved until" in explained and "(1 of 2, by ann); then it fails" in explained, explained
    dossier = json.loads(s.cluster.tool("order", "export", order.order_id).stdout)
    assert not list(Draft202012Validator(SCHEMA).iter_errors(dossier)) and not undescribed(dossier, SCHEMA), dossier["steps"]
    approve = next(one for one in dossier["steps"] if one["step"] == "approve")
    assert [(signal["by"], signal["payload"]) for signal in approve["open"]["signals"]] == [("ann", {"ok": 14.00})], approve
    assert '"signals"' in s.cluster.tool("order", "show", order.order_id, "-o", "json").stdout
    assert [send(s, order, **which)["signal"] for which in ({"by": "bob"}, {"signal": "settled"})] == ["taken", "taken"]
    s.client.wait_status(order, "processed")


@scenario()
def an_early_signal_is_shown_until_its_step_begins(s):
    """Would catch: an early approval that looks as if it were lost."""
    s.load_workflow("early", [step("reserve", "inventory"), signal_step("approve", after=["reserve"])])
    s.pause_service("inventory")
    order = s.client.submit("early", {})
    s.wait_step(order, "reserve", "waiting")
    assert send(s, order, by="ann")["signal"] == "kept"
    explained = s.cluster.tool("order", "explain", order.order_id).stdout
    assert "step approve is pending: signal approved came early, by ann at" in explained, explained
    assert listed(s, "--waiting", "approved")[0] == []
    s.cluster.tool("service", "resume", "inventory", "--reason", "enough seen")
    s.client.wait_status(order, "processed")
