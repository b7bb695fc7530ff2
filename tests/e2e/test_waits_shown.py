"""What people see of a step that waits for a signal, and how they answer: with the tool and on the console."""

import json

from jsonschema import Draft202012Validator

from harness import scenario, step
from test_console import TOKENS, Console
from test_export import SCHEMA, undescribed
from test_signals import send, signal_step

CLICK = "01234567-89ab-cdef-0123-456789abcdef"


def listed(s, *words):
    """The answer of `order list --waiting`, and its notes."""
    done = s.cluster.tool("order", "list", *words, "-o", "json")
    return json.loads(done.stdout), done.stderr


@scenario(long="each answer, right or argument in turn")
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
    assert [row["step"] for row in both] == ["approve", "paid"], both
    first, note = listed(s, "--waiting", "*", "--limit", "1")
    second, _ = listed(s, "--waiting", "*", "--limit", "1", "--after", note.split("--after ")[1].strip())
    assert [first[0]["step"], second[0]["step"]] == ["approve", "paid"], (first, second, note)
    assert listed(s, "--waiting", "approvd")[0] == []
    assert "ann" in s.cluster.tool("order", "list", "--waiting", "approved").stdout
    refused = s.cluster.tool("order", "list", "--waiting", "approved", "--state", "error", check=False)
    assert refused.returncode == 2 and "--waiting goes with" in refused.stderr, refused

    services = json.loads(s.cluster.tool("service", "list", "-o", "json").stdout)  # a step that waits names none
    assert services and all(service["service"] for service in services), services
    shown = s.cluster.tool("order", "show", order.order_id).stdout
    assert "waits for signal approved until" in shown and "(1 of 2, by ann); then it fails" in shown, shown
    explained = s.cluster.tool("order", "explain", order.order_id).stdout
    assert "step approve waits for signal approved until" in explained and "(1 of 2, by ann); then it fails" in explained, explained
    dossier = json.loads(s.cluster.tool("order", "export", order.order_id).stdout)
    assert not list(Draft202012Validator(SCHEMA).iter_errors(dossier)) and not undescribed(dossier, SCHEMA), dossier["steps"]
    approve = next(one for one in dossier["steps"] if one["step"] == "approve")
    assert [(signal["by"], signal["payload"]) for signal in approve["open"]["signals"]] == [("ann", {"ok": 14.00})], approve
    assert '"signals"' in s.cluster.tool("order", "show", order.order_id, "-o", "json").stdout
    s.wait(lambda: s.cluster.supervisors[0].series("makegood_steps_waiting", workflow="eyes", step="approve") == 1, "the wait is counted")
    assert [send(s, order, **which)["signal"] for which in ({"by": "bob"}, {"signal": "settled"})] == ["taken", "taken"]
    assert {outcome: s.cluster.schedulers[0].series("makegood_signals_total", outcome=outcome) for outcome in ("taken", "counted", "late", "refused")} == {
        "taken": 2, "counted": 1, "late": 0, "refused": 0}
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


@scenario(services=("payment",))
def two_people_approve_on_the_console_and_each_is_recorded(s):
    """Would catch: an approval without its person, four eyes that are two, a payload with other digits, and an
    answer by a user with read-only access."""
    s.load_workflow("eyes", [signal_step("approve", of=2, within="200s", title="Above the limit", choices={"Yes": {"limit": 14.00}}, done_when="result.limit > 0"),
                             signal_step("paid", signal="settled", within="100s", after=["approve"], **{"from": ["client:psp"]}),
                             step("charge", "payment", after=["approve"])], labels={"customer": "${/payload/customer}"})
    order = s.client.submit("eyes", {"customer": "ada", "total": 7.50})
    s.wait_step(order, "approve", "waiting")
    console = Console(s)
    address, answer = f"orders/{order.order_id}/signal", {"reason": "the customer is known", "signal": "approved", "payload": '{"limit": 14.00}'}
    console.login("reader")
    assert console.post(address, answer, 403)["error"] == "rita has read-only access"
    console.login("operator")
    row, = console.get("waiting")["waiting"]
    assert (row["order_id"], row["title"], row["on_timeout"], row["of"], row["signed_by"], row["labels"], row["may_sign"]) == (
        order.order_id, "Above the limit", "fail", 2, None, {"customer": "ada"}, True), row
    assert [(one["word"], json.loads(one["payload"])) for one in row["choices"]] == [("Yes", {"limit": 14})] and '"total": 7.5' in row["payload"], row
    assert "payload: expected JSON" in console.post(address, {**answer, "payload": "{no"}, 400)["error"]
    assert "reason" in console.post(address, {**answer, "reason": "x"}, 400)["error"]
    assert console.post(address, {**answer, "command_id": CLICK})["text"] == "the signal is counted: it counts, and the step needs more"
    assert console.post(address, {**answer, "command_id": CLICK})["text"] == "the signal is duplicate: this signal has come before"
    refused = console.post(address, answer, 409)["error"]
    assert refused == "the signal is refused: the step needs signals of several senders, and has this sender's", refused
    shown = console.get(f"orders/{order.order_id}")
    assert "(1 of 2, by otto)" in shown["explanation"]["what"] and console.get(f"waiting?order={order.order_id}")["waiting"][0]["signed_by"] == "otto", shown
    anns = Console(s, tokens={"operator": ("ann", TOKENS["operator"][1])})
    anns.login("operator")
    assert anns.post(address, answer)["text"] == "the signal is taken: its step is done"
    s.wait_step(order, "paid", "waiting")
    assert console.get("waiting?signal=settled")["waiting"][0]["may_sign"] is False
    refused = console.post(address, {**answer, "signal": "settled"}, 409)["error"]
    assert "its sender is not in" in refused, refused
    assert "late: no step" in console.post(address, answer, 409)["error"]
    assert console.post(address, {**answer, "signal": "aproved"}, 400)["error"].startswith("invalid: no step")
    assert json.loads(s.step(order, "approve")["result"]) == {"limit": 14.00} and "14.00" in s.step(order, "approve")["result"]
    noted = s.rows("SELECT by_whom, verb, subject, reason, detail FROM operator_action WHERE verb = 'order signal' ORDER BY action_id")
    assert {(row["by_whom"], row["subject"], row["reason"]) for row in noted} >= {(who, order.order_id, "the customer is known") for who in ("otto", "ann")}, noted
    assert {event["by_whom"]: event["reason"] for event in s.events(order) if event["cause_kind"] == "signal"} == {
        who: "the customer is known" for who in ("otto", "ann")}
    s.cluster.tool("order", "cancel", order.order_id, "--reason", "enough seen")
    s.client.wait_status(order, "cancelled")


@scenario(services=("payment",))
def an_answer_counts_only_for_the_question_that_was_shown(s):
    """Would catch: an old page that approves the next question of the order, and one that signs a payload which another operator has repaired."""
    s.load_workflow("twice", [signal_step("small", title="10 EUR?", within="200s"), signal_step("large", title="1000000 EUR?", within="200s", after=["small"]),
                              step("charge", "payment", after=[])], on_failure="error")
    s.remote("payment").switch("decline")
    order = s.client.submit("twice", {"amount": 10})
    s.wait_step(order, "small", "waiting")
    s.wait_state(order, "error")
    console = Console(s)
    console.login("operator")

    def answer(row, status=200):
        given = console.post(f"orders/{order.order_id}/signal", {"reason": "as shown", "signal": "approved", "payload": "true", "shown": row["shown"]}, status)
        return given["text" if status == 200 else "error"]

    def row():
        return console.get(f"waiting?order={order.order_id}")["waiting"][0]

    before = row()
    s.remote("payment").switch("order")
    s.cluster.tool("order", "resume", order.order_id, "--set", "/amount=1000000", "--reason", "other operators repair it")
    changed = "the question has changed since it was shown"
    assert changed in answer(before, 409) and "shown: expected" in answer({"shown": "x"}, 400)
    s.wait(lambda: row()["shown"] != before["shown"], "the page shows the new payload")
    small = row()
    assert answer(small) == "the signal is taken: its step is done"
    s.wait_step(order, "large", "waiting")
    assert changed in answer(small, 409)
    late = s.cluster.tool("order", "signal", order.order_id, "approved", "--step", "small", "--reason", "as shown", check=False)
    assert late.returncode != 0 and "late" in late.stderr and s.step(order, "large")["state"] == "waiting", late
    s.wait(lambda: row()["step"] == "large", "the page shows the next question")
    assert "taken" in s.cluster.tool("order", "signal", order.order_id, "approved", "--reason", "of whichever step waits").stdout
    s.client.wait_status(order, "processed")
