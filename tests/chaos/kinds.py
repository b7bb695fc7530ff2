"""The kinds of orders in the load, with the signals that each of them gets, and the workflows and schedules that they need."""

import collections

from harness import COLLECTIONS, step

STEP = {"complete_within": "30s", "retry": {"attempts": 200, "backoff": "200ms", "max_backoff": "2s"}}
WITHIN_S = 25        # of each wait for a signal: longer than most faults, so that most signals are in time, and not all
LINES = 6            # keys of orders that run one at a time
SCHEDULES = {"tick": {"every_s": 20, "overlap": "allow"}, "tock": {"every_s": 30, "overlap": "skip"}}
CATCH_UP_S = 600     # longer than any fault: while the clock is right, no slot may be missed
CLIENT = "teller"    # the sender of signals; other than the client that posts
SIGNALS = ("approved", "paid")

# Ways of a signal: through the client's exchange, over HTTP as the same client, as an operator, and a callback over HTTP.
BROKER, GATEWAY, OPERATOR, CALLBACK = "broker", "gateway", "operator", "callback"

# A signal to an order. Those with one number are copies: the client sends an event twice, under one id.
Planned = collections.namedtuple("Planned", "after_s way payload number", defaults=[1])

# The behaviour that an order requests of the remotes, its possible ends, and whether it takes only as long as the remotes need.
# The chance of each is its share of the sum.
Kind = collections.namedtuple("Kind", "name share behaviour meant is_plain workflows signals", defaults=[()])
ALL = ("three", "careful", "fan", "pivot", "patient")
FREE = ("three", "careful", "fan")
YES, NO, SETTLED = {"ok": True}, {"ok": False}, {"state": "settled"}
# A signal may be held up by a fault until its wait is over; check_waits.py compares each end with the answers.
EITHER = ("processed", "compensated")
KINDS = (
    Kind("plain", 51, None, ("processed",), True, ALL),
    Kind("carrier declines", 16, {"carrier": "decline"}, ("compensated",), True, FREE),
    Kind("refund fails once", 3, {"carrier": "decline", "payment": "undo-fail:1"}, ("compensated",), False, FREE),
    Kind("payment is down for two calls", 3, {"payment": "unavailable:2"}, ("processed",), False, ALL),
    Kind("payment says come back later", 2, {"payment": "too-many:1"}, ("processed",), False, ALL),
    Kind("inventory acts, then drops the line", 4, {"inventory": "drop"}, ("processed",), False, ALL),
    Kind("carrier acts, answers late", 4, {"carrier": "slow:1500"}, ("processed",), False, ALL),
    Kind("payment acts late", 3, {"payment": "late:800"}, ("processed",), False, ALL),
    Kind("carrier acts, half an answer", 3, {"carrier": "truncate:1"}, ("processed",), False, ALL),
    # Processed, if a fault of the remote takes the place of the page: then the charge is answered when it is repeated.
    Kind("a proxy's page answers for payment", 2, {"payment": "page"}, ("compensated", "processed"), False, FREE),
    Kind("a proxy's page answers the refund", 2, {"carrier": "decline", "payment": "undo-page:2"}, ("compensated",), False, FREE),
    # A charge with a lost answer is settled by hand: as done, or as absent, which turns the order back.
    Kind("payment forgets its keys", 2, {"payment": "forgetful"}, ("processed", "compensated"), False, ("watched",)),
    Kind("payment is asked once, and its answer is lost", 1, {"payment": "drop"}, ("processed", "compensated"), False, ("watched",)),
    Kind("payment works for a second", 4, {"payment": "accept:1000"}, ("processed",), False, ("patient",)),
    Kind("approved in time", 3, None, EITHER, False, ("approve",), (Planned(1.5, BROKER, YES),)),
    Kind("approved over HTTP", 3, None, EITHER, False, ("approve",), (Planned(1.5, GATEWAY, YES),)),
    Kind("approved early", 3, {"inventory": "slow:1500"}, EITHER, False, ("approve",), (Planned(0.3, BROKER, YES),)),
    Kind("approved twice, then refused", 3, None, EITHER, False, ("approve",),
         (Planned(1.0, BROKER, YES), Planned(1.0, GATEWAY, YES), Planned(2.5, GATEWAY, NO, 2))),
    Kind("refused by a signal", 2, None, ("compensated",), False, ("approve",), (Planned(1.0, GATEWAY, NO),)),
    Kind("approved by a stranger, then by its client", 2, None, EITHER, False, ("approve",),
         (Planned(1.0, OPERATOR, YES), Planned(2.5, BROKER, YES, 2))),
    Kind("approved at its time-out", 2, None, EITHER, False, ("approve",), (Planned(WITHIN_S + 0.5, BROKER, YES),)),
    Kind("never approved", 1, None, ("compensated",), False, ("approve",)),
    Kind("paid before its order", 3, {"payment": "slow:1500"}, ("processed",), False, ("paid",), (Planned(0.0, BROKER, YES),)),
    Kind("paid in time, twice", 3, None, ("processed",), False, ("paid",), (Planned(1.5, GATEWAY, YES), Planned(1.5, BROKER, YES))),
    Kind("paid too late", 1, None, ("processed",), False, ("paid",), (Planned(WITHIN_S + 6.0, BROKER, YES),)),
    Kind("never paid", 1, None, ("processed",), False, ("paid",)),
    Kind("payment calls back, twice", 3, {"payment": "accept:60000"}, ("processed",), False, ("called",),
         (Planned(1.5, CALLBACK, SETTLED), Planned(3.0, CALLBACK, SETTLED))),
    Kind("payment does not call back", 1, {"payment": "accept:4000"}, ("processed",), False, ("called",)),
    Kind("in line", 5, None, ("processed",), False, ("line",)),
    Kind("in line, carrier declines", 1, {"carrier": "decline"}, ("compensated",), False, ("line",)),
)


def three(*, verify=False, **charge):
    return [step("reserve", "inventory", verify=verify, **STEP),
            step("charge", "payment", after=["reserve"], verify=verify or bool(charge), **STEP, **charge),
            step("ship", "carrier", after=["charge"], verify=verify, **STEP)]


def wait(name, after, signal, conditions, **members):
    return {"step": name, "after": [after], "wait": {"signal": signal, "within": f"{WITHIN_S}s", "from": [f"client:{CLIENT}"], **members},
            **conditions}


def definitions():
    """The workflows, as they are loaded."""
    fan = [step("reserve", "inventory", **STEP), step("charge", "payment", **STEP), step("ship", "carrier", after=["reserve", "charge"], **STEP)]
    pivot = three()
    pivot[1]["pivot"] = True
    watched = three()
    watched[1].update(at_most_once=True, on_unknown="operator", retry={"attempts": 1})
    approve = [step("reserve", "inventory", **STEP),
               wait("approve", "reserve", "approved", {"done_when": "result.ok", "refused_when": "!result.ok"}),
               step("charge", "payment", after=["approve"], **STEP)]
    paid = [step("charge", "payment", **STEP), wait("paid", "charge", "paid", {}, key="payload.key", on_timeout="skip"),
            step("ship", "carrier", after=["paid"], **STEP)]
    work = {"method": "POST", "path": COLLECTIONS["payment"], "body": {"behaviour": "${/payload/behaviour}", "to": "${/callback_url}"}}
    called = [step("reserve", "inventory", **STEP),
              step("charge", "payment", after=["reserve"], verify=True, finish_within="10m", poll="15s", do=work,
                   done_when="result.state in ['settled', 'done']", **STEP)]
    for name, steps, members in (("three", three(), {}), ("careful", three(verify=True), {}), ("fan", fan, {}), ("pivot", pivot, {}),
                                 ("patient", three(finish_within="24h", poll="500ms"), {}), ("watched", watched, {}),
                                 ("approve", approve, {}), ("paid", paid, {}), ("called", called, {}), ("ticked", three()[:2], {}),
                                 ("line", three(), {"sequence": {"key": "chaos/${/payload/line}"}})):
        for each in steps:
            if "service" in each:
                each["undo"].update(STEP)
        yield {"workflow": name, "version": 1, "complete_within": "24h", "steps": steps, **members}


def schedules():
    for name, each in SCHEDULES.items():
        yield {"schedule": name, "workflow": "ticked", "every": f"{each['every_s']}s", "overlap": each["overlap"], "catch_up": f"{CATCH_UP_S}s",
               "payload": {"slot": "${/slot/at}", "schedule": "${/schedule}"}}
