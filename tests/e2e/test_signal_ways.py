"""Signals and callbacks over HTTP that end the waits of real orders: from the client's request to the end of the order."""

import json
import pathlib
import uuid

from harness import COLLECTIONS, Order, scenario, step
from test_gateway import TOKENS
from test_gateway_signals import Gateway, RIGHTS, token_of
from test_signals import SECRETS, signal_step

SAMPLES = pathlib.Path(__file__).parents[2] / "deploy/sample/workflows"
SECRET = "0123456789abcdef0123456789abcdef"  # as SECRETS holds it


def open_door(s):
    for client in TOKENS:
        s.cluster.tool("broker", "apply", "--client", client, "--signal", "approved")
    door = Gateway(s, "--callback-secret-file", SECRETS.name, tokens=[(RIGHTS, name, token) for name, token in TOKENS.items()])
    door.process.wait_ready()
    return door


def post(door, workflow, **payload):
    return door.post({"order_id": str(uuid.uuid4()), "workflow": workflow, "payload": payload})["order_id"]


@scenario()
def a_signal_over_http_ends_the_wait_of_an_order(s):
    """Would catch: a way on which a signal is lost, counts twice, or counts for a client that the definition does not name."""
    s.load_workflow("approve", [signal_step("approve", done_when="result.ok"), step("charge", "payment", after=["approve"])])
    door = open_door(s)
    order = post(door, "approve")
    address = f"/v1/orders/{order}/signals/approved"
    s.wait(lambda: door.get(order, wait=None)["state"] == "processing", "the order is taken")
    assert door.signal(address, '{"ok": true}', client="other")[0] == 403, "the step takes it from the order's own client"
    status, answer = door.signal(address, '{"ok": true, "sum": 14.00}')
    assert (status, answer["signal"], answer["order_id"]) == (200, "taken", order), answer
    assert door.signal(address, '{"ok": true, "sum": 14.00}')[1]["signal"] == "duplicate"
    assert door.get(order)["state"] == "processed"
    assert s.step(Order(order, "", ""), "approve")["result"] == '{"ok": true, "sum": 14.00}'
    assert door.signal(address, '{"ok": true}', key="evt-2")[0] == 409
    assert door.signal("/v1/orders/no-such-order/signals/approved")[0] == 404


@scenario()
def a_signal_over_http_finds_its_order_by_a_key(s):
    """Would catch: a signal by a key that comes before its order, and is lost."""
    s.load_workflow("keyed", [signal_step("approve", key="payload.invoice"), step("charge", "payment", after=["approve"])])
    door = open_door(s)
    early, late = (f"invoice/{uuid.uuid4()}" for _ in range(2))
    status, answer = door.signal(f"/v1/signals/approved?key={early}", "1")
    assert (status, answer) == (200, {"signal": "kept"}), answer
    orders = [post(door, "keyed", invoice=key) for key in (early, late)]
    assert door.get(orders[0])["state"] == "processed"
    s.wait(lambda: door.get(orders[1], wait=None)["state"] == "processing", "the other order waits")
    status, answer = door.signal(f"/v1/signals/approved?key={late}", "2", key="evt-2")
    assert status == 200, answer
    assert door.get(orders[1])["state"] == "processed"


@scenario(env={"MAKEGOOD_CALLBACK_URL": "http://127.0.0.1:9/v1/callbacks", "MAKEGOOD_CALLBACK_SECRET_FILE": SECRETS.name})
def the_checkout_of_the_documents_ends_by_its_provider_s_callback(s):
    """Would catch: a recipe that its page promises, and that does not run."""
    s.cluster.tool("workflow", "load", SAMPLES / "checkout.json")
    s.remote("payment").switch("accept:600000")
    door = open_door(s)
    paid, declined = (Order(post(door, "checkout", total=14), "", "") for _ in range(2))
    for order in (paid, declined):
        s.wait_step(order, "charge", "waiting")
    assert json.loads(door.call_back(token_of(paid.order_id, "charge", 0, SECRET), '{"id": "ch_1", "state": "settled"}')[2])["signal"] == "taken"
    assert door.get(paid.order_id)["state"] == "processed"
    assert door.get(paid.order_id)["output"] == {"payment": {"id": "ch_1", "state": "settled"}}
    refuse = token_of(declined.order_id, "charge", 0, SECRET)
    s.wait(lambda: door.call_back(refuse, '{"state": "declined"}')[0] == 200, "no copy of the request may act any more")
    assert door.get(declined.order_id)["state"] == "compensated"


@scenario(env={"MAKEGOOD_CALLBACK_URL": "http://127.0.0.1:9/v1/callbacks", "MAKEGOOD_CALLBACK_SECRET_FILE": SECRETS.name})
def a_service_ends_its_work_at_the_address_that_it_was_given(s):
    """Would catch: an address of the schedulers that the gateways do not take."""
    work = {"method": "POST", "path": COLLECTIONS["carrier"], "body": {"behaviour": {"carrier": "accept:600000"}, "to": "${/callback_url}"}}
    s.load_workflow("slow", [step("ship", "carrier", verify=True, finish_within="1h", poll="1h", do=work, done_when="result.state == 'delivered'")])
    door = open_door(s)
    order = Order(post(door, "slow"), "", "")
    s.wait_step(order, "ship", "waiting")
    given = json.dumps(s.effect(order, "ship", "carrier"))
    token = token_of(order.order_id, "ship", 0, SECRET)
    assert f"http://127.0.0.1:9/v1/callbacks/{token}" in given, given
    assert json.loads(door.call_back(token, '{"state": "on its way"}')[2])["signal"] == "counted"
    assert json.loads(door.call_back(token, '{"state": "delivered"}')[2])["signal"] == "taken"
    assert json.loads(door.call_back(token, '{"state": "delivered"}')[2])["signal"] == "duplicate"
    assert door.get(order.order_id)["state"] == "processed"
    status, _, data = door.call_back(token, '{"state": "delivered", "again": true}')
    assert status == 409, (status, data)
    assert door.call_back(token, '{"state": "on its way", "n": 2}')[0] == 409, "what decides nothing is late, too"
    assert door.call_back(token_of(order.order_id, "ship", 0, "another secret, of somebody else, long"))[0] == 404
