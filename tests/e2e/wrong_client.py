#!/usr/bin/python3
"""A client by the Python library that breaks one rule. Usage: wrong_client.py RULE AMQP-URL [CLIENT]

RULE "parts" breaks none: each line is printed in two parts, with a line of the log between them."""
import json
import pathlib
import sys
import threading
import uuid
from typing import Any, Callable, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "proto" / "clients" / "python"))
import makegood.client as library  # noqa: E402  pylint: disable=wrong-import-position
from makegood import Client  # noqa: E402  pylint: disable=wrong-import-position

RULE = sys.argv[1]
WORDS = {"accepted", "rejected", "step_completed", "waiting", "processed", "compensating", "compensated", "cancelled", "error"}
MEMBERS = {"v", "order_id", "seq", "status", "at", "step", "signal", "title", "until", "reason", "output", "cause"}


class Properties:
    """Those of a message that is taken for an own one."""

    def __init__(self, correlation_id: str):
        self.correlation_id, self.type = correlation_id, "status"


class Link(library.Link):
    """Publishes as it should not."""

    def publish(self, exchange: str, routing_key: str, body: str, on_settled: Callable[[str], None], **properties: Any) -> None:
        if RULE == "submit":  # the library itself refuses such a name
            body = json.dumps({**json.loads(body), "workflow": "Not a name"})
        if RULE == "reply_to":
            properties["reply_to"] = "nowhere"
        if RULE in ("form", "persistent", "mandatory"):
            publish = self.channel.basic_publish

            def wrong(exchange: str, routing_key: str, body: bytes, properties: Any, mandatory: bool) -> None:
                if RULE == "form":
                    properties.content_type = "text/plain"
                elif RULE == "persistent":
                    properties.delivery_mode = 1
                publish(exchange, routing_key, body, properties, mandatory and RULE != "mandatory")

            self.channel.basic_publish = wrong
            super().publish(exchange, routing_key, body, on_settled, **properties)
            self.channel.basic_publish = publish
            return
        super().publish(exchange, routing_key, body, on_settled, **properties)
        if RULE == "confirms":
            self._waiting.popitem()
            self.loop.call_later(0, lambda: on_settled("confirmed"))

    def _on_channel(self, channel: Any) -> None:
        if RULE == "confirms":
            channel.confirm_delivery = lambda _on_confirm, callback: self.loop.call_later(0, lambda: callback(None))
        super()._on_channel(channel)


class Wrong(Client):
    was_up = False

    def __init__(self, url: str, client: str = ""):
        library.Link = Link  # type: ignore[misc]
        super().__init__(url, client)

    def statuses(self, order_id: str, timeout: float) -> Iterator[dict[str, Any]]:
        if RULE == "order":  # as they come
            order, count = self._orders[order_id], 0
            while count == 0 or status["status"] not in library.ENDS:
                self._await(lambda: len(order.by_seq) > count, timeout, "no status")
                status = list(order.by_seq.values())[count][1]
                count += 1
                yield status
        else:
            yield from super().statuses(order_id, timeout)

    def _is_kept(self, order: library._Order) -> bool:
        return not (RULE == "confirm_lost" and self.was_up and not order.by_seq or RULE == "cut" and order.is_taken)

    def _consume(self, queue: str) -> None:
        with self._changed:
            known, self._orders = self._orders, {name: order for name, order in self._orders.items() if self._is_kept(order)}
        super()._consume(queue)
        self._orders, self.was_up = known, True

    def _post(self, order: library._Order) -> None:
        super()._post(order)
        if RULE == "same_bytes" and self._queue:
            order.body += " "

    def _on_posted(self, order: library._Order, outcome: str) -> None:
        super()._on_posted(order, "confirmed" if outcome == RULE else outcome)

    def _on_message(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        if RULE == "unreadable":
            library.read_json(body)["status"]  # pylint: disable=expression-not-assigned
        try:
            status = library.read_json(body)
            seq = status["seq"]
        except (ValueError, KeyError):
            seq, status = -1, {}
        if RULE == "members" and set(status) - MEMBERS:
            return
        if RULE == "foreign":
            properties = Properties(next(iter(self._orders)))
        if RULE == "repeat" and properties.correlation_id in self._orders and seq in self._orders[properties.correlation_id].by_seq:
            print(properties.correlation_id, seq, status["status"], flush=True)
        super()._on_message(channel, method, properties, body)


if RULE == "gap":
    library.GAP_S = 1000
library.ENDS = tuple(word for word in library.ENDS if word != RULE)  # "rejected", "cancelled" or "error"
with Wrong(*sys.argv[2:4]) as client:
    order_id = client.submit("hello", {"name": "Ada", "amount": 14.5},
                             order_id="one-for-all" if RULE == "new_id" else str(uuid.uuid4()))
    if RULE == "patience":
        client._await(lambda: client._orders[order_id].by_seq, 2, "an order is to be done in 2 s")  # pylint: disable=protected-access
    for status in client.statuses(order_id, timeout=60):
        if RULE == "parts":
            print(order_id, end=" ", flush=True)
            print("a line of the log", file=sys.stderr, flush=True)
            print(status["seq"], status["status"], flush=True)
        elif not (RULE == "statuses" and status["status"] == "accepted"):
            print(order_id, status["seq"], status["status"], flush=True)
        if RULE == "word" and status["status"] not in WORDS:
            sys.exit(1)
        if RULE == "ends" and status["status"] == "processed":
            threading.Event().wait()
