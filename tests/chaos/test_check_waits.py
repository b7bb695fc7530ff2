#!/usr/bin/python3
"""test_check_waits.py: each check of check_waits.py passes over true evidence, and fails over evidence with one mistake."""

import pathlib
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy"), str(HERE.parent / "e2e")]

import check_waits  # noqa: E402
from check import Findings  # noqa: E402
from kinds import BROKER, CALLBACK, NO, SETTLED, WITHIN_S, YES, Planned  # noqa: E402
from sender import Sent  # noqa: E402


def found(check, *words):
    findings = Findings()
    check(findings, *words)
    assert findings.checked > 0, "nothing was checked"
    return findings.texts


def passes(check, *words):
    texts = found(check, *words)
    assert not texts, texts


def fails(part, check, *words):
    """With one finding or more, of which one has these words."""
    texts = found(check, *words)
    assert any(part in text for text in texts), (part, texts)


# --- signals ---


def sent(workflow="approve", word="taken", way=BROKER, number=1, order_id="o1"):
    one = Sent(order_id, workflow, Planned(0.0, way, SETTLED if way == CALLBACK else YES, number), 0.0)
    one.words = [word] if word else []
    return one


def signals_are_judged_by_their_answers():
    story = {"approved/o1.1/teller": ["o1"]}
    passes(check_waits.check_signals, [sent(), sent(word="duplicate")], story, {})
    passes(check_waits.check_signals, [sent(), sent(number=2, word="late")], story, {})
    fails("has no answer", check_waits.check_signals, [sent(word=None)], {}, {})
    fails("counts 2 times", check_waits.check_signals, [sent()], {"approved/o1.1/teller": ["o1", "o1"]}, {})
    fails("is meant for o1", check_waits.check_signals, [sent()], {"approved/o1.1/teller": ["o2"]}, {})
    for word in ("taken", "kept", "duplicate"):
        fails("no order has it", check_waits.check_signals, [sent(word=word)], {}, {})
    for word in ("late", "refused"):
        passes(check_waits.check_signals, [sent(word=word)], {}, {})
        fails("and counts", check_waits.check_signals, [sent(word=word)], story, {})
    invalid = sent(word=None)
    invalid.is_invalid = "no step waits for it"
    fails("no step waits", check_waits.check_signals, [invalid], {}, {})


def callbacks_are_those_of_their_order():
    passes(check_waits.check_signals, [sent("called", way=CALLBACK), sent("called", "late", CALLBACK)], {"callback.charge/": ["o1", "o2"]}, {})
    fails("counts 2 times", check_waits.check_signals, [sent("called", way=CALLBACK)], {"callback.charge/": ["o1", "o2", "o1"]}, {})
    fails("no order has it", check_waits.check_signals, [sent("called", way=CALLBACK)], {"callback.charge/": ["o2"]}, {})


def signals_with_a_key_are_in_their_row_and_in_one_story():
    story, taken, free = {"paid/o1.1/teller/o1": ["o1"]}, {"o1.1": {"taken_by": "o1"}}, {"o1.1": {"taken_by": None}}
    passes(check_waits.check_signals, [sent("paid")], story, taken)
    passes(check_waits.check_signals, [sent("paid", "kept")], story, taken)
    passes(check_waits.check_signals, [sent("paid", "kept")], {}, free)
    fails("its row is not there", check_waits.check_signals, [sent("paid", "kept")], {}, {})
    fails("is taken by o2", check_waits.check_signals, [sent("paid")], story, {"o1.1": {"taken_by": "o2"}})
    fails("and no order has it", check_waits.check_signals, [sent("paid")], {}, taken)
    fails("its row is free", check_waits.check_signals, [sent("paid", "kept")], story, free)


# --- waits ---


def event(cause, *transitions):
    return {"cause_kind": cause, "transitions": [{"step": step, "from": before, "to": after, "reason": reason}
                                                 for step, before, after, reason in transitions]}


OPENED = event("reply", ("reserve", "running", "done", "none"), ("approve", "pending", "waiting", "awaiting_signal"))
ARRIVED = event("signal", ("approve", "waiting", "done", "none"))
LAPSED = event("due", ("approve", "waiting", "failed", "timed_out"))


def waits_end_once():
    def row(state):
        return {"order_id": "o1", "workflow": "approve", "process_state": state}

    brief, long = (types.SimpleNamespace(tried_at=100.0, ended_at=100.0 + took_s) for took_s in (2.0, WITHIN_S + 1.0))
    passes(check_waits.check_wait, brief, row("processed"), [OPENED, ARRIVED])
    passes(check_waits.check_wait, long, row("compensated"), [OPENED, LAPSED])
    early = event("reply", ("approve", "pending", "waiting", "awaiting_signal"), ("approve", "waiting", "done", "none"))
    passes(check_waits.check_wait, brief, row("processed"), [event("signal"), early])
    fails("ended 2 times", check_waits.check_wait, long, row("compensated"), [OPENED, ARRIVED, LAPSED])
    fails("ended 0 times", check_waits.check_wait, long, row("processed"), [OPENED])
    fails("and it has a signal", check_waits.check_wait, long, row("compensated"), [OPENED, event("signal"), LAPSED])
    fails("and it has no signal", check_waits.check_wait, brief, row("processed"), [early])
    fails("by signal", check_waits.check_wait, long, row("compensated"), [OPENED, event("signal", ("approve", "waiting", "failed", "timed_out"))])
    fails("and the order is compensated", check_waits.check_wait, brief, row("compensated"), [OPENED, ARRIVED])
    fails("the order ended after 2.0 s", check_waits.check_wait, brief, row("compensated"), [OPENED, LAPSED])


def nothing_is_left_waiting():
    passes(check_waits.check_no_wait_is_left, [], [], [])
    fails("that wait", check_waits.check_no_wait_is_left, [{"order_id": "o1"}], [], [])
    fails("places in lines", check_waits.check_no_wait_is_left, [], [{"order_id": "o1"}], [])
    fails("places in lines", check_waits.check_no_wait_is_left, [], [], [{"key": "chaos/1"}])


# --- lines ---


def lines_run_one_at_a_time_and_in_order():
    def ran(order_id, posted_at, accepted_at, began_ms, ended_ms, key=1):
        return check_waits.Ran(order_id, key, posted_at, accepted_at, began_ms, ended_ms)

    first, second = ran("a", 1.0, 1.1, 1000, 1200), ran("b", 1.2, 1.3, 1200, 1500)
    passes(check_waits.check_lines, [first, second])
    passes(check_waits.check_lines, [first, ran("b", 1.05, None, 1200, 1500)])
    passes(check_waits.check_lines, [ran("a", 1.0, 1.1, 1300, 1400), ran("b", 1.05, 1.2, 1000, 1200)])
    passes(check_waits.check_lines, [first, ran("b", 1.2, 1.3, 1100, 1300, key=2)])
    fails("b began at 1199", check_waits.check_lines, [first, ran("b", 1.2, 1.3, 1199, 1500)])
    fails("a was accepted before b", check_waits.check_lines, [ran("a", 1.0, 1.1, 1600, 1700), second])
    fails("a was accepted before b", check_waits.check_lines, [ran("a", 1.0, 1.1, 1800, 1900), second, ran("c", 1.0, None, 1600, 1700)])


def a_run_is_between_the_first_request_and_the_last_effect():
    order = types.SimpleNamespace(order_id="a", tried_at=1.0, heard=[1.5, 1.7], statuses={1: "accepted", 2: "processed"})
    entries = [{"first_seen_at_ms": 10, "done_at_ms": 20, "undone_at_ms": 90}, {"first_seen_at_ms": 30, "done_at_ms": None}, {}]
    assert check_waits.ran(order, 1, entries) == check_waits.Ran("a", 1, 1.0, 1.5, 10, 90)
    assert check_waits.ran(order, 1, [{}]) is None


# --- slots ---


def slots_are_one_order_each_or_have_a_reason():
    ticks, tocks = list(range(0, 201, 20)), list(range(0, 211, 30))
    orders = [("tick", slot) for slot in ticks] + [("tock", slot) for slot in tocks]

    def run(what, slot_s, slots=1, name="tick"):
        return {"name": name, "what": what, "slot_s": slot_s, "slots": slots, "text": "a reason"}

    def without(name, *slots):
        return [one for one in orders if one[0] != name or one[1] not in slots]

    passes(check_waits.check_slots, orders, [], 205, False)
    passes(check_waits.check_slots, without("tick", 40, 60), [run("missed", 40, 2)], 205, True)
    passes(check_waits.check_slots, without("tock", 60), [run("overlap", 60, name="tock")], 205, False)
    fails("several orders: [40]", check_waits.check_slots, orders + [("tick", 40)], [], 205, False)
    fails("no order and no reason: [40]", check_waits.check_slots, without("tick", 40), [], 205, False)
    fails("no order and no reason: [60]", check_waits.check_slots, without("tick", 40, 60), [run("missed", 40)], 205, True)
    fails("nothing lasted", check_waits.check_slots, without("tick", 40), [run("missed", 40)], 205, False)
    fails("is refused", check_waits.check_slots, without("tick", 40), [run("refused", 40)], 205, False)
    fails("tick: slot 40: a reason", check_waits.check_slots, without("tick", 40), [run("overlap", 40)], 205, False)
    fails("tock made no order", check_waits.check_slots, without("tock", *tocks), [], 205, False)
    fails("the newest slot is", check_waits.check_slots, orders, [], 400, False)


def stories_hold_each_signal_with_its_order():
    stories = {"approved/o1.1/teller": [], "callback.charge/": []}
    check_waits.stories_of(stories, "o1", [{"cause_kind": "signal", "cause": "approved/o1.1/teller"}, {"cause_kind": "reply", "cause": "x"},
                                           {"cause_kind": "signal", "cause": "callback.charge/0a1b"}])
    assert stories == {"approved/o1.1/teller": ["o1"], "callback.charge/": ["o1"]}, stories
    assert sent(number=2).identity == "approved/o1.2/teller" and sent("called", way=CALLBACK).identity == "callback.charge/"
    assert Sent("o1", "approve", Planned(0.0, "operator", NO), 0.0).identity == "approved/o1.1//chaos"


def main():
    for each in (signals_are_judged_by_their_answers, callbacks_are_those_of_their_order, signals_with_a_key_are_in_their_row_and_in_one_story,
                 waits_end_once, nothing_is_left_waiting, lines_run_one_at_a_time_and_in_order,
                 a_run_is_between_the_first_request_and_the_last_effect, slots_are_one_order_each_or_have_a_reason,
                 stories_hold_each_signal_with_its_order):
        each()
        print(f"ok: {each.__name__.replace('_', ' ')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
