"""Guards: steps that an order takes or not by its payload and by results, and the words in which people read that."""

import json

from harness import scenario, step


def branch_steps():
    """A branch that `label` needs, the other branch, and a join that both reach."""
    return [step("reserve", "inventory"),
            step("express", "carrier", after=["reserve"], when="payload.express"),
            {name: value for name, value in step("label", "carrier", needs=["express"]).items() if name != "after"},
            step("slow", "inventory", after=["express"], when="state.express == 'skipped'"),
            step("charge", "payment", after=["label", "slow"])]


@scenario()
def a_branch_is_taken_or_not_and_the_join_runs_in_all(s):
    """Would catch: a branch that runs against its condition, a step that runs without the one it needs, a join that waits for a skipped
    branch, a skip without its reason."""
    s.load_workflow("branch", branch_steps())
    orders = [(s.client.submit("branch", {"express": n % 2 == 0, "n": n}), n % 2 == 0) for n in range(100)]
    for order, _ in orders:
        s.client.wait_status(order, "processed")
    states = {}
    for row in s.rows("SELECT order_id, step, state FROM order_step"):
        states.setdefault(row["order_id"], {})[row["step"]] = row["state"]
    for order, is_express in orders:
        taken, other = ("done", "skipped") if is_express else ("skipped", "done")
        assert states[order.order_id] == {"reserve": "done", "express": taken, "label": taken, "slow": other, "charge": "done"}, \
            s.story(order)
    sent = {key for service in ("inventory", "carrier", "payment") for key in s.remote(service).entries()}
    assert sent == {f"{order.order_id}.{name}.do" for order, _ in orders for name, state in states[order.order_id].items()
                    if state == "done"}
    show, explain = (s.cluster.tool("order", verb, orders[1][0].order_id).stdout for verb in ("show", "explain"))
    why = "payload.express was false"
    needs = 'step "express", which it needs, was skipped'
    assert f"\n  express          skipped       {why}\n  label            skipped       {needs}\n" in show, show
    assert f"facts: {why} by" in show and "pending → skipped: its condition is false\n" in show, show
    assert f"is processed: it has ended; step express is skipped: {why}; step label is skipped: {needs}\n" in explain, explain
    answer = json.loads(s.cluster.tool("order", "explain", orders[0][0].order_id, "-o", "json").stdout)
    assert {"step": "slow", "state": "skipped", "why": "state.express == 'skipped' was 'done' == 'skipped'"} in answer["steps"], answer
    dossier = json.loads(s.cluster.tool("order", "export", orders[1][0].order_id).stdout)
    assert [(row["state"], row["reason"], row["error_text"]) for row in dossier["steps"] if row["step"] in ("express", "label")] == \
        [("skipped", "when_false", why), ("skipped", "needs_skipped", needs)], dossier["steps"]


WHOLE = 'a whole number of pieces (payload.qty > 0 was 0 > 0)'
MISSING = "when: column 9: there is no member \"coupon\" (payload.coupon == 'X')"


@scenario()
def what_a_guard_refuses_is_told_with_the_values_as_they_were(s):
    """Would catch: a missing member that counts as false, a refusal whose client, operator or alert lacks the text or the values, an
    evaluation without an end, an order that waits for a guard's input without a word about it."""
    numbers = list(range(2000))
    s.load_workflow("strict", [step("reserve", "inventory"),
                               step("charge", "payment", after=["reserve"],
                                    require=[{"that": "payload.qty > 0", "text": "a whole number of pieces"}]),
                               step("ship", "carrier", after=["charge"], when="payload.coupon == 'X'")],
                    require=[{"that": "payload.total >= 0", "text": "the total must not be below 0"}])
    s.load_workflow("stops", [step("charge", "payment", require=[{"that": "payload.qty > 0", "text": "a whole number of pieces"}])],
                    on_failure="error")
    s.load_workflow("hostile", [step("charge", "payment",
                                     when="payload.n.exists(i, payload.n.exists(j, i + j == 5000))")], on_failure="error")
    refused = s.client.submit("strict", {"total": 1, "qty": 0})
    missing = s.client.submit("strict", {"total": 1, "qty": 1})
    stopped = s.client.submit("stops", {"qty": 0})
    hostile = s.client.submit("hostile", {"n": numbers})
    rejected = s.client.submit("strict", {"total": -0.50, "qty": 1})
    cause = s.client.wait_status(refused, "compensated")["cause"]
    assert cause == {"step": "charge", "code": "requirement", "text": WHOLE}, cause
    cause = s.client.wait_status(missing, "compensated")["cause"]
    assert cause == {"step": "ship", "code": "expression", "text": MISSING}, cause
    s.assert_effects(missing, {("reserve", "inventory"): "undone", ("charge", "payment"): "undone", ("ship", "carrier"): "none"})
    s.assert_effects(refused, {("reserve", "inventory"): "undone", ("charge", "payment"): "none"})
    told = s.client.wait_status(rejected, "rejected")
    assert told["reason"] == "requirement: the total must not be below 0 (payload.total >= 0 was -0.5 >= 0)", told
    assert s.process(rejected) is None
    told = s.client.wait_status(stopped, "error")
    assert told["cause"]["text"] == WHOLE and told["reason"].endswith(f"; step charge: {WHOLE}"), told
    alert = [row for row in s.alerts("order_error") if row["order_id"] == stopped.order_id][0]
    assert alert["text"].endswith(f"; step charge: {WHOLE}") and alert["error_code"] == "requirement", alert
    show, explain = (s.cluster.tool("order", verb, stopped.order_id).stdout for verb in ("show", "explain"))
    assert f"\n  charge           failed        refused: {WHOLE}\n" in show and f"facts: {WHOLE} by" in show, show
    assert f"; step charge is refused: {WHOLE}; it needs an operator" in explain, explain
    told = s.client.wait_status(hostile, "error")
    assert told["cause"]["code"] == "expression" and "20000 steps" in told["cause"]["text"], told
    s.cluster.tool("order", "resume", stopped.order_id, "--set", "/qty=1", "--reason", "the shop has mended it")
    s.wait_state(stopped, "processed")
    s.cluster.tool("service", "pause", "inventory", "--reason", "a look at the order")
    waits = s.client.submit("strict", {"total": 1, "qty": 1, "coupon": "Y"})
    s.wait(lambda: s.step_state(waits, "reserve") == "waiting", "the order waits for its first step")
    show, explain = (s.cluster.tool("order", verb, waits.order_id).stdout for verb in ("show", "explain"))
    ahead = "it is refused unless payload.qty > 0, after step reserve"
    assert f"\n  charge           not yet       {ahead}\n" in show, show
    assert f"; step charge is not yet decided: {ahead}; step ship is not yet decided: it runs when payload.coupon == 'X'" in explain, explain
    s.cluster.tool("service", "resume", "inventory", "--reason", "seen")
    s.wait_state(waits, "processed")
    assert s.step(waits, "ship")["error_text"] == "payload.coupon == 'X' was 'Y' == 'X'", s.step(waits, "ship")
