"""A round of table g: the questions that run one statement, once for each of its misbehaviours.

  report   the answer is an error: an exit code with the SQLSTATE, or a status of HTTP from 500 on
  others   an order that is posted before ends; with "one", the same question about another subject is answered; no process ends
  itself   when it is over, the process gets ready before a further question, and the same question is answered again
"""

import time

from engine import OK, RED, SOON_S, UNBUILT, Verdict
from readers import subjects
from table_readers import DAMAGES
import wire

CACHED_S = 4.0  # the console keeps an answer for a second or so
HANG_S = 25.0  # a statement's time limit, and the repetitions of its caller


def run_asks(bench, cells):
    """The verdicts of the cells of one statement."""
    order, found = bench.post(), []
    for cell in cells:
        try:
            texts = [damaged(bench, each, cell.rule[1]) if cell.rule[1] in DAMAGES else failed(bench, each, cell) for each in cell.asks]
        except AssertionError as error:
            texts = [f"! {error}"]
        bad = [text for text in texts if text.startswith("!")]
        met = [text for text in texts if not text.startswith("?")]
        found.append(Verdict(cell, RED if bad else OK if met else UNBUILT, "; ".join(bad or met or texts).lstrip("!? ")[:600]))
    ended = [process.name for process in bench.all if not process.is_running()]
    if ended or not bench.wait_ended([order], SOON_S):
        found[0] = Verdict(cells[0], RED, f"of one cell of this round: ended processes {ended}, an order is {bench.states()[order]}")
    bench.settle_quickly()
    return found


def failed(bench, each, cell):
    (name, code), (one, other) = cell.rule, subjects(bench, each.kind)
    bench.wire.set({(name, one if cell.whom == "one" else ""): code})
    until, fired = time.monotonic() + CACHED_S * bench.factor, False
    while not fired and time.monotonic() < until:
        began = time.monotonic()
        answer = each.ask(bench, one)
        took, fired = time.monotonic() - began, bool(bench.wire.fired)
    spared = each.ask(bench, other) if cell.whom == "one" else None
    bench.wire.set({})
    if not fired:
        return f"? {each}: the statement did not come"
    if answer.is_good:
        return f"! {each}: no error: {answer.text[:300]}"
    if each.program == "tool" and code != wire.HANG and f"({code})" not in answer.text:
        return f"! {each}: the SQLSTATE is not in it: {answer.text[:300]}"
    if took > HANG_S * bench.factor:
        return f"! {each}: {took:.0f} s until the error"
    process = bench.named(each.program) if each.program != "tool" else None
    if process is not None and not bench.wait(process.is_ready, SOON_S):  # before a further question: a balancer sends it none
        return f"! {each}: {process.name} does not get ready again by itself: {process.get('/readyz')[1][:300]}"
    if spared is not None and not spared.is_good:
        return f"! {each}: about another, too: {spared.text[:300]}"
    last = [answer]

    def is_answered():
        last[0] = each.ask(bench, one)
        return last[0].is_good
    if not bench.wait(is_answered, SOON_S):
        return f"! {each}: no answer although the fault is over: {last[0].text[:300]}"
    return f"an error of {each.program}"


def damaged(bench, each, column):
    """The question is answered, with an error or without; one about another order, or about all, is answered without."""
    damage, mend = DAMAGES[column]
    one, other = subjects(bench, each.kind)
    bench.rows(damage, bench.readable[0])
    try:
        answer = each.ask(bench, one)
        spared = each.ask(bench, other)
    finally:
        bench.rows(mend, bench.readable[0])
    if answer.text.startswith(("0:", "exit -")):  # no answer, or a signal
        return f"! {each}: no answer: {answer.text[:300]}"
    if not spared.is_good:
        return f"! {each}: about {other}, too: {spared.text[:300]}"
    return "answered" if answer.is_good else f"an error: {answer.text[:80]}"
