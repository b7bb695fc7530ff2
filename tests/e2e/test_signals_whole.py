"""Signals and callbacks all the way: over HTTP, through the broker, by the schedulers into the order."""

import json
import tempfile

from harness import COLLECTIONS, scenario, step
from test_gateway_signals import apply, open_door, SECRET, token_of
from test_signals import signal_step

# As those of the gateway: the first makes the tokens.
SECRETS = tempfile.NamedTemporaryFile(mode="w", suffix=".secrets")  # pylint: disable=consider-using-with
SECRETS.write(f"{SECRET}\n")
SECRETS.flush()
CALLBACKS = {"MAKEGOOD_CALLBACK_URL": "http://127.0.0.1:9/v1/callbacks", "MAKEGOOD_CALLBACK_SECRET_FILE": SECRETS.name}


@scenario()
def a_signal_over_http_reaches_the_order_of_its_client_and_no_other(s):
    """Would catch: a client that approves another client's order, or one that its broker's rights do not let signal."""
    s.load_workflow("paid", [signal_step("paid", "paid", key="payload.invoice"), step("charge", "payment", after=["paid"])])
    apply(s)
    door = open_door(s)
    status, _, data = door.ask("POST", "/v1/orders", json.dumps({"workflow": "paid", "payload": {"invoice": "i/17"}}), Idempotency_Key="o-17")
    assert status == 202, data
    order = json.loads(data)["order_id"]
    s.wait(lambda: s.rows("SELECT FROM order_step WHERE order_id = %s AND reason = 'awaiting_signal'", order), "the order waits")
    assert door.signal(f"/v1/orders/{order}/signals/approved", "1")[0] == 422  # no step waits for it
    status, answer = door.signal("/v1/signals/paid?key=i%2F17", '{"n": 1}', client="other")
    assert status == 403, (status, answer)  # the broker has no binding of that name for this client
    assert door.signal("/v1/signals/paid?key=i%2F17", '{"n": 1.50}') == (200, {"signal": "taken", "order_id": order, "state": "processing"})
    s.wait(lambda: s.rows("SELECT FROM order_process WHERE order_id = %s AND process_state = 'processed'", order), "the order is processed")
    assert s.rows("SELECT result, step FROM order_step WHERE order_id = %s AND step = 'paid'", order) == [{"result": '{"n": 1.50}', "step": "paid"}]
    assert [row["by_whom"] for row in s.rows("SELECT by_whom FROM order_event WHERE cause_kind = 'signal'")] == ["client:shop"]
    assert door.signal("/v1/signals/paid?key=i%2F17", '{"n": 1.50}')[1]["signal"] == "duplicate"


@scenario(env=CALLBACKS)
def no_token_but_the_right_one_moves_an_order(s):
    """Would catch: an order that a guessed, cut, foreign, old or repeated token moves."""
    work = {"method": "POST", "path": COLLECTIONS["carrier"], "body": {"behaviour": {"carrier": "accept:600000"}, "to": "${/callback_url}"}}
    s.load_workflow("slow", [step("ship", "carrier", verify=True, finish_within="1h", poll="1h", do=work), step("charge", "payment", after=["ship"])])
    apply(s)
    door = open_door(s)
    order, other = s.client.submit("slow", {}), s.client.submit("slow", {})
    for one in (order, other):
        s.wait_step(one, "ship", "waiting")
    right = token_of(order.order_id, "ship")
    wrong = [token_of(order.order_id, "ship", secret="a secret of somebody else, long enough"), right[:-1], right + "A", right[::-1], "",
             token_of(order.order_id, "charge"), token_of("o-none", "ship")]
    before = s.rows("SELECT order_id, version FROM order_process ORDER BY order_id")
    for token in wrong:
        assert door.call_back(token, "{}")[0] == 404, token
    assert door.call_back(token_of(order.order_id, "ship", generation=1), "{}")[0] == 409  # of an earlier request, or a later one
    assert s.rows("SELECT order_id, version FROM order_process ORDER BY order_id") == before
    assert door.call_back(right, "state=shipped&n=1", content_type="application/x-www-form-urlencoded")[0] == 200
    s.client.wait_status(order, "processed")
    assert json.loads(s.step(order, "ship")["result"]) == "state=shipped&n=1"
    assert door.call_back(right, "state=shipped&n=1", content_type="application/x-www-form-urlencoded")[0] == 200  # once more, and nothing moves
    assert door.call_back(right, "{}")[0] == 409
    assert s.step_state(other, "ship") == "waiting"
    assert door.call_back(token_of(other.order_id, "ship"), None)[0] == 200  # nothing at all is a callback, too
    s.client.wait_status(other, "processed")
