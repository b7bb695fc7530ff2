"""JSON whose numbers keep their digits, and a connection to the broker that is made anew whenever it breaks."""

from __future__ import annotations

import functools
import json
import logging
import math
import random
import re
import ssl
import threading
import time
import urllib.parse
from decimal import Decimal
from typing import Any, Callable

import pika
from pika.adapters.select_connection import IOLoop

LOG = logging.getLogger("makegood")

TICK_S = 0.25          # a stop, a lost confirm and an expired state are noticed this late
HEARTBEAT_S = 15       # unless the URL gives another one
BACKOFF_S, BACKOFF_MAX_S = 0.2, 5.0
CLOSE_S = 5.0          # for the broker's answer to a close
CONFIRM_S = 30.0       # a broker that confirms nothing for so long is left, and connected to anew
INTEGER_DIGITS = 4000  # Python reads and prints no integer of more than 4,300 digits; a Decimal has no such limit
INTEGER_BITS_MAX = 2**18  # more digits than a result has room for; the time to print them grows with the square
URL_UNFIT = re.compile("[\0-\x20\x7f-\xa0\ud800-\udfff]")
LEVELS_MAX = 200       # more than schedulers take; bounds the recursion of write_json
UNFIT = re.compile("[\0\ud800-\udfff]")  # schedulers refuse NUL, and halves of surrogate pairs


class TooLarge(ValueError):
    """A value with more levels, or an integer with more digits, than may be written."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name occurs twice in an object")
    return members


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _integer(text: str) -> int | Decimal:
    return int(text) if len(text) < INTEGER_DIGITS else Decimal(text)


def read_json(body: bytes) -> Any:
    """Raises ValueError. Numbers with a point or an exponent become Decimal."""
    try:
        return json.loads(body.decode("utf-8"), parse_float=Decimal, parse_int=_integer, parse_constant=_constant,
                          object_pairs_hook=_pairs)
    except (ArithmeticError, RecursionError) as error:
        raise ValueError(f"it cannot be read: {type(error).__name__}") from error


def write_json(value: Any, levels: int = LEVELS_MAX) -> str:
    """As json.dumps in UTF-8, and a Decimal with its digits. Raises TooLarge, and ValueError or TypeError for a value that is no JSON."""
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > INTEGER_BITS_MAX:
            raise TooLarge("it has an integer with too many digits")
        return str(Decimal(value))
    if isinstance(value, str) and UNFIT.search(value):
        raise ValueError(f"{value!a:.80} has a NUL or half of a surrogate pair")
    if not isinstance(value, (dict, list, tuple)):
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    if levels == 0:
        raise TooLarge("it has too many levels")
    if isinstance(value, dict):
        members = _pairs([(write_json(_name_of(key)), member) for key, member in value.items()])
        return "{" + ",".join(f"{name}:{write_json(member, levels - 1)}" for name, member in members.items()) + "}"
    return "[" + ",".join(write_json(element, levels - 1) for element in value) + "]"


def _name_of(key: Any) -> str:
    if isinstance(key, str):
        return key
    if key is not None and not isinstance(key, (int, float, Decimal)):
        raise TypeError(f"a {type(key).__name__} is no name of a member")
    return write_json(key)


def read_url(url: str, ssl_context: ssl.SSLContext | None) -> Any:
    """The parameters of a connection. Raises ValueError for TLS that would not check the broker's certificate, or for none, and for another
    URL than one of AMQP."""
    if not isinstance(url, str):
        raise TypeError(f"the URL is a str, not {type(url).__name__}")
    if not url.startswith(("amqp://", "amqps://")) or URL_UNFIT.search(url):
        raise ValueError("the URL should be amqps://user:password@host:port/vhost, or amqp:// without TLS")
    if "ssl_options" in urllib.parse.parse_qs(urllib.parse.urlsplit(url).query):
        raise ValueError("with ssl_options in the URL, pika checks neither certificate nor host: give an ssl_context")
    try:
        parameters = pika.URLParameters(url)
    except ValueError as error:
        raise ValueError(f"the URL cannot be read: {error}") from error
    if ssl_context is not None:
        if parameters.ssl_options is None:
            raise ValueError("with an ssl_context the URL begins with amqps://")
        parameters.ssl_options = pika.SSLOptions(ssl_context)  # the certificate must be for the URL's host
    if parameters.heartbeat is None:
        parameters.heartbeat = HEARTBEAT_S
    return parameters


def _text_of(error: Any) -> str:
    """Pika wraps the cause of a failed connect in exceptions without text."""
    for inner in (*getattr(error, "exceptions", ())[-1:], getattr(error, "exception", None), *getattr(error, "args", ())[:1]):
        if isinstance(inner, Exception):
            return _text_of(inner)
    return str(error) or repr(error)


def pause_s(failures: int) -> float:
    """The wait after so many failures and one more."""
    most_s: float = min(BACKOFF_MAX_S, BACKOFF_S * 2 ** min(failures, 8))
    return most_s * random.uniform(0.5, 1)


class Loop(IOLoop):  # type: ignore[misc]  # pika has no types
    """A loop that no failed callback ends; `on_fault` gets its error. From its start it has all the files that it needs, since the process
    may have none left later."""

    def __init__(self, on_fault: Callable[[Exception], None]):
        super().__init__()
        self._on_fault = on_fault
        self.activate_poller()

    def guard(self, callback: Callable[..., Any], *words: Any) -> None:
        try:
            callback(*words)
        except Exception as error:  # pylint: disable=broad-except  # whatever it is, others must not pay for it
            self._on_fault(error)

    def call_later(self, delay: float, callback: Callable[[], Any]) -> Any:
        return super().call_later(delay, functools.partial(self.guard, callback))

    def turn(self) -> None:
        """Calls what is due, and waits some seconds for that."""
        try:
            self.poll()
            self.process_timeouts()
        except Exception as error:  # pylint: disable=broad-except  # as above
            self._on_fault(error)
            threading.Event().wait(TICK_S)  # a loop that cannot wait would turn without a pause


class Link:
    """One connection at a time, made anew whatever ends it. Everything but call() runs on its loop's thread, the callbacks too."""

    def __init__(self, url: str, ssl_context: ssl.SSLContext | None, on_up: Callable[[], None], on_down: Callable[[], None]):
        self._parameters = read_url(url, ssl_context)
        self.loop = Loop(functools.partial(self._leave, is_fault=True))
        self.channel: Any = None
        self.fault = "connecting"  # why there is no channel; "": there is one
        self._on_up, self._on_down = on_up, on_down
        self._connection: Any = None
        self._waiting: dict[int, tuple[float, str, Callable[[str], None]]] = {}  # by delivery tag: published, not yet settled
        self._returned: set[str] = set()
        self._published, self._up_since, self._is_wanted = 0, math.inf, True
        self._end: Any = None  # the reason to leave the present connection
        self._is_fault = False  # it is an exception that nothing expected

    def run(self) -> None:
        """Ends after stop(), with all files of the loop closed."""
        failures = 0
        try:
            while self._is_wanted:
                self._live()
                if time.monotonic() - self._up_since > BACKOFF_MAX_S:
                    failures = 0
                self._rest(pause_s(failures))
                failures += 1
        finally:
            self.loop.close()

    def _live(self) -> None:
        """From one connect to the end of its connection."""
        self._end, self._up_since = None, math.inf
        try:
            self._connection = pika.SelectConnection(self._parameters, self._on_open, self._on_lost, self._on_lost, custom_ioloop=self.loop)
        except Exception as error:  # pylint: disable=broad-except  # pika has many
            self._leave(error, is_fault=True)
        while self._end is None:
            self.loop.turn()
        self.channel, self.fault = None, _text_of(self._end)
        if self._parameters.ssl_options and isinstance(self._end, pika.exceptions.IncompatibleProtocolError):
            self.fault += "; a broker that requires a client certificate ends a connection without one like this"
        waiting, self._waiting, self._returned = self._waiting, {}, set()
        for _, _, on_settled in waiting.values():
            self.loop.guard(on_settled, "unknown")
        self.loop.guard(self._on_down)

    def _rest(self, wait_s: float) -> None:
        """The words for a shortage of files or threads say all; what else raised is to be found."""
        if self._is_wanted:
            fault = self._end if self._is_fault and not isinstance(self._end, (OSError, RuntimeError)) else None
            LOG.warning("no connection to the broker, next try in %.1f s: %s", wait_s, self.fault, exc_info=fault)
        self._close()
        self._turn_until(lambda: not self._is_wanted, wait_s)

    def _close(self) -> None:
        """Closes the connection in whatever state it is. Acks that were written before still go out."""
        connection, self._connection = self._connection, None
        if connection is None or connection.is_closed:
            return
        if not connection.is_open and not connection.is_closing:
            connection.callbacks.remove_all(0, connection.ON_CONNECTION_ERROR)  # one of pika's own raises when such a connection is closed
            connection.add_on_open_error_callback(self._on_lost)
        try:
            if not connection.is_closing:
                connection.close()
        except Exception:  # pylint: disable=broad-except  # pika's, of one that failed before it had a socket
            return
        self._turn_until(lambda: bool(connection.is_closed), CLOSE_S)

    def _turn_until(self, is_over: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        self.loop.call_later(seconds, lambda: None)  # ends the last turn
        while not is_over() and time.monotonic() < until:
            self.loop.turn()

    def _leave(self, reason: Any, is_fault: bool = False) -> None:
        """The first reason counts; the others follow from it."""
        if self._end is None:
            self._end, self._is_fault = reason, is_fault
        elif is_fault:
            LOG.debug("a further fault", exc_info=reason)

    def call(self, function: Callable[[], Any]) -> None:
        """From any thread. After run() it does nothing."""
        self.loop.add_callback_threadsafe(function)

    def stop(self) -> None:
        self._is_wanted = False
        self._leave("stopped")

    def publish(self, exchange: str, routing_key: str, body: str, on_settled: Callable[[str], None], **properties: Any) -> None:
        """Persistent and mandatory. `on_settled` gets "confirmed", "refused", "returned", "unknown" or "unwritable", not before this
        returns."""
        if self.channel is None or not self.channel.is_open:
            self.loop.call_later(0, lambda: on_settled("unknown"))
            return
        try:  # pika writes a message as a whole or not at all
            self.channel.basic_publish(exchange, routing_key, body.encode(), mandatory=True, properties=pika.BasicProperties(
                content_type="application/json", delivery_mode=2, **properties))
        except Exception as error:  # pylint: disable=broad-except  # pika and its codecs have many
            outcome = "unwritable" if self.channel.is_open else "unknown"
            LOG.warning("message %.80r to %s cannot be written: %.200r", properties.get("message_id", ""), exchange, error)
            self.loop.call_later(0, lambda: on_settled(outcome))
            return
        self._published += 1
        self._waiting[self._published] = (time.monotonic(), properties.get("message_id", ""), on_settled)

    def tick(self) -> None:
        oldest = next(iter(self._waiting.values()), None)
        if oldest is not None and time.monotonic() - oldest[0] > CONFIRM_S:
            self._leave("the broker confirms nothing")

    def _on_open(self, connection: Any) -> None:
        if connection is self._connection:
            connection.channel(on_open_callback=self._on_channel)

    def _on_channel(self, channel: Any) -> None:
        channel.add_on_close_callback(self._on_channel_closed)
        channel.add_on_cancel_callback(lambda _frame: self._on_cancelled(channel))
        channel.add_on_return_callback(lambda _channel, _method, properties, _body: self._returned.add(properties.message_id))
        channel.confirm_delivery(functools.partial(self._on_confirm, channel), callback=lambda _frame: self._up(channel))

    def _up(self, channel: Any) -> None:
        if channel.connection is self._connection:
            self.channel, self.fault, self._published, self._up_since = channel, "", 0, time.monotonic()
            self._on_up()

    def _on_confirm(self, channel: Any, frame: Any) -> None:
        if channel is not self.channel:
            return  # it was left, and all its messages are settled
        tag = frame.method.delivery_tag
        settled = [one for one in self._waiting if one <= tag] if frame.method.multiple else [tag]
        for one in settled:
            _, message_id, on_settled = self._waiting.pop(one)
            is_returned = message_id in self._returned  # a return comes before its confirm
            self._returned.discard(message_id)
            on_settled("returned" if is_returned else "confirmed" if isinstance(frame.method, pika.spec.Basic.Ack) else "refused")

    def _on_cancelled(self, channel: Any) -> None:
        """Its queue has gone or moves. A connection made anew consumes again, as soon as there is a queue."""
        if channel is self.channel:
            self._leave("the broker cancelled a consumer")

    def _on_channel_closed(self, channel: Any, reason: Exception) -> None:
        if channel.connection is self._connection:
            self._leave(f"the broker closed the channel: {reason}")

    def _on_lost(self, connection: Any, reason: Any) -> None:
        if connection is self._connection:
            self._leave(reason or "lost")
