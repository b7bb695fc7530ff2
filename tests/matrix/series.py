"""A series of table a: one statement fails for all orders, by each class of SQLSTATE in turn, each until the statement has come.

The cells share the orders, the report and the end. If a series is red, `tests/matrix/run --alone STATEMENT` runs each of its cells alone.
"""

import time

from bench import GONE, SCHEDULES, pause
from engine import OK, RED, TOLD_S, UNBUILT, Verdict, judge_end

MET_S = 5.0  # until the statement has come; its caller waits after a failure
LONG_S = 15.0  # the same of the first code: some statements come by a period
REFUSED, LOCKED, SLOW = "P0001", "55P03", "57014"
# Statements that come after the failure of another one.
AFTER = {"find_locked": ("update_orders", LOCKED), "end_stalled": ("update_orders", LOCKED), "hasten_locks": ("update_orders", LOCKED),
         "hasten": ("update_orders", SLOW), "roll_back": ("update_orders", REFUSED), "find_conflicts": ("insert_orders", "23505"),
         "give_up": ("update_steps", REFUSED), "probe_room": ("insert_events", "53100"), "probe_memory": ("insert_events", "53200")}


def partners(name):
    """The rules by which the statement comes at all."""
    base = name.removesuffix("_keys").removesuffix("_among")
    return {(base, ""): REFUSED} if base != name else {(AFTER[name][0], ""): AFTER[name][1]} if name in AFTER else {}


def poke(bench):
    """All that makes a statement come: an order of each kind, statuses that are owed, a schedule's time."""
    bench.make_due(SCHEDULES[0])
    return [bench.post(), bench.post(reply_to=GONE), *bench.post_pair()]


def run_series(bench, cells):
    try:
        return judge(bench, cells)
    except Exception as error:  # pylint: disable=broad-except  # a tool of the matrix fails each in its own way
        return [Verdict(cell, RED, f"the series broke off: {error}".splitlines()[0]) for cell in cells]
    finally:
        bench.settle()


def judge(bench, cells):
    name, dead, began, counts = cells[0].rule[0], bench.dead_letters(), time.monotonic(), {}
    told, others = None, poke(bench)
    for cell in cells:
        code = cell.rule[1]
        bench.wire.set({**partners(name), (name, ""): code})
        bench.post() if counts else poke(bench)
        until = time.monotonic() + (MET_S if counts and max(counts.values()) else LONG_S) * bench.factor
        while not bench.wire.fired[(name, "")] and time.monotonic() < until:
            pause()
        counts[code] = bench.wire.fired[(name, "")]
        told = told or (bench.tells(False), time.monotonic() - began) if time.monotonic() - began > TOLD_S / 2 else told
        told = None if told and not told[0] else told
    went_on = bench.have_ended(others)
    until = began + TOLD_S * bench.factor
    while not went_on and not told and time.monotonic() < until:
        report = bench.tells()
        told = (report, time.monotonic() - began) if report else None
        went_on = bench.have_ended(others)
    bench.wire.set({})
    text = "" if went_on or told else f"orders stall, and this is not told within {TOLD_S * bench.factor:g} s"
    text = text or judge_end(bench, cells[0], dead)
    end = ("others went on" if went_on else "all waited") + (f"; told by {told[0][0]} after {told[1]:.0f} s" if told else "")
    return [Verdict(cell, RED, text) if text else Verdict(cell, OK, f"failed {counts[cell.rule[1]]} times; {end}") if counts[cell.rule[1]]
            else Verdict(cell, UNBUILT, "the statement did not come in its time") for cell in cells]
