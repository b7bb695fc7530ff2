"""A request in hand, and the reply to it."""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from typing import Any

from .link import TooLarge, write_json
from .request import FAR_S, Clock, Outcome, Request, Transient, boot_s

RESULT_MAX, RESULT_LEVELS, RESULT_MEMBERS = 64 * 1024, 31, 9900  # schedulers refuse a reply above 32 levels and 10,000 members
DOUBT_S = 4.5  # three control messages come within this time


@dataclasses.dataclass(eq=False)
class Line:
    """One of the two queues."""

    queue: str
    waiting: deque[Job] = dataclasses.field(default_factory=deque)
    held: int = 0
    prefetch: int = 0
    room_since: float = math.inf
    consumer: str = ""

    def hold(self, change: int) -> None:
        self.held += change
        self.room_since = math.inf if self.held >= self.prefetch else min(self.room_since, boot_s())


@dataclasses.dataclass(eq=False)
class Delivery:
    """A message in hand, until it is given back."""

    channel: Any
    tag: int
    line: Line

    def give_back(self, verb: str, **options: Any) -> None:
        """By basic_ack, basic_reject or basic_nack. A broken connection has given it back already."""
        if self.channel.is_open:
            getattr(self.channel, verb)(self.tag, **options)
            self.line.hold(-1)


@dataclasses.dataclass(eq=False)
class Job:
    """A request in hand, from its delivery to the end of its reply."""

    request: Request
    delivery: Delivery | None  # None: its connection is gone
    received: float
    is_fresh: bool              # it has not waited in its queue
    may_still_act: bool         # so may an earlier delivery, and "no" of this one is no proof
    correlation_id: str         # as it came
    outcome: Outcome | None = None
    result: str | None = "null"  # as JSON; None: it is too large for a reply
    refusals: int = 0

    def __post_init__(self) -> None:
        request = self.request
        self.is_at_most_once = request.message.get("at_most_once") is True
        self.name = f"{request.order_id}.{request.step}.{request.attempt}.{request.kind}"
        self.correlation_id = self.correlation_id or self.name

    def is_over(self) -> bool:
        return self.request.until <= boot_s()

    def judge(self, clock: Clock) -> str:
        """in time, late, in doubt, or not called: too late or too early by a clock that may be wrong. Sets the request's time."""
        boot, request = boot_s(), self.request
        given = request.complete_by - request.sent_at - (boot - self.received)
        now, is_known = clock.now(boot), clock.is_known(boot)
        request.until = boot + given
        if given <= 0:
            return "late"
        if self.is_fresh:
            held_up = now - (boot - self.received) - request.sent_at
            return "in time" if held_up <= FAR_S else "not called"
        if is_known and request.sent_at - now > FAR_S:
            return "not called"
        request.until = boot + min(given, request.complete_by - now)
        if request.until > boot:
            return "in time"
        return "late" if is_known or boot - self.received > DOUBT_S else "in doubt"

    def reply(self) -> str:
        request, outcome = self.request, self.outcome
        assert outcome is not None
        executed = outcome.executed
        # Alongside a good answer to version 3, which may be judged to be a refusal, "yes" speaks for earlier deliveries as well.
        is_doubtful = executed == "no" and request.kind != "verify" or executed == "yes" and request.kind == "do" and request.version >= 3
        if self.may_still_act and is_doubtful:
            executed = "maybe"
        reply = {"v": 1, "order_id": request.order_id, "step": request.step, "attempt": request.attempt, "kind": request.kind,
                 "outcome": outcome.outcome, "executed": executed}
        if self.may_still_act:
            reply["may_still_act"] = True
        if outcome.code:
            reply["error"] = {"code": outcome.code, "text": outcome.text}
        if outcome.retry_after is not None:
            reply["retry_after_ms"] = int(outcome.retry_after * 1000)
        if self.result is None:
            reply["truncated"] = True
        elif self.result != "null":
            return f'{write_json(reply)[:-1]},"result":{self.result}}}'
        return write_json(reply)


def not_called(code: str, text: str) -> Outcome:
    """With these codes the step waits, and no attempt is counted."""
    return Transient(code=code, text=text, executed="no")


def write_result(result: Any) -> str | None:
    """A result as JSON; None if it is too large for a reply."""
    try:
        text = write_json(result, RESULT_LEVELS)
    except TooLarge:
        return None
    return text if len(text.encode()) <= RESULT_MAX and _count_members(result) <= RESULT_MEMBERS else None


def _count_members(value: Any) -> int:
    """Members and elements, at all levels."""
    elements = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return len(elements) + sum(map(_count_members, elements))
