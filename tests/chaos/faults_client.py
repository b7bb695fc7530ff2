"""Clients that send nonsense, too much, the same again, other bytes under the same id, or forged replies; and remotes that
misbehave. A client here gives every message meant to be refused an id that begins with "bad-"; the check recognises them by that.
"""

import json
import threading
import time

import pika
import pika.exceptions

from local import processes
from nemesis import OTHER, fault
from test_bad_input import BAD, FULL_HEADERS

FLOOD_S = 6.0
FLOOD_BYTES = 20000
MODE_S = 8.0


class Hand:
    """A short-lived client of its own, past the proxy."""

    def __init__(self, stage):
        self.connection = stage.amqp()
        self.channel = self.connection.channel()

    def post(self, body, queue="orders.intake", exchange="", reply_to=None, **properties):
        self.channel.basic_publish(exchange, queue, body if isinstance(body, bytes) else body.encode(),
                                   properties=pika.BasicProperties(delivery_mode=2, reply_to=reply_to, **properties))

    def close(self):
        self.connection.close()


def sent(stage, send, hold_s=1.0):
    hand = Hand(stage)
    try:
        send(hand)
        hand.connection.process_data_events(0)
    finally:
        hand.close()
    yield hold_s


@fault("client: malformed, oversized, bombs", rows=(4, 5, 6), touches=("client", "broker"))
def nonsense(stage, _dice):
    def send(hand):
        for name, (body, _) in BAD.items():
            hand.post(body, message_id="bad-" + name, reply_to="client.chaos.statuses", correlation_id="bad-" + name)
        try:  # the broker refuses it: the channel is closed
            hand.post(b"x" * (17 << 20), message_id="bad-huge")
            hand.connection.process_data_events(1)
        except pika.exceptions.AMQPError:
            pass
    yield from sent(stage, send)


@fault("client: headers nested deeply", rows=(7,), touches=("client", "broker"))
def header_bomb(stage, _dice):
    headers = {}
    for _ in range(60):
        headers = {"n": headers}

    def send(hand):
        hand.post("{", message_id="bad-headers", headers=headers)
    yield from sent(stage, send)


@fault("client: headers that fill a frame", rows=(7,), touches=("client", "broker"))
def header_flood(stage, _dice):
    headers = {"h": "x" * FULL_HEADERS}

    def send(hand):
        hand.post("{", message_id="bad-full", headers=headers)
        hand.post("x" * 300_000, message_id="bad-full-dead", headers=headers)
    yield from sent(stage, send)


@fault("client: answers wanted in a queue of Makegood's", rows=(8,), touches=("client", "broker"))
def confused_deputy(stage, _dice):
    def send(hand):
        for number, queue in enumerate(("agent.payment.requests", "scheduler.commands", "scheduler.replies", "dead.letters")):
            hand.post(json.dumps({"order_id": f"bad-{number}", "workflow": "three", "payload": {}}), reply_to=queue,
                      message_id=f"bad-{number}")
    yield from sent(stage, send)


def known(stage, dice, count):
    orders = stage.load.snapshot()
    return dice.sample(orders, min(count, len(orders)))


@fault("client: the same a hundred times", rows=(2,), touches=("client", "broker"))
def duplicates(stage, dice):
    def send(hand):
        for order in known(stage, dice, 5):
            for _ in range(100):
                hand.post(order.body, message_id=order.order_id, reply_to="client.chaos.statuses",
                          correlation_id="corr-" + order.order_id)
    yield from sent(stage, send)


@fault("client: something else under a known id", rows=(3,), touches=("client", "broker"))
def conflicts(stage, dice):
    def send(hand):
        for order in known(stage, dice, 20):
            hand.post(order.body.replace('"amount": ', '"amount": 9'), message_id="bad-" + order.order_id,
                      reply_to="client.chaos.statuses", correlation_id="bad-" + order.order_id)
    yield from sent(stage, send)


@fault("client: a flood", rows=(9,), touches=("client", "broker"))
def flood(stage, _dice):
    """As fast as one connection can, into the same queue, of orders that are refused after they were read."""
    until = time.monotonic() + FLOOD_S
    failed = []

    def pour():
        try:
            hand = Hand(stage)
            body = json.dumps({"order_id": "bad-flood", "workflow": "unheard-of", "payload": {"x": "y" * FLOOD_BYTES}})
            while time.monotonic() < until:
                hand.post(body, message_id="bad-flood")
                time.sleep(processes.POLL_S / 20)  # POLL_S: a thousand a second
            hand.close()
        except (pika.exceptions.AMQPError, OSError) as error:
            failed.append(error)

    thread = threading.Thread(target=pour, daemon=True)
    thread.start()
    yield FLOOD_S
    thread.join(30)


@fault("replies forged, stale, of another order, malformed", rows=(22, 24, 25), touches=("client", "broker"))
def forged(stage, dice):
    def send(hand):
        # A reply about a charge that never went out would prove lost data, as it should.
        orders = [order for order in known(stage, dice, 60) if order.ended and "approve" not in order.kind.workflows]
        for number, order in enumerate(orders):
            body = {"v": 1, "order_id": order.order_id, "step": "charge", "attempt": 1, "kind": "do", "outcome": "permanent",
                    "executed": "no"}
            body.update(({}, {"kind": "undo"}, {"order_id": "bad-nobody"}, {"step": "bad-step"}, {"outcome": "bad-word"})[number % 5])
            hand.post(json.dumps(body), "scheduler.replies", "makegood.replies", type="reply", message_id=f"bad-reply-{number}",
                      correlation_id=f"{body['order_id']}.{body['step']}.1.{body['kind']}")
        hand.post("{", "scheduler.replies", "makegood.replies", type="reply", message_id="bad-reply")
    yield from sent(stage, send)


@fault("requests whose time has passed", rows=(33,), touches=("client", "broker"))
def expired_requests(stage, _dice):
    def send(hand):
        request = {"v": 1, "order_id": "bad-expired", "step": "charge", "attempt": 1, "kind": "do",
                   "idempotency_key": "bad-expired.charge.do", "do_key": "bad-expired.charge.do",
                   "complete_by": "2020-01-01T00:00:00.000Z", "sent_at": "2020-01-01T00:00:00.000Z",
                   "request": {"method": "POST", "path": "/charges", "body": {}}}
        for _ in range(20):
            hand.post(json.dumps(request), "agent.payment.requests", "makegood.requests", type="request",
                      message_id="bad-expired", correlation_id="bad-expired.charge.1.do")
    yield from sent(stage, send)


def switched(stage, service, mode, on=None, seconds=MODE_S):
    remote = stage.cluster.remotes[service]
    remote.switch(mode, on=on)
    yield seconds
    remote.switch("order")


def remote_fault(name, mode, rows, on=None):
    """The fault overrides the order's own behaviour for that remote. Not for the carrier: it must decline the orders that are to be
    compensated."""
    @fault(f"remote: {name}", rows=rows, touches=("remote",), measure=OTHER)
    def misbehave(stage, dice):
        services = [service for service in stage.cluster.services if service != "carrier" or on == "all"]
        yield from switched(stage, dice.choice(services), mode, on)


remote_fault("says 503", "unavailable", (45, 54), "all")
remote_fault("says 429", "too-many", (54,), "all")
remote_fault("does not answer", "silent", (23, 51), "all")
remote_fault("acts, drops the line", "drop:1", (49, 50))
remote_fault("acts, answers after 2.5 s", "slow:2500", (22, 23))
remote_fault("acts 2 s late", "late:2000", (22, 23, 47))
remote_fault("acts, answers nonsense", "garbage:1", (54,))
remote_fault("acts, answers 10 MB", "huge:1", (52,))
remote_fault("acts, half an answer", "truncate:1", (49, 52))
remote_fault("fails to undo", "undo-fail:2", (46, 48))


@fault("remote: kill -9", rows=(55,), touches=("remote",), measure=OTHER)
def remote_killed(stage, dice):
    remote = stage.cluster.remotes[dice.choice(stage.cluster.services)]
    remote.process.kill()
    yield 5.0
    remote.start()
