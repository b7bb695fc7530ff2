"""Steps that wait for a signal."""

import datetime
import json
import tempfile
import uuid

from harness import COLLECTIONS, scenario, step
from test_isolation import held


def signal_step(name, signal="approved", after=(), **fields):
    wait = {"signal": signal, "within": fields.pop("within", "60s")}
    for member in ("on_timeout", "from", "of", "key", "title", "choices"):
        if member in fields:
            wait[member] = fields.pop(member)
    return {"step": name, "after": list(after), "wait": wait, **fields}


def seconds(moment):
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def send(s, order, signal="approved", payload=None, signal_id=None, by="ann", key=None, sender=None):
    """Sends a signal to an order or by a key, as an operator does or as the client `sender`, and returns the answer."""
    client = s.new_client()
    signal_id, correlation_id = signal_id or str(uuid.uuid4()), str(uuid.uuid4())
    body = {"v": 1, "command_id": signal_id, "command": "signal", "signal": signal, "payload": payload, "by": by, "reason": "a test"}
    body.update({"order_id": order.order_id} if key is None else {"key": key})
    exchange, routing_key = (f"makegood.signals.{sender}", signal) if sender else ("makegood.commands", "scheduler.commands")
    client.publish(json.dumps(body), routing_key, exchange=exchange, type="command", message_id=signal_id,
                   reply_to=client.queue, correlation_id=correlation_id)
    answer, _ = client.wait_message(lambda _, properties: properties.correlation_id == correlation_id, "the answer to the signal")
    client.close()
    return answer


@scenario()
def a_signal_ends_a_wait_and_its_payload_is_the_steps_result(s):
    """Would catch: a signal whose payload later steps cannot use, a client that does not learn that its order waits."""
    s.load_workflow("approve", [signal_step("approve", title="Is it right?", done_when="result.ok", refused_when="!result.ok"),
                                step("charge", "payment", after=["approve"], when="results.approve.by == 'ann'")])
    order, refused = s.client.submit("approve", {}, notify="steps"), s.client.submit("approve", {})
    for one in (order, refused):
        s.wait_step(one, "approve", "waiting")
    assert send(s, order, payload={"ok": True, "by": "ann"})["signal"] == "taken"
    assert send(s, refused, payload={"ok": False, "by": "bob"})["signal"] == "taken"
    s.client.wait_status(order, "processed")
    s.assert_effects(order, {("charge", "payment"): "done"})
    told = s.client.statuses(order.order_id)
    assert [one["status"] for one in told] == ["accepted", "waiting", "step_completed", "step_completed", "processed"], told
    due = s.rows("SELECT makegood_time(created_at + interval '60 s') AS until FROM order_process WHERE order_id = %s", order.order_id)[0]
    assert (told[1]["step"], told[1]["signal"], told[1]["title"]) == ("approve", "approved", "Is it right?"), told[1]
    assert abs(seconds(told[1]["until"]) - seconds(due["until"])) < 2, (told[1], due)
    assert "waiting" not in [one["status"] for one in s.client.statuses(refused.order_id)]
    status = s.client.wait_status(refused, "compensated")
    assert status["cause"]["code"] == "signal_refused" and "refused_when" in status["cause"]["text"], status
    assert send(s, order, payload={"ok": True})["signal"] == "late"


@scenario()
def a_signal_before_its_step_is_kept_through_a_crash(s):
    """Would catch: an early signal that is lost, or that ends its step before the steps before it."""
    s.load_workflow("early", [step("reserve", "inventory"), signal_step("approve", after=["reserve"]),
                              step("charge", "payment", after=["approve"])])
    s.pause_service("inventory")
    order = s.client.submit("early", {})
    s.wait_step(order, "reserve", "waiting")
    assert send(s, order, payload={"n": 1}, signal_id="evt_1")["signal"] == "kept"
    assert send(s, order, payload={"n": 2}, signal_id="evt_1")["signal"] == "duplicate"
    for process in s.cluster.schedulers:
        process.kill()
        process.start()
        s.ends_badly.add(process.name)
    s.cluster.tool("service", "resume", "inventory", "--reason", "enough seen")
    s.client.wait_status(order, "processed")
    assert json.loads(s.step(order, "approve")["result"]) == {"n": 1}


@scenario()
def two_people_approve_and_one_of_them_cannot_do_it_twice(s):
    """Would catch: four eyes that are two."""
    s.load_workflow("eyes", [signal_step("approve", of=2, **{"from": ["operator"]}, done_when="result == true"),
                             step("charge", "payment", after=["approve"])])
    order = s.client.submit("eyes", {})
    s.wait_step(order, "approve", "waiting")
    assert send(s, order, payload=True, by="ann")["signal"] == "counted"
    again = send(s, order, payload=True, by="ann")
    assert again["signal"] == "refused" and "several senders" in again["text"], again
    assert send(s, order, payload=True, by="bob")["signal"] == "taken"
    s.client.wait_status(order, "processed")
    assert {e["by_whom"] for e in s.events(order) if e["cause_kind"] == "signal"} == {"ann", "bob"}


@scenario()
def two_clients_may_give_their_signals_one_id(s):
    """Would catch: a client's signal that is called a duplicate of another client's, and is lost."""
    clients = ("shop", "bank")
    for client in clients:
        s.cluster.tool("broker", "apply", "--client", client, "--signal", "approved")
    of_both = {"of": 2, "from": [f"client:{client}" for client in clients]}
    s.load_workflow("ids", [signal_step("approve", **of_both), signal_step("again", key="payload.key", after=["approve"], **of_both),
                            step("charge", "payment", after=["again"])])
    order, key = s.client.submit("ids", {"key": "i/17"}), "i/17"
    s.wait_step(order, "approve", "waiting")
    assert [send(s, order, signal_id="evt_1", sender=client)["signal"] for client in clients] == ["counted", "taken"]
    assert send(s, order, signal_id="evt_1", sender="shop")["signal"] == "duplicate"
    s.wait_step(order, "again", "waiting")
    assert [send(s, None, signal_id="evt_2", sender=client, key=key)["signal"] for client in clients] == ["counted", "taken"]
    assert send(s, None, signal_id="evt_2", sender="bank", key=key)["signal"] == "duplicate"
    s.client.wait_status(order, "processed")


@scenario()
def a_wait_without_its_signal_ends_by_its_time_out(s):
    """Would catch: a wait without an end, and a time-out that takes the wrong way."""
    s.load_workflow("fails", [signal_step("approve", within="1s"), step("charge", "payment", after=["approve"])])
    s.load_workflow("goes_on", [signal_step("approve", within="1s", on_timeout="skip"), step("charge", "payment", after=["approve"])])
    fails, goes_on = s.client.submit("fails", {}), s.client.submit("goes_on", {})
    assert s.client.wait_status(fails, "compensated")["cause"]["code"] == "timed_out"
    s.client.wait_status(goes_on, "processed")
    s.assert_effects(goes_on, {("charge", "payment"): "done"})
    assert s.step_state(goes_on, "approve") == "skipped"
    assert send(s, goes_on)["signal"] == "late"


@scenario()
def a_signal_that_no_step_waits_for_is_refused_by_name(s):
    """Would catch: a misspelt signal that is kept for ever in silence."""
    s.load_workflow("approve", [signal_step("approve")])
    order = s.client.submit("approve", {})
    s.wait_step(order, "approve", "waiting")
    answer = send(s, order, signal="aproved")
    assert answer["verdict"] == "invalid" and "waits for this signal" in answer["text"], answer
    assert send(s, order)["signal"] == "taken"
    s.client.wait_status(order, "processed")


def by_key(s, key, **fields):
    return send(s, None, key=key, **fields)


@scenario()
def a_signal_with_a_key_finds_its_order_early_or_late(s):
    """Would catch: a signal that came before its order and is lost, or is taken by two orders."""
    s.load_workflow("paid", [step("charge", "payment"), signal_step("paid", "paid", after=["charge"], key="payload.id"),
                             step("ship", "carrier", after=["paid"])])
    s.load_workflow("brief", [signal_step("paid", "paid", key="payload.id", within="3s"), step("charge", "payment", after=["paid"])])
    lost = s.client.submit("brief", {"id": "ch_9"})
    s.wait_step(lost, "paid", "waiting")  # kept after its look, by a scheduler that died before it looked itself
    s.rows("INSERT INTO signal_by_key (signal, signal_id, key, payload, by_whom) VALUES ('paid', 'evt_9', 'ch_9', '9', 'ann') RETURNING 1")
    assert by_key(s, "ch_1", signal="paid", payload={"n": 1}, signal_id="evt_1")["signal"] == "kept"
    assert by_key(s, "ch_1", signal="paid", payload={"n": 1}, signal_id="evt_1")["signal"] == "kept"
    early = s.client.submit("paid", {"id": "ch_1"})
    s.client.wait_status(early, "processed")
    assert json.loads(s.step(early, "paid")["result"]) == {"n": 1}
    assert by_key(s, "ch_1", signal="paid", signal_id="evt_1")["signal"] == "duplicate"
    late, other = s.client.submit("paid", {"id": "ch_2"}), s.client.submit("paid", {"id": 3})
    for order in (late, other):
        s.wait_step(order, "paid", "waiting")
    assert by_key(s, "ch_2", signal="paid", payload={"n": 2})["signal"] == "taken"
    assert by_key(s, "3", signal="paid", payload={"n": 3})["signal"] == "taken"
    for order in (late, other, lost):
        s.client.wait_status(order, "processed")
    assert s.step(lost, "paid")["result"] == "9", "it came before the end of the wait"
    assert s.rows("SELECT count(*) AS n FROM signal_by_key WHERE taken_by IS NULL") == [{"n": 0}]


@scenario()
def each_signal_with_a_key_is_taken_once_although_schedulers_die(s):
    """Would catch: a signal that is lost between its row and its order, and one that two orders take."""
    s.load_workflow("paid", [signal_step("paid", "paid", key="payload.id"), step("charge", "payment", after=["paid"])])
    orders = []
    for round_ in range(4):
        keys = [f"k{round_}-{n}" for n in range(25)]
        for n, key in enumerate(keys):
            if n % 2:
                by_key_quietly(s, key)
            orders.append(s.client.submit("paid", {"id": key}))
        for process in s.cluster.schedulers:
            process.kill()
            process.start()
            s.ends_badly.add(process.name)
        for n, key in enumerate(keys):
            if not n % 2:
                by_key_quietly(s, key)
    for order in orders:
        s.client.wait_status(order, "processed")
        s.assert_effects(order, {("charge", "payment"): "done"})
    assert s.rows("SELECT count(*) AS n, count(DISTINCT taken_by) AS orders FROM signal_by_key") == [{"n": 100, "orders": 100}]


def killed_after_the_commit(s, act):
    """Each scheduler dies once it has committed a batch of `act`, and starts again."""
    victim, = s.cluster.schedulers
    environment = dict(victim.env)
    victim.kill()
    victim.env = {**environment, "MAKEGOOD_FAILPOINT": "scheduler_committed:1"}
    victim.start()
    act()
    s.wait(lambda: not victim.is_running(), "the scheduler dies")
    victim.env = environment
    victim.start()


@scenario()
def requests_after_a_signal_with_a_key_go_out_although_its_scheduler_dies(s):
    """Would catch: a step that runs without a request, and an order that waits although its next signal has come: the signal's
    message is redelivered, and its order has it."""
    s.load_workflow("both", [signal_step("paid", "paid", within="10m", key="payload.id"),
                             signal_step("packed", "packed", after=["paid"], within="10m", key="payload.id"),
                             step("charge", "payment", after=["packed"], complete_within="10m")], complete_within="30m")
    order = s.client.submit("both", {"id": "k"})
    s.wait_step(order, "paid", "waiting")
    by_key_quietly(s, "k", "packed")
    s.wait(lambda: s.rows("SELECT FROM signal_by_key WHERE signal = 'packed'"), "the signal is kept")
    killed_after_the_commit(s, lambda: by_key_quietly(s, "k"))
    s.wait_step(order, "packed", "done")
    s.client.wait_status(order, "processed")
    last = s.client.submit("both", {"id": "last"})
    by_key_quietly(s, "last")
    s.wait_step(last, "packed", "waiting")
    killed_after_the_commit(s, lambda: by_key_quietly(s, "last", "packed"))
    s.client.wait_status(last, "processed")
    s.assert_effects(last, {("charge", "payment"): "done"})


def by_key_quietly(s, key, signal="paid"):
    """A signal whose sender wants no answer."""
    body = {"v": 1, "command_id": f"evt_{key}", "command": "signal", "signal": signal, "payload": key, "by": "psp", "key": key}
    s.client.publish(json.dumps(body), "scheduler.commands", exchange="makegood.commands", type="command", message_id=f"evt_{key}")


@scenario()
def a_signal_with_a_key_goes_to_one_order_of_two_and_the_next_to_the_other(s):
    """Would catch: one payment that ships two orders."""
    s.load_workflow("paid", [signal_step("paid", "paid", key="payload.id"), step("charge", "payment", after=["paid"])])
    first = s.client.submit("paid", {"id": "k"})
    s.wait_step(first, "paid", "waiting")
    second = s.client.submit("paid", {"id": "k"})
    s.wait_step(second, "paid", "waiting")
    assert by_key(s, "k", signal="paid")["signal"] == "taken"
    s.client.wait_status(first, "processed")
    assert s.step_state(second, "paid") == "waiting"
    assert by_key(s, "k", signal="paid")["signal"] == "taken"
    s.client.wait_status(second, "processed")


@scenario()
def a_signal_with_a_key_waits_for_an_order_that_is_locked(s):
    """Would catch: a signal that is kept for ever and an order that waits for ever, because somebody has locked the order's row
    when they met."""
    s.load_workflow("paid", [signal_step("paid", "paid", key="payload.id"), step("charge", "payment", after=["paid"])])
    order = s.client.submit("paid", {"id": "k"})
    s.wait_step(order, "paid", "waiting")
    with held(s, "SELECT FROM order_process WHERE order_id = %s FOR UPDATE", order.order_id):
        by_key_quietly(s, "k")
        s.wait(lambda: any(one.metric("makegood_scheduler_refusals_total") for one in s.cluster.schedulers), "the order is put aside", 30)
    s.client.wait_status(order, "processed")


SECRETS = tempfile.NamedTemporaryFile(mode="w", suffix=".secrets")  # pylint: disable=consider-using-with
SECRETS.write("0123456789abcdef0123456789abcdef\n")
SECRETS.flush()
CALLBACKS = {"MAKEGOOD_CALLBACK_URL": "http://127.0.0.1:9/v1/callbacks", "MAKEGOOD_CALLBACK_SECRET_FILE": SECRETS.name}


def call_back(s, order, name, payload, generation=0, callback_id=None):
    """A callback as a gateway publishes it, after it has checked the token."""
    client = s.new_client()
    callback_id, correlation_id = callback_id or str(uuid.uuid4()), str(uuid.uuid4())
    body = {"v": 1, "command_id": callback_id, "command": "signal", "order_id": order.order_id, "step": name, "generation": generation,
            "payload": payload, "by": "a service"}
    queue = client.channel.queue_declare("", exclusive=True).method.queue
    client.channel.basic_consume(queue, client.take)
    client.publish(json.dumps(body), "callback", exchange="makegood.callbacks", type="command", message_id=callback_id,
                   reply_to=queue, correlation_id=correlation_id)
    answer, _ = client.wait_message(lambda _, properties: properties.correlation_id == correlation_id, "the answer to the callback")
    client.close()
    return answer


@scenario(env=CALLBACKS)
def a_service_calls_back_about_work_that_it_has_accepted(s):
    """Would catch: accepted work that only polls can end, and a callback that ends it against its own words."""
    work = {"method": "POST", "path": COLLECTIONS["carrier"], "body": {"behaviour": {"carrier": "accept:600000"}, "to": "${/callback_url}"}}
    s.load_workflow("slow", [step("ship", "carrier", verify=True, finish_within="1h", poll="1h", do=work,
                                  done_when="result.state == 'delivered'", refused_when="result.state == 'lost'"),
                             step("charge", "payment", after=["ship"])])
    done, refused = s.client.submit("slow", {}), s.client.submit("slow", {})
    for order in (done, refused):
        s.wait_step(order, "ship", "waiting")
    assert call_back(s, done, "ship", {"state": "on its way"})["signal"] == "counted"
    assert call_back(s, done, "ship", {"state": "delivered"}, generation=1)["signal"] == "late"
    assert call_back(s, done, "ship", {"state": "delivered"}, callback_id="c1")["signal"] == "taken"
    assert call_back(s, done, "ship", {"state": "delivered"}, callback_id="c1")["signal"] == "duplicate"
    assert call_back(s, done, "ship", {"state": "lost"})["signal"] == "late"
    assert call_back(s, done, "charge", {})["verdict"] == "invalid"
    s.client.wait_status(done, "processed")
    assert json.loads(s.step(done, "ship")["result"]) == {"state": "delivered"}
    s.wait(lambda: call_back(s, refused, "ship", {"state": "lost"}).get("signal") == "taken", "no copy of the request may act any more")
    assert s.client.wait_status(refused, "compensated")["cause"]["code"] == "refused"


@scenario()
def a_step_that_wants_callbacks_fails_without_an_address_for_them(s):
    """Would catch: a request with an empty address, to which no service could ever call back."""
    work = {"method": "POST", "path": COLLECTIONS["carrier"], "body": {"to": "${/callback_url}"}}
    s.load_workflow("slow", [step("ship", "carrier", verify=True, finish_within="1h", do=work)])
    order = s.client.submit("slow", {})
    assert "callback_url" in s.client.wait_status(order, "compensated")["cause"]["text"]
    told = s.cluster.tool("doctor", check=False).stdout
    assert "WRONG callbacks    workflow slow uses ${/callback_url}, and no gateway takes callbacks" in told, told
