"""The checks of arguments, in the caller's thread: a value that the broker or a scheduler would refuse is refused at once.

Each raises TypeError or ValueError with one line that names the argument.
"""

from __future__ import annotations

import math
import os
import re
from typing import Any, Callable

from .link import LEVELS_MAX, TooLarge, write_json

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
ORDER_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
HEADER = re.compile(r"[\x20-\x7e]{1,255}")  # a short string of the protocol
DURATION = re.compile(r"([1-9][0-9]{0,15})(ms|s|m|h|d)")
UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
YEAR_MS = 365 * UNITS_MS["d"]
VERSION_MAX = 2**31 - 1
BODY_MAX, LEVELS, MEMBERS = 256 * 1024, 32, 32 * 1024  # of a submission, as schedulers read it
SIGNAL_MAX, SIGNAL_LEVELS, SIGNAL_MEMBERS = 64 * 1024, 31, 9_900  # of the payload of a signal
KEY_MAX = 256  # bytes
CONCURRENCY_MAX = 65_535  # the broker's prefetch has 16 bits
WORDS = {"priority": ("normal", "high"), "notify": ("order", "steps")}


def check_text(name: str, value: Any, pattern: re.Pattern[str], rule: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a str of {rule}, not {type(value).__name__}")
    if not pattern.fullmatch(value):
        raise ValueError(f"{name} has {rule}, not {value!a:.80}")
    return value


def check_order_id(value: Any) -> str:
    return check_text("order_id", value, ORDER_ID, '1 to 64 characters A-Z, a-z, 0-9, ".", "_", ":", "-"')


def check_signal_id(value: Any) -> str:
    return check_text("signal_id", value, ORDER_ID, '1 to 64 characters A-Z, a-z, 0-9, ".", "_", ":", "-"')


def check_key(value: Any) -> str:
    rule = f"1 to {KEY_MAX} bytes of text without control characters"
    key = check_text("key", value, re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]+"), rule)
    if len(key.encode()) > KEY_MAX:
        raise ValueError(f"key has {rule}, not {key!a:.80}")
    return key


def check_name(name: str, value: Any) -> str:
    return check_text(name, value, NAME, "1 to 63 characters a-z, 0-9, \"_\", \"-\", the first a letter")


def check_seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is a number of seconds, not {type(value).__name__}")
    try:
        seconds = float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large a number of seconds") from None
    if not seconds >= 0:
        raise ValueError(f"{name} is a number of seconds from 0 on, not {value}")
    return seconds


def check_integer(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    if not 1 <= value <= most:
        raise ValueError(f"{name} is 1 to {most}")
    return value


def check_handler(name: str, value: Any) -> Callable[..., Any]:
    if not callable(value):
        raise TypeError(f"{name} is a function, not {type(value).__name__}")
    handler: Callable[..., Any] = value
    return handler


def check_members(members: dict[str, Any]) -> None:
    """The members of a submission beside its workflow and payload."""
    for name, value in members.items():
        if name in WORDS:
            if value not in WORDS[name]:
                raise ValueError(f"{name} is one of {', '.join(WORDS[name])}, not {value!a:.80}")
        elif name == "complete_within":
            check_text(name, value, DURATION, 'a number and a unit, as in "15m"')
            number, unit = DURATION.fullmatch(value).groups()  # type: ignore[union-attr]  # it was checked
            if int(number) * UNITS_MS[unit] > YEAR_MS:
                raise ValueError(f"{name} is a year at most, not {value}")
        elif name == "workflow_version":
            check_integer(name, value, VERSION_MAX)
        else:
            raise TypeError(f"submit() has no argument {name!a:.80}")


def _count(value: Any, levels: int = LEVELS_MAX) -> int:
    """Members and elements, at all levels."""
    elements = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return len(elements) + sum(_count(element, levels - 1) for element in elements) if levels else 0


def write_submission(submission: dict[str, Any]) -> str:
    """Its bytes. Only the payload may still be wrong."""
    if not isinstance(submission["payload"], dict):
        raise TypeError(f"the payload is a dict, not {type(submission['payload']).__name__}")
    try:
        body = write_json(submission, LEVELS)
    except (TypeError, ValueError, RecursionError) as error:
        raise (ValueError if isinstance(error, RecursionError) else type(error))(f"the payload cannot be written: {error}") from error
    if len(body.encode()) > BODY_MAX or _count(submission) > MEMBERS:
        raise TooLarge(f"the payload is too large: an order has at most {BODY_MAX} bytes, and {MEMBERS} members and elements")
    return body


def write_signal(signal: dict[str, Any]) -> str:
    """The bytes of a signal's command. Only the payload may still be wrong."""
    try:
        payload = write_json(signal["payload"], SIGNAL_LEVELS)
    except (TypeError, ValueError, RecursionError) as error:
        raise (ValueError if isinstance(error, RecursionError) else type(error))(f"the payload cannot be written: {error}") from error
    if len(payload.encode()) > SIGNAL_MAX or _count(signal["payload"]) > SIGNAL_MEMBERS:
        raise TooLarge(f"the payload is too large: a signal has at most {SIGNAL_MAX} bytes, and {SIGNAL_MEMBERS} members and elements")
    return write_json(signal, LEVELS)


def check_process(pid: int, what: str) -> None:
    """RuntimeError in a child of the process that made it: threads and connections are the parent's."""
    if os.getpid() != pid:
        raise RuntimeError(f"this {what} was made before fork(): make one in each process")
