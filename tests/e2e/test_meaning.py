"""The meaning of an answer: services that answer 200 whatever became of the work, and tell it in the body."""

import json

from harness import scenario, step
from test_learn import start_agents
from test_reach import StandIn, as_json

OWN = {"agents": 0, "services": ("bank", "post")}  # the scenario starts the agents
PENDING_ANSWERS = 4
ORDERS = 30
WORDS = {"code": "card_declined", "message": "the card was declined"}
CONDITIONS = {"done_when": "result.state == 'SETTLED'", "refused_when": "result.state == 'DECLINED'"}


class Bank(StandIn):
    """It answers 200 to everything. A charge is pending four times, and then settled or, of an even number, declined."""

    def __init__(self):
        super().__init__()
        self.charges, self.refunds, self.wrong = {}, [], []

    def answer(self, call, body):
        key = call.headers["Idempotency-Key"]
        if call.path == "/refunds":
            self.refunds.append(key)
            return as_json(200, {"state": "REFUNDED"})
        if call.command == "POST":
            sent = self.charges.setdefault(key, {"asked": 0, "body": body, "n": json.loads(body)["n"]})
            if sent["body"] != body:
                self.wrong.append(f"{key} carries other bytes")
        charge = self.charges[key]
        charge["asked"] += 1
        if charge["asked"] <= PENDING_ANSWERS:
            return as_json(200, {"state": "PENDING", "amount": 14})
        if charge["n"] % 2 == 0:
            return as_json(200, {"state": "DECLINED", **WORDS})
        return 200, "application/json", b'{"state":"SETTLED","amount":14.00}', {}


def charge_of(service="bank", **fields):
    return {**step("charge", service, complete_within="2s", poll="100ms", finish_within="2m",
                   do={"method": "POST", "path": "/charges", "body": "${/payload}"},
                   verify={"method": "GET", "path": "/charges/${/do_key}"}, **CONDITIONS),
            "undo": {"method": "POST", "path": "/refunds", "body": {}}, **fields}


@scenario(**OWN)
def work_is_polled_by_the_body_until_it_is_settled_or_declined(s):
    """Would catch: a pending answer taken for done; a decline in a 200 that is polled on, or undone although nothing stands; words of
    the service that are lost; 14.00 that becomes 14; polling that an agent's death ends or repeats as a do."""
    bank = Bank()
    agents = start_agents(s, {"bank": bank.url}, 1)
    s.load_workflow("settle", [charge_of()], output={"amount": "${/results/charge/amount}"})
    orders = {n: s.client.submit("settle", {"n": n}) for n in range(ORDERS)}
    s.wait(lambda: bank.charges and any(charge["asked"] >= 2 for charge in bank.charges.values()), "a charge is polled")
    for agent in agents:
        agent.kill()
    start_agents(s, {"bank": bank.url}, 2)
    s.wait(lambda: all(s.state(order) in ("processed", "compensated") for order in orders.values()), "every order has ended", 60.0)
    assert not bank.wrong and not bank.refunds, (bank.wrong, bank.refunds)
    assert len(bank.charges) == ORDERS, bank.charges.keys()
    for n, order in orders.items():
        charge = bank.charges[f"{order.order_id}.charge.do"]
        assert charge["asked"] > PENDING_ANSWERS, (n, charge)
        if n % 2 == 1:
            s.client.wait_status(order, "processed")
            assert '"output":{"amount":14.00}' in s.rows(
                "SELECT statuses::text AS text FROM order_event WHERE order_id = %s ORDER BY version DESC LIMIT 1",
                order.order_id)[0]["text"], s.events(order)
        else:
            told = s.client.wait_status(order, "compensated")
            assert told["cause"] == {"step": "charge", "code": "card_declined", "text": "the card was declined"}, told
            assert s.step(order, "charge")["error_code"] == "refused/card_declined", s.step(order, "charge")
    story = s.cluster.tool("order", "show", orders[1].order_id).stdout
    assert "not done yet: done_when: result.state == 'SETTLED' was 'PENDING' == 'SETTLED'" in story, story
    story = s.cluster.tool("order", "show", orders[2].order_id).stdout
    assert "refused: refused_when: result.state == 'DECLINED' was 'DECLINED' == 'DECLINED'" in story, story


class Post(StandIn):
    """It answers as the order's payload says; a query gets the order's first answer."""

    def answer(self, call, body):
        kind, text = self.effects.setdefault(call.headers["Idempotency-Key"], json.loads(body or "{}").get("answer"))
        return 200, kind, text.encode(), {}


UNCLEAR = {
    "no JSON": ["text/plain", "SETTLED"],
    "nothing": ["application/json", ""],
    "no member": ["application/json", '{"status":"SETTLED"}'],
    "another type": ["application/json", '{"state":7}'],
    "too large": ["application/json", json.dumps({"state": "SETTLED", "fill": "x" * 70_000})],
}


@scenario(**OWN)
def an_answer_that_is_not_clear_makes_nothing_done(s):
    """Would catch: a 200 without the awaited member, or with a body that no condition can read, that counts as done."""
    post = Post()
    start_agents(s, {"post": post.url}, 1)
    s.load_workflow("unclear", [step("ship", "post", undo=False, on_unknown="operator",
                                 do={"method": "POST", "path": "/ship", "body": "${/payload}"}, **CONDITIONS)])
    s.load_workflow("waits", [charge_of("post", poll="4s")])
    orders = {name: s.client.submit("unclear", {"answer": answer}) for name, answer in UNCLEAR.items()}
    for name, order in orders.items():
        s.wait(lambda order=order: s.step_state(order, "ship") == "unknown", f"{name}: the outcome is unknown")
        row = s.step(order, "ship")
        assert (row["state"], row["error_code"]) == ("unknown", "answer_unclear"), (name, row)
        assert row["maybe"] and row["error_text"].startswith("the answer is not clear: "), (name, row)
    explained = s.cluster.tool("order", "explain", orders["no member"].order_id).stdout
    assert 'done_when: column 8: there is no member "state" (result.state == \'SETTLED\')' in explained, explained
    explained = s.cluster.tool("order", "explain", orders["too large"].order_id).stdout
    assert "(result.max_bytes), and was left out" in explained, explained
    waits = s.client.submit("waits", {"answer": ["application/json", '{"state":"PENDING"}']})
    s.wait(lambda: s.step_state(waits, "charge") == "waiting", "the charge waits")
    explained = s.cluster.tool("order", "explain", waits.order_id).stdout
    assert "not done yet: done_when: result.state == 'SETTLED' was 'PENDING' == 'SETTLED'" in explained, explained
    post.effects[f"{waits.order_id}.charge.do"] = ["application/json", '{"state":"SETTLED"}']
    s.wait_state(waits, "processed")
    for order in orders.values():
        s.cluster.tool("order", "settle", order.order_id, "--step", "ship", "--outcome", "done", "--reason", "asked the service")
        s.wait_state(order, "processed")
