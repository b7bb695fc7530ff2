"""Answers beyond the usual: numbers that no variable holds pass through an order digit for digit, and a huge refusal is cut."""

import json
import uuid
from decimal import Decimal

from harness import Order, scenario, step
from test_console import Console
from test_learn import start_agents
from test_reach import StandIn

# Beyond int64, beyond a double, and beyond PostgreSQL's numeric, which only type json keeps.
AMOUNT, RATE, FAR = "123456789012345678901234567890", "1e400", "-1.50e400000"
ANSWER = f'{{"amount": {AMOUNT}, "rate": {RATE}, "far": {FAR}}}'
PAYLOAD = f'{{"price": {AMOUNT}, "far": {FAR}}}'
OUTPUT = f'{{"paid":{AMOUNT},"rate":{RATE},"all":{ANSWER},"price":{AMOUNT}}}'


class Bank(StandIn):
    def answer(self, _call, _body):
        return 201, "application/json", ANSWER.encode(), {}


def exact(text):
    return json.loads(text, parse_int=Decimal, parse_float=Decimal)


@scenario(agents=0, services=("bank",))
def any_number_passes_through_an_order(s):
    """Would catch: an order that a service's number breaks, or digits that change on their way to client, operator or console."""
    bank = Bank()
    start_agents(s, {"bank": bank.url}, 1)
    s.load_workflow("wide", [
        step("charge", "bank", do={"method": "POST", "path": "/charge", "body": "${/payload}"}),
        step("book", "bank", after=["charge"], do={"method": "POST", "path": "/book",
                                                   "body": {"of": "${/results/charge/amount}", "all": "${/results/charge}"}}),
    ], output={"paid": "${/results/charge/amount}", "rate": "${/results/charge/rate}", "all": "${/results/charge}",
               "price": "${/payload/price}"})
    order_id = str(uuid.uuid4())
    order = Order(order_id, f'{{"order_id": "{order_id}", "workflow": "wide", "payload": {PAYLOAD}}}', "corr-" + order_id)
    s.client.post(order)
    s.client.wait_status(order, "processed")
    assert [body for *_, body in bank.calls] == [PAYLOAD.encode(), f'{{"of":{AMOUNT},"all":{ANSWER}}}'.encode()], bank.calls
    assert f'"output":{OUTPUT}}}'.encode() in s.client.bodies[-1], s.client.bodies[-1]
    for verb in (("show", order_id, "-o", "json"), ("export", order_id)):
        text = s.cluster.tool("order", *verb).stdout
        dossier = exact(text)
        assert text.count(OUTPUT) == 2 and PAYLOAD in text, text  # of the order, and of its status
        assert exact(OUTPUT) == dossier["output"] and text.count(f'"result" : {ANSWER}') == 2, text
    story = s.cluster.tool("order", "show", order_id).stdout
    assert f"\noutput: {OUTPUT}\n" in story and "status to client: processed (2)" in story and "could not" not in story, story
    watched = s.cluster.tool("order", "watch", order_id, "-o", "jsonl").stdout
    assert OUTPUT in watched, watched
    path = s.scratch / "wide.json"
    path.write_text(order.body, encoding="utf-8")
    for form in ((), ("-o", "json")):
        assert OUTPUT in s.cluster.tool("order", "submit", path, "--wait", *form).stdout
    console = Console(s)
    console.login("reader")
    page = console.get("orders/" + order_id)
    assert (page["output"], page["payload"], page["steps"][0]["result"]) == (OUTPUT, PAYLOAD, ANSWER), page
    assert OUTPUT in console.ask("GET", "/api/v1/orders/" + order_id)[2]


class Flood(StandIn):
    def answer(self, _call, _body):
        return 422, "application/json", b'{"code":"sold_out","message":"' + b"x" * 10_000_000 + b'"}', {}


@scenario(agents=0, services=("bank",), long="others of its kind are quick")
def a_refusal_of_ten_megabytes_is_cut_and_its_cause_is_clear(s):
    """Would catch: an agent that reads such a body whole, and an operator without the reason."""
    bank = Flood()
    start_agents(s, {"bank": bank.url}, 1)
    s.load_workflow("flood", [step("charge", "bank", retry={"attempts": 1, "backoff": "50ms"},
                                   do={"method": "POST", "path": "/charge", "body": "${/payload}"})], on_failure="error")
    order = s.client.submit("flood", {})
    s.client.wait_status(order, "error")
    row = s.step(order, "charge")
    assert "above 1048576 bytes" in row["error_text"] and row["maybe"] and not row["error_body"], row
    assert "above 1048576 bytes" in s.cluster.tool("order", "explain", order.order_id).stdout
    assert all(len(body) < 4096 for body in s.client.bodies), [len(body) for body in s.client.bodies]
