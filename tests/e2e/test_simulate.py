"""`makegood workflow simulate` against the real thing: the same profile, the same shares of each end."""

import json
import random

from harness import scenario, step

REAL, SIMULATED = 2000, 10000
POINTS = 2  # of a share, in percent
# Shares of orders, and of calls of each order, as the simulation has them.
FAIL, REFUSE, LOSE, REFUSE_UNDO, WHEN = 0.40, 0.12, 0.35, 0.25, 0.40
WORK_MS = range(5000, 23001)  # of accepted work, which has 20 s: far above the delays of a busy machine
ORDERS_A_SECOND = 100  # the broker's queues stay short: the time in them is not simulated
ENDS = ("processed", "compensated", "error")
ONE_TRY = {"attempts": 1, "backoff": "20ms", "max_backoff": "100ms"}


def with_patience(_name, definition):
    """A service file whose breaker stays closed while four calls in ten fail."""
    return {**definition, "try_backoff": "10ms", "breaker": {"failure_ratio": 0.9}}


def shuffled(dice, count, shares):
    """Values, each as often as its share of `count` says: chance is only in their order, so 2,000 orders are enough."""
    values, sum_of_shares = [], 0.0
    for value, share in shares:
        sum_of_shares += share
        values += [value] * (round(sum_of_shares * count) - len(values))
    values += [shares[0][0]] * (count - len(values))
    dice.shuffle(values)
    return values


def in_a_row(share):
    """Words for the first N calls of a key, by the chance that N calls in a row go wrong."""
    return [(n, share ** n * (1 - share)) for n in range(8)]


def payloads(dice):
    """One for each order, with the behaviour of the services as words of deploy/sample/README.md."""
    fails, loses = shuffled(dice, REAL, in_a_row(FAIL)), shuffled(dice, REAL, in_a_row(LOSE))
    declines = shuffled(dice, REAL, [(False, 1 - REFUSE), (True, REFUSE)])
    keeps = shuffled(dice, REAL, [(False, 1 - REFUSE_UNDO), (True, REFUSE_UNDO)])
    gifts = shuffled(dice, REAL, [(False, 1 - WHEN), (True, WHEN)])
    works = shuffled(dice, REAL, [(ms, 1 / len(WORK_MS)) for ms in WORK_MS])
    for fail, lose, decline, keep, gift, work in zip(fails, loses, declines, keeps, gifts, works):
        inventory = ([f"unavailable:{fail}"] if fail else []) + (["undo-refuse"] if keep else [])
        yield {"gift": gift, "work": f"accept:{work}", "behaviour": {
            "inventory": ",".join(inventory) or "normal", "payment": "decline" if decline else "normal",
            "carrier": f"drop:{lose}" if lose else "normal"}}


def ends(s):
    rows = s.rows("SELECT process_state, count(*) AS n FROM order_process GROUP BY 1")
    return {row["process_state"]: row["n"] for row in rows if row["process_state"] in ENDS}


def simulated(s, definition):
    profile = s.scratch / "profile.json"
    profile.write_text(json.dumps({
        "workflow": "honest", "orders": SIMULATED, "rate": ORDERS_A_SECOND, "services": [f"service-{name}.json" for name in s.cluster.services],
        "time": {name: "5ms" for name in s.cluster.services},
        "fail": {"reserve.do": f"{FAIL:.0%}"}, "refuse": {"charge": f"{REFUSE:.0%}", "reserve.undo": f"{REFUSE_UNDO:.0%}"},
        "lose": {"book.do": f"{LOSE:.0%}"}, "when": {"wrap": f"{WHEN:.0%}"},
        "finish": {"deliver": f"{WORK_MS[0]}ms..{WORK_MS[-1]}ms"}}), encoding="utf-8")
    return json.loads(s.cluster.tool("workflow", "simulate", definition, "--profile", profile, "-o", "json").stdout)


def compare(title, real, simulation):
    """Both in percent, by the same names."""
    print(f"{title}: real {real}, simulated {simulation}")
    far = {name: (real[name], simulation[name]) for name in real if abs(real[name] - simulation[name]) > POINTS}
    assert not far, f"{title}: more than {POINTS} points apart (real, simulated): {far}"


@scenario(long="2,000 orders take a minute or two", edit_service=with_patience)
def ends_of_simulated_orders_come_in_the_shares_of_real_ones(s):
    """Would catch: a simulation with another core, other agents or other laws than an order's. 10,000 simulated orders against 2,000
    real ones of the same profile: each end, and the state of each step, within two points."""
    s.load_workflow("honest", [
        step("reserve", "inventory", retry=ONE_TRY), step("charge", "payment", after=["reserve"], retry=ONE_TRY),
        step("wrap", "inventory", after=["charge"], when="payload.gift", retry=ONE_TRY,
             do={"method": "POST", "path": "/reservations", "body": {"wrap": True}}),
        step("book", "carrier", after=["wrap"], on_unknown="retry", retry={**ONE_TRY, "attempts": 2}),
        step("deliver", "carrier", after=["book"], verify=True, finish_within="20s", poll="2s", retry=ONE_TRY,
             do={"method": "POST", "path": "/bookings", "body": {"behaviour": "${/payload/work}"}})])
    orders = [s.client.submit("honest", payload) for payload in payloads(random.Random(1))]
    s.wait(lambda: sum(ends(s).values()) == len(orders), "all orders have ended", timeout_s=200)
    simulation = simulated(s, s.scratch / "workflow-honest.json")
    ended = ends(s)
    compare("ends", {end: 100 * ended.get(end, 0) / REAL for end in ENDS},
            {end: sum(found["percent"] for found in simulation["ends"] if found["end"] == end) for end in ENDS})
    steps = {(row["step"], row["state"]): row["n"] for row in s.rows("SELECT step, state, count(*) AS n FROM order_step GROUP BY 1, 2")}
    for word in ("skipped", "undone", "undo_failed"):
        compare(word, {name: 100 * steps.get((name, word), 0) / REAL for name in ("reserve", "charge", "wrap", "book", "deliver")},
                {found["step"]: 100 * found[word] / SIMULATED for found in simulation["steps"]})
    assert all(ended.get(end, 0) > REAL / 100 for end in ENDS), f"each end is there to be compared: {ended}"
