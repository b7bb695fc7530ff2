"""Guards: steps that an order takes or not by its payload and by results, and the words in which people read that."""

import decimal
import json
import random

from harness import Order, scenario, step

SEED = 20261124


def branch_steps():
    """A branch that `label` needs, the other branch, and a join that both reach."""
    return [step("reserve", "inventory"),
            step("express", "carrier", after=["reserve"], when="payload.express"),
            {name: value for name, value in step("label", "carrier", needs=["express"]).items() if name != "after"},
            step("slow", "inventory", after=["express"], when="state.express == 'skipped'"),
            step("charge", "payment", after=["label", "slow"])]


def refusal(s, order, *words):
    """The answer to a command that is refused."""
    done = s.cluster.tool("order", words[0], order.order_id, *words[1:], "--reason", "by hand", check=False)
    assert done.returncode == 4, (words, done)
    return done.stderr


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
    assert f"facts: {why}\n" in show and "pending → skipped: its condition is false\n" in show, show
    assert "is processed: it has ended\n" in explain and "\nnext: nothing\n" in explain, explain
    assert f"also: step express is skipped: {why}\nalso: step label is skipped: {needs}\n" in explain, explain
    answer = json.loads(s.cluster.tool("order", "explain", orders[0][0].order_id, "-o", "json").stdout)
    assert {"step": "slow", "state": "skipped", "why": "state.express == 'skipped' was 'done' == 'skipped'"} in answer["steps"], answer
    dossier = json.loads(s.cluster.tool("order", "export", orders[1][0].order_id).stdout)
    assert [(row["state"], row["reason"], row["error_text"]) for row in dossier["steps"] if row["step"] in ("express", "label")] == \
        [("skipped", "when_false", why), ("skipped", "needs_skipped", needs)], dossier["steps"]


WHOLE = 'a whole number of pieces (payload.qty > 0 was 0 > 0)'
MISSING = "when: column 9: there is no member \"coupon\" (payload.coupon == 'X')"


@scenario()
def a_refusal_by_a_guard_is_shown_with_the_values_of_that_moment(s):
    """Would catch: a missing member that counts as false, a refusal without its text or its values for client, operator or alert, an
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
    assert f"\n  charge           failed        refused: {WHOLE}\n" in show and f"facts: {WHOLE}\n" in show, show
    assert "in error: step charge is refused\n" in explain and f": {WHOLE} (requirement)\nnext: it needs an operator" in explain, explain
    told = s.client.wait_status(hostile, "error")
    assert told["cause"]["code"] == "expression" and "takes more than" in told["cause"]["text"], told
    s.cluster.tool("order", "resume", stopped.order_id, "--set", "/qty=1", "--reason", "the shop has mended it")
    s.wait_state(stopped, "processed")
    s.pause_service("inventory")
    waits = s.client.submit("strict", {"total": 1, "qty": 1, "coupon": "Y"})
    s.wait_step(waits, "reserve", "waiting")
    show, explain = (s.cluster.tool("order", verb, waits.order_id).stdout for verb in ("show", "explain"))
    ahead = "it is refused unless payload.qty > 0, after step reserve"
    assert f"\n  charge           not yet       {ahead}\n" in show, show
    assert f"also: step charge is not yet decided: {ahead}\nalso: step ship is not yet decided: it runs when payload.coupon == 'X'" in explain, explain
    s.cluster.tool("service", "resume", "inventory", "--reason", "seen")
    s.wait_state(waits, "processed")
    assert s.step(waits, "ship")["error_text"] == "payload.coupon == 'X' was 'Y' == 'X'", s.step(waits, "ship")


@scenario()
def an_operators_verbs_meet_skipped_and_refused_steps(s):
    """Would catch: a skipped step that a verb sends, settles or undoes; a skip by hand that leaves the steps which need it; a refused
    step that no verb moves; a restart that remembers old verdicts."""
    def verb(order, *words):
        s.cluster.tool("order", words[0], order.order_id, *words[1:], "--reason", "by hand")

    s.load_workflow("verbs", branch_steps(), on_failure="error")
    s.load_workflow("paid", [step("charge", "payment", require=[{"that": "payload.total > 0", "text": "nothing to pay"}]),
                             step("ship", "carrier", after=["charge"])], on_failure="error")
    declined = {"express": False, "behaviour": {"payment": "decline"}}
    resumed, cancelled = (s.client.submit("verbs", {**declined, "n": n}) for n in range(2))
    lost = s.client.submit("verbs", {"express": True, "behaviour": {"carrier": "decline"}})
    settled, skipped = (s.client.submit("paid", {"total": 0, "n": n}) for n in range(2))
    for order in (resumed, cancelled, lost, settled, skipped):
        s.client.wait_status(order, "error")

    for outcome in ("done", "absent"):
        text = refusal(s, resumed, "settle", "--step", "express", "--outcome", outcome)
        assert "no request that may have happened has gone out" in text, text
    version = s.process(resumed)["version"]
    verb(resumed, "skip", "--step", "express")  # it is: nothing changes
    assert s.process(resumed)["version"] == version, s.story(resumed)
    verb(resumed, "resume", "--set", '/behaviour="normal"')
    s.wait_state(resumed, "processed")
    assert s.step(resumed, "express")["attempt"] == 0 and s.step_state(resumed, "label") == "skipped", s.story(resumed)
    assert "compensate it instead" in refusal(s, resumed, "cancel")
    verb(resumed, "compensate")
    s.wait_state(resumed, "compensated")
    assert {key for key in s.remote("carrier").entries() if key.startswith(resumed.order_id)} == set(), "a skipped step was undone"
    s.assert_effects(resumed, {("reserve", "inventory"): "undone", ("slow", "inventory"): "undone"})
    paid = s.effect(resumed, "charge", "payment", generation=s.step(resumed, "charge")["generation"])
    assert paid["state"] == "undone", paid
    verb(resumed, "restart")
    s.wait_state(resumed, "processed")
    assert [s.step(resumed, name)["reason"] for name in ("express", "label")] == ["when_false", "needs_skipped"], s.story(resumed)
    assert len([row for row in s.events(resumed) if row["cause_kind"] == "facts"]) == 4, s.story(resumed)

    verb(cancelled, "cancel")
    s.wait_state(cancelled, "cancelled")
    assert s.step_state(cancelled, "express") == "skipped", s.story(cancelled)

    verb(lost, "skip", "--step", "express")
    s.wait_state(lost, "processed")
    show = s.cluster.tool("order", "show", lost.order_id).stdout
    assert "\n  express          skipped       attempts: 1 do, an operator decided it, last failure: " in show, show
    assert '\n  label            skipped       step "express", which it needs, was skipped\n' in show, show
    assert s.step_state(lost, "slow") == "done", s.story(lost)  # its condition reads the state

    verb(settled, "settle", "--step", "charge", "--outcome", "done", "--result", '{"id":"cash"}')
    s.wait_state(settled, "processed")
    assert s.step(settled, "charge")["result"] == '{"id":"cash"}' and s.effect(settled, "charge", "payment")["do_requests"] == 0
    verb(skipped, "skip", "--step", "charge")
    s.wait_state(skipped, "processed")
    s.assert_effects(skipped, {("charge", "payment"): "none", ("ship", "carrier"): "done"})


@scenario()
def an_order_goes_on_under_the_version_that_accepted_it(s):
    """Would catch: guards of a newer version that skip steps of an order which was accepted without them."""
    s.load_workflow("grows", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"])])
    s.pause_service("inventory")
    old = [s.client.submit("grows", {"total": 5, "n": n}) for n in range(10)]
    for order in old:
        s.client.wait_status(order, "accepted")
    s.load_workflow("grows", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"], when="payload.total > 100"),
                              step("ship", "carrier", after=["charge"])], version=2)
    victim = s.cluster.schedulers[0]
    victim.kill()  # the next one reads both versions anew, and the newest one at once
    victim.start()
    new = [s.client.submit("grows", {"total": 5, "n": n}) for n in range(10)]
    for order in new:
        s.client.wait_status(order, "accepted")
    s.cluster.tool("service", "resume", "inventory", "--reason", "the new version is loaded")
    for order in old + new:
        s.client.wait_status(order, "processed")
    versions = [{s.process(order)["workflow_version"] for order in orders} for orders in (old, new)]
    assert versions == [{1}, {2}], versions
    for order in old:
        s.assert_effects(order, {("charge", "payment"): "done", ("ship", "carrier"): "none"})
        assert all(row["cause_kind"] != "facts" for row in s.events(order)), s.story(order)
    for order in new:
        s.assert_effects(order, {("charge", "payment"): "none", ("ship", "carrier"): "done"})


# Between the verdict of a guard and the next step: when it is decided, when it is written, and when the request is out.
KILLS = ((0, "scheduler_decided:3"), (0, "scheduler_committing:2"), (0, "scheduler_committed:3"), (0, "scheduler_published:4"),
         (1, "agent_called:3"), (1, "agent_answered:2"))
ORDERS = 200
RATE = decimal.Decimal("1.077")


def walk_steps(within):
    """Guards over the payload, over values, over states and over results."""
    steps = [step("reserve", "inventory"),
             step("approve", "carrier", after=["reserve"], when="values.gross > 500.00 || payload.risk == 'high'"),
             step("letter", "carrier", needs=["approve"]),
             step("plain", "inventory", after=["approve"], when="state.approve == 'skipped'"),
             step("charge", "payment", after=["letter", "plain"],
                  require=[{"that": "payload.total > 0 || has(results.approve)", "text": "nothing to pay"}]),
             step("gift", "carrier", after=["charge"], when="payload.gift.wrap"),
             step("ship", "inventory", after=["gift"])]
    del steps[2]["after"]
    for each in steps:
        each["complete_within"] = within
        each["retry"] = {"attempts": 20, "backoff": "50ms", "max_backoff": "200ms"}
    return steps


def walk_payload(chance):
    payload = {"total": decimal.Decimal(chance.choice((0, 1, 46428, 46425, 46426, 99999))) / 100, "risk": chance.choice(("low", "low", "high")),
               "qty": chance.choice((1, 1, 1, 1, 1, 0)), "gift": chance.choice(({"wrap": True}, {"wrap": False}, {"wrap": False}, {}))}
    if chance.random() < 0.1:
        payload["behaviour"] = {"payment": "decline"}
    return payload


def oracle(payload):
    """What becomes of an order: its end, the states of the steps that it came to, its output, and the code of its cause."""
    if payload["qty"] < 1:
        return "rejected", {}, None, "requirement"
    gross = (payload["total"] * RATE).quantize(decimal.Decimal("0.01"), decimal.ROUND_HALF_UP)
    is_approved = gross > 500 or payload["risk"] == "high"
    taken, other = ("done", "skipped") if is_approved else ("skipped", "done")
    states = {"reserve": "done", "approve": taken, "letter": taken, "plain": other, "charge": "done"}
    code = "card_declined" if "behaviour" in payload else None
    if payload["total"] == 0 and not is_approved:
        code = "requirement"
    if code is not None:
        states["charge"] = "failed"
    elif "wrap" not in payload["gift"]:
        states["gift"], code = "failed", "expression"
    else:
        states["gift"], states["ship"] = "done" if payload["gift"]["wrap"] else "skipped", "done"
    if code is None:
        return "processed", states, f'{{"gross":{gross}}}', None
    return "compensated", {name: "undone" if state == "done" else state for name, state in states.items()}, None, code


def to_json(payload):
    """JSON with the digits of its decimals."""
    total = payload["total"]
    return json.dumps({**payload, "total": "@"}).replace('"@"', f"{total:.2f}")


@scenario(long="graces, elections and patience pass in real time")
def branches_end_as_an_oracle_predicts_however_often_processes_die(s):
    """Would catch: a verdict that is lost or taken again with another result, a request of a step that was skipped, an undo of one,
    digits that a value loses. 200 orders of random branches; processes die between verdict and request."""
    # A request of a dead agent is redelivered at once, and not by a deadline; its undo waits for that (law 11, quiesce).
    for name, within in (("processed", "10m"), ("compensated", "3s")):
        s.load_workflow(name, walk_steps(within), values={"gross": "round(payload.total * 1.077, 2)"}, complete_within="30m",
                        output={"gross": "${= values.gross}"}, require=[{"that": "payload.qty > 0", "text": "no piece"}])
    chance, orders, agent = random.Random(SEED), [], s.cluster.agents_of("carrier")[0]
    for number, (is_agent, place) in enumerate(KILLS):
        victim = agent if is_agent else s.cluster.schedulers[0]
        environment = dict(victim.env)
        victim.kill()
        victim.env = {**environment, "MAKEGOOD_FAILPOINT": place}
        victim.start()
        for n in range(len(orders), ORDERS * (number + 1) // len(KILLS)):
            payload = walk_payload(chance)
            wanted = oracle(payload)
            workflow = "compensated" if wanted[0] == "compensated" else "processed"
            order = Order(f"walk-{n}", f'{{"order_id":"walk-{n}","workflow":"{workflow}","payload":{to_json(payload)}}}', f"corr-walk-{n}")
            s.client.post(order)
            orders.append((order, payload, wanted))
        s.wait(lambda v=victim: not v.is_running(), f"{victim.name} dies at {place}")
        victim.env = environment
        victim.start()
        s.ends_badly.add(victim.name)
    for order, _, (end, _, _, _) in orders:
        s.client.wait_status(order, end, timeout_s=120.0)
    assert len({end for _, _, (end, _, _, _) in orders}) == 3 and len({code for _, _, (_, _, _, code) in orders}) == 4, "a case is missing"

    states, bodies = {}, {}
    for row in s.rows("SELECT order_id, step, state FROM order_step"):
        states.setdefault(row["order_id"], {})[row["step"]] = row["state"]
    for (message, _), body in zip(s.client.messages, s.client.bodies):
        bodies[message["order_id"], message["status"]] = (message, body.decode())
    wanted, services = {}, {each["step"]: each["service"] for each in walk_steps("3s")}
    for order, payload, (end, steps, output, code) in orders:
        message, body = bodies[order.order_id, end]
        seen = states.get(order.order_id, {})
        if code == "card_declined" and seen["charge"] == "undone":  # its request was redelivered: either copy may have acted
            seen["charge"] = "failed"
        assert seen == steps, f"{payload}: {steps}\n{s.story(order)}"
        assert output is None or f'"output":{output}' in body, (payload, body)
        assert code is None or message["cause"]["code"] == code, (payload, body)
        wanted.update({(services[name], f"{order.order_id}.{name}.do"): state for name, state in steps.items() if state in ("done", "undone")})
    stands = {(service, key): entry["state"] for service in sorted(set(services.values()))
              for key, entry in s.remote(service).entries().items() if entry["effects"] > 0}
    assert stands == wanted, {place: (stands.get(place), wanted.get(place)) for place in stands.keys() | wanted.keys()
                              if stands.get(place) != wanted.get(place)}
