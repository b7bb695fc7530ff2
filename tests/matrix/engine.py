"""A cell: one boundary, one misbehaviour, and the checks that hold in each of them.

A table is a list of Cell. The engine switches the misbehaviour on, posts orders, waits, looks, switches it off, and judges:

  others   orders that the misbehaviour does not name end while it lasts. For "all": they end, or it is reported
  told     the report: readyz, alert, metric or doctor, within TOLD_S of the moment at which orders stall
  itself   when it ends, all orders end without help; a client posts again those that were never stored
  lost     the ledgers have each effect once, and no message is in dead.letters
"""

import dataclasses
import time
import traceback
from typing import Callable, Optional

from bench import BY_ITSELF_S, ENDS, GONE, pause

OTHERS = 5
SOON_S = 15.0   # until orders have ended that nothing held up for long
OTHERS_S = 10.0  # an order takes less than a second on an idle machine
TOLD_S = 15.0
HOLD_S = 3.0   # at the least: a fault that ends at once would hide a judgement that comes too early
DOCTOR_S = 4.0 # between two questions to doctor, which costs half a second of a processor
MET_S = 15.0  # until each statement has come with its order: owed statuses come by a period, and some statements never
OK, RED, UNBUILT = "ok", "RED", "unbuilt"


def nothing(_bench):
    pass


@dataclasses.dataclass
class Cell:
    """begin(bench, the_one) and end(bench) switch. needs_telling: also if orders go on. may_lose: the misbehaviour itself destroys
    messages; then each order must end, after its client has posted it again."""
    table: str
    row: str
    column: str
    whom: str  # one, all, -
    begin: Optional[Callable] = None
    end: Callable = nothing
    needs_telling: bool = False
    by_http: bool = False  # orders are posted at the gateway
    may_lose: bool = False
    hold_s: float = 0.0
    reason: str = ""  # of a cell that is not built
    check: Callable = nothing  # after all: raises an AssertionError
    rule: tuple = ()  # (statement, code): the misbehaviour of a cell that shares its time with others
    asks: tuple = ()  # the questions of people and clients that run the statement

    @property
    def name(self):
        return f"{self.table} {self.row} × {self.column} × {self.whom}"


@dataclasses.dataclass
class Verdict:
    cell: Cell
    word: str
    text: str = ""

    def __str__(self):
        return f"{self.word:<7} {self.cell.name}" + (f"  {self.text}" if self.text else "")


def run(bench, cell):
    if cell.reason:
        return Verdict(cell, UNBUILT, cell.reason)
    try:
        text = judge(bench, cell)
        word = OK if not text.startswith("!") else RED
        if text.startswith("?"):
            word = UNBUILT
    except Exception as error:  # pylint: disable=broad-except  # a tool of the matrix fails each in its own way
        word, text = RED, f"! {error}".splitlines()[0]
        traceback.print_exc()
    verdict = Verdict(cell, word, text.lstrip("!? "))
    bench.by_http = False
    try:
        cell.end(bench)
        bench.settle()
    except Exception as error:  # pylint: disable=broad-except
        verdict = Verdict(cell, RED, f"it does not get ready again: {error}".splitlines()[0])
    return verdict


def judge(bench, cell):
    """"…" is good, "! …" is not, "? …" was not met."""
    the_one = bench.new_id()
    dead = bench.dead_letters()
    bench.by_http = cell.by_http
    cell.begin(bench, the_one)
    began = time.monotonic()
    if cell.whom == "one":
        bench.post(the_one)
    others = [bench.post(), bench.post(reply_to=GONE), *(bench.post() for _ in range(OTHERS - 2))]
    went_on, told = look(bench, cell, others, began)
    if cell.whom == "one" and not went_on:
        return f"! other orders stall: {[bench.states()[order_id] for order_id in others]}"
    if told is None and (cell.needs_telling or not went_on):
        return f"! not told within {TOLD_S * bench.factor:g} s" + ("" if went_on else ", and orders stall")
    bench.wait(lambda: time.monotonic() - began > max(cell.hold_s, HOLD_S), max(cell.hold_s, HOLD_S) + 1)
    fired = bool(bench.wire.fired)
    had_rules = bool(bench.wire.rules)
    cell.end(bench)
    bench.wire.set({})
    if had_rules and not fired:
        return "? the statement did not come in this time"
    text = judge_end(bench, cell, dead)
    if text:
        return "! " + text
    cell.check(bench)
    return ("others went on" if went_on else "all waited") + (f"; told by {told[0]}: {told[1][:90]}" if told else "")


def run_round(bench, cells):
    """Cells for one order each, at the same time: each has an order of its own whose statement fails."""
    ones = {cell.name: bench.new_id() for cell in cells}
    try:
        dead = bench.dead_letters()
        bench.wire.set({(cell.rule[0], ones[cell.name]): cell.rule[1] for cell in cells})
        for order_id in ones.values():  # of each kind at once, so that most statements come with it
            bench.post_lined(order_id, f"line-{order_id}", reply_to=GONE)
        others = [bench.post(), bench.post(reply_to=GONE), *(bench.post() for _ in range(OTHERS - 2))]
        went_on = bench.wait_ended(others, OTHERS_S)
        stand = "" if went_on else f"other orders stall: {[bench.states()[key] for key in others]}; "
        bench.wait(lambda: all(bench.wire.fired[(cell.rule[0], ones[cell.name])] for cell in cells), MET_S)
        fired = dict(bench.wire.fired)
        bench.wire.set({})
        text = judge_end(bench, cells[0], dead)
        states, faults = bench.states(), bench.faults_of_effects()
    except Exception as error:  # pylint: disable=broad-except  # a tool of the matrix fails each in its own way
        traceback.print_exc()
        bench.settle()
        return [Verdict(cell, RED, f"the round broke off: {error}".splitlines()[0]) for cell in cells]
    verdicts = []
    for cell in cells:
        one = ones[cell.name]
        own = [fault for fault in faults if fault.startswith(one)]
        count = fired.get((cell.rule[0], one), 0)
        if states[one] not in ENDS or own or stand:
            verdicts.append(Verdict(cell, RED, f"{stand}{one} is {states[one]}, failed {count} times; {own}"))
        elif not count:
            verdicts.append(Verdict(cell, UNBUILT, "the statement did not come with this order"))
        else:
            verdicts.append(Verdict(cell, OK, f"failed {count} times"))
    if text and all(verdict.word != RED for verdict in verdicts):
        verdicts[0] = Verdict(cells[0], RED, f"of one cell of this round: {text}")
    bench.settle()
    return verdicts


def look(bench, cell, others, began):
    """(whether the others have ended, the first report or None), within the bounds; it ends with what the cell needs."""
    went_on, told, asked_at = False, None, began
    while True:
        went_on = went_on or bench.have_ended(others)
        if told is None and (cell.needs_telling or not went_on):
            is_turn = time.monotonic() - asked_at > DOCTOR_S
            told = bench.tells(is_turn)
            asked_at = time.monotonic() if is_turn else asked_at
        needs = ([told] if cell.needs_telling else []) + ([went_on] if cell.whom == "one" else [told or went_on])
        bound_s = OTHERS_S if cell.whom == "one" else TOLD_S
        if all(needs) or time.monotonic() - began > bound_s * bench.factor:
            return went_on, told
        pause()


def judge_end(bench, cell, dead):
    """After the misbehaviour: "" if all is as it should be."""
    if not bench.wait_ended(list(bench.orders), SOON_S):
        set_aside = bench.set_aside() if cell.whom == "one" else []
        if set_aside:
            bench.readmit(set_aside)
        if not bench.wait(lambda: "unknown" not in bench.states().values(), 0 if cell.may_lose else SOON_S):
            missing = [order_id for order_id, state in bench.states().items() if state == "unknown"]
            lost = [order_id for order_id in missing if order_id in bench.confirmed]
            if lost and not cell.may_lose:
                return f"posts were confirmed, and the orders are not stored: {lost}"
            for order_id in missing:
                bench.post(order_id)
        bench.signal_again()
    if not bench.wait_ended(list(bench.orders), BY_ITSELF_S):
        return "orders do not end by themselves: " + str({key: word for key, word in bench.states().items() if word != "processed"})
    faults = bench.faults_of_effects()
    if faults:
        return f"wrong effects: {faults[:3]}"
    more = bench.dead_letters() - dead
    if more > 0 and not cell.may_lose:
        return f"{more} messages were judged, and lie in dead.letters"
    return ""
