"""A request, the answers of its handler, and the time that both have."""
# pylint: disable=invalid-name  # the answers are named as classes are

from __future__ import annotations

import dataclasses
import math
import time
from collections import deque
from datetime import datetime, timezone
from typing import Any

from .link import LOG, UNFIT, read_json

REQUEST_VERSION = 3  # a request of a higher version is left for a newer agent
MARGIN_S = 0.25      # kept back of a handler's time, for the reply
MINUTE_S = 60
FAR_S = 1.0          # a message this far above the least difference was held up, or the clock went back
BACK_BAND_S, BACK_CONTROL_BAND_S = 0.05, 0.25  # the supervisor's look at the clock is up to a quarter of a second old
BACK_SPAN_S = 0.5
SAMPLES_MIN = 3      # control messages by which the database's clock counts as known
SKEW_MAX_S = 2.0
CODE_MAX, TEXT_MAX = 63, 255  # schedulers keep no more
RETRY_MAX_S = 365 * 86400.0
OUTCOMES = ("done", "accepted", "absent", "transient", "permanent", "unknown")


def _clean(text: Any, most: int) -> str:
    return UNFIT.sub("\ufffd", "" if text is None else str(text)[:most])


@dataclasses.dataclass
class Outcome:
    """`executed` is the important member: "no" only if it is certain that nothing happened. Raises ValueError or TypeError for an
    unknown word and for an invalid time."""

    outcome: str
    executed: str
    result: Any = None
    code: str = ""
    text: str = ""
    retry_after: float | None = None

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES or self.executed not in ("yes", "no", "maybe"):
            raise ValueError(f"executed is yes, no or maybe; {self.outcome!r}, {self.executed!r} is no answer")
        if self.retry_after is not None and not self.retry_after >= 0:
            raise ValueError(f"retry_after is no time: {self.retry_after!r}")
        if self.retry_after is not None:  # a Decimal of a body may be too large to reckon with
            self.retry_after = float(min(self.retry_after, RETRY_MAX_S))
        self.code, self.text = _clean(self.code, CODE_MAX), _clean(self.text, TEXT_MAX)


def Done(result: Any = None) -> Outcome:
    """It is so: the do or undo happened, the verify found it done."""
    return Outcome("done", "yes", result)


def Accepted(result: Any = None) -> Outcome:
    """The service works on it. For a step with finish_within, which is then polled with verify."""
    return Outcome("accepted", "yes", result)


def Absent() -> Outcome:
    """The verify or undo found that it had not happened."""
    return Outcome("absent", "no")


def Transient(retry_after: float | None = None, text: str = "", code: str = "transient", executed: str = "maybe") -> Outcome:
    """It failed in a way that may pass; `retry_after` is in seconds."""
    return Outcome("transient", executed, None, code, text, retry_after)


def Permanent(code: str, text: str = "", executed: str = "no") -> Outcome:
    """A refusal that another attempt would get, too."""
    return Outcome("permanent", executed, None, code, text)


def Unknown(text: str = "") -> Outcome:
    """No answer proves whether it happened; the step's on_unknown decides."""
    return Outcome("unknown", "maybe", None, "answer_unclear", text)


class Newer(Exception):
    """A request that only a newer agent can read."""


def _typed(message: dict[str, Any], name: str, kind: type) -> Any:
    value = message.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"/{name} is missing or of another type")
    return value


class Request:
    """A request as its handler gets it."""

    def __init__(self, body: bytes, service: str):
        """Raises Newer, and ValueError for a message that is no request of the service."""
        message = read_json(body)
        if not isinstance(message, dict):
            raise ValueError("it is no object")
        self.message: dict[str, Any] = message  # all of it, as in request.schema.json
        self.version: int = _typed(message, "v", int)
        self.kind: str = _typed(message, "kind", str)
        if self.version > REQUEST_VERSION or self.kind not in ("do", "undo", "verify"):
            raise Newer()
        self.order_id: str = _typed(message, "order_id", str)
        self.step: str = _typed(message, "step", str)
        self.attempt: int = _typed(message, "attempt", int)
        self.idempotency_key: str = _typed(message, "idempotency_key", str)
        self.do_key: str = _typed(message, "do_key", str)
        self.complete_by, self.sent_at = (read_moment(_typed(message, name, str)) for name in ("complete_by", "sent_at"))
        action = _typed(message, "request", dict)
        self.method: str = _typed(action, "method", str)
        self.path: str = _typed(action, "path", str)
        self.body: Any = action.get("body")
        self.traceparent = str(message.get("traceparent", ""))
        self.is_redelivered = False  # an earlier delivery of it may have acted, or may be at work
        self.until = math.inf        # of boot_s(): past it no answer counts
        if _typed(message, "service", str) != service:
            raise ValueError("it is for another service")

    def time_left(self) -> float:
        """Seconds for the handler, less a margin for the reply. An answer that comes later is dropped."""
        return self.until - boot_s() - MARGIN_S


# macOS has the clock that counts a machine's sleep by another name, and on Windows that of time.monotonic() does.
_BOOT = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def boot_s() -> float:
    return time.monotonic() if _BOOT is None else time.clock_gettime(_BOOT)


def read_moment(text: str) -> float:
    if not text.endswith("Z"):
        raise ValueError("a moment without Z")
    return datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc).timestamp() + float("0" + text[19:-1])


class Clock:
    """The database's clock, from the least (receipt - sent_at) of the last minute (law 6, database clock)."""

    def __init__(self) -> None:
        self._least: dict[int, float] = {}                        # by second of boot_s()
        self._controls: deque[float] = deque(maxlen=SAMPLES_MIN)  # receipts of the last control messages
        self._far: list[tuple[float, float]] = []                 # those in a row that are far above the least

    def note(self, boot: float, sent_at: float, is_control: bool) -> None:
        lead = boot - sent_at
        self._least = {second: least for second, least in self._least.items() if second > boot - MINUTE_S}
        if self._least and lead > min(self._least.values()) + FAR_S:
            if not is_control or not self._is_step_back(boot, lead):
                return
            LOG.warning("the database's clock jumped back; deadlines follow its new time")
            self._least.clear()
            lead = min(lead for _, lead in self._far)
        self._far.clear()
        self._least[int(boot)] = min(lead, self._least.get(int(boot), lead))
        if is_control:
            self._controls.append(boot)

    def _is_step_back(self, boot: float, lead: float) -> bool:
        """Messages that were held up arrive together; a clock that went back shifts all alike."""
        if self._far and lead < self._far[0][1] - BACK_BAND_S:
            self._far.clear()
        elif self._far and lead > self._far[0][1] + BACK_CONTROL_BAND_S:
            return False
        self._far.append((boot, lead))
        return len(self._far) >= SAMPLES_MIN and boot - self._far[0][0] >= BACK_SPAN_S

    def is_known(self, boot: float) -> bool:
        return len(self._controls) == SAMPLES_MIN and self._controls[0] > boot - MINUTE_S + 1

    def now(self, boot: float) -> float:
        """While it is not known, a full queue looks like a clock that is ahead: the later estimate holds."""
        by_messages = boot - min(self._least.values(), default=math.inf)
        return by_messages if self.is_known(boot) else max(by_messages, time.time())

    def fault(self, boot: float) -> str:
        behind = 0.0 if self.is_known(boot) else boot - min(self._least.values(), default=math.inf) - time.time()
        return f"this machine's clock is {behind:.1f} s behind the database's; synchronise it" if behind > SKEW_MAX_S else ""


