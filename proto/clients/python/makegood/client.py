"""A client: posts orders and receives their statuses, and sends signals."""

from __future__ import annotations

import dataclasses
import functools
import os
import ssl
import threading
import time
import traceback
import uuid
from typing import Any, Callable, Iterator

from . import arguments
from .link import BACKOFF_MAX_S, LOG, TICK_S, Link, read_json

ENDS: tuple[str, ...] = ("processed", "compensated", "cancelled", "rejected", "error")
FINAL = ENDS[:4]   # an order in error may go on
ORDERS_MAX = 1000  # in hand of one client: all are posted again at once after a reconnect
GAP_S = 5.0        # a status waits so long for the ones before it, which a lost queue may have taken along
PAUSE_S = 0.5      # after a refused post: a full queue takes some time to have room again
SEQ_MAX = 2**63 - 1


class Refused(Exception):
    """The broker took the post of an order for certain not: its queue is full, or there is none."""


class NotTaken(Exception):
    """A signal was not taken. `outcome`: late, refused, not_found, invalid, conflict; returned, if the client may not send it at all."""

    def __init__(self, outcome: str, text: str):
        super().__init__(f"{outcome}: {text}" if text else outcome)
        self.outcome = outcome


@dataclasses.dataclass
class _Signal:
    name: str
    body: str
    signal_id: str
    result: dict[str, Any] = dataclasses.field(default_factory=dict)  # the schedulers' answer
    refusal: str = ""         # the broker's


@dataclasses.dataclass
class _Order:
    order_id: str
    body: str
    routing_key: str
    headers: dict[str, str] | None
    submitters: int = 0       # calls that wait for the confirm
    is_posting: bool = False  # a post is under way, or a pause before the next one
    is_taken: bool = False    # a post was confirmed, or a status came
    is_maybe: bool = False    # a post without an answer may have arrived
    refusal: str = ""         # the broker's, if it proves that the order was not taken
    by_seq: dict[int, tuple[float, dict[str, Any]]] = dataclasses.field(default_factory=dict)

    def last(self) -> dict[str, Any]:
        return self.by_seq[max(self.by_seq)][1] if self.by_seq else {}

    def after(self, seq: int) -> dict[str, Any] | None:
        """The next status behind `seq`, unless one before it may still come."""
        following = min((one for one in self.by_seq if one > seq), default=None)
        if following is None:
            return None
        came, status = self.by_seq[following]
        is_next = following <= max(seq, 0) + 1  # 0 is a rejection, 1 the first status
        return status if is_next or time.monotonic() - came > GAP_S else None


class Client:
    """Posts orders and receives their statuses, and sends signals. Its connection has a thread of its own; any thread may call the methods.

    `client` names the client whose exchange and queue `makegood broker apply --client` made; one process per name, since two would
    take each other's statuses. Without it the client shares the exchange makegood.intake and makes a queue of its own. After a
    reconnect each order that has not ended is posted again: the same bytes under the same id are the same order, and its statuses
    move to the new queue. A client does not outlive fork(): make one in each process. `ssl_context` is for a URL with amqps://, by default ssl.create_default_context(): the system's CAs.
    """

    def __init__(self, url: str, client: str = "", *, ssl_context: ssl.SSLContext | None = None):
        if client:
            arguments.check_name("client", client)
        self._pid = os.getpid()
        self._exchange = f"makegood.intake.{client}" if client else "makegood.intake"
        self._name = client
        self._queue_name, self._queue = f"client.{client}.statuses" if client else "", ""
        self._changed, self._fault = threading.Condition(), ""
        self._orders: dict[str, _Order] = {}
        self._signals: dict[str, _Signal] = {}  # by correlation id: those that await their answer
        self._link = Link(url, ssl_context, self._on_up, self._on_down)
        self._thread = threading.Thread(target=self._run, name="makegood-client", daemon=True)
        self._thread.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """In a child after fork() it does nothing: the connection is the parent's."""
        if os.getpid() != self._pid:
            return
        self._link.call(self._link.stop)
        self._thread.join(BACKOFF_MAX_S)

    def submit(self, workflow: str, payload: dict[str, Any] | None = None, *, order_id: str | None = None, traceparent: str = "",
               timeout: float = 30.0, **members: Any) -> str:
        """Posts an order and returns its id once the broker has confirmed it.

        `members` are further members of a submission: priority, complete_within, notify, workflow_version. ValueError, TypeError: an
        argument is wrong, and nothing was posted. TimeoutError: whether the
        order was taken is unknown; submit it again with its id, or wait for it. Refused: it was not taken.
        """
        arguments.check_process(self._pid, "client")
        order_id = str(uuid.uuid4()) if order_id is None else arguments.check_order_id(order_id)
        arguments.check_name("workflow", workflow)
        arguments.check_members(members)
        arguments.check_seconds("timeout", timeout)
        if traceparent != "":
            arguments.check_text("traceparent", traceparent, arguments.HEADER, "at most 255 characters of printable ASCII")
        body = arguments.write_submission({"order_id": order_id, "workflow": workflow, "payload": {} if payload is None else payload, **members})
        queue = "orders.intake.high" if members.get("priority") == "high" else "orders.intake"
        with self._changed:
            known = self._orders.get(order_id)
            if known is None and len(self._orders) >= ORDERS_MAX:
                raise Refused(f"{ORDERS_MAX} orders are in hand: forget() those that have ended")
            if known is not None and known.body != body:
                raise ValueError(f"order {order_id} was submitted with another content")
            order = known or _Order(order_id, body, queue, {"traceparent": traceparent} if traceparent else None)
            self._orders[order_id] = order
            order.submitters += 1
            try:
                if known is None:
                    self._link.call(lambda: order.is_posting or self._post(order))  # a new connection may have posted it
                self._await(lambda: order.is_taken or order.refusal, timeout, f"the broker did not confirm order {order_id}")
            finally:
                order.submitters -= 1
        if order.refusal:
            reason = "see the log" if order.refusal == "unwritable" else f"{queue} is full or missing"
            raise Refused(f"the order {order_id} was {order.refusal}: {reason}")
        return order_id

    def signal(self, name: str, payload: Any = None, *, order_id: str | None = None, key: str | None = None,
               signal_id: str | None = None, timeout: float = 30.0) -> str:
        """Sends a signal to an order, or to the one that waits for it under `key`, and returns its outcome: taken, kept,
        counted or duplicate.

        Only for a client with a name, and for the signals that `makegood broker apply --client NAME --signal NAME` gave it.
        `signal_id` is best the id of the event that the signal reports: the same again is the same signal. ValueError, TypeError:
        an argument is wrong, and nothing was sent. NotTaken: it changed nothing. TimeoutError: whether it was taken is unknown;
        send it again with its signal_id.
        """
        arguments.check_process(self._pid, "client")
        if not self._name:
            raise ValueError("a client without a name sends no signals")
        if (order_id is None) == (key is None):
            raise ValueError("give either order_id or key")
        arguments.check_name("name", name)
        arguments.check_seconds("timeout", timeout)
        signal_id = str(uuid.uuid4()) if signal_id is None else arguments.check_signal_id(signal_id)
        address = {"key": arguments.check_key(key)} if order_id is None else {"order_id": arguments.check_order_id(order_id)}
        body = arguments.write_signal({"v": 1, "command_id": signal_id, "command": "signal", **address, "signal": name,
                                       "payload": payload, "by": f"client {self._name}"})
        signal, correlation_id = _Signal(name, body, signal_id), str(uuid.uuid4())
        with self._changed:
            if len(self._signals) >= ORDERS_MAX:
                raise NotTaken("refused", f"{ORDERS_MAX} signals are on their way")
            self._signals[correlation_id] = signal
        self._link.call(lambda: self._send(correlation_id))
        try:
            self._await(lambda: signal.result or signal.refusal, timeout, f"no scheduler has answered to signal {signal_id}")
        finally:
            with self._changed:
                self._signals.pop(correlation_id, None)
        if signal.refusal:
            reason = f"client {self._name} may not send signal {name}, or its queue is missing"
            raise NotTaken(signal.refusal, reason if signal.refusal == "returned" else "see the log")
        outcome = str(signal.result.get("signal", signal.result["verdict"]))
        if signal.result["verdict"] != "done":
            raise NotTaken(outcome, str(signal.result.get("text", "")))
        return outcome

    def statuses(self, order_id: str, timeout: float) -> Iterator[dict[str, Any]]:
        """The order's statuses by rising `seq`, each once, up to an end. An `error` is one if no later status has come; a call after an
        operator's repair begins again and goes on after it. TimeoutError: none came for `timeout` seconds. KeyError: the
        order is not in hand."""
        return self._statuses(self._in_hand(order_id, timeout), timeout)

    def _statuses(self, order: _Order, timeout: float) -> Iterator[dict[str, Any]]:
        seq = -1
        while True:
            status = self._await(functools.partial(order.after, seq), timeout, f"no further status of order {order.order_id}")
            seq = status["seq"]
            yield status
            if status["status"] in ENDS and (status["status"] != "error" or order.last()["seq"] <= seq):
                return

    def wait(self, order_id: str, timeout: float) -> dict[str, Any]:
        """The status by which the order ended, one of ENDS. An order in `error` may go on after an operator's repair."""
        order = self._in_hand(order_id, timeout)
        self._await(lambda: order.last().get("status") in ENDS, timeout, f"order {order_id} has not ended")
        return order.last()

    def forget(self, order_id: str) -> None:
        """Drops an order: it is not posted again, and its statuses are passed over."""
        arguments.check_process(self._pid, "client")
        with self._changed:
            self._orders.pop(order_id, None)

    def _in_hand(self, order_id: str, timeout: float) -> _Order:
        arguments.check_process(self._pid, "client")
        arguments.check_seconds("timeout", timeout)
        order = self._orders.get(arguments.check_order_id(order_id))
        if order is None:
            raise KeyError(f"order {order_id} is not in hand of this client")
        return order

    def _await(self, condition: Callable[[], Any], timeout: float, what: str) -> Any:
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                if self._fault:
                    raise RuntimeError(self._fault)
                value, left = condition(), deadline - time.monotonic()
                if value:
                    return value
                if left <= 0:
                    raise TimeoutError(f"{what} within {timeout:g} s" + (f": {self._link.fault}" if self._link.fault else ""))
                self._changed.wait(min(left, TICK_S))  # a gap in the statuses ends by the clock

    def _run(self) -> None:
        self._link.loop.call_later(TICK_S, self._tick)
        try:
            self._link.run()
            self._fault = "the client is closed"
        except Exception:  # pylint: disable=broad-except  # the callers get it
            self._fault = f"the client's thread ended: {traceback.format_exc()}"
        with self._changed:
            self._changed.notify_all()

    def _tick(self) -> None:
        self._link.loop.call_later(TICK_S, self._tick)
        self._link.tick()

    def _on_up(self) -> None:
        if self._queue_name:
            self._consume(self._queue_name)
        else:
            self._link.channel.queue_declare("", exclusive=True, callback=lambda frame: self._consume(frame.method.queue))

    def _consume(self, queue: str) -> None:
        self._queue = queue
        self._link.channel.basic_consume(queue, self._on_message, auto_ack=True)
        with self._changed:
            orders = [order for order in self._orders.values() if not order.is_posting]
            signals = list(self._signals)
        for order in orders:
            self._post(order)
        for correlation_id in signals:  # an answer may have gone with the old queue
            self._send(correlation_id)

    def _on_down(self) -> None:
        self._queue = ""

    def _post(self, order: _Order) -> None:
        with self._changed:
            is_wanted = self._orders.get(order.order_id) is order and order.last().get("status", "error") not in FINAL
            order.is_posting = is_wanted and self._queue != ""  # without a queue it is posted as soon as there is one
        if order.is_posting:
            self._link.publish(self._exchange, order.routing_key, order.body, functools.partial(self._on_posted, order),
                               reply_to=self._queue, correlation_id=order.order_id, message_id=order.order_id, headers=order.headers)

    def _send(self, correlation_id: str) -> None:
        """Without a queue for the answer it is sent as soon as there is one."""
        signal = self._signals.get(correlation_id)
        if signal is not None and self._queue and not signal.result:
            self._link.publish(f"makegood.signals.{self._name}", signal.name, signal.body,
                               functools.partial(self._on_sent, correlation_id), type="command", reply_to=self._queue, correlation_id=correlation_id, message_id=signal.signal_id)

    def _on_sent(self, correlation_id: str, outcome: str) -> None:
        if outcome == "refused":  # the queue is full
            self._link.loop.call_later(PAUSE_S, functools.partial(self._send, correlation_id))
        with self._changed:
            signal = self._signals.get(correlation_id)
            if signal is not None and outcome in ("returned", "unwritable"):
                signal.refusal = outcome
                self._changed.notify_all()

    def _on_posted(self, order: _Order, outcome: str) -> None:
        is_refused = outcome in ("refused", "returned", "unwritable")
        with self._changed:
            order.is_taken = order.is_taken or outcome == "confirmed"
            order.is_maybe = order.is_maybe or outcome == "unknown"
            # A refusal proves nothing of an earlier post. And only a call that waits can report it.
            if is_refused and not order.is_taken and not order.is_maybe and order.submitters > 0:
                order.refusal = outcome
                self._orders.pop(order.order_id, None)
            order.is_posting = is_refused and not order.refusal
            self._changed.notify_all()
        if order.is_posting:
            self._link.loop.call_later(PAUSE_S, functools.partial(self._post, order))

    def _on_message(self, _channel: Any, _method: Any, properties: Any, body: bytes) -> None:
        if properties.type == "command_result":
            self._on_result(properties, body)
            return
        try:
            status = read_json(body)
            seq = status["seq"]
            if type(seq) is not int or not 0 <= seq <= SEQ_MAX or not isinstance(status["status"], str):  # no bool, and no Decimal
                raise ValueError("its seq is no number, or its status no word")
        except (ValueError, KeyError, TypeError) as error:
            LOG.warning("a message that is no status was passed over: %s", error)
            return
        with self._changed:
            order = self._orders.get(properties.correlation_id)
            if order is not None:
                order.is_taken = True
                order.by_seq.setdefault(seq, (time.monotonic(), status))
                self._changed.notify_all()

    def _on_result(self, properties: Any, body: bytes) -> None:
        try:
            result = read_json(body)
            if not isinstance(result["verdict"], str):
                raise ValueError("its verdict is no word")
        except (ValueError, KeyError, TypeError) as error:
            LOG.warning("a message that is no answer to a signal was passed over: %s", error)
            return
        with self._changed:
            signal = self._signals.get(properties.correlation_id)
            if signal is not None:
                signal.result = result
                self._changed.notify_all()
