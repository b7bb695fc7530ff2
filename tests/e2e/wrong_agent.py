#!/usr/bin/python3
"""An agent by the Python library that breaks one rule of the protocol. Usage: wrong_agent.py AMQP-URL RULE, RULE "none" for none"""
import itertools
import os
import pathlib
import sys
import time
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "proto" / "clients" / "python"))
import makegood.agent as library  # noqa: E402  pylint: disable=wrong-import-position
from makegood import Absent, Agent, Done  # noqa: E402  pylint: disable=wrong-import-position

URL, RULE = sys.argv[1:3]
numbers = itertools.count(1)
done: set[str] = set()


def act(request: library.Request) -> library.Outcome:
    done.add(request.idempotency_key)
    return Done({"number": next(numbers) if RULE == "repeat" else 1})


def take_back(request: library.Request) -> library.Outcome:
    if request.do_key not in done:
        return Absent()
    done.remove(request.do_key)
    return Done()


def find(request: library.Request) -> library.Outcome:
    return Done() if request.do_key in done and RULE != "verify" else Absent()


class Careless(library.Request):
    """Reads what it should refuse."""

    def __init__(self, body: bytes, service: str) -> None:
        message = library.read_json(body)
        if RULE == "foreign" and isinstance(message, dict):
            service = message.get("service", service)
        if RULE == "newer" and isinstance(message, dict) and message.get("v", 1) > 3:
            body = library.write_json({**message, "v": 1}).encode()
        super().__init__(body, service)


class Hasty(library.Job):
    """Judges time by the machine's clock, or not at all."""

    def judge(self, clock: library.Clock) -> str:
        if RULE == "late":
            self.request.until = library.boot_s() + 5
            return "in time"
        if RULE == "clock":
            self.request.until = library.boot_s() + self.request.complete_by - time.time()
            return "late" if self.is_over() else "in time"
        return super().judge(clock)


def is_readable(body: bytes) -> bool:
    try:
        return "order_id" in library.read_json(body)
    except ValueError:
        return False


class Wrong(Agent):
    def _on_delivery(self, is_high: bool, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        if RULE == "dies" and len(body) > 500_000:
            os._exit(0)
        if RULE == "unreadable" and not is_readable(body):
            channel.basic_ack(method.delivery_tag)
        elif not (RULE == "high" and is_high):
            super()._on_delivery(is_high, channel, method, properties, body)

    def _admit(self, job: library.Job) -> None:
        if RULE == "redelivered":
            job.may_still_act = False
        if RULE == "at_most_once":
            job.is_at_most_once = False
        if RULE == "answer" or (RULE == "undo" and job.request.kind == "undo"):
            self._end(job, "it is wrong")
        else:
            super()._admit(job)

    def _on_control(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        control = library.read_json(body)
        if RULE == "pause":
            control["paused"] = False
        if RULE == "resume":
            control["paused"] = control["paused"] or self._control["paused"]
        if RULE == "limit":
            control.pop("shares", None)
        super()._on_control(channel, method, properties, library.write_json(control).encode())

    def _report(self) -> None:
        control = self._control
        if RULE == "settings":
            self._control = {**control, "version": 0}
        if RULE != "report":
            super()._report()
        self._control = control


library.Request, library.Job = Careless, Hasty  # type: ignore[misc]
agent = Wrong("parcels", url=URL, do=act, undo=take_back, verify=find)
if RULE == "replies":
    publish = agent._link.publish
    agent._link.publish = lambda *words, type, **properties: publish(  # type: ignore[assignment]  # pylint: disable=redefined-builtin
        *words, type="answer" if type == "reply" else type, **properties)
if RULE == "floods":
    publish = agent._link.publish

    def flood(*words: Any, **properties: Any) -> None:
        for _ in range(300 if properties["type"] == "reply" else 1):
            publish(*words, **properties)

    agent._link.publish = flood  # type: ignore[assignment]
if RULE == "large":
    publish = agent._link.publish

    def swell(exchange: str, routing_key: str, body: Any, *words: Any, **properties: Any) -> None:
        publish(exchange, routing_key, "[" * 2_000_000 if properties["type"] == "reply" else body, *words, **properties)

    agent._link.publish = swell  # type: ignore[assignment]
agent.run()
